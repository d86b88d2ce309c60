// Signs as layers of their own and behind sums, at all levels.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/ir/text.h"
#include "kiln/passes/pipeline.h"
#include "kiln/targets/vta/accelerator.h"
#include "tests/targets/lower/sign_network.h"
#include "tests/targets/vta/compiled.h"

namespace kiln::vta {
namespace {

using First = SignNetwork::First;

TEST(CompilerSign, AfterConvolutionsAndBeforeADenseLayer) {
  ExpectPlainSigns(VtaAccelerator(PynqConfig()), First::kConvolution, "");
}

TEST(CompilerSign, ByItself) {
  ExpectPlainSigns(VtaAccelerator(PynqConfig()), First::kSignOfCodes, "");
}

TEST(CompilerSign, OnlyTheSignOfNumbersThatAreNotCodesIsOnTheHost) {
  ExpectPlainSigns(VtaAccelerator(PynqConfig()), First::kSignOfNumbers,
                   "sign0: 'x' is not quantised\n");
}

TEST(CompilerSign, FollowsTheRoundingsOfTheNetwork) {
  ExpectSignsOfRoundedSums(VtaAccelerator(PynqConfig()));
}

// One and two virtual threads compute the same, and the linter finds nothing.
TEST(CompilerSign, WithAnyNumberOfThreads) {
  const SignNetwork network(First::kSignOfCodes, 4);
  const Graph graph = network.ForAccelerators();
  const Batch images = {{network.Images(2, 5)}};
  const auto one = CompileFor(graph, PynqConfig(), 1), two = CompileFor(graph, PynqConfig(), 2);
  ASSERT_TRUE(one != nullptr && two != nullptr);
  EXPECT_EQ(FindingsOf(*one), "");
  EXPECT_EQ(FindingsOf(*two), "");
  EXPECT_EQ(CodesOf(*one, images), CodesOf(*two, images));
  EXPECT_EQ(CodesOf(*two, images, Level::kCycle), CodesOf(*two, images));
}

// Sums beyond 2^29 leave no room for the difference from the threshold.
TEST(CompilerSign, OfSumsThatAreTooLargeIsOnTheHost) {
  constexpr int kInputs = 1 << 15;
  std::vector<int> weights(kInputs, 127);
  const auto graph = ParseGraph(
      fmt::format("graph \"net\" {{ input %x : f32[1x{0}] quant int8 per_tensor scale=[1]\n"
                  "const %w : f32[{0}x1] quant int8 per_tensor symmetric scale=[1] = [{1}]\n"
                  "const %one : f32[] = [1]\n"
                  "%p = matmul %x, %w \"product\"\n%y = bipolar_quant %p, %one \"sign\"\n"
                  "output %y }}",
                  kInputs, fmt::join(weights, ", ")),
      "net.kir");
  ASSERT_TRUE(graph.ok()) << graph.status();
  Graph annotated = graph->Clone();
  PassContext context;
  for (const auto& pipeline : {StandardPipeline(), AnnotationPipeline(), LayoutPipeline()})
    ASSERT_EQ(RunPasses(annotated, pipeline, context), OkStatus());
  const auto program = VtaAccelerator(PynqConfig()).Compile(annotated, {});
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(OnHost(**program),
            "product: the sums whose sign it computes do not fit the accumulators of 32 bits\n");
}

}  // namespace
}  // namespace kiln::vta
