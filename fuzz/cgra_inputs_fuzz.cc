// Fuzz target: passes any text to the reader of inputs of a computation graph, once for integers
// and once for a graph of binary32. The reader must reject it with one line, or every thread must
// have a vector for every input, with which the graph has a value.
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/one_line.h"
#include "kiln/support/budgets.h"
#include "kiln/support/check.h"
#include "kiln/targets/cgra/graph/inputs_file.h"
#include "kiln/targets/cgra/graph/named_graphs.h"

namespace {

using namespace kiln::cgra;  // NOLINT: a program of one file

constexpr int kLanes = 2;

// Returns a graph that adds x and y.
ComputationGraph SumOf(Op op) {
  ComputationGraph graph = *MakeNamedGraph("vector-add");
  for (GraphNode& node : graph.nodes) {
    if (node.op == Op::kAdd) node.op = op;
  }
  return graph;
}

void Check(const ComputationGraph& graph, std::string_view text, int threads) {
  const auto inputs = ParseInputs(text, "fuzz", graph, kLanes, threads);
  if (!inputs.ok()) {
    kiln::CheckOneLine(inputs.status());
    return;
  }
  KILN_CHECK(!inputs->empty() &&
             inputs->size() <= static_cast<size_t>(kiln::budgets::kComputationThreads));
  KILN_CHECK(threads == 0 || inputs->size() == static_cast<size_t>(threads));
  for (const auto& thread : *inputs) {
    KILN_CHECK(thread.size() == 2);
    for (const Vector& vector : thread) KILN_CHECK(vector.size() == kLanes);
  }
  const auto all = static_cast<int>(inputs->size());
  KILN_CHECK(Evaluate(graph, *inputs, {.threads = all, .lanes = kLanes}).outputs.size() ==
             inputs->size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ComputationGraph integers = SumOf(Op::kAdd), reals = SumOf(Op::kFAdd);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const int threads : {0, 2}) {
    Check(integers, text, threads);
    Check(reals, text, threads);
  }
  return 0;
}
