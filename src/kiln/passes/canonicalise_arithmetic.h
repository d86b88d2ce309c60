// The pass canonicalise-arithmetic. StandardPipeline runs it before the pattern passes, which then
// need to match one spelling of arithmetic with constants only.
#ifndef KILN_PASSES_CANONICALISE_ARITHMETIC_H_
#define KILN_PASSES_CANONICALISE_ARITHMETIC_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Brings element-wise arithmetic with constants (fp32) into one form:
//   Add, Mul, Min, Max   the constant is the second operand
//   x - c                x + (-c); exact
//   x / c                x * (1/c), with 1/c rounded to fp32: the result differs from the quotient
//                        by at most 1.5 units in the last place, and not at all if c is a power
//                        of two. Applies only if every 1/c is normal.
//   Sum of two           Add
class CanonicaliseArithmetic final : public Pass {
 public:
  static constexpr std::string_view kName = "canonicalise-arithmetic";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_CANONICALISE_ARITHMETIC_H_
