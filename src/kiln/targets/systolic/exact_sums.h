// Exact sums of products as the cycle level's array and accumulation buffer hold them under `quire`: side by side,
// two's complement numbers no wider than the products of the design point's two formats ask for.
//
// The definition is numerics/quire.h; this is arithmetic of its own, on the bits of binary64: the product of two fp32
// numbers is exact in it.
#ifndef KILN_TARGETS_SYSTOLIC_EXACT_SUMS_H_
#define KILN_TARGETS_SYSTOLIC_EXACT_SUMS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kiln/numerics/quire.h"

namespace kiln::systolic {

class ExactSums {
 public:
  // Makes room for `count` sums of such products; keeps what stands there if neither changes, else all are zero.
  void Resize(const ExactProducts& products, size_t count);
  void Clear(size_t first, size_t count);  // to zero
  bool empty() const { return specials_.empty(); }

  // x and w are numbers of the two formats as fp32. NaN and infinities stay as Quire says.
  void AddProduct(size_t sum, float x, float w);
  // Rounded to fp32, nearest even; NaN as 0x7fc00000, zero as +0.
  float Rounded(size_t sum) const;

 private:
  size_t words_ = 0;            // of one sum
  int64_t lowest_ = 0;          // log2 of the weight of its lowest bit
  std::vector<uint64_t> bits_;  // [sum][words_], lowest word first
  std::vector<uint8_t> specials_;
};

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_EXACT_SUMS_H_
