// Implements data_movement.h.
#include "kiln/passes/data_movement.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kiln/passes/quantiser.h"
#include "kiln/passes/rewrite.h"

namespace kiln {
namespace {

// Removes the producer of operand 0 from the path: `root` reads the producer's operand instead.
void SkipProducer(Graph& graph, Node& root, Node* producer) {
  root.set_name(JoinNames(producer->name(), root.name()));
  graph.SetOperand(&root, 0, producer->operand(0));
  EraseUpwards(graph, producer);
}

}  // namespace

std::optional<Permutation> PermutationOf(const Node& transpose) {
  Permutation perm = transpose.attributes().Ints("perm");
  if (perm.empty()) {
    const int rank = RankOf(transpose.operand(0));
    if (rank < 0) return std::nullopt;
    perm.resize(static_cast<size_t>(rank));
    std::iota(perm.rbegin(), perm.rend(), 0);
  }
  // A permutation, sorted, is 0, 1, 2, ...
  Permutation sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  return IsIdentity(sorted) ? std::optional(perm) : std::nullopt;
}

// Axis i of the final result is axis second[i] of the middle value, which is axis first[second[i]]
// of the operand.
Permutation Compose(const Permutation& first, const Permutation& second) {
  KILN_CHECK(first.size() == second.size());
  Permutation result;
  for (const int64_t axis : second) result.push_back(first[static_cast<size_t>(axis)]);
  return result;
}

Permutation Invert(const Permutation& perm) {
  Permutation result(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    result[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return result;
}

bool IsIdentity(const Permutation& perm) {
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

bool MovesNothing(const Permutation& perm, const Shape& operand_shape) {
  // Axes of length 1 do not affect the order of elements; the others must keep theirs.
  int64_t last = -1;
  for (const int64_t axis : perm) {
    if (operand_shape[static_cast<int>(axis)] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

Shape Permute(const Shape& shape, const Permutation& perm) {
  KILN_CHECK(shape.rank() == static_cast<int>(perm.size()));
  std::vector<int64_t> dims;
  for (const int64_t axis : perm) dims.push_back(shape[static_cast<int>(axis)]);
  return Shape(std::move(dims));
}

bool IsReshape(Op op) {
  return op == Op::kReshape || op == Op::kFlatten || op == Op::kSqueeze || op == Op::kUnsqueeze;
}

bool PicksElements(const Node& node) {
  switch (node.op()) {
    case Op::kPad: {
      const bool constant = node.attributes().String("mode", "constant") == "constant";
      return !constant || node.operand(2) == nullptr || ScalarConstant(node.operand(2)) == 0.0;
    }
    case Op::kMaxPool:
    case Op::kGlobalMaxPool:
    case Op::kReduceMax:
    case Op::kReduceMin:
    case Op::kDropout:  // at inference
      return true;
    case Op::kResize:
      return node.attributes().String("mode", "nearest") == "nearest";
    default:
      return node.info().Has(kMovesData);
  }
}

// Copies element by element; only constants are transposed here.
Tensor TransposeTensor(const Tensor& tensor, const Permutation& perm) {
  const Shape shape = Permute(tensor.shape(), perm);
  Tensor result(tensor.type(), shape);
  const std::vector<int64_t> source_strides = RowMajorStrides(tensor.shape());
  const size_t width = static_cast<size_t>(SizeOf(tensor.type()));
  std::vector<int64_t> index(perm.size(), 0);
  std::byte* to = result.mutable_bytes();
  for (int64_t n = 0; n < result.size(); ++n, to += width) {
    int64_t from = 0;
    for (size_t i = 0; i < perm.size(); ++i)
      from += index[i] * source_strides[static_cast<size_t>(perm[i])];
    std::memcpy(to, tensor.bytes() + static_cast<size_t>(from) * width, width);
    for (size_t i = perm.size(); i-- > 0;) {
      if (++index[i] < shape[static_cast<int>(i)]) break;
      index[i] = 0;
    }
  }
  return result;
}

namespace {

// Returns true if no rounding is lost by dropping the value between two moves: it is not annotated,
// or has the same grid as the value before or after it.
bool RoundsNothing(const Node& inner, const Node& outer) {
  const std::optional<Quantisation>& between = inner.result()->quantisation();
  if (!between.has_value()) return true;
  return between->axis < 0 && (SameGrid(between, outer.result()->quantisation()) ||
                               SameGrid(between, inner.operand(0)->quantisation()));
}

}  // namespace

bool MergeTransposes(Graph& graph, Node& root) {
  Node* inner = root.op() == Op::kTranspose ? ProducedBy(root.operand(0), Op::kTranspose) : nullptr;
  if (inner == nullptr || !RoundsNothing(*inner, root)) return false;
  const auto first = PermutationOf(*inner), second = PermutationOf(root);
  if (!first.has_value() || !second.has_value() || first->size() != second->size()) return false;
  // The composed permutation may be the identity; eliminate-identities removes it then.
  root.attributes().Set("perm", Compose(*first, *second));
  SkipProducer(graph, root, inner);
  return true;
}

bool MergeReshapes(Graph& graph, Node& root) {
  Node* inner = root.op() == Op::kReshape ? root.operand(0)->producer() : nullptr;
  if (inner == nullptr || !IsReshape(inner->op()) || !RoundsNothing(*inner, root)) return false;
  const auto target = IntConstant(root.operand(1));
  if (!target.has_value()) return false;
  // A 0 copies a dimension of the operand, which is about to change, so it must be replaced first.
  if (std::count(target->begin(), target->end(), 0) != 0) {
    if (!HasKnownShape(root.result()) || root.attributes().Int("allowzero", 0) != 0) return false;
    const std::vector<int64_t> dims = root.result()->shape().dims();
    if (std::count(dims.begin(), dims.end(), 0) != 0) return false;
    SetConstantOperand(graph, root, 1,
                       Tensor::Of<int64_t>(Shape{static_cast<int64_t>(dims.size())}, dims));
  }
  SkipProducer(graph, root, inner);
  return true;
}

}  // namespace kiln
