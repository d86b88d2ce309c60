// Reads annotations.

#include "kiln/targets/lower/value_codes.h"

#include <algorithm>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/ir/describe.h"
#include "kiln/numerics/quantise.h"
#include "kiln/targets/interface/folder_guide.h"
#include "kiln/targets/lower/constant_codes.h"
#include "kiln/targets/lower/refusal.h"

namespace kiln {
namespace {

bool IsPlainInteger(const Format& format) {
  return format.is_whole() && format.rounding == Rounding::kNearestEven &&
         format.overflow == Overflow::kSaturate;
}

}  // namespace

StatusOr<ValueCodes> IntegerCodesOf(const Value& value, int most_bits) {
  const std::string who = NameForUser(value);
  if (value.element() != ElementType::kFloat32) return ToHost(fmt::format("{} is not fp32", who));
  if (!value.quantisation().has_value()) return ToHost(fmt::format("{} is not quantised", who));
  const Quantisation& q = *value.quantisation();
  const Format& format = q.type.format;
  if (!IsPlainInteger(format) || format.bits > most_bits || q.scales.size() > 1 ||
      q.zero_points.size() > 1 || q.type.scheme == Scheme::kPerBlock) {
    return ToHost(
        fmt::format("{} is {}, the machine takes integers of up to {} bits with one scale", who,
                    format.name, most_bits));
  }
  const CodeRange range = kiln::CodesOf(format, q.type.symmetric);
  ValueCodes codes;
  codes.bits = format.bits;
  codes.is_signed = format.is_signed;
  codes.scale = q.scales.empty() ? 1.0 : double{q.scales[0]};
  codes.zero = q.zero_points.empty() ? 0 : q.zero_points[0];
  codes.low = static_cast<int32_t>(range.low);
  codes.high = static_cast<int32_t>(range.high);
  return codes;
}

StatusOr<WeightCodes> IntegerWeightsOf(const Value& value, int axis, int most_bits) {
  const std::string who = NameForUser(value);
  if (!value.is_constant() || value.element() != ElementType::kFloat32)
    return ToHost(fmt::format("{} is no constant in fp32", who));
  if (!value.quantisation().has_value()) return ToHost(fmt::format("{} is not quantised", who));
  const Quantisation& q = *value.quantisation();
  const Format& format = q.type.format;
  const bool zeros = std::ranges::all_of(q.zero_points, [](int32_t z) { return z == 0; });
  if (!IsPlainInteger(format) || format.bits > most_bits || !zeros ||
      q.type.scheme == Scheme::kPerBlock) {
    return ToHost(fmt::format("{} is {}, weights are integers of up to {} bits without zero point",
                              who, format.name, most_bits));
  }
  if (q.scales.size() > 1 && q.axis != axis)
    return ToHost(fmt::format("{} has scales along another axis than output channels", who));
  const Quantisation complete = CompleteAnnotation(q);
  WeightCodes weights;
  for (const int64_t code : QuantiseConstant(value.constant(), complete).codes.ToInts())
    weights.codes.push_back(static_cast<int32_t>(code));
  weights.scales.assign(complete.scales.begin(), complete.scales.end());
  return weights;
}

std::string CodesText(const Value& value) {
  std::string text = fmt::format("{}, {}", value.quantisation()->type.format.name,
                                 fmt::join(value.shape().dims(), " x "));
  constexpr int kAnyBits = 32;
  if (const auto codes = IntegerCodesOf(value, kAnyBits); codes.ok())
    text += "; " + CodeMeaning(static_cast<float>(codes->scale), codes->zero);
  return text;
}

int32_t NearestCode(double value, const ValueCodes& codes) {
  const float inverse = InverseScale(static_cast<float>(codes.scale));
  return static_cast<int32_t>(
      QuantiseToCode(static_cast<float>(value), inverse, codes.zero, {codes.low, codes.high}));
}

}  // namespace kiln
