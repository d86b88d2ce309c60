// Joins the traces of the parts of a run to the trace of the whole run.
#ifndef KILN_TARGETS_RUN_MERGE_TRACE_H_
#define KILN_TARGETS_RUN_MERGE_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kiln/targets/interface/program.h"
#include "kiln/targets/interface/trace.h"

namespace kiln {

// Appends the trace of the next part of a run: `part` begins in the cycle in which `trace` ends,
// the counters of units are added, and the highest levels of queues are kept. Both must have the
// same units and queues, or one of them must have none.
void AppendTrace(const Trace& part, Trace* trace);

// The most spans of a trace that a machine returns, unless it has more stretches of work.
inline constexpr size_t kMostSpans = size_t{1} << 16;

// Sorts the spans by begin, then by unit, and leaves at most `most` of them, or one for each stretch
// of a unit on one kernel if these are more: doubles the resolution until joining the neighbours
// that are so near suffices. Spans of a unit must not overlap.
void LimitSpans(size_t most, Trace* trace);

// Returns the busy cycles of all units of a trace, for a kernel that the whole trace belongs to.
std::vector<int64_t> BusyCycles(const Trace& trace);

// Merges consecutive entries of Trace::kernels that belong to the same kernel, adds their busy
// cycles, and sets the MACs of each entry: those of the kernel times Trace::images.
void MergeKernels(std::span<const KernelInfo> kernels, Trace* trace);

}  // namespace kiln

#endif  // KILN_TARGETS_RUN_MERGE_TRACE_H_
