// Upgrades of older forms of operators to opset 21: one small function a change, named in onnx_rules.def. Sources:
// the version history of each operator in ONNX's Changelog.md.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>

#include "kiln/frontend/onnx_rule_functions.h"
#include "kiln/frontend/onnx_tensor.h"

namespace kiln::onnx_rules {
namespace {

// Moves an attribute of integers to operand i; nothing to do where the attribute is absent.
void IntsToOperand(NodeImport& node, std::string_view attribute, int i) {
  if (!node.attributes.Has(attribute)) return;
  node.SetOperand(i, node.Ints(attribute, node.attributes.Ints(attribute)));
  node.attributes.Remove(attribute);
}

// Gives `operand` as many trailing axes of size 1 as put its first axis on axis `first` of a tensor of `rank` axes.
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

Status DropConsumedInputs(NodeImport& node) {
  node.attributes.Remove("consumed_inputs");
  return OkStatus();
}

Status DropIsTest(NodeImport& node) {
  if (node.attributes.Int("is_test", 0) == 0) {
    return node.Refuse("is in training mode (is_test is 0)", "export the model for inference");
  }
  node.attributes.Remove("is_test");
  node.attributes.Remove("consumed_inputs");
  return OkStatus();
}

// Before opset 7 the second operand broadcast only on request, its axes a run of the first operand's axes that began
// at `axis` (or ended with the last).
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
  return node.Invalid("casts to unknown type '" + text + "'",
                      "name a type of TensorProto.DataType");
}

Status ConcatDefaultAxis(NodeImport& node) {
  if (!node.attributes.Has("axis")) node.attributes.Set("axis", int64_t{1});
  return OkStatus();
}

Status DropGemmBroadcast(NodeImport& node) {
  node.attributes.Remove("broadcast");
  return OkStatus();
}

Status RenamePaddings(NodeImport& node) {
  if (node.attributes.Has("paddings"))
    node.attributes.Set("pads", node.attributes.Ints("paddings"));
  node.attributes.Remove("paddings");
  return OkStatus();
}

Status ReshapeShapeToOperand(NodeImport& node) {
  node.attributes.Remove("consumed_inputs");
  if (!node.attributes.Has("shape")) return node.Invalid("lacks the attribute shape");
  IntsToOperand(node, "shape", 1);
  return OkStatus();
}

// Opset 1: operands tiles and axis, one repetition of one axis.
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

Status AxesToOperand(NodeImport& node) {
  IntsToOperand(node, "axes", 1);
  return OkStatus();
}

Status TopKCountToOperand(NodeImport& node) {
  if (!node.attributes.Has("k")) return node.Invalid("lacks the attribute k");
  node.SetOperand(1, node.Ints("k", {node.attributes.Int("k", 0)}));
  node.attributes.Remove("k");
  return OkStatus();
}

// Opset 1 said by output_sequence whether Y is a result; who reads Y says that, too. A list of sequence lengths that is
// empty stands for none in some exporters.
Status CheckRecurrent(NodeImport& node) {
  node.attributes.Remove("output_sequence");
  const Shape* lengths = node.ShapeOf(4);
  if (lengths != nullptr && *lengths == Shape{0}) node.SetOperand(4, nullptr);
  return OkStatus();
}

Status ClipBoundsToOperands(NodeImport& node) {
  int operand = 1;
  for (const std::string_view bound : {"min", "max"}) {
    if (node.attributes.Has(bound) && node.operand(0) != nullptr) {
      const float value = node.attributes.Float(bound, 0);
      // The defaults of the old attributes: no bound at all.
      const bool open = value == (operand == 1 ? std::numeric_limits<float>::lowest()
                                               : std::numeric_limits<float>::max());
      if (!open) node.SetOperand(operand, node.ScalarLike(bound, value, node.operand(0)));
    }
    node.attributes.Remove(bound);
    ++operand;
  }
  return OkStatus();
}

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

Status CheckDropout(NodeImport& node) {
  const Tensor* training = node.ConstantOf(2);
  const Tensor* ratio = node.ConstantOf(1);
  const auto nonzero = [](const Tensor* t, bool fallback) {
    return t == nullptr ? fallback
                        : t->type() != ElementType::kString && t->size() == 1 && t->ValueAt(0) != 0;
  };
  // A ratio of zero keeps everything, whatever the mode.
  if (nonzero(training, false) && (node.operand(1) == nullptr || nonzero(ratio, true))) {
    return node.Refuse("is in training mode, which draws random numbers",
                       "export the model for inference");
  }
  return OkStatus();
}

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

Status SliceBoundsToOperands(NodeImport& node) {
  if (!node.attributes.Has("starts") || !node.attributes.Has("ends")) {
    return node.Invalid("lacks the attributes starts and ends");
  }
  IntsToOperand(node, "starts", 1);
  IntsToOperand(node, "ends", 2);
  IntsToOperand(node, "axes", 3);
  return OkStatus();
}

Status SplitSizesToOperand(NodeImport& node) {
  IntsToOperand(node, "split", 1);
  return OkStatus();
}

// Before opset 18 the number of results alone said into how many equal parts to split.
Status SplitCountToAttribute(NodeImport& node) {
  if (node.operand(1) == nullptr) node.attributes.Set("num_outputs", int64_t{node.num_results()});
  return OkStatus();
}

Status CheckBatchNormalization(NodeImport& node) {
  if (node.attributes.Int("spatial", 1) == 0) {
    return node.Refuse("spatial is 0", "statistics per channel (spatial 1) are supported");
  }
  node.attributes.Remove("spatial");
  bool training = node.attributes.Int("training_mode", 0) != 0;
  for (int i = 1; i < node.num_results(); ++i) {
    training = training || !node.results[static_cast<size_t>(i)].empty();
  }
  if (training) return node.Refuse("is in training mode", "export the model for inference");
  node.results.resize(std::min<size_t>(node.results.size(), 1));
  return OkStatus();
}

// Opset 18 has one scale and bias a group, opset 21 one a channel.
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

// Before opset 13 (Log)Softmax saw its operand as a matrix: axes from `axis` (default 1) on were one axis.
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
  // With every axis after `first` of size 1 the matrix view changes nothing but the name of the axis.
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

// Opset 10 had operands X and scales and one way to map coordinates.
Status ResizeFromOpset10(NodeImport& node) {
  node.operands = {node.operand(0), nullptr, node.operand(1)};
  node.attributes.Set("coordinate_transformation_mode", std::string("asymmetric"));
  node.attributes.Set("nearest_mode", std::string("floor"));
  return OkStatus();
}

// Until opset 13 an empty tensor stood for an absent roi, scales or sizes.
Status DropEmptyResizeOperands(NodeImport& node) {
  if (node.attributes.String("coordinate_transformation_mode", "") == "tf_half_pixel_for_nn") {
    // Of opset 11: half_pixel without the half pixel taken off again. Rounded down that is half_pixel rounded.
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
