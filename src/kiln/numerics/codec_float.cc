// The codec of floats with any division into sign, exponent field and fraction field.
//
// Magnitudes ascend with their codes, so that rounding up adds one to the code, also across a
// change of exponent (IEEE 754, section 3.4).
#include <algorithm>

#include "kiln/numerics/codec.h"
#include "kiln/numerics/codec_kinds.h"

namespace kiln::internal {
namespace {

// Return the sign bit (0 for unsigned formats) and the mask of all bits below it.
uint32_t SignBit(const Format& format) { return format.is_signed ? 1u << (format.bits - 1) : 0; }
uint32_t MagnitudeMask(const Format& format) { return CodeMask(format) & ~SignBit(format); }

// Returns the code of NaN with sign 0, or 0 if the format has no NaN.
uint32_t NanCode(const Format& format) {
  switch (format.specials) {
    case Specials::kNone:
      return 0;
    case Specials::kIeee:  // a quiet NaN: the top fraction bit is set
      return (GreatestFields(format) + 1) | (1u << (format.fraction_bits - 1));
    case Specials::kNanOnly:
      return MagnitudeMask(format);
    case Specials::kFnuz:
      return SignBit(format);
  }
  return 0;
}

// Returns a magnitude with its sign. kFnuz formats have no minus zero: that code is their NaN.
uint32_t Signed(const Format& format, bool negative, uint32_t magnitude) {
  if (!negative || (magnitude == 0 && format.specials == Specials::kFnuz)) return magnitude;
  return magnitude | SignBit(format);
}

// Returns the code for a number beyond the largest finite one, or for infinity itself (`infinite`).
uint32_t Overflowed(const Format& format, bool negative, bool infinite) {
  // A directed rounding toward zero never leaves the finite numbers; infinity itself does.
  const bool held = !infinite && (format.rounding == Rounding::kTowardZero ||
                                  (format.rounding == Rounding::kDown && !negative));
  if (held || format.overflow == Overflow::kSaturate || format.specials == Specials::kNone) {
    return Signed(format, negative, GreatestFields(format));
  }
  if (format.specials == Specials::kIeee)
    return Signed(format, negative, GreatestFields(format) + 1);
  return NanCode(format);
}

// Returns the exponent of the smallest normal number.
int64_t LeastExponent(const Format& format) {
  return format.low_exponent == LowExponent::kNormal ? -format.bias : 1 - format.bias;
}

}  // namespace

uint32_t GreatestFields(const Format& format) {
  const uint32_t all = MagnitudeMask(format);
  switch (format.specials) {
    case Specials::kNone:
    case Specials::kFnuz:
      return all;
    case Specials::kIeee:
      return (((1u << format.exponent_bits) - 1) << format.fraction_bits) - 1;
    case Specials::kNanOnly:
      return all - 1;
  }
  return all;
}

Exact DecodeFields(const Format& format, uint32_t code) {
  const bool negative = (code & SignBit(format)) != 0;
  const uint32_t magnitude = code & MagnitudeMask(format);
  if (format.specials == Specials::kFnuz && negative && magnitude == 0) return Exact::Nan();
  if (magnitude > GreatestFields(format)) {
    const bool infinite =
        format.specials == Specials::kIeee && magnitude == GreatestFields(format) + 1;
    return infinite ? Exact::Infinity(negative) : Exact::Nan();
  }
  const uint32_t field = magnitude >> format.fraction_bits;
  const uint32_t fraction = magnitude & ((1u << format.fraction_bits) - 1);
  const uint32_t hidden = 1u << format.fraction_bits;
  // The value is (hidden + fraction) * 2^power, with `power` the weight of the fraction's lowest
  // bit.
  const int64_t power = int64_t{field} - format.bias - format.fraction_bits;
  // Exponent field 0 has no hidden bit in formats with subnormals, and the exponent of field 1.
  if (field == 0 && format.low_exponent == LowExponent::kZero) return Exact::Zero(negative);
  if (field == 0 && format.low_exponent == LowExponent::kSubnormal)
    return Exact::Of(negative, fraction, power + 1);
  return Exact::Of(negative, hidden + fraction, power);
}

uint32_t EncodeFields(const Format& format, const Exact& x, uint32_t random) {
  if (x.is_nan()) return NanCode(format);
  if (!format.is_signed && x.negative) return 0;
  if (x.is_zero()) return Signed(format, x.negative, 0);
  if (x.is_infinite()) return Overflowed(format, x.negative, true);
  const int64_t least = LeastExponent(format);
  // Above every exponent of the format: an early exit that keeps the shifts below in range.
  const int64_t most = (int64_t{1} << format.exponent_bits) - format.bias;
  if (x.exponent > most) return Overflowed(format, x.negative, false);

  uint32_t magnitude = 0;
  Cut cut;
  uint32_t up = 1;  // the distance to the next magnitude code
  // e8m0 and similar formats have no zero: small numbers become the smallest value, code 0.
  if (x.exponent < least && format.low_exponent == LowExponent::kNormal) return 0;
  if (x.exponent < least && format.low_exponent == LowExponent::kZero) {
    // Without subnormals the neighbours are zero and the smallest normal number.
    cut = SplitAt(x, least).cut;
    up = 1u << format.fraction_bits;
  } else {
    // Subnormal numbers use the exponent of the smallest normal number and lose leading bits.
    const int64_t exponent = std::max(x.exponent, least);
    const Parts parts = SplitAt(x, exponent - format.fraction_bits);
    // The quotient contains the hidden bit, which adds 1 to the exponent field. This is the field's
    // offset of 1 in formats with subnormals; in kNormal formats field 0 is normal, so it is
    // subtracted.
    const uint32_t hidden =
        format.low_exponent == LowExponent::kNormal ? 1u << format.fraction_bits : 0;
    const auto fields = static_cast<uint64_t>(exponent - least) << format.fraction_bits;
    magnitude = static_cast<uint32_t>(fields + parts.quotient) - hidden;
    cut = parts.cut;
  }
  if (RoundsUp(format.rounding, x.negative, (magnitude & 1) != 0, cut, random)) magnitude += up;
  if (magnitude > GreatestFields(format)) return Overflowed(format, x.negative, false);
  return Signed(format, x.negative, magnitude);
}

}  // namespace kiln::internal
