// Chooses shifts, multipliers and thresholds.

#include "kiln/targets/dataflow/compile/requantise.h"

#include <algorithm>
#include <cmath>

#include "fmt/format.h"
#include "kiln/targets/lower/sign.h"

namespace kiln::dataflow {
namespace {

constexpr int kMostShift = 47;

// One shift serves all channels, chosen so that the largest multiplier has kMultiplierBits bits.
// The addend contains the half that turns the shift, which rounds down, into rounding to the
// nearest code.
StatusOr<Requantise> ByMultiplication(const ChannelLine& line, const ValueCodes& codes) {
  Requantise r;
  r.way = Requantise::Way::kMultiply;
  r.low = NearestCode(line.low, codes);
  r.high = NearestCode(line.high, codes);
  double largest = 0;
  for (const double factor : line.factors) largest = std::max(largest, factor / codes.scale);
  const auto shift = ShiftOf(largest, kMultiplierBits, kMostShift);
  if (!shift.has_value()) return ToHost("its sums would be scaled up beyond 17 bits");
  r.shift = *shift;
  const CodeType addend = {kAddendBits, true};
  for (size_t c = 0; c < line.factors.size(); ++c) {
    r.multipliers.push_back(std::llround(std::ldexp(line.factors[c] / codes.scale, r.shift)));
    const double offset = line.offsets[c] / codes.scale + static_cast<double>(codes.zero) + 0.5;
    const double scaled = std::ldexp(offset, r.shift);
    if (!(std::abs(scaled) < static_cast<double>(addend.high())))
      return ToHost(fmt::format("the bias of channel {} is too large for its scale", c));
    r.addends.push_back(static_cast<int64_t>(std::floor(scaled + 0.5)));
  }
  return r;
}

// Returns the least number of bits, at least 1, with enough thresholds for the codes.
int ThresholdBits(const Requantise& r) {
  int bits = 1;
  while ((int64_t{1} << bits) - 1 < r.high - r.low) ++bits;
  return bits;
}

// Finds each threshold by bisection over the sums of `range`: the code of a sum does not decrease
// with the sum, because factors are not negative.
StatusOr<Requantise> ByThresholds(const ChannelLine& line, const ValueCodes& codes,
                                  const SumRange& range) {
  Requantise r;
  r.way = Requantise::Way::kThresholds;
  r.low = NearestCode(line.low, codes);
  r.high = NearestCode(line.high, codes);
  r.threshold_bits = ThresholdBits(r);
  for (size_t c = 0; c < line.factors.size(); ++c) {
    for (int64_t k = 1; k < int64_t{1} << r.threshold_bits; ++k) {
      // The least sum whose code is at least low + k; one above all sums if there is none.
      int64_t least = range.low, above = range.high + 1;
      while (least < above && r.low + k <= r.high) {
        const int64_t middle = least + (above - least) / 2;
        if (NearestCode(line.ValueOf(middle, c), codes) >= r.low + k) {
          above = middle;
        } else {
          least = middle + 1;
        }
      }
      r.thresholds.push_back(above);
    }
  }
  return r;
}

// Checks that every channel has a finite factor and offset.
Status CheckFinite(const ChannelLine& line) {
  for (size_t c = 0; c < line.factors.size(); ++c) {
    if (!std::isfinite(line.factors[c]) || !std::isfinite(line.offsets[c]))
      return ToHost(fmt::format("the scale or bias of channel {} is not a finite number", c));
  }
  return OkStatus();
}

}  // namespace

StatusOr<Requantise> MakeRequantisation(const ChannelLine& line, const ValueCodes& codes,
                                        const SumRange& range, int threshold_bits) {
  KILN_RETURN_IF_ERROR(CheckFinite(line));
  if (codes.bits <= threshold_bits) return ByThresholds(line, codes, range);
  return ByMultiplication(line, codes);
}

StatusOr<Requantise> MakeSigns(const ChannelLine& line, double size, const ValueCodes& codes,
                               const SumRange& range, int threshold_bits) {
  KILN_RETURN_IF_ERROR(CheckFinite(line));
  Requantise r;
  r.low = NearestCode(-size, codes);
  r.high = NearestCode(size, codes);
  const bool compares = codes.bits <= threshold_bits;
  r.way = compares ? Requantise::Way::kThresholds : Requantise::Way::kMultiply;
  if (compares) r.threshold_bits = ThresholdBits(r);
  for (size_t c = 0; c < line.factors.size(); ++c) {
    int64_t least = LeastNotNegative(line.factors[c], line.offsets[c], range.low, range.high);
    if (line.low >= 0) least = range.low;
    if (line.high < 0) least = range.high + 1;
    for (int64_t k = 1; compares && k < int64_t{1} << r.threshold_bits; ++k)
      r.thresholds.push_back(r.low + k <= r.high ? least : range.high + 1);
    if (compares) continue;
    const double addend = static_cast<double>(r.high) -
                          static_cast<double>(r.high - r.low) * static_cast<double>(least);
    if (!(std::abs(addend) < static_cast<double>(CodeType{kAddendBits, true}.high())))
      return ToHost(fmt::format("the threshold of channel {} is too large", c));
    r.multipliers.push_back(r.high - r.low);
    r.addends.push_back(r.high - (r.high - r.low) * least);
  }
  return r;
}

Status SetAffine(std::span<const double> factors, double offset, const ValueCodes& codes,
                 double low, double high, Stage* stage) {
  double largest = 0;
  for (const double factor : factors) largest = std::max(largest, std::abs(factor));
  const auto shift = ShiftOf(largest, kMultiplierBits, kMostShift);
  if (!shift.has_value()) return ToHost("its scale is too small for those of its operands");
  stage->shift = *shift;
  for (size_t i = 0; i < factors.size(); ++i)
    stage->factors[i] = std::llround(std::ldexp(factors[i], stage->shift));
  const CodeType addend = {kAffineAddendBits, true};
  const double scaled = std::ldexp(offset + static_cast<double>(codes.zero) + 0.5, stage->shift);
  if (!(std::abs(scaled) < static_cast<double>(addend.high())))
    return ToHost("its offset is too large for its scale");
  stage->addend = static_cast<int64_t>(std::floor(scaled + 0.5));
  stage->low = NearestCode(low, codes);
  stage->high = NearestCode(high, codes);
  return OkStatus();
}

}  // namespace kiln::dataflow
