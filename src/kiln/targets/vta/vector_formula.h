// Element-wise operators as formulas in real numbers, and what the ALU computes for them.
#ifndef KILN_TARGETS_VTA_VECTOR_FORMULA_H_
#define KILN_TARGETS_VTA_VECTOR_FORMULA_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/support/status.h"
#include "kiln/targets/vta/feature_map.h"
#include "kiln/targets/vta/layers.h"

namespace kiln::vta {

// Real bounds that an activation holds values in.
struct Clamp {
  double low = -std::numeric_limits<double>::infinity(),
         high = std::numeric_limits<double>::infinity();
  bool any() const { return std::isfinite(low) || std::isfinite(high); }
};

// factor * value + offset of one input, in real numbers.
struct Term {
  int input = 0;
  double factor = 1;
  double offset = 0;
};

// A constant operand, times a factor.
struct ConstantTerm {
  const Value* value = nullptr;
  double factor = 1;
};

// What an element-wise operator computes:
//   kCombine  its terms and its constant, combined by one operation (ADD, MAX, MIN)
//   kProduct  the product of the first two terms, or of the first and the constant
//   kGated    the first term times the second, which is held in [0, 1] before
struct Formula {
  enum class Kind { kCombine, kProduct, kGated } kind = Kind::kCombine;
  std::vector<Term> terms;
  std::optional<ConstantTerm> constant;
  AluOp combine = AluOp::kAdd;
  Clamp clamp;
};

// nullopt: an operator that has none.
std::optional<Formula> FormulaOf(const Node& node);

// The way from a register's real value to the result's codes or sums.
struct Result {
  bool wide = false;
  Codes codes;      // not wide
  double unit = 1;  // wide: of a sum
};

// The unit of sums that are not quantised, from the codes of each term and the greatest magnitude of the constant.
double UnitOf(const Formula& formula, const std::vector<Codes>& inputs, double greatest_constant);

// Steps whose register 0 ends as the result. Term i stands in register i, the constant in the one behind the last term;
// `constant` are its real numbers.
struct FormulaCode {
  std::vector<VectorStep> steps;
  std::vector<int32_t> constant;
};
// Unimplemented: a constant that is not finite; scales so far apart that sums leave 32 bits; a result that is not
// quantised, in whose unit a code of some input counts too little.
StatusOr<FormulaCode> CodeOf(const Formula& formula, const std::vector<Codes>& inputs,
                             const std::vector<double>& constant, const Result& result);

// The result where register 0 holds what a window of so many codes sums up to, and `counts` says of how many of them
// each pixel is the mean (of one number: of all pixels). The others are the code of zero. Constant: a number a pixel,
// in register 1.
double UnitOfMean(const std::vector<int64_t>& counts, const Codes& input);
StatusOr<FormulaCode> MeanOf(int64_t taps, const std::vector<int64_t>& counts, const Codes& input,
                             const Clamp& clamp, const Result& result);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_VECTOR_FORMULA_H_
