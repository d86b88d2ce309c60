// Runs compiled networks image by image: the host keeps the values, the machine runs launches.
#ifndef KILN_TARGETS_BINARY_RUN_NETWORK_H_
#define KILN_TARGETS_BINARY_RUN_NETWORK_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/binary/compile/network_program.h"
#include "kiln/targets/binary/simulate/functional/functional.h"
#include "kiln/targets/interface/accelerator.h"

namespace kiln::binary {

// Runs a program at the level of the options, without its tail. Errors: inputs that do not fit the
// program; a memory in the options, which the machine does not have; failures of the simulation.
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

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_RUN_NETWORK_H_
