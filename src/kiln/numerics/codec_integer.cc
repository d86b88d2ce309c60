// The codec of integers and fixed-point numbers: value = code * 2^-fraction_bits.
#include "kiln/numerics/codec.h"
#include "kiln/numerics/codec_kinds.h"

namespace kiln::internal {

Exact DecodeInteger(const Format& format, uint32_t code) {
  const int64_t value = SignedCode(format, code);
  const auto bits = static_cast<uint64_t>(value);
  return Exact::Of(value < 0, value < 0 ? ~bits + 1 : bits, -format.fraction_bits);
}

uint32_t EncodeInteger(const Format& format, const Exact& x, uint32_t random) {
  if (x.is_nan()) return 0;
  const auto limit = [&](bool negative) {
    return negative ? format.min_code() : format.max_code();
  };
  const auto as_code = [&](int64_t value) {
    return static_cast<uint32_t>(value) & CodeMask(format);
  };
  if (x.is_zero()) return 0;
  if (x.is_infinite()) return as_code(limit(x.negative));
  const bool wraps = format.overflow == Overflow::kWrap;
  if (x.exponent + format.fraction_bits > 62) {
    // At least 2^63 in units of the lowest bit: beyond every range, and without fraction bits to
    // round. Wrapping keeps the lowest 32 bits of the shifted significand.
    if (!wraps) return as_code(limit(x.negative));
    const int64_t shift = x.exponent + format.fraction_bits - 63;
    const uint64_t low = shift >= 32 ? 0 : x.significand << shift;
    return static_cast<uint32_t>(x.negative ? ~low + 1 : low) & CodeMask(format);
  }
  const Parts parts = SplitAt(x, -format.fraction_bits);
  uint64_t magnitude = parts.quotient;  // below 2^63
  if (RoundsUp(format.rounding, x.negative, (magnitude & 1) != 0, parts.cut, random)) ++magnitude;
  const auto most = static_cast<uint64_t>(x.negative ? -format.min_code() : format.max_code());
  if (!wraps && magnitude > most) return as_code(limit(x.negative));
  return static_cast<uint32_t>(x.negative ? ~magnitude + 1 : magnitude) & CodeMask(format);
}

}  // namespace kiln::internal
