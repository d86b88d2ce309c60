// Implements fold-batch-norm with scale_shift.h.
#include "kiln/passes/fold_batch_norm.h"

#include "kiln/passes/rewrite.h"
#include "kiln/passes/scale_shift.h"

namespace kiln {

StatusOr<Changed> FoldBatchNorm::Run(Graph& graph, PassContext&) const {
  return ApplyRule(graph, [](Graph& g, Node& norm) -> StatusOr<bool> {
    const std::optional<ScaleShift> by = ScaleShiftOf(norm);
    if (!by.has_value()) return false;
    Value* between = norm.operand(0);
    Node* linear = between->producer();
    // A MatMul has no bias to absorb the shift; decompose-batch-norm and fold-scale-shift handle
    // it.
    if (linear == nullptr || linear->op() == Op::kMatMul || !HasOneUse(g, between)) return false;
    // An annotation marks a point where values are rounded; folding would remove it.
    if (between->quantisation().has_value() || !CanReplace(g, norm.result(), between)) return false;
    if (FoldableChannels(*linear) != static_cast<int64_t>(by->scale.size())) return false;
    // Batch normalisation counts channels along axis 1 in every layout of the convolution.
    if (linear->attributes().String("layout", "nchw") != "nchw") return false;
    FoldInto(g, *linear, *by);
    linear->set_name(JoinNames(linear->name(), norm.name()));
    Replace(g, norm, between);
    return true;
  });
}

}  // namespace kiln
