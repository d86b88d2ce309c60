#include "tests/targets/vta/agreement.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "kiln/targets/vta/simulate/cycle/cycle.h"
#include "kiln/targets/vta/simulate/cycle/memory_model.h"
#include "kiln/targets/vta/simulate/functional/functional.h"
#include "kiln/targets/vta/simulate/rtl/rtl_machine.h"

namespace kiln::vta {
namespace {

constexpr int kLaunches = 2;

// A program's memory and the machines that run it, at all levels.
class Machines {
 public:
  Machines(const Config& config, const std::optional<hardware::AxiTiming>& memory,
           const RandomProgram& program, const Hardware* hardware)
      : program_(program),
        hardware_(hardware),
        functional_memory_(RandomProgram::kBase, program.memory),
        cycle_memory_(RandomProgram::kBase, program.memory),
        slow_memory_(RandomProgram::kBase, program.memory),
        hardware_memory_(RandomProgram::kBase, program.memory),
        functional_(config),
        cycle_(config, memory),
        slow_(config, memory) {
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
      return fmt::format("{} at the functional level, {} at the cycle level, {} cycle by cycle",
                         expected, TextOf(cycle.fault), TextOf(slow.fault));
    }
    StatusOr<HardwareOutcome> outcome = HardwareOutcome{cycle.met, cycle.time};
    if (hardware_ != nullptr) outcome = hardware_->launch(hardware_memory_, address, count);
    if (!outcome.ok()) return std::string(outcome.status().message());
    if (TextOf(outcome->fault) != TextOf(cycle.met)) {
      return fmt::format("{} at the cycle level, {} in hardware", TextOf(cycle.met),
                         TextOf(outcome->fault));
    }
    ++totals->launches;
    faulty_ = fault.has_value();
    totals->faults += faulty_ ? 1 : 0;
    if (faulty_) return std::nullopt;
    if (cycle.time != slow.time) {
      return fmt::format("{} cycles with skipping, {} without, or counters differ",
                         cycle.time.cycles, slow.time.cycles);
    }
    if (hardware_ != nullptr && hardware_->timed && outcome->time != cycle.time) {
      return OtherTime(cycle.time, outcome->time);
    }
    totals->cycles += cycle.time.cycles;
    totals->steps += cycle.time.counters.accumulator_writes();
    totals->instructions += count;
    if (cycle_.profile() != functional_.profile())
      return "the levels count bytes or steps otherwise";
    for (const DeviceMemory* memory : {&cycle_memory_, &slow_memory_}) {
      if (const auto difference = ByteThatDiffers(*memory, "at the cycle level")) return difference;
    }
    return hardware_ == nullptr ? std::nullopt : ByteThatDiffers(hardware_memory_, "in hardware");
  }
  bool faulty() const { return faulty_; }

 private:
  static std::string TextOf(const std::optional<Fault>& fault) {
    return fault.has_value()
               ? fmt::format("{} of instruction {}", NameOf(fault->kind), fault->instruction)
               : "no fault";
  }
  static std::string OtherTime(const RunTime& expected, const RunTime& actual) {
    if (actual.cycles != expected.cycles) {
      return fmt::format("{} cycles at the cycle level, {} in hardware", expected.cycles,
                         actual.cycles);
    }
    std::string text = "counters differ:";
    for (size_t i = 0; i < kCounters; ++i) {
      const uint64_t right = expected.counters.values()[i], wrong = actual.counters.values()[i];
      if (right == wrong) continue;
      text += fmt::format(" {}.{} is {} at the cycle level, {} in hardware;",
                          CounterTable()[i].unit, CounterTable()[i].name, right, wrong);
    }
    return text;
  }
  std::optional<std::string> ByteThatDiffers(const DeviceMemory& memory, const char* where) const {
    const auto bytes = memory.bytes(), expected = functional_memory_.bytes();
    const auto [wrong, right] = std::mismatch(bytes.begin(), bytes.end(), expected.begin());
    if (wrong == bytes.end()) return std::nullopt;
    return fmt::format("byte {:#x} is {:#04x} {}, {:#04x} at the functional level",
                       RandomProgram::kBase + static_cast<uint64_t>(wrong - bytes.begin()), *wrong,
                       where, *right);
  }

  const RandomProgram& program_;
  const Hardware* const hardware_;  // or null
  DeviceMemory functional_memory_, cycle_memory_, slow_memory_, hardware_memory_;
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

std::optional<std::string> FindDisagreement(const Config& config, const RandomProgram& program,
                                            LaunchTotals* totals, const Hardware* hardware,
                                            const std::optional<hardware::AxiTiming>& memory) {
  Machines machines(config, memory, program, hardware);
  for (int launch = 0; launch < kLaunches && !machines.faulty(); ++launch) {
    if (const auto difference = machines.Launch(totals))
      return fmt::format("launch {}: {}", launch, *difference);
    if (launch == 0 && machines.faulty()) return "the program is stopped; it should not be";
  }
  return std::nullopt;
}

std::optional<std::string> FindRtlDisagreement(const Config& config, const RandomProgram& program,
                                               const RtlOptions& options, LaunchTotals* totals) {
  StatusOr<RtlMachine> machine = RtlMachine::Start(config, RtlDesigns::Shared(), options);
  if (!machine.ok()) return MessageOf(machine.status());
  Hardware hardware;
  hardware.timed = options.stall_probability == 0;
  const MemoryModel model = Behind(options, config);
  hardware.launch = [&](DeviceMemory& memory, uint64_t address,
                        size_t count) -> StatusOr<HardwareOutcome> {
    KILN_ASSIGN_OR_RETURN(RtlMachine::Result result, machine->Launch(memory, address, count));
    return HardwareOutcome{std::move(result.fault), result.time};
  };
  return FindDisagreement(model.config, program, totals, &hardware, model.simulated);
}

}  // namespace kiln::vta
