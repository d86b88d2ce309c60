// The number formats of a design point, ready to compute with: what arithmetic.h, the vector engine and the cycle
// level's vector unit share.
#ifndef KILN_TARGETS_SYSTOLIC_NUMBERS_H_
#define KILN_TARGETS_SYSTOLIC_NUMBERS_H_

#include <cstdint>
#include <memory>
#include <span>

#include "kiln/numerics/codec.h"
#include "kiln/numerics/mac.h"
#include "kiln/numerics/microscaling.h"
#include "kiln/numerics/nonlinear.h"
#include "kiln/numerics/tables.h"
#include "kiln/targets/systolic/config.h"
#include "kiln/targets/systolic/isa.h"

namespace kiln::systolic {

class Numbers {
 public:
  explicit Numbers(const Config& config);  // config must outlive it

  const Config& config() const { return *config_; }
  bool narrow() const { return vector_ != nullptr; }  // the vector format is not fp32

  // v rounded to the vector format: by the scalar definition, and the same bits over an array by table.
  float Round(float v) const {
    return narrow() ? DecodeFloat(config_->vector_format, EncodeFloat(config_->vector_format, v))
                    : v;
  }
  void Round(float* values, int64_t count) const {
    if (narrow()) vector_->RoundValues(values, count);
  }

  // The vector unit's nonlinear functions, results in the vector format: the one place that knows how.
  float Apply(NonlinearFunction function, float v) const;
  void Apply(NonlinearFunction function, std::span<float> values) const;

  // Tables of what is no integer in memory.
  const FormatTable& TableOf(Element element) const {
    return *tables_[static_cast<size_t>(element)];
  }
  const BlockCodec& blocks() const { return *blocks_; }  // with a block_size only

 private:
  const Config* config_;
  const SplineTables* splines_;
  std::shared_ptr<const FormatTable> vector_;
  std::shared_ptr<const FormatTable> tables_[kElements];
  std::shared_ptr<const BlockCodec> blocks_;
};

// The rule of the array's sums, of the first pair (AtPrecision tells of others); `scaled` with block scales.
MacRule RuleOf(const Config& config, bool scaled);

// A code as it stands in memory, without its sign.
inline uint32_t LoadBits(const uint8_t* p, int bytes) {
  uint32_t bits = 0;
  for (int i = 0; i < bytes; ++i) bits |= uint32_t{p[i]} << (8 * i);
  return bits;
}
// Writes a code; `bytes` of it.
inline void StoreBits(uint32_t bits, int bytes, uint8_t* p) {
  for (int i = 0; i < bytes; ++i) p[i] = static_cast<uint8_t>(bits >> (8 * i));
}

// A code as it stands in memory: signed integers sign-extended, others zero-extended (numerics/codec.h).
inline uint32_t MemoryBits(const Format& format, uint32_t code) {
  return format.is_integer() && format.is_signed ? static_cast<uint32_t>(SignedCode(format, code))
                                                 : code;
}

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_NUMBERS_H_
