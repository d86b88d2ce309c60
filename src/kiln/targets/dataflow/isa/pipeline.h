// The hardware that a network becomes: stages connected by channels of words. The compiler builds a
// pipeline, the simulators run it and the emitter writes it as SystemVerilog.
// docs/dataflow-machine.md defines what every stage computes and in which cycle.
//
// A pipeline is complete: it contains all weights and constants. CheckPipeline returns whether it
// is one that the hardware library can build.
#ifndef KILN_TARGETS_DATAFLOW_ISA_PIPELINE_H_
#define KILN_TARGETS_DATAFLOW_ISA_PIPELINE_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/support/status.h"

namespace kiln::dataflow {

// An integer code: 1 to 48 bits, two's complement if signed.
struct CodeType {
  int bits = 8;
  bool is_signed = true;
  int64_t low() const { return is_signed ? -(int64_t{1} << (bits - 1)) : 0; }
  int64_t high() const { return (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1; }
  friend bool operator==(const CodeType&, const CodeType&) = default;
};

// The memory that holds the words of a channel, the rows of a window or weights.
enum class MemoryKind : uint8_t { kLut, kBlock, kUltra };
std::string_view NameOf(MemoryKind kind);  // "lut", "block", "ultra"

// A map of height x width pixels with `channels` codes, in NHWC order, cut into words of `lanes`
// consecutive channels.
struct MapShape {
  int64_t height = 1, width = 1, channels = 1;
  int64_t pixels() const { return height * width; }
  int64_t elements() const { return pixels() * channels; }
  friend bool operator==(const MapShape&, const MapShape&) = default;
};

// A queue between two stages.
struct Channel {
  MapShape map = {};
  CodeType type = {};
  int64_t lanes = 1;
  int64_t depth = 2;  // words
  MemoryKind memory = MemoryKind::kLut;
  int from = -1, to = -1;  // stages
  int64_t word_bits() const { return lanes * type.bits; }
  int64_t words_per_pixel() const { return map.channels / lanes; }
  int64_t words() const { return map.elements() / lanes; }  // of an image
};

enum class StageKind : uint8_t {
  kSource,
  kSink,
  kWeightStream,
  kFork,
  kConcat,
  kWiden,
  kNarrow,
  kPad,
  kCrop,
  kTable,
  kAffine,
  kRearrange,
  kConvolution,
  kDepthwise,
  kMaxPool,
  kGlobalSum,
};
inline constexpr StageKind kLastStageKind = StageKind::kGlobalSum;
std::string_view NameOf(StageKind kind);  // "source", "convolution", "max_pool", ...
// Returns whether stages of this kind copy a stream, drop words of it or change its lanes, and
// belong to no layer.
constexpr bool OnlyConnects(StageKind kind) {
  return kind == StageKind::kFork || kind == StageKind::kWiden || kind == StageKind::kNarrow ||
         kind == StageKind::kCrop;
}

// Return whether stages of this kind read a window of the map, multiply by weights, and give sums
// that are requantised.
constexpr bool HasWindow(StageKind kind) {
  return kind == StageKind::kConvolution || kind == StageKind::kDepthwise ||
         kind == StageKind::kMaxPool;
}
constexpr bool HasWeights(StageKind kind) {
  return kind == StageKind::kConvolution || kind == StageKind::kDepthwise;
}
constexpr bool HasSums(StageKind kind) { return HasWeights(kind) || kind == StageKind::kGlobalSum; }

// The window of a convolution, depthwise convolution or pool.
struct Window {
  int64_t kernel_y = 1, kernel_x = 1;
  int64_t stride_y = 1, stride_x = 1;
  int64_t pad_top = 0, pad_left = 0;
  int64_t dilation_y = 1, dilation_x = 1;
  int64_t out_height = 1, out_width = 1;
  int64_t pad_value = 0;   // code of positions outside of the map
  int64_t extra_rows = 0;  // of the row buffer, beyond the kernel's rows
  MemoryKind row_memory = MemoryKind::kLut;
  int64_t taps() const { return kernel_y * kernel_x; }
  // Whether the window is a single pixel, read without a row buffer.
  bool pointwise() const { return taps() == 1 && pad_top == 0 && pad_left == 0; }
  int64_t rows() const { return (kernel_y - 1) * dilation_y + 1; }  // from first to last
  int64_t buffer_rows() const { return rows() + extra_rows; }
  int64_t columns() const { return (kernel_x - 1) * dilation_x + 1; }  // from first to last
  friend bool operator==(const Window&, const Window&) = default;
};

// From a sum to a code. The constants are per output channel.
//   kNone        the sum
//   kMultiply    clamp((sum * multiplier + addend) >> shift, low, high)
//   kThresholds  low + the number of thresholds that are at most the sum
struct Requantise {
  enum class Way : uint8_t { kNone, kMultiply, kThresholds };
  Way way = Way::kNone;
  std::vector<int64_t> multipliers = {};  // 0 to 2^17 - 1
  std::vector<int64_t> addends = {};      // of kAddendBits; bias, rounding and zero point
  int shift = 0;                          // 0 to 47
  int64_t low = 0, high = 0;
  int threshold_bits = 0;                // n, 1 to 8
  std::vector<int64_t> thresholds = {};  // [channel][2^n - 1], ascending for each channel
};

// The most bits of a code that stages compute with, of a sum, and of the constants of
// requantisation.
inline constexpr int kMostCodeBits = 16, kMostSumBits = 48;
inline constexpr int kMultiplierBits = 17;
inline constexpr int kAddendBits = 52, kAffineAddendBits = 48;
inline constexpr int kMostThresholdBits = 8;

// A stage. Which members count depends on the kind.
struct Stage {
  StageKind kind = StageKind::kSource;
  std::string name = {};                       // unique; letters, digits and underscores
  std::vector<int> inputs = {}, outputs = {};  // channels
  // convolution, depthwise, max_pool
  Window window = {};
  MapShape map = {};  // the input as the stage reads it: as many elements, in the same order
  // convolution
  int64_t groups = 1;
  int64_t elements = 1;  // processing elements, b
  int64_t pack = 1;      // products per multiplier: 1, 2 or 4; divides `elements`
  // convolution, depthwise
  int weight_bits = 8;                // 1 to 16; 1: codes -1 and +1
  std::vector<int32_t> weights = {};  // [out channel][ky][kx][channel of the group]
  MemoryKind weight_memory = MemoryKind::kLut;
  // weight_stream: reads the weight words of the convolution behind it over an AXI4 port
  int64_t base_address = 0;     // of the first word, relative to the image of all streamed weights
  int64_t port_bytes = 16;      // of a beat: 8 to 128, a power of two
  int64_t memory_latency = 64;  // cycles from an address to its first beat
  // convolution, depthwise, global_sum
  int sum_bits = 32;  // of the sum, signed
  Requantise requantise = {};
  // affine: clamp((x0 m0 + x1 m1 + addend) >> shift, low, high)
  std::array<int64_t, 2> factors = {0, 0};
  int64_t addend = 0;
  int shift = 0;
  int64_t low = 0, high = 0;
  // table: code of the result by the bits of the operand's code
  std::vector<int32_t> table = {};
  // pad
  int64_t pad_top = 0, pad_left = 0, pad_value = 0;
  int64_t pad_front = 0;  // channels, a multiple of the lanes
  // rearrange
  int64_t factor_y = 1, factor_x = 1;
  bool depth_to_space = false;
  // The layer of the network that the stage belongs to, or -1.
  int layer = -1;
};

// Stages and channels. Stages are in topological order.
struct Pipeline {
  std::vector<Stage> stages;
  std::vector<Channel> channels;
  const Channel& input(const Stage& stage, size_t i = 0) const {
    return channels[static_cast<size_t>(stage.inputs[i])];
  }
  const Channel& output(const Stage& stage, size_t i = 0) const {
    return channels[static_cast<size_t>(stage.outputs[i])];
  }
  // Returns whether a stage's weights come from a weight stream, which is its second input.
  bool Streams(const Stage& stage) const {
    return stage.kind == StageKind::kConvolution && stage.inputs.size() == 2;
  }
  // Returns whether a channel has the words of a weight stream. The stream reads ahead for as long
  // as the channel has room, also behind the last image.
  bool HoldsWeights(const Channel& channel) const {
    return stages[static_cast<size_t>(channel.from)].kind == StageKind::kWeightStream;
  }
  // Returns the stages of a kind (sources, sinks) in order.
  std::vector<int> Find(StageKind kind) const;
};

// Checks that the hardware library can build a pipeline and that its channels fit its stages.
// Errors name the stage, what is wrong and what would be right.
Status CheckPipeline(const Pipeline& pipeline);

// Returns the pipeline as text: a line per stage and per channel.
std::string PrintPipeline(const Pipeline& pipeline);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_ISA_PIPELINE_H_
