// Element-wise nodes behind a sum that are affine per channel, then clamped: the part of a layer
// that its requantisation computes. Families with requantisation by channel use it.
#ifndef KILN_TARGETS_LOWER_CHANNEL_LINE_H_
#define KILN_TARGETS_LOWER_CHANNEL_LINE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/ir/shape.h"
#include "kiln/ir/tensor.h"
#include "kiln/support/status.h"

namespace kiln {

// Real numbers by channel: value = sum * factor + offset, clamped to [low, high].
struct ChannelLine {
  std::vector<double> factors, offsets;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  // Returns the value of a channel's sum.
  double ValueOf(int64_t sum, size_t channel) const;
};

// Returns the values of sums in fp32. Element i is of channel i modulo the number of channels.
template <typename Integer>  // int32_t or int64_t
Tensor ValuesOfSums(std::span<const Integer> sums, const ChannelLine& line, const Shape& shape);

// Returns the number in an fp32 constant of one element; nullopt for any other value and for null.
std::optional<double> NumberOf(const Value* value);

// Returns the elements of an fp32 constant as numbers by channel, if it is one number or one per
// channel of the last axis.
std::optional<std::vector<double>> PerChannel(const Value* value, int64_t channels);

// Returns the scale of the weights of each output channel.
std::vector<double> ScalesOfWeights(const Quantisation& q, int64_t channels);

// Returns the largest shift, at most `most_shift`, with which round(factor * 2^shift) has at most
// `bits` bits; `most_shift` for factors that are not positive. Returns nullopt if the factor has
// more bits already.
std::optional<int> ShiftOf(double factor, int bits, int most_shift);

// Return whether a line can go on with a node that reads `before`: a constant per channel that is
// added, subtracted, multiplied or divided by, or bounds; and whether it is bounds, behind which
// only bounds follow.
bool ContinuesLine(const Node& node, const Value* before, int64_t channels);
bool IsBound(const Node& node);

// Applies nodes to the line, in their order; the first one reads `before`. An Identity changes
// nothing.
//   errors  refusals: a constant that is not one number per channel
Status ApplyToLine(std::span<const Node* const> nodes, const Value* before, ChannelLine* line);

}  // namespace kiln

#endif  // KILN_TARGETS_LOWER_CHANNEL_LINE_H_
