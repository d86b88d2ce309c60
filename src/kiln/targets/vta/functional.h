// The functional level: what a program does to memory, bit for bit, without time.
#ifndef KILN_TARGETS_VTA_FUNCTIONAL_H_
#define KILN_TARGETS_VTA_FUNCTIONAL_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kiln/support/random.h"
#include "kiln/targets/vta/buffers.h"
#include "kiln/targets/vta/config.h"
#include "kiln/targets/vta/faults.h"
#include "kiln/targets/vta/isa.h"
#include "kiln/targets/vta/memory.h"
#include "kiln/targets/vta/profile.h"
#include "kiln/targets/vta/tokens.h"

namespace kiln::vta {

// Which stage goes on where several can. Results do not depend on it.
class StageOrder {
 public:
  static constexpr int kFixed =
      6;  // one for each order of the stages, of which the first that can goes on
  // 0 to 5: a fixed order; others: drawn at random, from this seed.
  explicit StageOrder(uint64_t number) : number_(number), random_(number) {}
  std::array<Stage, kStages> Next();

 private:
  uint64_t number_;
  Random random_;
};

// Is told of every instruction before it does anything: its index into the program, what its stage knows to be done by
// then, and its micro-ops (none where it has no steps).
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void OnInstruction(size_t index, const Instruction& instruction, const Progress& before,
                             std::span<const Uop> uops) = 0;
};

// A machine with its buffers, zero at first. Buffers and tokens stay from one launch to the next.
class FunctionalMachine {
 public:
  explicit FunctionalMachine(const Config& config);

  // Runs `count` instructions that begin at byte `address` of `memory`. The faults of single instructions are found
  // before anything runs, the others before the instruction at fault does anything. nullopt: all well.
  std::optional<Fault> Launch(DeviceMemory& memory, uint64_t address, size_t count,
                              StageOrder order = StageOrder(0), Observer* observer = nullptr);

  // The most steps (CostOf) that a launch may take. One that would take more is stopped (kTooLong) before the
  // instruction that would. No limit at first.
  void set_most_steps(uint64_t most) { most_steps_ = most; }

  const Profile& profile() const { return profile_; }
  const Tokens& tokens() const { return tokens_; }

 private:
  std::optional<Fault> Fetch(const DeviceMemory& memory, uint64_t address, size_t count);
  std::optional<Fault> Execute(size_t index, DeviceMemory& memory);
  // Whether the rows of a load or store are all there.
  std::optional<Fault> FindDramFault(size_t index, const DeviceMemory& memory) const;
  std::optional<Fault> Load(size_t index, const DeviceMemory& memory);
  std::optional<Fault> Store(size_t index, DeviceMemory& memory);
  void Compute(const Instruction& in);
  // Of a GEMM or ALU instruction: whether all that it names is there.
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

#endif  // KILN_TARGETS_VTA_FUNCTIONAL_H_
