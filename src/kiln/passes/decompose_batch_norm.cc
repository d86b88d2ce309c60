// Implements decompose-batch-norm.
#include "kiln/passes/decompose_batch_norm.h"

#include "kiln/passes/rewrite.h"
#include "kiln/passes/scale_shift.h"

namespace kiln {

StatusOr<Changed> DecomposeBatchNorm::Run(Graph& graph, PassContext&) const {
  return ApplyRule(graph, [](Graph& g, Node& norm) -> StatusOr<bool> {
    const std::optional<ScaleShift> by = ScaleShiftOf(norm);
    const int rank = norm.num_operands() > 0 ? RankOf(norm.operand(0)) : -1;
    if (!by.has_value() || rank < 2 || norm.operand(0)->element() != ElementType::kFloat32)
      return false;
    // [channels, 1, ..., 1], which broadcasts along axis 1
    std::vector<int64_t> dims(static_cast<size_t>(rank) - 1, 1);
    dims[0] = static_cast<int64_t>(by->scale.size());
    const auto constant = [&](const char* suffix, const std::vector<double>& values) {
      return g.AddConstant(
          norm.name() + suffix,
          Tensor::Of<float>(Shape(dims), std::vector<float>(values.begin(), values.end())));
    };
    Node* scaled =
        InsertNode(g, &norm, Op::kMul, norm.name(),
                   {norm.operand(0), constant(".scale", by->scale)}, {}, norm.operand(0)->type());
    scaled->set_region(norm.region());
    g.ReplaceNode(&norm, Op::kAdd, {scaled->result(), constant(".shift", by->shift)}, {});
    return true;
  });
}

}  // namespace kiln
