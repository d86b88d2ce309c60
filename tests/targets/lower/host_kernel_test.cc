#include "kiln/targets/lower/host_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/targets/interface/kernel_info.h"

namespace kiln {
namespace {

using testing::ElementsAre;

// exp (8 operations), neg (8) and sin (8) of 8 elements, in a row.
class HostKernelTest : public testing::Test {
 protected:
  HostKernelTest() : graph_("host") {
    Value* v = graph_.AddInput("x", {ElementType::kFloat32, Shape{1, 8}});
    for (const auto& [op, name] : {std::pair{Op::kExp, "e"}, {Op::kNeg, "n"}, {Op::kSin, "s"}}) {
      Node* node = graph_.AddNode(op, name, {v}, {std::string("v") + name}, {});
      graph_.SetType(node->result(), {ElementType::kFloat32, Shape{1, 8}});
      nodes_.push_back(node);
      v = node->result();
    }
    graph_.MarkOutput(v);
  }
  Graph graph_;
  std::vector<const Node*> nodes_;
};

TEST_F(HostKernelTest, OneNode) {
  const HostNodes group{{nodes_[1]}, "no negation"};
  const HostKernel kernel = MakeHostKernel(graph_, {&group, 1});
  EXPECT_EQ(kernel.info.name, "n");
  EXPECT_EQ(kernel.info.unit, "host");
  EXPECT_EQ(kernel.info.operation, "neg");
  EXPECT_EQ(kernel.info.host_reason, "no negation");
  EXPECT_EQ(kernel.info.operations, 8);
  EXPECT_THAT(kernel.host.inputs, ElementsAre(nodes_[0]->result()));
  EXPECT_THAT(kernel.host.outputs, ElementsAre(nodes_[1]->result()));
}

TEST_F(HostKernelTest, NodesInTheGraphsOrderAndReasonsByTheirWork) {
  // The group of two nodes was planned first though its last node comes last.
  const HostNodes groups[] = {{{nodes_[0]}, "b"}, {{nodes_[2]}, "a"}, {{nodes_[1]}, "b"}};
  const HostKernel kernel = MakeHostKernel(graph_, groups);
  EXPECT_EQ(kernel.info.operation, "exp + neg + sin");
  EXPECT_THAT(kernel.info.source_nodes, ElementsAre("e", "s", "n"));
  EXPECT_EQ(kernel.info.host_reason, "b; a");  // 16 operations, 8 operations
  EXPECT_EQ(kernel.host.graph.nodes().size(), 3u);
  EXPECT_EQ(kernel.host.graph.nodes().back()->name(), "s");
  EXPECT_THAT(kernel.host.outputs, ElementsAre(nodes_[2]->result()));
}

TEST_F(HostKernelTest, ReasonsOfAsMuchWorkAreInAlphabeticalOrder) {
  const HostNodes groups[] = {{{nodes_[0]}, "b"}, {{nodes_[1]}, "a"}};
  EXPECT_EQ(MakeHostKernel(graph_, groups).info.host_reason, "a; b");
}

// A machine without a format refuses each value in it by name.
TEST_F(HostKernelTest, ManyReasonsAreCounted) {
  std::vector<HostNodes> groups;
  for (const char* reason : {"a", "b", "c", "d", "e"}) groups.push_back({{nodes_[0]}, reason});
  EXPECT_EQ(MakeHostKernel(graph_, groups).info.host_reason, "a; b; c; and 2 more such reasons");
}

TEST(KernelInfo, NamesAndWorkAddUp) {
  Graph graph("info");
  Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{2, 3}});
  Value* w = graph.AddConstant("w", Tensor(ElementType::kFloat32, Shape{3, 5}));
  Node* product = graph.AddNode(Op::kMatMul, "dense", {x, w}, {"y"}, {});
  graph.SetType(product->result(), {ElementType::kFloat32, Shape{2, 5}});
  Node* relu = graph.AddNode(Op::kRelu, "act", {product->result()}, {"z"}, {});
  graph.SetType(relu->result(), {ElementType::kFloat32, Shape{2, 5}});
  const Node* nodes[] = {product, relu};
  const KernelInfo info = KernelInfoOf(nodes, "matrix", "matmul 2x3x5");
  EXPECT_EQ(info.name, "dense+act");
  EXPECT_THAT(info.source_nodes, ElementsAre("dense", "act"));
  EXPECT_EQ(info.macs, 30);
  EXPECT_EQ(info.operations, 40);  // 30 and one for each of 10 results
  EXPECT_EQ(info.unit, "matrix");
  EXPECT_EQ(info.operation, "matmul 2x3x5");
  EXPECT_FALSE(info.on_host());
  EXPECT_EQ(OperatorsOf(nodes), "matmul + relu");
}

TEST(KernelInfo, CertificatesAddUp) {
  Certificate sum;
  Accumulate({100, 80, true, "cycles", "memory traffic"}, &sum);
  EXPECT_TRUE(sum.optimal);
  Accumulate({50, 40, false, "cycles", "vector passes"}, &sum);
  Accumulate({10, 0, true, "cycles", "nothing"}, &sum);
  EXPECT_EQ(sum.cost, 160);
  EXPECT_EQ(sum.lower_bound, 120);
  EXPECT_FALSE(sum.optimal);
  EXPECT_EQ(sum.unit, "cycles");
  EXPECT_EQ(sum.bound_from, "vector passes");  // the last part that has a bound
}

TEST(DerivedByView, HasTheElementsOfTheView) {
  Graph graph;
  const Value* const from = graph.AddInput("x", {ElementType::kFloat32, Shape{2, 3}});
  const Value* const value = graph.AddInput("y", {ElementType::kFloat32, Shape{3, 1, 2}});
  const std::vector<int64_t> shape = {2, 3}, turned = {1, 0};
  const DerivedValue derived = DerivedByView(value, from, Transposed(RowMajorView(shape), turned));
  EXPECT_EQ(derived.value, value);
  EXPECT_EQ(derived.from, from);
  EXPECT_EQ(derived.text, "e / 2 + e % 2 * 3");
  EXPECT_EQ(derived.derive(Tensor::Of<float>({2, 3}, {1, 2, 3, 4, 5, 6})),
            Tensor::Of<float>({3, 1, 2}, {1, 4, 2, 5, 3, 6}));
}

}  // namespace
}  // namespace kiln
