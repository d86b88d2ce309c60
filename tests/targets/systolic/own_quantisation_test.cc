// Networks that bring their own quantisation, on the array: the codes they mean, and nothing on the
// host.
#include <cmath>
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kiln/execute/reference.h"
#include "kiln/frontend/data_convert.h"
#include "kiln/frontend/data_set.h"
#include "kiln/frontend/model.h"
#include "kiln/ir/random_graph.h"
#include "kiln/ir/random_quantised_graph.h"
#include "kiln/ir/text.h"
#include "kiln/passes/pipeline.h"
#include "kiln/quantise/accuracy.h"
#include "kiln/quantise/simulate.h"
#include "kiln/targets/systolic/simulate/cycle/cycle.h"
#include "kiln/targets/systolic/simulate/functional/functional.h"
#include "tests/targets/systolic/compiled.h"
#include "tests/targets/systolic/fp32_machine.h"
#include "tests/test_data.h"

namespace kiln::systolic {
namespace {

using testing::HasSubstr;
using testing::Not;

Graph Annotated(const Graph& graph) {
  Graph annotated = graph.Clone();
  PassContext context;
  for (const auto& pipeline : {StandardPipeline(), AnnotationPipeline(), LayoutPipeline()}) {
    const Status status = RunPasses(annotated, pipeline, context);
    EXPECT_TRUE(status.ok()) << status;
  }
  return annotated;
}

std::vector<float> ReferenceOf(const Graph& graph, const std::vector<Tensor>& inputs) {
  const auto executor = ReferenceExecutor::Create(graph);
  EXPECT_TRUE(executor.ok()) << executor.status();
  const auto outputs = (*executor)->Run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return (*outputs)[0].ToFloats();
}

// The outputs of the functional level; the cycle level gives the same codes.
std::vector<float> OnTheArray(const Graph& annotated, const std::vector<Tensor>& inputs) {
  const auto program = CompileFor(annotated, SquareConfig(8, Fp32Machine()));
  EXPECT_TRUE(program.ok()) << program.status();
  EXPECT_THAT(KernelList(**program), Not(HasSubstr("host"))) << PrintGraph(annotated);
  const auto result = RunFunctional(**program, Batch{inputs}, RunOptions{});
  EXPECT_TRUE(result.ok()) << result.status();
  const auto cycle = RunCycle(**program, Batch{inputs}, RunOptions{});
  EXPECT_TRUE(cycle.ok()) << cycle.status();
  EXPECT_TRUE(result->codes == cycle->codes);
  return result->outputs[0].ToFloats();
}

class SystolicOwnQuantisation : public testing::TestWithParam<QuantisedStyle> {};

// Scales of powers of two: nothing rounds but the quantisers, and the array gives the reference
// level's very values.
TEST_P(SystolicOwnQuantisation, PowersOfTwoAreExact) {
  for (uint64_t seed = 0; seed < 25; ++seed) {
    const Graph graph = RandomQuantisedGraph(seed, {.style = GetParam(), .powers_of_two = true});
    const std::vector<Tensor> inputs = RandomInputs(graph, seed);
    const Graph annotated = Annotated(graph);
    ASSERT_EQ(OnTheArray(annotated, inputs), ReferenceOf(graph, inputs)) << "seed " << seed << "\n"
                                                                         << PrintGraph(annotated);
    if (HasFailure()) return;
  }
}

// Any scales: a quotient by a scale is a product with its inverse here, and sums of products are
// scaled once, so that a value next to a rounding boundary may fall on its other side. That is one
// code where one layer makes it.
TEST_P(SystolicOwnQuantisation, OneLayerIsWithinOneCode) {
  int64_t elements = 0, different = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Graph graph = RandomQuantisedGraph(seed, {.style = GetParam(), .stages = 0});
    const Graph annotated = Annotated(graph);
    const auto& q = annotated.outputs()[0]->quantisation();
    if (!q.has_value()) continue;
    const std::vector<Tensor> inputs = RandomInputs(graph, seed);
    const StatusOr<Graph> simulated = SimulateQuantisation(annotated);
    ASSERT_TRUE(simulated.ok()) << simulated.status();
    const std::vector<float> own = ReferenceOf(graph, inputs),
                             simulation = ReferenceOf(*simulated, inputs),
                             array = OnTheArray(annotated, inputs);
    for (size_t i = 0; i < own.size(); ++i, ++elements) {
      EXPECT_LE(std::abs(std::round((array[i] - simulation[i]) / q->scales[0])), 1)
          << "seed " << seed;
      EXPECT_LE(std::abs(std::round((simulation[i] - own[i]) / q->scales[0])), 1)
          << "seed " << seed;
      different += array[i] != own[i] ? 1 : 0;
    }
  }
  EXPECT_GE(elements, 50);
  EXPECT_LE(different, elements / 50);  // such values are rare
}

INSTANTIATE_TEST_SUITE_P(Styles, SystolicOwnQuantisation,
                         testing::Values(QuantisedStyle::kQdq, QuantisedStyle::kQOperator,
                                         QuantisedStyle::kQonnx),
                         [](const auto& info) {
                           return info.param == QuantisedStyle::kQdq         ? "qdq"
                                  : info.param == QuantisedStyle::kQOperator ? "qoperator"
                                                                             : "qonnx";
                         });

// Runs the 2-bit network on images of MNIST. Every scale is 1, so that reference level, simulation
// and array agree in every bit.
void ExpectTwoBitNetwork(const std::filesystem::path& data, int64_t correct, int64_t count) {
  auto graph = LoadModel(TestData("models/tfc_2w2a_mnist_qonnx.onnx"));
  ASSERT_TRUE(graph.ok()) << graph.status();
  PassContext context;  // which turn its divisions by constants into products
  ASSERT_TRUE(RunPasses(*graph, StandardPipeline(), context).ok());
  const auto set = LoadDataSet(data);
  ASSERT_TRUE(set.ok()) << set.status();
  const auto preprocess = ParsePreprocess("scale=1/255", "", "");
  ASSERT_TRUE(preprocess.ok());
  const auto converter =
      ImageConverter::Create(&*set, *preprocess, *graph->inputs()[0], graph->source());
  ASSERT_TRUE(converter.ok()) << converter.status();
  const Tensor images = *converter->MakeBatch(0, set->size());

  const Graph annotated = Annotated(*graph);
  const auto simulated = SimulateQuantisation(annotated);
  ASSERT_TRUE(simulated.ok()) << simulated.status();
  const auto program =
      CompileFor(annotated, SquareConfig(16, Fp32Machine()), /*host_fallback=*/false);
  ASSERT_TRUE(program.ok()) << program.status();
  const auto array = RunFunctional(**program, Batch{{images}}, RunOptions{});
  ASSERT_TRUE(array.ok()) << array.status();
  for (const Graph* exact : std::initializer_list<const Graph*>{&*graph, &*simulated}) {
    const auto executor = ReferenceExecutor::Create(*exact);
    ASSERT_TRUE(executor.ok()) << executor.status();
    const auto outputs = (*executor)->RunBatch(std::span(&images, 1));
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_TRUE((*outputs)[0] == array->outputs[0]);
  }
  const auto accuracy = TopK(array->outputs[0], set->labels());
  ASSERT_TRUE(accuracy.ok()) << accuracy.status();
  EXPECT_EQ(accuracy->images, count);
  EXPECT_EQ(accuracy->correct, correct);
}

// 259 of the 264: what the reference outputs in tests/data/mnist say.
TEST(SystolicOwnQuantisation, TheTwoBitNetworkIsExact) {
  ExpectTwoBitNetwork(TestData("mnist/t264-images-idx3-ubyte"), 259, 264);
}

// The published 96.60 % of MNIST's test set.
TEST(SystolicOwnQuantisation, TheTwoBitNetworkHasItsPublishedAccuracy) {
  const std::filesystem::path shared = SharedFolder();
  if (shared.empty()) GTEST_SKIP() << "needs KILN_SHARED";
  ExpectTwoBitNetwork(shared / "data" / "mnist_t10k-images-idx3-ubyte", 9660, 10000);
}

}  // namespace
}  // namespace kiln::systolic
