// Tails of networks, after a machine that is made for these tests. tests/targets/conformance has
// the same of every family.
#include "kiln/targets/run/host_tail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kiln/ir/shape_inference.h"
#include "kiln/ir/text.h"
#include "kiln/numerics/format.h"
#include "kiln/support/parallel.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TailProgram final : public Program {
 public:
  std::string Print() const override { return "fake"; }
};

// The machine computes h; the places where it is not zero depend on the data.
constexpr char kNetwork[] = R"(graph "places" {
  input %x : f32[1x3]
  %h = neg %x "minus" : f32[1x3]
  %y = non_zero %h "places" : i64[2x?]
  %column = gather %h, %y {axis=1} "values" : f32[1x2x?]
  output %column
  output %h
  output %x
})";

// Divides by zero where an image's second number is not zero.
constexpr char kDivides[] = R"(graph "divides" {
  input %x : f32[1x3]
  const %one : i64[1] = [1]
  const %table : i64[3] = [1, 0, 2]
  %y = non_zero %x "places" : i64[2x?]
  %divisor = gather %table, %y {axis=0} "divisor" : i64[2x?]
  %q = div %one, %divisor "quotient" : i64[2x?]
  output %q
})";

// All of it is the tail. The input is annotated.
constexpr char kInputAlone[] = R"(graph "input" {
  input %rounded : f32[1x3]
  %y = non_zero %rounded "places" : i64[2x?]
  %column = gather %rounded, %y {axis=1} "values" : f32[1x2x?]
  output %column
})";

struct Compiled {
  Graph head{"none"};
  std::unique_ptr<Program> program;
};

Compiled Compile(const char* network = kNetwork) {
  auto graph = ParseGraph(network, "network.kir");
  EXPECT_TRUE(graph.ok()) << graph.status();
  EXPECT_TRUE(InferShapes(*graph).ok());
  QuantType type = *FindQuantType("int8");
  type.scheme = Scheme::kPerTensor;
  for (const char* name : {"rounded", "column"}) {
    if (Value* value = graph->FindValue(name); value != nullptr) {
      value->set_quantisation(
          Quantisation{.type = type, .axis = -1, .scales = {2}, .zero_points = {0}});
    }
  }
  Compiled compiled;
  auto program =
      CompileWithTail(*graph, {}, [&](const Graph& known) -> StatusOr<std::unique_ptr<Program>> {
        compiled.head = known.Clone();
        return std::make_unique<TailProgram>();
      });
  EXPECT_TRUE(program.ok()) << program.status();
  compiled.program = *std::move(program);
  return compiled;
}

Batch RowsOf(const std::vector<float>& x) {
  const auto images = static_cast<int64_t>(x.size()) / 3;
  return {.inputs = {Tensor::Of<float>({images, 3}, x)}};
}

TEST(HostTail, TheMachineGetsWhatHasAKnownShape) {
  const Compiled compiled = Compile();
  ASSERT_EQ(compiled.head.outputs().size(), 1u);
  EXPECT_EQ(compiled.head.outputs()[0]->name(), "h");
  ASSERT_EQ(compiled.program->kernels().size(), 1u);
  EXPECT_THAT(compiled.program->kernels()[0].source_nodes, ElementsAre("places", "values"));
  EXPECT_EQ(compiled.program->kernels()[0].unit, "host");
}

// Places are rows and columns of the numbers that are not zero. Of h they pick h[0] (by row 0) and
// the number itself; values are stored in steps of 2.
TEST(HostTail, ResultsAreThoseOfTheWholeNetwork) {
  const Compiled compiled = Compile();
  const Batch batch = RowsOf({-5, 0, -3, -7, 0, 3});
  RunResult head;
  head.outputs = head.codes = {Tensor::Of<float>({2, 3}, {5, 0, 3, 7, 0, -3})};
  head.cycles_per_image = {11, 12};
  head.trace.cycles = 11;
  const auto whole = RunTail(*compiled.program, batch, head);
  ASSERT_TRUE(whole.ok()) << whole.status();
  ASSERT_EQ(whole->outputs.size(), 3u);
  // Nearest even steps: 5 is 2.5 steps, 3 is 1.5, 7 is 3.5, -3 is -1.5.
  EXPECT_EQ(whole->outputs[0], Tensor::Of<float>({2, 2, 2}, {4, 4, 4, 4, 8, 8, 8, -4}));
  EXPECT_EQ(whole->codes[0], Tensor::Of<int8_t>({2, 2, 2}, {2, 2, 2, 2, 4, 4, 4, -2}));
  EXPECT_EQ(whole->outputs[1], head.outputs[0]);
  EXPECT_EQ(whole->outputs[2], batch.inputs[0]);
  EXPECT_THAT(whole->cycles_per_image, ElementsAre(11, 12));
  EXPECT_EQ(whole->trace.cycles, 11);
}

// In steps of 2, 0.9 is 0 and so none of the places; 3 is 4.
TEST(HostTail, AnnotatedInputsAreRounded) {
  const Compiled compiled = Compile(kInputAlone);
  const auto whole = RunTail(*compiled.program, RowsOf({0.9f, 3, 0}), {});
  ASSERT_TRUE(whole.ok()) << whole.status();
  ASSERT_EQ(whole->outputs.size(), 1u);
  EXPECT_EQ(whole->outputs[0], Tensor::Of<float>({1, 2, 1}, {0, 4}));
}

TEST(HostTail, TheLowestImageOfAnotherShapeIsNamed) {
  const Compiled compiled = Compile();
  RunResult head;
  head.outputs = head.codes = {Tensor::Of<float>({3, 3}, {1, 0, 3, 1, 2, 3, 0, 0, 3})};
  for (const int threads : {1, 4}) {
    SetThreadCount(threads);
    EXPECT_THAT(
        MessageOf(RunTail(*compiled.program, RowsOf({1, 0, 3, 1, 2, 3, 0, 0, 3}), head).status()),
        HasSubstr("image 1, output 'column': is 1x2x3, and 1x2x2 for image 0"));
  }
  SetThreadCount(0);
}

TEST(HostTail, TheErrorIsThatOfTheLowestImage) {
  const Compiled compiled = Compile(kDivides);
  std::vector<float> x;
  for (int image = 0; image < 40; ++image) {
    const float second = image >= 7 && image % 2 == 1 ? 1 : 0;
    x.insert(x.end(), {1, second, 1});
  }
  for (const int threads : {1, 4}) {
    SetThreadCount(threads);
    const auto result = RunTail(*compiled.program, RowsOf(x), {});
    EXPECT_THAT(MessageOf(result.status()), testing::StartsWith("image 7: node 'quotient'"));
  }
  SetThreadCount(0);
}

TEST(HostTail, WithoutImagesTheResultIsTheMachines) {
  const Compiled compiled = Compile();
  RunResult head;
  head.outputs = head.codes = {Tensor(ElementType::kFloat32, {0, 3})};
  const auto whole = RunTail(*compiled.program, RowsOf({}), head);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(whole->outputs, head.outputs);
  EXPECT_EQ(whole->codes, head.codes);
}

TEST(HostTail, WithoutATailTheResultIsTheMachines) {
  RunResult head;
  head.outputs = head.codes = {Tensor::Of<float>({1}, {3})};
  const auto whole = RunTail(TailProgram(), {}, head);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(whole->outputs, head.outputs);
}

}  // namespace
}  // namespace kiln
