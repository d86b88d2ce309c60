// Builds ResNets and MobileNetV2 node by node.
#include "bench/networks.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kiln/ir/random_tensor.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/support/check.h"
#include "kiln/support/random.h"

namespace kiln::bench {
namespace {

// Adds nodes to a graph and infers their shapes.
class Builder {
 public:
  explicit Builder(std::string name) : graph_(std::move(name)) {}

  Value* Image() {
    return graph_.AddInput("image", {ElementType::kFloat32, Shape{1, 3, 224, 224}});
  }

  Value* Add(Op op, std::vector<Value*> operands, Attributes attributes = {}) {
    const std::string name = std::string(InfoOf(op).text) + std::to_string(count_++);
    Node* node =
        graph_.AddNode(op, name, std::move(operands), {name + "_y"}, std::move(attributes));
    KILN_CHECK(InferNode(graph_, *node).ok());
    return node->result();
  }
  Value* Relu(Value* x) { return Add(Op::kRelu, {x}); }
  Value* Relu6(Value* x) {
    return Add(Op::kClip, {x, graph_.AddConstant("", Tensor::Scalar(0.0f)),
                           graph_.AddConstant("", Tensor::Scalar(6.0f))});
  }

  Value* Convolve(Value* x, int64_t out, int64_t kernel, int64_t stride, int64_t groups = 1) {
    const int64_t in = x->shape()[1] / groups;
    const double limit = std::sqrt(6.0 / static_cast<double>(in * kernel * kernel));
    Attributes attributes = Window(kernel, stride, kernel / 2);
    attributes.Set("group", groups);
    return Add(Op::kConv, {x, Constant({out, in, kernel, kernel}, limit), Constant({out}, 0.1)},
               std::move(attributes));
  }
  Value* MaxPool(Value* x, int64_t kernel, int64_t stride) {
    return Add(Op::kMaxPool, {x}, Window(kernel, stride, kernel / 2));
  }

  // Adds global average pooling and the dense layer of 1000 classes, and returns the finished
  // graph.
  Graph Classify(Value* x) {
    const int64_t channels = x->shape()[1];
    x = Add(Op::kFlatten, {Add(Op::kGlobalAveragePool, {x})});
    Attributes transposed;
    transposed.Set("transB", int64_t{1});
    x = Add(Op::kGemm,
            {x, Constant({1000, channels}, 1 / std::sqrt(static_cast<double>(channels))),
             Constant({1000}, 0.1)},
            std::move(transposed));
    graph_.MarkOutput(x);
    return std::move(graph_);
  }

 private:
  Value* Constant(Shape shape, double limit) {
    return graph_.AddConstant("",
                              RandomTensor(random_, ElementType::kFloat32, shape, -limit, limit));
  }
  static Attributes Window(int64_t kernel, int64_t stride, int64_t pad) {
    Attributes attributes;
    attributes.Set("kernel_shape", std::vector<int64_t>{kernel, kernel});
    attributes.Set("strides", std::vector<int64_t>{stride, stride});
    attributes.Set("pads", std::vector<int64_t>(4, pad));
    return attributes;
  }

  Graph graph_;
  Random random_{18};
  int count_ = 0;
};

Value* BasicBlock(Builder& b, Value* x, int64_t channels, int64_t stride) {
  Value* shortcut =
      stride == 1 && x->shape()[1] == channels ? x : b.Convolve(x, channels, 1, stride);
  Value* y = b.Relu(b.Convolve(x, channels, 3, stride));
  return b.Relu(b.Add(Op::kAdd, {b.Convolve(y, channels, 3, 1), shortcut}));
}

Value* Bottleneck(Builder& b, Value* x, int64_t channels, int64_t stride) {
  const int64_t wide = 4 * channels;
  Value* shortcut = stride == 1 && x->shape()[1] == wide ? x : b.Convolve(x, wide, 1, stride);
  Value* y = b.Relu(b.Convolve(x, channels, 1, 1));
  y = b.Relu(b.Convolve(y, channels, 3, stride));
  return b.Relu(b.Add(Op::kAdd, {b.Convolve(y, wide, 1, 1), shortcut}));
}

using Block = Value* (*)(Builder&, Value*, int64_t, int64_t);

Graph ResNet(const std::string& name, Block block, const std::vector<int>& blocks) {
  Builder b(name);
  Value* x = b.MaxPool(b.Relu(b.Convolve(b.Image(), 64, 7, 2)), 3, 2);
  for (size_t stage = 0; stage < blocks.size(); ++stage) {
    for (int i = 0; i < blocks[stage]; ++i)
      x = block(b, x, int64_t{64} << stage, stage > 0 && i == 0 ? 2 : 1);
  }
  return b.Classify(x);
}

Graph ResNet18() { return ResNet("resnet18", BasicBlock, {2, 2, 2, 2}); }
Graph ResNet50() { return ResNet("resnet50", Bottleneck, {3, 4, 6, 3}); }

Graph MobileNetV2() {
  struct Row {
    int64_t expansion, channels, repeats, stride;
  };
  constexpr Row kRows[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                           {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  Builder b("mobilenet_v2");
  Value* x = b.Relu6(b.Convolve(b.Image(), 32, 3, 2));
  for (const Row& row : kRows) {
    for (int64_t i = 0; i < row.repeats; ++i) {
      const int64_t in = x->shape()[1], hidden = in * row.expansion,
                    stride = i == 0 ? row.stride : 1;
      Value* y = row.expansion == 1 ? x : b.Relu6(b.Convolve(x, hidden, 1, 1));
      y = b.Relu6(b.Convolve(y, hidden, 3, stride, hidden));
      y = b.Convolve(y, row.channels, 1, 1);
      x = stride == 1 && in == row.channels ? b.Add(Op::kAdd, {x, y}) : y;
    }
  }
  return b.Classify(b.Relu6(b.Convolve(x, 1280, 1, 1)));
}

// A row of the table of networks.
struct Network {
  const char* name;
  Graph (*build)();
};
constexpr Network kNetworks[] = {
    {"resnet18", ResNet18}, {"resnet50", ResNet50}, {"mobilenet_v2", MobileNetV2}};

}  // namespace

std::vector<std::string> NetworkNames() {
  std::vector<std::string> names;
  for (const Network& network : kNetworks) names.emplace_back(network.name);
  return names;
}

StatusOr<Graph> MakeNetwork(const std::string& name) {
  std::string known;
  for (const Network& network : kNetworks) {
    if (name == network.name) return network.build();
    known += std::string(known.empty() ? "" : ", ") + network.name;
  }
  return ErrorAt("", "", "unknown network '" + name + "'", "one of: " + known);
}

}  // namespace kiln::bench
