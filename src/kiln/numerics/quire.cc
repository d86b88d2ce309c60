// Implements the quire as a fixed-point number of twelve 64-bit limbs.

#include "kiln/numerics/quire.h"

#include <algorithm>
#include <bit>

#include "kiln/numerics/codec.h"
#include "kiln/support/check.h"

namespace kiln {
namespace {

// Returns log2 of the weight of a number's lowest set bit.
int64_t LowestBit(const Exact& x) { return x.exponent - 63 + std::countr_zero(x.significand); }

// Returns log2 of the largest power of two that divides every number of a format.
int64_t Resolution(const Format& format) {
  if (format.kind == FormatKind::kCodebook) {
    int64_t lowest = 0;
    for (const float value : format.codebook->values) {
      if (value != 0) lowest = std::min(lowest, LowestBit(Exact::FromFloat(value)));
    }
    return lowest;
  }
  const int64_t least = LeastPositive(format).exponent;
  return format.kind == FormatKind::kFloat && format.low_exponent != LowExponent::kSubnormal
             ? least - format.fraction_bits
             : least;
}

// Returns the smallest integer that is at least log2 |x|.
int64_t CeilLog2(const Exact& x) {
  return x.exponent + (std::has_single_bit(x.significand) ? 0 : 1);
}

}  // namespace

ExactProducts ExactProductsOf(const Format& a, const Format& b) {
  ExactProducts products{.lowest = Resolution(a) + Resolution(b)};
  products.highest = products.lowest;
  // The largest product has extreme factors: all combinations of the largest and smallest values.
  for (const Exact& x : {GreatestValue(a), LeastValue(a)}) {
    for (const Exact& y : {GreatestValue(b), LeastValue(b)}) {
      if (!x.is_zero() && !y.is_zero())
        products.highest = std::max(products.highest, CeilLog2(Multiply(x, y)));
    }
  }
  return products;
}

bool Quire::Fits(const Format& a, const Format& b) {
  const ExactProducts products = ExactProductsOf(a, b);
  return products.lowest >= kLowest && products.highest <= 319;
}

void Quire::Add(const Exact& x) {
  if (x.is_zero()) return;
  if (x.is_nan()) {
    nan_ = true;
    return;
  }
  if (x.is_infinite()) {
    (x.negative ? minus_infinity_ : plus_infinity_) = true;
    return;
  }
  KILN_CHECK(LowestBit(x) >= kLowest && x.exponent < 320);
  // Aligns the lowest set bit of the significand with its bit in the quire; the 64 bits then
  // straddle two limbs.
  const int zeros = std::countr_zero(x.significand);
  const uint64_t significand = x.significand >> zeros;
  const auto place = static_cast<unsigned>(LowestBit(x) - kLowest);
  const unsigned word = place / 64, shift = place % 64;
  const uint64_t parts[2] = {significand << shift, shift == 0 ? 0 : significand >> (64 - shift)};
  bool carry = false;
  // Adds or subtracts the two limbs and propagates the carry (borrow) as far as it reaches.
  for (unsigned i = word; i < kWords && (i < word + 2 || carry); ++i) {
    const uint64_t part = i < word + 2 ? parts[i - word] : 0;
    const uint64_t before = words_[i];
    if (x.negative) {
      words_[i] = before - part - (carry ? 1 : 0);
      carry = before < part || (carry && before == part);
    } else {
      words_[i] = before + part + (carry ? 1 : 0);
      carry = words_[i] < before || (carry && words_[i] == before);
    }
  }
}

void Quire::AddProduct(const Exact& x, const Exact& y) { Add(Multiply(x, y)); }

Exact Quire::Value() const {
  if (nan_ || (plus_infinity_ && minus_infinity_)) return Exact::Nan();
  if (plus_infinity_ || minus_infinity_) return Exact::Infinity(minus_infinity_);
  std::array<uint64_t, kWords> magnitude = words_;
  const bool negative = (words_.back() >> 63) != 0;
  if (negative) {
    // The two's complement of a negative sum.
    bool carry = true;
    for (uint64_t& word : magnitude) {
      word = ~word + (carry ? 1 : 0);
      carry = carry && word == 0;
    }
  }
  int top = kWords - 1;
  while (top >= 0 && magnitude[static_cast<size_t>(top)] == 0) --top;
  if (top < 0) return Exact::Zero();
  // Normalises the top 64 bits; everything below them is the sticky bit.
  const auto at = [&](int i) { return i < 0 ? 0 : magnitude[static_cast<size_t>(i)]; };
  const int zeros = std::countl_zero(at(top));
  uint64_t significand = at(top) << zeros;
  uint64_t below = at(top - 1);
  if (zeros > 0) {
    significand |= below >> (64 - zeros);
    below <<= zeros;
  }
  bool sticky = below != 0;
  for (int i = top - 2; i >= 0; --i) sticky = sticky || at(i) != 0;
  return {.negative = negative,
          .exponent = int64_t{64} * top + 63 - zeros + kLowest,
          .significand = significand | (sticky ? 1 : 0)};
}

}  // namespace kiln
