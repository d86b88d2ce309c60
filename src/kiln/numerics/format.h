// Number formats and how a tensor's scales are laid out.
//
//   Format:    how one number is encoded, with its rounding and overflow: int8, fixed8_4, e4m3, posit8_1, nf4, ...
//   Scheme:    how a tensor's scales are laid out: none, per tensor, per channel, per block.
//   QuantType: Format, Scheme and the format of the scales: mxint8 is fixed8_6 with one e8m0 scale per 32 elements.
//
// A code c stands for the value scale * (value of c), or scale * (c - zero point) in an integer format with a zero
// point. What a code's value is, and which code a number gets, codec.h says once for scalar code, vector code and RTL.
#ifndef KILN_NUMERICS_FORMAT_H_
#define KILN_NUMERICS_FORMAT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/support/status.h"

namespace kiln {

enum class FormatKind : uint8_t {
  kInteger,  // two's complement or unsigned; value = code * 2^-fraction_bits (fixed point when fraction_bits > 0)
  kFloat,    // sign, exponent and fraction fields
  kPosit,    // Posit Standard (2022), with any number of exponent bits
  kCodebook,  // a list of values
};

enum class Rounding : uint8_t {
  kNearestEven,  // ties to the even code (codebooks: to the value of lesser magnitude)
  kNearestAway,  // ties away from zero
  kTowardZero,
  kDown,        // toward minus infinity
  kStochastic,  // up with the probability of the fraction that is cut off; the random bits are an argument (codec.h)
};
inline constexpr int kRoundings = 5;

enum class Overflow : uint8_t {
  kSaturate,  // to the greatest or least finite value
  kWrap,      // integers only: modulo 2^bits
  kInfinity,  // floats: to infinity, or to NaN where a format has no infinity (OCP FP8, "non-saturating")
};

// What the codes of a float format beyond the finite numbers are.
enum class Specials : uint8_t {
  kNone,     // there are none (OCP FP6 and FP4)
  kIeee,     // exponent field all ones: infinity, and NaN where the fraction is not 0
  kNanOnly,  // all bits below the sign ones: NaN; no infinity (OCP e4m3, e8m0)
  kFnuz,     // the code of minus zero is the only NaN; no infinity, no minus zero
};

// What exponent field 0 of a float format means.
enum class LowExponent : uint8_t {
  kSubnormal,  // gradual underflow, as IEEE 754
  kZero,       // zero, whatever the fraction: no subnormals
  kNormal,     // an exponent like any other: there is no zero (e8m0)
};

// The values of a codebook, by code; at most 256, finite, no two equal. They may stand in
// any order.
struct Codebook {
  std::vector<float> values;
  std::string file;  // where it was read from; empty when built in
};

struct Format {
  std::string name;  // canonical: FindFormat(name) gives this format back
  FormatKind kind = FormatKind::kInteger;
  int bits = 8;  // of one code, 1 to 32
  bool is_signed = true;
  int exponent_bits = 0;  // kFloat: 1 to 8 (0 for none); kPosit: es
  int fraction_bits =
      0;         // kFloat: of the significand, the hidden one not counted; kInteger: binary places
  int bias = 0;  // kFloat: value = 2^(field - bias) * 1.fraction
  Specials specials = Specials::kIeee;                 // kFloat
  LowExponent low_exponent = LowExponent::kSubnormal;  // kFloat
  bool narrow = false;                 // kInteger, signed: the least code is unused (ternary)
  const Codebook* codebook = nullptr;  // kCodebook; kept for the life of the process
  Rounding rounding = Rounding::kNearestEven;
  Overflow overflow = Overflow::kSaturate;

  bool is_integer() const { return kind == FormatKind::kInteger; }
  // Integers without binary places: the formats that take zero points.
  bool is_whole() const { return is_integer() && fraction_bits == 0; }
  // Least and greatest code of an integer format.
  int64_t min_code() const {
    return is_signed ? -(int64_t{1} << (bits - 1)) + (narrow ? 1 : 0) : 0;
  }
  int64_t max_code() const {
    return is_signed ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
  }
  int bytes() const { return bits <= 8 ? 1 : bits <= 16 ? 2 : 4; }  // of one code in memory
  friend bool operator==(const Format& a, const Format& b) { return a.name == b.name; }
};

// The named formats, all rows of formats.def in file order. FindFormat knows more: see there.
const std::vector<Format>& AllFormats();

// The format of a name:
//   a row of formats.def                             int8, e4m3, posit8_1, nf4, ...
//   int<N>, uint<N>                                  N from 1 to 32
//   fixed<N>_<F>, ufixed<N>_<F>                      N bits, F of them binary places, 0 <= F <= 63
//   posit<N>_<es>                                    N from 2 to 32, es from 0 to 30
//   e<E>m<M>, ue<E>m<M>                              float, E from 1 to 8, M from 0 to 23; IEEE 754 specials, none
//                                                    where E is 1 or M is 0; rows of formats.def go first (e4m3, e2m1)
//   a path that ends in .yaml                        a codebook of one's own (codebook.h)
// and after any of them, joined by dots and at most once each:
//   nearest_even nearest_away toward_zero down stochastic     its rounding
//   saturate wrap infinity                                    its overflow
//   flush, one of finite nan_only fnuz                        a float's subnormals become zero; its specials
// as in "int4.toward_zero.wrap".
//   errors  unknown name, a modifier that the format cannot have, a codebook's errors
StatusOr<Format> FindFormat(std::string_view name);

enum class Scheme { kNone, kPerTensor, kPerChannel, kPerBlock };
std::string_view NameOf(Scheme scheme);  // "none", "per_tensor", "per_channel", "per_block"
StatusOr<Scheme> FindScheme(std::string_view name);

// How a tensor is quantised. Schemes:
//   kNone        values are codes: scale 1, zero point 0
//   kPerTensor   one scale, chosen offline
//   kPerChannel  one scale per index of an axis, chosen offline (weights)
//   kPerBlock    one scale for each block_size elements in a row along the axis of a reduction (microscaling): for
//                constants found offline, for other values by the hardware as it writes them (microscaling.h)
struct QuantType {
  Format format;
  Scheme scheme = Scheme::kPerTensor;
  bool symmetric = true;  // zero point fixed at 0; always, unless format.is_whole()
  int block_size = 0;     // kPerBlock only
  // What scales are rounded to: fp32, e8m0 (powers of two) or any other float. Unused under kNone.
  Format scale_format = Format{.name = "fp32",
                               .kind = FormatKind::kFloat,
                               .bits = 32,
                               .exponent_bits = 8,
                               .fraction_bits = 23,
                               .bias = 127,
                               .overflow = Overflow::kInfinity};
  friend bool operator==(const QuantType&, const QuantType&) = default;
};

// Names of whole types: the OCP Microscaling names (mxint8, mxfp8_e4m3, mxfp8_e5m2, mxfp6_e3m2, mxfp6_e2m3, mxfp4:
// blocks of 32, e8m0 scales), and every format name, which gives that format under per_tensor (whole integers) or none.
StatusOr<QuantType> FindQuantType(std::string_view name);

}  // namespace kiln

#endif  // KILN_NUMERICS_FORMAT_H_
