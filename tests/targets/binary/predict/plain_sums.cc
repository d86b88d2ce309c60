#include "tests/targets/binary/predict/plain_sums.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "kiln/support/random.h"

namespace kiln::binary {

StepSums PredictionCase::Sums() const {
  auto sums = StepSums::Create(shape, weight_format, activation_format, weights, input, bias);
  EXPECT_TRUE(sums.ok()) << MessageOf(sums.status());
  return *std::move(sums);
}

PredictionCase MakePredictionCase(const WindowShape& shape, const WeightFormat& weights,
                                  const ActivationFormat& activations, double zeros, int64_t bias,
                                  uint64_t seed) {
  Random random(seed);
  PredictionCase made{shape, weights, activations, {}, {}, {}};
  while (std::ssize(made.weights) < shape.outputs * shape.window()) {
    const auto w = static_cast<int32_t>(random.Between(weights.lowest(), weights.highest()));
    if (weights.Holds(w)) made.weights.push_back(w);
  }
  for (int64_t i = 0; i < shape.input_size(); ++i) {
    const auto x =
        static_cast<int32_t>(random.Between(activations.lowest(), activations.highest()));
    made.input.push_back(random.Uniform() < zeros ? 0 : x);
  }
  for (int64_t n = 0; n < shape.outputs; ++n) made.bias.push_back(random.Between(-bias, bias));
  return made;
}

PlainOutput ComputePlainOutput(const PredictionCase& made, int64_t position, int64_t output) {
  const WindowShape& s = made.shape;
  const int planes = made.weight_format.bits, bits = made.activation_format.bits;
  const int digits = (bits + 3) / 4;
  const bool is_signed = made.activation_format.is_signed;
  const auto table = [&] {
    return std::vector(static_cast<size_t>(planes),
                       std::vector<int64_t>(static_cast<size_t>(digits), 0));
  };
  PlainOutput out{made.bias[static_cast<size_t>(output)], table(), table(), table()};
  std::vector<int64_t> digit_sum(static_cast<size_t>(digits), 0);
  const int64_t b = position / (s.out_height() * s.out_width());
  const int64_t oy = position / s.out_width() % s.out_height(), ox = position % s.out_width();
  for (int64_t k = 0; k < s.window(); ++k) {
    const int64_t c = k % s.channels, tap = k / s.channels;
    const int64_t y = oy * s.stride_y + tap / s.kernel_width - s.top;
    const int64_t x = ox * s.stride_x + tap % s.kernel_width - s.left;
    const bool inside = y >= 0 && y < s.height && x >= 0 && x < s.width;
    const int64_t value =
        inside
            ? made.input[static_cast<size_t>(((b * s.height + y) * s.width + x) * s.channels + c)]
            : 0;
    const int64_t weight = made.weights[static_cast<size_t>(output * s.window() + k)];
    out.total += value * weight;
    // The planes of a weight from its definition: u counts the weights below it.
    const int64_t u =
        made.weight_format.coding == WeightCoding::kOdd      ? (weight + (1 << planes) - 1) / 2
        : made.weight_format.coding == WeightCoding::kSigned ? weight + (1 << (planes - 1))
                                                             : weight;
    for (int q = 0; q < digits; ++q) {
      // Digits by floor division; the last one keeps the sign.
      int64_t digit = value >> (4 * q);
      if (q < digits - 1 || !is_signed) digit = ((digit % 16) + 16) % 16;
      const int width = std::min(4, bits - 4 * q);
      const bool with_sign = is_signed && q == digits - 1;
      const int64_t high = (int64_t{1} << (with_sign ? width - 1 : width)) - 1;
      const int64_t low = with_sign ? -(int64_t{1} << (width - 1)) : 0;
      digit_sum[static_cast<size_t>(q)] += digit;
      for (int p = 0; p < planes; ++p) {
        const int64_t sign = (u >> p & 1) != 0 ? 1 : -1, unit = int64_t{1} << (p + 4 * q);
        out.terms[static_cast<size_t>(p)][static_cast<size_t>(q)] += unit * sign * digit;
        out.most[static_cast<size_t>(p)][static_cast<size_t>(q)] += unit * (sign > 0 ? high : -low);
      }
    }
  }
  for (int p = 0; p < planes; ++p) {
    for (int q = 0; q < digits; ++q) {
      const auto i = static_cast<size_t>(p), j = static_cast<size_t>(q);
      out.map[i][j] = is_signed && q == digits - 1
                          ? out.most[i][j]
                          : std::min(out.most[i][j], digit_sum[j] << (p + 4 * q));
    }
  }
  return out;
}

}  // namespace kiln::binary
