// Exact sums of products, as the cycle level's array and accumulation buffer hold them with
// `quire`: consecutive two's complement numbers that are as wide as the products of the design
// point's two formats require.
//
// numerics/quire.h is the definition. This is a separate implementation on the bits of binary64, in
// which the product of two fp32 numbers is exact.
#ifndef KILN_TARGETS_SYSTOLIC_SIMULATE_CYCLE_EXACT_SUMS_H_
#define KILN_TARGETS_SYSTOLIC_SIMULATE_CYCLE_EXACT_SUMS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kiln/numerics/quire.h"

namespace kiln::systolic {

// A number of quires of one width.
class ExactSums {
 public:
  // Resizes to `count` sums of such products. Keeps the sums if neither width nor count changes;
  // otherwise all become zero.
  void Resize(const ExactProducts& products, size_t count);
  void Clear(size_t first, size_t count);  // sets the sums to zero
  bool empty() const { return specials_.empty(); }

  // Adds x * w, where x and w are numbers of the two formats as fp32. NaN and infinities are kept
  // as in Quire.
  void AddProduct(size_t sum, float x, float w);
  // Returns a sum rounded to fp32, nearest even; NaN as 0x7fc00000, zero as +0.
  float Rounded(size_t sum) const;

 private:
  size_t words_ = 0;            // 64-bit words of one sum
  int64_t lowest_ = 0;          // log2 of the weight of a sum's lowest bit
  std::vector<uint64_t> bits_;  // [sum][words_], lowest word first
  std::vector<uint8_t> specials_;
};

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_SIMULATE_CYCLE_EXACT_SUMS_H_
