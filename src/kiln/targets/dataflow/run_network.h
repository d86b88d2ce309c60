// Runs compiled networks at the functional, the cycle and the rtl level: segments on the machine,
// the steps between them on the host.
#ifndef KILN_TARGETS_DATAFLOW_RUN_NETWORK_H_
#define KILN_TARGETS_DATAFLOW_RUN_NETWORK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/dataflow/compile/program.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/interface/trace.h"
#include "kiln/targets/run/tensor_machine.h"

namespace kiln::dataflow {

// Runs a program, its tail included, at the level of the options. With a memory in the options, an
// image in a segment is a run of the segment's machine behind it, at the levels with time. Errors:
// the errors of targets/run/run_program.h; a memory for a segment with too many streams; at
// the rtl level also: Verilator or clang++-19 is missing, the hardware does not send all words in
// time.
StatusOr<RunResult> RunNetwork(const DataflowProgram& program, const Batch& batch,
                               const RunOptions& options);

// Returns the cycles between images behind the memory of `rtl` (DataflowProgram::IntervalOfParts).
// Each device and each pass has such a memory. Its segments work on different images at the same
// time and share it: all take as many images in runs that start together, and the cycles of a part
// are those of one image more. Errors: a memory that the program cannot be put behind; those of
// SimulateTiming.
StatusOr<int64_t> IntervalBehindMemory(const DataflowProgram& program, const RtlOptions& rtl);

// Runs one segment on the codes of its sources, in order, and returns the codes of its sinks. Sets
// the segment's trace if it counts cycles.
using SegmentRun = std::function<StatusOr<std::vector<std::vector<int64_t>>>(
    size_t segment, const std::vector<std::vector<int64_t>>& inputs, Trace* trace)>;

// Returns a machine for one image at a time that runs segments by a function. The program must
// outlive it.
std::unique_ptr<TensorMachine> MakeNetworkMachine(const DataflowProgram& program, SegmentRun run);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_RUN_NETWORK_H_
