// Fuzz target: passes any text to the readers of computation graphs. Both must reject it with one
// line, or the graph must survive a round trip through JSON and DOT and have a value.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/support/check.h"
#include "kiln/targets/cgra/graph/dot_file.h"
#include "kiln/targets/cgra/graph/evaluate.h"
#include "kiln/targets/cgra/graph/graph_file.h"

namespace {

using namespace kiln::cgra;  // NOLINT: a program of one file

void CheckGraph(const ComputationGraph& graph) {
  const std::string json = PrintGraphJson(graph);
  const auto again = ParseGraphJson(json, "again");
  KILN_CHECK(again.ok() && PrintGraphJson(*again) == json);
  bool short_labels = true;  // DOT limits values
  for (const GraphNode& node : graph.nodes) short_labels = short_labels && node.label.size() < 4096;
  if (short_labels) {
    const auto dot = ParseGraphDot(PrintGraphDot(graph), "again");
    KILN_CHECK(dot.ok() && PrintGraphJson(*dot) == json);
  }
  if (graph.nodes.size() > 64) return;
  const std::vector<Vector> inputs(InputsOf(graph).size(), Vector{1, -2});
  const std::vector<std::vector<Vector>> threads(3, inputs);
  const Evaluation value = Evaluate(graph, threads, {.threads = 3, .lanes = 2});
  KILN_CHECK(value.outputs.size() == 3);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto graph = ParseGraphJson(text, "fuzz"); graph.ok()) CheckGraph(*graph);
  if (const auto graph = ParseGraphDot(text, "fuzz"); graph.ok()) CheckGraph(*graph);
  return 0;
}
