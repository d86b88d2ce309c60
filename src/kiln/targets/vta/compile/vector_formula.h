// Element-wise operators as formulas in real numbers, and the ALU's steps that compute them.
// lower_vector.cc and lower_concat.cc use them to make vector layers.
#ifndef KILN_TARGETS_VTA_COMPILE_VECTOR_FORMULA_H_
#define KILN_TARGETS_VTA_COMPILE_VECTOR_FORMULA_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/support/status.h"
#include "kiln/targets/vta/compile/feature_map.h"
#include "kiln/targets/vta/compile/layers.h"

namespace kiln::vta {

// The real bounds to which an activation clamps values.
struct Clamp {
  double low = -std::numeric_limits<double>::infinity(),
         high = std::numeric_limits<double>::infinity();
  bool any() const { return std::isfinite(low) || std::isfinite(high); }
};

// A term factor * value + offset of one input, in real numbers.
struct Term {
  int input = 0;
  double factor = 1;
  double offset = 0;
};

// A constant operand times a factor.
struct ConstantTerm {
  const Value* value = nullptr;
  double factor = 1;
};

// The formula of an element-wise operator:
//   kCombine  combines its terms and its constant by one operation (ADD, MAX, MIN)
//   kProduct  multiplies the first two terms, or the first term and the constant
//   kGated    multiplies the first term by the second, which is clamped to [0, 1] before
//   kSign     +size where the only term, an operand, is not negative, and -size elsewhere
struct Formula {
  enum class Kind { kCombine, kProduct, kGated, kSign } kind = Kind::kCombine;
  std::vector<Term> terms;
  std::optional<ConstantTerm> constant;
  AluOp combine = AluOp::kAdd;
  Clamp clamp;
  double size = 1;  // of kSign
};

// Returns the formula of the sign of operand 0.
Formula SignFormula(double size);
// Returns the codes of +size and -size.
SignCodes SignCodesOf(double size, const Codes& codes);

// Returns the formula of a node, or nullopt if its operator has none.
std::optional<Formula> FormulaOf(const Node& node);

// The representation of a result: codes, or 32-bit sums of a unit.
struct Result {
  bool wide = false;
  Codes codes;      // if not wide
  double unit = 1;  // if wide: real value of one unit of a sum
};

// Returns the unit of sums that are not quantised, from the codes of each term and the greatest
// magnitude of the constant.
double UnitOf(const Formula& formula, const std::vector<Codes>& inputs, double greatest_constant);

// The steps of a formula, after which register 0 holds the result, and the integers of its
// constant. Term i is in register i, the constant in the register after the last term.
struct FormulaCode {
  std::vector<VectorStep> steps;
  std::vector<int32_t> constant;
};
// Returns the steps of a formula. `inputs` are the codes of its terms, `constant` the real numbers
// of its constant. Errors: Unimplemented if a constant is not finite, if scales are so far apart
// that sums leave 32 bits, or if the result is not quantised and a code of some input is too small
// in its unit.
StatusOr<FormulaCode> CodeOf(const Formula& formula, const std::vector<Codes>& inputs,
                             const std::vector<double>& constant, const Result& result);

// Compute the mean of windows: UnitOfMean returns the unit of results that are not quantised,
// MeanOf the steps. Register 0 holds the sum of a window of `taps` codes. counts[pixel] of them are
// averaged (a single count applies to all pixels), and the others have the code of zero. If counts
// differ, the constant in register 1 has a number for each pixel. Errors of MeanOf: Unimplemented
// if sums leave 32 bits.
double UnitOfMean(const std::vector<int64_t>& counts, const Codes& input);
StatusOr<FormulaCode> MeanOf(int64_t taps, const std::vector<int64_t>& counts, const Codes& input,
                             const Clamp& clamp, const Result& result);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_COMPILE_VECTOR_FORMULA_H_
