// The numbers of the cycle level's array: operands as it counts them, and sums that are rounded at every step.
//
// The definition is numerics/mac.h. Here sums of floats go by way of binary64: the product of two fp32 numbers is exact
// in it, and a sum is rounded to odd (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008), so
// that the rounding to the format that follows is the only one that counts.
#ifndef KILN_TARGETS_SYSTOLIC_ARRAY_NUMBERS_H_
#define KILN_TARGETS_SYSTOLIC_ARRAY_NUMBERS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "kiln/numerics/format.h"
#include "kiln/numerics/quire.h"
#include "kiln/numerics/tables.h"
#include "kiln/targets/systolic/config.h"

namespace kiln::systolic {

// a + b, rounded to odd: the last bit is 1 where bits were lost.
double AddToOdd(double a, double b);

// The rounding of a float psum or accumulation.
class SumFormat {
 public:
  explicit SumFormat(const Format& format);
  // The number of the format for x, which is a number rounded to odd or exact.
  float Round(double x) const;
  // round(sum + a * b): one rounding.
  float Fused(float sum, float a, float b) const {
    return Round(AddToOdd(sum, static_cast<double>(a) * b));
  }

 private:
  enum class Kind { kFp32, kBf16, kTable, kScalar };
  Kind kind_;
  Format format_;
  std::shared_ptr<const FormatTable> table_;
};

// Codes of an operand as the array counts them.
class Operand {
 public:
  explicit Operand(const Format& format);
  int bytes() const { return format_.bytes(); }
  // Under an integer psum: integers by their codes, codebooks by their values.
  void ReadWhole(const uint8_t* codes, int64_t count, int16_t* out) const;
  // Under a float psum.
  void ReadValues(const uint8_t* codes, int64_t count, float* out) const {
    table_->DecodeCodes(codes, count, out);
  }

 private:
  Format format_;
  std::vector<int16_t> whole_;  // of a codebook, by code
  std::shared_ptr<const FormatTable> table_;
};

struct ArrayNumbers {
  explicit ArrayNumbers(const Config& config);
  Operand input, weight;
  bool whole;   // integer psum
  bool direct;  // sums of all row tiles wrap in one integer: no psum need be seen on its own
  int psum_bits, accumulation_bits;  // of integers
  bool whole_accumulation;
  bool product_rounded;
  bool quire;
  ExactProducts products;        // with a quire
  SumFormat psum, accumulation;  // of floats
  std::shared_ptr<const FormatTable> scales;
  int scale_bytes;
};

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_ARRAY_NUMBERS_H_
