// The number formats of a design point, prepared for computation. arithmetic.h, the vector engine
// and the cycle level's vector unit share them.
#ifndef KILN_TARGETS_SYSTOLIC_SIMULATE_NUMBERS_H_
#define KILN_TARGETS_SYSTOLIC_SIMULATE_NUMBERS_H_

#include <cstdint>
#include <memory>
#include <span>

#include "kiln/numerics/codec.h"
#include "kiln/numerics/mac.h"
#include "kiln/numerics/microscaling.h"
#include "kiln/numerics/nonlinear.h"
#include "kiln/numerics/tables.h"
#include "kiln/targets/systolic/config/config.h"
#include "kiln/targets/systolic/isa/isa.h"

namespace kiln::systolic {

// The prepared formats of one design point.
class Numbers {
 public:
  explicit Numbers(const Config& config);  // `config` must outlive this object

  const Config& config() const { return *config_; }
  bool narrow() const { return vector_ != nullptr; }  // the vector format is not fp32

  // Rounds to the vector format: one value by the scalar definition, an array by table with the
  // same bits.
  float Round(float v) const {
    return narrow() ? DecodeFloat(config_->vector_format, EncodeFloat(config_->vector_format, v))
                    : v;
  }
  void Round(float* values, int64_t count) const {
    if (narrow()) vector_->RoundValues(values, count);
  }

  // Rounds what an element of memory is before it is scaled, and a scale: in a short float
  // (IsShortFloat) to FactorFormat, nearest even; in other formats not at all.
  float RoundFactor(float v) const {
    return factor_ != nullptr ? DecodeFloat(factor_format_, EncodeFloat(factor_format_, v)) : v;
  }
  void RoundFactors(float* values, int64_t count) const {
    if (factor_ != nullptr) factor_->RoundValues(values, count);
  }

  // Computes the vector unit's nonlinear functions, with results in the vector format: in fixed
  // point for short floats (numerics/function_unit.h), else by splines. No other code implements
  // them.
  float Apply(NonlinearFunction function, float v) const;
  void Apply(NonlinearFunction function, std::span<float> values) const;

  // Returns the table of a memory element that is not an integer.
  const FormatTable& TableOf(Element element) const {
    return *tables_[static_cast<size_t>(element)];
  }
  const BlockCodec& blocks() const { return *blocks_; }  // requires a block_size

 private:
  const Config* config_;
  const SplineTables* splines_ = nullptr;  // null for a short float
  std::shared_ptr<const FormatTable> vector_;
  Format factor_format_;
  std::shared_ptr<const FormatTable> factor_;
  std::shared_ptr<const FormatTable> tables_[kElements];
  std::shared_ptr<const BlockCodec> blocks_;
};

// Returns a code as it is stored in memory, without sign extension.
inline uint32_t LoadBits(const uint8_t* p, int bytes) {
  uint32_t bits = 0;
  for (int i = 0; i < bytes; ++i) bits |= uint32_t{p[i]} << (8 * i);
  return bits;
}
// Stores the lowest `bytes` bytes of a code.
inline void StoreBits(uint32_t bits, int bytes, uint8_t* p) {
  for (int i = 0; i < bytes; ++i) p[i] = static_cast<uint8_t>(bits >> (8 * i));
}

// Returns a code as it is stored in memory: signed integers sign-extended, others zero-extended
// (numerics/codec.h).
inline uint32_t StoredBits(const Format& format, uint32_t code) {
  return format.is_integer() && format.is_signed ? static_cast<uint32_t>(SignedCode(format, code))
                                                 : code;
}

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_SIMULATE_NUMBERS_H_
