// Rounding and decoding for the cycle level's array.
#include "kiln/targets/systolic/simulate/cycle/array_numbers.h"

#include <bit>
#include <cmath>
#include <limits>

#include "kiln/numerics/codec.h"
#include "kiln/numerics/mac.h"

namespace kiln::systolic {
namespace {

// Returns a finite binary64 number cut to 24 significant bits (fewer below fp32's normal numbers);
// the last bit is set if bits were lost.
float ToOddFloat(double x) {
  float f = static_cast<float>(x);
  if (static_cast<double>(f) == x) return f;
  if (std::isinf(f)) return std::copysign(std::numeric_limits<float>::max(), f);  // is odd
  uint32_t bits = std::bit_cast<uint32_t>(f);
  if (std::fabs(static_cast<double>(f)) > std::fabs(x)) --bits;  // toward zero
  return std::bit_cast<float>(bits | 1u);
}

}  // namespace

double AddToOdd(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum)) return sum;
  // The part that the sum lost (Knuth's TwoSum).
  const double shadow = sum - a;
  const double lost = (a - (sum - shadow)) + (b - shadow);
  const uint64_t bits = std::bit_cast<uint64_t>(sum);
  if (lost == 0 || (bits & 1) != 0) return sum;
  return std::bit_cast<double>((lost > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

SumFormat::SumFormat(const Format& format) : format_(format) {
  if (format.is_integer()) {
    kind_ = Kind::kFp32;  // not used
  } else if (format.name == "fp32") {
    kind_ = Kind::kFp32;
  } else if (format.name == "bf16") {
    kind_ = Kind::kBf16;
  } else if (format.bits <= 16) {
    kind_ = Kind::kTable;
    table_ = FormatTable::Of(format);
  } else {
    kind_ = Kind::kScalar;
  }
}

float SumFormat::Round(double x) const {
  if (x != x && kind_ != Kind::kTable && kind_ != Kind::kScalar)
    return std::bit_cast<float>(kQuietNan);
  switch (kind_) {
    case Kind::kFp32:
      return static_cast<float>(x);
    case Kind::kBf16: {
      if (std::isinf(x)) return static_cast<float>(x);
      const uint32_t bits = std::bit_cast<uint32_t>(ToOddFloat(x));
      return std::bit_cast<float>((bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u);
    }
    case Kind::kTable:
      return table_->Round(std::isfinite(x) ? ToOddFloat(x) : static_cast<float>(x));
    case Kind::kScalar:
      return DecodeFloat(format_, Encode(format_, Exact::FromDouble(x)));
  }
  return 0;
}

Operand::Operand(const Format& format) : format_(format), table_(FormatTable::Of(format)) {
  if (format.kind != FormatKind::kCodebook || !IsIntegerOperand(format)) return;
  for (uint32_t code = 0; code < (1u << format.bits); ++code) {
    whole_.push_back(static_cast<int16_t>(IntegerOperand(format, code)));
  }
}

void Operand::ReadWhole(const uint8_t* codes, int64_t count, int16_t* out) const {
  if (!whole_.empty()) {
    for (int64_t i = 0; i < count; ++i) out[i] = whole_[codes[i] & (whole_.size() - 1)];
  } else if (format_.bits == 8 && format_.is_signed) {
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<int8_t>(codes[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) {
      out[i] = static_cast<int16_t>(SignedCode(format_, LoadCode(format_, codes, i)));
    }
  }
}

ArrayNumbers::ArrayNumbers(const Config& config)
    : input(config.input_format),
      weight(config.weight_format),
      whole(config.psum_format.is_integer()),
      direct(whole && config.accumulation_format.is_integer() &&
             config.accumulation_format.bits <= config.psum_format.bits),
      psum_bits(config.psum_format.bits),
      accumulation_bits(config.accumulation_format.bits),
      whole_accumulation(config.accumulation_format.is_integer()),
      product_rounded(config.product_rounded),
      quire(config.quire),
      products(quire ? ExactProductsOf(config.input_format, config.weight_format)
                     : ExactProducts{}),
      psum(config.psum_format),
      accumulation(config.accumulation_format),
      scales(FormatTable::Of(config.scale_format)),
      scale_bytes(config.scale_format.bytes()) {}

}  // namespace kiln::systolic
