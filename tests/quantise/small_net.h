// A float network of two convolutions and a product, for tests of quantisation.
#ifndef KILN_TESTS_QUANTISE_SMALL_NET_H_
#define KILN_TESTS_QUANTISE_SMALL_NET_H_

#include <cmath>
#include <string>
#include <vector>

#include "kiln/execute/reference.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/support/random.h"

namespace kiln {

inline Tensor UniformTensor(const Shape& shape, uint64_t seed, double low = -1, double high = 1) {
  Tensor t(ElementType::kFloat32, shape);
  Random random(seed);
  for (float& x : t.data<float>()) x = static_cast<float>(random.Uniform(low, high));
  return t;
}

// Returns the network
//   x [1, 4, 8, 8] -> conv 3x3 (16 channels) -> relu -> depthwise 3x3 -> relu -> conv 1x1 (12) ->
//   relu -> global average pool -> flatten -> matmul (5) -> add
// The channels of the first convolution differ in size by powers of `spread`, and those of the
// second by the inverse, so that all later layers see equal channels.
inline Graph SmallNet(double spread = 1) {
  Graph net("small");
  net.set_source("small.kir");
  Value* x = net.AddInput("x", {ElementType::kFloat32, Shape{1, 4, 8, 8}});
  Tensor w1 = UniformTensor({16, 4, 3, 3}, 1, -0.4, 0.4), b1 = UniformTensor({16}, 2, -0.2, 0.2);
  Tensor w2 = UniformTensor({16, 1, 3, 3}, 3, -0.5, 0.5);
  for (int64_t c = 0; c < 16; ++c) {
    const auto factor = static_cast<float>(std::pow(spread, static_cast<double>(c % 4)));
    for (float& w : w1.data<float>().subspan(static_cast<size_t>(c * 36), 36)) w *= factor;
    b1.data<float>()[static_cast<size_t>(c)] *= factor;
    for (float& w : w2.data<float>().subspan(static_cast<size_t>(c * 9), 9)) w /= factor;
  }
  const auto add = [&](Op op, std::string_view name, std::vector<Value*> operands,
                       Attributes attributes = {}) {
    Node* node = net.AddNode(op, std::string(name) + "_node", std::move(operands),
                             {std::string(name)}, std::move(attributes));
    const Status status = InferNode(net, *node);
    KILN_CHECK(status.ok());
    return node->result();
  };
  Attributes pads, depthwise;
  pads.Set("pads", std::vector<int64_t>{1, 1, 1, 1});
  depthwise.Set("pads", std::vector<int64_t>{1, 1, 1, 1});
  depthwise.Set("group", int64_t{16});
  Value* a = add(Op::kConv, "a", {x, net.AddConstant("w1", w1), net.AddConstant("b1", b1)}, pads);
  Value* relu_a = add(Op::kRelu, "relu_a", {a});
  Value* b = add(Op::kConv, "b", {relu_a, net.AddConstant("w2", w2)}, depthwise);
  Value* relu_b = add(Op::kRelu, "relu_b", {b});
  Value* c = add(Op::kConv, "c",
                 {relu_b, net.AddConstant("w3", UniformTensor({12, 16, 1, 1}, 4, -0.5, 0.5))});
  Value* relu_c = add(Op::kRelu, "relu_c", {c});
  Value* pool = add(Op::kGlobalAveragePool, "pool", {relu_c});
  Value* flat = add(Op::kFlatten, "flat", {pool});
  Value* product =
      add(Op::kMatMul, "product", {flat, net.AddConstant("w4", UniformTensor({12, 5}, 5))});
  net.MarkOutput(add(Op::kAdd, "y", {product, net.AddConstant("b4", UniformTensor({5}, 6))}));
  return net;
}

inline Tensor OutputOf(const Graph& graph, const Tensor& images) {
  const auto executor = ReferenceExecutor::Create(graph);
  KILN_CHECK(executor.ok());
  auto outputs = (*executor)->RunBatch(std::span(&images, 1));
  KILN_CHECK(outputs.ok());
  return (*outputs)[0];
}

inline double MeanSquare(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (int64_t i = 0; i < a.size(); ++i) sum += std::pow(a.ValueAt(i) - b.ValueAt(i), 2);
  return sum / static_cast<double>(a.size());
}

}  // namespace kiln

#endif  // KILN_TESTS_QUANTISE_SMALL_NET_H_
