// The steps of the compiler, in order.

#include "kiln/targets/dataflow/compile/compile.h"

#include <algorithm>
#include <map>
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
// converters. Where the machine with exact queues exceeds the device, the excess is reserved and
// the network folded again.
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

// Returns by how much the segments of a device or of a pass exceed the device: of each resource,
// the greatest amount.
Resources ExcessOf(const std::vector<Segment>& segments, const Config& config) {
  std::map<int, FpgaResources> sums;  // by part
  for (const Segment& segment : segments)
    sums[segment.part] += ResourcesOf(segment.pipeline, config.ultrascale);
  const Resources limits = LimitsOf(config);
  Resources excess{};
  for (const auto& [part, sum] : sums) {
    const Resources used = {sum.dsp, sum.ramb18, sum.uram, sum.lut, 0};
    for (size_t k = 0; k < kResourceKinds; ++k)
      excess[k] = std::max(excess[k], used[k] - limits[k]);
  }
  return excess;
}

StatusOr<std::unique_ptr<Program>> CompileAt(const Graph& network, const Config& config,
                                             const CompileOptions& options) {
  Resources reserved{};
  KILN_ASSIGN_OR_RETURN(Lowered lowered, Lower(network, config, options));
  FoldedNetwork folded;
  std::vector<Segment> segments;
  for (int round = 0;; ++round) {
    KILN_ASSIGN_OR_RETURN(folded, FoldNetwork(lowered, config, reserved));
    if (!folded.parts.empty()) CutNetwork(folded.parts, &lowered);
    KILN_ASSIGN_OR_RETURN(segments, BuildSegments(lowered, folded.folds, config));
    const Resources excess = ExcessOf(segments, config);
    const auto over = std::ranges::find_if(excess, [](int64_t amount) { return amount > 0; });
    if (over == excess.end()) break;
    const auto kind = static_cast<size_t>(over - excess.begin());
    if (round + 1 == kMostRounds) {
      return ErrorAt(
          "", fmt::format("device '{}'", config.name),
          fmt::format("does not hold the queues between the layers: {} more {} are "
                      "needed than the device has, {}",
                      excess[kind], ResourceName(static_cast<int>(kind)), LimitsOf(config)[kind]),
          "a larger device, or a lower target_fps");
    }
    AddTo(reserved, excess);
    if (!folded.parts.empty()) {  // the segments are those of this cut
      KILN_ASSIGN_OR_RETURN(lowered, Lower(network, config, options));
    }
  }
  FoldReport report;
  if (folded.result.fold.has_value()) {
    report.interval = folded.interval;
    report.idle = folded.result.metrics.l_sum;
    report.optimal = folded.result.certificate.optimal;
    report.proof = folded.proof;
  }
  return std::make_unique<DataflowProgram>(config, std::move(lowered), std::move(folded.folds),
                                           std::move(segments), std::move(report));
}

}  // namespace

StatusOr<std::unique_ptr<Program>> CompileNetwork(const Graph& network, const Config& config,
                                                  const CompileOptions& options) {
  StatusOr<std::unique_ptr<Program>> program = CompileAt(network, config, options);
  if (program.ok() || !config.channel_padding) return program;
  // What is reserved for the queues of one fold can exclude all others. The folds without dropped
  // channels are a subset with other queues.
  Config plain = config;
  plain.channel_padding = false;
  StatusOr<std::unique_ptr<Program>> without = CompileAt(network, plain, options);
  return without.ok() ? std::move(without) : std::move(program);
}

}  // namespace kiln::dataflow
