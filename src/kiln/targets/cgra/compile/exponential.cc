// Chooses the constants of exponentials, evaluates them, and appends them to graphs.

#include "kiln/targets/cgra/compile/exponential.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "kiln/numerics/elementary.h"

namespace kiln::cgra {
namespace {

constexpr int kMantissaBits = 16;
constexpr int32_t kFractionMask = (1 << kMantissaBits) - 1;
// c1 to c4 of the polynomial of degree 4 without a constant that is nearest to 2^f - 1 in [0, 1]:
// 0.69301853, 0.24144550, 0.05195055 and 0.01358125, times 2^16. Its error is 4.2e-6.
constexpr int32_t kSlope = 45418;
constexpr int32_t kHigher[] = {890, 3405, 15823};  // c4, c3, c2
constexpr int kMostPoint = 28;
// A result at most this much farther than half a code from the exact one counts as the nearest.
constexpr double kTie = 1e-9;

// Which constants FitExponential tries: shifts of u, in units of 2^-18, and of c1.
constexpr int kShiftsOfConstant = 12;
constexpr int kShiftsOfSlope = 3;

int LeastShift(const Exponential& form) { return kMantissaBits - 1 + form.lift; }

int64_t PowerAt(const Exponential& form, int32_t code) {
  int64_t u = int64_t{form.factor} * code + form.constant;
  if (form.greatest.has_value()) u = std::min<int64_t>(u, *form.greatest);
  return u;
}

// Says whether h can exceed 31: u is monotonic, so that its least value is at an end.
void SetHoldsShift(int32_t low, int32_t high, Exponential* form) {
  const int64_t least = std::min(PowerAt(*form, low), PowerAt(*form, high));
  form->holds_shift = LeastShift(*form) - (least >> form->point) > 31;
}

}  // namespace

std::optional<Exponential> MakeExponential(double rate, double offset, int32_t low, int32_t high,
                                           int most_bits) {
  const double ends[] = {rate * low + offset, rate * high + offset, rate * low, rate * high,
                         offset};
  double reach = 1;
  for (const double end : ends) reach = std::max(reach, std::abs(end));
  if (!std::isfinite(reach)) return std::nullopt;
  Exponential form;
  form.point = std::min(kMostPoint, 29 - static_cast<int>(std::ceil(elementary::Log2(reach))));
  if (form.point < kMantissaBits) return std::nullopt;
  form.factor = static_cast<int32_t>(std::llround(std::ldexp(rate, form.point)));
  // Half a unit of the fraction, because bits below it are cut off.
  form.constant = static_cast<int32_t>(
      std::llround(std::ldexp(offset, form.point) + std::ldexp(0.5, form.point - kMantissaBits)));
  form.slope = kSlope;
  form.lift = std::max(0, most_bits - (kMantissaBits - 1));
  const double greatest = std::max(ends[0], ends[1]);
  // From 2^most_bits on, results are held by the caller.
  if (greatest >= most_bits)
    form.greatest = static_cast<int32_t>((int64_t{most_bits} << form.point) - 1);
  SetHoldsShift(low, high, &form);
  return form;
}

int32_t ValueAt(const Exponential& form, int32_t code) {
  const int64_t u = PowerAt(form, code);
  const auto fraction = static_cast<uint32_t>(u >> (form.point - kMantissaBits)) & kFractionMask;
  uint32_t m = kHigher[0];
  for (const uint32_t c : {static_cast<uint32_t>(kHigher[1]), static_cast<uint32_t>(kHigher[2]),
                           static_cast<uint32_t>(form.slope), 1U << kMantissaBits}) {
    m = (m * fraction >> kMantissaBits) + c;
  }
  const auto h = std::min<int64_t>(LeastShift(form) - (u >> form.point), 31);
  return static_cast<int32_t>((((m << form.lift) >> h) + 1) >> 1);
}

int32_t CodeAt(const Exponential& form, const ValueCodes& to, int32_t code) {
  return static_cast<int32_t>(
      std::clamp<int64_t>(int64_t{ValueAt(form, code)} + to.zero, to.low, to.high));
}

std::optional<CodeExponential> FitExponential(const ValueCodes& from, const ValueCodes& to) {
  const double rate = from.scale * std::numbers::log2e;
  const double offset = -rate * from.zero - elementary::Log2(to.scale);
  const auto base = MakeExponential(rate, offset, from.low, from.high, to.bits + 1);
  if (!base.has_value()) return std::nullopt;
  std::vector<double> exact;
  for (int32_t code = from.low; code <= from.high; ++code) {
    const double real = elementary::Exp(from.scale * (code - from.zero)) / to.scale + to.zero;
    exact.push_back(std::clamp<double>(real, to.low, to.high));
  }
  // Returns the codes off, or nothing if one is off by more than one code or if u leaves its range.
  const auto codes_off = [&](const Exponential& form, int most) -> std::optional<int> {
    int off = 0;
    for (int32_t code = from.low; code <= from.high && off <= most; ++code) {
      const double error =
          std::abs(CodeAt(form, to, code) - exact[static_cast<size_t>(code - from.low)]);
      if (error > 1.5) return std::nullopt;
      off += error > 0.5 + kTie ? 1 : 0;
    }
    return off;
  };
  std::optional<CodeExponential> best;
  const double unit = std::ldexp(1.0, base->point - kMantissaBits - 2);
  for (int i = 0; i < (2 * kShiftsOfConstant + 1) * (2 * kShiftsOfSlope + 1); ++i) {
    // 0, 1, -1, 2, -2, ...: the nearest constants first.
    const auto alternate = [](int n) { return n % 2 == 1 ? (n + 1) / 2 : -n / 2; };
    Exponential form = *base;
    form.constant += static_cast<int32_t>(alternate(i / (2 * kShiftsOfSlope + 1)) * unit);
    form.slope += alternate(i % (2 * kShiftsOfSlope + 1));
    const auto off = codes_off(form, best.has_value() ? best->codes_off : from.high - from.low + 1);
    if (off.has_value() && (!best.has_value() || *off < best->codes_off)) {
      SetHoldsShift(from.low, from.high, &form);
      best = {form, *off};
    }
    if (best.has_value() && best->codes_off == 0) break;
  }
  return best;
}

int AppendExponential(const Exponential& form, std::string_view name, int value, int32_t zero,
                      GraphBuilder* graph) {
  const auto called = [&](std::string_view part) {
    return std::string(name) + " " + std::string(part);
  };
  const int product = graph->AddLiteral(Op::kMul, called("rate"), value, form.factor);
  int u = graph->AddLiteral(Op::kAdd, called("power"), product, form.constant);
  if (form.greatest.has_value()) u = graph->AddLiteral(Op::kMin, called("most"), u, *form.greatest);
  const int below = graph->AddLiteral(Op::kShr, called("point"), u, form.point - kMantissaBits);
  int fraction = graph->AddLiteral(Op::kAnd, called("fraction"), below, kFractionMask);
  int m = graph->AddLiteral(Op::kMul, called("term"), fraction, kHigher[0]);
  int products = 0;
  for (const int32_t c : {kHigher[1], kHigher[2], form.slope, 1 << kMantissaBits}) {
    const int shifted = graph->AddLiteral(Op::kShr, called("term shift"), m, kMantissaBits);
    m = graph->AddLiteral(Op::kAdd, called("term"), shifted, c);
    if (c == 1 << kMantissaBits) break;
    // Operands wait for a limited time: copies of what is needed late move on with the terms.
    if (++products == 2) {
      fraction = graph->Unary(Op::kPass, called("fraction"), fraction);
      u = graph->Unary(Op::kPass, called("power"), u);
    }
    m = graph->Add(Op::kMul, called("product"), m, fraction);
  }
  const int whole = graph->AddLiteral(Op::kSra, called("whole"), u, form.point);
  int h = graph->Add(Op::kSub, called("shift"),
                     graph->Const(called("least shift"), LeastShift(form)), whole);
  if (form.holds_shift) h = graph->AddLiteral(Op::kMin, called("shift held"), h, 31);
  if (form.lift > 0) m = graph->AddLiteral(Op::kShl, called("lift"), m, form.lift);
  m = graph->Add(Op::kShr, called("shifted"), m, h);
  m = graph->AddLiteral(Op::kAdd, called("half"), m, 1);
  m = graph->AddLiteral(Op::kShr, called("rounded"), m, 1);
  return zero == 0 ? m : graph->AddLiteral(Op::kAdd, called("zero"), m, zero);
}

}  // namespace kiln::cgra
