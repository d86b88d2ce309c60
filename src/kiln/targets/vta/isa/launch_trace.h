// Turns the time of a launch into a part of a run's trace (targets/interface/trace.h). Runs of
// networks join the traces of their launches.
#ifndef KILN_TARGETS_VTA_ISA_LAUNCH_TRACE_H_
#define KILN_TARGETS_VTA_ISA_LAUNCH_TRACE_H_

#include <vector>

#include "kiln/targets/interface/trace.h"
#include "kiln/targets/vta/isa/counters.h"
#include "kiln/targets/vta/isa/timeline.h"

namespace kiln::vta {

// Returns the units of a trace, in their order, before any launch.
std::vector<UnitTrace> IdleUnits();

// Returns the trace of one launch, which runs `kernel`. The units' busy cycles, stalls and bytes
// come from the counters, and their spans from `timeline`, which holds this launch alone. Without a
// timeline each unit that was busy has one span over the whole launch.
Trace TraceOfLaunch(int kernel, const RunTime& time, const Timeline* timeline);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_ISA_LAUNCH_TRACE_H_
