// The numbers of the cycle level's array: operands as the array counts them, and sums that are
// rounded at every step.
//
// numerics/mac.h is the definition. Here, sums of floats are computed in binary64: the product of
// two fp32 numbers is exact in it, and a sum is rounded to odd (Boldo and Melquiond, "Emulation of
// FMA and correctly rounded sums", 2008), so that only the following rounding to the format affects
// the result.
#ifndef KILN_TARGETS_SYSTOLIC_SIMULATE_CYCLE_ARRAY_NUMBERS_H_
#define KILN_TARGETS_SYSTOLIC_SIMULATE_CYCLE_ARRAY_NUMBERS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "kiln/numerics/format.h"
#include "kiln/numerics/quire.h"
#include "kiln/numerics/tables.h"
#include "kiln/targets/systolic/config/config.h"

namespace kiln::systolic {

// Returns a + b, rounded to odd: the last bit is 1 if bits were lost.
double AddToOdd(double a, double b);

// The rounding to a float format of psums or accumulations.
class SumFormat {
 public:
  explicit SumFormat(const Format& format);
  // Returns x rounded to the format. x must be exact or rounded to odd.
  float Round(double x) const;
  // Returns round(sum + a * b), with one rounding.
  float Fused(float sum, float a, float b) const {
    return Round(AddToOdd(sum, static_cast<double>(a) * b));
  }

 private:
  enum class Kind { kFp32, kBf16, kTable, kScalar };
  Kind kind_;
  Format format_;
  std::shared_ptr<const FormatTable> table_;
};

// Decodes codes of an operand as the array counts them.
class Operand {
 public:
  explicit Operand(const Format& format);
  int bytes() const { return format_.bytes(); }
  bool is_integer() const { return format_.is_integer(); }
  // For an integer psum: integers give their codes, codebooks their values.
  void ReadWhole(const uint8_t* codes, int64_t count, int16_t* out) const;
  // For a float psum.
  void ReadValues(const uint8_t* codes, int64_t count, float* out) const {
    table_->DecodeCodes(codes, count, out);
  }

 private:
  Format format_;
  std::vector<int16_t> whole_;  // counts of a codebook, by code
  std::shared_ptr<const FormatTable> table_;
};

// The formats of the array at one precision.
struct ArrayNumbers {
  explicit ArrayNumbers(const Config& config);
  Operand input, weight;
  bool whole;   // whether the psum is an integer
  bool direct;  // sums of all row tiles wrap in one integer, so psums need not be computed
                // separately
  int psum_bits, accumulation_bits;  // of integer formats
  bool whole_accumulation;
  bool product_rounded;
  bool quire;
  ExactProducts products;        // used with a quire
  SumFormat psum, accumulation;  // of float formats
  std::shared_ptr<const FormatTable> scales;
  int scale_bytes;
};

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_SIMULATE_CYCLE_ARRAY_NUMBERS_H_
