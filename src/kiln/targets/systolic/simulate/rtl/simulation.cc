// Builds and runs simulations of emitted machines, and reads their performance counters.
#include "kiln/targets/systolic/simulate/rtl/simulation.h"

#include <array>
#include <utility>

#include "fmt/format.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/hardware/simulation_session.h"
#include "kiln/support/check.h"
#include "kiln/targets/systolic/emit/emit.h"
#include "kiln/targets/systolic/isa/units.h"

namespace kiln::systolic {
namespace {

namespace fs = std::filesystem;

// Counters of each unit (rtl/testbench/kiln_systolic_registers.h): cycles in which it worked,
// cycles in which it waited by cause, bytes read, bytes written.
constexpr size_t kUnitCounters = 3 + kCauses;

UnitTrace TraceOf(const UnitInfo& unit, std::span<const uint64_t> counters) {
  const auto value = [&](size_t i) { return static_cast<int64_t>(counters[i]); };
  UnitTrace trace;
  trace.name = unit.name;
  trace.busy_cycles = value(0);
  for (size_t i = 0; i < kCauses; ++i) {
    // As at the cycle level, causes that did not occur are omitted.
    if (value(1 + i) == 0) continue;
    const char* cause = unit.causes[i];
    trace.stall_cycles[cause != nullptr ? cause : fmt::format("stalled{}", i)] = value(1 + i);
  }
  trace.bytes_read = value(1 + kCauses);
  trace.bytes_written = value(2 + kCauses);
  return trace;
}

}  // namespace

StatusOr<Simulation> Simulation::Build(const fs::path& folder, const RtlOptions& options,
                                       bool trace) {
  KILN_ASSIGN_OR_RETURN(
      fs::path program,
      hardware::BuildSimulation(folder, {.trace = trace, .netlist = options.netlist}));
  return Simulation(std::move(program), options);
}

StatusOr<Simulation> Simulation::BuildDesign(const SystolicProgram& program,
                                             const RtlOptions& options, bool trace) {
  KILN_ASSIGN_OR_RETURN(const hardware::RtlProject project, DesignProject(program));
  if (options.folder.empty()) {
    KILN_ASSIGN_OR_RETURN(
        fs::path simulate,
        hardware::BuildSimulation(project, {.trace = trace, .netlist = options.netlist}));
    return Simulation(std::move(simulate), options);
  }
  KILN_RETURN_IF_ERROR(hardware::WriteRtlProject(project, options.folder));
  return Build(options.folder, options, trace);
}

StatusOr<Simulated> Simulation::Run(std::span<const uint8_t> program, uint64_t base, uint64_t start,
                                    uint64_t seed, std::span<uint8_t> memory,
                                    const WaveOptions& wave) const {
  using hardware::SimulationSession;
  KILN_CHECK(base >= memory.size());
  KILN_ASSIGN_OR_RETURN(SimulationSession session,
                        SimulationSession::Start(simulate_, MemoryArguments(options_, seed)));
  // Some memory after the program, because instruction words are prefetched.
  constexpr uint64_t kAhead = 4096;
  const std::array<SimulationSession::Range, 1> whole = {{{0, base + program.size() + kAhead}}};
  KILN_RETURN_IF_ERROR(session.Map(whole));
  KILN_RETURN_IF_ERROR(session.Write(0, memory));
  KILN_RETURN_IF_ERROR(session.Write(base, program));
  if (!wave.file.empty()) {
    KILN_RETURN_IF_ERROR(session.Record(wave.file, wave.window.begin, wave.window.end));
  }
  KILN_ASSIGN_OR_RETURN(const SimulationSession::Outcome outcome,
                        session.Run(std::array<uint64_t, 1>{start}, options_.most_cycles));
  if (!outcome.ended) {
    return absl::InternalError(fmt::format("{}: the program did not end in {} cycles",
                                           simulate_.string(), options_.most_cycles));
  }
  if (outcome.error != 0) {
    return absl::InternalError(fmt::format(
        "{}: the machine stops with error {} at instruction {}, word {} (docs/rtl.md, \"Errors\")",
        simulate_.string(), outcome.error, outcome.error_place >> 16,
        outcome.error_place & 0xffff));
  }
  Simulated simulated;
  simulated.cycles = static_cast<int64_t>(outcome.cycles);
  // The limit: a machine that counts wrongly may seem to finish more instructions than there are
  // words.
  constexpr size_t kFinishedBits = 16, kWordBytes = 16;
  const size_t most = program.size() / kWordBytes + (size_t{1} << kFinishedBits);
  KILN_ASSIGN_OR_RETURN(std::vector<std::vector<int64_t>> events, session.Events(1, most));
  simulated.finished = std::move(events[0]);
  KILN_ASSIGN_OR_RETURN(const std::vector<uint64_t> counters,
                        session.Counters(kUnits * kUnitCounters));
  for (size_t unit = 0; unit < kUnits; ++unit) {
    simulated.units.push_back(TraceOf(
        kUnitTable[unit], std::span(counters).subspan(unit * kUnitCounters, kUnitCounters)));
  }
  KILN_RETURN_IF_ERROR(session.Read(0, memory));
  return simulated;
}

}  // namespace kiln::systolic
