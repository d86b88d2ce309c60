// The functional level: computes the machine's bits fast, without its time.
//
// It executes each instruction's semantics (a whole convolution or vector program) rather than the
// machine's tiling. The functional and the cycle level are therefore two implementations of isa.h
// that check each other.
#ifndef KILN_TARGETS_SYSTOLIC_SIMULATE_FUNCTIONAL_FUNCTIONAL_H_
#define KILN_TARGETS_SYSTOLIC_SIMULATE_FUNCTIONAL_FUNCTIONAL_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/systolic/config/config.h"
#include "kiln/targets/systolic/isa/isa.h"
#include "kiln/targets/systolic/isa/program.h"
#include "kiln/targets/systolic/simulate/numbers.h"

namespace kiln::systolic {

// Instructions that are checked and prepared once for many images; constant weights are packed for
// this CPU. Several threads may call Run at the same time.
class FunctionalMachine {
 public:
  // Checks and prepares the instructions, and copies them. `memory_bytes` is the size of the
  // memories that Run gets. `constants` (may be empty) are the bytes at `constants_base` in all of
  // them, which are never written. Errors: an instruction that CheckInstruction refuses for such a
  // memory, or one that would need unreasonably large buffers on the host.
  static StatusOr<std::unique_ptr<FunctionalMachine>> Create(
      const Config& config, std::span<const Instruction> instructions, uint64_t memory_bytes,
      uint64_t constants_base, std::span<const uint8_t> constants);
  ~FunctionalMachine();

  // Executes instructions [begin, end). With `parallel`, kernels use several threads.
  void Run(int begin, int end, bool parallel, std::span<uint8_t> memory) const;

 private:
  class Kernel;
  explicit FunctionalMachine(const Config& config);

  Config config_;  // with the memory_bytes of Create
  Numbers numbers_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
};

// Runs a program on every image of the batch (Accelerator::Run at Level::kFunctional).
// RunResult::trace stays empty.
StatusOr<RunResult> RunFunctional(const SystolicProgram& program, const Batch& batch,
                                  const RunOptions& options);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_SIMULATE_FUNCTIONAL_FUNCTIONAL_H_
