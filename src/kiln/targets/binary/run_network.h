// Runs compiled networks image by image: the host keeps the values, the machine runs launches.
#ifndef KILN_TARGETS_BINARY_RUN_NETWORK_H_
#define KILN_TARGETS_BINARY_RUN_NETWORK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/binary/compile/network_program.h"
#include "kiln/targets/binary/isa/stream.h"
#include "kiln/targets/binary/simulate/functional/functional.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/run/tensor_machine.h"

namespace kiln::binary {

// Runs a program, its tail included, at the level of the options. With a memory in the options,
// every launch is a run of the machine behind it (hardware/stream_memory.h), at the levels with
// time. Errors: inputs that do not fit the program; failures of the simulation.
StatusOr<RunResult> RunNetwork(const NetworkProgram& program, const Batch& batch,
                               const RunOptions& options);

// Called as SumObserver is, with the kernel and the launch before; by one thread at a time.
using NetworkObserver = std::function<void(size_t kernel, size_t launch, int stage, int test,
                                           int64_t channel, int64_t sum, bool above)>;

// What tests decided in a run, by kernel and stage.
using NetworkCounts = std::vector<std::vector<StageCounts>>;
// Runs a program at the functional level and counts, over all images, what its tests decide.
StatusOr<RunResult> RunAndCount(const NetworkProgram& program, const Batch& batch,
                                const RunOptions& options, NetworkCounts* counts,
                                const NetworkObserver& observer = {});

// Returns whether a launch with this first stage reads a value as a map of one row: the rows of a
// product are the columns of the map.
bool ReadsRows(const StageProgram& first, const Shape& shape);

// Runs a launch of a kernel on the records of all pixels, and adds its time to the kernel's trace.
using LaunchRun = std::function<StatusOr<StageResults>(
    const KernelPlace& place, size_t launch, std::span<const int32_t> records, Trace* trace)>;
// Returns a machine for one image at a time that runs launches by a function. The program must
// outlive it.
std::unique_ptr<TensorMachine> MakeNetworkMachine(const NetworkProgram& program, LaunchRun run);

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_RUN_NETWORK_H_
