// Generates random samples to time networks without data: values that the users of every input
// accept.
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

// The values of an input that are valid indices wherever the network uses it as one: [low, high).
struct IndexRange {
  // `high` is exclusive.
  int64_t low = 0, high = 0;
  friend bool operator==(const IndexRange&, const IndexRange&) = default;
};

// Follows an integer value through operators that only move or cast it, and through sums with
// constants, to every Gather (GatherElements, GatherND, OneHot) that uses it as indices. Returns
// the range that all of them accept, nullopt if there is none.
std::optional<IndexRange> IndexRangeOf(const Value& value);

// Generates `count` samples of each input of the network, in order; equal shapes give equal
// samples.
//   floats                      uniform in [-1, 1)
//   integers that are indices   uniform in IndexRangeOf
//   8-bit integers              uniform over all values, as pixels and codes are
//   other integers and bool     masks, as of padded sequences: each row (last axis) begins with a
//                               random number of ones, at least one, followed by zeros
//   errors  an input of unknown shape or of strings; more than `most_bytes` in total
StatusOr<std::vector<DataSet>> RandomSamples(const Graph& network, int64_t count,
                                             int64_t most_bytes = budgets::kRandomBytes);

}  // namespace kiln

#endif  // KILN_FRONTEND_RANDOM_SAMPLES_H_
