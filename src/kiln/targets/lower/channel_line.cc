// Matches and applies nodes that are affine per channel.

#include "kiln/targets/lower/channel_line.h"

#include <algorithm>
#include <cmath>

#include "kiln/support/check.h"
#include "kiln/targets/lower/refusal.h"

namespace kiln {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const Value* OtherThan(const Node& node, const Value* value) {
  return node.operand(node.operand(0) == value ? 1 : 0);
}

}  // namespace

double ChannelLine::ValueOf(int64_t sum, size_t channel) const {
  const double value = static_cast<double>(sum) * factors[channel] + offsets[channel];
  return std::min(std::max(value, low), high);
}

template <typename Integer>
Tensor ValuesOfSums(std::span<const Integer> sums, const ChannelLine& line, const Shape& shape) {
  Tensor values(ElementType::kFloat32, shape);
  KILN_CHECK(std::ssize(sums) == values.size());
  const auto to = values.data<float>();
  for (size_t i = 0; i < sums.size(); ++i)
    to[i] = static_cast<float>(line.ValueOf(sums[i], i % line.factors.size()));
  return values;
}
template Tensor ValuesOfSums(std::span<const int32_t>, const ChannelLine&, const Shape&);
template Tensor ValuesOfSums(std::span<const int64_t>, const ChannelLine&, const Shape&);

std::optional<double> NumberOf(const Value* value) {
  if (value == nullptr || !value->is_constant() || value->element() != ElementType::kFloat32 ||
      value->constant().size() != 1)
    return std::nullopt;
  return value->constant().ValueAt(0);
}

std::optional<std::vector<double>> PerChannel(const Value* value, int64_t channels) {
  if (value == nullptr || !value->is_constant() || value->element() != ElementType::kFloat32)
    return std::nullopt;
  const Tensor& tensor = value->constant();
  std::vector<double> numbers(static_cast<size_t>(channels));
  if (tensor.size() == 1) {
    std::ranges::fill(numbers, tensor.ValueAt(0));
    return numbers;
  }
  const Shape& shape = tensor.shape();
  if (tensor.size() != channels || shape.rank() == 0 || shape[shape.rank() - 1] != channels)
    return std::nullopt;
  for (int64_t c = 0; c < channels; ++c) numbers[static_cast<size_t>(c)] = tensor.ValueAt(c);
  return numbers;
}

std::vector<double> ScalesOfWeights(const Quantisation& q, int64_t channels) {
  std::vector<double> scales(static_cast<size_t>(channels), 1.0);
  for (size_t c = 0; c < scales.size(); ++c) {
    if (!q.scales.empty()) scales[c] = q.scales[q.scales.size() == 1 ? 0 : c];
  }
  return scales;
}

std::optional<int> ShiftOf(double factor, int bits, int most_shift) {
  if (!(factor > 0)) return most_shift;
  int exponent = 0;
  std::frexp(factor, &exponent);  // factor = m * 2^exponent, m in [0.5, 1)
  int shift = std::min(most_shift, bits - exponent);
  if (std::llround(std::ldexp(factor, shift)) >= int64_t{1} << bits) --shift;
  return shift < 0 ? std::nullopt : std::optional(shift);
}

bool ContinuesLine(const Node& node, const Value* before, int64_t channels) {
  switch (node.op()) {
    case Op::kAdd:
    case Op::kMul:
      return PerChannel(OtherThan(node, before), channels).has_value();
    case Op::kSub:
    case Op::kDiv:
      return node.operand(0) == before && PerChannel(node.operand(1), channels).has_value();
    case Op::kRelu:
      return true;
    case Op::kClip:
      return (node.operand(1) == nullptr || NumberOf(node.operand(1)).has_value()) &&
             (node.operand(2) == nullptr || NumberOf(node.operand(2)).has_value());
    default:
      return false;
  }
}

bool IsBound(const Node& node) { return node.op() == Op::kRelu || node.op() == Op::kClip; }

Status ApplyToLine(std::span<const Node* const> nodes, const Value* before, ChannelLine* line) {
  const auto channels = std::ssize(line->factors);
  for (const Node* node : nodes) {
    if (node->op() == Op::kRelu) {
      line->low = std::max(line->low, 0.0);
      line->high = std::max(line->high, 0.0);
    } else if (node->op() == Op::kClip) {
      const double low = NumberOf(node->operand(1)).value_or(-kInfinity),
                   high = NumberOf(node->operand(2)).value_or(kInfinity);
      line->low = std::min(std::max(line->low, low), high);
      line->high = std::min(std::max(line->high, low), high);
    } else if (node->op() != Op::kIdentity) {
      const auto numbers = PerChannel(OtherThan(*node, before), channels);
      if (!numbers.has_value()) return ToHost("a constant that is not one number per channel");
      for (size_t c = 0; c < line->factors.size(); ++c) {
        const double number = (*numbers)[c];
        if (node->op() == Op::kAdd) line->offsets[c] += number;
        if (node->op() == Op::kSub) line->offsets[c] -= number;
        if (node->op() == Op::kMul || node->op() == Op::kDiv) {
          const double factor = node->op() == Op::kMul ? number : 1 / number;
          line->factors[c] *= factor;
          line->offsets[c] *= factor;
        }
      }
    }
    before = node->result();
  }
  return OkStatus();
}

}  // namespace kiln
