// The operands of the array: which inputs and weights it accepts, and constant weights as its
// codes. Convolutions, products and user units share these functions.
#ifndef KILN_TARGETS_SYSTOLIC_COMPILE_LOWER_OPERANDS_H_
#define KILN_TARGETS_SYSTOLIC_COMPILE_LOWER_OPERANDS_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "kiln/numerics/quantise.h"
#include "kiln/targets/lower/constant_codes.h"
#include "kiln/targets/systolic/compile/lower.h"

namespace kiln::systolic {

// Returns how a value is stored, for messages: "int8", "e4m3 with e8m0 scales of 32", "fp32".
std::string HeldAs(const Encoding& encoding);

// The operands of a multiply-accumulate.
enum class Side { kInput, kWeight };

// Checks that the array can read these codes, as they are in memory, as its inputs or as its
// weights. Returns Unimplemented with the reason if it cannot. `what` begins the reason:
// "activations".
Status CheckOperand(const Encoding& encoding, Side side, const Config& config,
                    std::string_view what);
// Returns the first precision whose formats `takes` accepts; `takes` is called with the design
// point at each precision (AtPrecision). Returns Unimplemented with the reason of each precision if
// it accepts none.
StatusOr<int> FindPrecision(const Config& config,
                            const std::function<Status(const Config& at)>& takes);
// Returns the value of one count of such an operand, without block scales: value = factor * the
// array's count.
double FactorOf(const Encoding& encoding, Side side, const Config& config);
// Return the range of the counts that integer sums add for a code of a format (IntegerOperand), and
// for a code of an operand that the array accepts. {0, 0} if the sums are not integers.
CodeRange CountsOf(const Format& format);
CodeRange CountsOf(const Encoding& encoding, Side side, const Config& config);
// Returns the code that padding reads as: a code of value zero. Unimplemented if the format has no
// zero.
StatusOr<int32_t> PadCodeOf(const Encoding& encoding, const Config& config);

// The channel parameters of one instruction: [batches][offset | scale | bias][columns].
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

// Returns the sum of fp32 constants, each with one element or one per channel.
std::vector<float> BiasOf(std::span<const Value* const> constants, int64_t channels);
// Sets the offsets that remove the inputs' zero point from sums with a batch of weights; the output
// stage computes fma(accumulator + offset, scale, bias).
void FillOffsets(const WeightCodes& codes, const Format& format, int64_t batch, int32_t input_zero,
                 ParameterSets* parameters);
// Returns the block scales of the input of a matrix instruction, with the strides of batches, rows
// and columns of pixels.
OperandScales InputScales(const View& input, int64_t batch_stride, int64_t row_stride,
                          int64_t column_stride);

// The constant weights of one node.
class ConstantWeights {
 public:
  // Reads the weights. `reduction_axis` is the axis of the constant along which block scales may
  // run. Returns Unimplemented with the reason if the array cannot take the weights.
  static StatusOr<ConstantWeights> Read(const Value& value, int reduction_axis,
                                        const Config& config);

  bool blocked() const { return blocked_; }
  bool per_channel() const { return annotation_.scales.size() > 1; }
  int64_t channel_stride() const { return channel_stride_; }
  int64_t channels() const { return channels_; }
  // Returns the value of one count of the code of `element`, without block scales.
  double Factor(int64_t element) const {
    return blocked_ ? unit_ : unit_ * annotation_.scales[ScaleIndex(element)];
  }

  // Returns the codes of all weights. `split` is the constant's shape with axes joined or split so
  // that its axes axes[0] to axes[3] are batches, taps, channels of the reduction, and columns.
  std::shared_ptr<const WeightCodes> Codes(const std::vector<int64_t>& split,
                                           const std::array<int64_t, 4>& axes) const;

 private:
  size_t ScaleIndex(int64_t element) const {
    return per_channel() ? static_cast<size_t>(element / channel_stride_ % channels_) : 0;
  }
  // Returns an integer code minus its zero point; the array has no zero points for weights.
  int64_t WholeCode(const Tensor& codes, int64_t element) const;
  // Returns the codes in the array's format.
  ConstantCodes ArrayCodes() const;
  // Returns the fewest bits that a code can have in packed weights, or 0 if they cannot be packed.
  int PackedBits(const WeightCodes& weights) const;
  Status CheckCodes(const Config& config) const;
  Status CheckSigns() const;

  const Value* value_ = nullptr;
  Quantisation annotation_;  // completed (CompleteAnnotation)
  Format array_format_;      // of the array's codes
  int64_t channel_stride_ = 0,
          channels_ = 1;  // element i belongs to scale (i / channel_stride) % channels
  double unit_ = 1;
  bool blocked_ = false;
  bool whole_ = false;  // integers that round to nearest even and saturate
  bool signs_ = false;  // the array's codes mean -1 and +1
  CodeRange range_;     // the range of codes of whole_ weights
};

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_COMPILE_LOWER_OPERANDS_H_
