// Implements fold-shapes: an abstract evaluation in which some elements of a tensor are known and
// others are not, repeated until shapes and constants stop changing.
#include "kiln/passes/fold_shapes.h"

#include <algorithm>
#include <unordered_map>

#include "kiln/ir/indexing.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/passes/data_movement.h"
#include "kiln/passes/rewrite.h"

namespace kiln {
namespace {

// An integer tensor of rank 0 or 1 with some elements known; nullopt marks the others.
struct Dims {
  std::vector<std::optional<int64_t>> values;
  bool is_scalar = false;
  bool IsKnown() const {
    return std::all_of(values.begin(), values.end(), [](const auto& v) { return v.has_value(); });
  }
};

constexpr int64_t kMaxDims = 1024;  // shape arithmetic is short; longer vectors are data

// Evaluates nodes on dimensions, in topological order.
class ShapeEvaluator {
 public:
  // Returns the known elements of a value; nullopt if nothing is known.
  std::optional<Dims> Find(const Value* value) const {
    if (value == nullptr) return std::nullopt;
    // Constants are read directly rather than from known_: a constant that this pass creates may
    // have the address of an erased value.
    if (!value->is_constant()) {
      const auto it = known_.find(value);
      return it == known_.end() ? std::nullopt : std::optional(it->second);
    }
    const auto ints = IntConstant(value);
    if (!ints.has_value() || value->shape().rank() > 1 || value->constant().size() > kMaxDims)
      return std::nullopt;
    Dims dims{.values = {}, .is_scalar = value->shape().rank() == 0};
    for (const int64_t i : *ints) dims.values.push_back(i);
    return dims;
  }

  // Evaluates a node whose operands have been visited.
  void Visit(const Node& node) {
    if (node.num_results() != 1 || node.result() == nullptr || node.num_operands() == 0) return;
    if (const auto dims = Evaluate(node)) known_[node.result()] = *dims;
  }

 private:
  std::optional<Dims> Evaluate(const Node& node) const {
    switch (node.op()) {
      case Op::kShape:
        return ShapeOf(node);
      case Op::kSize: {
        if (!HasKnownShape(node.operand(0))) return std::nullopt;
        return Dims{.values = {node.operand(0)->shape().NumElements()}, .is_scalar = true};
      }
      case Op::kGather:
        return Gather(node);
      case Op::kSlice:
        return Slice(node);
      case Op::kConcat:
        return Concat(node);
      case Op::kIdentity:
        return Find(node.operand(0));
      case Op::kCast:
        // Dimensions pass through integer casts unchanged; other types are not used for shapes.
        if (node.result()->element() != ElementType::kInt64 &&
            node.result()->element() != ElementType::kInt32) {
          return std::nullopt;
        }
        return Find(node.operand(0));
      case Op::kSqueeze:
      case Op::kUnsqueeze:
      case Op::kReshape:
        return Reshape(node);
      case Op::kAdd:
      case Op::kSub:
      case Op::kMul:
      case Op::kDiv:
        return Arithmetic(node);
      default:
        return std::nullopt;
    }
  }

  static std::optional<Dims> ShapeOf(const Node& node) {
    if (!node.operand(0)->has_shape()) return std::nullopt;
    const Shape& shape = node.operand(0)->shape();
    const int64_t rank = shape.rank();
    const auto clamp = [&](int64_t at) {
      return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
    };
    const int64_t start = clamp(node.attributes().Int("start", 0)),
                  end = clamp(node.attributes().Int("end", rank));
    Dims dims;
    // Shape's attributes start and end select dimensions; both are clamped to the rank.
    for (int64_t i = start; i < end; ++i) {
      const int64_t dim = shape[static_cast<int>(i)];
      dims.values.push_back(dim == kUnknownDim ? std::nullopt : std::optional(dim));
    }
    return dims;
  }

  // An index must be known, but the dimension that it selects need not be.
  std::optional<Dims> Gather(const Node& node) const {
    const auto data = Find(node.operand(0)), indices = Find(node.operand(1));
    if (!data.has_value() || data->is_scalar || !indices.has_value()) return std::nullopt;
    const int64_t size = static_cast<int64_t>(data->values.size());
    Dims dims{.values = {}, .is_scalar = indices->is_scalar};
    for (const auto& index : indices->values) {
      if (!index.has_value() || *index < -size || *index >= size) return std::nullopt;
      dims.values.push_back(data->values[static_cast<size_t>(*index < 0 ? *index + size : *index)]);
    }
    return dims;
  }

  // Slices a list along its only axis; start, end and step must be known.
  std::optional<Dims> Slice(const Node& node) const {
    const auto data = Find(node.operand(0));
    if (!data.has_value() || data->is_scalar) return std::nullopt;
    int64_t numbers[3] = {0, 0, 1};  // start, end, step
    for (const auto& [operand, at] : {std::pair{1, 0}, std::pair{2, 1}, std::pair{4, 2}}) {
      if (node.operand(operand) == nullptr && operand == 4) continue;
      const auto given = Find(node.operand(operand));
      if (!given.has_value() || given->values.size() != 1 || !given->values[0].has_value())
        return std::nullopt;
      numbers[at] = *given->values[0];
    }
    if (node.operand(3) != nullptr) {
      const auto axes = ConstantAxes(node.operand(3), 1);
      if (!axes.has_value() || *axes != std::vector<int64_t>{0}) return std::nullopt;
    }
    if (numbers[2] == 0) return std::nullopt;
    const SliceRange range =
        ResolveSlice(static_cast<int64_t>(data->values.size()), numbers[0], numbers[1], numbers[2]);
    Dims dims;
    for (int64_t i = 0; i < range.count; ++i) {
      dims.values.push_back(data->values[static_cast<size_t>(range.start + i * range.step)]);
    }
    return dims;
  }

  // Joins lists, unknown elements included.
  std::optional<Dims> Concat(const Node& node) const {
    Dims dims;
    for (const Value* operand : node.operands()) {
      const auto part = Find(operand);
      if (!part.has_value() || part->is_scalar) return std::nullopt;
      dims.values.insert(dims.values.end(), part->values.begin(), part->values.end());
    }
    if (static_cast<int64_t>(dims.values.size()) > kMaxDims) return std::nullopt;
    return dims;
  }

  // A reshape of a list of dimensions to another list, or to and from a scalar, keeps its elements.
  std::optional<Dims> Reshape(const Node& node) const {
    auto dims = Find(node.operand(0));
    const int rank = RankOf(node.result());
    if (!dims.has_value() || rank < 0 || rank > 1) return std::nullopt;
    dims->is_scalar = rank == 0;
    if (dims->is_scalar && dims->values.size() != 1) return std::nullopt;
    return dims;
  }

  // Computes element by element; a list of one element broadcasts. An unknown element makes the
  // result unknown.
  std::optional<Dims> Arithmetic(const Node& node) const {
    const auto a = Find(node.operand(0)), b = Find(node.operand(1));
    if (!a.has_value() || !b.has_value()) return std::nullopt;
    const size_t n = std::max(a->values.size(), b->values.size());
    if ((a->values.size() != n && a->values.size() != 1) ||
        (b->values.size() != n && b->values.size() != 1)) {
      return std::nullopt;
    }
    if (a->values.empty() || b->values.empty()) return std::nullopt;
    Dims dims{.values = {}, .is_scalar = a->is_scalar && b->is_scalar};
    for (size_t i = 0; i < n; ++i) {
      const auto& x = a->values[a->values.size() == 1 ? 0 : i];
      const auto& y = b->values[b->values.size() == 1 ? 0 : i];
      dims.values.push_back(x.has_value() && y.has_value() ? Compute(node.op(), *x, *y)
                                                           : std::nullopt);
    }
    return dims;
  }

  // Returns nullopt if the exact result does not fit int64 or is undefined.
  static std::optional<int64_t> Compute(Op op, int64_t x, int64_t y) {
    int64_t result = 0;
    switch (op) {
      case Op::kAdd:
        return __builtin_add_overflow(x, y, &result) ? std::nullopt : std::optional(result);
      case Op::kSub:
        return __builtin_sub_overflow(x, y, &result) ? std::nullopt : std::optional(result);
      case Op::kMul:
        return __builtin_mul_overflow(x, y, &result) ? std::nullopt : std::optional(result);
      default:
        if (y == 0 || (y == -1 && x == INT64_MIN)) return std::nullopt;
        return x / y;
    }
  }

  std::unordered_map<const Value*, Dims> known_;
};

// Returns fully known elements as a constant tensor.
Tensor TensorOf(const Dims& dims, ElementType type) {
  const Shape shape = dims.is_scalar ? Shape{} : Shape{static_cast<int64_t>(dims.values.size())};
  Tensor tensor(type, shape);
  for (size_t i = 0; i < dims.values.size(); ++i) {
    if (type == ElementType::kInt64) tensor.data<int64_t>()[i] = *dims.values[i];
    if (type == ElementType::kInt32)
      tensor.data<int32_t>()[i] = static_cast<int32_t>(*dims.values[i]);
  }
  return tensor;
}

// Replaces the target of a Reshape by a constant if all but one dimension are known; that one
// becomes -1. Not possible if the target contains 0 or -1 itself.
bool FoldReshapeTarget(Graph& graph, Node& node, const Dims& target) {
  std::vector<int64_t> dims;
  int unknown = 0;
  for (const auto& value : target.values) {
    if (value.has_value() && *value <= 0) return false;
    if (!value.has_value()) ++unknown;
    dims.push_back(value.value_or(-1));
  }
  if (unknown != 1) return false;
  Node* producer = node.operand(1)->producer();
  graph.SetOperand(&node, 1, AddIntConstant(graph, node.name() + ".shape", dims));
  EraseUpwards(graph, producer);
  return true;
}

// Evaluates all nodes once with the types known now and applies what was found.
StatusOr<Changed> FoldOnce(Graph& graph) {
  ShapeEvaluator evaluator;
  for (const auto& node : graph.nodes()) evaluator.Visit(*node);
  return ApplyRule(graph, [&](Graph& g, Node& root) -> StatusOr<bool> {
    if (root.op() == Op::kReshape && root.operand(1)->producer() != nullptr) {
      const auto target = evaluator.Find(root.operand(1));
      if (target.has_value() && !target->IsKnown() && FoldReshapeTarget(g, root, *target))
        return true;
    }
    Value* result = root.num_results() == 1 ? root.result() : nullptr;
    if (result == nullptr || IsOutput(g, result) || result->quantisation().has_value())
      return false;
    if (result->element() != ElementType::kInt64 && result->element() != ElementType::kInt32)
      return false;
    const auto dims = evaluator.Find(result);
    if (!dims.has_value() || !dims->IsKnown()) return false;
    const std::string name = result->name();
    g.Rename(result, name + ".folded");
    Replace(g, root, g.AddConstant(name, TensorOf(*dims, result->element())));
    return true;
  });
}

}  // namespace

// A constant target gives a Reshape its shape, which may give the next Shape its dimensions; hence
// the loop.
StatusOr<Changed> FoldShapes::Run(Graph& graph, PassContext&) const {
  Changed any = Changed::kNo;
  while (true) {
    KILN_ASSIGN_OR_RETURN(const Changed changed, FoldOnce(graph));
    if (changed == Changed::kNo) return any;
    any = Changed::kYes;
    KILN_RETURN_IF_ERROR(InferShapes(graph));
  }
}

}  // namespace kiln
