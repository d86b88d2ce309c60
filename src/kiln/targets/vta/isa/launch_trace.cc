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
  Counter busy;
  std::vector<std::pair<std::string_view, Counter>> stalls;
};

const std::vector<UnitRow>& UnitRows() {
  static const auto* rows = new std::vector<UnitRow>{
      {"load",
       Counter::kLoadBusy,
       {{"tokens", Counter::kLoadTokens}, {"memory port", Counter::kLoadPort}}},
      {"gemm",
       Counter::kGemmSteps,
       {{"tokens", Counter::kComputeTokens},
        {"banks", Counter::kComputeBanks},
        {"examination", Counter::kComputeExamining},
        {"micro-ops", Counter::kComputeMicroOpsLoading},
        {"queue", Counter::kComputeQueueFull}}},
      {"alu", Counter::kAluBusy, {}},
      {"loader", Counter::kLoaderBusy, {{"memory port", Counter::kLoaderPort}}},
      {"store", Counter::kStoreBusy, {{"tokens", Counter::kStoreTokens}}}};
  return *rows;
}

}  // namespace

std::vector<UnitTrace> IdleUnits() {
  std::vector<UnitTrace> units;
  for (const UnitRow& row : UnitRows()) units.emplace_back().name = row.name;
  return units;
}

Trace TraceOfLaunch(int kernel, const RunTime& time) {
  Trace trace;
  trace.cycles = static_cast<int64_t>(time.cycles);
  trace.kernels.push_back({kernel, 0, trace.cycles, 0});
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
  return trace;
}

}  // namespace kiln::vta
