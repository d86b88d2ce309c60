// The framework of shape inference: checks a node, applies its operator's rule from the table
// kRules, and merges the result with declared types. The rules themselves are in shape_rules_*.cc.

#include "kiln/ir/shape_inference.h"

#include <algorithm>

#include "fmt/format.h"
#include "kiln/ir/checked_math.h"
#include "kiln/ir/indexing.h"
#include "kiln/ir/shape_rules.h"
#include "kiln/ir/signature.h"
#include "kiln/support/excerpt.h"

namespace kiln {

namespace shape_rules {

const Tensor* Context::ConstantOf(int i) const {
  const Value* value = node_.operand(i);
  if (value == nullptr) return nullptr;
  if (value->is_constant()) return &value->constant();
  const auto it = known_.find(value);
  return it == known_.end() ? nullptr : &it->second;
}

// The limit keeps a rule from copying a huge constant that is not a list of axes or lengths at all.
StatusOr<std::optional<Ints>> Context::ListOf(int i, int64_t limit) const {
  const Tensor* tensor = ConstantOf(i);
  if (tensor == nullptr) return std::optional<Ints>();
  // A scalar instead of a list of one number is common and unambiguous.
  if (tensor->shape().rank() > 1 || tensor->size() > limit ||
      tensor->type() == ElementType::kString) {
    return Error(fmt::format("operand {} {} has shape {}", i,
                             QuotedExcerpt(node_.operand(i)->name()), tensor->shape().ToString()),
                 fmt::format("a list of at most {} numbers", limit));
  }
  return std::optional<Ints>(tensor->ToInts());
}

int64_t Context::LengthOf(int i) const {
  const Shape* shape = ShapeOf(i);
  if (shape == nullptr || shape->rank() > 1) return kUnknownDim;
  return shape->rank() == 0 ? 1 : (*shape)[0];
}

StatusOr<int> Context::Axis(int64_t axis, int rank) const {
  const std::optional<int> normal = NormaliseAxis(axis, rank);
  if (!normal.has_value()) {
    return Error(fmt::format("axis {} is outside a tensor of {} axes", axis, rank),
                 rank == 0 ? "a scalar has no axes" : fmt::format("{} to {}", -rank, rank - 1));
  }
  return *normal;
}

StatusOr<std::vector<int>> Context::Axes(const Ints& axes, int rank) const {
  std::vector<int> out;
  for (int64_t axis : axes) {
    KILN_ASSIGN_OR_RETURN(const int normal, Axis(axis, rank));
    out.push_back(normal);
  }
  std::sort(out.begin(), out.end());
  if (std::adjacent_find(out.begin(), out.end()) != out.end()) {
    return Error(fmt::format("axes [{}] name an axis twice", ListExcerpt(axes)), "each axis once");
  }
  return out;
}

// Starts from the scalar shape, which broadcasts to everything. An operand of unknown rank leaves
// the result's rank unknown.
Status Context::SetBroadcast(int first_operand, int num_operands) {
  std::optional<Shape> shape = Shape{};
  for (int i = first_operand; i < first_operand + num_operands; ++i) {
    if (!Has(i)) continue;
    const Shape* operand = ShapeOf(i);
    if (operand == nullptr) return OkStatus();
    shape = BroadcastShapes(*shape, *operand);
    if (!shape.has_value()) {
      std::string shapes;
      for (int j = first_operand; j < first_operand + num_operands; ++j) {
        if (!Has(j)) continue;
        shapes += shapes.empty() ? "" : " and ";
        shapes += ShapeOf(j) != nullptr ? ShapeOf(j)->ToString() : "unknown";
      }
      return Error("operands of shape " + shapes + " do not broadcast",
                   "equal dimensions, or 1, counted from the last axis");
    }
  }
  SetShape(0, std::move(shape));
  return OkStatus();
}

Status SameShape(Context& c) {
  c.SetShape(0, c.ShapeOf(0));
  return OkStatus();
}

// Compares from the last axis; an unknown dimension is assumed to fit.
bool BroadcastsTo(const Shape& from, const Shape& to) {
  if (from.rank() > to.rank()) return false;
  for (int i = 1; i <= from.rank(); ++i) {
    const int64_t f = from[from.rank() - i];
    const int64_t t = to[to.rank() - i];
    if (f != 1 && f >= 0 && t >= 0 && f != t) return false;
  }
  return true;
}

int64_t ProductOf(const Shape& shape, int begin, int end) {
  Ints dims(shape.dims().begin() + begin, shape.dims().begin() + end);
  return CheckedNumElements(Shape(std::move(dims))).value_or(kUnknownDim);
}

}  // namespace shape_rules

namespace {

using ShapeRule = Status (*)(shape_rules::Context&);

// The rule of each operator, in the order of operators.def.
constexpr ShapeRule kRules[] = {
#define KILN_OPERATOR(id, text, domain, onnx, least, most, results, traits) shape_rules::Infer##id,
#include "kiln/ir/operators.def"
#undef KILN_OPERATOR
};

// Checks the shapes of the operands. Rules may then assume acceptable shapes.
Status CheckOperandShapes(const Node& node, std::string_view source) {
  for (const Value* operand : node.operands()) {
    if (operand == nullptr || !operand->has_shape() || IsAcceptable(operand->shape())) continue;
    return ErrorAt(source, node.Describe(),
                   fmt::format("operand {} has shape {}", QuotedExcerpt(operand->name()),
                               operand->shape().ToString()),
                   fmt::format("at most {} axes and {} elements", kMaxRank, kMaxElements));
  }
  return OkStatus();
}

}  // namespace

// Zero dimensions are skipped: a tensor without elements may have large other dimensions only if
// their product is acceptable, too.
bool IsAcceptable(const Shape& shape) {
  if (shape.rank() > kMaxRank) return false;
  int64_t product = 1;
  for (int64_t d : shape.dims()) {
    if (d < kUnknownDim || d > kMaxElements) return false;
    if (d > 0) product = SaturatingMul(product, d);
  }
  return product <= kMaxElements;
}

// An unknown rank or dimension is compatible with every other one.
bool Compatible(const TensorType& a, const TensorType& b) {
  if (a.element != b.element) return false;
  if (!a.shape.has_value() || !b.shape.has_value()) return true;
  if (a.shape->rank() != b.shape->rank()) return false;
  for (int i = 0; i < a.shape->rank(); ++i) {
    const int64_t x = (*a.shape)[i];
    const int64_t y = (*b.shape)[i];
    if (x >= 0 && y >= 0 && x != y) return false;
  }
  return true;
}

TensorType MergeTypes(const TensorType& inferred, const TensorType& declared) {
  TensorType out = inferred;
  if (!declared.shape.has_value()) return out;
  if (!out.shape.has_value()) {
    out.shape = declared.shape;
  } else if (out.shape->rank() == declared.shape->rank()) {
    for (int i = 0; i < out.shape->rank(); ++i) {
      if ((*out.shape)[i] < 0) (*out.shape)[i] = (*declared.shape)[i];
    }
  }
  return out;
}

// Checks in the order in which rules rely on them: element types, attributes, operand shapes.
StatusOr<std::vector<TensorType>> InferResultTypes(const Node& node, std::string_view source,
                                                   const KnownTensors& known) {
  std::vector<std::optional<ElementType>> elements;
  KILN_RETURN_IF_ERROR(CheckElementTypes(node, source, &elements));
  KILN_RETURN_IF_ERROR(CheckAttributes(node, source));
  KILN_RETURN_IF_ERROR(CheckOperandShapes(node, source));
  shape_rules::Context context(node, source, known);
  for (const auto& element : elements) {
    context.types.push_back({element.value_or(ElementType::kFloat32), std::nullopt});
  }
  KILN_RETURN_IF_ERROR(kRules[static_cast<size_t>(node.op())](context));
  for (const TensorType& type : context.types) {
    if (type.shape.has_value() && !IsAcceptable(*type.shape)) {
      return ErrorAt(source, node.Describe(),
                     fmt::format("the result would have shape {}", type.shape->ToString()),
                     fmt::format("at most {} axes and {} elements", kMaxRank, kMaxElements));
    }
  }
  return std::move(context.types);
}

// Declared dimensions fill gaps in the inferred type; the verifier reports contradictions.
Status InferNode(Graph& graph, Node& node, const KnownTensors& known) {
  KILN_ASSIGN_OR_RETURN(const std::vector<TensorType> types,
                        InferResultTypes(node, graph.source(), known));
  for (int i = 0; i < node.num_results(); ++i) {
    Value* result = node.result(i);
    if (result == nullptr) continue;
    graph.SetType(result, MergeTypes(types[static_cast<size_t>(i)], result->type()));
  }
  return OkStatus();
}

Status InferShapes(Graph& graph) {
  for (const auto& node : graph.nodes()) KILN_RETURN_IF_ERROR(InferNode(graph, *node));
  return OkStatus();
}

}  // namespace kiln
