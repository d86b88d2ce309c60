// Tests of the descriptions of values and nodes in messages.
#include "kiln/ir/describe.h"

#include <gtest/gtest.h>

#include "kiln/ir/shape_inference.h"

namespace kiln {
namespace {

TEST(Describe, NamesValuesAsTheUserKnowsThem) {
  Graph graph("g");
  Value* x = graph.AddInput("v1", {ElementType::kFloat32, Shape{2}});
  Value* made_up = graph.AddNode(Op::kRelu, "relu_of_user", {x}, {""})->result();
  Value* named = graph.AddNode(Op::kRelu, "other", {x}, {"y"})->result();
  ASSERT_EQ(made_up->name()[0], 'v');
  EXPECT_EQ(NameForUser(*made_up), "the result of 'relu_of_user'");
  EXPECT_EQ(NameForUser(*named), "'y'");
  EXPECT_EQ(NameForUser(*x), "'v1'") << "an input has no node to name";
}

TEST(Describe, FindsTheNodeWhoseShapeTheDataDecide) {
  Graph graph("g");
  Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{2, 3}});
  Value* open = graph.AddInput("open", {ElementType::kFloat32, Shape{kUnknownDim, 3}});
  Node* found = graph.AddNode(Op::kNonZero, "found", {x}, {"found"});
  Node* cast = graph.AddNode(Op::kTranspose, "turned", {found->result()}, {"turned"});
  Node* relu = graph.AddNode(Op::kRelu, "relu", {open}, {"relu"});
  ASSERT_TRUE(InferShapes(graph).ok());
  EXPECT_EQ(DataDependentNode(cast->result()), found);
  EXPECT_EQ(DataDependentNode(found->result()), found);
  EXPECT_EQ(DataDependentNode(relu->result()), nullptr);
}

}  // namespace
}  // namespace kiln
