// Prediction of maximum pooling on networks: after the look-ups up to a layer's first test, the
// candidates of a pool that lie further behind the best one than a lead are not finished. The
// machine has no hardware for it; this says what it would save, and what it would cost. It is for
// single stages; predict/pooling.h is the same for layers by themselves.
#ifndef KILN_TARGETS_BINARY_PREDICT_POOLS_H_
#define KILN_TARGETS_BINARY_PREDICT_POOLS_H_

#include <cstdint>

#include "kiln/support/status.h"
#include "kiln/targets/binary/run_network.h"

namespace kiln::binary {

// What a lead did to the layers whose results only a MaxPool reads, summed over images.
struct PoolCounts {
  int64_t pools = 0;       // of every channel
  int64_t wrong = 0;       // pools whose maximum became less
  int64_t candidates = 0;  // outputs that belong to a pool
  int64_t skipped = 0;     // candidates that are not finished: no pool that they are in needs them
  int64_t looked_up = 0;   // steps of candidates that were done, of `steps`
  int64_t steps = 0;
  PoolCounts& operator+=(const PoolCounts& other);
};

// Returns whether the program has such a layer.
bool HasPools(const NetworkProgram& program);

// Runs a program at the functional level. A candidate is finished if its sum at the first test is
// at most `lead` of the exact lead below the best one of a pool. With a lead of 1 no result
// changes: the exact lead is the most by which the steps that are left can bring a candidate closer
// to another one. The program's tests must decide nothing (DisableThresholds). Pools that reach
// beyond the columns of a launch finish all their candidates and are not counted, nor are pools of
// results that the machine adds something to.
//   errors  the errors of RunNetwork
StatusOr<RunResult> RunWithPools(const NetworkProgram& program, const Batch& batch, double lead,
                                 PoolCounts* counts);

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_PREDICT_POOLS_H_
