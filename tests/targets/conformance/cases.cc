#include "tests/targets/conformance/cases.h"

#include <cmath>
#include <utility>

#include "kiln/ir/shape_inference.h"
#include "kiln/support/random.h"

namespace kiln::conformance {
namespace {

using Ints = std::vector<int64_t>;

// Builds a graph node by node; weights are random and scaled by their fan-in, so that values keep
// their size.
class Builder {
 public:
  explicit Builder(std::string name, uint64_t seed = 7) : graph_(std::move(name)), random_(seed) {}

  Value* Input(Shape shape) {
    return graph_.AddInput("x" + std::to_string(count_++),
                           {ElementType::kFloat32, std::move(shape)});
  }
  Value* Weights(Shape shape, double low, double high) {
    Tensor t(ElementType::kFloat32, std::move(shape));
    for (float& v : t.data<float>()) v = static_cast<float>(random_.Uniform(low, high));
    return graph_.AddConstant("w" + std::to_string(count_++), std::move(t));
  }
  Value* Constant(Tensor t) {
    return graph_.AddConstant("c" + std::to_string(count_++), std::move(t));
  }
  Value* Indices(const Ints& values) {
    return Constant(Tensor::Of<int64_t>(Shape{static_cast<int64_t>(values.size())}, values));
  }
  Value* Number(float value) { return Constant(Tensor::Scalar<float>(value)); }

  Value* Op(kiln::Op op, std::vector<Value*> operands, Attributes attributes = {}) {
    const std::string name = std::string(InfoOf(op).text) + std::to_string(count_++);
    Node* node =
        graph_.AddNode(op, name, std::move(operands), {name + "_y"}, std::move(attributes));
    KILN_CHECK(InferNode(graph_, *node).ok());
    return node->result();
  }

  struct ConvOptions {
    int64_t kernel = 3, stride = 1, dilation = 1, groups = 1;
    Ints pads = {};  // empty: the same on all sides, so that stride 1 keeps the size
    bool bias = true;
  };
  Value* Conv(Value* x, int64_t out_channels, ConvOptions o) {
    const int64_t in = x->shape()[1] / o.groups;
    const double bound = std::sqrt(3.0 / static_cast<double>(in * o.kernel * o.kernel));
    Attributes a;
    a.Set("kernel_shape", Ints{o.kernel, o.kernel});
    a.Set("strides", Ints{o.stride, o.stride});
    a.Set("dilations", Ints{o.dilation, o.dilation});
    a.Set("group", o.groups);
    const int64_t pad = (o.kernel - 1) * o.dilation / 2;
    a.Set("pads", o.pads.empty() ? Ints{pad, pad, pad, pad} : o.pads);
    std::vector<Value*> operands = {x,
                                    Weights({out_channels, in, o.kernel, o.kernel}, -bound, bound)};
    if (o.bias) operands.push_back(Weights({out_channels}, -0.5, 0.5));
    return Op(kiln::Op::kConv, std::move(operands), std::move(a));
  }
  Value* Pool(kiln::Op op, Value* x, int64_t kernel, int64_t stride, int64_t pad,
              Attributes a = {}) {
    a.Set("kernel_shape", Ints{kernel, kernel});
    a.Set("strides", Ints{stride, stride});
    a.Set("pads", Ints{pad, pad, pad, pad});
    return Op(op, {x}, std::move(a));
  }
  Value* Linear(Value* x, int64_t out) {
    const int64_t in = x->shape()[x->shape().rank() - 1];
    const double bound = std::sqrt(3.0 / static_cast<double>(in));
    return Op(kiln::Op::kAdd, {Op(kiln::Op::kMatMul, {x, Weights({in, out}, -bound, bound)}),
                               Weights({out}, -0.5, 0.5)});
  }

  Graph Done(std::vector<Value*> outputs) {
    for (Value* output : outputs) graph_.MarkOutput(output);
    return std::move(graph_);
  }

 private:
  Graph graph_;
  Random random_;
  int count_ = 0;
};

Attributes Axis(int64_t axis) {
  Attributes a;
  a.Set("axis", axis);
  return a;
}

Attributes Perm(Ints perm) {
  Attributes a;
  a.Set("perm", std::move(perm));
  return a;
}

Case ConvCase(std::string name, Shape in, int64_t out, Builder::ConvOptions o) {
  return {"conv." + name, [=] {
            Builder b("conv");
            return b.Done({b.Conv(b.Input(in), out, o)});
          }};
}

// One operator on the result of a 1x1 convolution, so that it may be fused.
Case AfterConv(std::string name, kiln::Op op, Attributes a = {}, double tolerance = 0.05) {
  return {"activation." + name,
          [=] {
            Builder b("activation");
            return b.Done({b.Op(op, {b.Conv(b.Input({1, 16, 6, 6}), 24, {.kernel = 1})}, a)});
          },
          tolerance};
}

// One element-wise operator alone.
Case Unary(std::string name, kiln::Op op, Attributes a = {}, double tolerance = 0.05) {
  return {"elementwise." + name,
          [=] {
            Builder b("elementwise");
            return b.Done({b.Op(op, {b.Input({1, 20, 5, 7})}, a)});
          },
          tolerance};
}

Case Binary(std::string name, kiln::Op op, Shape left, Shape right) {
  return {"elementwise." + name, [=] {
            Builder b("elementwise");
            Value* x = b.Input(left);
            return b.Done({b.Op(op, {x, b.Input(right)})});
          }};
}

Case Move(std::string name, std::function<Value*(Builder&)> build) {
  return {"move." + name, [=] {
            Builder b("move");
            return b.Done({build(b)});
          }};
}

Graph Attention() {
  Builder b("attention");
  constexpr int64_t kTokens = 12, kDim = 32, kHeads = 4;
  Value* x = b.Input({1, kTokens, kDim});
  const auto heads = [&](Value* v) {
    return b.Op(Op::kTranspose,
                {b.Op(Op::kReshape, {v, b.Indices({1, kTokens, kHeads, kDim / kHeads})})},
                Perm({0, 2, 1, 3}));
  };
  Value* q = heads(b.Linear(x, kDim));
  Value* k = heads(b.Linear(x, kDim));
  Value* v = heads(b.Linear(x, kDim));
  Value* scores = b.Op(Op::kMatMul, {q, b.Op(Op::kTranspose, {k}, Perm({0, 1, 3, 2}))});
  scores = b.Op(Op::kDiv, {scores, b.Number(std::sqrt(8.0f))});
  Value* mixed = b.Op(Op::kMatMul, {b.Op(Op::kSoftmax, {scores}, Axis(-1)), v});
  mixed = b.Op(Op::kReshape,
               {b.Op(Op::kTranspose, {mixed}, Perm({0, 2, 1, 3})), b.Indices({1, kTokens, kDim})});
  return b.Done({b.Op(Op::kAdd, {x, b.Linear(mixed, kDim)})});
}

Attributes LeakySlope() {
  Attributes a;
  a.Set("alpha", 0.1f);
  return a;
}

std::vector<Case> MakeCases() {
  std::vector<Case> cases = {
      ConvCase("1x1", {1, 24, 7, 9}, 40, {.kernel = 1}),
      ConvCase("1x1_stride_2", {1, 16, 9, 8}, 20, {.kernel = 1, .stride = 2}),
      ConvCase("3x3", {1, 16, 10, 10}, 16, {}),
      ConvCase("3x3_no_bias", {1, 8, 6, 6}, 12, {.bias = false}),
      ConvCase("3x3_ragged", {1, 19, 7, 11}, 37, {}),
      ConvCase("3x3_stride_2", {1, 16, 12, 12}, 32, {.stride = 2}),
      ConvCase("3x3_asymmetric_pads", {1, 8, 8, 9}, 8, {.stride = 2, .pads = {0, 0, 1, 1}}),
      ConvCase("3x3_dilated", {1, 12, 11, 11}, 12, {.dilation = 2}),
      ConvCase("5x5_few_channels", {1, 3, 12, 12}, 16, {.kernel = 5}),
      ConvCase("7x7_stride_2_first_layer", {1, 3, 21, 21}, 24, {.kernel = 7, .stride = 2}),
      ConvCase("3x3_one_channel", {1, 1, 14, 14}, 8, {}),
      ConvCase("grouped", {1, 24, 8, 8}, 36, {.groups = 3}),
      ConvCase("depthwise_3x3", {1, 20, 9, 9}, 20, {.groups = 20}),
      ConvCase("depthwise_3x3_stride_2", {1, 32, 9, 10}, 32, {.stride = 2, .groups = 32}),
      ConvCase("depthwise_5x5", {1, 17, 8, 8}, 17, {.kernel = 5, .groups = 17}),
      ConvCase("depthwise_dilated", {1, 16, 9, 9}, 16, {.dilation = 2, .groups = 16}),
      {"matmul.dense",
       [] {
         Builder b("dense");
         return b.Done({b.Linear(b.Input({1, 50}), 30)});
       }},
      {"matmul.tokens",
       [] {
         Builder b("tokens");
         return b.Done({b.Linear(b.Input({1, 13, 40}), 33)});
       }},
      {"matmul.two_activations",
       [] {
         Builder b("two");
         Value* x = b.Input({1, 3, 9, 20});
         return b.Done({b.Op(Op::kMatMul, {x, b.Input({1, 3, 20, 17})})});
       }},
      {"matmul.transposed_input",
       [] {
         Builder b("mixer");
         return b.Done(
             {b.Linear(b.Op(Op::kTranspose, {b.Input({1, 40, 13})}, Perm({0, 2, 1})), 33)});
       }},
      {"matmul.transposed_activations",
       [] {
         Builder b("two");
         Value* x = b.Op(Op::kTranspose, {b.Input({1, 3, 20, 9})}, Perm({0, 1, 3, 2}));
         return b.Done({b.Op(Op::kMatMul, {x, b.Input({1, 3, 20, 17})})});
       }},
      {"gemm.transposed",
       [] {
         Builder b("gemm");
         Value* x = b.Input({1, 45});
         Attributes a;
         a.Set("transB", int64_t{1});
         return b.Done(
             {b.Op(Op::kGemm, {x, b.Weights({21, 45}, -0.2, 0.2), b.Weights({21}, -0.5, 0.5)}, a)});
       }},
      AfterConv("relu", Op::kRelu),
      AfterConv("leaky_relu", Op::kLeakyRelu, LeakySlope()),
      AfterConv("sigmoid", Op::kSigmoid),
      AfterConv("tanh", Op::kTanh),
      AfterConv("gelu", Op::kGelu),
      AfterConv("hard_swish", Op::kHardSwish),
      AfterConv("hard_sigmoid", Op::kHardSigmoid),
      AfterConv("softplus", Op::kSoftplus),
      {"activation.clip",
       [] {
         Builder b("clip");
         Value* y = b.Conv(b.Input({1, 16, 6, 6}), 24, {.kernel = 1});
         return b.Done({b.Op(Op::kClip, {y, b.Number(0.0f), b.Number(1.0f)})});
       }},
      Unary("relu", Op::kRelu),
      Unary("exp", Op::kExp),
      Unary("erf", Op::kErf),
      Unary("abs", Op::kAbs),
      Unary("neg", Op::kNeg),
      Binary("add", Op::kAdd, {1, 20, 6, 6}, {1, 20, 6, 6}),
      Binary("sub", Op::kSub, {1, 20, 6, 6}, {1, 20, 6, 6}),
      Binary("mul", Op::kMul, {1, 20, 6, 6}, {1, 20, 6, 6}),
      Binary("max", Op::kMax, {1, 20, 6, 6}, {1, 20, 6, 6}),
      Binary("mul_channel_broadcast", Op::kMul, {1, 20, 6, 6}, {1, 20, 1, 1}),
      {"elementwise.add_constant",
       [] {
         Builder b("add_constant");
         return b.Done({b.Op(Op::kAdd, {b.Input({1, 10, 24}), b.Weights({1, 10, 24}, -1, 1)})});
       }},
      {"pool.max_2x2",
       [] {
         Builder b("pool");
         return b.Done({b.Pool(Op::kMaxPool, b.Input({1, 20, 8, 8}), 2, 2, 0)});
       }},
      {"pool.max_3x3_padded",
       [] {
         Builder b("pool");
         return b.Done({b.Pool(Op::kMaxPool, b.Input({1, 18, 9, 9}), 3, 2, 1)});
       }},
      {"pool.average_3x3_padded",
       [] {
         Builder b("pool");
         return b.Done({b.Pool(Op::kAveragePool, b.Input({1, 18, 9, 9}), 3, 2, 1)});
       }},
      {"pool.average_count_include_pad",
       [] {
         Builder b("pool");
         Attributes a;
         a.Set("count_include_pad", int64_t{1});
         return b.Done({b.Pool(Op::kAveragePool, b.Input({1, 18, 9, 9}), 3, 1, 1, a)});
       }},
      {"pool.global_average",
       [] {
         Builder b("pool");
         return b.Done({b.Op(Op::kGlobalAveragePool, {b.Input({1, 20, 7, 7})})});
       }},
      {"pool.global_max",
       [] {
         Builder b("pool");
         return b.Done({b.Op(Op::kGlobalMaxPool, {b.Input({1, 20, 7, 7})})});
       }},
      {"normalise.softmax",
       [] {
         Builder b("softmax");
         return b.Done({b.Op(Op::kSoftmax, {b.Input({1, 6, 37})}, Axis(-1))});
       }},
      {"normalise.layer_norm",
       [] {
         Builder b("layer_norm");
         return b.Done(
             {b.Op(Op::kLayerNormalization,
                   {b.Input({1, 6, 48}), b.Weights({48}, 0.5, 1.5), b.Weights({48}, -0.5, 0.5)},
                   Axis(-1))});
       }},
      {"normalise.rms_norm",
       [] {
         Builder b("rms_norm");
         return b.Done({b.Op(Op::kRmsNormalization,
                             {b.Input({1, 6, 48}), b.Weights({48}, 0.5, 1.5)}, Axis(-1))});
       }},
      {"reduce.mean_last_axis",
       [] {
         Builder b("mean");
         return b.Done({b.Op(Op::kReduceMean, {b.Input({1, 9, 40}), b.Indices({-1})})});
       },
       0.08},
      {"reduce.mean_tokens",
       [] {
         Builder b("mean");
         return b.Done({b.Op(Op::kReduceMean, {b.Input({1, 9, 40}), b.Indices({1})})});
       },
       0.08},
      Move("transpose",
           [](Builder& b) {
             return b.Op(Op::kTranspose, {b.Input({1, 6, 10, 14})}, Perm({0, 2, 1, 3}));
           }),
      Move(
          "transpose_last",
          [](Builder& b) { return b.Op(Op::kTranspose, {b.Input({1, 11, 13})}, Perm({0, 2, 1})); }),
      Move("slice_step_2",
           [](Builder& b) {
             return b.Op(Op::kSlice, {b.Input({1, 16, 8, 8}), b.Indices({0, 0}), b.Indices({8, 8}),
                                      b.Indices({2, 3}), b.Indices({2, 2})});
           }),
      Move("pad_channels",
           [](Builder& b) {
             return b.Op(Op::kPad, {b.Input({1, 16, 4, 4}), b.Indices({0, 8, 0, 0, 0, 8, 0, 0})});
           }),
      Move("concat",
           [](Builder& b) {
             Value* x = b.Input({1, 10, 5, 5});
             return b.Op(Op::kConcat, {x, b.Input({1, 7, 5, 5})}, Axis(1));
           }),
      Move("reshape",
           [](Builder& b) {
             return b.Op(Op::kReshape, {b.Input({1, 12, 4, 4}), b.Indices({1, 48, 4})});
           }),
      {"network.residual_block",
       [] {
         Builder b("residual");
         Value* x = b.Op(Op::kRelu, {b.Conv(b.Input({1, 16, 8, 8}), 16, {})});
         Value* y = b.Conv(b.Op(Op::kRelu, {b.Conv(x, 16, {})}), 16, {});
         return b.Done({b.Op(Op::kRelu, {b.Op(Op::kAdd, {x, y})})});
       },
       0.08},
      {"network.inverted_residual",
       [] {
         Builder b("inverted");
         Value* x = b.Input({1, 16, 8, 8});
         Value* y = b.Op(Op::kRelu, {b.Conv(x, 48, {.kernel = 1})});
         y = b.Op(Op::kRelu, {b.Conv(y, 48, {.groups = 48})});
         return b.Done({b.Op(Op::kAdd, {x, b.Conv(y, 16, {.kernel = 1})})});
       },
       0.08},
      {"network.fire_module",
       [] {
         Builder b("fire");
         Value* x = b.Op(Op::kRelu, {b.Conv(b.Input({1, 16, 9, 9}), 16, {.kernel = 1})});
         Value* ones = b.Op(Op::kRelu, {b.Conv(x, 32, {.kernel = 1})});
         x = b.Op(Op::kConcat, {ones, b.Op(Op::kRelu, {b.Conv(x, 32, {})})}, Axis(1));
         return b.Done({b.Conv(x, 20, {})});
       },
       0.08},
      {"network.ragged_concat",
       [] {
         Builder b("concat");
         Value* x = b.Op(Op::kRelu, {b.Conv(b.Input({1, 16, 7, 7}), 16, {.kernel = 1})});
         Value* pooled = b.Pool(Op::kMaxPool, x, 3, 1, 1);
         x = b.Op(Op::kConcat, {b.Conv(x, 11, {.kernel = 1}), pooled, b.Conv(x, 5, {})}, Axis(1));
         return b.Done({b.Conv(x, 20, {.kernel = 1})});
       },
       0.08},
      {"network.squeeze_and_excite",
       [] {
         Builder b("excite");
         Value* x = b.Op(Op::kHardSwish, {b.Conv(b.Input({1, 16, 8, 8}), 40, {.kernel = 1})});
         Value* gate =
             b.Op(Op::kRelu, {b.Conv(b.Op(Op::kGlobalAveragePool, {x}), 8, {.kernel = 1})});
         gate = b.Op(Op::kHardSigmoid, {b.Conv(gate, 40, {.kernel = 1})});
         return b.Done({b.Conv(b.Op(Op::kMul, {x, gate}), 16, {.kernel = 1})});
       },
       0.08},
      {"network.two_outputs",
       [] {
         Builder b("two_outputs");
         Value* x = b.Op(Op::kRelu, {b.Conv(b.Input({1, 8, 8, 8}), 16, {})});
         return b.Done({b.Conv(x, 8, {.kernel = 1}), b.Pool(Op::kMaxPool, x, 2, 2, 0)});
       },
       0.08},
      {"network.attention", Attention, 0.15},
  };
  return cases;
}

}  // namespace

const std::vector<Case>& AllCases() {
  static const auto* cases = new std::vector<Case>(MakeCases());
  return *cases;
}

}  // namespace kiln::conformance
