// Exact sums of products in 64-bit words, for the cycle level's quires.
#include "kiln/targets/systolic/simulate/cycle/exact_sums.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "kiln/numerics/tables.h"
#include "kiln/support/check.h"

namespace kiln::systolic {
namespace {

using Wide = unsigned __int128;

constexpr uint8_t kNan = 1, kPlusInfinity = 2, kMinusInfinity = 4;
constexpr size_t kMostWords = 12;            // fp32 times fp32 needs 10
constexpr int kFraction = 52, kBias = 1023;  // of binary64

}  // namespace

void ExactSums::Resize(const ExactProducts& products, size_t count) {
  const auto words = static_cast<size_t>((products.sum_bits() + 63) / 64);
  KILN_CHECK(words <= kMostWords);
  if (words == words_ && products.lowest == lowest_ && count == specials_.size()) return;
  words_ = words;
  lowest_ = products.lowest;
  bits_.assign(count * words, 0);
  specials_.assign(count, 0);
}

void ExactSums::Clear(size_t first, size_t count) {
  std::fill_n(bits_.begin() + static_cast<std::ptrdiff_t>(first * words_), count * words_,
              uint64_t{0});
  std::fill_n(specials_.begin() + static_cast<std::ptrdiff_t>(first), count, uint8_t{0});
}

void ExactSums::AddProduct(size_t sum, float x, float w) {
  const double product = static_cast<double>(x) * w;
  if (product == 0) return;
  if (!std::isfinite(product)) {
    specials_[sum] |= product != product ? kNan : product > 0 ? kPlusInfinity : kMinusInfinity;
    return;
  }
  // The product is significand * 2^(lowest_ + place). Products of fp32 numbers are never subnormal
  // in binary64.
  const auto fields = std::bit_cast<uint64_t>(product);
  uint64_t significand = (fields & ((uint64_t{1} << kFraction) - 1)) | uint64_t{1} << kFraction;
  int64_t place = static_cast<int64_t>(fields >> kFraction & 0x7ff) - kBias - kFraction - lowest_;
  if (place < 0) {
    significand >>= -place;  // shifts out zeros only: the product is a multiple of the lowest
                             // weight
    place = 0;
  }
  const auto first = static_cast<size_t>(place / 64);
  Wide addend = Wide{significand} << (place % 64);
  // The negative of a number is its complement, from its first word up, plus 1.
  const uint64_t turn = product < 0 ? ~uint64_t{0} : 0;
  uint64_t carry = turn & 1;
  uint64_t* words = bits_.data() + sum * words_;
  for (size_t i = first; i < words_; ++i, addend >>= 64) {
    const Wide total = Wide{words[i]} + (static_cast<uint64_t>(addend) ^ turn) + carry;
    words[i] = static_cast<uint64_t>(total);
    carry = static_cast<uint64_t>(total >> 64);
  }
}

float ExactSums::Rounded(size_t sum) const {
  const uint8_t specials = specials_[sum];
  if ((specials & kNan) != 0 || specials == (kPlusInfinity | kMinusInfinity))
    return std::bit_cast<float>(kQuietNan);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (specials != 0) return specials == kPlusInfinity ? kInfinity : -kInfinity;
  const uint64_t* words = bits_.data() + sum * words_;
  const bool negative = words[words_ - 1] >> 63 != 0;
  std::array<uint64_t, kMostWords> magnitude;
  uint64_t carry = negative ? 1 : 0;
  for (size_t i = 0; i < words_; ++i) {
    magnitude[i] = negative ? ~words[i] + carry : words[i];
    carry = carry != 0 && magnitude[i] == 0 ? 1 : 0;
  }
  size_t top = words_ - 1;
  while (top > 0 && magnitude[top] == 0) --top;
  if (magnitude[top] == 0) return 0;
  // The first 53 bits; the last of them is set if any lower bit is set ("round to odd"). Rounding
  // this binary64 number to fp32 gives the same result as rounding the whole sum.
  const int zeros = std::countl_zero(magnitude[top]);
  const Wide upper = (Wide{magnitude[top]} << 64 | (top > 0 ? magnitude[top - 1] : 0)) << zeros;
  bool lost = upper << (kFraction + 1) != 0;
  for (size_t i = 0; i + 1 < top; ++i) lost |= magnitude[i] != 0;
  const uint64_t odd = static_cast<uint64_t>(upper >> (127 - kFraction)) | (lost ? 1 : 0);
  const int64_t exponent = lowest_ + 64 * static_cast<int64_t>(top) + 63 - zeros - kFraction;
  const double value = std::ldexp(static_cast<double>(odd), static_cast<int>(exponent));
  return static_cast<float>(negative ? -value : value);
}

}  // namespace kiln::systolic
