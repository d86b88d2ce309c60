// Grows random graphs from small steps. Every step chooses operands among the existing values, adds
// the constants it needs, and bounds what it computes, so that comparisons of different executors
// are not dominated by overflow or cancellation.

#include "kiln/ir/random_graph.h"
#include "kiln/ir/random_tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "kiln/ir/shape_inference.h"
#include "kiln/ir/window.h"
#include "kiln/support/random.h"

namespace kiln {
namespace {

using Ints = std::vector<int64_t>;
using AttributeList = std::vector<std::pair<std::string_view, Attribute>>;

// A graph that grows step by step. `Pick` chooses among the existing values. A step returns the
// value that it adds, or null if it does not apply to the values that it picked.
class Grower {
 public:
  Grower(uint64_t seed, const RandomGraphOptions& options) : random_(seed), options_(options) {}

  Graph Grow();

  // The growth steps, one per entry of kSteps. The argument is the step's main operator.
  Value* Conv(Op);
  Value* ConvTranspose(Op);
  Value* Pool(Op);
  Value* GlobalPool(Op);
  Value* Dense(Op);
  Value* MatMul(Op);
  Value* BatchNorm(Op);
  Value* LayerNorm(Op);
  Value* ChannelNorm(Op);
  Value* Softmax(Op);
  Value* Unary(Op op);
  Value* OfPositive(Op op);
  Value* ExpStep(Op);
  Value* PReluStep(Op);
  Value* ClipStep(Op);
  Value* Binary(Op op);
  Value* Product(Op);
  Value* Quotient(Op);
  Value* PowStep(Op);
  Value* ModStep(Op);
  Value* Several(Op op);
  Value* Choice(Op compare);
  Value* Logic(Op op);
  Value* NotStep(Op);
  Value* Reduce(Op op);
  Value* ArgMaxStep(Op);
  Value* Concat(Op);
  Value* Split(Op);
  Value* Slice(Op);
  Value* Gather(Op);
  Value* Reshape(Op);
  Value* Flatten(Op);
  Value* Transpose(Op);
  Value* Squeeze(Op);
  Value* Unsqueeze(Op);
  Value* Expand(Op);
  Value* Tile(Op);
  Value* Pad(Op);
  Value* Resize(Op);
  Value* DepthToSpace(Op);
  Value* SpaceToDepth(Op);
  Value* CastStep(Op);
  Value* ConstantOfShape(Op);
  Value* ShapeStep(Op op);
  Value* RangeStep(Op);
  Value* Dropout(Op);
  Value* QuantizeDequantize(Op);
  Value* QuantStep(Op op);

 private:
  int64_t Between(int64_t low, int64_t high) { return random_.Between(low, high); }
  bool Chance(double probability) { return random_.Uniform() < probability; }

  // Returns a value of any rank. Prefers recent ones, so that graphs grow deep.
  Value* Pick() {
    const int64_t n = static_cast<int64_t>(values_.size());
    const int64_t i = Chance(0.6) ? std::max<int64_t>(n - 1 - Between(0, 2), 0) : Between(0, n - 1);
    return values_[static_cast<size_t>(i)];
  }
  // Returns a value of the given rank, or null if there is none.
  Value* PickOfRank(int rank) {
    for (int tries = 0; tries < 8; ++tries) {
      if (Value* x = Pick(); x->shape().rank() == rank) return x;
    }
    for (auto it = values_.rbegin(); it != values_.rend(); ++it) {
      if ((*it)->shape().rank() == rank) return *it;
    }
    return nullptr;
  }
  // Returns a value of the given shape; there must be one.
  Value* PickOfShape(const Shape& shape) {
    std::vector<Value*> fitting;
    for (Value* value : values_) {
      if (value->shape() == shape) fitting.push_back(value);
    }
    return fitting[random_.Below(fitting.size())];
  }

  // Return new constants: random numbers, a list of integers, one number.
  Value* Constant(const Shape& shape, double low, double high) {
    return graph_.AddConstant("", RandomTensor(random_, ElementType::kFloat32, shape, low, high));
  }
  // Returns weights that keep the magnitude of their input: their bound shrinks with the fan-in.
  Value* Weights(const Shape& shape, int64_t fan_in) {
    const double bound = 1.5 / std::sqrt(static_cast<double>(fan_in));
    return Constant(shape, -bound, bound);
  }
  Value* List(const Ints& list) {
    return graph_.AddConstant("",
                              Tensor::Of<int64_t>(Shape{static_cast<int64_t>(list.size())}, list));
  }
  Value* Number(float value) { return graph_.AddConstant("", Tensor::Scalar<float>(value)); }

  // Adds a node and infers its result types. A failure is a fault of the step.
  Node* Add(Op op, std::vector<Value*> operands, AttributeList list = {}, int results = 1) {
    Attributes attributes;
    for (auto& [name, value] : list) attributes.Set(name, std::move(value));
    const std::string name =
        std::string(InfoOf(op).text) + "_" + std::to_string(graph_.num_nodes());
    Node* node = graph_.AddNode(op, name, std::move(operands),
                                std::vector<std::string>(static_cast<size_t>(results)),
                                std::move(attributes));
    const Status status = InferNode(graph_, *node);
    if (!status.ok()) std::fprintf(stderr, "%s\n", MessageOf(status).c_str());
    KILN_CHECK(status.ok());
    return node;
  }
  Value* Make(Op op, std::vector<Value*> operands, AttributeList list = {}) {
    return Add(op, std::move(operands), std::move(list))->result();
  }
  // Returns whether a shape is within the size limit of the options.
  bool Fits(const Shape& shape) const {
    const auto size = CheckedNumElements(shape);
    return size.has_value() && *size > 0 && *size <= options_.max_elements;
  }
  // Applies `inner` to x, or (by chance, if allowed) to the NHWC form of x between two transposes.
  template <typename Inner>
  Value* WithLayout(Value* x, Inner inner) {
    AttributeList list;
    if (!options_.allow_nhwc || !Chance(0.4)) return inner(x, list);
    list.emplace_back("layout", std::string("nhwc"));
    Value* turned = Make(Op::kTranspose, {x}, {{"perm", Ints{0, 2, 3, 1}}});
    return Make(Op::kTranspose, {inner(turned, list)}, {{"perm", Ints{0, 3, 1, 2}}});
  }
  // Returns random strides, pads and dilations of a window over two axes of the given lengths, and
  // its kernel in `kernel`. Kernels never exceed the padded input.
  AttributeList WindowOver(int64_t height, int64_t width, Ints* kernel, bool dilate);
  // Returns a new truth value, compared from an existing value.
  Value* Bool();
  Shape SmallerForBroadcast(const Shape& shape);

  Random random_;
  const RandomGraphOptions& options_;
  Graph graph_{"random"};
  std::vector<Value*> values_;  // the values to pick from: fp32 inputs and results
};

// A growth step with its main operator. Steps are drawn with a probability proportional to
// `weight`.
struct Step {
  Op op;
  int weight;
  Value* (Grower::*grow)(Op);
};

// All growth steps. A step of weight 10 is drawn ten times as often as one of weight 1.
constexpr Step kSteps[] = {
    {Op::kConv, 10, &Grower::Conv},
    {Op::kConvTranspose, 2, &Grower::ConvTranspose},
    {Op::kGemm, 4, &Grower::Dense},
    {Op::kMatMul, 5, &Grower::MatMul},
    {Op::kBatchNormalization, 4, &Grower::BatchNorm},
    {Op::kLayerNormalization, 2, &Grower::LayerNorm},
    {Op::kInstanceNormalization, 1, &Grower::ChannelNorm},
    {Op::kGroupNormalization, 1, &Grower::ChannelNorm},
    {Op::kSoftmax, 2, &Grower::Softmax},
    {Op::kLogSoftmax, 1, &Grower::Softmax},
    {Op::kRelu, 6, &Grower::Unary},
    {Op::kLeakyRelu, 2, &Grower::Unary},
    {Op::kPRelu, 1, &Grower::PReluStep},
    {Op::kElu, 1, &Grower::Unary},
    {Op::kClip, 3, &Grower::ClipStep},
    {Op::kSigmoid, 2, &Grower::Unary},
    {Op::kHardSigmoid, 1, &Grower::Unary},
    {Op::kHardSwish, 1, &Grower::Unary},
    {Op::kTanh, 2, &Grower::Unary},
    {Op::kErf, 1, &Grower::Unary},
    {Op::kGelu, 1, &Grower::Unary},
    {Op::kSoftplus, 1, &Grower::Unary},
    {Op::kAdd, 7, &Grower::Binary},
    {Op::kSub, 2, &Grower::Binary},
    {Op::kMul, 3, &Grower::Product},
    {Op::kDiv, 1, &Grower::Quotient},
    {Op::kPow, 1, &Grower::PowStep},
    {Op::kMod, 1, &Grower::ModStep},
    {Op::kSqrt, 1, &Grower::OfPositive},
    {Op::kReciprocal, 1, &Grower::OfPositive},
    {Op::kNeg, 1, &Grower::Unary},
    {Op::kAbs, 1, &Grower::Unary},
    {Op::kExp, 1, &Grower::ExpStep},
    {Op::kLog, 1, &Grower::OfPositive},
    {Op::kSin, 1, &Grower::Unary},
    {Op::kCos, 1, &Grower::Unary},
    {Op::kFloor, 1, &Grower::Unary},
    {Op::kCeil, 1, &Grower::Unary},
    {Op::kRound, 1, &Grower::Unary},
    {Op::kSign, 1, &Grower::Unary},
    {Op::kMin, 1, &Grower::Several},
    {Op::kMax, 1, &Grower::Several},
    {Op::kMean, 1, &Grower::Several},
    {Op::kSum, 1, &Grower::Several},
    {Op::kEqual, 1, &Grower::Choice},
    {Op::kGreater, 1, &Grower::Choice},
    {Op::kGreaterOrEqual, 1, &Grower::Choice},
    {Op::kLess, 1, &Grower::Choice},
    {Op::kLessOrEqual, 1, &Grower::Choice},
    {Op::kAnd, 1, &Grower::Logic},
    {Op::kOr, 1, &Grower::Logic},
    {Op::kXor, 1, &Grower::Logic},
    {Op::kNot, 1, &Grower::NotStep},
    {Op::kMaxPool, 4, &Grower::Pool},
    {Op::kAveragePool, 3, &Grower::Pool},
    {Op::kGlobalAveragePool, 2, &Grower::GlobalPool},
    {Op::kGlobalMaxPool, 1, &Grower::GlobalPool},
    {Op::kReduceMean, 2, &Grower::Reduce},
    {Op::kReduceSum, 1, &Grower::Reduce},
    {Op::kReduceMax, 1, &Grower::Reduce},
    {Op::kReduceMin, 1, &Grower::Reduce},
    {Op::kReduceProd, 1, &Grower::Reduce},
    {Op::kArgMax, 1, &Grower::ArgMaxStep},
    {Op::kConcat, 4, &Grower::Concat},
    {Op::kSplit, 2, &Grower::Split},
    {Op::kSlice, 2, &Grower::Slice},
    {Op::kGather, 2, &Grower::Gather},
    {Op::kReshape, 4, &Grower::Reshape},
    {Op::kFlatten, 2, &Grower::Flatten},
    {Op::kTranspose, 3, &Grower::Transpose},
    {Op::kSqueeze, 1, &Grower::Squeeze},
    {Op::kUnsqueeze, 1, &Grower::Unsqueeze},
    {Op::kExpand, 1, &Grower::Expand},
    {Op::kTile, 1, &Grower::Tile},
    {Op::kPad, 2, &Grower::Pad},
    {Op::kResize, 2, &Grower::Resize},
    {Op::kDepthToSpace, 1, &Grower::DepthToSpace},
    {Op::kSpaceToDepth, 1, &Grower::SpaceToDepth},
    {Op::kCast, 1, &Grower::CastStep},
    {Op::kConstantOfShape, 1, &Grower::ConstantOfShape},
    {Op::kShape, 1, &Grower::ShapeStep},
    {Op::kSize, 1, &Grower::ShapeStep},
    {Op::kRange, 1, &Grower::RangeStep},
    {Op::kIdentity, 1, &Grower::Unary},
    {Op::kDropout, 1, &Grower::Dropout},
    {Op::kQuantizeLinear, 2, &Grower::QuantizeDequantize},
    {Op::kQuant, 1, &Grower::QuantStep},
    {Op::kBipolarQuant, 1, &Grower::QuantStep},
};

AttributeList Grower::WindowOver(int64_t height, int64_t width, Ints* kernel, bool dilate) {
  Ints strides, dilations, pads(4, 0);
  const bool same = Chance(0.2);
  for (int i = 0; i < 2; ++i) {
    const int64_t length = i == 0 ? height : width;
    const int64_t k = Between(1, std::min<int64_t>(length, 3));
    const int64_t d = dilate && k > 1 && (k - 1) * 2 + 1 <= length && Chance(0.2) ? 2 : 1;
    kernel->push_back(k);
    dilations.push_back(d);
    strides.push_back(Chance(0.3) ? 2 : 1);
    for (int side = 0; side < 2; ++side) {
      if (!same && k > 1 && Chance(0.6))
        pads[static_cast<size_t>(2 * side + i)] = Between(0, k - 1);
    }
  }
  AttributeList list = {{"strides", strides}, {"kernel_shape", *kernel}};
  if (same) {
    list.emplace_back("auto_pad", std::string(Chance(0.5) ? "SAME_UPPER" : "SAME_LOWER"));
  } else {
    list.emplace_back("pads", pads);
  }
  if (dilations != Ints{1, 1}) list.emplace_back("dilations", dilations);
  return list;
}

// Adds a convolution, sometimes depthwise or grouped, with random window and optional bias. Its
// cost is bounded by the size of its result.
Value* Grower::Conv(Op) {
  Value* x = PickOfRank(4);
  if (x == nullptr) return nullptr;
  const Shape shape = x->shape();
  const int64_t channels = shape[1];
  const bool depthwise = channels > 1 && Chance(0.25);
  const int64_t groups = depthwise ? channels : channels % 2 == 0 && Chance(0.2) ? 2 : 1;
  const int64_t out_channels =
      depthwise ? channels * Between(1, 2) : groups * Between(1, std::max<int64_t>(8 / groups, 1));
  if (!Fits({shape[0], out_channels, shape[2] + 4, shape[3] + 4})) return nullptr;
  Ints kernel;
  AttributeList window = WindowOver(shape[2], shape[3], &kernel, true);
  if (groups > 1) window.emplace_back("group", groups);
  Value* weights = Weights({out_channels, channels / groups, kernel[0], kernel[1]},
                           channels / groups * kernel[0] * kernel[1]);
  std::vector<Value*> operands = {nullptr, weights};
  if (Chance(0.6)) operands.push_back(Constant({out_channels}, -0.5, 0.5));
  return WithLayout(x, [&](Value* activations, AttributeList layout) {
    operands[0] = activations;
    layout.insert(layout.end(), window.begin(), window.end());
    return Make(Op::kConv, operands, std::move(layout));
  });
}

// Adds a transposed convolution with equal pads on all sides. Gives up if the pads leave no output.
Value* Grower::ConvTranspose(Op) {
  Value* x = PickOfRank(4);
  if (x == nullptr) return nullptr;
  const Shape& shape = x->shape();
  const int64_t groups = shape[1] % 2 == 0 && Chance(0.3) ? 2 : 1;
  const int64_t per_group = Between(1, 4);
  const int64_t k = Between(2, 3);
  const int64_t stride = Between(1, 2);
  if (!Fits({shape[0], per_group * groups, shape[2] * stride + 4, shape[3] * stride + 4}))
    return nullptr;
  const int64_t pad = Between(0, 1);
  if (stride * (std::min(shape[2], shape[3]) - 1) + k - 2 * pad < 1) return nullptr;
  AttributeList list = {{"strides", Ints{stride, stride}}, {"pads", Ints{pad, pad, pad, pad}}};
  if (stride == 2 && Chance(0.5)) list.emplace_back("output_padding", Ints{1, 0});
  if (groups > 1) list.emplace_back("group", groups);
  Value* weights = Weights({shape[1], per_group, k, k}, shape[1] / groups * k * k);
  return Make(Op::kConvTranspose, {x, weights}, std::move(list));
}

// Adds a max or average pool with a random window.
Value* Grower::Pool(Op op) {
  Value* x = PickOfRank(4);
  if (x == nullptr) return nullptr;
  Ints kernel;
  AttributeList window = WindowOver(x->shape()[2], x->shape()[3], &kernel, false);
  if (!Fits({x->shape()[0], x->shape()[1], x->shape()[2] + 4, x->shape()[3] + 4})) return nullptr;
  if (Chance(0.2)) window.emplace_back("ceil_mode", int64_t{1});
  if (op == Op::kAveragePool && Chance(0.5)) window.emplace_back("count_include_pad", int64_t{1});
  return WithLayout(x, [&](Value* activations, AttributeList layout) {
    layout.insert(layout.end(), window.begin(), window.end());
    return Make(op, {activations}, std::move(layout));
  });
}

// Adds a global max or average pool.
Value* Grower::GlobalPool(Op op) {
  Value* x = PickOfRank(4);
  if (x == nullptr) return nullptr;
  return WithLayout(x, [&](Value* activations, AttributeList layout) {
    return Make(op, {activations}, std::move(layout));
  });
}

// Adds a Gemm with constant weights, after a Flatten if no matrix is available.
Value* Grower::Dense(Op) {
  Value* x = PickOfRank(2);
  if (x == nullptr) {
    x = Pick();
    if (x->shape().rank() == 0) return nullptr;
    x = Make(Op::kFlatten, {x});
  }
  const int64_t in = x->shape()[1];
  const int64_t out = Between(1, 12);
  if (!Fits({in, out})) return nullptr;
  const bool transposed = Chance(0.5);
  Value* weights = Weights(transposed ? Shape{out, in} : Shape{in, out}, in);
  AttributeList list;
  if (transposed) list.emplace_back("transB", int64_t{1});
  if (Chance(0.2)) list.emplace_back("alpha", 0.5f);
  std::vector<Value*> operands = {x, weights};
  if (Chance(0.7)) {
    operands.push_back(Constant({out}, -0.5, 0.5));
    if (Chance(0.2)) list.emplace_back("beta", 2.0f);
  }
  return Make(Op::kGemm, std::move(operands), std::move(list));
}

// Adds a product with constant weights, or of a value with its own transpose.
Value* Grower::MatMul(Op) {
  Value* x = Pick();
  const Shape shape = x->shape();
  if (shape.rank() < 2) return nullptr;
  const int64_t in = shape[shape.rank() - 1];
  if (Chance(0.3)) {
    // As in attention: x times its own transpose, scaled, are the scores.
    Shape scores = shape;
    scores[shape.rank() - 1] = shape[shape.rank() - 2];
    if (!Fits(scores)) return nullptr;
    const float alpha = 1.0f / static_cast<float>(in);
    if (Chance(0.5))
      return Make(Op::kMatMul, {x, x}, {{"transpose_b", int64_t{1}}, {"alpha", alpha}});
    Ints perm;
    for (int i = 0; i < shape.rank(); ++i) perm.push_back(i);
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    Value* turned = Make(Op::kTranspose, {x}, {{"perm", perm}});
    return Make(Op::kMul, {Make(Op::kMatMul, {x, turned}), Number(alpha)});
  }
  const int64_t out = Between(1, 8);
  Shape result = shape;
  result[shape.rank() - 1] = out;
  if (!Fits(result) || !Fits({in, out})) return nullptr;
  return Make(Op::kMatMul, {x, Weights({in, out}, in)});
}

// Adds a batch normalisation with variances away from 0.
Value* Grower::BatchNorm(Op) {
  Value* x = Pick();
  if (x->shape().rank() < 2) return nullptr;
  const Shape channels{x->shape()[1]};
  AttributeList list;
  if (Chance(0.5)) list.emplace_back("epsilon", 1e-3f);
  return Make(Op::kBatchNormalization,
              {x, Constant(channels, 0.5, 1.5), Constant(channels, -0.5, 0.5),
               Constant(channels, -0.5, 0.5), Constant(channels, 0.5, 2)},
              std::move(list));
}

// Adds a layer normalisation over the last axis. The large epsilon keeps nearly constant rows from
// amplifying rounding errors.
Value* Grower::LayerNorm(Op) {
  Value* x = Pick();
  const Shape& shape = x->shape();
  if (shape.rank() < 2 || shape[shape.rank() - 1] < 2) return nullptr;
  const Shape last{shape[shape.rank() - 1]};
  return Make(Op::kLayerNormalization, {x, Constant(last, 0.5, 1.5), Constant(last, -0.5, 0.5)},
              {{"epsilon", 1e-2f}});
}

// Adds an instance or group normalisation over at least four elements.
Value* Grower::ChannelNorm(Op op) {
  Value* x = PickOfRank(4);
  if (x == nullptr || x->shape()[2] * x->shape()[3] < 4) return nullptr;
  const Shape channels{x->shape()[1]};
  AttributeList list = {{"epsilon", 1e-2f}};
  if (op == Op::kGroupNormalization)
    list.emplace_back("num_groups", x->shape()[1] % 2 == 0 ? int64_t{2} : int64_t{1});
  return Make(op, {x, Constant(channels, 0.5, 1.5), Constant(channels, -0.5, 0.5)},
              std::move(list));
}

// Adds a softmax or log-softmax over a random axis.
Value* Grower::Softmax(Op op) {
  Value* x = Pick();
  if (x->shape().rank() == 0) return nullptr;
  AttributeList list;
  if (Chance(0.5)) list.emplace_back("axis", Between(0, x->shape().rank() - 1));
  return Make(op, {x}, std::move(list));
}

// Adds an element-wise operator that accepts all numbers.
Value* Grower::Unary(Op op) {
  AttributeList list;
  if (op == Op::kLeakyRelu && Chance(0.5)) list.emplace_back("alpha", 0.25f);
  if (op == Op::kGelu && Chance(0.5)) list.emplace_back("approximate", std::string("tanh"));
  return Make(op, {Pick()}, std::move(list));
}

// Adds an operator of positive numbers (Sqrt, Reciprocal, Log), applied to |x| + 0.5.
Value* Grower::OfPositive(Op op) {
  Value* positive = Make(Op::kAdd, {Make(Op::kAbs, {Pick()}), Number(0.5f)});
  return Make(op, {positive});
}

// Adds an exponential of numbers bounded by Tanh.
Value* Grower::ExpStep(Op) { return Make(Op::kExp, {Make(Op::kTanh, {Pick()})}); }

// Adds a PRelu with one slope, or with one per channel of an image.
Value* Grower::PReluStep(Op) {
  Value* x = Pick();
  const bool per_channel = x->shape().rank() == 4 && Chance(0.7);
  return Make(Op::kPRelu,
              {x, Constant(per_channel ? Shape{x->shape()[1], 1, 1} : Shape{1}, 0, 0.5)});
}

// Adds a Clip with two bounds, one bound, or none.
Value* Grower::ClipStep(Op) {
  Value* x = Pick();
  switch (Between(0, 3)) {
    case 0:
      return Make(Op::kClip, {x, Number(0), Number(6)});
    case 1:
      return Make(Op::kClip, {x, Number(-0.5f)});
    case 2:
      return Make(Op::kClip, {x, nullptr, Number(0.75f)});
    default:
      return Make(Op::kClip, {x});
  }
}

// Returns a shape that broadcasts to `shape`: some dimensions are 1, some leading ones missing.
Shape Grower::SmallerForBroadcast(const Shape& shape) {
  const int drop = static_cast<int>(Between(0, shape.rank()));
  Ints dims;
  for (int i = drop; i < shape.rank(); ++i) dims.push_back(Chance(0.4) ? 1 : shape[i]);
  return Shape(std::move(dims));
}

// Adds a sum or difference with a value of the same shape, or with a constant that broadcasts.
Value* Grower::Binary(Op op) {
  Value* x = Pick();
  Value* y =
      Chance(0.6) ? PickOfShape(x->shape()) : Constant(SmallerForBroadcast(x->shape()), -1, 1);
  if (Chance(0.3)) std::swap(x, y);
  return Make(op, {x, y});
}

// Adds a product with a bounded factor: a constant, or a Sigmoid of another value.
Value* Grower::Product(Op) {
  Value* x = Pick();
  if (Chance(0.5)) return Make(Op::kMul, {x, Constant(SmallerForBroadcast(x->shape()), -1, 1)});
  return Make(Op::kMul, {x, Make(Op::kSigmoid, {PickOfShape(x->shape())})});
}

// Adds a quotient by a constant away from 0.
Value* Grower::Quotient(Op) {
  Value* x = Pick();
  return Make(Op::kDiv, {x, Constant(SmallerForBroadcast(x->shape()), 0.75, 2)});
}

// Adds the square or cube of numbers bounded by Tanh.
Value* Grower::PowStep(Op) {
  Value* bounded = Make(Op::kTanh, {Pick()});
  return Make(Op::kPow, {bounded, Number(static_cast<float>(Between(2, 3)))});
}

Value* Grower::ModStep(Op) {
  // On whole numbers: elsewhere the remainder may jump with the last bit of its operand.
  Value* whole = Make(Op::kRound, {Make(Op::kMul, {Make(Op::kTanh, {Pick()}), Number(9)})});
  return Make(Op::kMod, {whole, Number(4)}, {{"fmod", int64_t{1}}});
}

// Adds a variadic operator (Min, Max, Mean, Sum) with one to four operands.
Value* Grower::Several(Op op) {
  Value* x = Pick();
  std::vector<Value*> operands = {x};
  for (int64_t i = Between(0, 2); i > 0; --i) operands.push_back(PickOfShape(x->shape()));
  if (Chance(0.3)) operands.push_back(Constant(SmallerForBroadcast(x->shape()), -1, 1));
  return Make(op, std::move(operands));
}

Value* Grower::Bool() {
  Value* x = Pick();
  return Make(Op::kGreater, {x, Constant(SmallerForBroadcast(x->shape()), -0.5, 0.5)});
}

// Adds a selection by the comparison of two values.
Value* Grower::Choice(Op compare) {
  Value* x = Pick();
  Value* y = PickOfShape(x->shape());
  Value* condition = Make(compare, {x, y});
  return Make(Op::kWhere, {condition, x, Chance(0.5) ? Number(0) : y});
}

// Adds a logical operator on two truth values, cast back to numbers.
Value* Grower::Logic(Op op) {
  Value* a = Bool();
  Value* b = Make(Op::kLess, {PickOfShape(a->shape()), Number(0.25f)});
  return Make(Op::kCast, {Make(op, {a, b})}, {{"to", OnnxCodeOf(ElementType::kFloat32)}});
}

// Adds a negated truth value, cast back to a number.
Value* Grower::NotStep(Op) {
  return Make(Op::kCast, {Make(Op::kNot, {Bool()})}, {{"to", OnnxCodeOf(ElementType::kFloat32)}});
}

// Adds a reduction over random axes, some of them counted from the end. Sums are scaled down and
// products bounded, so that numbers do not grow.
Value* Grower::Reduce(Op op) {
  Value* x = Pick();
  const int rank = x->shape().rank();
  Ints axes;
  for (int i = 0; i < rank; ++i) {
    if (Chance(0.5)) axes.push_back(Chance(0.3) ? i - rank : i);
  }
  AttributeList list;
  if (Chance(0.5)) list.emplace_back("keepdims", int64_t{0});
  if (op == Op::kReduceProd) x = Make(Op::kTanh, {x});
  if (axes.empty()) return Make(op, {x}, std::move(list));
  Value* reduced = Make(op, {x, List(axes)}, std::move(list));
  if (op != Op::kReduceSum) return reduced;
  return Make(Op::kMul, {reduced, Number(0.125f)});
}

// Adds the index of a maximum, cast to a small number.
Value* Grower::ArgMaxStep(Op) {
  Value* x = Pick();
  if (x->shape().rank() == 0) return nullptr;
  // Equal elements are rare, except after Tanh: the index seldom depends on the last bit.
  Value* index = Make(Op::kArgMax, {x},
                      {{"axis", Between(0, x->shape().rank() - 1)}, {"keepdims", Between(0, 1)}});
  Value* number = Make(Op::kCast, {index}, {{"to", OnnxCodeOf(ElementType::kFloat32)}});
  return Make(Op::kMul, {number, Number(0.0625f)});
}

// Adds a concatenation with values of the same shape and with constants of other lengths.
Value* Grower::Concat(Op) {
  Value* x = Pick();
  if (x->shape().rank() == 0) return nullptr;
  const int64_t axis = Between(0, x->shape().rank() - 1);
  std::vector<Value*> operands = {x};
  for (int64_t i = Between(0, 2); i > 0; --i) {
    if (Chance(0.7)) {
      operands.push_back(PickOfShape(x->shape()));
    } else {
      Shape other = x->shape();
      other[static_cast<int>(axis)] = Between(1, 3);
      operands.push_back(Constant(other, -1, 1));
    }
  }
  Shape bound = x->shape();
  bound[static_cast<int>(axis)] *= static_cast<int64_t>(operands.size()) + 2;
  if (!Fits(bound)) return nullptr;
  return Make(Op::kConcat, std::move(operands),
              {{"axis", Chance(0.3) ? axis - x->shape().rank() : axis}});
}

// Adds a split into two pieces, by lengths or by number. Both pieces become values to pick from.
Value* Grower::Split(Op) {
  Value* x = Pick();
  const int rank = x->shape().rank();
  if (rank == 0) return nullptr;
  const int64_t axis = Between(0, rank - 1);
  const int64_t length = x->shape()[static_cast<int>(axis)];
  if (length < 2) return nullptr;
  Node* node = nullptr;
  if (Chance(0.5)) {
    const int64_t first = Between(1, length - 1);
    node = Add(Op::kSplit, {x, List({first, length - first})}, {{"axis", axis}}, 2);
  } else {
    node = Add(Op::kSplit, {x}, {{"axis", axis}, {"num_outputs", int64_t{2}}}, 2);
  }
  values_.push_back(node->result(0));
  return node->result(1);
}

// Adds a slice of one axis, forwards or backwards, with the int64 limits that exporters write as
// ends.
Value* Grower::Slice(Op) {
  Value* x = Pick();
  const int rank = x->shape().rank();
  if (rank == 0) return nullptr;
  const int64_t axis = Between(0, rank - 1);
  const int64_t length = x->shape()[static_cast<int>(axis)];
  const bool backward = Chance(0.3);
  const int64_t step = Between(1, 2) * (backward ? -1 : 1);
  int64_t start = Between(0, length - 1);
  int64_t end = backward ? INT64_MIN : Chance(0.3) ? INT64_MAX : Between(start + 1, length);
  if (!backward && Chance(0.3)) start -= length;
  return Make(Op::kSlice, {x, List({start}), List({end}), List({axis}), List({step})});
}

// Adds a gather by constant indices, also negative ones, or by a single scalar index.
Value* Grower::Gather(Op) {
  Value* x = Pick();
  const int rank = x->shape().rank();
  if (rank == 0) return nullptr;
  const int64_t axis = Between(0, rank - 1);
  const int64_t length = x->shape()[static_cast<int>(axis)];
  Ints indices(static_cast<size_t>(Between(1, 4)));
  for (int64_t& index : indices) index = Between(-length, length - 1);
  Shape out = x->shape();
  out[static_cast<int>(axis)] = static_cast<int64_t>(indices.size());
  if (!Fits(out)) return nullptr;
  Value* list =
      Chance(0.3) ? graph_.AddConstant("", Tensor::Scalar<int64_t>(indices[0])) : List(indices);
  return Make(Op::kGather, {x, list}, {{"axis", axis}});
}

// Adds a reshape to a list, to rows, to a matrix, or to an image.
Value* Grower::Reshape(Op) {
  Value* x = Pick();
  const Shape& shape = x->shape();
  switch (Between(0, 3)) {
    case 0:
      return Make(Op::kReshape, {x, List({-1})});
    case 1:
      if (shape.rank() == 0) return nullptr;
      return Make(Op::kReshape, {x, List({0, -1})});
    case 2: {
      const int64_t size = shape.NumElements();
      const int64_t factor = size % 6 == 0 ? 6 : size % 4 == 0 ? 4 : size % 2 == 0 ? 2 : 1;
      return Make(Op::kReshape, {x, List({factor, size / factor})});
    }
    default: {
      // Back to an image, so that convolutions can follow.
      const int64_t size = shape.NumElements();
      if (size % 16 != 0) return nullptr;
      return Make(Op::kReshape, {x, List({1, -1, 4, 4})});
    }
  }
}

// Adds a flatten at any axis, the rank included.
Value* Grower::Flatten(Op) {
  Value* x = Pick();
  return Make(Op::kFlatten, {x}, {{"axis", Between(0, x->shape().rank())}});
}

// Adds a transposition by a random permutation (Fisher-Yates), or without one, which reverses the
// axes.
Value* Grower::Transpose(Op) {
  Value* x = Pick();
  const int rank = x->shape().rank();
  if (Chance(0.1)) return Make(Op::kTranspose, {x});
  Ints perm;
  for (int i = 0; i < rank; ++i) perm.push_back(i);
  for (int i = rank - 1; i > 0; --i)
    std::swap(perm[static_cast<size_t>(i)], perm[static_cast<size_t>(Between(0, i))]);
  return Make(Op::kTranspose, {x}, {{"perm", perm}});
}

// Adds a squeeze of all axes of length 1, or of the first one.
Value* Grower::Squeeze(Op) {
  Value* x = Pick();
  if (Chance(0.5)) return Make(Op::kSqueeze, {x});
  for (int i = 0; i < x->shape().rank(); ++i) {
    if (x->shape()[i] == 1) return Make(Op::kSqueeze, {x, List({i})});
  }
  return nullptr;
}

// Adds an unsqueeze at any position, counted from either end.
Value* Grower::Unsqueeze(Op) {
  Value* x = Pick();
  const int rank = x->shape().rank();
  if (rank > 4) return nullptr;
  return Make(Op::kUnsqueeze, {x, List({Between(-rank - 1, rank)})});
}

// Adds an expansion of axes of length 1, and sometimes by a leading axis.
Value* Grower::Expand(Op) {
  Value* x = Pick();
  Ints dims = x->shape().dims();
  for (int64_t& d : dims) {
    if (d == 1 && Chance(0.5)) d = Between(1, 3);
  }
  if (dims.size() < 4 && Chance(0.3)) dims.insert(dims.begin(), 2);
  if (!Fits(Shape(dims))) return nullptr;
  return Make(Op::kExpand, {x, List(dims)});
}

// Adds a repetition of up to two copies per axis.
Value* Grower::Tile(Op) {
  Value* x = Pick();
  Ints repeats;
  Shape out = x->shape();
  for (int i = 0; i < out.rank(); ++i) {
    repeats.push_back(Chance(0.3) ? 2 : 1);
    out[i] *= repeats.back();
  }
  if (!Fits(out)) return nullptr;
  return Make(Op::kTile, {x, List(repeats)});
}

// Adds a padding of random axes in any mode.
Value* Grower::Pad(Op) {
  Value* x = Pick();
  const Shape& shape = x->shape();
  static constexpr std::string_view kModes[] = {"constant", "reflect", "edge", "wrap"};
  const std::string mode(kModes[random_.Below(4)]);
  Ints pads(static_cast<size_t>(2 * shape.rank()), 0);
  Shape out = shape;
  for (int i = 0; i < shape.rank(); ++i) {
    // Reflection cannot repeat the edge element, and wrapping cannot take more than the whole axis.
    const int64_t most =
        mode == "constant" || mode == "edge" ? 2 : std::min<int64_t>(2, shape[i] - 1);
    for (int side = 0; side < 2; ++side) {
      if (!Chance(0.4)) continue;
      int64_t& pad = pads[static_cast<size_t>(side * shape.rank() + i)];
      pad = Between(0, most);
      out[i] += pad;
    }
  }
  if (!Fits(out)) return nullptr;
  std::vector<Value*> operands = {x, List(pads)};
  if (mode == "constant" && Chance(0.5)) operands.push_back(Number(-1.5f));
  return Make(Op::kPad, std::move(operands), {{"mode", mode}});
}

// Adds a resize of an image by scales or to sizes, nearest or linear.
Value* Grower::Resize(Op) {
  Value* x = PickOfRank(4);
  if (x == nullptr || !Fits({x->shape()[0], x->shape()[1], x->shape()[2] * 2, x->shape()[3] * 2}))
    return nullptr;
  AttributeList list = {{"mode", std::string(Chance(0.5) ? "nearest" : "linear")}};
  if (Chance(0.5)) {
    list.emplace_back("coordinate_transformation_mode", std::string("asymmetric"));
    list.emplace_back("nearest_mode", std::string("floor"));
  }
  if (Chance(0.5)) {
    Value* scales =
        graph_.AddConstant("", Tensor::Of<float>(Shape{4}, {1, 1, 2, Chance(0.5) ? 2.0f : 1.0f}));
    return Make(Op::kResize, {x, nullptr, scales}, std::move(list));
  }
  const Shape& s = x->shape();
  return Make(Op::kResize,
              {x, nullptr, nullptr, List({s[0], s[1], s[2] * 2, std::max<int64_t>(s[3] / 2, 1)})},
              std::move(list));
}

// Adds a depth-to-space by blocks of 2x2.
Value* Grower::DepthToSpace(Op) {
  Value* x = PickOfRank(4);
  if (x == nullptr || x->shape()[1] % 4 != 0) return nullptr;
  return Make(Op::kDepthToSpace, {x},
              {{"blocksize", int64_t{2}}, {"mode", std::string(Chance(0.5) ? "CRD" : "DCR")}});
}

// Adds a space-to-depth by blocks of 2x2.
Value* Grower::SpaceToDepth(Op) {
  Value* x = PickOfRank(4);
  if (x == nullptr || x->shape()[2] % 2 != 0 || x->shape()[3] % 2 != 0) return nullptr;
  return Make(Op::kSpaceToDepth, {x}, {{"blocksize", int64_t{2}}});
}

// Adds a cast to another type and back. Numbers are bounded, and rounded before a cast to integers,
// since a truncation may jump with the last bit.
Value* Grower::CastStep(Op) {
  static constexpr ElementType kTypes[] = {ElementType::kFloat64, ElementType::kInt32,
                                           ElementType::kInt8, ElementType::kInt64};
  const ElementType type = kTypes[random_.Below(4)];
  Value* bounded = Make(Op::kMul, {Make(Op::kTanh, {Pick()}), Number(20)});
  if (IsInteger(type)) bounded = Make(Op::kRound, {bounded});
  Value* narrow = Make(Op::kCast, {bounded}, {{"to", OnnxCodeOf(type)}});
  Value* back = Make(Op::kCast, {narrow}, {{"to", OnnxCodeOf(ElementType::kFloat32)}});
  return Make(Op::kMul, {back, Number(0.0625f)});
}

// Adds a constant of the shape of another value.
Value* Grower::ConstantOfShape(Op) {
  const Shape shape = Pick()->shape();
  if (shape.rank() == 0) return nullptr;
  return Make(Op::kConstantOfShape, {List(shape.dims())},
              {{"value", Tensor::Of<float>(Shape{1}, {0.25f})}});
}

// Adds the shape or size of a value, cast to small numbers.
Value* Grower::ShapeStep(Op op) {
  Value* x = Pick();
  if (op == Op::kShape && x->shape().rank() == 0) return nullptr;
  Value* number = Make(Op::kCast, {Make(op, {x})}, {{"to", OnnxCodeOf(ElementType::kFloat32)}});
  return Make(Op::kMul, {number, Number(0.03125f)});
}

// Adds a range of numbers from constants.
Value* Grower::RangeStep(Op) {
  return Make(Op::kRange,
              {Number(-0.5f), Number(static_cast<float>(Between(1, 4))), Number(0.25f)});
}

Value* Grower::Dropout(Op) { return Make(Op::kDropout, {Pick()}); }

// Adds a QuantizeLinear and DequantizeLinear pair, per tensor or per channel.
Value* Grower::QuantizeDequantize(Op) {
  Value* x = Pick();
  const int rank = x->shape().rank();
  const bool per_channel = rank >= 2 && Chance(0.4);
  const int64_t count = per_channel ? x->shape()[1] : 1;
  const Shape shape = per_channel ? Shape{count} : Shape{};
  const bool is_signed = Chance(0.5);
  Value* scale = Constant(shape, 0.01, 0.05);
  const auto codes = static_cast<size_t>(count);
  Value* zero = graph_.AddConstant(
      "", is_signed
              ? Tensor::Of<int8_t>(shape,
                                   std::vector<int8_t>(codes, static_cast<int8_t>(Between(-3, 3))))
              : Tensor::Of<uint8_t>(
                    shape, std::vector<uint8_t>(codes, static_cast<uint8_t>(Between(100, 140)))));
  Value* quantised = Make(Op::kQuantizeLinear, {x, scale, zero});
  return Make(Op::kDequantizeLinear, {quantised, scale, zero});
}

// Adds a Quant of 2 to 8 bits with scale 1/8, or a BipolarQuant.
Value* Grower::QuantStep(Op op) {
  Value* x = Pick();
  if (op == Op::kBipolarQuant) return Make(op, {x, Number(0.5f)});
  return Make(op, {x, Number(0.125f), Number(0), Number(static_cast<float>(Between(2, 8)))},
              {{"signed", Between(0, 1)},
               {"narrow", Between(0, 1)},
               {"rounding_mode", std::string("ROUND")}});
}

// Creates the inputs, takes the steps, and chooses the outputs.
Graph Grower::Grow() {
  const int64_t channels = Between(1, 6);
  const Shape image{options_.batch, channels, Between(4, 9), Between(4, 9)};
  const int64_t inputs = Between(1, std::max(options_.max_inputs, 1));
  for (int64_t i = 0; i < inputs; ++i) {
    values_.push_back(graph_.AddInput("input" + std::to_string(i), {ElementType::kFloat32, image}));
  }
  // The steps whose main operator the options allow.
  std::vector<Step> steps;
  uint64_t total = 0;
  for (const Step& step : kSteps) {
    const auto& ops = options_.ops;
    if (!ops.empty() && std::find(ops.begin(), ops.end(), step.op) == ops.end()) continue;
    steps.push_back(step);
    total += static_cast<uint64_t>(step.weight);
  }
  KILN_CHECK(!steps.empty());
  const int64_t wanted = Between(options_.min_steps, options_.max_steps);
  int64_t done = 0;
  // The limit on tries ends the loop if no step applies any more.
  for (int64_t tries = 0; done < wanted && tries < 10 * wanted; ++tries) {
    uint64_t draw = random_.Below(total);
    const Step* step = steps.data();
    // Draws a step by its weight.
    while (draw >= static_cast<uint64_t>(step->weight))
      draw -= static_cast<uint64_t>((step++)->weight);
    Value* made = (this->*step->grow)(step->op);
    if (made == nullptr || !Fits(made->shape()) || made->shape().rank() > 5) continue;
    values_.push_back(made);
    ++done;
  }
  // Values without users become outputs, except for a few dead ones.
  for (const auto& node : graph_.nodes()) {
    for (Value* result : node->results()) {
      if (!result->users().empty()) continue;
      if (options_.allow_dead_nodes && !graph_.outputs().empty() && Chance(0.15)) continue;
      graph_.MarkOutput(result);
    }
  }
  if (Chance(0.2) && graph_.num_nodes() > 0) {
    // An output that also has users inside the graph.
    Value* inner = graph_.nodes().front()->result();
    const auto& outputs = graph_.outputs();
    if (std::find(outputs.begin(), outputs.end(), inner) == outputs.end()) graph_.MarkOutput(inner);
  }
  if (graph_.outputs().empty()) graph_.MarkOutput(Make(Op::kIdentity, {graph_.inputs()[0]}));
  graph_.EraseUnusedConstants();
  return std::move(graph_);
}

}  // namespace

Graph RandomGraph(uint64_t seed, const RandomGraphOptions& options) {
  return Grower(seed, options).Grow();
}

std::vector<Op> RandomGraphOps() {
  std::vector<Op> out;
  for (const Step& step : kSteps) out.push_back(step.op);
  return out;
}

// The constant separates this sequence from that of RandomGraph with the same seed.
std::vector<Tensor> RandomInputs(const Graph& graph, uint64_t seed) {
  Random random(seed ^ 0x696e70757473u);
  std::vector<Tensor> out;
  for (const Value* input : graph.inputs()) {
    const bool is_float = IsFloat(input->element());
    out.push_back(RandomTensor(random, input->element(), input->shape(), is_float ? -1 : 0,
                               is_float ? 1 : 8));
  }
  return out;
}

}  // namespace kiln
