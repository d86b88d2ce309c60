// Builds the trace of one launch from its counters.

#include "kiln/targets/vta/isa/launch_trace.h"

#include <algorithm>
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

// Adds the spans of the recorded unit `name` as those of unit `unit` on one kernel; spans of
// instructions that touch become one.
void AddSpans(const Trace& recorded, std::string_view name, int unit, int kernel,
              std::vector<Span>* spans) {
  const size_t first = spans->size();
  for (const Span& span : recorded.spans) {  // by begin
    if (recorded.units[static_cast<size_t>(span.unit)].name != name) continue;
    if (spans->size() > first && span.begin <= spans->back().end) {
      spans->back().end = std::max(spans->back().end, span.end);
    } else if (span.begin < span.end) {
      spans->push_back({unit, kernel, span.begin, span.end});
    }
  }
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

Trace TraceOfLaunch(int kernel, const RunTime& time, const Timeline* timeline) {
  const Trace recorded = timeline == nullptr ? Trace() : timeline->ToTrace();
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
    if (timeline != nullptr) {
      AddSpans(recorded, unit.name, static_cast<int>(u), kernel, &trace.spans);
    } else if (unit.busy_cycles > 0) {
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
