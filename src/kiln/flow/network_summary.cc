// Sums the counts of ir/work.h over a graph.
#include "kiln/flow/network_summary.h"

#include <fmt/format.h>

#include "kiln/ir/work.h"
#include "kiln/passes/rewrite.h"

namespace kiln {

NetworkSummary Summarise(const Graph& graph) {
  NetworkSummary summary;
  for (const auto& node : graph.nodes()) {
    ++summary.nodes;
    NetworkSummary::OfOperator& row = summary.operators[std::string(node->info().onnx_name)];
    ++row.nodes;
    const int64_t macs = MacsOf(*node);
    if (macs == 0 && !node->info().Has(kMacs)) continue;
    row.macs += macs;
    summary.macs += macs;
    if (!HasKnownShape(node->result()) || !HasKnownShape(node->operand(0)))
      summary.macs_known = false;
  }
  summary.parameters = ParametersOf(graph);
  summary.parameter_bytes = ParameterBytesOf(graph);
  return summary;
}

std::string DescribeValues(const std::vector<Value*>& values) {
  std::string out;
  for (const Value* value : values) {
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", value->name(),
                       value->has_shape() ? value->shape().ToString() : "of unknown shape");
  }
  return out;
}

}  // namespace kiln
