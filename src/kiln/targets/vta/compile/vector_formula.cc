// Derives formulas from element-wise operators, and the ALU's steps and integer constants from
// formulas.

#include "kiln/targets/vta/compile/vector_formula.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kiln/numerics/elementary.h"
#include "kiln/support/check.h"
#include "kiln/targets/lower/refusal.h"
#include "kiln/targets/vta/compile/requantise.h"

namespace kiln::vta {
namespace {

using Kind = Formula::Kind;
using Operand = VectorStep::Operand;

// Products and their sum each stay below 2^30.
constexpr int kProductBits = 29;
constexpr int kMaxShift = 22;
// Bits of a factor that multiplies a code, which has 9 bits and the sign after its zero point is
// subtracted.
constexpr int kFactorBits = 20;
// For means over different numbers of elements: bits of the factor of a sum times the number of its
// elements, and the greatest number of elements.
constexpr int kMeanBits = 21;
constexpr int64_t kMostCount = 1024;
constexpr double kMostScaleRatio = 0x1p13;  // greatest factor, in codes of the result
// The least multiplier of a code if the result's unit is chosen to fit its terms. A smaller one is
// too coarse.
constexpr double kLeastMultiplier = 0x1p8;

VectorStep Immediate(AluOp op, int destination, int32_t value) {
  return {op, destination, Operand::kImmediate, value};
}
VectorStep Constant(AluOp op, int destination, int32_t value) {
  return {op, destination, Operand::kConstant, value};
}
VectorStep Register(AluOp op, int destination, int32_t from) {
  return {op, destination, Operand::kRegister, from};
}

// Returns the number of a constant that has only one element, else nullopt.
std::optional<double> NumberOf(const Value& value) {
  if (!value.is_constant() || value.constant().size() != 1) return std::nullopt;
  return value.constant().ValueAt(0);
}

// Returns the formula of x + c, x - c, c - x, max or min with a constant c.
Formula CombinedWithConstant(Op op, int variable, const Value& constant) {
  Formula f;
  f.terms = {{variable, op == Op::kSub && variable == 1 ? -1.0 : 1.0}};
  if (op == Op::kMax || op == Op::kMin) f.combine = op == Op::kMax ? AluOp::kMax : AluOp::kMin;
  const double sign = op == Op::kSub && variable == 0 ? -1.0 : 1.0;
  const auto number = NumberOf(constant);
  if (!number.has_value()) {
    f.constant = ConstantTerm{&constant, sign};
  } else if (op == Op::kMax) {
    f.clamp.low = *number;
  } else if (op == Op::kMin) {
    f.clamp.high = *number;
  } else {
    f.terms[0].offset = sign * *number;
  }
  return f;
}

Formula TimesConstant(int variable, const Value& constant) {
  Formula f;
  f.terms = {{variable}};
  if (const auto number = NumberOf(constant)) {
    f.terms[0].factor = *number;
  } else {
    f.kind = Formula::Kind::kProduct;
    f.constant = ConstantTerm{&constant, 1};
  }
  return f;
}

// Returns the formula of an operator with two operands, one of which may be constant.
std::optional<Formula> BinaryFormula(const Node& node) {
  if (node.num_operands() != 2) return std::nullopt;
  const bool first = node.operand(0)->is_constant(), second = node.operand(1)->is_constant();
  if (first && second) return std::nullopt;
  Formula f;
  if (first || second) {
    const Value& constant = *node.operand(first ? 0 : 1);
    if (constant.element() != ElementType::kFloat32) return std::nullopt;
    return node.op() == Op::kMul ? TimesConstant(first ? 1 : 0, constant)
                                 : CombinedWithConstant(node.op(), first ? 1 : 0, constant);
  }
  f.terms = {{0}, {1}};
  if (node.op() == Op::kSub) f.terms[1].factor = -1;
  if (node.op() == Op::kMax) f.combine = AluOp::kMax;
  if (node.op() == Op::kMin) f.combine = AluOp::kMin;
  if (node.op() == Op::kMul) f.kind = Formula::Kind::kProduct;
  return f;
}

}  // namespace

Formula SignFormula(double size) {
  Formula f;
  f.kind = Kind::kSign;
  f.terms = {{0}};
  f.size = size;
  return f;
}

SignCodes SignCodesOf(double size, const Codes& codes) {
  return {NearestCode(-size, codes), NearestCode(size, codes)};
}

std::optional<Formula> FormulaOf(const Node& node) {
  const float alpha = node.attributes().Float("alpha", node.op() == Op::kLeakyRelu ? 0.01f : 0.2f);
  Formula f;
  switch (node.op()) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kMax:
    case Op::kMin:
    case Op::kMul:
      return BinaryFormula(node);
    case Op::kDiv: {
      const auto number = NumberOf(*node.operand(1));
      if (!number.has_value() || *number == 0) return std::nullopt;
      f.terms = {{0, 1 / *number}};
      return f;
    }
    case Op::kNeg:
      f.terms = {{0, -1.0}};
      return f;
    case Op::kAbs:
      f.terms = {{0}, {0, -1.0}};
      f.combine = AluOp::kMax;
      return f;
    case Op::kRelu:
      f.terms = {{0}};
      f.clamp.low = 0;
      return f;
    case Op::kLeakyRelu:
      if (alpha < 0 || alpha > 1) return std::nullopt;
      f.terms = {{0}, {0, alpha}};
      f.combine = AluOp::kMax;
      return f;
    case Op::kHardSigmoid:
      f.terms = {{0, alpha, node.attributes().Float("beta", 0.5f)}};
      f.clamp = {0, 1};
      return f;
    case Op::kHardSwish:
      f.kind = Formula::Kind::kGated;
      f.terms = {{0}, {0, 1.0 / 6, 0.5}};
      return f;
    case Op::kClip: {
      f.terms = {{0}};
      for (int i = 1; i <= 2; ++i) {
        const Value* bound = node.operand(i);
        if (bound == nullptr) continue;
        const auto number = NumberOf(*bound);
        if (!number.has_value()) return std::nullopt;
        (i == 1 ? f.clamp.low : f.clamp.high) = *number;
      }
      return f.clamp.low <= f.clamp.high ? std::optional(f) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

namespace {

double Greatest(const std::vector<double>& numbers) {
  double greatest = 0;
  for (const double v : numbers) greatest = std::max(greatest, std::abs(v));
  return greatest;
}

int32_t Rounded(double v) { return static_cast<int32_t>(std::llround(v)); }

// Returns the shift with which a factor has `bits` bits.
int ShiftFor(double factor, int bits) {
  return std::clamp(bits - static_cast<int>(std::ceil(elementary::Log2(std::max(factor, 1e-30)))),
                    0, kMaxShift);
}

// Returns an upper bound of the magnitude of sums of the terms, in units of `step`.
double Reach(const Formula& f, const std::vector<Codes>& inputs, double greatest_constant,
             double step) {
  double greatest = 1 + greatest_constant / step;
  for (size_t i = 0; i < f.terms.size(); ++i) {
    const double reach =
        256 * std::abs(f.terms[i].factor) * inputs[i].scale + std::abs(f.terms[i].offset);
    greatest += reach / step;
  }
  return greatest + 128;
}

// Appends the steps after a product that is 2^shift times the result: they add its zero point,
// round and shift.
void AppendShift(const Result& result, int shift, std::vector<VectorStep>* steps) {
  if (result.wide) return;
  steps->push_back(Constant(AluOp::kAdd, 0, Rounded(std::ldexp(result.codes.zero + 0.5, shift))));
  if (shift > 0) steps->push_back(Immediate(AluOp::kShiftRight, 0, shift));
}

// Clamps register 0, which holds codes or sums.
void AppendClamp(const Result& result, const Clamp& clamp, std::vector<VectorStep>* steps) {
  const double scale = result.wide ? result.unit : double{result.codes.scale};
  const double zero = result.wide ? 0 : result.codes.zero;
  const auto at = [&](double real) { return std::nearbyint(real / scale) + zero; };
  if (result.wide) {
    const auto bound = [&](double real) {
      return static_cast<int32_t>(std::clamp(at(real), -0x1p31, 0x1p31 - 1));
    };
    if (std::isfinite(clamp.low)) steps->push_back(Constant(AluOp::kMax, 0, bound(clamp.low)));
    if (std::isfinite(clamp.high)) steps->push_back(Constant(AluOp::kMin, 0, bound(clamp.high)));
    return;
  }
  const auto bound = [&](double real) {
    return static_cast<int32_t>(std::clamp(at(real), -128.0, 127.0));
  };
  int32_t low = result.codes.low, high = result.codes.high;
  if (std::isfinite(clamp.low)) low = std::max(low, bound(clamp.low));
  if (std::isfinite(clamp.high)) high = std::max(low, std::min(high, bound(clamp.high)));
  steps->push_back(Immediate(AluOp::kMax, 0, low));
  steps->push_back(Immediate(AluOp::kMin, 0, high));
}

// Subtracts a zero point from a register.
void AppendCentre(int reg, const Codes& codes, std::vector<VectorStep>* steps) {
  if (codes.zero != 0) steps->push_back(Immediate(AluOp::kAdd, reg, -codes.zero));
}

// Combines terms after converting each one to multiples of 2^-shift of the result's code (or of its
// unit).
FormulaCode Combination(const Formula& f, const std::vector<Codes>& inputs,
                        const std::vector<double>& constant, const Result& result) {
  FormulaCode code;
  const double step = result.wide ? result.unit : double{result.codes.scale};
  const double greatest = Reach(f, inputs, Greatest(constant), step);
  int shift = 0;
  if (!result.wide)
    shift = std::clamp(kProductBits - static_cast<int>(std::ceil(elementary::Log2(greatest))), 0,
                       kMaxShift);
  const double unit = std::ldexp(step, -shift);
  const bool separately = f.combine != AluOp::kAdd;
  double offset = result.wide ? 0 : std::ldexp(result.codes.zero + 0.5, shift);
  for (size_t i = 0; i < f.terms.size(); ++i) {
    const int32_t multiplier = Rounded(f.terms[i].factor * inputs[i].scale / unit);
    const double own =
        f.terms[i].offset / unit - double{static_cast<double>(multiplier)} * inputs[i].zero;
    const auto reg = static_cast<int>(i);
    if (multiplier != 1) code.steps.push_back(Constant(AluOp::kMultiply, reg, multiplier));
    if (separately) {
      if (const int32_t add = Rounded(own); add != 0)
        code.steps.push_back(Constant(AluOp::kAdd, reg, add));
    } else {
      offset += own;
    }
    if (i > 0) code.steps.push_back(Register(f.combine, 0, reg));
  }
  if (f.constant.has_value()) {
    for (const double v : constant) code.constant.push_back(Rounded(f.constant->factor * v / unit));
    code.steps.push_back(Register(f.combine, 0, static_cast<int32_t>(f.terms.size())));
  }
  if (const int32_t add = Rounded(offset); add != 0)
    code.steps.push_back(Constant(AluOp::kAdd, 0, add));
  if (shift > 0) code.steps.push_back(Immediate(AluOp::kShiftRight, 0, shift));
  return code;
}

// Multiplies two terms. The product of two codes is below 2^16, so a multiplier of 14 bits keeps
// the result within 32 bits.
FormulaCode Product(const std::vector<Codes>& inputs, const Result& result) {
  FormulaCode code;
  for (int i = 0; i < 2; ++i) AppendCentre(i, inputs[static_cast<size_t>(i)], &code.steps);
  code.steps.push_back(Register(AluOp::kMultiply, 0, 1));
  if (result.wide) return code;
  const double factor = double{inputs[0].scale} * inputs[1].scale / result.codes.scale;
  const int shift = ShiftFor(factor, 13);
  code.steps.push_back(Constant(AluOp::kMultiply, 0, Rounded(std::ldexp(factor, shift))));
  AppendShift(result, shift, &code.steps);
  return code;
}

FormulaCode ProductWithConstant(const std::vector<Codes>& inputs,
                                const std::vector<double>& constant, const Result& result) {
  FormulaCode code;
  const double ratio = inputs[0].scale / (result.wide ? result.unit : double{result.codes.scale});
  const int shift = result.wide ? 0 : ShiftFor(ratio * Greatest(constant), kFactorBits);
  for (const double v : constant) code.constant.push_back(Rounded(std::ldexp(ratio * v, shift)));
  AppendCentre(0, inputs[0], &code.steps);
  code.steps.push_back(Register(AluOp::kMultiply, 0, 1));
  AppendShift(result, shift, &code.steps);
  return code;
}

// Multiplies a term by a gate. The number one of the gate is the factor between a code of the input
// and a code of the result.
FormulaCode Gated(const Formula& f, const std::vector<Codes>& inputs, const Result& result) {
  FormulaCode code;
  const double ratio = inputs[0].scale / (result.wide ? result.unit : double{result.codes.scale});
  const int shift = result.wide ? 0 : ShiftFor(ratio, kFactorBits);
  const double one = std::round(std::ldexp(ratio, shift));
  const int32_t slope = Rounded(one * f.terms[1].factor * inputs[1].scale);
  const int32_t begin =
      Rounded(one * f.terms[1].offset - double{static_cast<double>(slope)} * inputs[1].zero);
  code.steps.push_back(Constant(AluOp::kMultiply, 1, slope));
  code.steps.push_back(Constant(AluOp::kAdd, 1, begin));
  code.steps.push_back(Immediate(AluOp::kMax, 1, 0));
  code.steps.push_back(Constant(AluOp::kMin, 1, static_cast<int32_t>(one)));
  AppendCentre(0, inputs[0], &code.steps);
  code.steps.push_back(Register(AluOp::kMultiply, 0, 1));
  AppendShift(result, shift, &code.steps);
  return code;
}

// Compares a code with its zero point. Sums that are not quantised are in units of the size.
FormulaCode Sign(const Formula& f, const Codes& input, const Result& result) {
  const SignCodes sign = result.wide ? SignCodes() : SignCodesOf(f.size, result.codes);
  FormulaCode code;
  AppendCentre(0, input, &code.steps);
  code.steps.push_back(Immediate(AluOp::kShiftRight, 0, 31));
  code.steps.push_back(Immediate(AluOp::kMultiply, 0, sign.from_zero - sign.below));
  code.steps.push_back(Immediate(AluOp::kAdd, 0, sign.from_zero));
  return code;
}

// Returns whether sums are exact: those of a single term without offset are counted in units of its
// codes.
bool IsExact(const Formula& f) {
  return f.terms.size() == 1 && f.terms[0].offset == 0 && !f.constant.has_value();
}

bool AllFinite(const Formula& f, const std::vector<double>& constant) {
  const auto finite = [](const Term& t) {
    return std::isfinite(t.factor) && std::isfinite(t.offset);
  };
  const double infinity = std::numeric_limits<double>::infinity();
  // Bounds may be infinite if they have no effect.
  return std::all_of(f.terms.begin(), f.terms.end(), finite) && f.clamp.low < infinity &&
         f.clamp.high > -infinity &&
         std::all_of(constant.begin(), constant.end(), [](double v) { return std::isfinite(v); });
}

// Returns whether every factor of a code keeps enough digits in the result's unit `step`.
bool AllInSteps(const Formula& f, const std::vector<Codes>& inputs,
                const std::vector<double>& constant, double step) {
  const auto enough = [&](double factor) {
    return factor == 0 || std::abs(factor) / step >= kLeastMultiplier;
  };
  switch (f.kind) {
    case Kind::kCombine:
      if (IsExact(f)) return step > 0;
      for (size_t i = 0; i < f.terms.size(); ++i) {
        if (!enough(f.terms[i].factor * inputs[i].scale)) return false;
      }
      return step > 0;
    case Kind::kProduct:
      return std::all_of(constant.begin(), constant.end(),
                         [&](double v) { return enough(v * inputs[0].scale); });
    case Kind::kGated:
    case Kind::kSign:
      return true;
  }
  return false;
}

// Returns whether the factors to codes of the result, and their products with any input code, fit
// in 32 bits.
bool Fits(const Formula& f, const std::vector<Codes>& inputs, double greatest_constant,
          const Result& result) {
  const double step = result.wide ? result.unit : double{result.codes.scale},
               scale = inputs[0].scale;
  switch (f.kind) {
    case Kind::kCombine:
      return result.wide ||
             Reach(f, inputs, greatest_constant, step) <= std::ldexp(1, kProductBits);
    case Kind::kProduct:
      return result.wide ||
             scale * (f.constant.has_value() ? greatest_constant : inputs[1].scale) / step <=
                 kMostScaleRatio;
    case Kind::kGated:  // the slope times a code of 9 bits is at most 2^29
      return (result.wide || scale / step <= kMostScaleRatio) &&
             std::abs(f.terms[1].factor) * scale <= 2;
    case Kind::kSign:
      return true;
  }
  return false;
}

}  // namespace

double UnitOf(const Formula& f, const std::vector<Codes>& inputs, double greatest_constant) {
  switch (f.kind) {
    case Kind::kProduct:
      if (!f.constant.has_value()) return double{inputs[0].scale} * inputs[1].scale;
      return std::ldexp(inputs[0].scale * std::max(greatest_constant, 1e-30), -kFactorBits);
    case Kind::kGated:
      return std::ldexp(inputs[0].scale, -kFactorBits);
    case Kind::kSign:
      return f.size;
    case Kind::kCombine:
      break;
  }
  double greatest = greatest_constant / 128;
  for (size_t i = 0; i < inputs.size(); ++i) {
    greatest = std::max(greatest, std::abs(f.terms[i].factor) * inputs[i].scale);
    greatest = std::max(greatest, std::abs(f.terms[i].offset) / 128);
  }
  // Exact sums keep the unit of their codes; the unit of others is 2^-19 as large.
  return IsExact(f) ? greatest : std::ldexp(greatest, -19);
}

StatusOr<FormulaCode> CodeOf(const Formula& f, const std::vector<Codes>& inputs,
                             const std::vector<double>& constant, const Result& result) {
  if (!AllFinite(f, constant)) return ToHost("a constant that is not finite");
  if (result.wide && !AllInSteps(f, inputs, constant, result.unit)) {
    return ToHost("numbers so far apart that sums of 32 bits do not hold the smaller ones' digits");
  }
  if (!Fits(f, inputs, Greatest(constant), result)) {
    return ToHost("an output scale so small beside the inputs' that sums leave 32 bits");
  }
  FormulaCode code;
  switch (f.kind) {
    case Kind::kCombine:
      code = Combination(f, inputs, constant, result);
      break;
    case Kind::kProduct:
      code = f.constant.has_value() ? ProductWithConstant(inputs, constant, result)
                                    : Product(inputs, result);
      break;
    case Kind::kGated:
      code = Gated(f, inputs, result);
      break;
    case Kind::kSign:
      return Sign(f, inputs[0], result);
  }
  AppendClamp(result, f.clamp, &code.steps);
  return code;
}

namespace {

// Computes means over the same number of codes for every pixel, by the requantisation of GEMM sums.
StatusOr<FormulaCode> MeanOfAll(int64_t taps, int64_t count, const Codes& input,
                                const Result& result) {
  ChannelScale channel;
  channel.factor = double{input.scale} / result.codes.scale / static_cast<double>(count);
  channel.offset = result.codes.zero - channel.factor * input.zero * static_cast<double>(taps);
  channel.greatest_sum = taps * 128;
  KILN_ASSIGN_OR_RETURN(
      const Requantisation r,
      MakeRequantisation({channel}, result.codes.low, result.codes.high, std::nullopt));
  FormulaCode code;
  const int32_t carried = r.begins_with_bias ? kCarried << r.shift : 0;
  code.steps.push_back(Constant(AluOp::kAdd, 0, r.bias[0] - carried));
  if (r.multiplies) {
    code.steps.push_back(Constant(AluOp::kMax, 0, r.least[0]));
    code.steps.push_back(Constant(AluOp::kMin, 0, r.most[0]));
    code.steps.push_back(Constant(AluOp::kMultiply, 0, r.multipliers[0]));
  }
  if (r.shift > 0) code.steps.push_back(Immediate(AluOp::kShiftRight, 0, r.shift));
  return code;
}

}  // namespace

double UnitOfMean(const std::vector<int64_t>& counts, const Codes& input) {
  const double scale = input.scale;
  return counts.size() == 1 ? scale / static_cast<double>(counts[0])
                            : std::ldexp(scale, -kMeanBits);
}

StatusOr<FormulaCode> MeanOf(int64_t taps, const std::vector<int64_t>& counts, const Codes& input,
                             const Clamp& clamp, const Result& result) {
  FormulaCode code;
  const int32_t zeros = static_cast<int32_t>(taps * input.zero);
  if (counts.size() == 1 && !result.wide) {
    KILN_ASSIGN_OR_RETURN(code, MeanOfAll(taps, counts[0], input, result));
  } else if (counts.size() == 1) {
    KILN_CHECK(result.unit == input.scale / static_cast<double>(counts[0]));
    if (zeros != 0) code.steps.push_back(Constant(AluOp::kAdd, 0, -zeros));
  } else {
    // A sum of n codes without their zero points is below 2^8 n, and its factor is at most 2^21 /
    // n.
    const double ratio = input.scale / (result.wide ? result.unit : double{result.codes.scale});
    if (*std::max_element(counts.begin(), counts.end()) > kMostCount ||
        (!result.wide && ratio > kMostScaleRatio)) {
      return ToHost("means over different numbers of elements that leave 32 bits");
    }
    const int shift = result.wide ? 0 : ShiftFor(ratio, kMeanBits);
    for (const int64_t count : counts) {
      code.constant.push_back(Rounded(std::ldexp(ratio / static_cast<double>(count), shift)));
    }
    if (zeros != 0) code.steps.push_back(Constant(AluOp::kAdd, 0, -zeros));
    code.steps.push_back(Register(AluOp::kMultiply, 0, 1));
    AppendShift(result, shift, &code.steps);
  }
  AppendClamp(result, clamp, &code.steps);
  return code;
}

}  // namespace kiln::vta
