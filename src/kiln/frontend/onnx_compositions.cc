// ONNX operators that are a short formula over Kiln's operators; import writes the formula out.
// Each function states its formula. Defaults of attributes are those of ONNX's Operators.md.
#include <fmt/format.h>

#include <limits>
#include <numeric>

#include "kiln/frontend/onnx_rule_functions.h"
#include "kiln/frontend/onnx_tensor.h"

namespace kiln::onnx_rules {
namespace {

// Returns an error unless operand 0 is of a float type.
Status RequireFloat(const NodeImport& node) {
  if (IsFloat(node.operand(0)->element())) return OkStatus();
  return node.Refuse(fmt::format("operand of type {}", NameOf(node.operand(0)->element())),
                     "cast it to a float type");
}

// Returns the greatest finite value of a float type.
double GreatestOf(ElementType type) {
  switch (type) {
    case ElementType::kFloat64:
      return std::numeric_limits<double>::max();
    case ElementType::kFloat16:
      return 65504.0;
    case ElementType::kBfloat16:
      return 0x1.fep127;
    default:
      return static_cast<double>(std::numeric_limits<float>::max());
  }
}

// Prepares a Reduce* formula: moves axes to operand 1 in every opset and returns the attributes of
// the reduction.
StatusOr<Attributes> PrepareReduction(NodeImport& node) {
  if (node.opset() < 18) KILN_RETURN_IF_ERROR(AxesToOperand(node));
  // The formula would still apply its element-wise part, so a reduction over no axes is refused.
  if (node.attributes.Int("noop_with_empty_axes", 0) != 0) {
    const Shape* axes = node.ShapeOf(1);
    if (axes == nullptr || axes->rank() != 1 || (*axes)[0] < 1) {
      return node.Refuse("noop_with_empty_axes without axes",
                         "name the axes, or leave the node out");
    }
  }
  return Attrs({{"keepdims", node.attributes.Int("keepdims", 1)}});
}

}  // namespace

// Finds the greatest of the values in reverse order. The order is reversed by -x for floats and by
// the bitwise complement for integers (-1 - x if signed, max - x if not), which cannot overflow.
Status ComposeArgMin(NodeImport& node) {
  Value* x = node.operand(0);
  Value* reversed = nullptr;
  if (IsFloat(x->element())) {
    KILN_ASSIGN_OR_RETURN(reversed, node.Emit("negated", Op::kNeg, {x}));
  } else if (IsInteger(x->element())) {
    KILN_ASSIGN_OR_RETURN(reversed,
                          node.Emit("complement", Op::kSub, {node.ScalarLike("ones", -1, x), x}));
  } else {
    return node.Invalid(fmt::format("operand of type {}", NameOf(x->element())),
                        "it must be a number");
  }
  return node.EmitResult(Op::kArgMax, {reversed}, node.attributes);
}

// Casts to the type of operand 1.
Status ComposeCastLike(NodeImport& node) {
  if (node.operand(1) == nullptr) return node.Invalid("lacks the operand whose type to take");
  Attributes attributes = Attrs({{"to", OnnxCodeOf(node.operand(1)->element())}});
  if (node.attributes.Has("saturate"))
    attributes.Set("saturate", node.attributes.Int("saturate", 1));
  return node.EmitResult(Op::kCast, {node.operand(0)}, attributes);
}

// Computes alpha * elu(x / alpha).
Status ComposeCelu(NodeImport& node) {
  KILN_RETURN_IF_ERROR(RequireFloat(node));
  Value* x = node.operand(0);
  Value* alpha = node.ScalarLike("alpha", node.attributes.Float("alpha", 1.0f), x);
  KILN_ASSIGN_OR_RETURN(Value * scaled, node.Emit("scaled", Op::kDiv, {x, alpha}));
  KILN_ASSIGN_OR_RETURN(Value * elu, node.Emit("elu", Op::kElu, {scaled}));
  return node.EmitResult(Op::kMul, {elu, alpha});
}

namespace {
// Returns (exp(x) + exp(-x)) / 2.
StatusOr<Value*> EmitCosh(NodeImport& node) {
  KILN_RETURN_IF_ERROR(RequireFloat(node));
  Value* x = node.operand(0);
  KILN_ASSIGN_OR_RETURN(Value * up, node.Emit("exp", Op::kExp, {x}));
  KILN_ASSIGN_OR_RETURN(Value * negated, node.Emit("negated", Op::kNeg, {x}));
  KILN_ASSIGN_OR_RETURN(Value * down, node.Emit("exp_negated", Op::kExp, {negated}));
  KILN_ASSIGN_OR_RETURN(Value * sum, node.Emit("sum", Op::kAdd, {up, down}));
  return node.Emit("cosh", Op::kMul, {sum, node.ScalarLike("half", 0.5, x)});
}
}  // namespace

Status ComposeCosh(NodeImport& node) {
  KILN_ASSIGN_OR_RETURN(Value * cosh, EmitCosh(node));
  return node.EmitResult(Op::kIdentity, {cosh});
}

// Computes tanh(x) * cosh(x), which keeps its precision near 0, unlike the difference of two
// exponentials.
Status ComposeSinh(NodeImport& node) {
  KILN_ASSIGN_OR_RETURN(Value * cosh, EmitCosh(node));
  KILN_ASSIGN_OR_RETURN(Value * tanh, node.Emit("tanh", Op::kTanh, {node.operand(0)}));
  return node.EmitResult(Op::kMul, {tanh, cosh});
}

// Computes sin(x) / cos(x).
Status ComposeTan(NodeImport& node) {
  KILN_RETURN_IF_ERROR(RequireFloat(node));
  KILN_ASSIGN_OR_RETURN(Value * sine, node.Emit("sin", Op::kSin, {node.operand(0)}));
  KILN_ASSIGN_OR_RETURN(Value * cosine, node.Emit("cos", Op::kCos, {node.operand(0)}));
  return node.EmitResult(Op::kDiv, {sine, cosine});
}

// A constant matrix with ones on diagonal k, cast to the result's type.
Status ComposeEyeLike(NodeImport& node) {
  const Shape* shape = node.ShapeOf(0);
  if (shape == nullptr || shape->rank() != 2 || !shape->IsKnown()) {
    return node.Refuse("operand of unknown shape", "give the shape of the network's input");
  }
  const std::optional<int64_t> count = CheckedNumElements(*shape);
  if (!count) return node.Refuse("result " + shape->ToString() + " is too large", "");
  KILN_RETURN_IF_ERROR(node.ClaimElements(*count));
  const int64_t type = node.attributes.Int("dtype", OnnxCodeOf(node.operand(0)->element()));
  const int64_t k = node.attributes.Int("k", 0);
  // Built in fp32 and cast by a node, so that every element type is supported.
  Tensor ones(ElementType::kFloat32, *shape);
  for (int64_t row = 0; row < (*shape)[0]; ++row) {
    for (int64_t column = 0; column < (*shape)[1]; ++column) {
      if (column - row == k)
        ones.data<float>()[static_cast<size_t>(row * (*shape)[1] + column)] = 1;
    }
  }
  return node.EmitResult(Op::kCast, {node.Constant("eye", std::move(ones))}, Attrs({{"to", type}}));
}

// Computes 1 at the position of the first greatest element, 0 elsewhere.
Status ComposeHardmax(NodeImport& node) {
  KILN_RETURN_IF_ERROR(RequireFloat(node));
  const Shape* shape = node.ShapeOf(0);
  if (shape == nullptr)
    return node.Refuse("operand of unknown shape", "give the shape of the network's input");
  KILN_ASSIGN_OR_RETURN(
      const int axis,
      node.NormaliseAxis(node.attributes.Int("axis", node.opset() < 13 ? 1 : -1), shape->rank()));
  // Before opset 13 Hardmax saw a matrix; only its last axis means the same today.
  if (node.opset() < 13 && axis != shape->rank() - 1) {
    return node.Refuse(fmt::format("axis {} of opset 12 that is not the last", axis),
                       "convert the model to opset 13");
  }
  const int64_t length = (*shape)[axis];
  if (length < 0)
    return node.Refuse("axis of unknown size", "give the shape of the network's input");
  KILN_RETURN_IF_ERROR(node.ClaimElements(length));
  std::vector<int64_t> positions(static_cast<size_t>(length)),
      dims(static_cast<size_t>(shape->rank()), 1);
  std::iota(positions.begin(), positions.end(), int64_t{0});
  dims[static_cast<size_t>(axis)] = length;
  Value* range = node.Constant("positions", Tensor::Of<int64_t>(Shape(dims), positions));
  const int64_t type = OnnxCodeOf(node.operand(0)->element());
  KILN_ASSIGN_OR_RETURN(Value * greatest,
                        node.Emit("greatest", Op::kArgMax, {node.operand(0)},
                                  Attrs({{"axis", int64_t{axis}}, {"keepdims", int64_t{1}}})));
  KILN_ASSIGN_OR_RETURN(Value * mask, node.Emit("mask", Op::kEqual, {range, greatest}));
  return node.EmitResult(Op::kCast, {mask}, Attrs({{"to", type}}));
}

// Compares |x|, or x, with infinity, depending on the signs to detect.
Status ComposeIsInf(NodeImport& node) {
  KILN_RETURN_IF_ERROR(RequireFloat(node));
  Value* x = node.operand(0);
  const bool negative = node.attributes.Int("detect_negative", 1) != 0;
  const bool positive = node.attributes.Int("detect_positive", 1) != 0;
  const double infinity = std::numeric_limits<double>::infinity();
  if (negative && positive) {
    KILN_ASSIGN_OR_RETURN(Value * magnitude, node.Emit("magnitude", Op::kAbs, {x}));
    return node.EmitResult(Op::kEqual, {magnitude, node.ScalarLike("infinity", infinity, x)});
  }
  if (negative || positive) {
    return node.EmitResult(Op::kEqual,
                           {x, node.ScalarLike("infinity", negative ? -infinity : infinity, x)});
  }
  // There is nothing to detect; x > infinity is false for every x.
  return node.EmitResult(Op::kGreater, {x, node.ScalarLike("infinity", infinity, x)});
}

// Only a NaN is neither at most infinity nor above it.
Status ComposeIsNaN(NodeImport& node) {
  KILN_RETURN_IF_ERROR(RequireFloat(node));
  Value* x = node.operand(0);
  Value* infinity = node.ScalarLike("infinity", std::numeric_limits<double>::infinity(), x);
  KILN_ASSIGN_OR_RETURN(Value * ordered, node.Emit("ordered", Op::kLessOrEqual, {x, infinity}));
  return node.EmitResult(Op::kNot, {ordered});
}

// Computes x / (bias + alpha * mean of x^2 over `size` channels)^beta. The mean is an average pool
// along the channel axis of a [batch, 1, channels, spatial] view; channels beyond the ends count as
// zeros.
// The window is (size - 1) / 2 channels before and size / 2 after, e.g. 1 and 2 for size 4.
Status ComposeLrn(NodeImport& node) {
  KILN_RETURN_IF_ERROR(RequireFloat(node));
  Value* x = node.operand(0);
  const Shape* shape = node.ShapeOf(0);
  const int64_t size = node.attributes.Int("size", 0);
  if (shape == nullptr || shape->rank() < 2 || (*shape)[1] < 0) {
    return node.Refuse("operand with unknown channels", "give the shape of the network's input");
  }
  if (size < 1) return node.Invalid(fmt::format("size {}", size), "it must be at least 1");
  // Known dimensions allow a reshape in which the channels are an axis that the pool slides along.
  const int64_t channels = (*shape)[1];
  int64_t spatial = 1;
  for (int axis = 2; axis < shape->rank(); ++axis) {
    if ((*shape)[axis] < 0 || spatial > kMaxElements) {
      return node.Refuse("operand of unknown shape", "give the shape of the network's input");
    }
    spatial *= (*shape)[axis];
  }
  KILN_ASSIGN_OR_RETURN(Value * square, node.Emit("square", Op::kMul, {x, x}));
  KILN_ASSIGN_OR_RETURN(Value * plane,
                        node.Emit("plane", Op::kReshape,
                                  {square, node.Ints("plane_shape", {-1, 1, channels, spatial})}));
  KILN_ASSIGN_OR_RETURN(
      Value * pooled,
      node.Emit("mean", Op::kAveragePool, {plane},
                Attrs({{"kernel_shape", std::vector<int64_t>{size, 1}},
                       {"pads", std::vector<int64_t>{(size - 1) / 2, 0, size / 2, 0}},
                       {"count_include_pad", int64_t{1}}})));
  KILN_ASSIGN_OR_RETURN(Value * x_shape, node.Emit("shape", Op::kShape, {x}));
  KILN_ASSIGN_OR_RETURN(Value * mean, node.Emit("mean_square", Op::kReshape, {pooled, x_shape}));
  Value* alpha = node.ScalarLike("alpha", node.attributes.Float("alpha", 1e-4f), x);
  Value* bias = node.ScalarLike("bias", node.attributes.Float("bias", 1.0f), x);
  Value* beta = node.ScalarLike("beta", node.attributes.Float("beta", 0.75f), x);
  KILN_ASSIGN_OR_RETURN(Value * scaled, node.Emit("scaled", Op::kMul, {mean, alpha}));
  KILN_ASSIGN_OR_RETURN(Value * shifted, node.Emit("shifted", Op::kAdd, {scaled, bias}));
  KILN_ASSIGN_OR_RETURN(Value * power, node.Emit("power", Op::kPow, {shifted, beta}));
  return node.EmitResult(Op::kDiv, {x, power});
}

// Computes (x - mean) / (sqrt(mean((x - mean)^2)) + 1e-9).
Status ComposeMeanVarianceNormalization(NodeImport& node) {
  KILN_RETURN_IF_ERROR(RequireFloat(node));
  Value* x = node.operand(0);
  Value* axes = node.Ints("axes", node.attributes.Ints("axes", {0, 2, 3}));
  KILN_ASSIGN_OR_RETURN(Value * mean, node.Emit("mean", Op::kReduceMean, {x, axes}));
  KILN_ASSIGN_OR_RETURN(Value * centred, node.Emit("centred", Op::kSub, {x, mean}));
  KILN_ASSIGN_OR_RETURN(Value * square, node.Emit("square", Op::kMul, {centred, centred}));
  KILN_ASSIGN_OR_RETURN(Value * variance, node.Emit("variance", Op::kReduceMean, {square, axes}));
  KILN_ASSIGN_OR_RETURN(Value * deviation, node.Emit("deviation", Op::kSqrt, {variance}));
  KILN_ASSIGN_OR_RETURN(
      Value * guarded,
      node.Emit("guarded", Op::kAdd, {deviation, node.ScalarLike("epsilon", 1e-9, x)}));
  return node.EmitResult(Op::kDiv, {centred, guarded});
}

// Computes x * tanh(softplus(x)).
Status ComposeMish(NodeImport& node) {
  KILN_RETURN_IF_ERROR(RequireFloat(node));
  KILN_ASSIGN_OR_RETURN(Value * softplus, node.Emit("softplus", Op::kSoftplus, {node.operand(0)}));
  KILN_ASSIGN_OR_RETURN(Value * tanh, node.Emit("tanh", Op::kTanh, {softplus}));
  return node.EmitResult(Op::kMul, {node.operand(0), tanh});
}

// Computes sum(|x|).
Status ComposeReduceL1(NodeImport& node) {
  KILN_ASSIGN_OR_RETURN(Attributes reduction, PrepareReduction(node));
  KILN_ASSIGN_OR_RETURN(Value * magnitude, node.Emit("magnitude", Op::kAbs, {node.operand(0)}));
  return node.EmitResult(Op::kReduceSum, {magnitude, node.operand(1)}, reduction);
}

// Computes sqrt(sum(x^2)).
Status ComposeReduceL2(NodeImport& node) {
  KILN_RETURN_IF_ERROR(RequireFloat(node));
  KILN_ASSIGN_OR_RETURN(Attributes reduction, PrepareReduction(node));
  KILN_ASSIGN_OR_RETURN(Value * square,
                        node.Emit("square", Op::kMul, {node.operand(0), node.operand(0)}));
  KILN_ASSIGN_OR_RETURN(Value * sum,
                        node.Emit("sum", Op::kReduceSum, {square, node.operand(1)}, reduction));
  return node.EmitResult(Op::kSqrt, {sum});
}

// Computes log(sum(x)).
Status ComposeReduceLogSum(NodeImport& node) {
  KILN_RETURN_IF_ERROR(RequireFloat(node));
  KILN_ASSIGN_OR_RETURN(Attributes reduction, PrepareReduction(node));
  KILN_ASSIGN_OR_RETURN(
      Value * sum, node.Emit("sum", Op::kReduceSum, {node.operand(0), node.operand(1)}, reduction));
  return node.EmitResult(Op::kLog, {sum});
}

// Computes m + log(sum(exp(x - m))), where m is the greatest element, clipped to finite values so
// that infinite results come out as infinities rather than NaN.
Status ComposeReduceLogSumExp(NodeImport& node) {
  KILN_RETURN_IF_ERROR(RequireFloat(node));
  KILN_ASSIGN_OR_RETURN(Attributes reduction, PrepareReduction(node));
  Value* x = node.operand(0);
  Value* axes = node.operand(1);
  const double greatest = GreatestOf(x->element());
  const Attributes keep = Attrs({{"keepdims", int64_t{1}}});
  KILN_ASSIGN_OR_RETURN(Value * peak, node.Emit("peak", Op::kReduceMax, {x, axes}, keep));
  KILN_ASSIGN_OR_RETURN(Value * finite, node.Emit("finite_peak", Op::kClip,
                                                  {peak, node.ScalarLike("least", -greatest, x),
                                                   node.ScalarLike("greatest", greatest, x)}));
  KILN_ASSIGN_OR_RETURN(Value * centred, node.Emit("centred", Op::kSub, {x, finite}));
  KILN_ASSIGN_OR_RETURN(Value * exp, node.Emit("exp", Op::kExp, {centred}));
  KILN_ASSIGN_OR_RETURN(Value * sum, node.Emit("sum", Op::kReduceSum, {exp, axes}, keep));
  KILN_ASSIGN_OR_RETURN(Value * log, node.Emit("log", Op::kLog, {sum}));
  KILN_ASSIGN_OR_RETURN(Value * shifted, node.Emit("shifted", Op::kAdd, {log, finite}));
  // All reduced axes have length 1 here; this only drops them if keepdims is 0.
  return node.EmitResult(Op::kReduceSum, {shifted, axes}, reduction);
}

// Computes sum(x^2).
Status ComposeReduceSumSquare(NodeImport& node) {
  KILN_ASSIGN_OR_RETURN(Attributes reduction, PrepareReduction(node));
  KILN_ASSIGN_OR_RETURN(Value * square,
                        node.Emit("square", Op::kMul, {node.operand(0), node.operand(0)}));
  return node.EmitResult(Op::kReduceSum, {square, node.operand(1)}, reduction);
}

// The name of ScatterElements before opset 11.
Status ComposeScatter(NodeImport& node) {
  return node.EmitResult(Op::kScatterElements, {node.operand(0), node.operand(1), node.operand(2)},
                         node.attributes);
}

// Computes gamma * elu(x, alpha).
Status ComposeSelu(NodeImport& node) {
  KILN_RETURN_IF_ERROR(RequireFloat(node));
  // Opset 6 gave the default constants more digits.
  const bool legacy = node.opset() < 6;
  const float alpha = node.attributes.Float("alpha", legacy ? 1.6732f : 1.67326319217681884765625f);
  const float gamma = node.attributes.Float("gamma", legacy ? 1.0507f : 1.05070102214813232421875f);
  KILN_ASSIGN_OR_RETURN(Value * elu,
                        node.Emit("elu", Op::kElu, {node.operand(0)}, Attrs({{"alpha", alpha}})));
  return node.EmitResult(Op::kMul, {elu, node.ScalarLike("gamma", gamma, node.operand(0))});
}

// Computes x + bias below -lambd, x - bias above lambd, 0 in between.
Status ComposeShrink(NodeImport& node) {
  KILN_RETURN_IF_ERROR(RequireFloat(node));
  Value* x = node.operand(0);
  const float lambd = node.attributes.Float("lambd", 0.5f);
  Value* bias = node.ScalarLike("bias", node.attributes.Float("bias", 0.0f), x);
  KILN_ASSIGN_OR_RETURN(Value * below,
                        node.Emit("below", Op::kLess, {x, node.ScalarLike("lower", -lambd, x)}));
  KILN_ASSIGN_OR_RETURN(Value * above,
                        node.Emit("above", Op::kGreater, {x, node.ScalarLike("upper", lambd, x)}));
  KILN_ASSIGN_OR_RETURN(Value * raised, node.Emit("raised", Op::kAdd, {x, bias}));
  KILN_ASSIGN_OR_RETURN(Value * lowered, node.Emit("lowered", Op::kSub, {x, bias}));
  KILN_ASSIGN_OR_RETURN(
      Value * upper_part,
      node.Emit("upper_part", Op::kWhere, {above, lowered, node.ScalarLike("zero", 0, x)}));
  return node.EmitResult(Op::kWhere, {below, raised, upper_part});
}

// Computes x / (1 + |x|).
Status ComposeSoftsign(NodeImport& node) {
  KILN_RETURN_IF_ERROR(RequireFloat(node));
  Value* x = node.operand(0);
  KILN_ASSIGN_OR_RETURN(Value * magnitude, node.Emit("magnitude", Op::kAbs, {x}));
  KILN_ASSIGN_OR_RETURN(Value * divisor,
                        node.Emit("divisor", Op::kAdd, {magnitude, node.ScalarLike("one", 1, x)}));
  return node.EmitResult(Op::kDiv, {x, divisor});
}

// Computes x above alpha, otherwise 0.
Status ComposeThresholdedRelu(NodeImport& node) {
  KILN_RETURN_IF_ERROR(RequireFloat(node));
  Value* x = node.operand(0);
  Value* alpha = node.ScalarLike("alpha", node.attributes.Float("alpha", 1.0f), x);
  KILN_ASSIGN_OR_RETURN(Value * above, node.Emit("above", Op::kGreater, {x, alpha}));
  return node.EmitResult(Op::kWhere, {above, x, node.ScalarLike("zero", 0, x)});
}

// Computes x where column - row >= k (upper) or <= k (lower), otherwise 0.
// The mask compares a constant matrix of column - row with k, which may be computed by the network.
Status ComposeTrilu(NodeImport& node) {
  Value* x = node.operand(0);
  const Shape* shape = node.ShapeOf(0);
  if (x->element() == ElementType::kString)
    return node.Invalid("operand of strings", "it must be a number");
  if (shape == nullptr || shape->rank() < 2) {
    return node.Refuse("operand of unknown shape", "give the shape of the network's input");
  }
  const Shape matrix{(*shape)[shape->rank() - 2], (*shape)[shape->rank() - 1]};
  const std::optional<int64_t> count = CheckedNumElements(matrix);
  if (!count) {
    return node.Refuse("matrix " + matrix.ToString() + " is of unknown or too large size",
                       "give the shape of the network's input");
  }
  KILN_RETURN_IF_ERROR(node.ClaimElements(*count));
  std::vector<int64_t> diagonals;
  diagonals.reserve(static_cast<size_t>(*count));
  for (int64_t row = 0; row < matrix[0] && *count > 0; ++row) {
    for (int64_t column = 0; column < matrix[1]; ++column) diagonals.push_back(column - row);
  }
  Value* k =
      node.operand(1) != nullptr ? node.operand(1) : node.Constant("k", Tensor::Scalar<int64_t>(0));
  Value* diagonal = node.Constant("diagonal", Tensor::Of<int64_t>(matrix, diagonals));
  const Op compare = node.attributes.Int("upper", 1) != 0 ? Op::kGreaterOrEqual : Op::kLessOrEqual;
  KILN_ASSIGN_OR_RETURN(Value * mask, node.Emit("mask", compare, {diagonal, k}));
  return node.EmitResult(Op::kWhere, {mask, x, node.ScalarLike("zero", 0, x)});
}

// Upsample is the predecessor of Resize. Opset 1 has one scale each for height and width, opset 7
// an attribute, opset 9 an operand.
Status ComposeUpsample(NodeImport& node) {
  Value* scales = node.operand(1);
  if (node.attributes.Has("scales")) {
    const std::vector<float>* values = nullptr;
    for (const auto& [name, attribute] : node.attributes) {
      if (name == "scales") values = std::get_if<std::vector<float>>(&attribute);
    }
    if (values == nullptr) return node.Invalid("scales must be floats");
    scales = node.Constant("scales",
                           Tensor::Of<float>(Shape{static_cast<int64_t>(values->size())}, *values));
  } else if (node.attributes.Has("height_scale") && node.attributes.Has("width_scale")) {
    const std::vector<float> values = {1.0f, 1.0f, node.attributes.Float("height_scale", 1.0f),
                                       node.attributes.Float("width_scale", 1.0f)};
    scales = node.Constant("scales", Tensor::Of<float>(Shape{4}, values));
  }
  if (scales == nullptr) return node.Invalid("lacks scales");
  const std::string mode = node.attributes.String("mode", "nearest");
  return node.EmitResult(Op::kResize, {node.operand(0), nullptr, scales},
                         Attrs({{"mode", mode == "bilinear" ? std::string("linear") : mode},
                                {"coordinate_transformation_mode", std::string("asymmetric")},
                                {"nearest_mode", std::string("floor")}}));
}

}  // namespace kiln::onnx_rules
