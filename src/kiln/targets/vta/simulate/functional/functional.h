// The functional level: computes a program's effect on memory, bit for bit, without time. The
// linter observes programs through it.
#ifndef KILN_TARGETS_VTA_SIMULATE_FUNCTIONAL_FUNCTIONAL_H_
#define KILN_TARGETS_VTA_SIMULATE_FUNCTIONAL_FUNCTIONAL_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kiln/support/random.h"
#include "kiln/targets/vta/config/config.h"
#include "kiln/targets/vta/isa/faults.h"
#include "kiln/targets/vta/isa/isa.h"
#include "kiln/targets/vta/isa/memory.h"
#include "kiln/targets/vta/isa/profile.h"
#include "kiln/targets/vta/isa/tokens.h"
#include "kiln/targets/vta/simulate/functional/buffers.h"

namespace kiln::vta {

// The order in which stages execute instructions when several can. Results do not depend on it.
class StageOrder {
 public:
  static constexpr int kFixed =
      6;  // one per permutation of the stages; the first stage that can continue does
  // Numbers 0 to 5 are fixed orders. Any other number is the seed of random orders.
  explicit StageOrder(uint64_t number) : number_(number), random_(number) {}
  std::array<Stage, kStages> Next();

 private:
  uint64_t number_;
  Random random_;
};

// An observer that is called before each instruction is executed, with the instruction's number in
// the program, the progress that its stage knows of, and its micro-ops (empty if it has no steps).
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void OnInstruction(size_t index, const Instruction& instruction, const Progress& before,
                             std::span<const Uop> uops) = 0;
};

// A machine with its buffers, which are zero at first. Buffers and tokens keep their contents from
// one launch to the next.
class FunctionalMachine {
 public:
  explicit FunctionalMachine(const Config& config);

  // Runs `count` instructions that begin at byte `address` of `memory`. Returns the fault that
  // stopped the launch, or nullopt. Faults of single instructions are found before anything runs,
  // other faults before the instruction at fault has any effect. `observer` may be null.
  std::optional<Fault> Launch(DeviceMemory& memory, uint64_t address, size_t count,
                              StageOrder order = StageOrder(0), Observer* observer = nullptr);

  // Sets the greatest number of steps (CostOf) of a launch. A launch that needs more is stopped
  // with kTooLong before the instruction that exceeds the limit. There is no limit at first.
  void set_most_steps(uint64_t most) { most_steps_ = most; }

  const Profile& profile() const { return profile_; }
  const Tokens& tokens() const { return tokens_; }

 private:
  std::optional<Fault> Fetch(const DeviceMemory& memory, uint64_t address, size_t count);
  std::optional<Fault> Execute(size_t index, DeviceMemory& memory);
  // Returns a fault if a row of a load or store is not mapped in memory.
  std::optional<Fault> FindDramFault(size_t index, const DeviceMemory& memory) const;
  std::optional<Fault> Load(size_t index, const DeviceMemory& memory);
  std::optional<Fault> Store(size_t index, DeviceMemory& memory);
  void Compute(const Instruction& in);
  // Returns a fault if a GEMM or ALU instruction uses micro-ops or elements outside of the buffers.
  std::optional<Fault> FindComputeFault(size_t index) const;
  std::span<const Uop> UopsOf(const Instruction& instruction) const;

  const Config config_;
  const Encoding encoding_;
  Buffers buffers_;
  std::vector<Instruction> program_;
  Tokens tokens_;
  Profile profile_;
  uint64_t most_steps_ = UINT64_MAX;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_SIMULATE_FUNCTIONAL_FUNCTIONAL_H_
