// Completes annotations and quantises constants with the functions of execute/codes.h.

#include "kiln/targets/lower/constant_codes.h"

#include <utility>

#include "kiln/execute/codes.h"

namespace kiln {
namespace {

// Returns whether block scales follow from the values by the rule of numerics/microscaling.h.
bool HasBlocksByRule(const Quantisation& q) {
  return q.type.scheme == Scheme::kPerBlock && q.scales.empty();
}

}  // namespace

Quantisation CompleteAnnotation(Quantisation q) {
  if (HasBlocksByRule(q)) return q;
  if (q.scales.empty()) q.scales = {1.0f};
  q.zero_points.resize(q.scales.size(), 0);
  if (q.scales.size() > 1 || q.type.scheme == Scheme::kPerBlock) return q;
  q.type.scheme = Scheme::kPerTensor;
  q.axis = -1;
  return q;
}

ConstantCodes QuantiseConstant(const Tensor& values, const Quantisation& annotation) {
  const Quantisation q = CompleteAnnotation(annotation);
  if (!HasBlocksByRule(q)) return {QuantiseTensor(values, q), {}};
  BlockCodes blocks = QuantiseBlocks(values, q);
  return {std::move(blocks.codes), std::move(blocks.scales)};
}

Tensor RoundToAnnotation(const Tensor& values, const Quantisation& annotation) {
  return RoundTensor(values, CompleteAnnotation(annotation));
}

}  // namespace kiln
