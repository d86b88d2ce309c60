// Runs program vectors at the functional, cycle and rtl levels and formats the first difference
// from the vector's memory, counters or fault.

#include "kiln/targets/vta/run/run_vector.h"

#include <algorithm>
#include <span>
#include <utility>

#include "fmt/format.h"
#include "kiln/targets/vta/simulate/cycle/cycle.h"
#include "kiln/targets/vta/simulate/functional/functional.h"

namespace kiln::vta {

std::optional<std::string> FindDifference(const ProgramVector& vector, uint64_t order,
                                          uint64_t most_steps) {
  FunctionalMachine machine(vector.config);
  machine.set_most_steps(most_steps);
  const auto launch = [&](DeviceMemory& memory, const ProgramVector::Launch& run) {
    return machine.Launch(memory, run.address, run.instructions, StageOrder(order));
  };
  return FindDifference(vector, launch, machine.profile());
}

std::optional<std::string> FindCycleDifference(const ProgramVector& vector, uint64_t most_cycles,
                                               RunTime* time, Timeline* timeline) {
  CycleMachine machine(vector.config);
  const auto launch = [&](DeviceMemory& memory, const ProgramVector::Launch& run) {
    CycleMachine::Result result =
        machine.Launch(memory, run.address, run.instructions, most_cycles, timeline);
    if (time != nullptr && !result.fault.has_value()) {
      time->cycles += result.time.cycles;
      time->counters += result.time.counters;
    }
    return std::move(result.fault);
  };
  return FindDifference(vector, launch, machine.profile());
}

namespace {

// Returns the first difference of cycles or counters between the hardware and the cycle level. The
// hardware's counters have 32 bits.
std::optional<std::string> FindTimeDifference(const RtlMachine::Result& rtl,
                                              const RunTime& expected) {
  if (rtl.time.cycles != expected.cycles) {
    return fmt::format("{} cycles; {} at the cycle level", rtl.time.cycles, expected.cycles);
  }
  for (size_t i = 0; i < kCounters; ++i) {
    const uint64_t is = rtl.time.counters.values()[i],
                   should = expected.counters.values()[i] & 0xffffffff;
    if (is == should) continue;
    const CounterInfo& info = CounterTable()[i];
    return fmt::format("{}.{} is {}; {} at the cycle level", info.unit, info.name, is, should);
  }
  if (rtl.accumulator_writes != (expected.counters.accumulator_writes() & 0xffffffff)) {
    return fmt::format("{} accumulators written; {} at the cycle level", rtl.accumulator_writes,
                       expected.counters.accumulator_writes());
  }
  return std::nullopt;
}

}  // namespace

StatusOr<std::optional<std::string>> FindRtlDifference(const ProgramVector& vector,
                                                       RtlDesigns& designs, uint64_t most_cycles,
                                                       RunTime* time) {
  KILN_ASSIGN_OR_RETURN(RtlMachine machine, RtlMachine::Start(vector.config, designs));
  // The cycle level runs in parallel on its own memory. Its profile is also the one to compare with
  // the vector's counters.
  CycleMachine cycle(vector.config);
  DeviceMemory cycle_memory(vector.base, vector.before);
  Status status = OkStatus();
  std::optional<std::string> levels_difference;
  const auto launch = [&](DeviceMemory& memory,
                          const ProgramVector::Launch& run) -> std::optional<Fault> {
    auto result = machine.Launch(memory, run.address, run.instructions, most_cycles);
    const CycleMachine::Result expected =
        cycle.Launch(cycle_memory, run.address, run.instructions, most_cycles);
    if (!result.ok()) {
      status.Update(result.status());
      return Fault{FaultKind::kTooLong, 0, ""};
    }
    if (!levels_difference.has_value()) {
      if (const auto differs = FindDifference(result->fault, expected.met)) {
        levels_difference = *differs + " at the cycle level";
      }
    }
    // The cycle level also proves what the hardware cannot: that FINISH waits for all other
    // instructions at any speed.
    if (expected.fault.has_value()) return expected.fault;
    if (result->fault.has_value()) return std::move(result->fault);
    if (time != nullptr) {
      time->cycles += result->time.cycles;
      time->counters += result->time.counters;
    }
    if (!levels_difference.has_value())
      levels_difference = FindTimeDifference(*result, expected.time);
    return std::nullopt;
  };
  const auto difference = FindDifference(vector, launch, cycle.profile());
  KILN_RETURN_IF_ERROR(status);
  return difference.has_value() ? difference : levels_difference;
}

std::optional<std::string> FindDifference(const ProgramVector& vector, const Launcher& run,
                                          const Profile& profile) {
  DeviceMemory memory(vector.base, vector.before);
  for (size_t i = 0; i < vector.launches.size(); ++i) {
    const ProgramVector::Launch& launch = vector.launches[i];
    const std::optional<Fault> fault = run(memory, launch);
    if (!fault.has_value()) continue;
    if (vector.fault.has_value() && NameOf(fault->kind) == *vector.fault) return std::nullopt;
    return fmt::format("launch {}, instruction {}: {}: {}", i, fault->instruction,
                       NameOf(fault->kind), fault->message);
  }
  if (vector.fault.has_value())
    return fmt::format("runs to its end; the vector has it stop with {}", *vector.fault);
  const std::span<const uint8_t> bytes = memory.bytes();
  const auto [wrong, right] = std::mismatch(bytes.begin(), bytes.end(), vector.after.begin());
  if (wrong != bytes.end()) {
    const uint64_t address = vector.base + static_cast<uint64_t>(wrong - bytes.begin());
    std::string name = vector.name_of_byte ? vector.name_of_byte(address) : "";
    if (name.empty()) name = fmt::format("byte {:#x} of the memory", address);
    return fmt::format("{} is {:#04x}; the vector has {:#04x}", name, *wrong, *right);
  }
  for (const ProfileCounter& counter : kProfileCounters) {
    if (!vector.profile.has_value()) break;
    const uint64_t is = profile.*counter.member, should = (*vector.profile).*counter.member;
    if (is != should) return fmt::format("{} is {}; the vector has {}", counter.name, is, should);
  }
  return std::nullopt;
}

}  // namespace kiln::vta
