// Tests of transposes that sink below reductions: for every set of axes, with and without keeping
// the reduced ones, values must equal those of the definition.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kiln/execute/reference.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/ir/verifier.h"
#include "kiln/passes/pass.h"
#include "kiln/passes/pipeline.h"
#include "kiln/support/random.h"

namespace kiln {
namespace {

constexpr int64_t kDims[4] = {2, 3, 4, 5};  // NCHW

// The image as a Relu leaves it, reduced by definition over the axes of `mask` (a bit an axis).
Tensor ReducedByDefinition(const Tensor& x, int mask, Op op, bool keep) {
  std::vector<int64_t> shape;
  for (int axis = 0; axis < 4; ++axis) {
    const bool reduced = (mask >> axis & 1) != 0;
    if (!reduced || keep) shape.push_back(reduced ? 1 : kDims[axis]);
  }
  Tensor y(ElementType::kFloat32, Shape(shape));
  std::vector<double> sums(static_cast<size_t>(y.size()), op == Op::kReduceMax ? -1e30 : 0);
  std::vector<int> counts(sums.size(), 0);
  int64_t at[4];
  int64_t index = 0;
  for (at[0] = 0; at[0] < kDims[0]; ++at[0]) {
    for (at[1] = 0; at[1] < kDims[1]; ++at[1]) {
      for (at[2] = 0; at[2] < kDims[2]; ++at[2]) {
        for (at[3] = 0; at[3] < kDims[3]; ++at[3], ++index) {
          size_t to = 0;
          for (int axis = 0; axis < 4; ++axis) {
            if ((mask >> axis & 1) == 0)
              to = to * static_cast<size_t>(kDims[axis]) + static_cast<size_t>(at[axis]);
          }
          const double value = x.ValueAt(index);
          sums[to] = op == Op::kReduceMax ? std::max(sums[to], value) : sums[to] + value;
          ++counts[to];
        }
      }
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    y.data<float>()[i] = static_cast<float>(op == Op::kReduceMean ? sums[i] / counts[i] : sums[i]);
  }
  return y;
}

// x in NHWC, transposed to NCHW, reduced.
Graph ReductionBehindTranspose(int mask, Op op, bool keep, bool negative) {
  Graph graph("reduction");
  Value* x =
      graph.AddInput("x", {ElementType::kFloat32, Shape{kDims[0], kDims[2], kDims[3], kDims[1]}});
  const auto add = [&](Op operation, const char* name, std::vector<Value*> operands,
                       Attributes attributes) {
    Node* node = graph.AddNode(operation, name, std::move(operands),
                               {std::string(name) + "_result"}, attributes);
    EXPECT_TRUE(InferNode(graph, *node).ok());
    return node->result();
  };
  Attributes perm, attributes;
  perm.Set("perm", std::vector<int64_t>{0, 3, 1, 2});
  Value* image = add(Op::kTranspose, "transpose", {x}, perm);
  std::vector<int64_t> axes;
  for (int axis = 0; axis < 4; ++axis) {
    if ((mask >> axis & 1) != 0) axes.push_back(negative ? axis - 4 : axis);
  }
  attributes.Set("keepdims", int64_t{keep ? 1 : 0});
  Value* list =
      graph.AddConstant("axes", Tensor::Of<int64_t>({static_cast<int64_t>(axes.size())}, axes));
  graph.MarkOutput(add(op, "reduce", {image, list}, attributes));
  return graph;
}

TEST(LayoutSink, ReductionsOverEverySetOfAxes) {
  Random random(5);
  Tensor nchw(ElementType::kFloat32, Shape{kDims[0], kDims[1], kDims[2], kDims[3]});
  for (float& v : nchw.data<float>()) v = static_cast<float>(random.Uniform(-4, 4));
  Tensor nhwc(ElementType::kFloat32, Shape{kDims[0], kDims[2], kDims[3], kDims[1]});
  for (int64_t i = 0; i < nchw.size(); ++i) {
    const int64_t x = i % 5, y = i / 5 % 4, c = i / 20 % 3, n = i / 60;
    nhwc.data<float>()[static_cast<size_t>(((n * 4 + y) * 5 + x) * 3 + c)] =
        nchw.data<float>()[static_cast<size_t>(i)];
  }
  int sunk = 0;
  for (int mask = 1; mask < 16; ++mask) {
    for (const Op op : {Op::kReduceMean, Op::kReduceSum, Op::kReduceMax}) {
      for (const bool keep : {false, true}) {
        SCOPED_TRACE(
            fmt::format("axes {:04b}, operator {}, keep {}", mask, static_cast<int>(op), keep));
        Graph graph = ReductionBehindTranspose(mask, op, keep, mask % 2 == 0);
        PassContext context;
        ASSERT_TRUE(RunPasses(graph, LayoutPipeline(), context).ok());
        ASSERT_TRUE(Verify(graph).ok()) << Verify(graph);
        sunk += graph.NodeList()[0]->op() != Op::kTranspose;
        const auto executor = ReferenceExecutor::Create(graph);
        ASSERT_TRUE(executor.ok()) << executor.status();
        const auto outputs = (*executor)->Run(std::vector<Tensor>{nhwc});
        ASSERT_TRUE(outputs.ok()) << outputs.status();
        const Tensor expected = ReducedByDefinition(nchw, mask, op, keep);
        ASSERT_EQ(outputs->at(0).shape(), expected.shape());
        for (int64_t i = 0; i < expected.size(); ++i) {
          ASSERT_NEAR(outputs->at(0).ValueAt(i), expected.ValueAt(i), 1e-4) << "element " << i;
        }
      }
    }
  }
  EXPECT_EQ(sunk, 15 * 3 * 2);
}

}  // namespace
}  // namespace kiln
