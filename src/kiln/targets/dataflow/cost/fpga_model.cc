// Counts multipliers and memories of stages, and estimates their LUTs.

#include "kiln/targets/dataflow/cost/fpga_model.h"

#include <algorithm>
#include <cmath>

#include "kiln/support/integer.h"
#include "kiln/targets/dataflow/cost/memory_blocks.h"
#include "kiln/targets/dataflow/isa/derived.h"

namespace kiln::dataflow {
namespace {

// The places of the features.
enum : size_t {
  kStage,        // 1, except for stages that only move words
  kWindowed,     // 1 for a stage with a window of several pixels
  kDepthwise,    // 1 for such a depthwise stage
  kAdders,       // bits of the adders in trees and accumulators
  kProducts,     // bits of partial products made of LUTs
  kElements,     // bits of window elements
  kLanes,        // bits of sums that are selected for lanes
  kScales,       // bits of scaled sums
  kThresholds,   // bits of compared thresholds
  kMaxima,       // bits of compared maxima
  kUnpacked,     // bits of the two products of a slice
  kMemories,     // LUTs that are counted as memory: some more select and mask
  kChannel,      // 1 for a channel
  kChannelBits,  // bits of a channel's word
  kChannelDepth  // bits of addresses of a channel
};

// LUTs of a weight stream with its AXI4 port: of the port, and of each bit of a word, whose bytes
// are shifted into place from beats of 16 bytes. Measured for 72 to 2048 bits and beats of 16 and
// 32 bytes (xcup), with errors of up to 21 %.
constexpr double kPortLuts = 390, kWordBitLuts = 1.5;

// LUTs per unit of each feature, fitted by bench/dataflow_resources. Adders, products and
// thresholds have at least one LUT for each bit. The sample contains no products made of LUTs and
// no thresholds.
constexpr LutFeatures kLutCoefficients = {38.462, 311.611, 384.893, 1,     1,
                                          1.204,  2.807,   0.221,   1,     1.343,
                                          0.293,  0.386,   1.213,   0.546, 9.289};

FpgaResources Of(const MemoryBlocks& blocks, int64_t count = 1) {
  return {.dsp = 0,
          .ramb18 = count * blocks.ramb18,
          .uram = count * blocks.uram,
          .lut = count * blocks.lut};
}

// Sources and sinks are wires.
bool IsEnd(StageKind kind) { return kind == StageKind::kSource || kind == StageKind::kSink; }

// Rows of the buffer and contexts of the window.
FpgaResources WindowMemories(const Pipeline& pipeline, const Stage& stage) {
  const Channel& in = pipeline.input(stage);
  const Window& w = stage.window;
  const WindowLoops loops = LoopsOf(pipeline, stage);
  FpgaResources sum;
  if (!w.pointwise()) {
    sum += Of(BlocksOf(w.row_memory, in.word_bits(), stage.map.width * loops.words_per_pixel),
              w.buffer_rows());
  }
  const bool keeps = stage.kind == StageKind::kConvolution && loops.passes > 1;
  const int64_t stored = w.columns() - 1 + (keeps ? 1 : 0);
  if (stored > 0 && loops.words_per_pixel > 1) {
    sum += Of(BlocksOf(HasDeepColumns(loops) ? MemoryKind::kBlock : MemoryKind::kLut,
                       stored * w.kernel_y * in.word_bits(), loops.words_per_pixel));
  }
  return sum;
}

FpgaResources WeightMemory(const Pipeline& pipeline, const Stage& stage) {
  if (pipeline.Streams(stage)) return {};
  const WeightWords words = WeightWordsOf(pipeline, stage);
  return Of(RomBlocksOf(stage.weight_memory, words.weights * stage.weight_bits, words.words));
}

FpgaResources ConstantMemory(const Pipeline& pipeline, const Stage& stage) {
  const Channel& out = pipeline.output(stage);
  const int64_t words = out.map.channels / out.lanes;
  const Requantise& r = stage.requantise;
  const MemoryKind kind = words > 64 ? MemoryKind::kBlock : MemoryKind::kLut;
  FpgaResources sum;
  if (r.way == Requantise::Way::kMultiply)
    sum += Of(RomBlocksOf(kind, out.lanes * (kMultiplierBits + 40), words));
  for (int level = 0; r.way == Requantise::Way::kThresholds && level < r.threshold_bits; ++level)
    sum += Of(RomBlocksOf(kind, stage.sum_bits, words << level), out.lanes);
  return sum;
}

int64_t MultipliersOf(const Pipeline& pipeline, const Stage& stage, bool ultrascale) {
  const Channel& in = pipeline.input(stage);
  int64_t dsp = 0;
  if (HasWeights(stage.kind)) {
    if (!UsesLutProducts(in.type, stage.weight_bits, stage.pack))
      dsp += WeightWordsOf(pipeline, stage).weights / stage.pack;
  }
  if (HasSums(stage.kind) && stage.requantise.way == Requantise::Way::kMultiply)
    dsp += pipeline.output(stage).lanes * (stage.sum_bits <= MultiplierBitsOf(ultrascale) ? 1 : 2);
  if (stage.kind == StageKind::kAffine) {
    for (size_t i = 0; i < stage.inputs.size(); ++i) dsp += pipeline.input(stage, i).lanes;
  }
  return dsp;
}

}  // namespace

std::array<std::string_view, kLutFeatures> LutFeatureNames() {
  return {"stage",    "windowed", "depthwise", "adders",       "products",
          "elements", "lanes",    "scales",    "thresholds",   "maxima",
          "unpacked", "memories", "channel",   "channel_bits", "channel_depth"};
}

int64_t FittedLuts(const LutFeatures& features) {
  double luts = 0;
  for (size_t i = 0; i < features.size(); ++i) luts += features[i] * kLutCoefficients[i];
  return std::llround(luts);
}

LutFeatures LutFeaturesOf(const Pipeline& pipeline, const Stage& stage,
                          const FpgaResources& counted) {
  LutFeatures f = {};
  f[kStage] = OnlyConnects(stage.kind) ? 0 : 1;
  f[kMemories] = static_cast<double>(counted.lut);
  if (stage.inputs.empty()) return f;
  const Channel& in = pipeline.input(stage);
  const auto taps = static_cast<double>(stage.window.taps()), lanes = static_cast<double>(in.lanes);
  const double bits = in.type.bits, weight_bits = stage.weight_bits;
  const double elements =
      stage.kind == StageKind::kConvolution ? static_cast<double>(stage.elements) : lanes;
  const double terms = stage.kind == StageKind::kConvolution ? taps * lanes : taps;
  if (HasWeights(stage.kind)) {
    // A tree over n terms has n - 1 adders of somewhat more bits than a product.
    f[kAdders] = elements * (terms - 1) * (bits + weight_bits + 1);
    if (stage.kind == StageKind::kConvolution) f[kAdders] += elements * stage.sum_bits;
    if (UsesLutProducts(in.type, stage.weight_bits, stage.pack))
      f[kProducts] = elements * terms * (weight_bits <= 2 ? bits + 1 : bits * weight_bits);
    if (stage.pack > 1) f[kUnpacked] = elements * terms * (bits + weight_bits);
  }
  if (HasWindow(stage.kind) && !stage.window.pointwise()) {
    f[kWindowed] = 1;
    f[kDepthwise] = stage.kind == StageKind::kDepthwise ? 1 : 0;
    f[kElements] = taps * lanes * bits;
  }
  if (HasSums(stage.kind)) {
    const Channel& out = pipeline.output(stage);
    const auto out_lanes = static_cast<double>(out.lanes);
    if (stage.kind == StageKind::kConvolution && out_lanes < elements)
      f[kLanes] = elements * stage.sum_bits;
    if (stage.requantise.way == Requantise::Way::kMultiply)
      f[kScales] = out_lanes * (stage.sum_bits + kMultiplierBits);
    if (stage.requantise.way == Requantise::Way::kThresholds)
      f[kThresholds] = out_lanes * stage.requantise.threshold_bits * stage.sum_bits;
    if (stage.kind == StageKind::kGlobalSum) f[kAdders] = lanes * stage.sum_bits;
  }
  if (stage.kind == StageKind::kAffine)
    f[kScales] = lanes * 50 * static_cast<double>(stage.inputs.size());
  if (stage.kind == StageKind::kMaxPool) f[kMaxima] = lanes * (taps - 1) * bits;
  return f;
}

LutFeatures LutFeaturesOf(const Channel& channel) {
  LutFeatures f = {};
  f[kChannel] = 1;
  f[kChannelBits] = static_cast<double>(channel.word_bits());
  f[kChannelDepth] = IndexBits(channel.depth);
  return f;
}

FpgaResources CountedResourcesOf(const Pipeline& pipeline, const Stage& stage, bool ultrascale) {
  FpgaResources sum;
  if (IsEnd(stage.kind) || stage.kind == StageKind::kWeightStream) return sum;
  sum.dsp = MultipliersOf(pipeline, stage, ultrascale);
  if (HasWindow(stage.kind)) sum += WindowMemories(pipeline, stage);
  if (HasWeights(stage.kind)) sum += WeightMemory(pipeline, stage);
  if (HasSums(stage.kind)) sum += ConstantMemory(pipeline, stage);
  const Channel& in = pipeline.input(stage);
  if (stage.kind == StageKind::kTable) {
    sum += Of(
        RomBlocksOf(MemoryKind::kLut, pipeline.output(stage).type.bits, int64_t{1} << in.type.bits),
        in.lanes);
  }
  if (stage.kind == StageKind::kRearrange) {
    const int64_t depth = in.map.width * in.words_per_pixel();
    sum +=
        Of(BlocksOf(depth > 64 ? MemoryKind::kBlock : MemoryKind::kLut, in.word_bits(), depth), 2);
  }
  return sum;
}

FpgaResources CountedResourcesOf(const Channel& channel) {
  return Of(BlocksOf(channel.memory, channel.word_bits(), channel.depth));
}

FpgaResources ResourcesOf(const Pipeline& pipeline, const Stage& stage, bool ultrascale) {
  FpgaResources sum = CountedResourcesOf(pipeline, stage, ultrascale);
  if (stage.kind == StageKind::kWeightStream) {
    const auto bits = static_cast<double>(pipeline.output(stage).word_bits());
    const double shifts = static_cast<double>(stage.port_bytes) / 16;
    sum.lut += std::llround(kPortLuts + kWordBitLuts * bits * shifts);
  } else if (!IsEnd(stage.kind)) {
    sum.lut += FittedLuts(LutFeaturesOf(pipeline, stage, sum));
  }
  return sum;
}

FpgaResources ResourcesOf(const Channel& channel) {
  FpgaResources sum = CountedResourcesOf(channel);
  sum.lut += FittedLuts(LutFeaturesOf(channel));
  return sum;
}

FpgaResources ResourcesOf(const Pipeline& pipeline, bool ultrascale) {
  // The control registers, with the highest fill of each channel.
  FpgaResources sum = {.dsp = 1,
                       .ramb18 = 0,
                       .uram = 0,
                       .lut = 475 + 29 * static_cast<int64_t>(pipeline.channels.size())};
  for (const Stage& stage : pipeline.stages) sum += ResourcesOf(pipeline, stage, ultrascale);
  for (const Channel& channel : pipeline.channels) sum += ResourcesOf(channel);
  return sum;
}

}  // namespace kiln::dataflow
