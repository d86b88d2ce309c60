// Simulates the evenly fed pipeline and reads the levels of its channels.

#include "kiln/targets/dataflow/compile/channels.h"

#include <algorithm>

#include "fmt/format.h"
#include "kiln/targets/dataflow/isa/derived.h"
#include "kiln/targets/dataflow/simulate/cycle/timing.h"

namespace kiln::dataflow {
namespace {

// Events after which a simulation is given up: minutes of processor time.
constexpr int64_t kMostEvents = int64_t{2000} * 1000 * 1000;
// Images until every channel has seen the steady state, at least.
constexpr int64_t kLeastImages = 4;

// Words in LUTs cost a bit of a LUT each; block RAM holds 18 Kb, ultra RAM 288.
MemoryKind MemoryOf(const Channel& channel, bool has_ultra) {
  const int64_t bits = channel.depth * channel.word_bits();
  if (channel.depth <= 64 || bits <= 2048) return MemoryKind::kLut;
  return has_ultra && bits > 128 * 1024 ? MemoryKind::kUltra : MemoryKind::kBlock;
}

// Returns the name of the layer behind a channel, past forks and converters. If the stage there
// belongs to no layer, returns the name of the stage.
std::string LayerBehind(const Pipeline& pipeline, const Channel& channel,
                        std::span<const std::string> layers) {
  const Stage* stage = &pipeline.stages[static_cast<size_t>(channel.to)];
  while (OnlyConnects(stage->kind))
    stage = &pipeline.stages[static_cast<size_t>(pipeline.output(*stage).to)];
  const auto layer = static_cast<size_t>(stage->layer);
  return stage->layer >= 0 && layer < layers.size() ? layers[layer] : stage->name;
}

}  // namespace

// Simulates with channels without limits, at a pace that grows until the pipeline keeps it, and for
// as many images as a deep channel needs to reach its steady state.
StatusOr<PipelinePace> SetDepths(const ChannelLimits& limits, Pipeline* pipeline) {
  PipelinePace pace;
  for (const Stage& stage : pipeline->stages)
    pace.interval = std::max(pace.interval, CyclesPerImage(*pipeline, stage));
  // The stages may be slower than their bounds: then the interval grows to what they keep.
  PipelineTiming timing;
  for (int64_t images = kLeastImages;;) {
    KILN_ASSIGN_OR_RETURN(timing, SimulateTiming(*pipeline, {.images = images,
                                                             .unbounded = true,
                                                             .interval = pace.interval,
                                                             .most_events = kMostEvents}));
    const auto last = timing.finished.end() - 1;
    const int64_t kept = *last - *(last - 1);
    if (kept > pace.interval) {
      pace.interval = kept;
      continue;
    }
    // An image that takes longer than all images before it fills channels that they did not.
    const int64_t deep = timing.finished[0] / pace.interval + 3;
    if (deep <= images) break;
    images = deep;
  }
  pace.latency = timing.finished[0];
  for (size_t i = 0; i < pipeline->channels.size(); ++i) {
    Channel& channel = pipeline->channels[i];
    // A weight stream fills any channel; its depth follows from the memory's latency.
    if (!pipeline->HoldsWeights(channel))
      channel.depth = std::max<int64_t>(1, timing.channels[i].needed);
    channel.memory = MemoryOf(channel, limits.has_ultra);
    const int64_t bits = channel.depth * channel.word_bits();
    pace.words += channel.depth;
    pace.bits += bits;
    if (limits.most_bits > 0 && bits > limits.most_bits) {
      return ErrorAt(
          "", fmt::format("layer '{}'", LayerBehind(*pipeline, channel, limits.layers)),
          fmt::format("needs a channel of {} bits in front of it, or the pipeline stalls or stops; "
                      "the limit is {}",
                      bits, limits.most_bits),
          "raise channel_bits");
    }
  }
  return pace;
}

}  // namespace kiln::dataflow
