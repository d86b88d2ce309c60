// Element-wise operators and maximum pools: the ALU alone.
#include <algorithm>
#include <cmath>

#include "fmt/format.h"
#include "kiln/targets/vta/lowering.h"

namespace kiln::vta {
namespace {

using Operand = VectorStep::Operand;

// Products and their sum stay below 2^30 each.
constexpr int kProductBits = 29;
constexpr int kMaxShift = 22;

// factor * value + offset of one input, in real numbers.
struct Term {
  int input = 0;
  double factor = 1;
  double offset = 0;
};

// What an element-wise operator computes: terms combined by one operation (ADD, MAX, MIN), or the product of the first
// two.
struct Formula {
  std::vector<Term> terms;
  AluOp combine = AluOp::kAdd;
  bool product = false;
  Clamp clamp;
};

VectorStep Immediate(AluOp op, int destination, int32_t value) { return {op, destination, Operand::kImmediate, value}; }
VectorStep Constant(AluOp op, int destination, int32_t value) { return {op, destination, Operand::kConstant, value}; }
VectorStep Register(AluOp op, int destination, int32_t from) { return {op, destination, Operand::kRegister, from}; }

std::optional<Formula> FormulaOf(const Node& node) {
  const float alpha = node.attributes().Float("alpha", node.op() == Op::kLeakyRelu ? 0.01f : 0.2f);
  Formula f;
  switch (node.op()) {
    case Op::kAdd:
      f.terms = {{0}, {1}};
      return f;
    case Op::kSub:
      f.terms = {{0}, {1, -1.0}};
      return f;
    case Op::kMax:
    case Op::kMin:
      if (node.num_operands() != 2) return std::nullopt;
      f.terms = {{0}, {1}};
      f.combine = node.op() == Op::kMax ? AluOp::kMax : AluOp::kMin;
      return f;
    case Op::kMul:
      f.terms = {{0}, {1}};
      f.product = true;
      return f;
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
    case Op::kClip: {
      f.terms = {{0}};
      for (int i = 1; i <= 2; ++i) {
        const Value* bound = node.operand(i);
        if (bound == nullptr) continue;
        if (!bound->is_constant() || bound->constant().size() != 1) return std::nullopt;
        (i == 1 ? f.clamp.low : f.clamp.high) = bound->constant().ValueAt(0);
      }
      return f.clamp.low <= f.clamp.high ? std::optional(f) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

// The way from a register's real value to the result's codes or sums.
struct Result {
  bool wide = false;
  Codes codes;      // not wide
  double unit = 1;  // wide: of a sum
};

// No sum of the terms has a greater magnitude, in steps of the result.
double Reach(const Formula& f, const std::vector<Codes>& inputs, double step) {
  double greatest = 1;
  for (size_t i = 0; i < f.terms.size(); ++i) {
    const double reach = 256 * std::abs(f.terms[i].factor) * inputs[i].scale + std::abs(f.terms[i].offset);
    greatest += reach / step;
  }
  return greatest + 128;
}

// Clamps register 0, which holds codes or sums.
void AppendClamp(const Result& result, const Clamp& clamp, std::vector<VectorStep>* steps) {
  const double scale = result.wide ? result.unit : double{result.codes.scale};
  const double zero = result.wide ? 0 : result.codes.zero;
  const auto at = [&](double real) { return std::nearbyint(real / scale) + zero; };
  if (result.wide) {
    const auto bound = [&](double real) { return static_cast<int32_t>(std::clamp(at(real), -0x1p31, 0x1p31 - 1)); };
    if (std::isfinite(clamp.low)) steps->push_back(Constant(AluOp::kMax, 0, bound(clamp.low)));
    if (std::isfinite(clamp.high)) steps->push_back(Constant(AluOp::kMin, 0, bound(clamp.high)));
    return;
  }
  const auto bound = [&](double real) { return static_cast<int32_t>(std::clamp(at(real), -128.0, 127.0)); };
  int32_t low = result.codes.low, high = result.codes.high;
  if (std::isfinite(clamp.low)) low = std::max(low, bound(clamp.low));
  if (std::isfinite(clamp.high)) high = std::max(low, std::min(high, bound(clamp.high)));
  steps->push_back(Immediate(AluOp::kMax, 0, low));
  steps->push_back(Immediate(AluOp::kMin, 0, high));
}

// Register i holds the codes of term i. Every term becomes a multiple of 2^-shift of the result's code (or of its
// unit).
void AppendSum(const Formula& f, const std::vector<Codes>& inputs, const Result& result,
               std::vector<VectorStep>* steps) {
  const double step = result.wide ? result.unit : double{result.codes.scale};
  const double greatest = Reach(f, inputs, step);
  int shift = 0;
  if (!result.wide) shift = std::clamp(kProductBits - static_cast<int>(std::ceil(std::log2(greatest))), 0, kMaxShift);
  const double unit = std::ldexp(step, -shift);
  const bool separately = f.combine != AluOp::kAdd;
  double offset = result.wide ? 0 : std::ldexp(result.codes.zero + 0.5, shift);
  for (size_t i = 0; i < f.terms.size(); ++i) {
    const auto multiplier = static_cast<int32_t>(std::llround(f.terms[i].factor * inputs[i].scale / unit));
    const double own = f.terms[i].offset / unit - double{static_cast<double>(multiplier)} * inputs[i].zero;
    const auto reg = static_cast<int>(i);
    if (multiplier != 1) steps->push_back(Constant(AluOp::kMultiply, reg, multiplier));
    if (separately) {
      const auto add = static_cast<int32_t>(std::llround(own));
      if (add != 0) steps->push_back(Constant(AluOp::kAdd, reg, add));
    } else {
      offset += own;
    }
    if (i > 0) steps->push_back(Register(f.combine, 0, reg));
  }
  if (const auto add = static_cast<int32_t>(std::llround(offset)); add != 0) {
    steps->push_back(Constant(AluOp::kAdd, 0, add));
  }
  if (shift > 0) steps->push_back(Immediate(AluOp::kShiftRight, 0, shift));
  AppendClamp(result, f.clamp, steps);
}

// The product of registers 0 and 1: of magnitude below 2^16, so that a multiplier of 14 bits fits beside it.
void AppendProduct(const Formula& f, const std::vector<Codes>& inputs, const Result& result,
                   std::vector<VectorStep>* steps) {
  for (int i = 0; i < 2; ++i) {
    const int32_t zero = inputs[static_cast<size_t>(i)].zero;
    if (zero != 0) steps->push_back(Immediate(AluOp::kAdd, i, -zero));
  }
  steps->push_back(Register(AluOp::kMultiply, 0, 1));
  if (!result.wide) {
    const double factor = double{inputs[0].scale} * inputs[1].scale / result.codes.scale;
    const int shift = std::clamp(13 - static_cast<int>(std::ceil(std::log2(factor))), 0, kMaxShift);
    const auto multiplier = static_cast<int32_t>(std::llround(std::ldexp(factor, shift)));
    steps->push_back(Constant(AluOp::kMultiply, 0, multiplier));
    const auto add = static_cast<int32_t>(std::llround(std::ldexp(result.codes.zero + 0.5, shift)));
    steps->push_back(Constant(AluOp::kAdd, 0, add));
    if (shift > 0) steps->push_back(Immediate(AluOp::kShiftRight, 0, shift));
  }
  AppendClamp(result, f.clamp, steps);
}

// Whether factors to codes of the result, and what they make of any input code, fit 32 bits.
bool Fits(const Formula& f, const std::vector<Codes>& inputs, const Codes& result) {
  if (f.product) return double{inputs[0].scale} * inputs[1].scale / result.scale <= 0x1p13;
  return Reach(f, inputs, result.scale) <= std::ldexp(1, kProductBits);
}

}  // namespace

StatusOr<Layer> Lowering::EmitElementwise(const Group& group) {
  const Node& node = *group.anchor;
  std::optional<Formula> formula = FormulaOf(node);
  if (!formula.has_value()) return ToHost(fmt::format("the ALU has no {}", node.info().text));
  formula->clamp.low = std::max(formula->clamp.low, group.clamp.low);
  formula->clamp.high = std::min(formula->clamp.high, group.clamp.high);
  std::vector<Codes> inputs;
  for (const Term& term : formula->terms) {
    KILN_ASSIGN_OR_RETURN(const Codes codes, CodesOf(*node.operand(term.input)));
    inputs.push_back(codes);
  }
  if (const auto to = CodesOf(*group.result); to.ok() && !Fits(*formula, inputs, *to)) {
    return ToHost("an output scale so small beside the inputs' that sums leave 32 bits");
  }
  Layer layer = NewLayer(group, "alu", std::string(node.info().text) + group.text);
  VectorLayer vector;
  const Order order = OrderOf(node);
  for (const Term& term : formula->terms) {
    const Value* operand = node.operand(term.input);
    if (operand->shape() != group.result->shape()) return ToHost("operands of different shapes");
    KILN_ASSIGN_OR_RETURN(const MapView view, OnMachine(operand, &layer, order));
    if (view.x_step != 1) return ToHost("columns of an image that are left out");
    const MapView& first = vector.inputs.empty() ? view : vector.inputs[0];
    if (view.height != first.height || view.width != first.width) return ToHost("operands in different layouts");
    vector.inputs.push_back(view);
  }
  const MapView image = vector.inputs[0];
  KILN_ASSIGN_OR_RETURN(vector.output, ResultMap(group.result, image.height, image.width, image.channels));
  FeatureMap& map = out_.maps[static_cast<size_t>(vector.output)];
  Result result{map.wide, map.codes, 1};
  if (map.wide) {
    double greatest = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      greatest = std::max(greatest, std::abs(formula->terms[i].factor) * inputs[i].scale);
      greatest = std::max(greatest, std::abs(formula->terms[i].offset) / 128);
    }
    // Sums of one term are exact; others are counted in steps 2^-19 as fine.
    result.unit = formula->product ? double{inputs[0].scale} * inputs[1].scale
                  : formula->terms.size() == 1 && formula->terms[0].offset == 0 ? greatest
                                                                                : std::ldexp(greatest, -19);
    map.scales.assign(static_cast<size_t>(image.channels), result.unit);
  }
  if (formula->product) {
    AppendProduct(*formula, inputs, result, &vector.steps);
  } else {
    AppendSum(*formula, inputs, result, &vector.steps);
  }
  StridedView standing = DenseView(group.result->shape());
  if (order == Order::kChannelsSecond) {
    standing.strides = {0, 1, image.width * image.channels, image.channels};
  }
  locations_[group.result] = {-1, vector.output, std::move(standing)};
  layer.vector = std::move(vector);
  return layer;
}

StatusOr<Layer> Lowering::EmitMaxPool(const Group& group) {
  const Node& node = *group.anchor;
  if (node.num_results() > 1 && node.result(1) != nullptr) return ToHost("a maximum pool that gives indices");
  KILN_ASSIGN_OR_RETURN(const PoolGeometry g, ResolvePool(node, graph_.source()));
  if (g.rank() != 2 || !g.nhwc) return ToHost(fmt::format("a pool over {} axes", g.rank()));
  const WindowAxis &y = g.axes[0], &x = g.axes[1];
  Layer layer =
      NewLayer(group, "alu", fmt::format("maximum {}x{} /{} @{}x{}", y.kernel, x.kernel, y.stride, y.output, x.output));
  const Value* input = node.operand(0);
  KILN_ASSIGN_OR_RETURN(const Codes codes, CodesOf(*input));
  VectorLayer vector;
  KILN_ASSIGN_OR_RETURN(const MapView view, OnMachine(input, &layer));
  const FeatureMap& from = out_.maps[static_cast<size_t>(view.map)];
  const int64_t bottom = (y.output - 1) * y.stride - y.pad_begin + y.Extent() - view.height;
  const int64_t right = (x.output - 1) * x.stride - x.pad_begin + x.Extent() - view.width;
  if (view.x_step != 1 || view.y_step != 1) return ToHost("a maximum over pixels that stand apart");
  if (y.pad_begin > 0 || x.pad_begin > 0 || bottom > 0 || right > 0) {
    const Border& b = from.border;
    const bool whole = view.height == from.height && view.width == from.width && view.y0 == 0 && view.x0 == 0;
    if (!whole || b.top < y.pad_begin || b.left < x.pad_begin || b.bottom < bottom || b.right < right) {
      return ToHost("padding around a part of an image");
    }
    if (from.fill != codes.low) return ToHost("padding for a maximum of an image that is padded with zeros");
  }
  vector.inputs = {view};
  vector.window = KernelSize{y.kernel, x.kernel, y.stride, x.stride, y.dilation, x.dilation, y.pad_begin, x.pad_begin};
  KILN_ASSIGN_OR_RETURN(vector.output, ResultMap(group.result, y.output, x.output, g.channels));
  FeatureMap& map = out_.maps[static_cast<size_t>(vector.output)];
  if (map.wide) {
    map.scales.assign(static_cast<size_t>(g.channels), codes.scale);
    if (codes.zero != 0) vector.steps.push_back(Immediate(AluOp::kAdd, 0, -codes.zero));
  } else if (!(map.codes == codes)) {
    AppendSum(Formula{{{0}}, AluOp::kAdd, false, {}}, {codes}, {false, map.codes, 1}, &vector.steps);
  }
  locations_[group.result] = {-1, vector.output, DenseView(group.result->shape())};
  layer.vector = std::move(vector);
  return layer;
}

}  // namespace kiln::vta
