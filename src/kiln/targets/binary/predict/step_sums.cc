// Computes the sum of every step of every output, and the bounds of what is left.
#include "kiln/targets/binary/predict/step_sums.h"

#include <algorithm>

#include <fmt/format.h>

#include "kiln/support/check.h"

namespace kiln::binary {
namespace {

constexpr int64_t kMaxSums = int64_t{1} << 28;

// Returns the format of one digit alone.
ActivationFormat FormatOfDigit(const ActivationFormat& format, int q) {
  const bool last = q == format.digits() - 1;
  return {format.is_signed && last, last ? format.bits - kDigitBits * q : kDigitBits};
}

}  // namespace

StatusOr<StepSums> StepSums::Create(const WindowShape& shape, const WeightFormat& weight_format,
                                    const ActivationFormat& activation_format,
                                    std::span<const int32_t> weights,
                                    std::span<const int32_t> input, std::span<const int64_t> bias) {
  // Checks the arguments; each step is a convolution of its own.
  const TableFormat whole{weight_format, activation_format, 5, Grouping::kChannels};
  KILN_ASSIGN_OR_RETURN(const TableConvolution checked,
                        TableConvolution::Create(shape, whole, weights));
  KILN_RETURN_IF_ERROR(checked.CheckInput(input));
  if (std::ssize(bias) != shape.outputs) {
    return ErrorAt("", "bias", fmt::format("{} values do not fit the shape", bias.size()),
                   fmt::format("give {}", shape.outputs));
  }
  StepSums sums;
  sums.shape_ = shape;
  sums.weights_ = weight_format;
  sums.activations_ = activation_format;
  sums.bias_.assign(bias.begin(), bias.end());
  if (sums.steps() * shape.output_size() > kMaxSums) {
    return ErrorAt("", "key 'positions'",
                   fmt::format("{} sums are too many", sums.steps() * shape.output_size()),
                   fmt::format("use at most {}", kMaxSums));
  }
  const int digits = sums.digits();
  std::vector<std::vector<int32_t>> digit_input;
  for (int q = 0; q < digits; ++q) {
    std::vector<int32_t> values;
    for (int32_t x : input) values.push_back(activation_format.DigitOf(x, q));
    digit_input.push_back(std::move(values));
  }
  std::vector<int64_t> result;
  const auto add = [&](const WindowShape& step_shape, std::span<const int32_t> planes, int q,
                       std::vector<int32_t>& to) -> Status {
    const TableFormat format{
        {WeightCoding::kOdd, 1}, FormatOfDigit(activation_format, q), 5, Grouping::kChannels};
    KILN_ASSIGN_OR_RETURN(const TableConvolution convolution,
                          TableConvolution::Create(step_shape, format, planes));
    result.resize(static_cast<size_t>(step_shape.output_size()));
    KILN_RETURN_IF_ERROR(convolution.Run(digit_input[static_cast<size_t>(q)], result));
    for (int64_t sum : result) to.push_back(static_cast<int32_t>(sum));
    return OkStatus();
  };
  std::vector<int32_t> plane(weights.size());
  for (int p = 0; p < sums.planes(); ++p) {
    for (size_t i = 0; i < weights.size(); ++i) {
      plane[i] = (weight_format.PlanesOf(weights[i]) >> p & 1) != 0 ? 1 : -1;
    }
    for (int64_t n = 0; n < shape.outputs; ++n) {
      const auto first = plane.begin() + n * shape.window();
      sums.positive_.push_back(std::count(first, first + shape.window(), 1));
    }
    for (int q = 0; q < digits; ++q) KILN_RETURN_IF_ERROR(add(shape, plane, q, sums.sums_));
  }
  WindowShape one = shape;
  one.outputs = 1;
  const std::vector<int32_t> ones(static_cast<size_t>(shape.window()), 1);
  for (int q = 0; q < digits; ++q) KILN_RETURN_IF_ERROR(add(one, ones, q, sums.digit_sums_));
  return sums;
}

int64_t StepSums::Start(int64_t position, int64_t output) const {
  int64_t base = 0;
  for (int q = 0; q < digits(); ++q) {
    base += int64_t{digit_sums_[static_cast<size_t>(q * positions() + position)]} << (4 * q);
  }
  return weights_.offset() * base + weights_.scale() * bias_[static_cast<size_t>(output)];
}

int64_t StepSums::Highest(Step step, int64_t position, int64_t output, Bound bound) const {
  const int64_t low = activations_.LowestDigit(step.digit);
  const int64_t high = activations_.HighestDigit(step.digit);
  const int64_t positive = positive_[static_cast<size_t>(step.plane * outputs() + output)];
  int64_t most = high * positive - low * (shape_.window() - positive);
  if (bound == Bound::kMap && low == 0) {
    most = std::min<int64_t>(most,
                             digit_sums_[static_cast<size_t>(step.digit * positions() + position)]);
  }
  return Weigh(step, most);
}

int64_t StepSums::Lowest(Step step, int64_t output) const {
  const int64_t low = activations_.LowestDigit(step.digit);
  const int64_t high = activations_.HighestDigit(step.digit);
  const int64_t positive = positive_[static_cast<size_t>(step.plane * outputs() + output)];
  return Weigh(step, low * positive - high * (shape_.window() - positive));
}

int64_t StepSums::Total(int64_t position, int64_t output) const {
  int64_t total = Start(position, output);
  for (int p = 0; p < planes(); ++p) {
    for (int q = 0; q < digits(); ++q) total += Term({p, q}, position, output);
  }
  return total;
}

std::vector<Step> StepsBySignificance(const StepSums& sums) {
  std::vector<Step> steps;
  for (int p = 0; p < sums.planes(); ++p) {
    for (int q = 0; q < sums.digits(); ++q) steps.push_back({p, q});
  }
  std::sort(steps.begin(), steps.end(), [](Step a, Step b) {
    const int a_weight = a.plane + 4 * a.digit, b_weight = b.plane + 4 * b.digit;
    return a_weight != b_weight ? a_weight > b_weight : a.digit > b.digit;
  });
  return steps;
}

bool IsValidOrder(const StepSums& sums, std::span<const Step> order) {
  if (std::ssize(order) != sums.steps()) return false;
  std::vector<int> place(order.size(), -1);
  const auto place_of = [&](int plane, int digit) -> int& {
    return place[static_cast<size_t>(plane * sums.digits() + digit)];
  };
  for (size_t i = 0; i < order.size(); ++i) {
    const auto [plane, digit] = order[i];
    if (plane < 0 || plane >= sums.planes() || digit < 0 || digit >= sums.digits()) return false;
    if (place_of(plane, digit) != -1) return false;
    if (plane + 1 < sums.planes() && place_of(plane + 1, digit) == -1) return false;
    if (digit + 1 < sums.digits() && place_of(plane, digit + 1) == -1) return false;
    place_of(plane, digit) = static_cast<int>(i);
  }
  return true;
}

}  // namespace kiln::binary
