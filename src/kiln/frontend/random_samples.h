// Made-up samples for timing networks without data: values that every input's consumers accept.
#ifndef KILN_FRONTEND_RANDOM_SAMPLES_H_
#define KILN_FRONTEND_RANDOM_SAMPLES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kiln/frontend/data_set.h"
#include "kiln/ir/graph.h"
#include "kiln/support/budgets.h"
#include "kiln/support/status.h"

namespace kiln {

// Values of an input that are valid indices wherever the network looks something up by them: [low, high).
struct IndexRange {
  int64_t low = 0, high = 0;
  friend bool operator==(const IndexRange&, const IndexRange&) = default;
};

// Follows an integer value through operators that only move or cast it, and through sums with constants, to every
// Gather (GatherElements, GatherND, OneHot) that takes it as indices. Nothing where it reaches none.
std::optional<IndexRange> IndexRangeOf(const Value& value);

// `count` samples of each input of the network, in its order; the same for the same shapes.
//   floats                      uniform in [-1, 1)
//   integers that are indices   uniform in IndexRangeOf
//   8-bit integers              uniform over all their values, as pixels and codes are
//   other integers and bool     masks: each row (last axis) begins with at least one 1, of random number, and the rest
//                               is 0, as masks of padded sequences are
//   errors  an input of unknown shape or of strings; more than `most_bytes` in all
StatusOr<std::vector<DataSet>> RandomSamples(const Graph& network, int64_t count,
                                             int64_t most_bytes = budgets::kRandomBytes);

}  // namespace kiln

#endif  // KILN_FRONTEND_RANDOM_SAMPLES_H_
