// Exact sums of products that are rounded once: the quire of the Posit Standard (2022, section
// 3.4), for any formats.
//
//   Quire sum;
//   for (...) sum.AddProduct(Decode(a_format, a[i]), Decode(b_format, b[i]));
//   const uint32_t code = Encode(format, sum.Value());
//
// The quire is a two's complement number of 768 bits; its lowest bit weighs 2^-384. The standard's
// own quire (16 n bits for n-bit posits with es = 2) is narrower; rounded results are the same
// unless that one overflows. Hardware implements only the bits that its two formats need:
// ExactProducts.
#ifndef KILN_NUMERICS_QUIRE_H_
#define KILN_NUMERICS_QUIRE_H_

#include <array>
#include <cstdint>

#include "kiln/numerics/exact.h"
#include "kiln/numerics/format.h"

namespace kiln {

// The range of bits that exact products occupy: each product is a multiple of 2^lowest, with
// magnitude at most 2^highest.
struct ExactProducts {
  int64_t lowest = 0, highest = 0;
  // Returns the width of a two's complement number, in units of 2^lowest, that holds any sum of
  // 2^31 - 1 products; 16 n for posit<n>_2.
  int64_t sum_bits() const { return highest - lowest + 32; }
};
// Returns the range for products of the finite numbers of `a` and `b`.
ExactProducts ExactProductsOf(const Format& a, const Format& b);

// An exact accumulator; starts at zero.
class Quire {
 public:
  // Returns whether every product of a number of `a` and a number of `b` is a multiple of 2^-384
  // with magnitude at most 2^319, so that 2^63 of them fit. True for all pairs of named formats.
  static bool Fits(const Format& a, const Format& b);

  // Add x, or the product of x and y, exactly. NaN makes the sum NaN permanently, as do infinities
  // of both signs; an infinity outweighs all finite numbers. The number added must be a multiple of
  // 2^-384 with magnitude below 2^320; x and y have at most 32 significant bits.
  void Add(const Exact& x);
  void AddProduct(const Exact& x, const Exact& y);

  // Returns the sum with 64 significant bits, the lowest one sticky: rounding it once to 32 bits or
  // fewer gives the same result as rounding the exact sum. Zero is +0.
  Exact Value() const;

 private:
  static constexpr int kWords = 12;     // 64-bit limbs
  static constexpr int kLowest = -384;  // log2 of the weight of the lowest bit

  std::array<uint64_t, kWords> words_{};  // limbs, lowest first
  bool nan_ = false, plus_infinity_ = false, minus_infinity_ = false;
};

}  // namespace kiln

#endif  // KILN_NUMERICS_QUIRE_H_
