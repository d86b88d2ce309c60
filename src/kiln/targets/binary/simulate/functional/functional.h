// The functional level: the bits of the machine's results, as fast as plain integer arithmetic
// gives them, and what its tests decided.
#ifndef KILN_TARGETS_BINARY_SIMULATE_FUNCTIONAL_FUNCTIONAL_H_
#define KILN_TARGETS_BINARY_SIMULATE_FUNCTIONAL_FUNCTIONAL_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "kiln/targets/binary/isa/program.h"

namespace kiln::binary {

// What the tests of a stage did, summed over all pixels and output channels.
struct StageCounts {
  int64_t outputs = 0;    // of the layer: padded channels are not counted
  int64_t low = 0;        // outputs whose exact result is the low bound
  int64_t decided = 0;    // outputs that a test decided
  int64_t wrong = 0;      // decided outputs whose exact result is above the low bound
  int64_t looked_up = 0;  // steps of outputs that were done, of outputs * steps
  StageCounts& operator+=(const StageCounts& other);
};

struct FunctionalResult {
  // As StageResults (isa/stream.h): results of the stages that emit.
  std::vector<std::vector<int32_t>> results;
  std::vector<StageCounts> counts;  // of each stage; empty unless they are asked for
};

// Called for every output of a stage and every test: the sum at the test, and whether the exact
// result is above the low bound.
using SumObserver =
    std::function<void(int stage, int test, int64_t channel, int64_t sum, bool above)>;

// Runs a program that passes Check on the records of all pixels (AppendRun of isa/stream.h).
// `real_channels`, one number per stage, asks for counts over that many output channels; results of
// decided outputs are then computed in full as well, to see which are wrong.
FunctionalResult RunFunctional(const BlockProgram& program, std::span<const int32_t> records,
                               std::span<const int64_t> real_channels = {},
                               const SumObserver& observer = {});

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_SIMULATE_FUNCTIONAL_FUNCTIONAL_H_
