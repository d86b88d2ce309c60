// The codec of posits: sign, regime (a run of equal bits, ended by the opposite bit), es exponent
// bits, fraction (Posit Standard, 2022, section 3).
#include "kiln/numerics/codec.h"
#include "kiln/numerics/codec_kinds.h"

namespace kiln::internal {
namespace {

__extension__ using Wide = unsigned __int128;

// Returns the code of NaR, the only code other than zero that is its own negative.
uint32_t NotAReal(const Format& format) { return 1u << (format.bits - 1); }
uint32_t Negated(const Format& format, uint32_t code) { return (~code + 1) & CodeMask(format); }

}  // namespace

Exact DecodePosit(const Format& format, uint32_t code) {
  code &= CodeMask(format);
  if (code == 0) return Exact::Zero();
  if (code == NotAReal(format)) return Exact::Nan();
  const bool negative = (code & NotAReal(format)) != 0;
  // A negative posit is the two's complement of its magnitude's code.
  if (negative) code = Negated(format, code);
  // The bits below the sign, aligned to the top of 64 bits. Zeros follow them: the standard reads
  // bits beyond the end of a code as 0.
  uint64_t rest = uint64_t{code} << (65 - format.bits);
  const bool ones = (rest >> 63) != 0;
  int run = 0;
  while (run < format.bits - 1 && (rest >> 63 != 0) == ones) {
    rest <<= 1;
    ++run;
  }
  rest <<= 1;  // the bit that ends the run; beyond the end of a code it is one of those zeros
  // A run of n ones is regime n - 1, a run of n zeros is regime -n.
  const int64_t regime = ones ? run - 1 : -run;
  const int es = format.exponent_bits;
  const uint64_t exponent = es == 0 ? 0 : rest >> (64 - es);
  const uint64_t fraction = rest << es;
  const int64_t scale = regime * (int64_t{1} << es) + static_cast<int64_t>(exponent);
  return {.negative = negative,
          .exponent = scale,
          .significand = (uint64_t{1} << 63) | (fraction >> 1)};
}

uint32_t EncodePosit(const Format& format, const Exact& x, uint32_t random) {
  if (!x.is_finite()) return NotAReal(format);
  if (x.is_zero()) return 0;
  const uint32_t greatest = NotAReal(format) - 1;
  const auto with_sign = [&](uint32_t magnitude) {
    return x.negative ? Negated(format, magnitude) : magnitude;
  };
  const int es = format.exponent_bits;
  const int64_t regime = x.exponent >> es;  // floor
  // Posits saturate: no number rounds to NaR, and none but zero rounds to zero.
  if (regime >= format.bits - 2) return with_sign(greatest);
  if (regime < 2 - format.bits) return with_sign(1);
  // The unrounded bit string: the run, its end, the exponent and 63 fraction bits; at most 31 + 1 +
  // 30 + 63 = 125 bits. Rounding cuts it to bits - 1, whichever field the cut falls into.
  const int run = static_cast<int>(regime >= 0 ? regime + 1 : -regime);
  Wide string = regime >= 0 ? ((Wide{1} << run) - 1) << 1 : 1;
  string = (string << es) | static_cast<uint64_t>(x.exponent - (regime << es));
  string = (string << 63) | (x.significand & ~(uint64_t{1} << 63));
  const int length = run + 1 + es + 63;
  const int cut_bits = length - (format.bits - 1);
  auto magnitude = static_cast<uint32_t>(string >> cut_bits);
  const Wide rest = string << (128 - cut_bits);
  const Cut cut{.fraction = static_cast<uint32_t>(rest >> 96), .below = (rest << 32) != 0};
  if (RoundsUp(format.rounding, x.negative, (magnitude & 1) != 0, cut, random)) ++magnitude;
  return with_sign(magnitude);
}

}  // namespace kiln::internal
