// Number formats and quantised types: the vocabulary that the IR, the recipes, the kernels and the
// RTL generators share.
//
//   Format     how one number is encoded, with its rounding and overflow: int8, fixed8_4, e4m3,
//              posit8_1, nf4, ...
//   Scheme     which elements of a tensor share a scale: none, per tensor, per channel, per block
//   QuantType  a Format, a Scheme and the format of the scales: mxint8 is fixed8_6 with one e8m0
//              scale per 32 elements
//
// A code c represents scale * (value of c), or scale * (c - zero point) in an integer format with a
// zero point. codec.h defines the value of a code and the code of a number, once for scalar code,
// vector code and RTL.
#ifndef KILN_NUMERICS_FORMAT_H_
#define KILN_NUMERICS_FORMAT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/support/status.h"

namespace kiln {

// The structure of a format's codes.
enum class FormatKind : uint8_t {
  kInteger,   // two's complement or unsigned; value = code * 2^-fraction_bits
  kFloat,     // sign, exponent field and fraction field
  kPosit,     // Posit Standard (2022), with any number of exponent bits
  kCodebook,  // a table of values
};

// The rule that chooses between the two neighbours of a number.
enum class Rounding : uint8_t {
  kNearestEven,  // ties to the even code (codebooks: to the value of smaller magnitude)
  kNearestAway,  // ties away from zero
  kTowardZero,
  kDown,        // toward minus infinity
  kStochastic,  // up with the probability of the discarded fraction; the caller passes the random
                // bits (codec.h)
};
inline constexpr int kRoundings = 5;

// The treatment of numbers beyond the largest finite value.
enum class Overflow : uint8_t {
  kSaturate,  // to the largest or smallest finite value
  kWrap,      // integers only: modulo 2^bits
  kInfinity,  // floats: to infinity, or to NaN if the format has no infinity (OCP FP8,
              // "non-saturating")
};

// The codes of a float format that do not represent finite numbers.
enum class Specials : uint8_t {
  kNone,     // none (OCP FP6 and FP4)
  kIeee,     // exponent field all ones: infinity if the fraction is 0, else NaN
  kNanOnly,  // all bits below the sign ones: NaN; no infinity (OCP e4m3, e8m0)
  kFnuz,     // the code of minus zero is the only NaN; no infinity, no minus zero
};

// The meaning of exponent field 0 of a float format.
enum class LowExponent : uint8_t {
  kSubnormal,  // gradual underflow, as in IEEE 754
  kZero,       // zero, whatever the fraction: no subnormals
  kNormal,     // a normal exponent: the format has no zero (e8m0)
};

// The values of a codebook, indexed by code: at most 256 finite, distinct numbers in any order.
struct Codebook {
  std::vector<float> values;
  std::string file;  // the path it was read from; empty if built in
};

// A number format: the encoding of one number with its rounding and overflow. Formats
// are compared by name.
struct Format {
  std::string name;  // canonical: FindFormat(name) returns this format
  FormatKind kind = FormatKind::kInteger;
  int bits = 8;  // width of a code, 1 to 32
  bool is_signed = true;
  int exponent_bits = 0;  // kFloat: 1 to 8, or 0 for no exponent field; kPosit: es
  // kFloat: bits of the significand without the hidden bit. kInteger: bits after the binary point.
  int fraction_bits = 0;
  int bias = 0;                         // kFloat: value = 2^(field - bias) * 1.fraction
  Specials specials = Specials::kIeee;  // kFloat
  LowExponent low_exponent = LowExponent::kSubnormal;  // kFloat
  bool narrow = false;                 // kInteger, signed: the smallest code is unused (ternary)
  const Codebook* codebook = nullptr;  // kCodebook; valid for the life of the process
  Rounding rounding = Rounding::kNearestEven;
  Overflow overflow = Overflow::kSaturate;

  bool is_integer() const { return kind == FormatKind::kInteger; }
  // Returns whether this is an integer format without fraction bits; only those have zero points.
  bool is_whole() const { return is_integer() && fraction_bits == 0; }
  // Return the smallest and the largest code of an integer format.
  int64_t min_code() const {
    return is_signed ? -(int64_t{1} << (bits - 1)) + (narrow ? 1 : 0) : 0;
  }
  int64_t max_code() const {
    return is_signed ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
  }
  int bytes() const { return bits <= 8 ? 1 : bits <= 16 ? 2 : 4; }  // size of one code in memory
  friend bool operator==(const Format& a, const Format& b) { return a.name == b.name; }
};

// Returns the named formats: all rows of formats.def in file order, then the built-in rules
// (rule.h). FindFormat knows more names.
const std::vector<Format>& AllFormats();

// Returns the format with a given name:
//
//   a row of formats.def           int8, e4m3, posit8_1, nf4, ...
//   int<N>, uint<N>                N from 1 to 32
//   fixed<N>_<F>, ufixed<N>_<F>    N bits, F of them after the binary point; F from 0 to 63
//   posit<N>_<es>                  N from 2 to 32, es from 0 to 30
//   e<E>m<M>, ue<E>m<M>            a float, E from 1 to 8, M from 0 to 23, with IEEE 754 specials
//                                  (none if E is 1 or M is 0). Rows of formats.def have priority
//                                  (e4m3, e2m1).
//   a path that ends in .yaml      a codebook of the user (codebook.h)
//
// followed by modifiers, each after a dot and at most one of each kind, as in
// "int4.toward_zero.wrap":
//
//   rounding     nearest_even, nearest_away, toward_zero, down, stochastic
//   overflow     saturate, wrap, infinity
//   subnormals   flush: they become zero (floats)
//   specials     finite, nan_only, fnuz (floats)
//
// Errors: unknown name, a modifier that the format cannot have, the errors of a codebook file.
StatusOr<Format> FindFormat(std::string_view name);

// The granularity of a tensor's scales; QuantType describes each.
enum class Scheme { kNone, kPerTensor, kPerChannel, kPerBlock };
// Returns the name of a scheme in recipes and in the IR's text form.
std::string_view NameOf(Scheme scheme);  // "none", "per_tensor", "per_channel", "per_block"
// Returns the scheme with that name. Errors: unknown name.
StatusOr<Scheme> FindScheme(std::string_view name);

// The quantised type of a tensor. Schemes:
//   kNone        no scales: the value of an element is the value of its code
//   kPerTensor   one scale, chosen offline
//   kPerChannel  one scale per index of an axis, chosen offline (weights)
//   kPerBlock    one scale per block_size consecutive elements along the reduction axis
//                (microscaling): computed offline for constants, and by the hardware that writes
//                the elements for other tensors (microscaling.h)
struct QuantType {
  Format format;
  Scheme scheme = Scheme::kPerTensor;
  bool symmetric = true;  // the zero point is fixed at 0; always true unless format.is_whole()
  int block_size = 0;     // kPerBlock only
  // The format of the scales: fp32, e8m0 (powers of two) or any other float. Unused under kNone.
  Format scale_format = Format{.name = "fp32",
                               .kind = FormatKind::kFloat,
                               .bits = 32,
                               .exponent_bits = 8,
                               .fraction_bits = 23,
                               .bias = 127,
                               .overflow = Overflow::kInfinity};
  friend bool operator==(const QuantType&, const QuantType&) = default;
};

// Returns the names of the concrete MX-compliant formats (OCP Microscaling Formats (MX) 1.0, table
// 1): mxint8, mxfp8_e4m3, mxfp8_e5m2, mxfp6_e3m2, mxfp6_e2m3, mxfp4.
std::vector<std::string_view> MicroscalingTypes();

// Returns the type with a given name: one of MicroscalingTypes (blocks of 32, e8m0 scales), or a
// format name, which means that format under per_tensor (integers without fraction bits) or none.
// Errors: those of FindFormat.
StatusOr<QuantType> FindQuantType(std::string_view name);

}  // namespace kiln

#endif  // KILN_NUMERICS_FORMAT_H_
