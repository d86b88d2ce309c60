#include "kiln/targets/lower/partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct ToyGroup : NodeGroup {
  int relus = 0;
};

// x -> conv-like "mul" -> relu -> relu -> exp; a second branch "neg" joins in an add.
//
//   mul_0 (x, x) ─▶ relu_1 ─▶ relu_2 ─▶ add_5 ─▶ exp_6
//   neg_3 (x) ─▶ relu_4 ──────────────────┘
class Toy : public testing::Test {
 protected:
  Toy() : graph_("toy") {
    x_ = graph_.AddInput("x", {ElementType::kFloat32, Shape{1, 4}});
    Value* mul = Add(Op::kMul, {x_, x_});
    Value* relu = Add(Op::kRelu, {Add(Op::kRelu, {mul})});
    Value* other = Add(Op::kRelu, {Add(Op::kNeg, {x_})});
    Value* exp = Add(Op::kExp, {Add(Op::kAdd, {relu, other})});
    graph_.MarkOutput(exp);
  }

  Value* Add(Op op, const std::vector<Value*>& operands) {
    const std::string name =
        std::string(OpInfoOf(op)) + "_" + std::to_string(graph_.nodes().size());
    Node* node = graph_.AddNode(op, name, operands, {"v" + name}, {});
    graph_.SetType(node->result(), {ElementType::kFloat32, Shape{1, 4}});
    return node->result();
  }
  static std::string_view OpInfoOf(Op op) {
    return op == Op::kMul    ? "mul"
           : op == Op::kRelu ? "relu"
           : op == Op::kNeg  ? "neg"
           : op == Op::kAdd  ? "add"
                             : "exp";
  }

  // A product takes the relus behind it; an exponential is refused when it is planned.
  std::vector<Pattern<ToyGroup>> Patterns() {
    const auto emit = [this](const ToyGroup& group) {
      std::string text;
      for (const Node* node : group.nodes) text += (text.empty() ? "" : "+") + node->name();
      emitted_.push_back(text);
      return emit_status_;
    };
    const auto take_relus = [this](ToyGroup* group) {
      const Value* result = group->anchor->result();
      while (result->users().size() == 1 && result->users()[0]->op() == Op::kRelu &&
             !partition_->IsTaken(result->users()[0])) {
        group->nodes.push_back(result->users()[0]);
        ++group->relus;
        result = result->users()[0]->result();
      }
      return OkStatus();
    };
    const auto refuse = [](ToyGroup*) { return ToHost("no exponential"); };
    const auto alone = [](ToyGroup*) { return OkStatus(); };
    return {{"product", AnyOf({Op::kMul, Op::kNeg}), take_relus, emit},
            {"exponential", AnyOf({Op::kExp}), refuse, {}},
            {"other", AnyNode(), alone, emit}};
  }

  Status Run(bool host_fallback) {
    Partition<ToyGroup> partition(graph_, Patterns());
    partition_ = &partition;
    KILN_RETURN_IF_ERROR(partition.Plan());
    CompileOptions options;
    options.host_fallback = host_fallback;
    return partition.Emit(options, [this](const ToyGroup& group, const std::string& reason) {
      on_host_.push_back(group.anchor->name() + ": " + reason);
      return OkStatus();
    });
  }

  Graph graph_;
  Value* x_;
  const Partition<ToyGroup>* partition_ = nullptr;
  std::vector<std::string> emitted_, on_host_;
  Status emit_status_;
};

TEST_F(Toy, TheFirstPatternThatMatchesPlansAndGroupsFollowTheGraph) {
  ASSERT_EQ(Run(true), OkStatus());
  EXPECT_THAT(emitted_, ElementsAre("mul_0+relu_1+relu_2", "neg_3+relu_4", "add_5"));
  EXPECT_THAT(on_host_, ElementsAre("exp_6: no exponential"));
}

TEST_F(Toy, ARefusalNamesTheUsersNodeWithoutHost) {
  const Status status = Run(false);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(MessageOf(status), HasSubstr("node 'exp_6' (Exp): no exponential"));
  EXPECT_THAT(MessageOf(status), HasSubstr("allow host fallback"));
  EXPECT_THAT(on_host_, IsEmpty());
}

TEST_F(Toy, EmissionMayRefuse) {
  emit_status_ = ToHost("too large");
  ASSERT_EQ(Run(true), OkStatus());
  EXPECT_THAT(on_host_, ElementsAre("mul_0: too large", "neg_3: too large", "add_5: too large",
                                    "exp_6: no exponential"));
}

TEST_F(Toy, OtherErrorsEndTheWalk) {
  emit_status_ = ErrorAt("net", "node", "is wrong", "");
  EXPECT_EQ(Run(true), emit_status_);
  EXPECT_THAT(emitted_, ElementsAre("mul_0+relu_1+relu_2"));
  EXPECT_THAT(on_host_, IsEmpty());
}

// A group is emitted where its last node is: what a later member reads comes first.
TEST(Partition, AGroupWaitsForItsLastNode) {
  Graph graph("late");
  Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1}});
  Node* mul = graph.AddNode(Op::kMul, "mul", {x, x}, {"a"}, {});
  Node* neg = graph.AddNode(Op::kNeg, "neg", {x}, {"b"}, {});
  Node* add = graph.AddNode(Op::kAdd, "add", {mul->result(), neg->result()}, {"c"}, {});
  graph.MarkOutput(add->result());
  std::vector<std::string> order;
  const auto emit = [&](const NodeGroup& group) {
    order.push_back(group.anchor->name());
    return OkStatus();
  };
  const auto with_sum = [&](NodeGroup* group) {
    group->nodes.push_back(add);
    return OkStatus();
  };
  const auto alone = [](NodeGroup*) { return OkStatus(); };
  Partition<NodeGroup> partition(
      graph, {{"product", AnyOf({Op::kMul}), with_sum, emit}, {"other", AnyNode(), alone, emit}});
  ASSERT_EQ(partition.Plan(), OkStatus());
  EXPECT_TRUE(partition.IsTaken(add));
  ASSERT_EQ(partition.Emit({}, [](const NodeGroup&, const std::string&) { return OkStatus(); }),
            OkStatus());
  EXPECT_THAT(order, ElementsAre("neg", "mul"));
}

TEST(Partition, ConstantsPerChannel) {
  Graph graph("constants");
  const Shape product{1, 8, 8, 3};
  const auto constant = [&](const Shape& shape) {
    return graph.AddConstant("c", Tensor(ElementType::kFloat32, shape));
  };
  EXPECT_TRUE(IsConstantPerChannel(constant({}), product));
  EXPECT_TRUE(IsConstantPerChannel(constant({1, 1, 1, 1}), product));
  EXPECT_TRUE(IsConstantPerChannel(constant({3}), product));
  EXPECT_TRUE(IsConstantPerChannel(constant({1, 1, 3}), product));
  EXPECT_FALSE(IsConstantPerChannel(constant({8, 1}), product));
  EXPECT_FALSE(IsConstantPerChannel(constant({8, 3}), product));
  EXPECT_FALSE(IsConstantPerChannel(constant({4}), product));
  const Value* ints = graph.AddConstant("i", Tensor(ElementType::kInt64, Shape{3}));
  EXPECT_FALSE(IsConstantPerChannel(ints, product));
  EXPECT_FALSE(
      IsConstantPerChannel(graph.AddInput("x", {ElementType::kFloat32, Shape{3}}), product));
}

TEST(Partition, UnknownShapesAreNamed) {
  Graph graph("unknown");
  graph.AddInput("x", {ElementType::kFloat32, Shape{1, 4}});
  EXPECT_EQ(CheckKnownShapes(graph), OkStatus());
  graph.AddInput("length", {ElementType::kFloat32, std::nullopt});
  EXPECT_THAT(MessageOf(CheckKnownShapes(graph)), HasSubstr("value 'length': has no known shape"));
}

TEST(Follower, IsTheOnlyReaderOfTheSameShape) {
  Graph graph("follower");
  const TensorType row = {ElementType::kFloat32, Shape{1, 4}};
  Value* x = graph.AddInput("x", row);
  const auto add = [&](Op op, const std::string& name, const std::vector<Value*>& operands,
                       const Shape& shape) {
    Node* node = graph.AddNode(op, name, operands, {"v" + name}, {});
    graph.SetType(node->result(), {ElementType::kFloat32, shape});
    return node;
  };
  Node* neg = add(Op::kNeg, "neg", {x}, Shape{1, 4});
  Node* relu = add(Op::kRelu, "relu", {neg->result()}, Shape{1, 4});
  Node* exp = add(Op::kExp, "exp", {relu->result()}, Shape{1, 4});
  Node* other = add(Op::kReshape, "other", {exp->result()}, Shape{4});
  Node* twice = add(Op::kAdd, "twice", {other->result(), other->result()}, Shape{4});
  graph.MarkOutput(twice->result());
  graph.MarkOutput(relu->result());
  const Partition<NodeGroup> partition(graph, {});
  EXPECT_EQ(partition.Follower(neg->result()), relu);
  EXPECT_EQ(partition.Follower(relu->result()), nullptr) << "an output of the graph";
  EXPECT_EQ(partition.Follower(exp->result()), nullptr) << "another shape";
  EXPECT_EQ(partition.Follower(other->result()), nullptr) << "two uses";
}

}  // namespace
}  // namespace kiln
