// Concatenates traces and merges their kernel entries.

#include "kiln/targets/run/merge_trace.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "kiln/support/check.h"

namespace kiln {
namespace {

// Adds the counters of a unit in `part` to those in `unit`.
void AppendUnit(const UnitTrace& part, UnitTrace* unit) {
  unit->busy_cycles += part.busy_cycles;
  unit->bytes_read += part.bytes_read;
  unit->bytes_written += part.bytes_written;
  for (const auto& [cause, cycles] : part.stall_cycles) unit->stall_cycles[cause] += cycles;
}

// Returns the spans, sorted by unit and begin, with near neighbours of equal kernels joined.
std::vector<Span> Joined(const std::vector<Span>& spans, int64_t resolution) {
  std::vector<Span> joined;
  for (const Span& span : spans) {
    if (!joined.empty() && joined.back().unit == span.unit && joined.back().kernel == span.kernel &&
        span.begin - joined.back().end <= resolution) {
      joined.back().end = span.end;
    } else {
      joined.push_back(span);
    }
  }
  return joined;
}

}  // namespace

void AppendTrace(const Trace& part, Trace* trace) {
  const int64_t shift = trace->cycles;
  trace->cycles += part.cycles;
  trace->span_resolution = std::max(trace->span_resolution, part.span_resolution);
  for (Span span : part.spans) {
    span.begin += shift;
    span.end += shift;
    trace->spans.push_back(span);
  }
  for (KernelTrace kernel : part.kernels) {
    kernel.begin += shift;
    kernel.end += shift;
    trace->kernels.push_back(kernel);
  }
  if (trace->units.empty()) {
    trace->units = part.units;
    trace->queues = part.queues;
    return;
  }
  KILN_CHECK(part.units.empty() || part.units.size() == trace->units.size());
  for (size_t u = 0; u < part.units.size(); ++u) AppendUnit(part.units[u], &trace->units[u]);
  KILN_CHECK(part.queues.empty() || part.queues.size() == trace->queues.size());
  for (size_t q = 0; q < part.queues.size(); ++q)
    trace->queues[q].highest = std::max(trace->queues[q].highest, part.queues[q].highest);
}

void LimitSpans(size_t most, Trace* trace) {
  constexpr int64_t kCoarsest = int64_t{1} << 40;
  std::vector<Span>& spans = trace->spans;
  std::ranges::sort(spans, {}, [](const Span& span) { return std::pair(span.unit, span.begin); });
  while (spans.size() > most && trace->span_resolution < kCoarsest) {
    trace->span_resolution = std::max<int64_t>(1, 2 * trace->span_resolution);
    spans = Joined(spans, trace->span_resolution);
  }
  std::ranges::sort(spans, {}, [](const Span& span) { return std::pair(span.begin, span.unit); });
}

std::vector<int64_t> BusyCycles(const Trace& trace) {
  std::vector<int64_t> busy;
  for (const UnitTrace& unit : trace.units) busy.push_back(unit.busy_cycles);
  return busy;
}

void MergeKernels(std::span<const KernelInfo> kernels, Trace* trace) {
  std::vector<KernelTrace> merged;
  for (const KernelTrace& entry : trace->kernels) {
    if (!merged.empty() && merged.back().kernel == entry.kernel) {
      KernelTrace& last = merged.back();
      last.end = entry.end;
      last.busy_cycles.resize(std::max(last.busy_cycles.size(), entry.busy_cycles.size()));
      for (size_t u = 0; u < entry.busy_cycles.size(); ++u)
        last.busy_cycles[u] += entry.busy_cycles[u];
      continue;
    }
    merged.push_back(entry);
    merged.back().macs = trace->images * kernels[static_cast<size_t>(entry.kernel)].macs;
  }
  trace->kernels = std::move(merged);
}

}  // namespace kiln
