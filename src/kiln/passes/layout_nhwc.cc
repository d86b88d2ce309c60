// Implements layout-nhwc: convert windows, sink Transposes (layout_sink.h), move the rest into the
// weights of products, and turn Transposes that move nothing into Reshapes.
#include "kiln/passes/layout_nhwc.h"

#include <algorithm>
#include <numeric>

#include "kiln/ir/window.h"
#include "kiln/passes/data_movement.h"
#include "kiln/passes/layout_sink.h"
#include "kiln/passes/quantiser.h"
#include "kiln/passes/rewrite.h"

namespace kiln {
namespace {

// Returns true for a convolution or pool in NCHW over two spatial axes.
bool IsWindowOver2D(const Node& node) {
  if (!node.info().Has(kHasLayout) || IsNhwc(node) || node.num_results() != 1) return false;
  return RankOf(node.operand(0)) == 4 && RankOf(node.result()) == 4;
}

// Converts convolutions and pools to NHWC, each between two Transposes.
bool ConvertWindows(Graph& graph) {
  bool changed = false;
  const std::vector<Node*> nodes = graph.NodeList();
  for (size_t i = 0; i < nodes.size(); ++i) {
    Node& node = *nodes[i];
    if (!IsWindowOver2D(node)) continue;
    graph.SetOperand(&node, 0, TransposeBefore(graph, node, node.operand(0), ToNhwc()));
    node.attributes().Set("layout", std::string("nhwc"));
    TransposeAfter(graph, node.result(), ToNchw(), i + 1 < nodes.size() ? nodes[i + 1] : nullptr);
    changed = true;
  }
  return changed;
}

// Moves Transposes down and cancels them where they meet, until none moves.
bool SinkTransposes(Graph& graph) {
  bool any = false;
  for (bool changed = true; changed; any |= changed) {
    changed = false;
    for (auto it = graph.nodes().begin(); it != graph.nodes().end();) {
      Node& root = **it++;
      Node* next = it == graph.nodes().end() ? nullptr : it->get();
      if (MergeTransposes(graph, root)) changed = true;
      if (root.op() == Op::kTranspose) {
        const auto perm = PermutationOf(root);
        if (perm.has_value() && IsIdentity(*perm) &&
            CanReplaceMove(graph, root.result(), root.operand(0))) {
          Replace(graph, root, root.operand(0));
          changed = true;
        }
      } else if (SinkThrough(graph, root, next)) {
        changed = true;
      }
    }
  }
  return any;
}

// Turns a Transpose that moves no element into a Reshape, which may merge with another.
StatusOr<bool> TransposeToReshape(Graph& graph, Node& root) {
  if (root.op() != Op::kTranspose) return MergeReshapes(graph, root);
  const auto perm = PermutationOf(root);
  if (!perm.has_value() || RankOf(root.operand(0)) != static_cast<int>(perm->size())) return false;
  const Shape& x = root.operand(0)->shape();
  const std::vector<int64_t> dims = Permute(x, *perm).dims();
  if (std::count(dims.begin(), dims.end(), kUnknownDim) > 1 ||
      std::count(dims.begin(), dims.end(), 0) != 0)
    return false;
  if (!MovesNothing(*perm, x)) return false;
  graph.ReplaceNode(&root, Op::kReshape,
                    {root.operand(0), AddIntConstant(graph, root.name() + ".shape", dims)}, {});
  return true;
}

// Handles matmul(reshape(transpose(x)), w), where the reshape flattens all axes but the first:
// permutes the rows of w and removes the Transpose.
StatusOr<bool> MoveRowsOfWeights(Graph& graph, Node& matmul) {
  if (matmul.op() != Op::kMatMul || matmul.attributes().Int("transpose_b", 0) != 0) return false;
  Node* reshape = ProducedBy(matmul.operand(0), Op::kReshape);
  Node* transpose = reshape == nullptr ? nullptr : ProducedBy(reshape->operand(0), Op::kTranspose);
  if (transpose == nullptr || !HasOneUse(graph, reshape->result())) return false;
  const Tensor* weights = FloatConstant(matmul.operand(1));
  const auto perm = PermutationOf(*transpose);
  const Value* x = transpose->operand(0);
  if (weights == nullptr || weights->shape().rank() != 2) return false;
  const std::optional<Quantisation> annotation = matmul.operand(1)->quantisation();
  if (annotation.has_value() &&
      (annotation->axis == 0 || annotation->type.scheme == Scheme::kPerBlock))
    return false;
  if (!perm.has_value() || perm->size() < 2 || (*perm)[0] != 0 ||
      RankOf(x) != static_cast<int>(perm->size()))
    return false;
  // Moves between values of the same grid may still be removed.
  for (const Value* moved : {transpose->result(), reshape->result()}) {
    if (moved->quantisation().has_value() && !SameGrid(moved->quantisation(), x->quantisation()))
      return false;
  }
  // The reshape produces [batch, rows] from [batch, ...]: row r of w belongs to element r of the
  // transposed axes.
  const int64_t rows = weights->shape()[0];
  const std::vector<int64_t> moved = Permute(x->shape(), *perm).dims();
  if (RankOf(reshape->result()) != 2 || reshape->result()->shape()[1] != rows) return false;
  const auto per_image =
      CheckedNumElements(Shape(std::vector<int64_t>(moved.begin() + 1, moved.end())));
  if (per_image != rows || rows == 0) return false;

  // Views the rows of w as the transposed axes, and transposes them back to the order of x.
  std::vector<int64_t> view(moved.begin() + 1, moved.end());
  view.push_back(weights->shape()[1]);
  const Permutation inverse = Invert(*perm);
  Permutation back;
  for (size_t i = 1; i < inverse.size(); ++i) back.push_back(inverse[i] - 1);
  back.push_back(static_cast<int64_t>(view.size()) - 1);
  const Tensor turned =
      TransposeTensor(weights->Reshaped(Shape(view)), back).Reshaped(weights->shape());
  SetConstantOperand(graph, matmul, 1, turned);
  matmul.operand(1)->set_quantisation(annotation);
  graph.SetOperand(reshape, 0, transpose->operand(0));
  EraseUpwards(graph, transpose);
  return true;
}

}  // namespace

StatusOr<Changed> LayoutNhwc::Run(Graph& graph, PassContext&) const {
  bool changed = ConvertWindows(graph);
  changed |= SinkTransposes(graph);
  KILN_ASSIGN_OR_RETURN(const Changed rows, ApplyRule(graph, MoveRowsOfWeights));
  KILN_ASSIGN_OR_RETURN(const Changed reshapes, ApplyRule(graph, TransposeToReshape));
  if (changed) graph.EraseUnusedConstants();
  changed |= rows == Changed::kYes || reshapes == Changed::kYes;
  return changed ? Changed::kYes : Changed::kNo;
}

}  // namespace kiln
