// Runs compiled networks at the functional, the cycle and the rtl level: segments on the machine,
// the steps between them on the host.
#ifndef KILN_TARGETS_DATAFLOW_RUN_NETWORK_H_
#define KILN_TARGETS_DATAFLOW_RUN_NETWORK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/dataflow/compile/program.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/interface/trace.h"

namespace kiln::dataflow {

// Runs a program without its tail. Errors: the errors of targets/run/run_program.h; at the rtl
// level also: Verilator or clang++-19 is missing, the hardware does not send all words in time.
StatusOr<RunResult> RunNetwork(const DataflowProgram& program, const Batch& batch,
                               const RunOptions& options);

// Runs one segment on the codes of its sources, in order, and returns the codes of its sinks. Adds
// its time to the trace if it counts cycles.
using SegmentRun = std::function<StatusOr<std::vector<std::vector<int64_t>>>(
    size_t segment, const std::vector<std::vector<int64_t>>& inputs, Trace* trace)>;

// Runs a program without its tail; `run` runs its segments, image by image. Errors: the errors of
// targets/run/run_program.h and of `run`.
StatusOr<RunResult> RunSegments(const DataflowProgram& program, const Batch& batch,
                                const SegmentRun& run);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_RUN_NETWORK_H_
