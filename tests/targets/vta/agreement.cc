#include "tests/targets/vta/agreement.h"

#include <algorithm>

#include "fmt/format.h"
#include "kiln/targets/vta/cycle.h"
#include "kiln/targets/vta/functional.h"

namespace kiln::vta {
namespace {

constexpr int kLaunches = 2;

// A program's memory and the machines that run it, at both levels.
class Machines {
 public:
  Machines(const Config& config, const RandomProgram& program)
      : program_(program),
        functional_memory_(RandomProgram::kBase, program.memory),
        cycle_memory_(RandomProgram::kBase, program.memory),
        slow_memory_(RandomProgram::kBase, program.memory),
        functional_(config),
        cycle_(config),
        slow_(config) {
    slow_.set_skips(false);
  }

  // What differs in a launch; nullopt where nothing does.
  std::optional<std::string> Launch(LaunchTotals* totals) {
    const uint64_t address = program_.address;
    const size_t count = program_.instructions.size();
    const auto fault = functional_.Launch(functional_memory_, address, count);
    const CycleMachine::Result cycle = cycle_.Launch(cycle_memory_, address, count);
    const CycleMachine::Result slow = slow_.Launch(slow_memory_, address, count);
    const std::string expected = TextOf(fault);
    if (TextOf(cycle.fault) != expected || TextOf(slow.fault) != expected) {
      return fmt::format("{} at the functional level, {} at the cycle level, {} cycle by cycle", expected,
                         TextOf(cycle.fault), TextOf(slow.fault));
    }
    ++totals->launches;
    faulty_ = fault.has_value();
    totals->faults += faulty_ ? 1 : 0;
    if (faulty_) return std::nullopt;
    if (cycle.time != slow.time) {
      return fmt::format("{} cycles with skipping, {} without, or counters differ", cycle.time.cycles,
                         slow.time.cycles);
    }
    totals->cycles += cycle.time.cycles;
    totals->steps += cycle.time.counters.accumulator_writes();
    totals->instructions += count;
    if (cycle_.profile() != functional_.profile()) return "the levels count bytes or steps otherwise";
    if (const auto difference = ByteThatDiffers(cycle_memory_)) return difference;
    return ByteThatDiffers(slow_memory_);
  }
  bool faulty() const { return faulty_; }

 private:
  static std::string TextOf(const std::optional<Fault>& fault) {
    return fault.has_value() ? fmt::format("{} of instruction {}", NameOf(fault->kind), fault->instruction)
                             : "no fault";
  }
  std::optional<std::string> ByteThatDiffers(const DeviceMemory& memory) const {
    const auto bytes = memory.bytes(), expected = functional_memory_.bytes();
    const auto [wrong, right] = std::mismatch(bytes.begin(), bytes.end(), expected.begin());
    if (wrong == bytes.end()) return std::nullopt;
    return fmt::format("byte {:#x} is {:#04x} at the cycle level, {:#04x} at the functional level",
                       RandomProgram::kBase + static_cast<uint64_t>(wrong - bytes.begin()), *wrong, *right);
  }

  const RandomProgram& program_;
  DeviceMemory functional_memory_, cycle_memory_, slow_memory_;
  FunctionalMachine functional_;
  CycleMachine cycle_, slow_;  // with and without skipping
  bool faulty_ = false;
};

}  // namespace

LaunchTotals& LaunchTotals::operator+=(const LaunchTotals& other) {
  launches += other.launches;
  faults += other.faults;
  cycles += other.cycles;
  instructions += other.instructions;
  steps += other.steps;
  return *this;
}

std::optional<std::string> FindDisagreement(const Config& config, const RandomProgram& program, LaunchTotals* totals) {
  Machines machines(config, program);
  for (int launch = 0; launch < kLaunches && !machines.faulty(); ++launch) {
    if (const auto difference = machines.Launch(totals)) return fmt::format("launch {}: {}", launch, *difference);
    if (launch == 0 && machines.faulty()) return "the program is stopped; it should not be";
  }
  return std::nullopt;
}

}  // namespace kiln::vta
