// Checks that annotated graphs survive ONNX export and import: every parameter and every code is
// unchanged.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kiln/frontend/onnx.h"
#include "kiln/ir/random_quantised_graph.h"
#include "kiln/ir/text.h"
#include "kiln/passes/pipeline.h"

namespace kiln {
namespace {

void Annotate(Graph& graph) {
  PassContext context;
  for (const auto& pipeline : {StandardPipeline(), AnnotationPipeline()}) {
    const Status status = RunPasses(graph, pipeline, context);
    ASSERT_TRUE(status.ok()) << MessageOf(status);
  }
}

// One line an annotated value, sorted: names and order are the exporter's affair.
std::vector<std::string> AnnotationsOf(const Graph& graph) {
  std::vector<std::string> lines;
  for (const Value* value : graph.Values()) {
    if (!value->quantisation().has_value()) continue;
    const Quantisation& q = *value->quantisation();
    std::string line = fmt::format("{} {} {} axis {}", q.type.format.name, NameOf(q.type.scheme),
                                   q.type.symmetric ? "symmetric" : "", q.axis);
    for (size_t i = 0; i < q.scales.size(); ++i)
      line += fmt::format(" {:a}/{}", q.scales[i], q.zero_points[i]);
    if (value->is_constant()) {
      for (const float x : value->constant().ToFloats()) line += fmt::format(" {:a}", x);
    }
    lines.push_back(std::move(line));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

void ExpectRoundTrip(QuantisedStyle style, Quantisers quantisers) {
  size_t annotations = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Graph graph = RandomQuantisedGraph(seed, {.style = style});
    Annotate(graph);
    const auto bytes = ExportOnnxBytes(graph, {.quantisers = quantisers});
    ASSERT_TRUE(bytes.ok()) << MessageOf(bytes.status());
    auto again = ImportOnnxBytes(*bytes, "again.onnx", "");
    ASSERT_TRUE(again.ok()) << MessageOf(again.status());
    Annotate(*again);
    ASSERT_EQ(AnnotationsOf(*again), AnnotationsOf(graph))
        << "seed " << seed << "\n"
        << PrintGraph(graph) << PrintGraph(*again);
    EXPECT_EQ(again->num_nodes(), graph.num_nodes()) << PrintGraph(*again);
    annotations += AnnotationsOf(graph).size();
  }
  EXPECT_GE(annotations, 200u);
}

TEST(OnnxRoundTrip, QdqKeepsByteFormats) {
  ExpectRoundTrip(QuantisedStyle::kQdq, Quantisers::kQdq);
}
TEST(OnnxRoundTrip, QdqKeepsWhatWasQOperator) {
  ExpectRoundTrip(QuantisedStyle::kQOperator, Quantisers::kQdq);
}
TEST(OnnxRoundTrip, QonnxKeepsEveryWidth) {
  ExpectRoundTrip(QuantisedStyle::kQonnx, Quantisers::kQonnx);
}
TEST(OnnxRoundTrip, QonnxKeepsWhatWasQdq) {
  ExpectRoundTrip(QuantisedStyle::kQdq, Quantisers::kQonnx);
}

}  // namespace
}  // namespace kiln
