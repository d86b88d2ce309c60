// Operands of the array: what it takes as inputs and weights, and constant weights as its codes.
#ifndef KILN_TARGETS_SYSTOLIC_LOWER_OPERANDS_H_
#define KILN_TARGETS_SYSTOLIC_LOWER_OPERANDS_H_

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "kiln/numerics/microscaling.h"
#include "kiln/numerics/quantise.h"
#include "kiln/targets/systolic/lower.h"

namespace kiln::systolic {

// How a value is held, for messages: "int8", "fixed8_6 in blocks of 32", "fp32".
std::string HeldAs(const Encoding& encoding);

enum class Side { kInput, kWeight };

// Whether the array may read these codes as they stand in memory as its inputs, or as its weights; Unimplemented with
// the reason when it may not. `what` begins the reason: "activations".
Status CheckOperand(const Encoding& encoding, Side side, const Config& config,
                    std::string_view what);
// The first precision whose formats `takes` accepts, being asked with the design point at each (AtPrecision).
// Unimplemented, with the reason of each precision, where there is none.
StatusOr<int> FindPrecision(const Config& config,
                            const std::function<Status(const Config& at)>& takes);
// What one count of such an operand is worth, block scales aside: value = factor * what the array counts.
double FactorOf(const Encoding& encoding, Side side, const Config& config);
// What integer sums may count for a code of a format (IntegerOperand), and for one of an operand that the array takes;
// nothing where its sums are no integers.
CodeRange CountsOf(const Format& format);
CodeRange CountsOf(const Encoding& encoding, Side side, const Config& config);
// What padding reads as: a code of value zero. Unimplemented where the format has no zero.
StatusOr<int32_t> PadCodeOf(const Encoding& encoding, const Config& config);

// Channel parameters of one instruction: [batches][offset | scale | bias][columns].
struct ParameterSets {
  int64_t batches = 1, columns = 1;
  std::vector<int32_t> offsets;
  std::vector<float> scales, biases;

  ParameterSets(int64_t batch_count, int64_t column_count)
      : batches(batch_count),
        columns(column_count),
        offsets(static_cast<size_t>(batches * columns)),
        scales(static_cast<size_t>(batches * columns)),
        biases(static_cast<size_t>(batches * columns)) {}

  std::vector<uint8_t> Bytes() const {
    std::vector<uint8_t> bytes(static_cast<size_t>(batches * columns * 12));
    for (int64_t b = 0; b < batches; ++b) {
      uint8_t* at = bytes.data() + b * columns * 12;
      const size_t begin = static_cast<size_t>(b * columns),
                   size = static_cast<size_t>(columns) * 4;
      std::memcpy(at, offsets.data() + begin, size);
      std::memcpy(at + size, scales.data() + begin, size);
      std::memcpy(at + 2 * size, biases.data() + begin, size);
    }
    return bytes;
  }
};

// Constant weights of one node.
class ConstantWeights {
 public:
  // `reduction_axis` is the axis of the constant that block scales may lie along. Unimplemented: weights that the array
  // cannot take, with the reason.
  static StatusOr<ConstantWeights> Read(const Value& value, int reduction_axis,
                                        const Config& config);

  bool blocked() const { return codec_ != nullptr; }
  bool per_channel() const { return scales_.size() > 1; }
  int64_t channel_stride() const { return channel_stride_; }
  int64_t channels() const { return channels_; }
  // What one count of the code of `element` is worth, block scales aside.
  double Factor(int64_t element) const { return unit_ * scales_[ScaleIndex(element)]; }

  // Codes of all weights; element(batch, tap, channel, column) is the place of a weight in the constant.
  using Element =
      std::function<int64_t(int64_t batch, int64_t tap, int64_t channel, int64_t column)>;
  std::shared_ptr<const WeightCodes> Codes(int64_t batches, int64_t taps, int64_t channels,
                                           int64_t columns, const Element& element) const;

 private:
  size_t ScaleIndex(int64_t element) const {
    return scales_.size() == 1 ? 0 : static_cast<size_t>(element / channel_stride_ % channels_);
  }
  // Of integers, less the zero point, which the array does not know.
  int64_t WholeCode(int64_t element) const {
    const size_t s = ScaleIndex(element);
    return QuantiseToCode(values_[static_cast<size_t>(element)], inverse_[s], zero_points_[s],
                          range_) -
           zero_points_[s];
  }
  uint32_t Code(int64_t element) const;
  Status CheckCodes(const Format& format, const Config& config) const;

  std::span<const float> values_;
  Format format_;        // of the annotation
  Format array_format_;  // of the codes
  std::vector<float> scales_, inverse_;
  std::vector<int32_t> zero_points_;  // as many as scales
  int64_t channel_stride_ = 0,
          channels_ = 1;  // element i belongs to scale (i / channel_stride) % channels
  double unit_ = 1;
  bool whole_ = false;  // integers that round to nearest even and saturate
  CodeRange range_;     // then
  std::shared_ptr<const BlockCodec> codec_;
};

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_LOWER_OPERANDS_H_
