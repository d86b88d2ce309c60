// Exact sums of products, rounded once: the quire of the Posit Standard (2022, section 3.4), for any formats.
//
//   Quire sum;
//   for (...) sum.AddProduct(Decode(a_format, a[i]), Decode(b_format, b[i]));
//   const uint32_t code = Encode(format, sum.Value());
//
// A two's complement number of 768 bits whose lowest one weighs 2^-384. The standard's own quire (16 n bits for n-bit
// posits of es 2) is narrower; the rounded results are the same wherever that one does not overflow. Hardware takes the
// bits that its two formats need: ExactProducts.
#ifndef KILN_NUMERICS_QUIRE_H_
#define KILN_NUMERICS_QUIRE_H_

#include <array>
#include <cstdint>

#include "kiln/numerics/exact.h"
#include "kiln/numerics/format.h"

namespace kiln {

// Where the bits of exact products lie: each is a multiple of 2^lowest and at most 2^highest in magnitude.
struct ExactProducts {
  int64_t lowest = 0, highest = 0;
  // Of the two's complement number, in units of 2^lowest, that holds any sum of 2^31 - 1 products: 16 n for posit<n>_2.
  int64_t sum_bits() const { return highest - lowest + 32; }
};
// Of the finite numbers of `a` and `b`, NaN and infinities aside.
ExactProducts ExactProductsOf(const Format& a, const Format& b);

class Quire {
 public:
  // Whether every product of a number of `a` and one of `b` is a multiple of 2^-384 of magnitude at most 2^319, so that
  // 2^63 of them fit. All named formats do, in any pair.
  static bool Fits(const Format& a, const Format& b);

  // Exact. A NaN, and infinities of both signs, make the sum NaN for good; an infinity outlasts all finite numbers. The
  // number added must be a multiple of 2^-384 below 2^320, and x and y have 32 significant bits at most.
  void Add(const Exact& x);
  void AddProduct(const Exact& x, const Exact& y);

  // The sum to 64 significant bits, the lowest one sticky: one rounding to 32 bits or fewer is that of the exact sum.
  // Zero is +0.
  Exact Value() const;

 private:
  static constexpr int kWords = 12;
  static constexpr int kLowest = -384;  // log2 of the weight of the lowest bit

  std::array<uint64_t, kWords> words_{};  // lowest first
  bool nan_ = false, plus_infinity_ = false, minus_infinity_ = false;
};

}  // namespace kiln

#endif  // KILN_NUMERICS_QUIRE_H_
