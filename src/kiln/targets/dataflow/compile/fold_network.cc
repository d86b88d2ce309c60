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

// The folds of one layer: a pipeline of its stage alone, whose lanes change.
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
        for (const int64_t b : DivisorsOf(out / groups, config_.most_lanes)) Convolution(a, b);
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
  static bool HasWindow(StageKind kind) {
    return kind == StageKind::kConvolution || kind == StageKind::kDepthwise ||
           kind == StageKind::kMaxPool;
  }

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

  void Convolution(int64_t a, int64_t b) {
    const Stage& stage = alone_.stages[0];
    const int64_t words = stage.map.channels / stage.groups / a;  // IG
    LayerFold fold;
    fold.in_lanes = a;
    fold.elements = b;
    // The fewest lanes with which all words of a result leave before the next result.
    fold.out_lanes = b;
    for (const int64_t r : DivisorsOf(b, b)) {
      if (b / r > words) continue;
      fold.out_lanes = r;
      break;
    }
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
    if (stage.kind == StageKind::kConvolution || stage.kind == StageKind::kDepthwise) {
      const WindowLoops loops = LoopsOf(alone_, stage);
      const int64_t depth = stage.kind == StageKind::kConvolution
                                ? loops.groups * loops.passes * loops.words_per_group
                                : loops.words_per_pixel;
      const int64_t elements = stage.kind == StageKind::kConvolution ? fold.elements : int64_t{1};
      weights =
          KindsOf(depth, elements * stage.window.taps() * fold.in_lanes * stage.weight_bits, false);
    }
    for (const MemoryKind row : rows) {
      for (const MemoryKind weight : weights) {
        fold.row_memory = row;
        fold.weight_memory = weight;
        Add(fold);
      }
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
    alone_.channels.back().lanes = fold.out_lanes;
    stage.elements = fold.elements;
    stage.pack = fold.pack;
    stage.window.row_memory = fold.row_memory;
    stage.weight_memory = fold.weight_memory;
  }

  void Add(const LayerFold& fold) {
    SetLanes(fold);
    const Stage& stage = alone_.stages[0];
    const FpgaResources r = ResourcesOf(alone_, stage, config_.ultrascale);
    // The channel behind the stage holds a few words.
    const int64_t lut = r.lut + 20 + alone_.channels.back().word_bits();
    candidates.push_back({.in_lanes = static_cast<int>(fold.in_lanes),
                          .out_lanes = static_cast<int>(fold.out_lanes),
                          .cycles = CyclesPerImage(alone_, stage),
                          .latency = Latency(),
                          .resources = {r.dsp, r.ramb18, r.uram, lut},
                          .tag = static_cast<int>(folds.size())});
    folds.push_back(fold);
  }

  // Cycles from the first word in to the first word out, if words come at the period's pace.
  int64_t Latency() const {
    const Stage& stage = alone_.stages[0];
    const int64_t pipeline = LatencyOf(alone_, stage) + 1;
    const int64_t period = std::max(period_, CyclesPerImage(alone_, stage));
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
  return {config.dsp, 2 * config.bram, config.uram, config.lut};
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

}  // namespace

StatusOr<SolvedNetwork> SolveFold(const Lowered& network, const Config& config,
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

Status DoesNotHold(const Config& config, const std::string& why) {
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
    if (!split.fold.has_value()) return DoesNotHold(config, split.infeasible);
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
    if (!split.fold.has_value()) return DoesNotHold(config, split.infeasible);
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
    if (!folded.result.fold.has_value()) return DoesNotHold(config, folded.result.infeasible);
    folded.interval = folded.result.metrics.l_max;
    folded.proof = Describe(folded.problem.problem, folded.result.certificate);
  }
  for (size_t i = 0; i < network.layers.size(); ++i) {
    const auto choice = static_cast<size_t>(folded.result.fold->choice[i]);
    folded.folds.push_back(folded.problem.folds[i][choice]);
  }
  return folded;
}

}  // namespace kiln::dataflow
