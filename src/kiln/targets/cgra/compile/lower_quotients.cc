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

}  // namespace

// Lanes hold rows, and threads their elements. The launches: the greatest of each row; exponentials
// of the differences to it, and their sum; the sum's reciprocal; products of both.
Status Lowering::EmitSoftmax(const Group& group) {
  const Node& node = *group.anchor;
  const Value& input = *node.operand(0);
  KILN_ASSIGN_OR_RETURN(const ValueCodes x, CodesOf(input));
  KILN_ASSIGN_OR_RETURN(const ValueCodes y, CodesOf(*group.result));
  const Shape& shape = input.shape();
  const auto axis = NormaliseAxis(node.attributes().Int("axis", -1), shape.rank());
  if (!axis.has_value()) return ToHost("a soft-max along an axis that is out of range");
  if (config_.outputs < 2) return ToHost("a soft-max on a machine with one output");
  if (y.bits > kMostResultBits) {
    return ToHost(fmt::format("a soft-max with results of {} bits, reciprocals allow {}", y.bits,
                              kMostResultBits));
  }
  const int64_t elements = shape.NumElements(), length = shape[*axis], rows = elements / length;
  int64_t inner = 1;
  for (int i = *axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  const int bits = std::min(kMostPartBits, kSumOfPartBits - CeilLog2(length));
  // Each exponential is rounded, which moves the sum, and all of them have a relative error; so
  // have their leading bits and the reciprocal.
  const double error = (std::ldexp(static_cast<double>(length), -bits - 1) + kShareError) / y.scale;
  if (bits < kLeastPartBits || error > kMostResultError) {
    return ToHost(fmt::format("a soft-max of {} elements whose results may be {:.1f} codes off",
                              length, error));
  }
  const std::optional<Exponential> parts = PartsOf(x, bits);
  if (!parts.has_value())
    return ToHost("a soft-max whose exponentials need more bits than lanes have");

  const auto element = [length, inner](int64_t row, int64_t k) {
    return (row / inner * length + k) * inner + row % inner;
  };
  const auto row_of = [length, inner](int64_t e) {
    return e / (length * inner) * inner + e % inner;
  };
  const int64_t lanes = config_.lanes;
  MachineKernel kernel;
  kernel.result = group.result;
  const int in = AddValue(input, &kernel);
  const auto add_buffer = [&](Buffer buffer) { return AddBuffer(std::move(buffer), &kernel); };
  const int most = add_buffer({.size = rows}), sums = add_buffer({.size = rows});
  const int exponentials = add_buffer({.size = elements});
  const int reciprocals = add_buffer({.size = rows});
  const int result = add_buffer({.is_result = true, .size = elements});
  const std::string name = KernelName(group.nodes);

  Reduction greatest;
  greatest.maximum = true;
  greatest.outputs = rows;
  greatest.depth = length;
  greatest.input = in;
  greatest.at = element;
  greatest.otherwise = x.low;
  KILN_ASSIGN_OR_RETURN(
      Choice choice, Choose(greatest, config_, most, name, &GraphOfReduction, &LaunchOfReduction));
  double least = choice.least_cycles;
  kernel.launches.push_back(std::move(choice.launch));

  GraphBuilder summed(name);
  const int code = summed.Input("x"), row_most = summed.Input("greatest");
  const int part =
      AppendExponential(*parts, "exp", summed.Add(Op::kSub, "below", code, row_most), 0, &summed);
  summed.Output(part, "exp out");
  summed.Output(summed.Accumulate(Op::kAdd, "sum", part, 0), "sum out");
  Launch launch;
  KILN_ASSIGN_OR_RETURN(launch.mapped, MapGraph(summed.Finish(), config_));
  launch.runs = CeilDivide(rows, lanes);
  launch.threads = length;
  const ElementIndex at_element = [=](int64_t run, int64_t thread, int64_t lane) {
    const int64_t row = run * lanes + lane;
    return row < rows ? element(row, thread) : -1;
  };
  const ElementIndex at_row = [=](int64_t run, int64_t, int64_t lane) {
    const int64_t row = run * lanes + lane;
    return row < rows ? row : -1;
  };
  launch.feeds = {{in, at_element, 0}, {most, at_row, 0}};
  // Every thread sends its sum so far; the last thread's sum remains.
  launch.drains = {{exponentials, at_element}, {sums, at_row}};
  least += AppendLaunch(std::move(launch), config_, &kernel);

  // Reciprocals of real sums have the unit 2^(kProductBits - shift) codes, so that the greatest
  // one, of the sum 1, has just kProductBits bits.
  const int shift =
      std::clamp(static_cast<int>(std::floor(2 * kProductBits + elementary::Log2(y.scale))), 1,
                 2 * kProductBits);
  const double greatest_reciprocal = std::ldexp(1 / y.scale, shift - kProductBits);
  const double dividend = std::round(std::ldexp(greatest_reciprocal, 1 + bits - kReciprocalBits));
  if (!(dividend >= 1)) return ToHost("a soft-max whose scale leaves no codes but 0");
  Division division;
  division.dividend = add_buffer({.constants = {static_cast<int32_t>(dividend)}, .size = 1});
  division.divisor = sums;
  division.quotient = reciprocals;
  division.one_dividend = true;
  division.elements = rows;
  division.bits = kReciprocalBits;
  KILN_ASSIGN_OR_RETURN(const double of_division, AppendDivision(division, config_, &kernel));
  least += of_division;

  GraphBuilder scaled(name);
  int value = scaled.Input("exp"), factor = scaled.Input("reciprocal");
  factor = scaled.AddLiteral(Op::kAdd, "half", factor, 1);
  factor = scaled.AddLiteral(Op::kShr, "rounded", factor, 1);
  value = scaled.AddLiteral(Op::kShr, "leading bits", value, bits - kProductBits);
  value = scaled.Add(Op::kMul, "product", value, factor);
  value = scaled.AddLiteral(Op::kAdd, "product half", value, 1 << (shift - 1));
  value = scaled.AddLiteral(Op::kShr, "shift", value, shift);
  scaled.Output(AppendCode(y, value, &scaled), group.result->name());
  Launch last;
  KILN_ASSIGN_OR_RETURN(last.mapped, MapGraph(scaled.Finish(), config_));
  const ElementIndex at = BroadcastIndex(shape, shape, lanes);
  last.threads = CeilDivide(elements, lanes);
  last.feeds = {{exponentials, at, 0},
                {reciprocals,
                 [at, row_of](int64_t run, int64_t thread, int64_t lane) {
                   const int64_t e = at(run, thread, lane);
                   return e < 0 ? e : row_of(e);
                 },
                 0}};
  last.drains = {{result, at}};
  least += AppendLaunch(std::move(last), config_, &kernel);
  std::string schedule = fmt::format("{} rows of {}, exponentials of {} bits", rows, length, bits);
  AddKernel(group, std::move(kernel), "sums", OperatorsOf(group.nodes), std::move(schedule), least);
  return OkStatus();
}

// A and B are the codes less their zero points, and M / D is the ratio of scales. The first launch
// computes |A| M, held to |B| D, and |B| D; others divide the two; the last one adds sign, zero
// point and bounds. A quotient of 0 and 0 has the code of zero, as NaN has in the quantiser.
Status Lowering::EmitQuotient(const Group& group) {
  const Node& node = *group.anchor;
  const Value &dividend = *node.operand(0), &divisor = *node.operand(1);
  KILN_ASSIGN_OR_RETURN(const ValueCodes b, CodesOf(divisor));
  KILN_ASSIGN_OR_RETURN(const ValueCodes y, CodesOf(*group.result));
  // A number is a code 1 or -1 with a scale.
  const bool is_number = dividend.is_constant();
  ValueCodes a;
  int32_t sign_of_number = 1;
  if (is_number) {
    const auto number = NumberOf(&dividend);
    if (!number.has_value() || !std::isfinite(*number) || *number == 0)
      return ToHost("a division of other constants than one number by activations");
    sign_of_number = *number < 0 ? -1 : 1;
    a.scale = std::abs(*number);
  } else {
    KILN_ASSIGN_OR_RETURN(a, CodesOf(dividend));
  }
  const int64_t reach_a = is_number ? 1 : Distance(a), reach_b = Distance(b);
  const int bits = y.bits + 1;
  const double factor = a.scale / (b.scale * y.scale);
  const double ratio = std::ldexp(factor, 1 - bits);
  const int64_t whole_a = ((int64_t{1} << 31) - 1) / reach_a;
  const int64_t whole_b = (kMostDividend - 1) / reach_b;
  const auto most_a = static_cast<double>(whole_a), most_b = static_cast<double>(whole_b);
  double over = std::round(ratio * most_b), under = most_b;
  if (over > most_a) {
    over = most_a;
    under = std::round(most_a / ratio);
  }
  const double greatest = std::min(static_cast<double>(reach_a) * factor, std::ldexp(1.0, y.bits));
  if (!(over >= 1 && under >= 1) || greatest / (2 * std::min(over, under)) > kMostQuotientError)
    return ToHost("a quotient whose scales are too far apart for 32 bits");

  const Shape& shape = group.result->shape();
  const int64_t elements = shape.NumElements(), lanes = config_.lanes;
  MachineKernel kernel;
  kernel.result = group.result;
  const auto add_buffer = [&](Buffer buffer) { return AddBuffer(std::move(buffer), &kernel); };
  std::vector<Feed> operands;
  if (!is_number) {
    operands.push_back(
        {AddValue(dividend, &kernel), BroadcastIndex(dividend.shape(), shape, lanes), a.zero});
  }
  operands.push_back(
      {AddValue(divisor, &kernel), BroadcastIndex(divisor.shape(), shape, lanes), b.zero});
  Division division;
  division.dividend = add_buffer({.size = elements});
  division.divisor = add_buffer({.size = elements});
  division.quotient = add_buffer({.size = elements});
  division.elements = elements;
  division.bits = bits;
  const int result = add_buffer({.is_result = true, .size = elements});
  const std::string name = KernelName(group.nodes);
  const ElementIndex at = BroadcastIndex(shape, shape, lanes);
  // Add an operand less its zero point, and the magnitude of a number.
  const auto centred = [](GraphBuilder* graph, const Value& value, const ValueCodes& codes) {
    const int code = graph->Input(value.name());
    return codes.zero == 0 ? code : graph->AddLiteral(Op::kSub, "centre", code, codes.zero);
  };
  const auto magnitude = [](GraphBuilder* graph, int value) {
    const int negative = graph->AddLiteral(Op::kMul, "negative", value, -1);
    return graph->Add(Op::kMax, "magnitude", negative, value);
  };

  GraphBuilder before(name);
  const int numerator = is_number ? -1 : magnitude(&before, centred(&before, dividend, a));
  int bound =
      before.AddLiteral(Op::kMul, "divisor", magnitude(&before, centred(&before, divisor, b)),
                        static_cast<int32_t>(under));
  // A divisor of 0 becomes the least one, which the dividend exceeds unless it is 0, too.
  bound = before.AddLiteral(Op::kMax, "divisor", bound, 1);
  const auto multiplier = static_cast<int32_t>(over);
  const int held =
      is_number ? before.AddLiteral(Op::kMin, "dividend held", bound, multiplier)
                : before.Add(Op::kMin, "dividend held",
                             before.AddLiteral(Op::kMul, "dividend", numerator, multiplier), bound);
  before.Output(held, "dividend out");
  before.Output(bound, "divisor out");
  Launch first;
  KILN_ASSIGN_OR_RETURN(first.mapped, MapGraph(before.Finish(), config_));
  first.threads = CeilDivide(elements, lanes);
  first.feeds = operands;
  first.drains = {{division.dividend, at}, {division.divisor, at}};
  double least = AppendLaunch(std::move(first), config_, &kernel);
  KILN_ASSIGN_OR_RETURN(const double of_division, AppendDivision(division, config_, &kernel));
  least += of_division;

  GraphBuilder after(name);
  int value = after.Input("quotient");
  value = after.AddLiteral(Op::kAdd, "half", value, 1);
  value = after.AddLiteral(Op::kShr, "rounded", value, 1);
  if (!is_number) {
    int sign = centred(&after, dividend, a);
    sign = after.AddLiteral(Op::kMax, "sign low", sign, -1);
    sign = after.AddLiteral(Op::kMin, "sign high", sign, 1);
    value = after.Add(Op::kMul, "with sign", value, sign);
  }
  const int sign_bits = after.AddLiteral(Op::kSra, "sign bits", centred(&after, divisor, b), 31);
  const int sign = after.AddLiteral(Op::kOr, "sign", sign_bits, 1);
  value = after.Add(Op::kMul, "with signs", value, sign);
  if (sign_of_number < 0) value = after.AddLiteral(Op::kMul, "negative", value, -1);
  after.Output(AppendCode(y, value, &after), group.result->name());
  Launch last;
  KILN_ASSIGN_OR_RETURN(last.mapped, MapGraph(after.Finish(), config_));
  last.threads = CeilDivide(elements, lanes);
  last.feeds = {{division.quotient, at, 0}};
  last.feeds.insert(last.feeds.end(), operands.begin(), operands.end());
  last.drains = {{result, at}};
  least += AppendLaunch(std::move(last), config_, &kernel);
  std::string schedule = fmt::format("{} bits, {} launches", bits, kernel.launches.size());
  AddKernel(group, std::move(kernel), "elements", OperatorsOf(group.nodes), std::move(schedule),
            least);
  return OkStatus();
}

}  // namespace kiln::cgra
