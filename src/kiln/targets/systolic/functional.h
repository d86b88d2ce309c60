// The functional level: the bits that the machine computes, fast, without its time.
//
// It executes what an instruction means, a whole convolution or vector program, and not how the machine tiles it, so
// that functional and cycle level are two implementations of isa.h that check each other.
#ifndef KILN_TARGETS_SYSTOLIC_FUNCTIONAL_H_
#define KILN_TARGETS_SYSTOLIC_FUNCTIONAL_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/systolic/config.h"
#include "kiln/targets/systolic/isa.h"
#include "kiln/targets/systolic/numbers.h"
#include "kiln/targets/systolic/program.h"

namespace kiln::systolic {

// Instructions checked and prepared once for many images: constant weights are packed for this processor. Run may be
// called from several threads at once.
class FunctionalMachine {
 public:
  // `memory_bytes` is the size of the memories that Run will get. `constants` (may be empty) is what stands at
  // `constants_base` in all of them and is never written. Error: an instruction that CheckInstruction refuses for such
  // a memory, or one whose buffers on the host would be absurdly large. The instructions are copied.
  static StatusOr<std::unique_ptr<FunctionalMachine>> Create(
      const Config& config, std::span<const Instruction> instructions, uint64_t memory_bytes,
      uint64_t constants_base, std::span<const uint8_t> constants);
  ~FunctionalMachine();

  // Executes instructions [begin, end). With `parallel`, kernels use several threads inside.
  void Run(int begin, int end, bool parallel, std::span<uint8_t> memory) const;

 private:
  class Kernel;
  explicit FunctionalMachine(const Config& config);

  Config config_;  // with memory_bytes as Create was told
  Numbers numbers_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
};

// Runs a program on every image of the batch (Accelerator::Run at Level::kFunctional). RunResult::trace stays empty.
StatusOr<RunResult> RunFunctional(const SystolicProgram& program, const Batch& batch,
                                  const RunOptions& options);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_FUNCTIONAL_H_
