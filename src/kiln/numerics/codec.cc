// Dispatches the codec by kind of format, and defines arithmetic on codes as exact arithmetic
// followed by one Encode.

#include "kiln/numerics/codec.h"

#include <algorithm>

#include "kiln/numerics/codec_kinds.h"
#include "kiln/support/check.h"

namespace kiln {

int64_t SignedCode(const Format& format, uint32_t code) {
  code &= CodeMask(format);
  if (!format.is_signed || (code >> (format.bits - 1)) == 0) return code;
  // The top bit of a negative code weighs -2^(bits-1) instead of 2^(bits-1).
  return int64_t{code} - (int64_t{1} << format.bits);
}

Exact Decode(const Format& format, uint32_t code) {
  switch (format.kind) {
    case FormatKind::kInteger:
      return internal::DecodeInteger(format, code);
    case FormatKind::kFloat:
      return internal::DecodeFields(format, code);
    case FormatKind::kPosit:
      return internal::DecodePosit(format, code);
    case FormatKind::kCodebook:
      return internal::DecodeCodebook(format, code);
  }
  return {};
}

uint32_t Encode(const Format& format, const Exact& x, uint32_t random) {
  switch (format.kind) {
    case FormatKind::kInteger:
      return internal::EncodeInteger(format, x, random);
    case FormatKind::kFloat:
      return internal::EncodeFields(format, x, random);
    case FormatKind::kPosit:
      return internal::EncodePosit(format, x, random);
    case FormatKind::kCodebook:
      return internal::EncodeCodebook(format, x, random);
  }
  return 0;
}

float DecodeFloat(const Format& format, uint32_t code) { return ToFloat(Decode(format, code)); }

uint32_t EncodeFloat(const Format& format, float x, uint32_t random) {
  return Encode(format, Exact::FromFloat(x), random);
}

bool FitsFp32(const Format& format) {
  // A format fits if its significands have at most 24 bits and its exponents are those of fp32.
  const int significant = format.fraction_bits + 1;
  switch (format.kind) {
    case FormatKind::kInteger:
      return format.bits - (format.is_signed ? 1 : 0) <= 24;
    case FormatKind::kFloat:
      // The smallest bit is 2^(1 - bias - fraction_bits), or 2^-149 in fp32, the smallest
      // subnormal.
      return significant <= 24 && GreatestValue(format).exponent <= 127 &&
             1 - format.bias - format.fraction_bits >= -149 &&
             (format.low_exponent != LowExponent::kNormal || -format.bias >= -149);
    case FormatKind::kPosit:
      // The significand has bits - 2 - es bits: the hidden bit, and the fraction of a code with the
      // shortest regime (sign, two regime bits and es exponent bits precede it).
      return format.bits - 2 - format.exponent_bits <= 24 && GreatestValue(format).exponent <= 126;
    case FormatKind::kCodebook:
      return true;
  }
  return false;
}

uint32_t MultiplyCodes(const Format& a_format, uint32_t a, const Format& b_format, uint32_t b,
                       const Format& out, uint32_t random) {
  return Encode(out, Multiply(Decode(a_format, a), Decode(b_format, b)), random);
}

uint32_t AddCodes(const Format& a_format, uint32_t a, const Format& b_format, uint32_t b,
                  const Format& out, uint32_t random) {
  return Encode(out, Add(Decode(a_format, a), Decode(b_format, b)), random);
}

uint32_t MultiplyAdd(const Format& a_format, uint32_t a, const Format& b_format, uint32_t b,
                     const Format& out, uint32_t c, uint32_t random) {
  return Encode(out, Add(Multiply(Decode(a_format, a), Decode(b_format, b)), Decode(out, c)),
                random);
}

uint32_t Convert(const Format& from, uint32_t code, const Format& to, uint32_t random) {
  return Encode(to, Decode(from, code), random);
}

Exact GreatestValue(const Format& format) {
  switch (format.kind) {
    case FormatKind::kInteger:
      return Decode(format, static_cast<uint32_t>(format.max_code()));
    case FormatKind::kFloat:
      return Decode(format, internal::GreatestFields(format));
    case FormatKind::kPosit:
      return Decode(format, CodeMask(format) >> 1);
    case FormatKind::kCodebook: {
      const auto& values = format.codebook->values;
      return Exact::FromFloat(*std::max_element(values.begin(), values.end()));
    }
  }
  return {};
}

// Integers are not symmetric, codebooks need not be; floats and posits are.
Exact LeastValue(const Format& format) {
  if (format.kind == FormatKind::kInteger)
    return Decode(format, static_cast<uint32_t>(format.min_code()));
  if (format.kind == FormatKind::kCodebook) {
    const auto& values = format.codebook->values;
    return Exact::FromFloat(*std::min_element(values.begin(), values.end()));
  }
  if (!format.is_signed) return Decode(format, 0);
  return Negate(GreatestValue(format));
}

Exact LeastPositive(const Format& format) {
  switch (format.kind) {
    case FormatKind::kInteger:
    case FormatKind::kPosit:
      return Decode(format, 1);
    case FormatKind::kFloat:
      if (format.low_exponent == LowExponent::kZero)
        return Decode(format, 1u << format.fraction_bits);
      return Decode(format, format.low_exponent == LowExponent::kNormal ? 0 : 1);
    case FormatKind::kCodebook: {
      float least = 0;
      for (float value : format.codebook->values) {
        if (value > 0 && (least == 0 || value < least)) least = value;
      }
      return Exact::FromFloat(least);
    }
  }
  return {};
}

uint32_t ZeroCode(const Format& format) {
  return format.kind == FormatKind::kCodebook ? internal::CodebookZero(format)
                                              : Encode(format, Exact::Zero());
}

bool HasZero(const Format& format) { return Decode(format, ZeroCode(format)).is_zero(); }

}  // namespace kiln
