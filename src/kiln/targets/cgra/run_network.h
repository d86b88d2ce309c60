// Runs compiled networks image by image: the host keeps the values, the machine runs launches.
#ifndef KILN_TARGETS_CGRA_RUN_NETWORK_H_
#define KILN_TARGETS_CGRA_RUN_NETWORK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/compile/launch_data.h"
#include "kiln/targets/cgra/compile/network_program.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/run/tensor_machine.h"

namespace kiln::cgra {

// Runs a program, its tail included, at the level of the options. With a memory in the options,
// every stream is a run of the machine behind it (hardware/stream_memory.h), at the levels with
// time. Errors: inputs that do not fit the program; failures of the simulation.
StatusOr<RunResult> RunNetwork(const NetworkProgram& program, const Batch& batch,
                               const RunOptions& options);

// Consecutive runs of a launch as one stream: the words that load the program, then the runs.
struct LaunchStream {
  std::vector<uint8_t> bytes = {};  // of the stream in
  std::vector<size_t> ends = {};    // by run: where its bytes end
  int64_t beats_of_run = 0;         // that the machine sends
  int64_t beats_out() const { return beats_of_run * std::ssize(ends); }
};
// Sends a stream to a machine, adds its time to the trace, and returns the bytes of the stream out.
using StreamRun =
    std::function<StatusOr<std::vector<uint8_t>>(const LaunchStream& stream, Trace* trace)>;
// Runs a launch by streams of bounded size, on the contents of its kernel's buffers.
Status RunByStream(const Launch& launch, const StreamRun& run, BufferContents* contents,
                   Trace* trace);

// Runs one launch of a kernel on the contents of the kernel's buffers, and adds its time to the
// kernel's trace.
using LaunchRun = std::function<Status(const KernelPlace& place, const Launch& launch,
                                       BufferContents* contents, Trace* trace)>;
// Returns a machine for one image at a time that runs launches by a function. The program must
// outlive it.
std::unique_ptr<TensorMachine> MakeNetworkMachine(const NetworkProgram& program, LaunchRun run);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_RUN_NETWORK_H_
