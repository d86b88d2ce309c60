// The steps of the compiler, in order.

#include "kiln/targets/dataflow/compile/compile.h"

#include <utility>

#include "kiln/targets/dataflow/compile/channels.h"
#include "kiln/targets/dataflow/compile/fold_network.h"
#include "kiln/targets/dataflow/compile/lower.h"

namespace kiln::dataflow {

StatusOr<std::unique_ptr<Program>> CompileNetwork(const Graph& network, const Config& config,
                                                  const CompileOptions& options) {
  KILN_ASSIGN_OR_RETURN(Lowered lowered, Lower(network, config, options));
  KILN_ASSIGN_OR_RETURN(FoldedNetwork folded, FoldNetwork(lowered, config));
  std::vector<Segment> segments;
  for (int i = 0; i < lowered.segments; ++i) {
    Segment segment;
    segment.pipeline = Assemble(lowered, i, folded.folds);
    KILN_RETURN_IF_ERROR(CheckPipeline(segment.pipeline));
    KILN_ASSIGN_OR_RETURN(
        segment.pace, SetDepths({.most_bits = config.channel_bits, .has_ultra = config.uram > 0},
                                &segment.pipeline));
    segments.push_back(std::move(segment));
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
