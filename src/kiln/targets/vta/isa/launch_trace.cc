// Builds the trace of one launch from its counters.

#include "kiln/targets/vta/isa/launch_trace.h"

#include <string>
#include <string_view>
#include <utility>

namespace kiln::vta {
namespace {

// A unit of the machine in a trace, and the counters of its busy and stalled cycles.
struct UnitRow {
  std::string_view name;
  bool transfers;
  Counter busy;
  std::vector<std::pair<std::string_view, Counter>> stalls;
};

const std::vector<UnitRow>& UnitRows() {
  static const auto* rows = new std::vector<UnitRow>{
      {"load",
       true,
       Counter::kLoadBusy,
       {{"tokens", Counter::kLoadTokens}, {"memory port", Counter::kLoadPort}}},
      {"gemm",
       false,
       Counter::kGemmSteps,
       {{"tokens", Counter::kComputeTokens},
        {"banks", Counter::kComputeBanks},
        {"examination", Counter::kComputeExamining},
        {"micro-ops", Counter::kComputeMicroOpsLoading},
        {"queue", Counter::kComputeQueueFull}}},
      {"alu", false, Counter::kAluBusy, {}},
      {"loader", true, Counter::kLoaderBusy, {{"memory port", Counter::kLoaderPort}}},
      {"store", true, Counter::kStoreBusy, {{"tokens", Counter::kStoreTokens}}}};
  return *rows;
}

}  // namespace

std::vector<UnitTrace> IdleUnits() {
  std::vector<UnitTrace> units;
  for (const UnitRow& row : UnitRows()) {
    UnitTrace& unit = units.emplace_back();
    unit.name = row.name;
    unit.transfers = row.transfers;
  }
  return units;
}

Trace TraceOfLaunch(int kernel, const RunTime& time) {
  Trace trace;
  trace.cycles = static_cast<int64_t>(time.cycles);
  trace.units = IdleUnits();
  const Counters& c = time.counters;
  for (size_t u = 0; u < trace.units.size(); ++u) {
    UnitTrace& unit = trace.units[u];
    const UnitRow& row = UnitRows()[u];
    unit.busy_cycles = static_cast<int64_t>(c[row.busy]);
    for (const auto& [cause, counter] : row.stalls)
      unit.stall_cycles[std::string(cause)] = static_cast<int64_t>(c[counter]);
    if (unit.busy_cycles > 0) {
      trace.spans.push_back({static_cast<int>(u), kernel, 0, trace.cycles});
    }
  }
  trace.units[0].bytes_read =
      static_cast<int64_t>(c[Counter::kInputBytes] + c[Counter::kWeightBytes]);
  trace.units[3].bytes_read =
      static_cast<int64_t>(c[Counter::kAccumulatorBytes] + c[Counter::kUopBytes]);
  trace.units[4].bytes_written = static_cast<int64_t>(c[Counter::kOutputBytes]);
  KernelTrace& launch = trace.kernels.emplace_back();
  launch.kernel = kernel;
  launch.end = trace.cycles;
  for (const UnitTrace& unit : trace.units) launch.busy_cycles.push_back(unit.busy_cycles);
  return trace;
}

}  // namespace kiln::vta
