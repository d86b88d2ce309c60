// Generates random graphs around the patterns that passes recognise.
#include "tests/passes/random_patterns.h"

#include <array>
#include <cmath>
#include <numbers>

#include "kiln/ir/random_tensor.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/support/random.h"

namespace kiln {
namespace {

class Builder {
 public:
  explicit Builder(uint64_t seed) : random_(seed), graph_("patterns") {}

  Graph Build() {
    Value* x =
        graph_.AddInput("x", {ElementType::kFloat32, Shape{1, Pick(1, 3), Pick(4, 7), Pick(4, 7)}});
    const int stages = static_cast<int>(Pick(2, 5));
    for (int i = 0; i < stages; ++i) x = ImageStage(x);
    if (Coin()) {
      x = Flatten(x);
      for (int i = static_cast<int>(Pick(1, 3)); i > 0; --i) x = MatrixStage(x);
    } else if (Coin()) {
      x = Tokens(x);
      for (int i = static_cast<int>(Pick(2, 6)); i > 0; --i) x = TokenStage(x);
    }
    graph_.MarkOutput(x);
    // A second output from the middle pins a value that a pass would like to fold away.
    if (Coin()) {
      for (const auto& node : graph_.nodes()) {
        if (node->result() != x && random_.Below(8) == 0) {
          graph_.MarkOutput(node->result());
          break;
        }
      }
    }
    return std::move(graph_);
  }

 private:
  int64_t Pick(int64_t low, int64_t high) { return random_.Between(low, high); }
  bool Coin() { return random_.Below(2) == 0; }

  Value* Constant(const Shape& shape, double low, double high) {
    return graph_.AddConstant("c", RandomTensor(random_, ElementType::kFloat32, shape, low, high));
  }
  Value* Scalar(double value) {
    const float f = static_cast<float>(value);
    return graph_.AddConstant("s", Coin() ? Tensor::Scalar(f) : Tensor::Of<float>(Shape{1}, {f}));
  }
  Value* Ints(const std::vector<int64_t>& values) {
    return graph_.AddConstant(
        "i", Tensor::Of<int64_t>(Shape{static_cast<int64_t>(values.size())}, values));
  }
  Value* Add(Op op, std::vector<Value*> operands, Attributes attributes = {}) {
    const std::string name = "n" + std::to_string(count_++);
    Node* node = graph_.AddNode(op, name, std::move(operands), {name}, std::move(attributes));
    KILN_CHECK(InferNode(graph_, *node).ok());
    return node->result();
  }
  // A commutative operator, its operands in either order.
  Value* Either(Op op, Value* a, Value* b) { return Coin() ? Add(op, {a, b}) : Add(op, {b, a}); }
  Value* Times(Value* x, double factor) {
    return Coin() ? Add(Op::kDiv, {x, Scalar(1 / factor)}) : Either(Op::kMul, x, Scalar(factor));
  }

  static Attributes With(std::string_view name, Attribute value) {
    Attributes attributes;
    attributes.Set(name, std::move(value));
    return attributes;
  }

  Value* ImageStage(Value* x) {
    switch (random_.Below(10)) {
      case 0:
      case 1:
        return ScaleShift(Conv(x), -3);
      case 2:
        return BatchNorm(Conv(x));
      case 3:
        return BatchNorm(x);
      case 4:
        return Conv(Pad(x));
      case 5:
        return Gelu(x);
      case 6:
        return HardSwish(x);
      case 7:
        return Add(Op::kRelu, {Add(Op::kAdd, {x, Conv(x, x->shape()[1])})});
      case 8:
        return Line(x);
      default:
        return Add(Op::kConcat, {x, Conv(x)}, With("axis", int64_t{1}));
    }
  }

  // Same height and width; 1x1 or 3x3 kernel, in each of the spellings of its padding.
  Value* Conv(Value* x, int64_t out_channels = 0) {
    const int64_t in = x->shape()[1], out = out_channels != 0 ? out_channels : Pick(1, 4);
    const int64_t k = Coin() ? 1 : 3;
    Attributes attributes;
    if (k == 3 && Coin()) {
      attributes.Set("auto_pad", std::string(Coin() ? "SAME_UPPER" : "SAME_LOWER"));
    } else if (k == 3) {
      attributes.Set("pads", std::vector<int64_t>{1, 1, 1, 1});
    }
    const double bound = 1.0 / std::sqrt(static_cast<double>(in * k * k));
    std::vector<Value*> operands = {x, Constant(Shape{out, in, k, k}, -bound, bound)};
    if (Coin()) operands.push_back(Constant(Shape{out}, -1, 1));
    return Add(Op::kConv, operands, std::move(attributes));
  }

  Value* Pad(Value* x) {
    std::vector<int64_t> pads = {0, 0, Pick(0, 2), Pick(0, 2), 0, 0, Pick(0, 2), Pick(0, 2)};
    if (random_.Below(4) == 0) pads[1] = 1;  // a channel: not the convolution's to pad
    std::vector<Value*> operands = {x, Ints(pads)};
    if (Coin()) operands.push_back(Scalar(Coin() ? 0.0 : 0.5));
    return Add(Op::kPad, operands);
  }

  Value* BatchNorm(Value* x) {
    const Shape c{x->shape()[1]};
    return Add(Op::kBatchNormalization, {x, Constant(c, 0.5, 1.5), Constant(c, -1, 1),
                                         Constant(c, -1, 1), Constant(c, 0.25, 2)});
  }

  // A per-channel Mul, Div, Add or Sub, or two; `axis` counts from the end.
  Value* ScaleShift(Value* x, int axis) {
    for (int i = static_cast<int>(Pick(1, 2)); i > 0; --i) {
      std::vector<int64_t> dims(static_cast<size_t>(-axis), 1);
      dims[0] = Coin() ? x->shape()[x->shape().rank() + axis] : 1;
      Value* c = Constant(Shape(dims), 0.5, 2);
      switch (random_.Below(4)) {
        case 0:
          x = Either(Op::kMul, x, c);
          break;
        case 1:
          x = Add(Op::kDiv, {x, c});
          break;
        case 2:
          x = Either(Op::kAdd, x, c);
          break;
        default:
          x = Add(Op::kSub, {x, c});
      }
    }
    return x;
  }

  // factors[0] * factors[1] * factors[2] in any order and association.
  Value* Product(std::array<Value*, 3> factors) {
    for (size_t i = 3; i > 1; --i) std::swap(factors[i - 1], factors[random_.Below(i)]);
    return Either(Op::kMul, Either(Op::kMul, factors[0], factors[1]), factors[2]);
  }

  Value* Gelu(Value* x) {
    Value* curve = nullptr;
    if (Coin()) {
      curve = Add(Op::kErf, {Times(x, std::numbers::sqrt2 / 2)});
    } else {
      Value* cube =
          Coin() ? Add(Op::kPow, {x, Scalar(3)}) : Either(Op::kMul, x, Add(Op::kMul, {x, x}));
      Value* sum = Either(Op::kAdd, x, Times(cube, 0.044715));
      curve = Add(Op::kTanh, {Times(sum, std::sqrt(2 / std::numbers::pi))});
    }
    return Product(
        {x, Scalar(random_.Below(8) == 0 ? 0.25 : 0.5), Either(Op::kAdd, curve, Scalar(1))});
  }

  Value* HardSwish(Value* x) {
    if (Coin()) {
      Attributes attributes = With("alpha", static_cast<float>(1.0 / 6));
      attributes.Set("beta", 0.5f);
      return Either(Op::kMul, x, Add(Op::kHardSigmoid, {x}, attributes));
    }
    Value* low = graph_.AddConstant("low", Tensor::Scalar(0.0f));
    Value* high = graph_.AddConstant("high", Tensor::Scalar(6.0f));
    return Times(Either(Op::kMul, x, Add(Op::kClip, {Either(Op::kAdd, x, Scalar(3)), low, high})),
                 1.0 / 6);
  }

  // A convolution along one axis.
  Value* Line(Value* x) {
    const Shape s = x->shape();
    Value* line = Add(Op::kReshape, {x, Ints({s[0], s[1], s[2] * s[3]})});
    const int64_t out = Pick(1, 3);
    Attributes attributes = With("pads", std::vector<int64_t>{1, 1});
    attributes.Set("kernel_shape", std::vector<int64_t>{3});
    line = Add(Op::kConv, {line, Constant(Shape{out, s[1], 3}, -0.5, 0.5)}, attributes);
    return Add(Op::kReshape, {line, Ints({s[0], out, s[2], s[3]})});
  }

  Value* Flatten(Value* x) {
    switch (random_.Below(4)) {
      case 0: {
        Attributes attributes = With("keepdims", int64_t{0});
        return Add(Op::kReduceMean, {x, Ints({2, 3})}, attributes);
      }
      case 1:
        return Add(Op::kFlatten, {Add(Op::kReduceMean, {x, Ints({-1, -2})})});
      case 2:
        return Add(Op::kReshape, {x, Ints({0, -1})});
      default:
        return Add(Op::kFlatten, {x});
    }
  }

  Value* MatrixStage(Value* x) {
    const int64_t in = x->shape()[1], out = Pick(1, 6);
    const double bound = 1.0 / std::sqrt(static_cast<double>(in));
    if (Coin()) {
      Attributes attributes;
      const bool transposed = Coin();
      if (transposed) attributes.Set("transB", int64_t{1});
      if (Coin()) attributes.Set("alpha", 0.5f);
      if (Coin()) attributes.Set("beta", 2.0f);
      std::vector<Value*> operands = {
          x, Constant(transposed ? Shape{out, in} : Shape{in, out}, -bound, bound)};
      if (Coin())
        operands.push_back(Constant(Coin()   ? Shape{out}
                                    : Coin() ? Shape{1, out}
                                             : Shape{1},
                                    -1, 1));
      x = Add(Op::kGemm, operands, attributes);
    } else {
      x = Add(Op::kMatMul, {x, Constant(Shape{in, out}, -bound, bound)});
      if (Coin()) x = Either(Op::kAdd, x, Constant(Coin() ? Shape{out} : Shape{1, out}, -1, 1));
    }
    if (Coin()) x = BatchNorm(x);
    return Coin() ? ScaleShift(x, -1) : Add(Op::kRelu, {x});
  }

  // [1, C, H, W] as H*W tokens of 4 features.
  Value* Tokens(Value* x) {
    const Shape s = x->shape();
    x = Add(Op::kReshape, {x, Ints({1, s[1], s[2] * s[3]})});
    x = Add(Op::kTranspose, {x}, With("perm", std::vector<int64_t>{0, 2, 1}));
    return Linear(x, 4);
  }
  Value* Linear(Value* x, int64_t out) {
    const int64_t in = x->shape()[x->shape().rank() - 1];
    x = Add(Op::kMatMul, {x, Constant(Shape{in, out}, -1, 1)});
    return Coin() ? Either(Op::kAdd, x, Constant(Shape{out}, -1, 1)) : x;
  }

  Value* TokenStage(Value* x) {
    switch (random_.Below(8)) {
      case 0:
        return LayerNorm(x);
      case 1:
        return Gelu(x);
      case 2:
        return RmsNorm(x);
      case 3:
        return Rope(x);
      case 4:
        return Swiglu(x);
      case 5:
        return Einsum(x);
      default:
        return Either(Op::kAdd, x, Attention(x));
    }
  }

  Value* Mean(Value* x) { return Add(Op::kReduceMean, {x, Ints({-1})}); }

  Value* LayerNorm(Value* x) {
    Value* d = Add(Op::kSub, {x, Mean(x)});
    Value* e = Coin() ? d : Add(Op::kSub, {x, Mean(x)});
    Value* variance = Mean(Coin() ? Add(Op::kPow, {e, Scalar(2)}) : Add(Op::kMul, {e, e}));
    Value* sum = Either(Op::kAdd, variance, Scalar(1e-2));
    switch (random_.Below(3)) {
      case 0:
        x = Add(Op::kDiv, {d, Add(Op::kSqrt, {sum})});
        break;
      case 1:
        x = Either(Op::kMul, d, Add(Op::kReciprocal, {Add(Op::kSqrt, {sum})}));
        break;
      default:
        x = Either(Op::kMul, d, Add(Op::kPow, {sum, Scalar(-0.5)}));
    }
    if (Coin()) x = Either(Op::kMul, x, Constant(Shape{4}, 0.5, 1.5));
    if (Coin()) x = Either(Op::kAdd, x, Constant(Shape{4}, -1, 1));
    return x;
  }

  Value* RmsNorm(Value* x) {
    Value* mean = Mean(Coin() ? Add(Op::kPow, {x, Scalar(2)}) : Add(Op::kMul, {x, x}));
    Value* sum = Either(Op::kAdd, mean, Scalar(1e-2));
    Value* y = nullptr;
    switch (random_.Below(4)) {
      case 0:
        y = Add(Op::kDiv, {x, Add(Op::kSqrt, {sum})});
        break;
      case 1:
        y = Either(Op::kMul, x, Add(Op::kReciprocal, {Add(Op::kSqrt, {sum})}));
        break;
      case 2:
        y = Either(Op::kMul, x, Add(Op::kDiv, {Scalar(1), Add(Op::kSqrt, {sum})}));
        break;
      default:
        y = Either(Op::kMul, x, Add(Op::kPow, {sum, Scalar(-0.5)}));
    }
    return Coin() ? Either(Op::kMul, y, Constant(Shape{4}, 0.5, 1.5)) : y;
  }

  // Two of the four features turned by an angle for each token. Now and then a spelling that is
  // none: halves in place.
  Value* Rope(Value* x) {
    const int64_t tokens = x->shape()[1];
    const auto half = [&](int64_t first, int64_t end) {
      return Add(Op::kSlice, {x, Ints({first}), Ints({end}), Ints({Coin() ? 2 : -1})});
    };
    Value* low = half(0, 2);
    Value* high = half(2, Coin() ? 4 : INT64_MAX);
    if (random_.Below(6) == 0) std::swap(low, high);
    Value* turned = Add(Op::kConcat, {Add(Op::kNeg, {high}), low}, With("axis", int64_t{-1}));
    const Shape angles = Coin() ? Shape{tokens, 4} : Shape{1, tokens, 4};
    return Either(Op::kAdd, Either(Op::kMul, x, Constant(angles, -1, 1)),
                  Either(Op::kMul, turned, Constant(angles, -1, 1)));
  }

  Value* Swiglu(Value* x) {
    Value* gate = Linear(x, 4);
    return Linear(Product({gate, Add(Op::kSigmoid, {gate}), Linear(x, 4)}), 4);
  }

  // x is [1, tokens, 4]; the result, too.
  Value* Einsum(Value* x) {
    const int64_t tokens = x->shape()[1];
    const auto apply = [&](std::string equation, std::vector<Value*> operands) {
      return Add(Op::kEinsum, std::move(operands), With("equation", std::move(equation)));
    };
    switch (random_.Below(6)) {
      case 0:
        return apply("btc, dc -> btd", {x, Constant(Shape{4, 4}, -0.5, 0.5)});
      case 1:
        return apply("...tc,ts->...sc", {x, Constant(Shape{tokens, tokens}, -0.3, 0.3)});
      case 2:  // no sum at all
        return apply("btc,c,t->btc",
                     {x, Constant(Shape{4}, -1, 1), Constant(Shape{tokens}, -1, 1)});
      case 3: {  // attention's scores and their product
        Value* scores = apply("bic,bjc->bij", {x, x});
        return apply("bij,bjc->bic", {Add(Op::kTanh, {scores}), x});
      }
      case 4:  // a label twice in an operand: the kernel's alone
        return apply("btc,dd,c->btc",
                     {x, Constant(Shape{2, 2}, -0.5, 0.5), Constant(Shape{4}, -1, 1)});
      default:
        return apply("btc->btc", {x});
    }
  }

  Value* Attention(Value* x) {
    const int64_t tokens = x->shape()[1];
    const bool heads = Coin();
    const auto split = [&](Value* v) {
      if (!heads) return v;
      v = Add(Op::kReshape, {v, Ints({1, tokens, 2, 2})});
      return Add(Op::kTranspose, {v}, With("perm", std::vector<int64_t>{0, 2, 1, 3}));
    };
    Value* q = split(Linear(x, 4));
    Value* v = split(Linear(x, 4));
    Value* k = Linear(x, 4);
    if (heads) {
      k = Add(Op::kReshape, {k, Ints({1, tokens, 2, 2})});
      k = Add(Op::kTranspose, {k}, With("perm", std::vector<int64_t>{0, 2, 3, 1}));
    } else {
      k = Add(Op::kTranspose, {k}, With("perm", std::vector<int64_t>{0, 2, 1}));
    }
    const uint64_t place = random_.Below(4);
    if (place == 0 || place == 1) q = Times(q, 0.7);
    if (place == 1) k = Times(k, 0.7);
    Value* scores = Add(Op::kMatMul, {q, k});
    if (place == 2) scores = Times(scores, 0.5);
    if (Coin()) scores = Either(Op::kAdd, scores, Constant(Shape{tokens, tokens}, -1, 0));
    Value* y = Add(Op::kMatMul, {Add(Op::kSoftmax, {scores}, With("axis", int64_t{-1})), v});
    if (!heads) return y;
    y = Add(Op::kTranspose, {y}, With("perm", std::vector<int64_t>{0, 2, 1, 3}));
    return Add(Op::kReshape, {y, Ints({1, tokens, 4})});
  }

  Random random_;
  Graph graph_;
  int count_ = 0;
};

}  // namespace

Graph RandomPatternGraph(uint64_t seed) { return Builder(seed).Build(); }

}  // namespace kiln
