// Upgrades older forms of operators to opset 21. Each change is one small function, named in
// onnx_rules.def.
//   source  the version history of each operator in ONNX's Changelog.md
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>

#include "kiln/frontend/onnx_rule_functions.h"
#include "kiln/frontend/onnx_tensor.h"
#include "kiln/support/excerpt.h"

namespace kiln::onnx_rules {
namespace {

// Moves an attribute of integers to operand i; does nothing if the attribute is absent.
void IntsToOperand(NodeImport& node, std::string_view attribute, int i) {
  if (!node.attributes.Has(attribute)) return;
  node.SetOperand(i, node.Ints(attribute, node.attributes.Ints(attribute)));
  node.attributes.Remove(attribute);
}

// Adds trailing axes of size 1 to `operand`, so that its first axis meets axis `first` of a tensor
// of `rank` axes under right-aligned broadcasting.
Status AddTrailingAxes(NodeImport& node, int operand, int first, int rank) {
  const Shape& shape = *node.ShapeOf(operand);
  const int trailing = rank - first - shape.rank();
  if (trailing < 0) {
    return node.Invalid(
        fmt::format("axis {} leaves no room for an operand of shape {}", first, shape.ToString()));
  }
  if (trailing == 0) return OkStatus();
  std::vector<int64_t> axes;
  for (int i = 0; i < trailing; ++i) axes.push_back(shape.rank() + i);
  auto aligned = node.Emit(fmt::format("aligned_{}", operand), Op::kUnsqueeze,
                           {node.operand(operand), node.Ints("axes", axes)});
  if (!aligned.ok()) return aligned.status();
  node.SetOperand(operand, *aligned);
  return OkStatus();
}

}  // namespace

// consumed_inputs was a hint about memory.
Status DropConsumedInputs(NodeImport& node) {
  node.attributes.Remove("consumed_inputs");
  return OkStatus();
}

// is_test = 0 asks for training, which Kiln does not support.
Status DropIsTest(NodeImport& node) {
  if (node.attributes.Int("is_test", 0) == 0) {
    return node.Refuse("is in training mode (is_test is 0)", "export the model for inference");
  }
  node.attributes.Remove("is_test");
  node.attributes.Remove("consumed_inputs");
  return OkStatus();
}

// Before opset 7 the second operand broadcast only on request; its axes matched consecutive axes of
// the first operand beginning at `axis` (or ending with the last).
// Example: a [2, 3, 4, 5] and b [3, 4] with axis 1; b becomes [3, 4, 1].
Status AlignLegacyBroadcast(NodeImport& node) {
  node.attributes.Remove("consumed_inputs");
  const bool broadcast = node.attributes.Int("broadcast", 0) != 0;
  const bool has_axis = node.attributes.Has("axis");
  const int64_t axis = node.attributes.Int("axis", 0);
  node.attributes.Remove("broadcast");
  node.attributes.Remove("axis");
  if (!broadcast || !has_axis) return OkStatus();
  const Shape* a = node.ShapeOf(0);
  const Shape* b = node.ShapeOf(1);
  if (a == nullptr || b == nullptr) {
    return node.Refuse("attribute broadcast of opset 6 on operands of unknown shape",
                       "convert the model to opset 7");
  }
  KILN_ASSIGN_OR_RETURN(const int first, node.NormaliseAxis(axis, a->rank()));
  return AddTrailingAxes(node, 1, first, a->rank());
}

// Before opset 7 a slope of rank 1 is per channel (axis 1).
Status AlignLegacySlope(NodeImport& node) {
  const Shape* x = node.ShapeOf(0);
  const Shape* slope = node.ShapeOf(1);
  if (x == nullptr || slope == nullptr) {
    return node.Refuse("slope of opset 6 on operands of unknown shape",
                       "convert the model to opset 7");
  }
  if (slope->rank() != 1 || (*slope)[0] == 1 || x->rank() < 2) return OkStatus();
  return AddTrailingAxes(node, 1, 1, x->rank());
}

// Before opset 6 the target type is given by name.
Status CastTypeFromText(NodeImport& node) {
  if (node.attributes.Int("to", -1) >= 0) return OkStatus();
  std::string text = node.attributes.String("to", "");
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  for (int type = 1; type <= 16; ++type) {
    if (OnnxTypeName(type) != text) continue;
    node.attributes.Set("to", int64_t{type});
    return OkStatus();
  }
  return node.Invalid("casts to unknown type " + QuotedExcerpt(text),
                      "name a type of TensorProto.DataType");
}

// Before opset 4 the axis defaults to 1.
Status ConcatDefaultAxis(NodeImport& node) {
  if (!node.attributes.Has("axis")) node.attributes.Set("axis", int64_t{1});
  return OkStatus();
}

// Since opset 7 Gemm's C always broadcasts.
Status DropGemmBroadcast(NodeImport& node) {
  node.attributes.Remove("broadcast");
  return OkStatus();
}

// The attribute was renamed in opset 2.
Status RenamePaddings(NodeImport& node) {
  if (node.attributes.Has("paddings"))
    node.attributes.Set("pads", node.attributes.Ints("paddings"));
  node.attributes.Remove("paddings");
  return OkStatus();
}

// Opset 5 turned the attribute shape into an operand.
Status ReshapeShapeToOperand(NodeImport& node) {
  node.attributes.Remove("consumed_inputs");
  if (!node.attributes.Has("shape")) return node.Invalid("lacks the attribute shape");
  IntsToOperand(node, "shape", 1);
  return OkStatus();
}

// Opset 1 has the operands tiles and axis: a number of repetitions of one axis.
Status LegacyTileToRepeats(NodeImport& node) {
  const Shape* x = node.ShapeOf(0);
  const Tensor* tiles = node.ConstantOf(1);
  const Tensor* axis = node.ConstantOf(2);
  if (x == nullptr || tiles == nullptr || axis == nullptr || tiles->size() != 1 ||
      axis->size() != 1 || tiles->type() == ElementType::kString ||
      axis->type() == ElementType::kString) {
    return node.Refuse("form of opset 1 with tiles or axis that are not constant numbers",
                       "convert the model to opset 6");
  }
  KILN_ASSIGN_OR_RETURN(const int at, node.NormaliseAxis(axis->IntAt(0), x->rank()));
  std::vector<int64_t> repeats(static_cast<size_t>(x->rank()), 1);
  repeats[static_cast<size_t>(at)] = tiles->IntAt(0);
  node.operands = {node.operand(0), node.Ints("repeats", repeats)};
  return OkStatus();
}

// Opsets 13 and 18 turned the attribute axes of these operators into an operand.
Status AxesToOperand(NodeImport& node) {
  IntsToOperand(node, "axes", 1);
  return OkStatus();
}

// Opset 10 turned the attribute k into an operand.
Status TopKCountToOperand(NodeImport& node) {
  if (!node.attributes.Has("k")) return node.Invalid("lacks the attribute k");
  node.SetOperand(1, node.Ints("k", {node.attributes.Int("k", 0)}));
  node.attributes.Remove("k");
  return OkStatus();
}

// The attribute output_sequence of opset 1 only states whether Y is a result, which its users show.
// Some exporters pass an empty list of sequence lengths for none.
Status CheckRecurrent(NodeImport& node) {
  node.attributes.Remove("output_sequence");
  const Shape* lengths = node.ShapeOf(4);
  if (lengths != nullptr && *lengths == Shape{0}) node.SetOperand(4, nullptr);
  return OkStatus();
}

// Opset 11 turned the attributes min and max into operands.
Status ClipBoundsToOperands(NodeImport& node) {
  int operand = 1;
  for (const std::string_view bound : {"min", "max"}) {
    if (node.attributes.Has(bound) && node.operand(0) != nullptr) {
      const float value = node.attributes.Float(bound, 0);
      // The defaults of the old attributes mean no bound.
      const bool open = value == (operand == 1 ? std::numeric_limits<float>::lowest()
                                               : std::numeric_limits<float>::max());
      if (!open) node.SetOperand(operand, node.ScalarLike(bound, value, node.operand(0)));
    }
    node.attributes.Remove(bound);
    ++operand;
  }
  return OkStatus();
}

// Before opset 10 the mask has the operand's type; Kiln's mask is boolean.
Status DropoutRatioToOperand(NodeImport& node) {
  if (node.opset() < 10 && node.num_results() > 1 && node.result_used[1]) {
    return node.Refuse("its mask is read, in the float form of opset 9",
                       "export the model for inference");
  }
  if (node.attributes.Has("ratio")) {
    node.SetOperand(1,
                    node.Constant("ratio", Tensor::Scalar(node.attributes.Float("ratio", 0.5f))));
    node.attributes.Remove("ratio");
  }
  return OkStatus();
}

// Refuses training mode, in which Dropout is random.
Status CheckDropout(NodeImport& node) {
  const Tensor* training = node.ConstantOf(2);
  const Tensor* ratio = node.ConstantOf(1);
  const auto nonzero = [](const Tensor* t, bool fallback) {
    return t == nullptr ? fallback
                        : t->type() != ElementType::kString && t->size() == 1 && t->ValueAt(0) != 0;
  };
  // A ratio of zero keeps all elements in either mode.
  if (nonzero(training, false) && (node.operand(1) == nullptr || nonzero(ratio, true))) {
    return node.Refuse("is in training mode, which draws random numbers",
                       "export the model for inference");
  }
  return OkStatus();
}

// Opset 11 turned the attributes pads and value into operands.
Status PadsToOperands(NodeImport& node) {
  if (!node.attributes.Has("pads")) return node.Invalid("lacks the attribute pads");
  IntsToOperand(node, "pads", 1);
  if (node.attributes.Has("value") && node.operand(0) != nullptr) {
    node.SetOperand(2,
                    node.ScalarLike("value", node.attributes.Float("value", 0), node.operand(0)));
    node.attributes.Remove("value");
  }
  return OkStatus();
}

// Opset 10 turned the attributes starts, ends and axes into operands.
Status SliceBoundsToOperands(NodeImport& node) {
  if (!node.attributes.Has("starts") || !node.attributes.Has("ends")) {
    return node.Invalid("lacks the attributes starts and ends");
  }
  IntsToOperand(node, "starts", 1);
  IntsToOperand(node, "ends", 2);
  IntsToOperand(node, "axes", 3);
  return OkStatus();
}

// Opset 13 turned the attribute split into an operand.
Status SplitSizesToOperand(NodeImport& node) {
  IntsToOperand(node, "split", 1);
  return OkStatus();
}

// Before opset 18 the number of results alone gives the number of equal parts.
Status SplitCountToAttribute(NodeImport& node) {
  if (node.operand(1) == nullptr) node.attributes.Set("num_outputs", int64_t{node.num_results()});
  return OkStatus();
}

// Refuses statistics per element (spatial 0, before opset 9) and training mode.
Status CheckBatchNormalization(NodeImport& node) {
  if (node.attributes.Int("spatial", 1) == 0) {
    return node.Refuse("spatial is 0", "statistics per channel (spatial 1) are supported");
  }
  node.attributes.Remove("spatial");
  bool training = node.attributes.Int("training_mode", 0) != 0;
  // Further results (running statistics) exist in training only.
  for (int i = 1; i < node.num_results(); ++i) {
    training = training || !node.results[static_cast<size_t>(i)].empty();
  }
  if (training) return node.Refuse("is in training mode", "export the model for inference");
  node.results.resize(std::min<size_t>(node.results.size(), 1));
  return OkStatus();
}

// Opset 18 has one scale and bias per group, opset 21 one per channel.
// Example: scales s0, s1 of 2 groups become s0, s0, s1, s1 for 4 channels.
Status GroupScalesToChannels(NodeImport& node) {
  const Shape* x = node.ShapeOf(0);
  const int64_t groups = node.attributes.Int("num_groups", 0);
  if (x == nullptr || x->rank() < 2 || (*x)[1] < 0) {
    return node.Refuse("form of opset 18 on an operand with unknown channels",
                       "give the shape of the network's input");
  }
  const int64_t channels = (*x)[1];
  if (groups < 1 || channels % groups != 0) {
    return node.Invalid(fmt::format("{} channels do not fall into {} groups", channels, groups));
  }
  for (int i : {1, 2}) {
    if (node.operand(i) == nullptr) return node.Invalid("lacks scale or bias");
    const std::string of = i == 1 ? "scale" : "bias";
    KILN_ASSIGN_OR_RETURN(Value * column,
                          node.Emit(of + "_column", Op::kReshape,
                                    {node.operand(i), node.Ints("column", {groups, 1})}));
    KILN_ASSIGN_OR_RETURN(Value * matrix,
                          node.Emit(of + "_matrix", Op::kExpand,
                                    {column, node.Ints("matrix", {groups, channels / groups})}));
    KILN_ASSIGN_OR_RETURN(Value * row,
                          node.Emit(of, Op::kReshape, {matrix, node.Ints("row", {channels})}));
    node.SetOperand(i, row);
  }
  return OkStatus();
}

// Before opset 13 Softmax and LogSoftmax saw their operand as a matrix: the axes from `axis` on
// (default 1) form one axis.
// Example: [2, 3, 4] with axis 1 is a matrix [2, 12].
Status CoerceSoftmaxToMatrix(NodeImport& node) {
  const int64_t axis = node.attributes.Int("axis", 1);
  node.attributes.Set("axis", int64_t{-1});
  const Shape* x = node.ShapeOf(0);
  if (axis == -1) return OkStatus();
  if (x == nullptr) {
    return node.Refuse(fmt::format("axis {} of opset 12 on an operand of unknown shape", axis),
                       "give the shape of the network's input");
  }
  KILN_ASSIGN_OR_RETURN(const int first, node.NormaliseAxis(axis, x->rank()));
  const auto one = [](int64_t d) { return d == 1; };
  if (first == x->rank() - 1) return OkStatus();
  // If all axes after `first` have size 1, softmax along `first` alone is the same.
  if (std::all_of(x->dims().begin() + first + 1, x->dims().end(), one)) {
    node.attributes.Set("axis", int64_t{first});
    return OkStatus();
  }
  Value* operand = node.operand(0);
  const Op op = node.op_type == "Softmax" ? Op::kSoftmax : Op::kLogSoftmax;
  KILN_ASSIGN_OR_RETURN(Value * matrix, node.Emit("matrix", Op::kFlatten, {operand},
                                                  Attrs({{"axis", int64_t{first}}})));
  KILN_ASSIGN_OR_RETURN(Value * result,
                        node.Emit("rows", op, {matrix}, Attrs({{"axis", int64_t{-1}}})));
  KILN_ASSIGN_OR_RETURN(Value * shape, node.Emit("shape", Op::kShape, {operand}));
  return node.EmitResult(Op::kReshape, {result, shape});
}

// Opset 10 has the operands X and scales, and a single mapping of coordinates.
Status ResizeFromOpset10(NodeImport& node) {
  node.operands = {node.operand(0), nullptr, node.operand(1)};
  node.attributes.Set("coordinate_transformation_mode", std::string("asymmetric"));
  node.attributes.Set("nearest_mode", std::string("floor"));
  return OkStatus();
}

// Up to opset 13 an empty tensor can stand for an absent roi, scales or sizes.
Status DropEmptyResizeOperands(NodeImport& node) {
  if (node.attributes.String("coordinate_transformation_mode", "") == "tf_half_pixel_for_nn") {
    // Opset 11's tf_half_pixel_for_nn is half_pixel without subtracting the final half; rounding it
    // down equals rounding half_pixel to nearest, halves up.
    if (node.attributes.String("nearest_mode", "round_prefer_floor") != "floor") {
      return node.Refuse(
          "coordinate_transformation_mode tf_half_pixel_for_nn without nearest_mode floor",
          "use half_pixel");
    }
    node.attributes.Set("coordinate_transformation_mode", std::string("half_pixel"));
    node.attributes.Set("nearest_mode", std::string("round_prefer_ceil"));
  }
  for (int i = 1; i < static_cast<int>(node.operands.size()); ++i) {
    const Shape* shape = node.ShapeOf(i);
    if (shape != nullptr && *shape == Shape{0}) node.SetOperand(i, nullptr);
  }
  return OkStatus();
}

}  // namespace kiln::onnx_rules
