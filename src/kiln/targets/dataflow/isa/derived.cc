// Computes sizes and times of stages from their numbers.

#include "kiln/targets/dataflow/isa/derived.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "kiln/support/check.h"
#include "kiln/support/integer.h"

namespace kiln::dataflow {

int AdderLevels(int64_t terms) {
  KILN_CHECK(terms >= 1);
  return std::bit_width(static_cast<uint64_t>(terms - 1));
}

bool UsesLutProducts(const CodeType& operand, int weight_bits, int64_t pack) {
  return pack == 1 && (operand.bits <= 2 || weight_bits <= 2 || operand.bits + weight_bits <= 8);
}

// The formulas are in docs/dataflow-machine.md, "Window".
WindowLoops LoopsOf(const Pipeline& pipeline, const Stage& stage) {
  const Channel &in = pipeline.input(stage), &out = pipeline.output(stage);
  const Window& w = stage.window;
  WindowLoops loops;
  loops.words_per_pixel = stage.map.channels / in.lanes;
  if (stage.kind == StageKind::kConvolution) {
    loops.groups = stage.groups;
    loops.passes = out.map.channels / stage.groups / stage.elements;
    loops.reserve = stage.elements / out.lanes;
  }
  loops.words_per_group = loops.words_per_pixel / loops.groups;
  loops.results_per_pixel =
      stage.kind == StageKind::kConvolution ? loops.groups * loops.passes : loops.words_per_pixel;
  loops.first_insertions = w.columns() - w.pad_left;
  loops.row_insertions = stage.map.width - (w.out_width - 1) * w.stride_x;
  loops.insertions = loops.first_insertions + (w.out_height - 1) * stage.map.width +
                     (w.out_width - 1) * w.stride_x;
  return loops;
}

bool HasDeepColumns(const WindowLoops& loops) {
  // A block memory needs some distance between the uses of a word.
  constexpr int64_t kMostShallowWords = 64;
  return loops.words_per_pixel > kMostShallowWords && loops.words_per_group >= 4;
}

WeightWords WeightWordsOf(const Pipeline& pipeline, const Stage& stage) {
  const WindowLoops loops = LoopsOf(pipeline, stage);
  const int64_t elements = stage.kind == StageKind::kConvolution ? stage.elements : 1;
  return {.weights = elements * stage.window.taps() * pipeline.input(stage).lanes,
          .words = loops.groups * loops.passes * loops.words_per_group};
}

int64_t ReserveOf(const Pipeline& pipeline, const Channel& channel) {
  const Stage& from = pipeline.stages[static_cast<size_t>(channel.from)];
  return from.kind == StageKind::kConvolution ? from.elements / channel.lanes : 1;
}

int64_t ExtraRowsOf(const Window& w, const MapShape& map) {
  if (w.pointwise()) return 0;
  // Between row sets one row can follow the inserter; the other new rows need rows of their own. At
  // the end of a frame, the first row set of the next one needs its rows up to `last`, and the last
  // row set of the frame still holds `held` rows.
  const int64_t last = w.rows() - 1 - w.pad_top;
  const int64_t held =
      map.height - std::max<int64_t>(0, (w.out_height - 1) * w.stride_y - w.pad_top);
  return std::max({int64_t{0}, w.stride_y - 2, last - 1 - (w.rows() - held)});
}

int64_t CyclesPerImage(const Pipeline& pipeline, const Stage& stage) {
  switch (stage.kind) {
    case StageKind::kConvolution:
    case StageKind::kDepthwise:
    case StageKind::kMaxPool: {
      const WindowLoops loops = LoopsOf(pipeline, stage);
      const Window& w = stage.window;
      const int64_t in_pixels = stage.map.pixels(), out_pixels = w.out_height * w.out_width;
      const int64_t steps = out_pixels * loops.groups * loops.passes * loops.words_per_group;
      if (w.pointwise()) return steps + (in_pixels - out_pixels) * loops.words_per_pixel;
      return std::max((loops.insertions - out_pixels) * loops.words_per_pixel + steps,
                      in_pixels * loops.words_per_pixel);
    }
    case StageKind::kSource:
      return pipeline.output(stage).words();
    case StageKind::kWeightStream:
      return BeatsOfImage(stage, pipeline.output(stage));
    case StageKind::kWiden:
      return pipeline.input(stage).words();
    case StageKind::kPad:
    case StageKind::kNarrow:
    case StageKind::kConcat:
    case StageKind::kRearrange:
      return pipeline.output(stage).words();
    default:
      return pipeline.input(stage).words();
  }
}

// The map of the channel has a row for each output pixel, a column for each word of a pass, and the
// weights of a word as channels.
Channel WeightChannelOf(const Pipeline& pipeline, const Stage& convolution, int64_t port_bytes,
                        int64_t latency) {
  const WeightWords words = WeightWordsOf(pipeline, convolution);
  Channel channel;
  channel.type = {convolution.weight_bits, true};
  channel.lanes = words.weights;
  channel.map = {.height = convolution.window.out_height * convolution.window.out_width,
                 .width = words.words,
                 .channels = words.weights};
  // A word is reserved when it is requested and popped at least latency + beats + 2 cycles later.
  const int64_t beats = std::max<int64_t>(1, BytesOfWeightWord(channel) / port_bytes);
  channel.depth = (latency + 2) / beats + 3;
  channel.memory = channel.depth > 64 ? MemoryKind::kBlock : MemoryKind::kLut;
  return channel;
}

int64_t OutstandingOf(const Pipeline& pipeline, const Stage& weight_stream) {
  return std::min(weight_stream.memory_latency + 2, pipeline.output(weight_stream).depth);
}

int64_t BytesOfWeightWord(const Channel& weights) { return (weights.word_bits() + 7) / 8; }

int64_t BeatsOfWord(const Stage& weight_stream, const Channel& weights, int64_t index) {
  const int64_t bytes = BytesOfWeightWord(weights), first = index * bytes;
  return (first + bytes - 1) / weight_stream.port_bytes - first / weight_stream.port_bytes + 1;
}

int64_t BeatsOfImage(const Stage& weight_stream, const Channel& weights) {
  // The positions of words within beats repeat after `period` words.
  const int64_t words = weights.map.width;
  const int64_t period =
      weight_stream.port_bytes / std::gcd(weight_stream.port_bytes, BytesOfWeightWord(weights));
  int64_t of_period = 0, of_rest = 0;
  for (int64_t i = 0; i < period; ++i) {
    const int64_t beats = BeatsOfWord(weight_stream, weights, i);
    of_period += beats;
    if (i < words % period) of_rest += beats;
  }
  return (words / period * of_period + of_rest) * weights.map.height;
}

int64_t BytesOfWeightMemory(const Pipeline& pipeline) {
  int64_t end = 0;
  for (const int s : pipeline.Find(StageKind::kWeightStream)) {
    const Stage& stage = pipeline.stages[static_cast<size_t>(s)];
    const Channel& words = pipeline.output(stage);
    const int64_t bytes = stage.base_address + words.map.width * BytesOfWeightWord(words);
    end = std::max(end, CeilDivide(bytes, stage.port_bytes) * stage.port_bytes);
  }
  return end;
}

namespace {

// Cycles from the register of the sum to the push, by the way of requantisation.
int RequantiseLatency(const Requantise& r) {
  switch (r.way) {
    case Requantise::Way::kMultiply:
      return 3;
    case Requantise::Way::kThresholds:
      return 2 * r.threshold_bits;
    case Requantise::Way::kNone:
      break;
  }
  return 0;
}

}  // namespace

int64_t BytesOfBeat(const Channel& channel) { return (channel.word_bits() + 7) / 8; }

int LatencyOf(const Pipeline& pipeline, const Stage& stage) {
  const auto taps = stage.window.taps();
  switch (stage.kind) {
    case StageKind::kConvolution:
      return 5 + AdderLevels(taps * pipeline.input(stage).lanes) + (stage.pack > 1 ? 1 : 0) +
             RequantiseLatency(stage.requantise);
    case StageKind::kDepthwise:
      return 4 + AdderLevels(taps) + RequantiseLatency(stage.requantise);
    case StageKind::kMaxPool:
      return 2 + AdderLevels(taps);
    case StageKind::kGlobalSum:
      return 3 + RequantiseLatency(stage.requantise);
    case StageKind::kAffine:
      return 5;
    case StageKind::kTable:
    case StageKind::kRearrange:
      return 1;
    default:
      return 0;
  }
}

SumRange RangeOfSums(const Pipeline& pipeline, const Stage& stage) {
  const Channel &in = pipeline.input(stage), &out = pipeline.output(stage);
  const int64_t low = in.type.low(), high = in.type.high();
  const int64_t channels = out.map.channels;
  SumRange range;
  const int64_t per_channel =
      stage.weights.empty() ? 0 : static_cast<int64_t>(stage.weights.size()) / channels;
  for (int64_t c = 0; c < channels; ++c) {
    SumRange sum;
    if (stage.kind == StageKind::kGlobalSum) {
      sum = {low * in.map.pixels(), high * in.map.pixels()};
    }
    for (int64_t i = 0; i < per_channel; ++i) {
      const int64_t weight = stage.weights[static_cast<size_t>(c * per_channel + i)];
      sum.low += weight >= 0 ? weight * low : weight * high;
      sum.high += weight >= 0 ? weight * high : weight * low;
    }
    range.low = std::min(range.low, sum.low);
    range.high = std::max(range.high, sum.high);
  }
  // Partial sums lie between those of the extremes, which include zero.
  return range;
}

}  // namespace kiln::dataflow
