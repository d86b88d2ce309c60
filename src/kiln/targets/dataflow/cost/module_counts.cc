// Follows the structure of rtl/dataflow.

#include "kiln/targets/dataflow/cost/module_counts.h"

#include <algorithm>

#include "kiln/support/integer.h"

namespace kiln::dataflow {
namespace {

// Trees of two operands a node, whose words have `growth` bits more in each level.
TreeCounts TreeOf(int64_t terms, int64_t bits, int64_t growth) {
  TreeCounts counts;
  while (terms > 1) {
    bits += growth;
    counts.operator_bits += terms / 2 * bits;
    terms = CeilDivide(terms, 2);
    counts.register_bits += terms * bits;
  }
  return counts;
}

}  // namespace

MultiplierCounts MultiplierCountsOf(int64_t in_bits, bool in_signed, int64_t weight_bits,
                                    int64_t pack) {
  const int64_t product = in_bits + weight_bits;
  if (pack == 1) {
    // The bit that an unsigned activation is extended by is a constant.
    return {.pairs = (in_signed ? in_bits + 1 : in_bits) * weight_bits,
            .register_bits = weight_bits + product};
  }
  const int64_t field = pack == 4 ? product - 1 : product;
  const int64_t packed = (pack - 1) * field + weight_bits + 1;
  // The fields of the product, and for four of them the lowest bits of weights and products.
  const int64_t odd = pack == 4 ? 2 * pack : 0;
  return {.pairs = (in_bits + 1) * packed,
          .register_bits = packed + pack * field + odd + pack * product};
}

TreeCounts SumTreeCountsOf(int64_t terms, int64_t bits) { return TreeOf(terms, bits, 1); }
TreeCounts MaxTreeCountsOf(int64_t terms, int64_t bits) { return TreeOf(terms, bits, 0); }

ScaleCounts ScaleCountsOf(int64_t sum_bits, int64_t c_bits, int64_t out_bits,
                          int64_t multiplier_bits) {
  constexpr int64_t kScaleBits = 17, kLowerBits = 17;
  const int64_t product = sum_bits + kScaleBits + 1;
  const int64_t scaled = std::max(product, c_bits) + 1;
  // A sum that is too wide for one multiplier is cut into two operands, whose products have the
  // lower operand's bits in common.
  const bool parts = sum_bits > multiplier_bits;
  const int64_t products = parts ? kLowerBits + 19 + product - kLowerBits : product;
  return {.pairs = kScaleBits * sum_bits,
          .register_bits = sum_bits + kScaleBits + 2 * c_bits + products + scaled + out_bits,
          .scaled_bits = scaled};
}

ThresholdCounts ThresholdCountsOf(int64_t sum_bits, int64_t threshold_bits, int64_t levels,
                                  int64_t words) {
  const int64_t place_bits = CeilLog2(words);
  ThresholdCounts counts;
  for (int64_t level = 1; level <= levels; ++level) {
    counts.compared_bits += std::max(sum_bits, threshold_bits);
    // While the threshold is read, and behind the comparison; nothing follows the last one.
    counts.register_bits += sum_bits + (level - 1) + level;
    if (level < levels) counts.register_bits += 2 * place_bits + sum_bits;
  }
  return counts;
}

int64_t SignedDigits(int64_t number) {
  int64_t digits = 0;
  for (int64_t rest = number < 0 ? -number : number; rest != 0; rest >>= 1) {
    if ((rest & 1) == 0) continue;
    ++digits;
    rest += (rest & 3) == 3 ? 1 : -1;
  }
  return digits;
}

}  // namespace kiln::dataflow
