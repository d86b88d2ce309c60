// The steps of the compiler, in order.

#include "kiln/targets/dataflow/compile/compile.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "fmt/format.h"
#include "kiln/targets/dataflow/compile/channels.h"
#include "kiln/targets/dataflow/compile/cut.h"
#include "kiln/targets/dataflow/compile/fold_network.h"
#include "kiln/targets/dataflow/compile/lower.h"
#include "kiln/targets/dataflow/cost/fpga_model.h"

namespace kiln::dataflow {
namespace {

// The search knows the queues of joins only in the shape of its own time model, and no forks and
// converters. Where the machine with exact queues exceeds the device, the network is folded again
// with a reservation for them.
constexpr int kMostRounds = 8;

StatusOr<std::vector<Segment>> BuildSegments(const Lowered& network,
                                             const std::vector<LayerFold>& folds,
                                             const Config& config) {
  std::vector<Segment> segments;
  std::vector<std::string> layers;
  for (const NetworkLayer& layer : network.layers) layers.push_back(layer.info.name);
  for (int i = 0; i < network.segments; ++i) {
    Segment segment;
    if (!network.segment_parts.empty())
      segment.part = network.segment_parts[static_cast<size_t>(i)];
    segment.pipeline = Assemble(network, i, folds, WeightPortOf(config));
    KILN_RETURN_IF_ERROR(CheckPipeline(segment.pipeline));
    KILN_ASSIGN_OR_RETURN(segment.pace, SetDepths({.most_bits = config.channel_bits,
                                                   .has_ultra = config.uram > 0,
                                                   .layers = layers},
                                                  &segment.pipeline));
    segments.push_back(std::move(segment));
  }
  return segments;
}

// Returns what the machines of each device or pass take.
std::map<int, FpgaResources> UsedByPart(const std::vector<Segment>& segments,
                                        const Config& config) {
  std::map<int, FpgaResources> sums;
  for (const Segment& segment : segments)
    sums[segment.part] += ResourcesOf(segment.pipeline, config.ultrascale);
  return sums;
}

// Returns by how much the segments of a device or of a pass exceed the device: of each resource,
// the greatest amount.
Resources ExcessOf(const std::vector<Segment>& segments, const Config& config) {
  const Resources limits = LimitsOf(config);
  Resources excess{};
  for (const auto& [part, sum] : UsedByPart(segments, config)) {
    const Resources used = {sum.dsp, sum.ramb18, sum.uram, sum.lut, 0};
    for (size_t k = 0; k < kResourceKinds; ++k)
      excess[k] = std::max(excess[k], used[k] - limits[k]);
  }
  return excess;
}

// A queue in block RAM that could be in LUTs.
struct MovableQueue {
  Channel* channel = nullptr;
  int64_t blocks = 0;  // that it would free
  int64_t luts = 0;    // that it would need
  size_t number = 0;   // among the queues of its part
};

std::vector<MovableQueue> MovableQueues(Pipeline* pipeline) {
  std::vector<MovableQueue> queues;
  for (Channel& channel : pipeline->channels) {
    if (channel.memory != MemoryKind::kBlock) continue;
    Channel moved = channel;
    moved.memory = MemoryKind::kLut;
    const FpgaResources before = ResourcesOf(channel), after = ResourcesOf(moved);
    if (before.ramb18 > 0) queues.push_back({&channel, before.ramb18, after.lut - before.lut});
  }
  return queues;
}

// Moves queues from block RAM to LUTs where the machine has too few blocks: first the queues that
// need the fewest LUTs for each block that they free. Kinds of memory do not change the timing.
void SpareBlocks(const Config& config, std::vector<Segment>* segments) {
  const Resources limits = LimitsOf(config);
  for (auto& [part, used] : UsedByPart(*segments, config)) {
    if (used.ramb18 <= limits[kBram]) continue;
    std::vector<MovableQueue> queues;
    for (Segment& segment : *segments) {
      if (segment.part != part) continue;
      std::ranges::copy(MovableQueues(&segment.pipeline), std::back_inserter(queues));
    }
    for (size_t i = 0; i < queues.size(); ++i) queues[i].number = i;
    std::ranges::sort(queues, [](const MovableQueue& a, const MovableQueue& b) {
      return std::pair(a.luts * b.blocks, a.number) < std::pair(b.luts * a.blocks, b.number);
    });
    int64_t blocks = used.ramb18, luts = used.lut;
    for (const MovableQueue& queue : queues) {
      if (blocks <= limits[kBram] || luts + queue.luts > limits[kLut]) break;
      queue.channel->memory = MemoryKind::kLut;
      blocks -= queue.blocks;
      luts += queue.luts;
    }
  }
}

// A network, folded with some resources kept back, and the machine that this gives.
struct Attempt {
  Lowered network;
  FoldedNetwork folded;
  std::vector<Segment> segments;
  Resources excess{};  // by which the machine exceeds the device
  bool fits() const {
    return std::ranges::none_of(excess, [](int64_t amount) { return amount > 0; });
  }
};

StatusOr<Attempt> FoldWith(const Graph& network, const Config& config,
                           const CompileOptions& options, const Resources& reserved) {
  Attempt attempt;
  KILN_ASSIGN_OR_RETURN(attempt.network, Lower(network, config, options));
  KILN_ASSIGN_OR_RETURN(attempt.folded, FoldNetwork(attempt.network, config, reserved));
  if (!attempt.folded.parts.empty()) CutNetwork(attempt.folded.parts, &attempt.network);
  KILN_ASSIGN_OR_RETURN(attempt.segments,
                        BuildSegments(attempt.network, attempt.folded.folds, config));
  SpareBlocks(config, &attempt.segments);
  attempt.excess = ExcessOf(attempt.segments, config);
  return attempt;
}

Status QueuesDoNotFit(const Config& config, const Resources& excess) {
  const auto over = std::ranges::find_if(excess, [](int64_t amount) { return amount > 0; });
  const auto kind = static_cast<size_t>(over - excess.begin());
  return ErrorAt(
      "", fmt::format("device '{}'", config.name),
      fmt::format("does not hold the queues between the layers: {} more {} are "
                  "needed than the device has, {}",
                  excess[kind], ResourceName(static_cast<int>(kind)), LimitsOf(config)[kind]),
      "a larger device, or a lower target_fps");
}

// Returns the fastest machine that is found to fit. Reserves what exceeds the device until a fold
// fits, or none is left; then searches between the reservation that was too small and the one that
// was large enough or too large: other folds have other queues.
StatusOr<Attempt> FoldToFit(const Graph& network, const Config& config,
                            const CompileOptions& options) {
  std::optional<Attempt> best;
  std::optional<Resources> enough;  // a reservation with which folds fit, or none is left
  Resources too_small{}, reserved{};
  Status last = OkStatus();
  for (int round = 0; round < kMostRounds; ++round) {
    StatusOr<Attempt> attempt = FoldWith(network, config, options, reserved);
    if (!attempt.ok() && round == 0) return attempt.status();
    if (attempt.ok() && !attempt->fits()) {
      last = QueuesDoNotFit(config, attempt->excess);
      too_small = reserved;
      if (!enough.has_value()) {
        AddTo(reserved, attempt->excess);
        continue;
      }
    } else {
      enough = reserved;
      if (!attempt.ok()) {
        last = attempt.status();
      } else if (!best.has_value() || attempt->folded.interval < best->folded.interval) {
        best = *std::move(attempt);
      }
    }
    const Resources before = reserved;
    for (size_t k = 0; k < kResourceKinds; ++k)
      reserved[k] = too_small[k] + ((*enough)[k] - too_small[k]) / 2;
    if (round == 0 || reserved == before || reserved == too_small) break;
  }
  if (!best.has_value()) return last;
  return *std::move(best);
}

}  // namespace

StatusOr<std::unique_ptr<Program>> CompileNetwork(const Graph& network, const Config& config,
                                                  const CompileOptions& options) {
  KILN_ASSIGN_OR_RETURN(Attempt made, FoldToFit(network, config, options));
  FoldReport report;
  if (made.folded.result.fold.has_value()) {
    report.interval = made.folded.interval;
    report.idle = made.folded.result.metrics.l_sum;
    report.optimal = made.folded.result.certificate.optimal;
    report.proof = made.folded.proof;
  }
  return std::make_unique<DataflowProgram>(config, std::move(made.network),
                                           std::move(made.folded.folds), std::move(made.segments),
                                           std::move(report));
}

}  // namespace kiln::dataflow
