// Enumerates the folds of layers with their cycles and resources.

#include "kiln/targets/dataflow/compile/fold_network.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "fmt/format.h"
#include "kiln/support/integer.h"
#include "kiln/targets/dataflow/cost/fpga_model.h"
#include "kiln/targets/dataflow/cost/memory_blocks.h"
#include "kiln/targets/dataflow/fold/split.h"
#include "kiln/targets/dataflow/isa/derived.h"

namespace kiln::dataflow {
namespace {

std::vector<int64_t> DivisorsOf(int64_t number, int64_t most) {
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d <= std::min(number, most); ++d) {
    if (number % d == 0) divisors.push_back(d);
  }
  return divisors;
}

// Enumerates the folds of one layer with their cycles and resources. Both come from a pipeline of
// the layer's stage alone, in which only lanes, elements and memories change, so that the search
// sees the numbers of the stage that is built in the end.
class LayerCandidates {
 public:
  LayerCandidates(const Lowered& network, size_t layer, const Config& config, int64_t period)
      : network_(network), layer_(network.layers[layer]), config_(config), period_(period) {
    Stage stage = layer_.stage;
    stage.weights.clear();  // only their widths count
    stage.inputs.clear();
    for (const int map : layer_.inputs) {
      const NetworkMap& form = network.maps[static_cast<size_t>(map)];
      stage.inputs.push_back(static_cast<int>(alone_.channels.size()));
      alone_.channels.push_back(Channel{form.shape, form.type});
    }
    const NetworkMap& result = network.maps[static_cast<size_t>(layer_.output)];
    stage.outputs = {static_cast<int>(alone_.channels.size())};
    alone_.channels.push_back(Channel{result.shape, result.type});
    if (HasWindow(stage.kind)) stage.window.extra_rows = ExtraRowsOf(stage.window, stage.map);
    alone_.stages.push_back(std::move(stage));
  }

  void Enumerate() {
    if (layer_.stage.kind == StageKind::kConvolution) {
      const int64_t groups = layer_.stage.groups;
      const int64_t out = network_.maps[static_cast<size_t>(layer_.output)].shape.channels;
      for (const int64_t a : DivisorsOf(layer_.stage.map.channels / groups, config_.most_lanes)) {
        for (const int64_t b : DivisorsOf(out / groups, config_.most_lanes)) Convolution(a, b, 0);
        if (config_.channel_padding && groups == 1) PaddedConvolutions(a, out);
      }
      return;
    }
    for (const int64_t lanes : DivisorsOf(CommonChannels(), config_.most_lanes)) {
      LayerFold fold;
      fold.in_lanes = fold.elements = fold.out_lanes = lanes;
      AddMemories(fold);
    }
  }

  std::vector<Candidate> candidates;
  std::vector<LayerFold> folds;

 private:
  // The channels that the lanes of a word must divide.
  int64_t CommonChannels() const {
    const Stage& stage = alone_.stages[0];
    int64_t common = stage.kind == StageKind::kDepthwise || stage.kind == StageKind::kMaxPool
                         ? stage.map.channels
                         : alone_.channels[0].map.channels;
    for (size_t i = 1; i < stage.inputs.size(); ++i)
      common = std::gcd(common, alone_.channels[i].map.channels);
    if (stage.kind == StageKind::kPad) {
      common = std::gcd(common, stage.pad_front);
      common = std::gcd(common, alone_.channels.back().map.channels);
    }
    if (stage.kind == StageKind::kRearrange && stage.depth_to_space)
      common = alone_.channels.back().map.channels;
    return common;
  }

  // Adds folds whose elements do not divide the output channels: for each number of passes, the
  // fewest elements with which the channels fit.
  void PaddedConvolutions(int64_t a, int64_t channels) {
    int64_t last = 0;
    for (int64_t passes = 1; passes < channels; ++passes) {
      const int64_t b = CeilDivide(channels, passes);
      if (b == last) continue;
      last = b;
      if (channels % b == 0 || b > config_.most_lanes) continue;
      Convolution(a, b, RoundUp(channels, b) - channels);
    }
  }

  // Adds the folds of `a` lanes and `b` elements.
  //   padded  channels that are computed and dropped
  void Convolution(int64_t a, int64_t b, int64_t padded) {
    const Stage& stage = alone_.stages[0];
    const int64_t words = stage.map.channels / stage.groups / a;  // IG
    LayerFold fold;
    fold.in_lanes = a;
    fold.elements = b;
    fold.padded = padded;
    // The fewest lanes with which all words of a result leave before the next result. Channels are
    // dropped by whole words.
    const int64_t channels = network_.maps[static_cast<size_t>(layer_.output)].shape.channels;
    const std::vector<int64_t> lanes = DivisorsOf(padded > 0 ? std::gcd(b, channels) : b, b);
    const auto fewest = std::ranges::find_if(lanes, [&](int64_t r) { return b / r <= words; });
    if (fewest == lanes.end()) return;
    fold.out_lanes = *fewest;
    const int most = std::max(alone_.channels[0].type.bits, stage.weight_bits);
    for (const int64_t pack : {4, 2}) {
      const bool fits = pack <= config_.products_per_dsp && b % pack == 0 &&
                        most <= (pack == 4 ? 4 : 8) && stage.weight_bits > 2 &&
                        !UsesLutProducts(alone_.channels[0].type, stage.weight_bits, 1);
      // Four small products share a slice although each alone would be logic.
      const bool small = pack == 4 && config_.products_per_dsp == 4 && b % 4 == 0 && most <= 4 &&
                         std::min(alone_.channels[0].type.bits, stage.weight_bits) > 2;
      if (!fits && !small) continue;
      fold.pack = pack;
      break;
    }
    AddMemories(fold);
  }

  // Adds the fold with the kinds of memory that make sense for its rows and its weights.
  void AddMemories(LayerFold fold) {
    Stage& stage = alone_.stages[0];
    SetLanes(fold);
    std::vector<MemoryKind> rows = {MemoryKind::kLut}, weights = {MemoryKind::kLut};
    if (HasWindow(stage.kind) && !stage.window.pointwise()) {
      const int64_t depth = stage.map.width * stage.map.channels / fold.in_lanes;
      rows = KindsOf(depth, alone_.channels[0].word_bits(), config_.uram > 0);
    }
    if (HasWeights(stage.kind)) {
      const WeightWords words = WeightWordsOf(alone_, stage);
      weights = KindsOf(words.words, words.weights * stage.weight_bits, false);
    }
    for (const MemoryKind row : rows) {
      for (const MemoryKind weight : weights) {
        fold.row_memory = row;
        fold.weight_memory = weight;
        Add(fold);
      }
    }
    if (stage.kind != StageKind::kConvolution || config_.weight_ports == 0) return;
    fold.streams = true;
    fold.weight_memory = MemoryKind::kLut;
    for (const MemoryKind row : rows) {
      fold.row_memory = row;
      AddStreaming(fold);
    }
  }
  static std::vector<MemoryKind> KindsOf(int64_t depth, int64_t width, bool ultra) {
    if (depth <= 64) return {MemoryKind::kLut};
    std::vector<MemoryKind> kinds = {MemoryKind::kBlock};
    if (depth * width <= 16 * 1024) kinds.push_back(MemoryKind::kLut);
    if (ultra && depth * width > 18 * 1024) kinds.push_back(MemoryKind::kUltra);
    return kinds;
  }

  void SetLanes(const LayerFold& fold) {
    Stage& stage = alone_.stages[0];
    for (size_t i = 0; i < stage.inputs.size(); ++i) alone_.channels[i].lanes = fold.in_lanes;
    Channel& result = alone_.channels.back();
    result.lanes = fold.out_lanes;
    result.map.channels =
        network_.maps[static_cast<size_t>(layer_.output)].shape.channels + fold.padded;
    stage.elements = fold.elements;
    stage.pack = fold.pack;
    stage.window.row_memory = fold.row_memory;
    stage.weight_memory = fold.weight_memory;
  }

  void Add(const LayerFold& fold) {
    SetLanes(fold);
    const Stage& stage = alone_.stages[0];
    AddCandidate(fold, CyclesPerImage(alone_, stage),
                 ResourcesOf(alone_, stage, config_.ultrascale));
  }

  // Adds the fold of a convolution with a weight stream and its channel.
  void AddStreaming(const LayerFold& fold) {
    SetLanes(fold);
    const WeightPort port = WeightPortOf(config_);
    Pipeline both = alone_;
    Channel words = WeightChannelOf(both, both.stages[0], port.bytes, port.latency);
    words.from = 1;
    words.to = 0;
    Stage stream;
    stream.kind = StageKind::kWeightStream;
    stream.port_bytes = port.bytes;
    stream.outputs = {static_cast<int>(both.channels.size())};
    both.stages[0].inputs.push_back(stream.outputs[0]);
    both.channels.push_back(words);
    both.stages.push_back(std::move(stream));
    FpgaResources r = ResourcesOf(words);
    for (const Stage& stage : both.stages) r += ResourcesOf(both, stage, config_.ultrascale);
    // While the window only moves on, the stream reads ahead no further than its channel reaches:
    // at worst the cycles of the beats come on top.
    const int64_t beats = BeatsOfImage(both.stages[1], words);
    const int64_t cycles =
        CyclesPerImage(both, both.stages[0]) + std::max<int64_t>(0, beats - words.words());
    AddCandidate(fold, cycles, r);
  }

  void AddCandidate(const LayerFold& fold, int64_t cycles, const FpgaResources& r) {
    // The channel behind the stage holds a few words.
    const int64_t lut = r.lut + 20 + alone_.channels.back().word_bits();
    candidates.push_back({.in_lanes = static_cast<int>(fold.in_lanes),
                          .out_lanes = static_cast<int>(fold.out_lanes),
                          .cycles = cycles,
                          .latency = Latency(cycles),
                          .resources = {r.dsp, r.ramb18, r.uram, lut, fold.streams ? 1 : 0},
                          .tag = static_cast<int>(folds.size())});
    folds.push_back(fold);
  }

  // Returns the cycles from the first word in to the first word out of a stage that takes `cycles`
  // for an image, if words arrive evenly over the period: the part of the image that the first
  // window needs, plus the stage's pipeline.
  int64_t Latency(int64_t cycles) const {
    const Stage& stage = alone_.stages[0];
    const int64_t pipeline = LatencyOf(alone_, stage) + 1;
    const int64_t period = std::max(period_, cycles);
    if (stage.kind == StageKind::kGlobalSum) return period + pipeline;
    if (stage.kind == StageKind::kRearrange && stage.map.height >= 1)
      return period / std::max<int64_t>(1, alone_.channels[0].map.height) + pipeline;
    if (!HasWindow(stage.kind) || stage.window.pointwise()) return pipeline;
    const Window& w = stage.window;
    const int64_t rows = std::min(stage.map.height, w.rows() - w.pad_top);
    const int64_t pixels =
        (rows - 1) * stage.map.width + std::min(stage.map.width, w.columns() - w.pad_left);
    return period * pixels / stage.map.pixels() + pipeline;
  }

  const Lowered& network_;
  const NetworkLayer& layer_;
  const Config& config_;
  const int64_t period_;
  Pipeline alone_;
};

// Returns the ways to hold elements of a channel in words of some lanes.
FifoCost FifoCostOf(const NetworkMap& map, bool ultra) {
  const int bits = map.type.bits;
  return [bits, ultra](int64_t elements, int lanes) {
    const int64_t depth = std::max<int64_t>(2, CeilDivide(elements, int64_t{lanes})),
                  width = int64_t{lanes} * bits;
    std::vector<FifoOption> options;
    for (const MemoryKind kind : {MemoryKind::kLut, MemoryKind::kBlock, MemoryKind::kUltra}) {
      if (kind == MemoryKind::kUltra && !ultra) continue;
      const MemoryBlocks blocks = BlocksOf(kind, width, depth);
      options.push_back({{0, blocks.ramb18, blocks.uram, blocks.lut}, static_cast<int>(kind)});
    }
    return options;
  };
}

}  // namespace

Resources LimitsOf(const Config& config) {
  return {config.dsp, 2 * config.bram, config.uram, config.lut, config.weight_ports};
}

WeightPort WeightPortOf(const Config& config) {
  return {.bytes = config.weight_port_bytes, .latency = config.weight_latency};
}

StatusOr<NetworkProblem> ProblemOf(const Lowered& network, const Config& config, int64_t period) {
  NetworkProblem problem;
  FoldProblem& fold = problem.problem;
  fold.limits = LimitsOf(config);
  for (size_t i = 0; i < network.layers.size(); ++i) {
    LayerCandidates layer(network, i, config, period);
    layer.Enumerate();
    fold.layers.push_back({.name = network.layers[i].info.name,
                           .candidates = std::move(layer.candidates),
                           .operations = static_cast<double>(network.layers[i].info.macs)});
    problem.folds.push_back(std::move(layer.folds));
  }
  const Coupling coupling = config.two_way ? Coupling::kTwoWay : Coupling::kNextMultiple;
  for (size_t i = 0; i < network.layers.size(); ++i) {
    const bool joins = network.layers[i].inputs.size() > 1;
    for (const int input : network.layers[i].inputs) {
      const NetworkMap& map = network.maps[static_cast<size_t>(input)];
      if (map.layer < 0 ||
          network.layers[static_cast<size_t>(map.layer)].segment != network.layers[i].segment)
        continue;
      Edge edge;
      edge.from = map.layer;
      edge.to = static_cast<int>(i);
      edge.coupling = coupling;
      edge.bits = map.shape.elements() * map.type.bits;
      if (joins && period > 0)
        edge.fifo = Fifo{.elements_per_frame = map.shape.elements(),
                         .burst = 0,
                         .cost = FifoCostOf(map, config.uram > 0)};
      fold.edges.push_back(std::move(edge));
    }
  }
  return problem;
}

Objective ObjectiveOf(const Config& config) {
  Objective objective;
  if (config.target_fps > 0) {
    objective.goal = Goal::kResources;
    objective.order = ResourceOrder::kDeviceShare;
    objective.target_cycles =
        std::max<int64_t>(1, std::llround(std::floor(config.clock_mhz * 1e6 / config.target_fps)));
  }
  return objective;
}

namespace {

// Subtracts what is reserved from the limits of a device.
void Reserve(const Resources& reserved, Resources* limits) {
  for (size_t k = 0; k < kResourceKinds; ++k)
    (*limits)[k] = std::max<int64_t>(0, (*limits)[k] - reserved[k]);
}

// Searches among all folds of ProblemOf, twice: the second search knows the period of the first,
// which the FIFOs of joins and the fill of row buffers depend on.
StatusOr<SolvedNetwork> SolveWith(const Lowered& network, const Config& config,
                                  const Objective& objective, const FoldSearch& search,
                                  const Resources& reserved) {
  SolvedNetwork solved;
  int64_t period = 0;
  for (int pass = 0; pass < 2; ++pass) {
    KILN_ASSIGN_OR_RETURN(solved.problem, ProblemOf(network, config, period));
    Reserve(reserved, &solved.problem.problem.limits);
    KILN_ASSIGN_OR_RETURN(solved.result, search(solved.problem.problem, objective));
    if (!solved.result.fold.has_value()) break;
    period = solved.result.metrics.l_max;
  }
  return solved;
}

Config WithoutPorts(Config config) {
  config.weight_ports = 0;
  return config;
}

// Searches for the least latency. Rows fill at the pace of the pipeline, which the fold decides, so
// that the search runs for the target and for the shortest interval; the better result counts.
StatusOr<SolvedNetwork> SolveLatency(const Lowered& network, const Config& config,
                                     const Objective& objective, const FoldSearch& search,
                                     const Resources& reserved) {
  Objective fastest;
  fastest.target_cycles = objective.target_cycles;
  KILN_ASSIGN_OR_RETURN(SolvedNetwork best, SolveFold(network, config, fastest, search, reserved));
  if (!best.result.fold.has_value()) return best;
  for (const int64_t target : {best.result.metrics.l_max, objective.target_cycles}) {
    Objective at = objective;
    at.target_cycles = target;
    KILN_ASSIGN_OR_RETURN(SolvedNetwork solved, SolveWith(network, config, at, search, reserved));
    if (solved.result.fold.has_value() &&
        solved.result.metrics.latency < best.result.metrics.latency)
      best = std::move(solved);
  }
  return best;
}

}  // namespace

StatusOr<SolvedNetwork> SolveFold(const Lowered& network, const Config& config,
                                  const Objective& objective, const FoldSearch& search,
                                  const Resources& reserved) {
  if (objective.goal == Goal::kLatency)
    return SolveLatency(network, config, objective, search, reserved);
  KILN_ASSIGN_OR_RETURN(SolvedNetwork on_chip,
                        SolveWith(network, WithoutPorts(config), objective, search, reserved));
  on_chip.problem.problem.limits[kPorts] = config.weight_ports;
  if (config.weight_ports == 0) return on_chip;
  KILN_ASSIGN_OR_RETURN(SolvedNetwork streamed,
                        SolveWith(network, config, objective, search, reserved));
  if (!on_chip.result.fold.has_value()) return streamed;
  const bool faster = objective.goal == Goal::kThroughput && streamed.result.fold.has_value() &&
                      streamed.result.metrics.l_max < on_chip.result.metrics.l_max;
  return faster ? std::move(streamed) : std::move(on_chip);
}

std::string ProofOf(const SolvedNetwork& solved) {
  std::string proof = Describe(solved.problem.problem, solved.result.certificate);
  if (solved.result.fold.has_value() && solved.result.metrics.resources[kPorts] > 0)
    proof += "; cycles of layers with streamed weights are upper bounds";
  return proof;
}

namespace {

StatusOr<FoldResult> SearchExactly(const FoldProblem& problem, const Objective& objective) {
  return SolveExact(problem, objective);
}

// Solves for the shortest interval, then for the least resources at an interval that is longer by
// the slack.
StatusOr<FoldResult> SearchWithSlack(const FoldProblem& problem, const Objective& objective,
                                     double slack_percent) {
  KILN_ASSIGN_OR_RETURN(FoldResult fastest, SolveExact(problem, objective));
  if (!fastest.fold.has_value()) return fastest;
  Objective cheaper;
  cheaper.goal = Goal::kResources;
  cheaper.order = ResourceOrder::kDeviceShare;
  cheaper.target_cycles = std::max<int64_t>(
      fastest.metrics.l_max,
      std::llround(static_cast<double>(fastest.metrics.l_max) * (1 + slack_percent / 100)));
  return SolveExact(problem, cheaper);
}

// Returns the error for a device without a fold. `why` is the proof that there is none; it is empty
// if the search ended at its budget before it found one.
//   reserved  what is kept for queues and registers, and missing in the limits of the proof
Status DoesNotHold(const Config& config, const Resources& reserved, std::string why) {
  if (why.empty()) {
    return ErrorAt("", fmt::format("device '{}'", config.name),
                   "the search for a fold ended at its budget without one, which proves nothing",
                   "a larger device, fewer devices or passes, or a lower target_fps");
  }
  std::string kept;
  for (size_t k = 0; k < kResourceKinds; ++k) {
    if (reserved[k] > 0)
      kept += fmt::format(" {} {}", reserved[k], ResourceName(static_cast<int>(k)));
  }
  if (!kept.empty()) why += "; queues and registers keep" + kept;
  return ErrorAt("", fmt::format("device '{}'", config.name), "does not hold the network: " + why,
                 "a larger device, more devices or passes, fewer bits, or a lower target_fps");
}

// Takes over the fold and the parts of a cut (DeviceSplit, PassSplit).
//   interval  cycles between images
//   where     the end of the proof: "over 2 devices"
template <typename Split>
void TakeSplit(const Split& split, int64_t interval, const std::string& where,
               FoldedNetwork* folded) {
  const FoldProblem& problem = folded->problem.problem;
  folded->parts.assign(problem.layers.size(), 0);
  for (size_t part = 0; part < split.parts.size(); ++part) {
    for (const int layer : split.parts[part].layers)
      folded->parts[static_cast<size_t>(layer)] = static_cast<int>(part);
  }
  folded->interval = interval;
  folded->result.fold = split.fold;
  folded->result.metrics = EvaluateAt(problem, *split.fold, interval);
  folded->result.certificate.optimal = split.optimal;
  folded->proof =
      (split.optimal ? "optimal among all cuts and folds " : "the best cut that was found ") +
      where;
}

// Cuts the network over several devices.
Status FoldOverDevices(const Lowered& network, const Config& config, const Resources& reserved,
                       FoldedNetwork* folded) {
  DeviceRow row;
  Resources limits = LimitsOf(config);
  Reserve(reserved, &limits);
  row.limits.assign(static_cast<size_t>(config.devices), limits);
  row.bits_per_cycle.assign(static_cast<size_t>(config.devices) - 1, config.link_bits);
  DeviceSplit split;
  int64_t period = 0;
  for (int pass = 0; pass < 2; ++pass) {
    KILN_ASSIGN_OR_RETURN(folded->problem, ProblemOf(network, config, period));
    KILN_ASSIGN_OR_RETURN(split,
                          SplitOverDevices(folded->problem.problem, row,
                                           {.target_cycles = ObjectiveOf(config).target_cycles}));
    if (!split.fold.has_value()) return DoesNotHold(config, reserved, split.infeasible);
    period = split.period;
  }
  const auto used = std::ranges::count_if(
      split.parts, [](const DevicePart& part) { return !part.layers.empty(); });
  TakeSplit(split, split.period,
            fmt::format("over {} devices; no cut has an interval below {} cycles", used,
                        split.period_bound),
            folded);
  return OkStatus();
}

// Cuts the network into passes.
Status FoldOverPasses(const Lowered& network, const Config& config, const Resources& reserved,
                      FoldedNetwork* folded) {
  PassSplit split;
  int64_t period = 0;
  for (int pass = 0; pass < 2; ++pass) {
    KILN_ASSIGN_OR_RETURN(folded->problem, ProblemOf(network, config, period));
    Reserve(reserved, &folded->problem.problem.limits);
    KILN_ASSIGN_OR_RETURN(split, SplitOverPasses(folded->problem.problem,
                                                 {.most_passes = config.passes,
                                                  .reload_cycles = config.reload_cycles,
                                                  .memory_bits_per_cycle = config.memory_bits}));
    if (!split.fold.has_value()) return DoesNotHold(config, reserved, split.infeasible);
    period = 0;
    for (const PassPart& part : split.parts) period = std::max(period, part.metrics.l_max);
  }
  TakeSplit(split, split.cycles, fmt::format("with {} passes", split.parts.size()), folded);
  return OkStatus();
}

}  // namespace

StatusOr<FoldedNetwork> FoldNetwork(const Lowered& network, const Config& config,
                                    const Resources& reserved) {
  FoldedNetwork folded;
  if (network.layers.empty()) return folded;
  if (config.devices > 1) {
    KILN_RETURN_IF_ERROR(FoldOverDevices(network, config, reserved, &folded));
  } else if (config.passes > 1) {
    KILN_RETURN_IF_ERROR(FoldOverPasses(network, config, reserved, &folded));
  } else {
    FoldSearch search = &SearchExactly;
    if (config.slack_percent > 0 && config.target_fps <= 0) {
      search = [&](const FoldProblem& problem, const Objective& objective) {
        return SearchWithSlack(problem, objective, config.slack_percent);
      };
    }
    KILN_ASSIGN_OR_RETURN(static_cast<SolvedNetwork&>(folded),
                          SolveFold(network, config, ObjectiveOf(config), search, reserved));
    if (!folded.result.fold.has_value())
      return DoesNotHold(config, reserved, folded.result.infeasible);
    folded.interval = folded.result.metrics.l_max;
    folded.proof = ProofOf(folded);
  }
  for (size_t i = 0; i < network.layers.size(); ++i) {
    const auto choice = static_cast<size_t>(folded.result.fold->choice[i]);
    folded.folds.push_back(folded.problem.folds[i][choice]);
  }
  return folded;
}

}  // namespace kiln::dataflow
