// A layer of sums with all its numbers: a convolution or a product with constant weights, and the
// affine nodes and bounds behind it. Layers become stages of blocks (compile/block.h).
#ifndef KILN_TARGETS_BINARY_COMPILE_LAYER_H_
#define KILN_TARGETS_BINARY_COMPILE_LAYER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/support/status.h"
#include "kiln/targets/binary/compile/trained_thresholds.h"
#include "kiln/targets/binary/config/config.h"
#include "kiln/targets/binary/isa/program.h"
#include "kiln/targets/lower/channel_line.h"
#include "kiln/targets/lower/value_codes.h"

namespace kiln::binary {

// The codes of a value on the machine: the annotation's codes less `shift`. The shift is the zero
// point if that makes codes unsigned and 0 the code of 0, so that the machine can pad with it.
struct MachineCodes : ValueCodes {
  int32_t shift = 0;
  friend bool operator==(const MachineCodes&, const MachineCodes&) = default;
};
//   errors  refusals: no integers of at most Config::activation_bits with one scale
StatusOr<MachineCodes> MachineCodesOf(const Value& value, const Config& config);

struct Layer {
  const Value* input = nullptr;
  const Value* result = nullptr;
  MachineCodes in, out;
  // Maps are HWC: the last axes of the tensors; a product is a convolution of one pixel per row.
  int in_channels = 0, height = 0, width = 0;
  int kernel_height = 1, kernel_width = 1, stride = 1;
  int pad_top = 0, pad_left = 0;
  int out_height = 0, out_width = 0, out_channels = 0;
  int bits = 1;  // of the weights; 1: signs
  // Codes of the weights, or their signs: [output channel][ky][kx][input channel].
  std::vector<int32_t> weights;
  // Value of a result: (sum of codes * weights) * factor + offset, clamped; factors are >= 0.
  ChannelLine line;
  // Thresholds of its tests with `prediction: predicted`, where there are trained ones.
  LayerThresholds trained;
  // Whether the result is the sign of the value instead: +1 from 0 on, -1 below, in codes.
  bool sign = false;

  int64_t taps() const { return int64_t{kernel_height} * kernel_width * in_channels; }
  int64_t macs() const { return taps() * out_height * out_width * out_channels; }
};

// Returns the layer of a convolution or product, nodes[0], and the nodes behind it.
//   errors  refusals, with what the machine lacks
StatusOr<Layer> LayerOf(std::span<const Node* const> nodes, const Config& config,
                        std::string_view source);

// The value of an output channel of a layer as a function of the machine's sum, which is twice as
// large for weights of several planes: value = sum * factor + offset. Trained thresholds are such
// values.
struct SumScale {
  double factor = 0, offset = 0;
};
SumScale ScaleOfSum(const Layer& layer, size_t channel);

// A part of a layer's result: output channels, and columns of the map.
struct LayerPart {
  int first_channel = 0, channels = 0;
  int first_column = 0, columns = 0;
  // Whether the host writes the padding into the input; the stage then has none.
  bool padded_input = false;
  // Whether a pixel of the input has the channels of a whole row of the window, one place after the
  // other, so that the stage's window is one column wide. The host writes such pixels, with the
  // padding at both sides. A word of few channels then holds what else takes a word for each place.
  bool folded_rows = false;
  int in_channels = 0;  // also counts zero channels of the stage before; 0: the layer's own
};
// Returns the program of a stage that computes a part; the whole layer's columns unless the input
// is padded.
//   errors  refusals: numbers that do not fit the stage's fields
StatusOr<StageProgram> StageOf(const Layer& layer, const LayerPart& part, const Config& config,
                               int number);

// Returns the numbers of the sum of a result with another value; `bounds` has the least and the
// greatest value of the sum.
//   errors  refusals: scales that do not fit
StatusOr<SkipSum> SkipOf(const ValueCodes& result, const ValueCodes& added, const ValueCodes& sum,
                         const ChannelLine& bounds);

// Returns the cycles of a stage's rounds for all its pixels, without tests: a stage takes at least
// these.
int64_t RoundCycles(const StageProgram& stage, const Config& config, int number);

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_COMPILE_LAYER_H_
