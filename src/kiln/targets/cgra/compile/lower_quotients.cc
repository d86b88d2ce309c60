// Lowers what divides by activations: quotients and soft-maxes.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "kiln/ir/indexing.h"
#include "kiln/numerics/elementary.h"
#include "kiln/support/integer.h"
#include "kiln/targets/cgra/compile/choose_tiling.h"
#include "kiln/targets/cgra/compile/cost_of_launch.h"
#include "kiln/targets/cgra/compile/division.h"
#include "kiln/targets/cgra/compile/exponential.h"
#include "kiln/targets/cgra/compile/lowering.h"
#include "kiln/targets/interface/kernel_info.h"
#include "kiln/targets/lower/channel_line.h"

namespace kiln::cgra {
namespace {

constexpr int kMostResultBits = 8;  // of soft-maxes
constexpr int kMostPartBits = 20;   // of exponentials after the binary point
constexpr int kLeastPartBits = 16;
constexpr int kSumOfPartBits = 29;      // of a sum of exponentials
constexpr int kReciprocalBits = 16;     // with the bit for rounding
constexpr int kProductBits = 15;        // of each factor of a result
constexpr double kPartError = 0x1p-15;  // relative, of an exponential before it is rounded
// Of a soft-max, in shares of 1: twice kPartError, for an exponential and the sum; 2^-15 for the
// leading bits of the exponential, 2^-15 for the reciprocal, 2^-16 for the reciprocal's dividend.
constexpr double kShareError = 0x1.2p-13;
constexpr double kMostResultError = 0.5;      // of a soft-max, in codes, before rounding
constexpr double kMostQuotientError = 0.125;  // codes, before rounding

int64_t Distance(const ValueCodes& codes) {
  return std::max(int64_t{codes.high} - codes.zero, int64_t{codes.zero} - codes.low);
}

// Returns the exponentials of a code less the greatest of its row, with `bits` bits after the
// binary point, or nothing if one of them is farther from the exact one than rounding and
// kPartError allow.
std::optional<Exponential> PartsOf(const ValueCodes& x, int bits) {
  const int32_t lowest = x.low - x.high;
  const double rate = x.scale * std::numbers::log2e;
  const auto form = MakeExponential(rate, bits, lowest, 0, bits + 1);
  if (!form.has_value()) return std::nullopt;
  for (int32_t below = lowest; below <= 0; ++below) {
    const double exact = elementary::Exp(x.scale * below);
    const double error = std::abs(std::ldexp(ValueAt(*form, below), -bits) - exact);
    if (error > std::ldexp(1.0, -bits - 1) + kPartError * exact) return std::nullopt;
  }
  return form;
}

// Adds a buffer to a kernel and returns its number.
int AddBuffer(Buffer buffer, MachineKernel* kernel) {
  kernel->buffers.push_back(std::move(buffer));
  return static_cast<int>(kernel->buffers.size()) - 1;
}

// Appends a launch to a kernel. Returns a bound of its cycles.
double AppendLaunch(Launch launch, const Config& config, MachineKernel* kernel) {
  const double least = LeastCycles(launch, config);
  kernel->launches.push_back(std::move(launch));
  return least;
}

// Appends the code of a result in units of its scale: adds the zero point and holds the sum.
int AppendCode(const ValueCodes& codes, int value, GraphBuilder* graph) {
  if (codes.zero != 0) value = graph->AddLiteral(Op::kAdd, "zero", value, codes.zero);
  value = graph->AddLiteral(Op::kMax, "low", value, codes.low);
  return graph->AddLiteral(Op::kMin, "high", value, codes.high);
}

// A soft-max: codes of its operand and result, and its rows, each of `length` elements that lie
// `inner` elements apart.
struct SoftmaxPlan {
  ValueCodes x, y;
  int64_t elements = 0, length = 0, rows = 0, inner = 1;
  int bits = 0;       // of exponentials, after the binary point
  Exponential parts;  // of a code less the greatest of its row
  // Reciprocals of real sums have the unit 2^(kProductBits - shift) codes, so that the greatest
  // one, of the sum 1, has just kProductBits bits.
  int shift = 1;
  int32_t dividend = 1;  // of the division that gives reciprocals

  int64_t Element(int64_t row, int64_t k) const {
    return (row / inner * length + k) * inner + row % inner;
  }
  int64_t RowOf(int64_t element) const {
    return element / (length * inner) * inner + element % inner;
  }
  // Return the same as text: the first element of row `row`, whose others are `inner` apart, and
  // the row of element e.
  std::string FirstElementText(std::string_view row) const {
    return PositionText(row, {0, {rows / inner, inner}, {length * inner, 1}});
  }
  std::string RowText() const {
    return PositionText("e", {0, {rows / inner, length, inner}, {inner, 0, 1}});
  }
};

StatusOr<SoftmaxPlan> PlanSoftmax(const Node& node, const Value& result, const Config& config) {
  SoftmaxPlan plan;
  KILN_ASSIGN_OR_RETURN(plan.x, CodesOf(*node.operand(0)));
  KILN_ASSIGN_OR_RETURN(plan.y, CodesOf(result));
  const Shape& shape = node.operand(0)->shape();
  const auto axis = NormaliseAxis(node.attributes().Int("axis", -1), shape.rank());
  if (!axis.has_value()) return ToHost("a soft-max along an axis that is out of range");
  if (config.outputs < 2) return ToHost("a soft-max on a machine with one output");
  if (plan.y.bits > kMostResultBits) {
    return ToHost(fmt::format("a soft-max with results of {} bits, reciprocals allow {}",
                              plan.y.bits, kMostResultBits));
  }
  plan.elements = shape.NumElements();
  plan.length = shape[*axis];
  plan.rows = plan.elements / plan.length;
  for (int i = *axis + 1; i < shape.rank(); ++i) plan.inner *= shape[i];
  plan.bits = std::min(kMostPartBits, kSumOfPartBits - CeilLog2(plan.length));
  // Each exponential is rounded, which moves the sum, and all of them have a relative error; so
  // have their leading bits and the reciprocal.
  const double scale = plan.y.scale;
  const double error =
      (std::ldexp(static_cast<double>(plan.length), -plan.bits - 1) + kShareError) / scale;
  if (plan.bits < kLeastPartBits || error > kMostResultError) {
    return ToHost(fmt::format("a soft-max of {} elements whose results may be {:.1f} codes off",
                              plan.length, error));
  }
  std::optional<Exponential> parts = PartsOf(plan.x, plan.bits);
  if (!parts.has_value())
    return ToHost("a soft-max whose exponentials need more bits than lanes have");
  plan.parts = *std::move(parts);
  plan.shift = std::clamp(static_cast<int>(std::floor(2 * kProductBits + elementary::Log2(scale))),
                          1, 2 * kProductBits);
  const double greatest = std::ldexp(1 / scale, plan.shift - kProductBits);
  const double dividend = std::round(std::ldexp(greatest, 1 + plan.bits - kReciprocalBits));
  if (!(dividend >= 1)) return ToHost("a soft-max whose scale leaves no codes but 0");
  plan.dividend = static_cast<int32_t>(dividend);
  return plan;
}

// Returns the reduction of rows to their greatest codes.
Reduction GreatestOf(const SoftmaxPlan& plan, int input) {
  Reduction greatest;
  greatest.maximum = true;
  greatest.outputs = plan.rows;
  greatest.depth = plan.length;
  greatest.input = input;
  greatest.at = [plan](int64_t row, int64_t k) { return plan.Element(row, k); };
  greatest.text.position = {SumText(plan.FirstElementText("output"), ProductText("k", plan.inner))};
  greatest.otherwise = plan.x.low;
  return greatest;
}

// Returns the launch of exponentials and their sums: lanes hold rows, threads elements.
StatusOr<Launch> ExponentialsOf(const SoftmaxPlan& plan, const std::string& name,
                                const Config& config, int input, int most, int exponentials,
                                int sums) {
  GraphBuilder graph(name);
  const int code = graph.Input("x"), row_most = graph.Input("greatest");
  const int part =
      AppendExponential(plan.parts, "exp", graph.Add(Op::kSub, "below", code, row_most), 0, &graph);
  graph.Output(part, "exp out");
  graph.Output(graph.Accumulate(Op::kAdd, "sum", part, 0), "sum out");
  Launch launch;
  KILN_ASSIGN_OR_RETURN(launch.mapped, MapGraph(graph.Finish(), config));
  const int64_t lanes = config.lanes;
  launch.runs = CeilDivide(plan.rows, lanes);
  launch.threads = plan.length;
  IndexText row_text;
  row_text.names = {{"row", SumText(ProductText("run", lanes), "lane")}};
  if (plan.rows % lanes != 0) row_text.conditions = {fmt::format("row < {}", plan.rows)};
  row_text.position = {"row"};
  IndexText element_text = row_text;
  element_text.position = {
      SumText(plan.FirstElementText("row"), ProductText("thread", plan.inner))};
  const ElementIndex at_element = {element_text,
                                   [plan, lanes](int64_t run, int64_t thread, int64_t lane) {
                                     const int64_t row = run * lanes + lane;
                                     return row < plan.rows ? plan.Element(row, thread) : -1;
                                   }};
  const ElementIndex at_row = {row_text, [plan, lanes](int64_t run, int64_t, int64_t lane) {
                                 const int64_t row = run * lanes + lane;
                                 return row < plan.rows ? row : -1;
                               }};
  launch.feeds = {{input, at_element, 0}, {most, at_row, 0}};
  // Every thread sends its sum so far; the last thread's sum remains.
  launch.drains = {{exponentials, at_element}, {sums, at_row}};
  return launch;
}

// Returns the launch of the products of exponentials and reciprocals: lanes hold elements.
StatusOr<Launch> SharesOf(const SoftmaxPlan& plan, const Value& result_value,
                          const std::string& name, const Config& config, int exponentials,
                          int reciprocals, int result) {
  GraphBuilder graph(name);
  int value = graph.Input("exp"), factor = graph.Input("reciprocal");
  factor = graph.AddLiteral(Op::kAdd, "half", factor, 1);
  factor = graph.AddLiteral(Op::kShr, "rounded", factor, 1);
  value = graph.AddLiteral(Op::kShr, "leading bits", value, plan.bits - kProductBits);
  value = graph.Add(Op::kMul, "product", value, factor);
  value = graph.AddLiteral(Op::kAdd, "product half", value, 1 << (plan.shift - 1));
  value = graph.AddLiteral(Op::kShr, "shift", value, plan.shift);
  graph.Output(AppendCode(plan.y, value, &graph), result_value.name());
  Launch launch;
  KILN_ASSIGN_OR_RETURN(launch.mapped, MapGraph(graph.Finish(), config));
  const Shape& shape = result_value.shape();
  const ElementIndex at = BroadcastIndex(shape, shape, config.lanes);
  launch.threads = CeilDivide(plan.elements, int64_t{config.lanes});
  IndexText row = at.text();
  row.position = {plan.RowText()};
  launch.feeds = {{exponentials, at, 0},
                  {reciprocals,
                   {row,
                    [at, plan](int64_t run, int64_t thread, int64_t lane) {
                      const int64_t e = at(run, thread, lane);
                      return e < 0 ? e : plan.RowOf(e);
                    }},
                   0}};
  launch.drains = {{result, at}};
  return launch;
}

// A quotient: codes of its operands and result, and the factors of both magnitudes.
struct QuotientPlan {
  ValueCodes a, b, y;
  bool is_number = false;  // the dividend is one: a code 1 or -1 with a scale
  int32_t sign_of_number = 1;
  int bits = 0;  // of the quotient, with the one for rounding
  int32_t over = 1, under = 1;
};

StatusOr<QuotientPlan> PlanQuotient(const Value& dividend, const Value& divisor,
                                    const Value& result) {
  QuotientPlan plan;
  KILN_ASSIGN_OR_RETURN(plan.b, CodesOf(divisor));
  KILN_ASSIGN_OR_RETURN(plan.y, CodesOf(result));
  plan.is_number = dividend.is_constant();
  if (plan.is_number) {
    const auto number = NumberOf(&dividend);
    if (!number.has_value() || !std::isfinite(*number) || *number == 0)
      return ToHost("a division of other constants than one number by activations");
    plan.sign_of_number = *number < 0 ? -1 : 1;
    plan.a.scale = std::abs(*number);
  } else {
    KILN_ASSIGN_OR_RETURN(plan.a, CodesOf(dividend));
  }
  const int64_t reach_a = plan.is_number ? 1 : Distance(plan.a), reach_b = Distance(plan.b);
  plan.bits = plan.y.bits + 1;
  const double factor = plan.a.scale / (plan.b.scale * plan.y.scale);
  const double ratio = std::ldexp(factor, 1 - plan.bits);
  const int64_t whole_a = ((int64_t{1} << 31) - 1) / reach_a;
  const int64_t whole_b = (kMostDividend - 1) / reach_b;
  const auto most_a = static_cast<double>(whole_a), most_b = static_cast<double>(whole_b);
  double over = std::round(ratio * most_b), under = most_b;
  if (over > most_a) {
    over = most_a;
    under = std::round(most_a / ratio);
  }
  const double greatest =
      std::min(static_cast<double>(reach_a) * factor, std::ldexp(1.0, plan.y.bits));
  if (!(over >= 1 && under >= 1) || greatest / (2 * std::min(over, under)) > kMostQuotientError)
    return ToHost("a quotient whose scales are too far apart for 32 bits");
  plan.over = static_cast<int32_t>(over);
  plan.under = static_cast<int32_t>(under);
  return plan;
}

// Appends an operand less its zero point.
int AppendCentred(const Value& value, const ValueCodes& codes, GraphBuilder* graph) {
  const int code = graph->Input(value.name());
  return codes.zero == 0 ? code : graph->AddLiteral(Op::kSub, "centre", code, codes.zero);
}

// Appends the magnitude of a number.
int AppendMagnitude(int value, GraphBuilder* graph) {
  const int negative = graph->AddLiteral(Op::kMul, "negative", value, -1);
  return graph->Add(Op::kMax, "magnitude", negative, value);
}

// Returns the graph of the magnitudes that are divided.
ComputationGraph MagnitudesOf(const QuotientPlan& plan, const Value& dividend, const Value& divisor,
                              const std::string& name) {
  GraphBuilder graph(name);
  const int numerator =
      plan.is_number ? -1 : AppendMagnitude(AppendCentred(dividend, plan.a, &graph), &graph);
  int bound =
      graph.AddLiteral(Op::kMul, "divisor",
                       AppendMagnitude(AppendCentred(divisor, plan.b, &graph), &graph), plan.under);
  // A divisor of 0 becomes the least one, which the dividend exceeds unless it is 0, too.
  bound = graph.AddLiteral(Op::kMax, "divisor", bound, 1);
  const int held =
      plan.is_number
          ? graph.AddLiteral(Op::kMin, "dividend held", bound, plan.over)
          : graph.Add(Op::kMin, "dividend held",
                      graph.AddLiteral(Op::kMul, "dividend", numerator, plan.over), bound);
  graph.Output(held, "dividend out");
  graph.Output(bound, "divisor out");
  return graph.Finish();
}

// Returns the graph that rounds the quotient of magnitudes and gives it sign and zero point.
ComputationGraph SignedQuotientOf(const QuotientPlan& plan, const Value& dividend,
                                  const Value& divisor, const Value& result,
                                  const std::string& name) {
  GraphBuilder graph(name);
  int value = graph.Input("quotient");
  value = graph.AddLiteral(Op::kAdd, "half", value, 1);
  value = graph.AddLiteral(Op::kShr, "rounded", value, 1);
  if (!plan.is_number) {
    int sign = AppendCentred(dividend, plan.a, &graph);
    sign = graph.AddLiteral(Op::kMax, "sign low", sign, -1);
    sign = graph.AddLiteral(Op::kMin, "sign high", sign, 1);
    value = graph.Add(Op::kMul, "with sign", value, sign);
  }
  const int sign_bits =
      graph.AddLiteral(Op::kSra, "sign bits", AppendCentred(divisor, plan.b, &graph), 31);
  const int sign = graph.AddLiteral(Op::kOr, "sign", sign_bits, 1);
  value = graph.Add(Op::kMul, "with signs", value, sign);
  if (plan.sign_of_number < 0) value = graph.AddLiteral(Op::kMul, "negative", value, -1);
  graph.Output(AppendCode(plan.y, value, &graph), result.name());
  return graph.Finish();
}

}  // namespace

// Lanes hold rows, and threads their elements. The launches: the greatest of each row; exponentials
// of the differences to it, and their sum; the sum's reciprocal; products of both.
Status Lowering::EmitSoftmax(const Group& group) {
  KILN_ASSIGN_OR_RETURN(const SoftmaxPlan plan, PlanSoftmax(*group.anchor, *group.result, config_));
  MachineKernel kernel;
  kernel.result = group.result;
  const int in = AddValue(*group.anchor->operand(0), &kernel);
  const auto add_buffer = [&](Buffer buffer) { return AddBuffer(std::move(buffer), &kernel); };
  const int most = add_buffer({.size = plan.rows}), sums = add_buffer({.size = plan.rows});
  const int exponentials = add_buffer({.size = plan.elements});
  const int reciprocals = add_buffer({.size = plan.rows});
  const int result = add_buffer({.is_result = true, .size = plan.elements});
  const std::string name = KernelName(group.nodes);

  KILN_ASSIGN_OR_RETURN(Choice choice, Choose(GreatestOf(plan, in), config_, most, name,
                                              &GraphOfReduction, &LaunchOfReduction));
  double least = choice.least_cycles;
  kernel.launches.push_back(std::move(choice.launch));
  KILN_ASSIGN_OR_RETURN(Launch launch,
                        ExponentialsOf(plan, name, config_, in, most, exponentials, sums));
  least += AppendLaunch(std::move(launch), config_, &kernel);
  Division division;
  division.dividend = add_buffer({.constants = {plan.dividend}, .name = "the dividend", .size = 1});
  division.divisor = sums;
  division.quotient = reciprocals;
  division.one_dividend = true;
  division.elements = plan.rows;
  division.bits = kReciprocalBits;
  KILN_ASSIGN_OR_RETURN(const double of_division, AppendDivision(division, config_, &kernel));
  least += of_division;
  KILN_ASSIGN_OR_RETURN(
      launch, SharesOf(plan, *group.result, name, config_, exponentials, reciprocals, result));
  least += AppendLaunch(std::move(launch), config_, &kernel);
  AddKernel(
      group, std::move(kernel), "sums", OperatorsOf(group.nodes),
      fmt::format("{} rows of {}, exponentials of {} bits", plan.rows, plan.length, plan.bits),
      least);
  return OkStatus();
}

// A and B are the codes less their zero points, and M / D is the ratio of scales. The first launch
// computes |A| M, held to |B| D, and |B| D; others divide the two; the last one adds sign, zero
// point and bounds. A quotient of 0 and 0 has the code of zero, as NaN has in the quantiser.
Status Lowering::EmitQuotient(const Group& group) {
  const Value &dividend = *group.anchor->operand(0), &divisor = *group.anchor->operand(1);
  KILN_ASSIGN_OR_RETURN(const QuotientPlan plan, PlanQuotient(dividend, divisor, *group.result));
  const Shape& shape = group.result->shape();
  const int64_t elements = shape.NumElements(), lanes = config_.lanes;
  MachineKernel kernel;
  kernel.result = group.result;
  const auto add_buffer = [&](Buffer buffer) { return AddBuffer(std::move(buffer), &kernel); };
  std::vector<Feed> operands;
  if (!plan.is_number) {
    operands.push_back(
        {AddValue(dividend, &kernel), BroadcastIndex(dividend.shape(), shape, lanes), plan.a.zero});
  }
  operands.push_back(
      {AddValue(divisor, &kernel), BroadcastIndex(divisor.shape(), shape, lanes), plan.b.zero});
  Division division;
  division.dividend = add_buffer({.size = elements});
  division.divisor = add_buffer({.size = elements});
  division.quotient = add_buffer({.size = elements});
  division.elements = elements;
  division.bits = plan.bits;
  const int result = add_buffer({.is_result = true, .size = elements});
  const std::string name = KernelName(group.nodes);
  const ElementIndex at = BroadcastIndex(shape, shape, lanes);

  Launch first;
  KILN_ASSIGN_OR_RETURN(first.mapped,
                        MapGraph(MagnitudesOf(plan, dividend, divisor, name), config_));
  first.threads = CeilDivide(elements, lanes);
  first.feeds = operands;
  first.drains = {{division.dividend, at}, {division.divisor, at}};
  double least = AppendLaunch(std::move(first), config_, &kernel);
  KILN_ASSIGN_OR_RETURN(const double of_division, AppendDivision(division, config_, &kernel));
  least += of_division;
  Launch last;
  KILN_ASSIGN_OR_RETURN(
      last.mapped,
      MapGraph(SignedQuotientOf(plan, dividend, divisor, *group.result, name), config_));
  last.threads = CeilDivide(elements, lanes);
  last.feeds = {{division.quotient, at, 0}};
  last.feeds.insert(last.feeds.end(), operands.begin(), operands.end());
  last.drains = {{result, at}};
  least += AppendLaunch(std::move(last), config_, &kernel);
  std::string schedule = fmt::format("{} bits, {} launches", plan.bits, kernel.launches.size());
  AddKernel(group, std::move(kernel), "elements", OperatorsOf(group.nodes), std::move(schedule),
            least);
  return OkStatus();
}

}  // namespace kiln::cgra
