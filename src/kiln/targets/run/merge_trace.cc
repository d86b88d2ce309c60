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

void MergeKernels(std::span<const KernelInfo> kernels, Trace* trace) {
  std::vector<KernelTrace> merged;
  for (const KernelTrace& entry : trace->kernels) {
    if (!merged.empty() && merged.back().kernel == entry.kernel) {
      merged.back().end = entry.end;
      continue;
    }
    merged.push_back(entry);
    merged.back().macs = trace->images * kernels[static_cast<size_t>(entry.kernel)].macs;
  }
  trace->kernels = std::move(merged);
}

}  // namespace kiln
