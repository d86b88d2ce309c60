// Lowers element-wise operators, joins and data movement.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "fmt/format.h"
#include "kiln/execute/codes.h"
#include "kiln/execute/reference.h"
#include "kiln/ir/describe.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/targets/dataflow/compile/lowering.h"
#include "kiln/targets/dataflow/compile/requantise.h"
#include "kiln/targets/dataflow/compile/stage_name.h"
#include "kiln/targets/interface/kernel_info.h"
#include "kiln/targets/lower/sign.h"
#include "kiln/targets/lower/view_steps.h"

namespace kiln::dataflow {
namespace {

// The most bits of a code that goes through a table.
constexpr int kMostTableBits = 10;

bool IsNumber(const Value* value) {
  return value != nullptr && value->is_constant() && value->element() == ElementType::kFloat32 &&
         value->constant().size() == 1;
}

// Returns the one operand that is not a single number; null if there are several or none.
const Value* VariableOf(const Node& node) {
  const Value* variable = nullptr;
  for (const Value* operand : node.operands()) {
    if (operand == nullptr || IsNumber(operand)) continue;
    if (variable != nullptr || operand->is_constant()) return nullptr;
    variable = operand;
  }
  return variable;
}

bool IsFunction(const Node& node) {
  return (node.info().Has(kElementwise) || node.op() == Op::kIdentity) && node.op() != Op::kCast &&
         node.num_results() == 1 && VariableOf(node) != nullptr &&
         node.result()->element() == ElementType::kFloat32 &&
         node.result()->shape() == VariableOf(node)->shape();
}

// The codes of a result that is not quantised: 16 bits, up to the largest magnitude.
ValueCodes WideCodes(double largest) {
  const auto scale = static_cast<float>(largest > 0 ? largest / 32767.0 : 1.0);
  return {.bits = 16, .is_signed = true, .scale = scale, .zero = 0, .low = -32767, .high = 32767};
}

// The largest magnitude of a value with these codes.
double LargestOf(const ValueCodes& codes) {
  const auto magnitude = [&](int64_t code) {
    return codes.scale * std::abs(static_cast<double>(code - codes.zero));
  };
  return std::max(magnitude(codes.low), magnitude(codes.high));
}

}  // namespace

StatusOr<ValueCodes> Lowering::ResultCodes(const Value& result, const ValueCodes& otherwise,
                                           std::optional<ChannelLine>* line) const {
  if (result.quantisation().has_value() || result.element() != ElementType::kFloat32)
    return CodesOf(result);
  *line = ChannelLine{.factors = {otherwise.scale},
                      .offsets = {-otherwise.scale * static_cast<double>(otherwise.zero)}};
  return otherwise;
}

StatusOr<std::optional<ChannelLine>> Lowering::SameCodes(const Value& result,
                                                         const ValueCodes& operand) const {
  std::optional<ChannelLine> line;
  KILN_ASSIGN_OR_RETURN(const ValueCodes codes, ResultCodes(result, operand, &line));
  if (TypeOf(codes) != TypeOf(operand) || codes.scale != operand.scale ||
      codes.zero != operand.zero)
    return ToHost(fmt::format("{} has other codes than what it is made of", NameForUser(result)));
  return line;
}

namespace {

// Returns the view of a tensor in which `axis` moves fastest and the other axes keep their order.
StridedView LastAxis(const Shape& shape, int axis) {
  StridedView view = RowMajorView(shape.dims());
  int64_t stride = shape[axis];
  view.strides[static_cast<size_t>(axis)] = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (i == axis) continue;
    view.strides[static_cast<size_t>(i)] = stride;
    stride *= shape[i];
  }
  return view;
}

// Returns an operand of the host that is sent in the order of a view of its tensor, which permutes
// the axes.
Operand Reordered(Operand operand, const StridedView& view) {
  if (view.shape != operand.view.shape) return operand;
  std::vector<int64_t> perm(view.shape.size());
  std::iota(perm.begin(), perm.end(), int64_t{0});
  std::ranges::sort(perm, [&](int64_t i, int64_t j) {
    const int64_t a = view.strides[static_cast<size_t>(i)],
                  b = view.strides[static_cast<size_t>(j)];
    return a != b ? a > b : i < j;
  });
  const StridedView sent = Transposed(operand.place.view, perm);
  StridedView dense = RowMajorView(sent.shape);
  // Only permutations without gaps can be sent.
  if (!SamePositions(Transposed(dense, InversePermutation(perm)), view)) return operand;
  operand.place.view = sent;
  operand.view = view;
  operand.map = operand.seen = MapOf(Shape(sent.shape));
  return operand;
}

}  // namespace

Status Lowering::PlanElements(Group* group) {
  const Node& node = *group->anchor;
  const bool joins =
      (node.op() == Op::kAdd || node.op() == Op::kSub) && VariableOf(node) == nullptr;
  while (const Node* next = partition_.Follower(group->result)) {
    const bool follows = joins ? next->op() == Op::kRelu || next->op() == Op::kClip
                               : IsFunction(*next) && VariableOf(*next) == group->result;
    if (!follows) break;
    group->nodes.push_back(next);
    group->result = next->result();
  }
  return OkStatus();
}

namespace {

// Returns whether a value is transposed from NCHW to NHWC before it is read.
bool IsReadAsNhwc(const Value& value) {
  return !value.users().empty() && std::ranges::all_of(value.users(), [](const Node* user) {
    return user->op() == Op::kTranspose &&
           user->attributes().Ints("perm") == std::vector<int64_t>{0, 2, 3, 1};
  });
}

// Returns the values of an operand's codes, by channel.
ChannelLine ElementLine(const Operand& operand) {
  const auto channels = static_cast<size_t>(operand.seen.channels);
  const double scale = operand.codes.scale;
  ChannelLine line;
  line.factors.assign(channels, scale);
  line.offsets.assign(channels, -scale * static_cast<double>(operand.codes.zero));
  return line;
}

}  // namespace

// Evaluates the nodes of a group on every code of its operand.
Status Lowering::EmitTable(const Group& group) {
  const Node& node = *group.anchor;
  if (!IsFunction(node)) {
    const bool joins = (node.op() == Op::kAdd || node.op() == Op::kSub) && node.num_operands() == 2;
    if (!joins && node.op() != Op::kMul) {
      return ToHost(
          fmt::format("the machine has no stage for {} of several values", node.info().onnx_name));
    }
    for (const Value* operand : node.operands()) {
      if (operand->is_constant()) return EmitChannelLine(group);
    }
    if (!joins) return ToHost("the machine has no product of two activations");
    return EmitSum(group);
  }
  const Value* variable = VariableOf(node);
  KILN_ASSIGN_OR_RETURN(Operand operand, AnyOperand(*variable));
  const CodeType type = TypeOf(operand.codes);
  // The host can send images in the order in which the machine's layers read them.
  if (operand.place.layer < 0 && IsReadAsNhwc(*group.result))
    operand = Reordered(std::move(operand), LastAxis(variable->shape(), 1));
  if (type.bits > kMostTableBits) {
    Group sign = group;
    sign.sign = SizeOfSign(group.nodes);
    if (sign.sign.has_value() && CodesOf(*group.result).ok()) {
      KILN_ASSIGN_OR_RETURN(operand, RowMajorOperand(*variable));
      ChannelLine line = ElementLine(operand);
      return EmitElementSums(sign, std::move(operand), std::move(line));
    }
    return ToHost(
        fmt::format("a function of codes of {} bits, the machine has tables of at most {}",
                    type.bits, kMostTableBits));
  }
  const int64_t count = int64_t{1} << type.bits;
  // All codes along the last axis of a tensor of the operand's rank.
  std::vector<int64_t> dims(static_cast<size_t>(std::max(1, variable->shape().rank())), 1);
  dims.back() = count;
  Tensor values(ElementType::kFloat32, Shape(dims));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t code = type.is_signed && i >= count / 2 ? i - count : i;
    values.data<float>()[static_cast<size_t>(i)] =
        static_cast<float>(operand.codes.scale * static_cast<double>(code - operand.codes.zero));
  }
  const Value* before = variable;
  for (const Node* step : group.nodes) {
    std::vector<const Tensor*> operands;
    for (const Value* value : step->operands()) {
      operands.push_back(value == nullptr  ? nullptr
                         : value == before ? &values
                                           : &value->constant());
    }
    KILN_ASSIGN_OR_RETURN(const std::vector<Tensor> results, EvaluateNode(*step, operands));
    values = results[0].Reshaped(Shape(dims));
    // A rounding that the network asks for; other results within a kernel are not rounded.
    if (step->op() == Op::kIdentity && step->result()->quantisation().has_value())
      values = RoundTensor(values, *step->result()->quantisation());
    before = step->result();
  }
  double largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (std::isfinite(values.ValueAt(i))) largest = std::max(largest, std::abs(values.ValueAt(i)));
  }
  std::optional<ChannelLine> line;
  KILN_ASSIGN_OR_RETURN(const ValueCodes codes,
                        ResultCodes(*group.result, WideCodes(largest), &line));
  Stage stage;
  stage.kind = StageKind::kTable;
  for (int64_t i = 0; i < count; ++i) {
    stage.table.push_back(NearestCode(values.ValueAt(i), codes));
  }
  const MapShape map = operand.map;
  StridedView view = operand.view;
  AddLayer(group, std::move(stage), {std::move(operand)}, map, TypeOf(codes), std::move(view),
           std::move(line), OperatorsOf(group.nodes));
  return OkStatus();
}

// Products and sums with one constant per channel.
Status Lowering::EmitChannelLine(const Group& group) {
  const Node& node = *group.anchor;
  const Value* variable = node.operand(node.operand(0)->is_constant() ? 1 : 0);
  if (variable->is_constant()) return ToHost("a function of constants");
  if (node.op() == Op::kSub && variable != node.operand(0))
    return ToHost("a difference from a constant per channel");
  if (group.nodes.size() > 1) return ToHost("a chain of functions with constants per channel");
  KILN_ASSIGN_OR_RETURN(Operand operand, RowMajorOperand(*variable));
  const auto numbers =
      PerChannel(node.operand(variable == node.operand(0) ? 1 : 0), operand.seen.channels);
  if (!numbers.has_value() || group.result->shape() != variable->shape())
    return ToHost("a constant that is not one number per channel");
  ChannelLine line = ElementLine(operand);
  for (size_t c = 0; c < numbers->size(); ++c) {
    const double number = (*numbers)[c];
    if (node.op() == Op::kMul) {
      line.factors[c] *= number;
      line.offsets[c] *= number;
    } else {
      line.offsets[c] += node.op() == Op::kAdd ? number : -number;
    }
  }
  return EmitElementSums(group, std::move(operand), std::move(line));
}

// Elements as the sums of a depthwise layer of one tap with weight 1.
Status Lowering::EmitElementSums(const Group& group, Operand operand, ChannelLine line) {
  Stage stage;
  stage.kind = StageKind::kDepthwise;
  stage.map = operand.seen;
  stage.window.out_height = operand.seen.height;
  stage.window.out_width = operand.seen.width;
  stage.weights.assign(line.factors.size(), 1);
  const MapShape map = operand.seen;
  return EmitSums(group, std::move(stage), std::move(operand), std::move(line), map,
                  RowMajorView(group.result->shape().dims()), OperatorsOf(group.nodes));
}

Status Lowering::EmitSum(const Group& group) {
  const Node& node = *group.anchor;
  if (node.operand(0)->shape() != node.operand(1)->shape())
    return ToHost("a sum that broadcasts one of its operands");
  KILN_ASSIGN_OR_RETURN(Operand a, AnyOperand(*node.operand(0)));
  KILN_ASSIGN_OR_RETURN(Operand b, AnyOperand(*node.operand(1)));
  std::optional<ChannelLine> values;
  KILN_ASSIGN_OR_RETURN(
      const ValueCodes codes,
      ResultCodes(*group.result, WideCodes(LargestOf(a.codes) + LargestOf(b.codes)), &values));
  // The host can send a value in the order of the other.
  if (a.place.layer < 0 && b.place.layer >= 0) a = Reordered(std::move(a), b.view);
  if (b.place.layer < 0 && a.place.layer >= 0) b = Reordered(std::move(b), a.view);
  if (!SamePositions(a.view, b.view)) return ToHost("a sum of values in different orders");
  // The host sends the same order of elements as a map of any shape.
  if (a.place.layer < 0) {
    a.map = b.map;
  } else if (b.place.layer < 0) {
    b.map = a.map;
  }
  if (a.map != b.map) return ToHost("a sum of maps of different shape");
  const double sign = node.op() == Op::kSub ? -1.0 : 1.0;
  ChannelLine line;
  line.factors = {a.codes.scale / codes.scale, sign * b.codes.scale / codes.scale};
  const double offset = -line.factors[0] * static_cast<double>(a.codes.zero) -
                        line.factors[1] * static_cast<double>(b.codes.zero);
  ChannelLine bounds;
  bounds.factors = {1.0};
  bounds.offsets = {0.0};
  KILN_RETURN_IF_ERROR(
      ApplyToLine(std::span(group.nodes).subspan(1), group.anchor->result(), &bounds));
  Stage stage;
  stage.kind = StageKind::kAffine;
  KILN_RETURN_IF_ERROR(SetAffine(line.factors, offset, codes, bounds.low, bounds.high, &stage));
  const MapShape map = a.map;
  StridedView view = a.view;
  AddLayer(group, std::move(stage), {std::move(a), std::move(b)}, map, TypeOf(codes),
           std::move(view), std::move(values), OperatorsOf(group.nodes));
  return OkStatus();
}

StatusOr<Operand> Lowering::Requantised(const Group& group, Operand operand,
                                        const ValueCodes& codes) {
  if (TypeOf(operand.codes) == TypeOf(codes) && operand.codes.scale == codes.scale &&
      operand.codes.zero == codes.zero)
    return operand;
  Stage stage;
  stage.kind = StageKind::kAffine;
  const double factor = operand.codes.scale / codes.scale;
  const std::vector<double> factors = {factor};
  KILN_RETURN_IF_ERROR(SetAffine(factors, -factor * static_cast<double>(operand.codes.zero), codes,
                                 -kInfinity, kInfinity, &stage));
  PendingLayer pending;
  const std::string kernel = KernelName(group.nodes);
  pending.layer.info.name = kernel + "_requantise";
  pending.layer.info.unit = "affine";
  pending.layer.info.operation = "requantise";
  stage.name = StageName(kernel) + "_requantise";
  pending.layer.stage = std::move(stage);
  pending.map = operand.map;
  pending.type = TypeOf(codes);
  Operand result = operand;
  pending.operands = {std::move(operand)};
  result.place = {static_cast<int>(layers_.size()), nullptr, result.view, {}};
  result.codes = codes;
  layers_.push_back(std::move(pending));
  return result;
}

Status Lowering::EmitConcat(const Group& group) {
  const Node& node = *group.anchor;
  double largest = 0;
  for (const Value* value : node.operands()) {
    KILN_ASSIGN_OR_RETURN(const ValueCodes codes, CodesOf(*value));
    largest = std::max(largest, LargestOf(codes));
  }
  std::optional<ChannelLine> line;
  KILN_ASSIGN_OR_RETURN(const ValueCodes codes,
                        ResultCodes(*group.result, WideCodes(largest), &line));
  const int rank = group.result->shape().rank();
  const auto axis = NormaliseAxis(node.attributes().Int("axis", 0), rank);
  if (!axis.has_value()) return ToHost("a concatenation along an axis out of range");
  std::vector<Operand> operands;
  for (const Value* value : node.operands()) {
    KILN_ASSIGN_OR_RETURN(Operand operand, AnyOperand(*value));
    if (operand.place.layer < 0)
      operand = Reordered(std::move(operand), LastAxis(value->shape(), *axis));
    const auto axes = MapAxes(operand.view, operand.map);
    const bool along_channels =
        axes.has_value() && ((*axes)[2] == *axis || (operand.map.channels == 1 && (*axes)[2] < 0 &&
                                                     value->shape()[*axis] == 1));
    if (!along_channels) return ToHost("a concatenation that is not of channels");
    if (!operands.empty() && (operand.map.height != operands[0].map.height ||
                              operand.map.width != operands[0].map.width))
      return ToHost("a concatenation of maps of different size");
    KILN_ASSIGN_OR_RETURN(operand, Requantised(group, std::move(operand), codes));
    operands.push_back(std::move(operand));
  }
  if (operands.size() == 1) return ToHost("a concatenation of one value");
  MapShape map = operands[0].map;
  map.channels = 0;
  for (const Operand& operand : operands) map.channels += operand.map.channels;
  // The result has the order of axes of its operands.
  StridedView view = operands[0].view;
  const Shape& shape = group.result->shape();
  const auto axes = MapAxes(operands[0].view, operands[0].map);
  view.shape = shape.dims();
  for (size_t i = 0; i < view.strides.size(); ++i) view.strides[i] = 0;
  const std::array<int64_t, 3> strides = {map.width * map.channels, map.channels, 1};
  for (size_t k = 0; k < 3; ++k) {
    if ((*axes)[k] >= 0) view.strides[static_cast<size_t>((*axes)[k])] = strides[k];
  }
  view.strides[static_cast<size_t>(*axis)] = 1;
  Stage stage;
  stage.kind = StageKind::kConcat;
  AddLayer(group, std::move(stage), std::move(operands), map, TypeOf(codes), std::move(view),
           std::move(line), OperatorsOf(group.nodes));
  return OkStatus();
}

Status Lowering::EmitPad(const Group& group) {
  const Node& node = *group.anchor;
  if (node.attributes().String("mode", "constant") != "constant")
    return ToHost("padding that is not constant");
  const auto pads = ConstantInts(node.operand(1));
  if (!pads.has_value() || node.operand(3) != nullptr)
    return ToHost("padding that is not constant");
  KILN_ASSIGN_OR_RETURN(Operand operand, AnyOperand(*node.operand(0)));
  const ValueCodes codes = operand.codes;
  KILN_ASSIGN_OR_RETURN(std::optional<ChannelLine> line, SameCodes(*group.result, codes));
  const auto axes = MapAxes(operand.view, operand.map);
  const auto rank = static_cast<size_t>(group.result->shape().rank());
  if (!axes.has_value() || pads->size() != 2 * rank) return ToHost("padding of another order");
  std::array<int64_t, 3> before = {0, 0, 0}, after = {0, 0, 0};
  int64_t seen = 0, all = 0;
  for (const int64_t pad : *pads) all += std::abs(pad);
  for (size_t k = 0; k < 3; ++k) {
    if ((*axes)[k] < 0) continue;
    const auto axis = static_cast<size_t>((*axes)[k]);
    before[k] = (*pads)[axis];
    after[k] = (*pads)[rank + axis];
    seen += std::abs(before[k]) + std::abs(after[k]);
    if (before[k] < 0 || after[k] < 0) return ToHost("negative padding");
  }
  if (seen != all) return ToHost("padding of an axis that is not of the map");
  double value = 0;
  if (node.operand(2) != nullptr) {
    if (!IsNumber(node.operand(2))) return ToHost("padding that is not constant");
    value = node.operand(2)->constant().ValueAt(0);
  }
  Stage stage;
  stage.kind = StageKind::kPad;
  stage.pad_top = before[0];
  stage.pad_left = before[1];
  stage.pad_front = before[2];
  stage.pad_value = NearestCode(value, codes);
  const MapShape map = {operand.map.height + before[0] + after[0],
                        operand.map.width + before[1] + after[1],
                        operand.map.channels + before[2] + after[2]};
  StridedView view = operand.view;
  view.shape = group.result->shape().dims();
  const std::array<int64_t, 3> strides = {map.width * map.channels, map.channels, 1};
  for (size_t k = 0; k < 3; ++k) {
    if ((*axes)[k] >= 0) view.strides[static_cast<size_t>((*axes)[k])] = strides[k];
  }
  AddLayer(group, std::move(stage), {std::move(operand)}, map, TypeOf(codes), std::move(view),
           std::move(line), OperatorsOf(group.nodes));
  return OkStatus();
}

// A slice of rows and columns from the first one on is a maximum pool of single pixels.
Status Lowering::EmitSlice(const Group& group) {
  const Node& node = *group.anchor;
  KILN_ASSIGN_OR_RETURN(const std::vector<ViewStep> steps, ViewStepsOf(node));
  KILN_ASSIGN_OR_RETURN(Operand operand, RowMajorOperand(*node.operand(0)));
  const ValueCodes codes = operand.codes;
  KILN_ASSIGN_OR_RETURN(std::optional<ChannelLine> line, SameCodes(*group.result, codes));
  const auto axes = MapAxes(operand.view, operand.seen);
  if (!axes.has_value()) return ToHost("a slice of elements in another order");
  Stage stage;
  stage.kind = StageKind::kMaxPool;
  Window& w = stage.window;
  w.out_height = operand.seen.height;
  w.out_width = operand.seen.width;
  w.pad_value = TypeOf(codes).low();
  for (const ViewStep& step : steps) {
    if (step.kind != ViewStep::Kind::kSlice) return ToHost("a slice that changes the shape");
    const bool of_rows = step.axis == (*axes)[0], of_columns = step.axis == (*axes)[1];
    if ((!of_rows && !of_columns) || step.range.start != 0 || step.range.step < 1)
      return ToHost("a slice that is not of the first rows or columns, or of every n-th");
    (of_rows ? w.stride_y : w.stride_x) = step.range.step;
    (of_rows ? w.out_height : w.out_width) = step.range.count;
  }
  stage.map = operand.seen;
  const MapShape map = {w.out_height, w.out_width, operand.seen.channels};
  AddLayer(group, std::move(stage), {std::move(operand)}, map, TypeOf(codes),
           RowMajorView(group.result->shape().dims()), std::nullopt, OperatorsOf(group.nodes));
  return OkStatus();
}

// Finds out where the operator moves elements, by moving their numbers, and compares that with what
// a rearrange stage does.
Status Lowering::EmitRearrangement(const Group& group) {
  const Node& node = *group.anchor;
  KILN_ASSIGN_OR_RETURN(Operand operand, AnyOperand(*node.operand(0)));
  // The host sends channels last. They are axis 1 in ONNX, and axis 3 after the layout passes.
  const Shape &from_shape = node.operand(0)->shape(), &to_shape = group.result->shape();
  if (from_shape.rank() != 4 || to_shape.rank() != 4)
    return ToHost("a rearrangement of a map without four axes");
  const bool channels_first = node.op() == Op::kDepthToSpace || from_shape[3] != to_shape[3];
  if (operand.place.layer < 0 && channels_first)
    operand = Reordered(std::move(operand), LastAxis(from_shape, 1));
  const ValueCodes codes = operand.codes;
  KILN_ASSIGN_OR_RETURN(std::optional<ChannelLine> line, SameCodes(*group.result, codes));
  const auto known_axes = MapAxes(operand.view, operand.map);
  if (!known_axes.has_value()) return ToHost("a rearrangement of elements in another order");
  // Axes of one element are in no order. The comparison below checks the choice.
  std::array<int, 3> axes = *known_axes;
  const std::array<int, 3> usual =
      channels_first ? std::array<int, 3>{2, 3, 1} : std::array<int, 3>{1, 2, 3};
  for (size_t k = 0; k < 3; ++k) axes[k] = axes[k] < 0 ? usual[k] : axes[k];
  const MapShape& map = operand.map;
  if (map.elements() >= int64_t{1} << 24)
    return ToHost("a rearrangement of more than 2^24 elements");
  Tensor numbers(ElementType::kFloat32, node.operand(0)->shape());
  {
    std::vector<float> in_order(static_cast<size_t>(map.elements()));
    for (size_t i = 0; i < in_order.size(); ++i) in_order[i] = static_cast<float>(i);
    numbers = Gather(Tensor::Of(Shape{map.elements()}, in_order), operand.view)
                  .Reshaped(node.operand(0)->shape());
  }
  std::vector<const Tensor*> operands = {&numbers};
  for (int i = 1; i < node.num_operands(); ++i) {
    const Value* value = node.operand(i);
    if (value != nullptr && !value->is_constant()) return ToHost("a size that is not constant");
    operands.push_back(value == nullptr ? nullptr : &value->constant());
  }
  KILN_ASSIGN_OR_RETURN(const std::vector<Tensor> moved, EvaluateNode(node, operands));
  // The result has the same order of axes as the operand.
  Stage stage;
  stage.kind = StageKind::kRearrange;
  const Shape& shape = group.result->shape();
  const MapShape to = {shape[axes[0]], shape[axes[1]], shape[axes[2]]};
  const bool distinct = axes[0] != axes[1] && axes[0] != axes[2] && axes[1] != axes[2];
  if (!distinct || to.elements() != shape.NumElements())
    return ToHost("a rearrangement of elements in another order");
  if (to.height % map.height != 0 || to.width % map.width != 0)
    return ToHost("a factor that is not a whole number");
  stage.factor_y = to.height / map.height;
  stage.factor_x = to.width / map.width;
  stage.depth_to_space =
      to.channels * stage.factor_y * stage.factor_x == map.channels && to.channels != map.channels;
  if (!stage.depth_to_space && to.channels != map.channels)
    return ToHost("a rearrangement that is neither a repetition nor depth to space");
  StridedView view;
  view.shape = shape.dims();
  view.strides.assign(4, 0);
  const std::array<int64_t, 3> strides = {to.width * to.channels, to.channels, 1};
  for (size_t k = 0; k < 3; ++k) {
    const auto axis = static_cast<size_t>(axes[k]);
    if (shape[axes[k]] > 1) view.strides[axis] = strides[k];
  }
  // What the stage gives, in the order of the result's tensor.
  std::vector<float> expected;
  for (int64_t y = 0; y < to.height; ++y) {
    for (int64_t x = 0; x < to.width; ++x) {
      const int64_t block =
          stage.depth_to_space
              ? (y % stage.factor_y * stage.factor_x + x % stage.factor_x) * to.channels
              : 0;
      const int64_t pixel = y / stage.factor_y * map.width + x / stage.factor_x;
      for (int64_t c = 0; c < to.channels; ++c)
        expected.push_back(static_cast<float>(pixel * map.channels + block + c));
    }
  }
  const Tensor given = Gather(Tensor::Of(Shape{to.elements()}, expected), view).Reshaped(shape);
  if (!(given == moved[0]))
    return ToHost(
        fmt::format("{} in a mode that the machine does not have", node.info().onnx_name));
  AddLayer(group, std::move(stage), {std::move(operand)}, to, TypeOf(codes), std::move(view),
           std::move(line), OperatorsOf(group.nodes));
  return OkStatus();
}

Status Lowering::EmitView(const Group& group) {
  const Node& node = *group.anchor;
  for (int i = 1; i < node.num_results(); ++i) {
    if (node.result(i) != nullptr) return ToHost("a mask of Dropout");
  }
  const Value* from = node.operand(0);
  const auto at = places_.find(from);
  if (at == places_.end()) return ToHost(fmt::format("{} is a constant", NameForUser(*from)));
  if (at->second.layer < 0 && !at->second.root->is_input())
    return ToHost(fmt::format("it moves {}, which is on the host", NameForUser(*from)));
  // Codes stay as they are only under the same annotation, or without one.
  Place place = at->second;
  if (from->quantisation() != group.result->quantisation()) {
    if (place.layer < 0 || group.result->quantisation().has_value())
      return ToHost(fmt::format("{} changes its codes", NameForUser(*group.result)));
    KILN_ASSIGN_OR_RETURN(const ValueCodes codes, CodesOf(*from));
    KILN_ASSIGN_OR_RETURN(place.line, SameCodes(*group.result, codes));
  }
  KILN_ASSIGN_OR_RETURN(const std::vector<ViewStep> steps, ViewStepsOf(node));
  auto view = Apply(steps, place.view);
  if (!view.has_value()) return ToHost("a change of shape across a change of order");
  place.view = *std::move(view);
  places_[group.result] = std::move(place);
  return OkStatus();
}

}  // namespace kiln::dataflow
