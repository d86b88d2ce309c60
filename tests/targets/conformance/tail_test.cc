// Networks with shapes that depend on the data: the machine runs what has known shapes, the host
// the rest, alike in every family. Expected boxes are those of the definition of NonMaxSuppression,
// by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kiln/ir/shape_inference.h"
#include "kiln/ir/text.h"
#include "kiln/numerics/format.h"
#include "kiln/targets/registry.h"
#include "tests/targets/conformance/conformance.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Scores are twice the logits; the boxes that are left come with the scores of all.
constexpr char kDetector[] = R"(graph "detector" {
  input %boxes : f32[1x3x4]
  input %logits : f32[1x1x3]
  const %most : i64[1] = [3]
  const %overlap : f32[1] = [0.5]
  const %least : f32[1] = [0]
  const %column : i64[] = [2]
  %scores = add %logits, %logits "double" : f32[1x1x3]
  %picked = non_max_suppression %boxes, %scores, %most, %overlap, %least "nms" : i64[?x3]
  %which = gather %picked, %column {axis=1} "which" : i64[?]
  %kept = gather %boxes, %which {axis=1} "kept" : f32[1x?x4]
  output %kept
  output %scores
})";

Graph Detector() {
  auto graph = ParseGraph(kDetector, "detector.kir");
  EXPECT_TRUE(graph.ok()) << graph.status();
  QuantType type = *FindQuantType("int8");
  type.scheme = Scheme::kPerTensor;
  const Quantisation q{.type = type, .axis = -1, .scales = {0.0625f}, .zero_points = {0}};
  for (const char* name : {"logits", "scores", "kept"}) graph->FindValue(name)->set_quantisation(q);
  EXPECT_TRUE(InferShapes(*graph).ok());
  return std::move(graph).value();
}

// Boxes 0 and 1 overlap by 0.75 / 1.25; box 2 is apart. Coordinates are multiples of the step but
// one.
const std::vector<float> kBoxes = {0, 0, 1, 1, 0, 0.25f, 1, 1.25f, 5, 5, 6.03f, 6};
// Logits from which box 1 is left of the first two, and those of which only one passes the least
// score.
const std::vector<float> kTwoLeft = {0.25f, 0.5f, 0.375f}, kOneLeft = {-1, 0.5f, -1};

Tensor Times(Shape shape, std::vector<float> values, int64_t images) {
  std::vector<float> all;
  for (int64_t i = 0; i < images; ++i) all.insert(all.end(), values.begin(), values.end());
  return Tensor::Of<float>(std::move(shape), all);
}

TEST(HostTail, RunsBehindTheMachineInEveryFamily) {
  const Graph graph = Detector();
  const std::vector<std::string> paths = conformance::SomeDesignPoints();
  size_t on_machine = 0;
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    const auto machine = LoadAccelerator(path);
    ASSERT_TRUE(machine.ok()) << machine.status();
    const auto program = (*machine)->Compile(graph, {});
    ASSERT_TRUE(program.ok()) << program.status();
    const KernelInfo& last = (*program)->kernels().back();
    EXPECT_THAT(last.source_nodes, ElementsAre("nms", "which", "kept"));
    EXPECT_THAT(last.host_reason, HasSubstr("'nms'"));
    EXPECT_THAT(last.host_reason, HasSubstr("depends on the data"));
    on_machine += (*program)->kernels().front().on_host() ? 0 : 1;
    for (const Level level : {Level::kFunctional, Level::kCycle}) {
      RunOptions options;
      options.level = level;
      for (const int64_t images : {1, 3}) {
        const auto result = (*machine)->Run(**program,
                                            {.inputs = {Times({images, 3, 4}, kBoxes, images),
                                                        Times({images, 1, 3}, kTwoLeft, images)}},
                                            options);
        ASSERT_TRUE(result.ok()) << result.status();
        ASSERT_EQ(result->outputs.size(), 2u);
        // 6.03 becomes 6, by 96 steps of a sixteenth.
        EXPECT_EQ(result->outputs[0],
                  Times({images, 2, 4}, {0, 0.25f, 1, 1.25f, 5, 5, 6, 6}, images));
        EXPECT_EQ(result->codes[0].type(), ElementType::kInt8);
        EXPECT_EQ(result->codes[0].IntAt(6), 96);
        EXPECT_EQ(result->outputs[1], Times({images, 1, 3}, {0.5f, 1, 0.75f}, images));
        EXPECT_EQ(result->codes[1].IntAt(1), 16);
        EXPECT_EQ(result->cycles_per_image.empty(), level == Level::kFunctional);
      }
    }
  }
  // A machine without sums of two values leaves the first kernel to the host, too.
  EXPECT_GE(on_machine, paths.size() - 2);
}

TEST(HostTail, ImagesOfOtherShapesAreNamed) {
  const Graph graph = Detector();
  std::vector<float> logits = kTwoLeft;
  logits.insert(logits.end(), kOneLeft.begin(), kOneLeft.end());
  for (const std::string& path : conformance::SomeDesignPoints()) {
    SCOPED_TRACE(path);
    const auto machine = LoadAccelerator(path);
    const auto program = (*machine)->Compile(graph, {});
    ASSERT_TRUE(program.ok()) << program.status();
    const auto result = (*machine)->Run(
        **program, {.inputs = {Times({2, 3, 4}, kBoxes, 2), Tensor::Of<float>({2, 1, 3}, logits)}},
        {});
    EXPECT_THAT(MessageOf(result.status()),
                HasSubstr("image 1, output 'kept': is 1x1x4, and 1x2x4 for image 0"));
    const auto strict = (*machine)->Compile(graph, {.host_fallback = false});
    EXPECT_EQ(strict.status().code(), StatusCode::kUnimplemented);
    EXPECT_THAT(MessageOf(strict.status()), HasSubstr("'nms'"));
  }
}

}  // namespace
}  // namespace kiln
