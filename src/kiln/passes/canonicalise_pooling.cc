// Implements canonicalise-pooling.
#include "kiln/passes/canonicalise_pooling.h"

#include "kiln/passes/rewrite.h"

namespace kiln {

StatusOr<Changed> CanonicalisePooling::Run(Graph& graph, PassContext&) const {
  return ApplyRule(graph, [](Graph& g, Node& root) -> StatusOr<bool> {
    if (root.op() != Op::kReduceMean || RankOf(root.operand(0)) != 4) return false;
    if (root.operand(0)->element() != ElementType::kFloat32) return false;
    const auto axes = ConstantAxes(root.operand(1), 4);
    if (!axes.has_value() || *axes != std::vector<int64_t>{2, 3}) return false;
    const Shape& x = root.operand(0)->shape();
    if (root.attributes().Int("keepdims", 1) != 0) {
      g.ReplaceNode(&root, Op::kGlobalAveragePool, {root.operand(0)}, {});
      return true;
    }
    // Reshape takes 0 as "copy", so a dropped plane needs known, non-empty dimensions; one unknown
    // dimension (the batch) may remain.
    if (x[1] == kUnknownDim || x[1] == 0 || x[0] == 0) return false;
    Node* pool = InsertNode(g, &root, Op::kGlobalAveragePool, root.name(), {root.operand(0)}, {},
                            {ElementType::kFloat32, Shape{x[0], x[1], 1, 1}});
    pool->set_region(root.region());
    g.ReplaceNode(&root, Op::kReshape,
                  {pool->result(), AddIntConstant(g, root.name() + ".shape", {x[0], x[1]})}, {});
    return true;
  });
}

}  // namespace kiln
