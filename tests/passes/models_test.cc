// Tests of the pipelines on trained networks: outputs are unchanged, and only unavoidable
// transposes remain.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "kiln/frontend/onnx.h"
#include "kiln/passes/pipeline.h"
#include "tests/passes/pass_testing.h"
#include "tests/shared_folder.h"
#include "tests/test_data.h"

namespace kiln {
namespace {

int Count(const Graph& graph, Op op) {
  return static_cast<int>(std::count_if(graph.nodes().begin(), graph.nodes().end(),
                                        [&](const auto& node) { return node->op() == op; }));
}

struct ModelCase {
  const char* model;
  int nodes;       // after both pipelines
  int transposes;  // among them
};

class Models : public testing::TestWithParam<ModelCase> {};

TEST_P(Models, GoThroughThePipelines) {
  const std::string file = std::string(GetParam().model) + ".onnx";
  auto path = TestData("models") / file;
  if (!std::filesystem::exists(path)) {
    if (SharedFolder().empty()) GTEST_SKIP() << "needs KILN_SHARED";
    path = SharedFolder() / "models" / file;
  }
  StatusOr<Graph> graph = ImportOnnx(path);
  ASSERT_TRUE(graph.ok()) << MessageOf(graph.status());
  const Graph original = graph->Clone();
  PassContext context;
  ASSERT_TRUE(RunPasses(*graph, StandardPipeline(), context).ok());
  ExpectSameOutputs(original, *graph, 1);
  EXPECT_EQ(Count(*graph, Op::kBatchNormalization), 0);
  const Status layout = RunPasses(*graph, LayoutPipeline(), context);
  ASSERT_TRUE(layout.ok()) << MessageOf(layout);
  ExpectSameOutputs(original, *graph, 2);
  EXPECT_EQ(graph->num_nodes(), GetParam().nodes) << Describe(*graph);
  EXPECT_EQ(Count(*graph, Op::kTranspose), GetParam().transposes) << Describe(*graph);

  // Nothing is left for a second round.
  PassContext again;
  ASSERT_TRUE(RunPasses(*graph, LayoutPipeline(), again).ok());
  for (const PassRun& run : again.log) EXPECT_EQ(run.changed, Changed::kNo) << run.pass;
}

INSTANTIATE_TEST_SUITE_P(Trained, Models,
                         testing::Values(ModelCase{"resnet20_cifar10", 58, 1},
                                         ModelCase{"resnet8_cifar10_mlperftiny", 25, 1},
                                         ModelCase{"dscnn_kws_mlperftiny", 24, 0},
                                         ModelCase{"mnist-8", 10, 0}, ModelCase{"vit_mnist", 30, 1},
                                         ModelCase{"tfc_2w2a_mnist_qonnx", 25, 0},
                                         ModelCase{"super_resolution_espcn3x", 12, 2},
                                         ModelCase{"ultraface_rfb320", 118, 1},
                                         ModelCase{"ultraface_rfb320_simplified", 103, 1}),
                         [](const auto& info) {
                           std::string name(info.param.model);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace kiln
