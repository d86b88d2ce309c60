#include "kiln/targets/lower/view_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/execute/reference.h"
#include "kiln/ir/random_tensor.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/targets/lower/refusal.h"

namespace kiln {
namespace {

using testing::HasSubstr;

// A graph of one node on input `x`.
class OneNode {
 public:
  OneNode(Op op, const Shape& x, const std::vector<Tensor>& constants, const Attributes& attributes)
      : graph_("test") {
    std::vector<Value*> operands = {graph_.AddInput("x", {ElementType::kFloat32, x})};
    for (const Tensor& constant : constants)
      operands.push_back(graph_.AddConstant("c" + std::to_string(operands.size()), constant));
    node_ = graph_.AddNode(op, "node", operands, {"y"}, attributes);
    graph_.MarkOutput(node_->result());
    EXPECT_EQ(InferShapes(graph_), OkStatus());
  }
  const Node& node() const { return *node_; }

 private:
  Graph graph_;
  Node* node_;
};

Tensor Ints(const std::vector<int64_t>& values) {
  return Tensor::Of<int64_t>(Shape{std::ssize(values)}, values);
}

// The view that the steps make of a dense operand holds what the reference kernel computes.
void ExpectAsReference(const OneNode& one) {
  const Node& node = one.node();
  SCOPED_TRACE(node.Describe());
  Random random(1);
  const Tensor x = RandomTensor(random, ElementType::kFloat32, node.operand(0)->shape(), -1.0, 1.0);
  std::vector<const Tensor*> operands = {&x};
  for (int i = 1; i < node.num_operands(); ++i) operands.push_back(&node.operand(i)->constant());
  const auto want = EvaluateNode(node, operands);
  ASSERT_TRUE(want.ok()) << want.status();
  const auto steps = ViewStepsOf(node);
  ASSERT_TRUE(steps.ok()) << steps.status();
  const auto view = Apply(*steps, RowMajorView(x.shape().dims()));
  ASSERT_TRUE(view.has_value());
  EXPECT_TRUE(Gather(x, *view) == (*want)[0]);
}

Attributes With(const std::string& name, std::vector<int64_t> values) {
  Attributes attributes;
  attributes.Set(name, std::move(values));
  return attributes;
}

TEST(ViewSteps, HoldWhatTheReferenceComputes) {
  ExpectAsReference({Op::kIdentity, {2, 3}, {}, {}});
  ExpectAsReference({Op::kTranspose, {2, 3, 4}, {}, {}});
  ExpectAsReference({Op::kTranspose, {2, 3, 4}, {}, With("perm", {1, 2, 0})});
  ExpectAsReference({Op::kReshape, {2, 3, 4}, {Ints({4, -1})}, {}});
  ExpectAsReference({Op::kFlatten, {2, 3, 4}, {}, {}});
  ExpectAsReference({Op::kSqueeze, {2, 1, 4}, {Ints({1})}, {}});
  ExpectAsReference({Op::kUnsqueeze, {2, 4}, {Ints({0, 3})}, {}});
  ExpectAsReference({Op::kExpand, {3, 1}, {Ints({2, 3, 4})}, {}});
  ExpectAsReference({Op::kSlice, {5, 6}, {Ints({1}), Ints({4})}, {}});
  ExpectAsReference(
      {Op::kSlice, {5, 6}, {Ints({-1, 1}), Ints({-9, 9}), Ints({1, 0}), Ints({-2, 3})}, {}});
}

TEST(ViewSteps, SlicesAreResolvedByHand) {
  const OneNode one(Op::kSlice, {5, 6}, {Ints({-1}), Ints({-9}), Ints({1}), Ints({-2})}, {});
  const auto steps = ViewStepsOf(one.node());
  ASSERT_TRUE(steps.ok()) << steps.status();
  ASSERT_EQ(steps->size(), 1u);
  EXPECT_EQ((*steps)[0].kind, ViewStep::Kind::kSlice);
  EXPECT_EQ((*steps)[0].axis, 1);
  EXPECT_EQ((*steps)[0].range, (SliceRange{5, -2, 3}));  // elements 5, 3, 1
}

TEST(ViewSteps, OtherNodesAreRefusedWithAReason) {
  const OneNode relu(Op::kRelu, {2, 3}, {}, {});
  const auto steps = ViewStepsOf(relu.node());
  ASSERT_FALSE(steps.ok());
  EXPECT_TRUE(IsRefusal(steps.status()));
  EXPECT_THAT(MessageOf(steps.status()), HasSubstr("relu"));

  Graph graph("test");
  Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{4}});
  Value* starts = graph.AddInput("starts", {ElementType::kInt64, Shape{1}});
  Value* ends = graph.AddConstant("ends", Ints({3}));
  const Node* slice = graph.AddNode(Op::kSlice, "slice", {x, starts, ends}, {"y"}, {});
  const auto unknown = ViewStepsOf(*slice);
  ASSERT_FALSE(unknown.ok());
  EXPECT_TRUE(IsRefusal(unknown.status()));
  EXPECT_EQ(MessageOf(unknown.status()), "the slice's bounds are not constant");
}

// Views with a restriction of their own: nothing but whole halves can be sliced.
struct Halves : StridedView {};
Halves Sliced(const Halves& view, int axis, int64_t start, int64_t step, int64_t count) {
  return {Sliced(static_cast<const StridedView&>(view), axis, start, step, count)};
}
bool CanSlice(const Halves& view, int axis, int64_t start, int64_t) {
  return start * 2 % view.shape[static_cast<size_t>(axis)] == 0;
}
Halves Transposed(const Halves& view, std::span<const int64_t> perm) {
  return {Transposed(static_cast<const StridedView&>(view), perm)};
}
std::optional<Halves> Reshaped(const Halves& view, std::span<const int64_t> shape) {
  auto reshaped = Reshaped(static_cast<const StridedView&>(view), shape);
  if (!reshaped.has_value()) return std::nullopt;
  return Halves{*reshaped};
}
Halves Broadcast(const Halves& view, std::span<const int64_t> shape) {
  return {Broadcast(static_cast<const StridedView&>(view), shape)};
}

TEST(ViewSteps, AViewMayRefuseAStep) {
  const Halves whole{RowMajorView(std::vector<int64_t>{8})};
  for (const auto& [start, fits] : {std::pair{int64_t{4}, true}, {int64_t{3}, false}}) {
    const OneNode one(Op::kSlice, {8}, {Ints({start}), Ints({8})}, {});
    const auto steps = ViewStepsOf(one.node());
    ASSERT_TRUE(steps.ok()) << steps.status();
    EXPECT_EQ(Apply(*steps, whole).has_value(), fits) << start;
  }
}

}  // namespace
}  // namespace kiln
