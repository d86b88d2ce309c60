#include "kiln/targets/systolic/simulate/binding.h"

#include <limits>
#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kiln/targets/systolic/simulate/run_steps.h"

namespace kiln::systolic {
namespace {

Binding Codes(Shape shape, std::vector<int64_t> strides) {
  Binding b;
  b.name = "x";
  b.shape = std::move(shape);
  b.strides = std::move(strides);
  b.encoding.element = Element::kInt8;
  b.encoding.bytes = 1;
  b.encoding.scale = 0.5f;
  b.encoding.zero_point = 3;
  b.encoding.low = -128;
  b.encoding.high = 127;
  return b;
}

TEST(SystolicBinding, ValuesBecomeTheNearestCodesAtTheirPlaces) {
  Binding b = Codes({1, 2, 3}, {6, 1, 2});  // transposed in memory
  b.base = 4;
  std::vector<uint8_t> memory(12, 0x55);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  ASSERT_TRUE(
      Store(Tensor::Of<float>({1, 2, 3}, {0.0f, 0.25f, 0.75f, -1.0f, 1000.0f, nan}), b, memory)
          .ok());
  // 0 -> 3; 0.25 / 0.5 = 0.5 -> 0 + 3; 0.75 / 0.5 = 1.5 -> 2 + 3; -1 -> 1; saturated; NaN -> the
  // zero point.
  EXPECT_EQ(memory, (std::vector<uint8_t>{0x55, 0x55, 0x55, 0x55, 3, 1, 3, 127, 5, 3, 0x55, 0x55}));
  const Tensor values = Load(b, memory);
  EXPECT_EQ(values, Tensor::Of<float>({1, 2, 3}, {0.0f, 0.0f, 1.0f, -1.0f, 62.0f, 0.0f}));
  EXPECT_EQ(LoadCodes(b, memory), Tensor::Of<int8_t>({1, 2, 3}, {3, 3, 5, 1, 127, 3}));
}

TEST(SystolicBinding, IntegersAndOtherFloatsAreHeldWithoutScale) {
  Binding b;
  b.name = "index";
  b.encoding.type = ElementType::kInt64;
  b.encoding.element = Element::kInt32;
  b.shape = {2};
  b.strides = {4};
  std::vector<uint8_t> memory(8);
  const Tensor indices = Tensor::Of<int64_t>({2}, {-7, 70000});
  ASSERT_TRUE(Store(indices, b, memory).ok());
  EXPECT_EQ(Load(b, memory), indices);
  EXPECT_EQ(MessageOf(Store(Tensor::Of<int64_t>({2}, {0, int64_t{1} << 40}), b, memory)),
            "'index': element 1 is 1099511627776; integers of 32 bits fit the machine's memory");
  b.encoding.type = ElementType::kFloat64;
  b.encoding.element = Element::kFloat32;
  ASSERT_TRUE(Store(Tensor::Of<double>({2}, {0.5, -3.0}), b, memory).ok());
  EXPECT_EQ(Load(b, memory), Tensor::Of<double>({2}, {0.5, -3.0}));
}

TEST(SystolicBinding, AnotherShapeOrTypeIsAnError) {
  const Binding b = Codes({1, 2}, {2, 1});
  std::vector<uint8_t> memory(2);
  EXPECT_EQ(MessageOf(Store(Tensor::Of<float>({2, 1}, {1, 2}), b, memory)),
            "'x': is f32 2x1; the program takes f32 1x2");
  EXPECT_EQ(MessageOf(Store(Tensor::Of<int32_t>({1, 2}, {1, 2}), b, memory)),
            "'x': is i32 1x2; the program takes f32 1x2");
}

// Values in a format that no unit writes are held in fp32. Blocks of two share a scale of 0.5 or 4
// that the annotation states.
TEST(SystolicBinding, AForeignAnnotationsOwnScalesCount) {
  Quantisation q;
  q.type = *FindQuantType("int8");
  q.type.scheme = Scheme::kPerBlock;
  q.type.block_size = 2;
  q.axis = 1;
  q.scales = {0.5f, 4};
  q.zero_points = {0, 0};
  Binding b;
  b.name = "x";
  b.shape = {1, 4};
  b.strides = {16, 4};
  b.encoding.element = Element::kFloat32;
  b.encoding.bytes = 4;
  b.encoding.foreign = std::make_shared<const Quantisation>(q);
  std::vector<uint8_t> memory(16);
  ASSERT_TRUE(Store(Tensor::Of<float>({1, 4}, {1.3f, 0.6f, 9, 3}), b, memory).ok());
  // 2.6 and 1.2 steps of 0.5; 2.25 and 0.75 steps of 4.
  EXPECT_EQ(Load(b, memory), Tensor::Of<float>({1, 4}, {1.5f, 0.5f, 8, 4}));
}

TEST(SystolicHost, AStepReadsComputesAndWrites) {
  Graph graph("host");
  Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, 2}});
  Node* node = graph.AddNode(Op::kNeg, "minus", {x}, {"y"});
  graph.MarkOutput(node->result());
  HostStep step;
  step.graph = std::make_shared<const Graph>(std::move(graph));
  step.inputs = {Codes({1, 2}, {2, 1})};
  step.outputs = {Codes({1, 2}, {2, 1})};
  step.outputs[0].base = 2;
  std::vector<uint8_t> memory = {5, 3, 0, 0};  // 1.0, 0.0
  ASSERT_TRUE(RunHostStep(step, memory).ok());
  EXPECT_EQ(memory, (std::vector<uint8_t>{5, 3, 1, 3}));
}

}  // namespace
}  // namespace kiln::systolic
