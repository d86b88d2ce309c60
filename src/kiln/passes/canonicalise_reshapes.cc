// Implements canonicalise-reshapes.
#include "kiln/passes/canonicalise_reshapes.h"

#include <algorithm>

#include "kiln/passes/data_movement.h"
#include "kiln/passes/rewrite.h"

namespace kiln {

StatusOr<Changed> CanonicaliseReshapes::Run(Graph& graph, PassContext&) const {
  return ApplyRule(graph, [](Graph& g, Node& root) -> StatusOr<bool> {
    if (!IsReshape(root.op()) || !root.result()->has_shape()) return false;
    const std::vector<int64_t> dims = root.result()->shape().dims();
    // In a target, 0 means "as in the operand", so a result without elements keeps its form.
    if (std::count(dims.begin(), dims.end(), 0) != 0) return false;
    // An Unsqueeze with unknown axes may declare an impossible result; execution reports the error.
    const Value& operand = *root.operand(0);
    if (operand.has_shape() && operand.shape().IsKnown() && root.result()->shape().IsKnown() &&
        operand.shape().NumElements() != root.result()->shape().NumElements()) {
      return false;
    }
    static_assert(kUnknownDim == -1);  // the value by which Reshape marks the dimension it computes
    if (std::count(dims.begin(), dims.end(), kUnknownDim) > 1) return false;
    if (root.op() == Op::kReshape) {
      const auto target = IntConstant(root.operand(1));
      if (!target.has_value() || (*target == dims && root.attributes().size() == 0)) return false;
      // If the shape is known, any target that describes it is canonicalised; otherwise only 0
      // entries need to be replaced.
      if (!root.result()->shape().IsKnown() && std::count(target->begin(), target->end(), 0) == 0)
        return false;
    }
    Value* shape = AddIntConstant(g, root.name() + ".shape", dims);
    g.ReplaceNode(&root, Op::kReshape, {root.operand(0), shape}, {});
    return true;
  });
}

}  // namespace kiln
