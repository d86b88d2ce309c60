// The steps of the compiler, in order.

#include "kiln/targets/dataflow/compile/compile.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "kiln/targets/dataflow/compile/channels.h"
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
  for (int i = 0; i < network.segments; ++i) {
    Segment segment;
    segment.pipeline = Assemble(network, i, folds);
    KILN_RETURN_IF_ERROR(CheckPipeline(segment.pipeline));
    KILN_ASSIGN_OR_RETURN(
        segment.pace, SetDepths({.most_bits = config.channel_bits, .has_ultra = config.uram > 0},
                                &segment.pipeline));
    segments.push_back(std::move(segment));
  }
  return segments;
}

// Returns by how much the segments together exceed the device.
Resources ExcessOf(const std::vector<Segment>& segments, const Config& config) {
  FpgaResources sum;
  for (const Segment& segment : segments) sum += ResourcesOf(segment.pipeline, config.ultrascale);
  const Resources used = {sum.dsp, sum.ramb18, sum.uram, sum.lut};
  const Resources limits = LimitsOf(config);
  Resources excess{};
  for (size_t k = 0; k < kResourceKinds; ++k) excess[k] = std::max<int64_t>(0, used[k] - limits[k]);
  return excess;
}

}  // namespace

StatusOr<std::unique_ptr<Program>> CompileNetwork(const Graph& network, const Config& config,
                                                  const CompileOptions& options) {
  KILN_ASSIGN_OR_RETURN(Lowered lowered, Lower(network, config, options));
  Resources reserved{};
  FoldedNetwork folded;
  std::vector<Segment> segments;
  for (int round = 0;; ++round) {
    KILN_ASSIGN_OR_RETURN(folded, FoldNetwork(lowered, config, reserved));
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
  }
  FoldReport report;
  if (folded.result.fold.has_value()) {
    report.l_max = folded.result.metrics.l_max;
    report.l_sum = folded.result.metrics.l_sum;
    report.optimal = folded.result.certificate.optimal;
    report.proof = Describe(folded.problem.problem, folded.result.certificate);
  }
  return std::make_unique<DataflowProgram>(config, std::move(lowered), std::move(folded.folds),
                                           std::move(segments), std::move(report));
}

}  // namespace kiln::dataflow
