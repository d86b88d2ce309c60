// Lowers operators that move data: to views where strides can express the result, to copies
// otherwise.
#include <algorithm>
#include <cmath>

#include "fmt/format.h"
#include "kiln/ir/indexing.h"
#include "kiln/support/check.h"
#include "kiln/targets/lower/view_steps.h"
#include "kiln/targets/systolic/compile/lowering.h"

namespace kiln::systolic {
namespace {

constexpr int64_t kMaxPieces = 64;  // limit of the copies of one gather

// Inserts an axis of one element before each axis: [a, b] -> [1, a, 1, b].
View WithUnitAxes(View view) {
  for (int axis = view.rank(); axis-- > 0;) view = WithRepeats(view, axis, 1);
  return view;
}

}  // namespace

// Checks that `source` can be copied to `target`: a value in a format that no unit writes may only
// be copied from a value in the same format.
Status Lowering::CheckWritable(const View& target, const View& source, const Value* result) const {
  if (target.encoding.foreign == nullptr || source.encoding.SameCodes(target.encoding))
    return OkStatus();
  return ToHost(ForeignReason(result));
}

Status Lowering::AliasOrCopy(const Node& node, int i, const View& source, Kernel* kernel) {
  const Value* result = node.result(i);
  if (result == nullptr) return OkStatus();
  const Encoding& encoding = EncodingFor(result);
  // A value without its own annotation may keep the codes of the source.
  const bool free =
      encoding.is_float() && encoding.type == ElementType::kFloat32 && encoding.foreign == nullptr;
  if (source.Holds(encoding) || free) {
    views_[result] = source;
    return OkStatus();
  }
  if (encoding.foreign != nullptr) return ToHost(ForeignReason(result));
  const View target = ResultView(result);
  KILN_RETURN_IF_ERROR(CopyTo(source, target, &kernel->works));
  views_[result] = target;
  return OkStatus();
}

StatusOr<Kernel> Lowering::EmitMove(const Group& group) {
  const Node& node = *group.anchor;
  switch (node.op()) {
    case Op::kConcat:
      return EmitConcat(group);
    case Op::kPad:
      return EmitPad(group);
    case Op::kSplit:
      return EmitSplit(group);
    case Op::kGather:
      return EmitGather(group);
    case Op::kResize:
    case Op::kTile:
    case Op::kDepthToSpace:
    case Op::kSpaceToDepth:
      return EmitRearrangement(group);
    default:
      return EmitView(group);
  }
}

StatusOr<Kernel> Lowering::EmitView(const Group& group) {
  const Node& node = *group.anchor;
  for (int i = 1; i < node.num_results(); ++i) {
    if (node.result(i) != nullptr && !node.result(i)->users().empty())
      return ToHost("its second result is asked for");
  }
  if (node.result()->shape().NumElements() == 0) return ToHost("a tensor without elements");
  KILN_ASSIGN_OR_RETURN(View x, ViewOf(node.operand(0)));
  Kernel kernel = NewKernel(
      group, "vector", fmt::format("{} @{}", node.info().text, node.result()->shape().ToString()));
  KILN_ASSIGN_OR_RETURN(const std::vector<ViewStep> steps, ViewStepsOf(node));
  auto view = Apply(steps, x);
  if (!view.has_value() && x.blocked()) {
    KILN_ASSIGN_OR_RETURN(x, Unblocked(x, &kernel.works));
    view = Apply(steps, x);
  }
  if (!view.has_value()) {
    // A reshape of a tensor that is not in row-major order: it is copied under its own shape and
    // then renamed.
    const View target = ResultView(node.result());
    if (target.encoding.foreign != nullptr && !x.encoding.SameCodes(target.encoding)) {
      return ToHost(ForeignReason(node.result()));
    }
    if (const auto as_source = Reshaped(target, x.shape)) {
      View to = *as_source;
      to.encoding = target.encoding;
      KILN_RETURN_IF_ERROR(CopyTo(x, to, &kernel.works));
      views_[node.result()] = target;
      return kernel;
    }
    if (x.encoding.type != ElementType::kFloat32) return ToHost("integers that must be copied");
    KILN_ASSIGN_OR_RETURN(x, Materialise(x, node.name() + " in order", &kernel.works));
    view = Apply(steps, x);
    KILN_CHECK(view.has_value());  // every view of a dense tensor can be reshaped
  }
  KILN_RETURN_IF_ERROR(AliasOrCopy(node, 0, *view, &kernel));
  return kernel;
}

StatusOr<Kernel> Lowering::EmitSplit(const Group& group) {
  const Node& node = *group.anchor;
  KILN_ASSIGN_OR_RETURN(View x, ViewOf(node.operand(0)));
  const auto axis = NormaliseAxis(node.attributes().Int("axis", 0), x.rank());
  if (!axis.has_value()) return ToHost("an axis beyond its rank");
  Kernel kernel = NewKernel(group, "vector", fmt::format("split {}", Shape(x.shape).ToString()));
  int64_t start = 0;
  bool whole_blocks = true;
  for (const Value* result : node.results()) {
    whole_blocks = whole_blocks && CanSlice(x, *axis, start, 1);
    start += result == nullptr ? 0 : result->shape()[*axis];
  }
  if (!whole_blocks) {
    KILN_ASSIGN_OR_RETURN(x, Unblocked(x, &kernel.works));
  }
  start = 0;
  for (int i = 0; i < node.num_results(); ++i) {
    if (node.result(i) == nullptr) return ToHost("a part of the split is not there");
    const int64_t count = node.result(i)->shape()[*axis];
    if (start + count > x.shape[static_cast<size_t>(*axis)])
      return ToHost("parts larger than the whole");
    KILN_RETURN_IF_ERROR(AliasOrCopy(node, i, Sliced(x, *axis, start, 1, count), &kernel));
    start += count;
  }
  return kernel;
}

StatusOr<Kernel> Lowering::EmitGather(const Group& group) {
  const Node& node = *group.anchor;
  KILN_ASSIGN_OR_RETURN(View x, ViewOf(node.operand(0)));
  auto indices = ConstantInts(node.operand(1));
  if (!indices.has_value()) {
    return ToHost(fmt::format("an embedding look-up: its indices '{}' are known only at run time",
                              node.operand(1)->name()));
  }
  const int index_rank = node.operand(1)->shape().rank();
  const auto axis = NormaliseAxis(node.attributes().Int("axis", 0), x.rank());
  if (!axis.has_value() || index_rank > 1 || indices->empty())
    return ToHost("a gather by indices of several axes");
  const int64_t size = x.shape[static_cast<size_t>(*axis)];
  for (int64_t& index : *indices) {
    if (index < 0) index += size;
    if (index < 0 || index >= size) {
      return ErrorAt(graph_.source(), node.Describe(),
                     fmt::format("index {} of {} places", index, size), "");
    }
  }
  Kernel kernel = NewKernel(group, "vector", fmt::format("gather {} of {}", indices->size(), size));
  if (x.blocked() && x.blocks.axis == *axis) {
    KILN_ASSIGN_OR_RETURN(x, Unblocked(x, &kernel.works));
  }
  const int64_t count = std::ssize(*indices);
  const int64_t step = count > 1 ? (*indices)[1] - (*indices)[0] : 1;
  bool even = true;
  for (int64_t i = 1; i < count; ++i)
    even =
        even && (*indices)[static_cast<size_t>(i)] - (*indices)[static_cast<size_t>(i - 1)] == step;
  if (even) {
    View view = Sliced(x, *axis, (*indices)[0], step, count);
    if (index_rank == 0) view = WithoutAxis(view, *axis);
    KILN_RETURN_IF_ERROR(AliasOrCopy(node, 0, view, &kernel));
    return kernel;
  }
  if (count > kMaxPieces) return ToHost(fmt::format("a gather of {} places", count));
  const View target = ResultView(node.result());
  KILN_RETURN_IF_ERROR(CheckWritable(target, x, node.result()));
  const View landing = target.blocks.axis == *axis ? Landing(target, -1) : target;
  for (int64_t i = 0; i < count; ++i) {
    KILN_RETURN_IF_ERROR(CopyTo(Sliced(x, *axis, (*indices)[static_cast<size_t>(i)], 1, 1),
                                Sliced(landing, *axis, i, 1, 1), &kernel.works));
  }
  KILN_RETURN_IF_ERROR(Land(landing, target, &kernel.works));
  views_[node.result()] = target;
  return kernel;
}

StatusOr<Kernel> Lowering::EmitConcat(const Group& group) {
  const Node& node = *group.anchor;
  const View target = ResultView(node.result());
  const auto axis = NormaliseAxis(node.attributes().Int("axis", 0), target.rank());
  if (!axis.has_value()) return ToHost("an axis beyond its rank");
  Kernel kernel =
      NewKernel(group, "vector", fmt::format("concat @{}", node.result()->shape().ToString()));
  int64_t start = 0;
  bool whole_blocks = true;
  for (const Value* operand : node.operands()) {
    whole_blocks = whole_blocks && CanSlice(target, *axis, start, 1);
    start += operand->shape()[*axis];
  }
  const View landing = whole_blocks ? target : Landing(target, -1);
  start = 0;
  for (const Value* operand : node.operands()) {
    const int64_t count = operand->shape()[*axis];
    if (operand->shape().NumElements() > 0) {
      KILN_ASSIGN_OR_RETURN(const View from, ViewOf(operand));
      KILN_RETURN_IF_ERROR(CheckWritable(target, from, node.result()));
      const View to = Sliced(landing, *axis, start, 1, count);
      // Most producers have already written their result here.
      if (!SamePositions(from, to)) KILN_RETURN_IF_ERROR(CopyTo(from, to, &kernel.works));
    }
    start += count;
  }
  KILN_RETURN_IF_ERROR(Land(landing, target, &kernel.works));
  views_[node.result()] = target;
  return kernel;
}

StatusOr<Kernel> Lowering::EmitPad(const Group& group) {
  const Node& node = *group.anchor;
  KILN_ASSIGN_OR_RETURN(const View x, ViewOf(node.operand(0)));
  if (node.attributes().String("mode", "constant") != "constant") {
    return ToHost("padding by anything but a constant");
  }
  const auto pads = ConstantInts(node.operand(1));
  if (!pads.has_value()) return ToHost("the pads are not constant");
  float fill = 0;
  if (node.operand(2) != nullptr) {
    if (!IsScalarConstant(node.operand(2)))
      return ToHost("the padding's value is not a constant in fp32");
    fill = ScalarOf(node.operand(2));
  }
  if (!std::isfinite(fill)) return ToHost("the padding's value is not finite");
  std::vector<int64_t> axes;
  if (node.operand(3) != nullptr) {
    const auto given = ConstantInts(node.operand(3));
    if (!given.has_value()) return ToHost("the padding's axes are not constant");
    axes = *given;
  } else {
    for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
  }
  if (pads->size() != 2 * axes.size()) return ToHost("the pads are not two an axis");
  const size_t rank = x.shape.size();
  std::vector<int64_t> before(rank, 0), after(rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = NormaliseAxis(axes[i], x.rank());
    if (!axis.has_value()) return ToHost("an axis beyond its rank");
    before[static_cast<size_t>(*axis)] = (*pads)[i];
    after[static_cast<size_t>(*axis)] = (*pads)[i + axes.size()];
    if ((*pads)[i] < 0 || (*pads)[i + axes.size()] < 0) return ToHost("pads below zero");
  }
  const View target = ResultView(node.result()), landing = Landing(target, -1);
  if (target.encoding.foreign != nullptr) return ToHost(ForeignReason(node.result()));
  Kernel kernel =
      NewKernel(group, "vector", fmt::format("pad @{}", node.result()->shape().ToString()));
  // The padding consists of slabs that do not overlap: each covers later axes fully, and earlier
  // axes without their padding.
  View inside = landing;
  for (int axis = 0; axis < target.rank(); ++axis) {
    const size_t a = static_cast<size_t>(axis);
    for (const auto& [start, count] :
         {std::pair{int64_t{0}, before[a]}, {before[a] + x.shape[a], after[a]}}) {
      if (count == 0) continue;
      VectorSpec spec;
      spec.output = Sliced(inside, axis, start, 1, count);
      spec.passes = {FinalPass(Source::kConstant, {}, {})};
      spec.passes[0].constant = fill;
      KILN_RETURN_IF_ERROR(EmitVector(spec, &kernel.works));
    }
    inside = Sliced(inside, axis, before[a], 1, x.shape[a]);
  }
  KILN_RETURN_IF_ERROR(CopyTo(x, inside, &kernel.works));
  KILN_RETURN_IF_ERROR(Land(landing, target, &kernel.works));
  views_[node.result()] = target;
  return kernel;
}

StatusOr<Kernel> Lowering::EmitRearrangement(const Group& group) {
  const Node& node = *group.anchor;
  const Attributes& attributes = node.attributes();
  KILN_ASSIGN_OR_RETURN(View x, ViewOf(node.operand(0)));
  const View whole = ResultView(node.result()), target = Landing(whole, -1);
  KILN_RETURN_IF_ERROR(CheckWritable(whole, x, node.result()));
  Kernel kernel = NewKernel(group, "vector",
                            fmt::format("{} {} -> {}", node.info().text, Shape(x.shape).ToString(),
                                        node.result()->shape().ToString()));
  KILN_ASSIGN_OR_RETURN(x, Unblocked(x, &kernel.works));
  if (target.elements() == 0) return ToHost("a tensor without elements");
  if (node.op() == Op::kTile || node.op() == Op::kResize) {
    if (target.rank() != x.rank()) return ToHost("a change of rank");
    const bool resize = node.op() == Op::kResize;
    if (resize) {
      const std::string mode = attributes.String("mode", "nearest");
      const std::string coordinates =
          attributes.String("coordinate_transformation_mode", "half_pixel");
      const std::string nearest = attributes.String("nearest_mode", "round_prefer_floor");
      // These modes read input o / s for whole factors s.
      const bool floors = (coordinates == "asymmetric" && nearest == "floor") ||
                          ((coordinates == "half_pixel" || coordinates == "pytorch_half_pixel") &&
                           (nearest == "round_prefer_floor" || nearest == "round_prefer_ceil"));
      if (mode != "nearest" || !floors)
        return ToHost(fmt::format("resize {} {} {}", mode, coordinates, nearest));
    }
    // Splits every axis of the result into (repeat, axis) for tile, and (axis, repeat) for resize.
    std::vector<int64_t> split;
    for (size_t i = 0; i < x.shape.size(); ++i) {
      if (target.shape[i] % x.shape[i] != 0) return ToHost("a factor that is no whole number");
      const int64_t repeat = target.shape[i] / x.shape[i];
      split.push_back(resize ? x.shape[i] : repeat);
      split.push_back(resize ? repeat : x.shape[i]);
    }
    auto to = Reshaped(target, split);
    if (!to.has_value()) return ToHost("a result that does not lie in order");
    to->encoding = target.encoding;
    View from = WithUnitAxes(x);
    if (resize) {
      for (size_t i = 0; i < from.shape.size(); i += 2) {
        std::swap(from.shape[i], from.shape[i + 1]);
        std::swap(from.strides[i], from.strides[i + 1]);
      }
    }
    KILN_RETURN_IF_ERROR(CopyTo(Broadcast(from, split), *to, &kernel.works));
  } else {
    const int64_t b = attributes.Int("blocksize", 1);
    if (x.rank() != 4 || b < 1) return ToHost("depth and space of another rank than 4");
    const bool to_space = node.op() == Op::kDepthToSpace;
    // Both operators are described from the side with the deep channels.
    const View& deep = to_space ? x : target;
    const View& wide = to_space ? target : x;
    const int64_t n = deep.shape[0], c = deep.shape[1] / (b * b), h = deep.shape[2],
                  w = deep.shape[3];
    if (c * b * b != deep.shape[1]) return ToHost("channels that are no multiple of the block");
    const bool column_row_depth = to_space && attributes.String("mode", "DCR") == "CRD";
    const auto deep_split =
        Reshaped(deep, column_row_depth ? std::vector<int64_t>{n, c, b, b, h, w}
                                        : std::vector<int64_t>{n, b, b, c, h, w});
    const auto wide_split = Reshaped(wide, std::vector<int64_t>{n, c, h, b, w, b});
    if (!deep_split.has_value() || !wide_split.has_value())
      return ToHost("axes that do not lie in order");
    View deep_view =
        Transposed(*deep_split, column_row_depth ? std::vector<int64_t>{0, 1, 4, 2, 5, 3}
                                                 : std::vector<int64_t>{0, 3, 4, 1, 5, 2});
    const View& wide_view = *wide_split;
    KILN_RETURN_IF_ERROR(
        CopyTo(to_space ? deep_view : wide_view, to_space ? wide_view : deep_view, &kernel.works));
  }
  KILN_RETURN_IF_ERROR(Land(target, whole, &kernel.works));
  views_[node.result()] = whole;
  return kernel;
}

}  // namespace kiln::systolic
