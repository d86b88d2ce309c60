// Ranges of integer sums, from known weights and the ranges of input codes.
#include "kiln/targets/systolic/compile/sums.h"

#include <algorithm>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/ir/checked_math.h"
#include "kiln/numerics/mac.h"
#include "kiln/numerics/tables.h"
#include "kiln/support/integer.h"
#include "kiln/targets/systolic/compile/lower_operands.h"
#include "kiln/targets/systolic/isa/walk.h"

namespace kiln::systolic {
namespace {

// Returns the range of products of one weight and any input.
SumRange Products(int64_t weight, const CodeRange& inputs) {
  return {std::min(weight * inputs.low, weight * inputs.high),
          std::max(weight * inputs.low, weight * inputs.high)};
}

SumRange Products(const CodeRange& weights, const CodeRange& inputs) {
  SumRange range = Products(weights.low, inputs);
  range.Cover(Products(weights.high, inputs));
  return range;
}

void Grow(SumRange* sum, const SumRange& by) {
  sum->low += by.low;
  sum->high += by.high;
}

SumRange Repeated(const SumRange& range, int64_t times) {
  return {range.low * times, range.high * times};
}

// Returns the rows of weights (WeightCodes) in the order of the machine, tile by tile.
std::vector<std::vector<int64_t>> RowTilesOf(const Work& work, const Config& config) {
  const Instruction& in = work.instruction;
  std::vector<std::vector<int64_t>> tiles;
  if (in.opcode == Opcode::kDepthwise) {
    tiles.emplace_back();
    for (int64_t tap = 0; tap < work.codes->rows; ++tap) tiles.back().push_back(tap);
    return tiles;
  }
  const int32_t count = GeometryOf(in, config).row_tiles();
  for (int32_t tile = 0; tile < count; ++tile) {
    tiles.emplace_back();
    for (int32_t row = 0; row < ValidRows(in, config, tile); ++row) {
      tiles.back().push_back(WeightIndex(in, config, tile, row));
    }
  }
  return tiles;
}

int64_t Reduction(const Convolution& c) { return int64_t{c.taps()} * c.channels; }

// Returns an upper bound on the magnitude of any sum of codes of the operands.
int64_t WorstSum(const Work& work, const Config& config) {
  const CodeRange weights = work.codes == nullptr
                                ? work.weight_counts
                                : CountsOf(config.weight_format_of(work.instruction.precision));
  const SumRange product = Products(weights, work.input_counts);
  const int64_t products =
      work.codes == nullptr ? Reduction(work.instruction.convolution) : work.codes->rows;
  // Doubled for the zero point, which is within the range of the input's codes.
  return SaturatingMul(2 * products, std::max(-product.low, product.high));
}

bool Fits(const SumRange& range, int bits) { return range.bits() <= bits; }

}  // namespace

void SumRange::Cover(const SumRange& other) {
  low = std::min(low, other.low);
  high = std::max(high, other.high);
}

int SumRange::bits() const { return SignedBits(low, high); }

Sums SumsOf(const Work& work, const Config& config) {
  const CodeRange& inputs = work.input_counts;
  const CodeRange shifted = {inputs.low - work.input_zero, inputs.high - work.input_zero};
  Sums sums;
  if (work.codes == nullptr) {
    sums.products = Reduction(work.instruction.convolution);
    const SumRange product = Products(work.weight_counts, inputs);
    sums.psum = Repeated(product, std::min<int64_t>(sums.products, config.array_rows));
    sums.accumulation = Repeated(product, sums.products);
    sums.result = Repeated(Products(work.weight_counts, shifted), sums.products);
    return sums;
  }
  const WeightCodes& codes = *work.codes;
  const Format& weight_format = config.weight_format_of(work.instruction.precision);
  sums.products = codes.rows;
  const std::vector<std::vector<int64_t>> tiles = RowTilesOf(work, config);
  const auto columns = static_cast<size_t>(codes.columns);
  for (int64_t batch = 0; batch < codes.batches; ++batch) {
    std::vector<SumRange> accumulations(columns), results(columns);
    for (const std::vector<int64_t>& tile : tiles) {
      std::vector<SumRange> psums(columns);
      for (const int64_t row : tile) {
        const int64_t first = (batch * codes.rows + row) * codes.columns;
        for (size_t n = 0; n < columns; ++n) {
          const int64_t weight = IntegerOperand(
              weight_format,
              kiln::LoadCode(weight_format, codes.codes.data(), first + static_cast<int64_t>(n)));
          Grow(&psums[n], Products(weight, inputs));
          Grow(&results[n], Products(weight, shifted));
        }
      }
      for (size_t n = 0; n < columns; ++n) {
        sums.psum.Cover(psums[n]);
        Grow(&accumulations[n], psums[n]);
      }
    }
    for (size_t n = 0; n < columns; ++n) {
      sums.accumulation.Cover(accumulations[n]);
      sums.result.Cover(results[n]);
    }
  }
  return sums;
}

bool CanWrap(const Sums& sums, const Config& config) {
  const Format &psum = config.psum_format, &accumulation = config.accumulation_format;
  if (!psum.is_integer() || config.quire) return false;
  if (!accumulation.is_integer()) return !Fits(sums.psum, psum.bits);
  // Offsets are added in 32 bits, so sums that wrapped in 32 bits become correct again.
  if (!Fits(sums.result, 32)) return true;
  if (accumulation.bits < 32 && !Fits(sums.accumulation, accumulation.bits)) return true;
  // Psums that wrap in at least as many bits as the accumulation do not change it.
  return psum.bits < accumulation.bits && !Fits(sums.psum, psum.bits);
}

void SumCheck::Add(const std::string& layer, const Work& work) {
  if (!config_.psum_format.is_integer() || config_.quire) return;
  const int bits = std::min(config_.psum_format.bits, config_.accumulation_format.bits);
  if (WorstSum(work, config_) < int64_t{1} << (bits - 1)) return;
  const Sums sums = SumsOf(work, config_);
  all_.psum.Cover(sums.psum);
  all_.accumulation.Cover(sums.accumulation);
  all_.result.Cover(sums.result);
  shifted_ = shifted_ || work.input_zero != 0;
  if (!CanWrap(sums, config_)) return;
  if (layers_ == 0 || last_ != layer) ++layers_;
  last_ = layer;
  if (sums.products <= longest_sums_.products) return;
  longest_ = layer;
  longest_sums_ = sums;
}

std::string SumCheck::Remedy() const {
  const Format &psum = config_.psum_format, &accumulation = config_.accumulation_format;
  const int psum_bits = all_.psum.bits();
  std::vector<std::string> keys;
  if (accumulation.is_integer() && Fits(all_.result, 32)) {
    const int wide = std::max(accumulation.bits, std::min(all_.accumulation.bits(), 32));
    if (psum.bits < wide && psum_bits > psum.bits) {
      keys.push_back(fmt::format("psum_format: int{}", std::min(psum_bits, wide)));
    }
    if (wide > accumulation.bits) keys.push_back(fmt::format("accumulation_format: int{}", wide));
    return fmt::format("{}", fmt::join(keys, ", "));
  }
  if (psum_bits > psum.bits) {
    keys.push_back(psum_bits > 32 ? "psum_format: fp32"
                                  : fmt::format("psum_format: int{}", psum_bits));
  }
  if (accumulation.is_integer()) keys.emplace_back("accumulation_format: fp32");
  // A float accumulation could not remove the zero point exactly.
  if (shifted_) keys.emplace_back("activations without zero point");
  return fmt::format("{}", fmt::join(keys, ", "));
}

std::string SumCheck::Note() const {
  if (layers_ == 0) return "";
  const Format &psum = config_.psum_format, &accumulation = config_.accumulation_format;
  const Sums& sums = longest_sums_;
  const bool in_psum =
      !accumulation.is_integer() || (psum.bits < accumulation.bits && !Fits(sums.psum, psum.bits));
  return fmt::format(
      "sums of {} can wrap in {} in {} layer{}: longest in '{}', {} products, up to {} bits; right "
      "would be {}",
      DescribePrecisions(config_),
      in_psum ? "psum_format " + psum.name : "accumulation_format " + accumulation.name, layers_,
      layers_ == 1 ? "" : "s", longest_, sums.products,
      in_psum ? sums.psum.bits() : std::max(sums.accumulation.bits(), sums.result.bits()),
      Remedy());
}

}  // namespace kiln::systolic
