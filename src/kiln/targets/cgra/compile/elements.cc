// Chooses the integers of element-wise operators and appends their nodes to computation graphs.

#include "kiln/targets/cgra/compile/elements.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "fmt/format.h"
#include "kiln/execute/reference.h"
#include "kiln/hardware/sample_run.h"
#include "kiln/ir/describe.h"
#include "kiln/numerics/elementary.h"
#include "kiln/numerics/quantise.h"
#include "kiln/support/integer.h"
#include "kiln/targets/cgra/compile/exponential.h"
#include "kiln/targets/cgra/compile/piecewise.h"
#include "kiln/targets/lower/refusal.h"
#include "kiln/targets/lower/strided_view.h"
#include "kiln/targets/run/host_graph.h"

namespace kiln::cgra {
namespace {

constexpr int kSumBits = 30;  // bits of the magnitude of sums before the shift
constexpr int kMostShift = 22;
constexpr int kLeastFactorBits = 7;  // a factor with fewer bits is too coarse
constexpr int kMostFunctionBits = 8;

// Returns the largest shift, up to kMostShift, with which numbers up to `reach` have at most
// kSumBits bits; negative if there is none. Larger shifts round multipliers and offsets more
// finely.
int ShiftFor(double reach) {
  return std::min(kMostShift,
                  kSumBits - static_cast<int>(std::ceil(elementary::Log2(std::max(reach, 1e-30)))));
}

int64_t Fixed(double real, int shift) { return std::llround(std::ldexp(real, shift)); }

double GreatestCode(const ValueCodes& codes) {
  return std::max(std::abs(static_cast<double>(codes.low)),
                  std::abs(static_cast<double>(codes.high)));
}

// Returns the codes' largest distance from their zero point.
double GreatestDistance(const ValueCodes& codes) {
  return std::max(static_cast<double>(codes.high) - codes.zero,
                  static_cast<double>(codes.zero) - codes.low);
}

bool IsNumber(const Value& value) {
  return value.is_constant() && value.constant().size() == 1 &&
         value.element() == ElementType::kFloat32;
}

// Returns the numbers of a constant, as the host computes with them.
std::vector<double> NumbersOf(const Value& value) {
  const std::vector<float> numbers =
      RoundedAsAnnotated(value.constant(), value.quantisation()).ToFloats();
  return {numbers.begin(), numbers.end()};
}

double Greatest(const std::vector<double>& numbers) {
  double greatest = 0;
  for (const double number : numbers) greatest = std::max(greatest, std::abs(number));
  return greatest;
}

Status CheckConstant(const Value& value) {
  if (value.element() != ElementType::kFloat32)
    return ToHost(fmt::format("{} is not fp32", NameForUser(value)));
  for (const double number : NumbersOf(value)) {
    if (!std::isfinite(number))
      return ToHost(fmt::format("{} has elements that are not finite", NameForUser(value)));
  }
  return OkStatus();
}

// Returns the operand that is no constant, if there is only one.
std::optional<int> OnlyVariable(const Node& node) {
  std::optional<int> variable;
  for (int i = 0; i < node.num_operands(); ++i) {
    if (node.operand(i) == nullptr || node.operand(i)->is_constant()) continue;
    if (variable.has_value()) return std::nullopt;
    variable = i;
  }
  return variable;
}

Status TooFarApart(const Node& node) {
  return ToHost(
      fmt::format("the scales of {} are too far apart for sums of 32 bits", node.info().text));
}

}  // namespace

bool IsElementwise(const Node& node) {
  return node.info().Has(kElementwise) && node.num_results() == 1 && node.result() != nullptr;
}

ElementIndex BroadcastIndex(const Shape& shape, const Shape& to, int64_t lanes) {
  const int64_t elements = to.NumElements();
  ElementIndex in_order = ElementsInOrder(elements, lanes);
  if (shape.NumElements() == elements) return in_order;
  // Positions in the smaller tensor, in the order of the result's elements.
  Tensor numbers(ElementType::kInt64, shape);
  for (int64_t i = 0; i < numbers.size(); ++i) numbers.data<int64_t>()[static_cast<size_t>(i)] = i;
  const StridedView view = Broadcast(RowMajorView(shape.dims()), to.dims());
  const Tensor spread = Gather(numbers, view);
  IndexText text = in_order.text();
  text.position = {PositionText("e", view)};
  return {std::move(text), [lanes, elements, spread](int64_t, int64_t thread, int64_t lane) {
            const int64_t e = thread * lanes + lane;
            return e < elements ? spread.data<int64_t>()[static_cast<size_t>(e)] : -1;
          }};
}

StatusOr<int> AppendConversion(const ValueCodes& from, const ValueCodes& to, int value,
                               GraphBuilder* graph) {
  const double factor = from.scale / to.scale;
  const double reach =
      factor * 2 * GreatestDistance(from) + GreatestCode(to) + std::abs(to.zero) + 1.0;
  const int shift = std::isfinite(reach) ? ShiftFor(reach) : -1;
  if (shift < 0) return ToHost("scales that are too far apart for sums of 32 bits");
  const auto multiplier = static_cast<int32_t>(Fixed(factor, shift));
  const int64_t constant = Fixed(to.zero + 0.5, shift) - int64_t{multiplier} * from.zero;
  value = graph->AddLiteral(Op::kMul, "scale", value, multiplier);
  value = graph->AddLiteral(Op::kAdd, "offset", value, static_cast<int32_t>(constant));
  if (shift > 0) value = graph->AddLiteral(Op::kSra, "shift", value, shift);
  value = graph->AddLiteral(Op::kMax, "low", value, to.low);
  return graph->AddLiteral(Op::kMin, "high", value, to.high);
}

ElementChain::ElementChain(std::string_view name, Shape shape, int64_t lanes)
    : shape_(std::move(shape)), lanes_(lanes), elements_(shape_.NumElements()), graph_(name) {}

StatusOr<ElementChain::Operand> ElementChain::OperandOf(const Value& value) {
  if (const auto at = refs_.find(&value); at != refs_.end()) return at->second;
  KILN_ASSIGN_OR_RETURN(const ValueCodes codes, CodesOf(value));
  Operand operand{graph_.Input(value.name()), codes};
  buffers_.push_back({.value = &value, .size = value.shape().NumElements()});
  feeds_.push_back({static_cast<int>(buffers_.size()) - 1,
                    BroadcastIndex(value.shape(), shape_, lanes_), codes.zero});
  refs_.emplace(&value, operand);
  return operand;
}

int ElementChain::ConstantsOf(const Value& value, const std::vector<double>& numbers,
                              double factor) {
  Buffer buffer;
  buffer.name = fmt::format("`{}`, in units of the sum of `{}`", hardware::SampleName(value.name()),
                            hardware::SampleName(node_name_));
  buffer.size = std::ssize(numbers);
  for (const double number : numbers)
    buffer.constants.push_back(static_cast<int32_t>(std::llround(number * factor)));
  buffers_.push_back(std::move(buffer));
  feeds_.push_back(
      {static_cast<int>(buffers_.size()) - 1, BroadcastIndex(value.shape(), shape_, lanes_), 0});
  return graph_.Input(value.name());
}

int ElementChain::Finish(int sum, int shift, int32_t low, int32_t high) {
  if (shift > 0) sum = graph_.AddLiteral(Op::kSra, node_name_ + " shift", sum, shift);
  sum = graph_.AddLiteral(Op::kMax, node_name_ + " low", sum, low);
  return graph_.AddLiteral(Op::kMin, node_name_ + " high", sum, high);
}

// y = (sum of x_i * m_i + c) >> s with m_i = scale_i * factor_i / scale_y in fixed point; c
// collects zero points, numbers and half a code. Tensors of constants are streamed in as vectors
// that are scaled in the same way. `reach` bounds every partial sum.
Status ElementChain::AppendSum(const Node& node, const std::vector<double>& factors) {
  KILN_ASSIGN_OR_RETURN(const ValueCodes result, CodesOf(*node.result()));
  std::vector<std::pair<Operand, double>> terms;  // with factors in codes of the result
  std::vector<std::pair<const Value*, double>> constants;
  double offset = result.zero, reach = GreatestCode(result) + 1;
  for (int i = 0; i < node.num_operands(); ++i) {
    const Value& value = *node.operand(i);
    const double factor = factors[static_cast<size_t>(i)] / result.scale;
    if (IsNumber(value)) {
      offset += NumbersOf(value)[0] * factor;
    } else if (value.is_constant()) {
      KILN_RETURN_IF_ERROR(CheckConstant(value));
      constants.emplace_back(&value, factor);
      reach += Greatest(NumbersOf(value)) * std::abs(factor);
    } else {
      KILN_ASSIGN_OR_RETURN(const Operand operand, OperandOf(value));
      terms.emplace_back(operand, factor * operand.codes.scale);
      reach += std::abs(terms.back().second) * 2 * GreatestDistance(operand.codes);
    }
  }
  reach += std::abs(offset);
  const int shift = std::isfinite(reach) ? ShiftFor(reach) : -1;
  if (shift < 0 || terms.empty()) return TooFarApart(node);
  int64_t constant = Fixed(offset + 0.5, shift);
  std::vector<int32_t> multipliers;
  for (const auto& [operand, factor] : terms) {
    multipliers.push_back(static_cast<int32_t>(Fixed(factor, shift)));
    constant -= int64_t{multipliers.back()} * operand.codes.zero;
  }
  if (std::abs(constant) >= int64_t{1} << (kSumBits + 1)) return TooFarApart(node);
  int sum = -1;
  for (size_t i = 0; i < terms.size(); ++i) {
    const int product =
        graph_.AddLiteral(Op::kMul, node_name_ + " scale", terms[i].first.ref, multipliers[i]);
    sum = sum < 0 ? graph_.AddLiteral(Op::kAdd, node_name_ + " offset", product,
                                      static_cast<int32_t>(constant))
                  : graph_.Add(Op::kAdd, node_name_ + " sum", product, sum);
  }
  for (const auto& [value, factor] : constants) {
    const int added = ConstantsOf(*value, NumbersOf(*value), std::ldexp(factor, shift));
    sum = graph_.Add(Op::kAdd, node_name_ + " constant", sum, added);
  }
  refs_[node.result()] = {Finish(sum, shift, result.low, result.high), result};
  return OkStatus();
}

// All operands are brought to the result's scale before they are compared, and rounding follows the
// comparison, which gives the same result because rounding is monotonic.
Status ElementChain::AppendExtremum(const Node& node) {
  KILN_ASSIGN_OR_RETURN(const ValueCodes result, CodesOf(*node.result()));
  const Op op = node.op() == kiln::Op::kMax ? Op::kMax : Op::kMin;
  std::vector<Operand> operands;
  std::vector<double> factors;
  double reach = GreatestCode(result) + std::abs(static_cast<double>(result.zero)) + 1;
  for (const Value* value : node.operands()) {
    if (value->is_constant()) {
      KILN_RETURN_IF_ERROR(CheckConstant(*value));
      reach += Greatest(NumbersOf(*value)) / result.scale;
      continue;
    }
    KILN_ASSIGN_OR_RETURN(const Operand operand, OperandOf(*value));
    operands.push_back(operand);
    factors.push_back(operand.codes.scale / result.scale);
    reach = std::max(
        reach, factors.back() * 2 * GreatestDistance(operand.codes) + GreatestCode(result) + 1);
  }
  const int shift = std::isfinite(reach) ? ShiftFor(reach) : -1;
  if (shift < 0 || operands.empty()) return TooFarApart(node);
  int extremum = -1;
  const auto take = [&](int term) {
    extremum = extremum < 0 ? term : graph_.Add(op, node_name_, term, extremum);
  };
  for (size_t i = 0; i < operands.size(); ++i) {
    const auto multiplier = static_cast<int32_t>(Fixed(factors[i], shift));
    const int64_t constant =
        Fixed(result.zero + 0.5, shift) - int64_t{multiplier} * operands[i].codes.zero;
    const int product =
        graph_.AddLiteral(Op::kMul, node_name_ + " scale", operands[i].ref, multiplier);
    take(graph_.AddLiteral(Op::kAdd, node_name_ + " offset", product,
                           static_cast<int32_t>(constant)));
  }
  for (const Value* value : node.operands()) {
    if (!value->is_constant()) continue;
    std::vector<double> numbers = NumbersOf(*value);
    for (double& number : numbers) number = number / result.scale + result.zero + 0.5;
    if (numbers.size() == 1) {
      extremum = graph_.AddLiteral(op, node_name_, extremum,
                                   static_cast<int32_t>(Fixed(numbers[0], shift)));
    } else {
      take(ConstantsOf(*value, numbers, std::ldexp(1.0, shift)));
    }
  }
  refs_[node.result()] = {Finish(extremum, shift, result.low, result.high), result};
  return OkStatus();
}

// The multiplier is at least 2^kLeastFactorBits, because a coarser one would shift all results. As
// the scaled product has at most kSumBits bits, the product of the codes therefore fits 32 bits,
// too.
Status ElementChain::AppendProduct(const Node& node) {
  KILN_ASSIGN_OR_RETURN(const ValueCodes result, CodesOf(*node.result()));
  int refs[2] = {};
  double factor = 1 / result.scale, reach = 1;
  for (int i = 0; i < 2; ++i) {
    KILN_ASSIGN_OR_RETURN(const Operand operand, OperandOf(*node.operand(i)));
    refs[i] = operand.ref;
    if (operand.codes.zero != 0)
      refs[i] =
          graph_.AddLiteral(Op::kSub, node_name_ + " centre", operand.ref, operand.codes.zero);
    factor *= operand.codes.scale;
    reach *= GreatestDistance(operand.codes);
  }
  const double offset = std::abs(static_cast<double>(result.zero)) + 1;
  const int shift = ShiftFor(reach * factor + offset);
  if (shift < 0 || factor == 0) return TooFarApart(node);
  const int64_t multiplier = Fixed(factor, shift);
  if (multiplier < int64_t{1} << kLeastFactorBits) return TooFarApart(node);
  const int product = graph_.Add(Op::kMul, node_name_, refs[0], refs[1]);
  const int scaled =
      graph_.AddLiteral(Op::kMul, node_name_ + " scale", product, static_cast<int32_t>(multiplier));
  const int sum = graph_.AddLiteral(Op::kAdd, node_name_ + " offset", scaled,
                                    static_cast<int32_t>(Fixed(result.zero + 0.5, shift)));
  refs_[node.result()] = {Finish(sum, shift, result.low, result.high), result};
  return OkStatus();
}

Status ElementChain::AppendScaledByConstant(const Node& node, int variable) {
  KILN_ASSIGN_OR_RETURN(const ValueCodes result, CodesOf(*node.result()));
  const Value& constant = *node.operand(1 - variable);
  KILN_RETURN_IF_ERROR(CheckConstant(constant));
  std::vector<double> numbers = NumbersOf(constant);
  if (node.op() == kiln::Op::kDiv) {
    for (double& number : numbers) {
      if (number == 0) return ToHost("a division by zero");
      number = 1 / number;
    }
  }
  KILN_ASSIGN_OR_RETURN(const Operand operand, OperandOf(*node.operand(variable)));
  const double factor = operand.codes.scale / result.scale;
  const double reach = GreatestDistance(operand.codes) * factor * Greatest(numbers) +
                       std::abs(static_cast<double>(result.zero)) + 1;
  const int shift = std::isfinite(reach) ? ShiftFor(reach) : -1;
  if (shift < 0) return TooFarApart(node);
  int ref = operand.ref;
  if (operand.codes.zero != 0)
    ref = graph_.AddLiteral(Op::kSub, node_name_ + " centre", ref, operand.codes.zero);
  const int product = graph_.Add(Op::kMul, node_name_, ref,
                                 ConstantsOf(constant, numbers, std::ldexp(factor, shift)));
  const int sum = graph_.AddLiteral(Op::kAdd, node_name_ + " offset", product,
                                    static_cast<int32_t>(Fixed(result.zero + 0.5, shift)));
  refs_[node.result()] = {Finish(sum, shift, result.low, result.high), result};
  return OkStatus();
}

Status ElementChain::AppendExponential(const Node& node) {
  KILN_ASSIGN_OR_RETURN(const ValueCodes result, CodesOf(*node.result()));
  KILN_ASSIGN_OR_RETURN(const Operand operand, OperandOf(*node.operand(0)));
  const auto fitted = FitExponential(operand.codes, result);
  if (!fitted.has_value()) {
    return ToHost("an exponential whose codes need more than 16 bits of precision");
  }
  const int value =
      cgra::AppendExponential(fitted->form, node_name_, operand.ref, result.zero, &graph_);
  refs_[node.result()] = {Finish(value, 0, result.low, result.high), result};
  return OkStatus();
}

// Evaluates the operator on every code as the host does, and fits the values (piecewise.h).
Status ElementChain::AppendFunction(const Node& node, int variable) {
  KILN_ASSIGN_OR_RETURN(const ValueCodes result, CodesOf(*node.result()));
  const Value& value = *node.operand(variable);
  KILN_ASSIGN_OR_RETURN(const ValueCodes codes, CodesOf(value));
  if (codes.bits > kMostFunctionBits) {
    return ToHost(fmt::format("{} of codes of {} bits, corners are found for up to {}",
                              node.info().text, codes.bits, kMostFunctionBits));
  }
  // The result of every code, as the host computes it.
  std::vector<float> inputs;
  for (int32_t code = codes.low; code <= codes.high; ++code)
    inputs.push_back(DequantiseCode(code, static_cast<float>(codes.scale), codes.zero));
  std::vector<int64_t> line(static_cast<size_t>(std::max(1, value.shape().rank())), 1);
  line.back() = std::ssize(inputs);
  const Tensor all = Tensor::Of(Shape(line), inputs);
  std::vector<Tensor> constants(static_cast<size_t>(node.num_operands()));
  std::vector<const Tensor*> operands;
  for (int i = 0; i < node.num_operands(); ++i) {
    const Value* operand = node.operand(i);
    if (operand == nullptr || i == variable) {
      operands.push_back(operand == nullptr ? nullptr : &all);
      continue;
    }
    constants[static_cast<size_t>(i)] =
        RoundedAsAnnotated(operand->constant(), operand->quantisation());
    operands.push_back(&constants[static_cast<size_t>(i)]);
  }
  KILN_ASSIGN_OR_RETURN(const std::vector<Tensor> computed, EvaluateNode(node, operands));
  std::vector<double> values;
  for (const float v : computed[0].ToFloats()) {
    if (std::isnan(v))
      return ToHost(fmt::format("{} is not a number for some codes", node.info().text));
    values.push_back(double{v} / result.scale + result.zero);
  }
  const auto function = FitPiecewise(codes.low, values, result.low, result.high);
  if (!function.has_value()) {
    return ToHost(fmt::format("{} has no piecewise linear form of {} segments", node.info().text,
                              kMostSegments));
  }
  KILN_ASSIGN_OR_RETURN(const Operand operand, OperandOf(value));
  const int product =
      graph_.AddLiteral(Op::kMul, node_name_ + " slope", operand.ref, function->first);
  int sum = graph_.AddLiteral(Op::kAdd, node_name_ + " offset", product, function->constant);
  // Corners ascend, so that each maximum goes on from the one before: codes and sums move on
  // together, and no operand waits.
  int after = operand.ref;
  for (const Piecewise::Corner& corner : function->corners) {
    after = graph_.AddLiteral(Op::kMax, node_name_ + " corner", after, corner.at);
    const int part = graph_.AddLiteral(Op::kMul, node_name_ + " slope", after, corner.slope);
    sum = graph_.Add(Op::kAdd, node_name_ + " sum", part, sum);
  }
  refs_[node.result()] = {Finish(sum, function->shift, function->low, function->high), result};
  return OkStatus();
}

Status ElementChain::Append(const Node& node) {
  node_name_ = node.name().empty() ? std::string(node.info().text) : node.name();
  result_ = node.result();
  KILN_RETURN_IF_ERROR(CodesOf(*node.result()).status());
  std::vector<double> factors(static_cast<size_t>(node.num_operands()), 1.0);
  const std::optional<int> variable = OnlyVariable(node);
  const auto numbers_only = [&] {
    for (int i = 0; i < node.num_operands(); ++i) {
      const Value* operand = node.operand(i);
      if (operand != nullptr && i != variable && !IsNumber(*operand)) return false;
    }
    return true;
  };
  switch (node.op()) {
    case kiln::Op::kMean:
      std::ranges::fill(factors, 1.0 / node.num_operands());
      return AppendSum(node, factors);
    case kiln::Op::kSub:
      factors[1] = -1;
      return AppendSum(node, factors);
    case kiln::Op::kAdd:
    case kiln::Op::kSum:
      return AppendSum(node, factors);
    case kiln::Op::kIdentity:
    case kiln::Op::kDropout:
      return AppendSum(node, factors);
    case kiln::Op::kNeg:
      factors[0] = -1;
      return AppendSum(node, factors);
    case kiln::Op::kMax:
    case kiln::Op::kMin:
      return AppendExtremum(node);
    case kiln::Op::kExp:
      if (variable.has_value()) return AppendExponential(node);
      break;
    case kiln::Op::kMul:
      if (!variable.has_value() && !node.operand(0)->is_constant()) return AppendProduct(node);
      break;
    case kiln::Op::kDiv:
      if (variable != 0) return ToHost("a division by numbers that are known only at run time");
      break;
    default:
      break;
  }
  if (!variable.has_value())
    return ToHost(fmt::format("{} of several activations", node.info().text));
  if (numbers_only()) return AppendFunction(node, *variable);
  if (node.op() == kiln::Op::kMul || node.op() == kiln::Op::kDiv)
    return AppendScaledByConstant(node, *variable);
  return ToHost(fmt::format("{} with a tensor of constants", node.info().text));
}

ComputationGraph ElementChain::FinishGraph() {
  graph_.Output(refs_.at(result_).ref, result_->name());
  return graph_.Finish();
}

MachineKernel ElementChain::FinishKernel(std::shared_ptr<const MappedGraph> mapped) {
  MachineKernel kernel;
  kernel.buffers = std::move(buffers_);
  kernel.buffers.push_back({.is_result = true, .size = elements_});
  kernel.result = result_;
  Launch launch;
  launch.mapped = std::move(mapped);
  launch.threads = CeilDivide(elements_, lanes_);
  launch.feeds = std::move(feeds_);
  launch.drains = {
      {static_cast<int>(kernel.buffers.size()) - 1, BroadcastIndex(shape_, shape_, lanes_)}};
  kernel.launches.push_back(std::move(launch));
  return kernel;
}

}  // namespace kiln::cgra
