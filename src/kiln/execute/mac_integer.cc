// Integer psums: sums wrap, so their order matters only where a row tile ends and the psum is cut to its bits. All
// processor levels multiply exactly in int32, modulo 2^32.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "kiln/execute/mac_float_body.h"
#include "kiln/execute/mac_kernels.h"
#include "kiln/numerics/codec.h"
#include "kiln/numerics/simd.h"

namespace kiln::internal {
namespace {

constexpr int kColumns = 16;

void WordTile(const TileArguments& args) {
  uint32_t sums[kColumns] = {};
  const int16_t* operands = static_cast<const int16_t*>(args.image) + args.places[0];
  const auto* weights = static_cast<const int16_t*>(args.weights);
  for (int64_t s = 0; s < args.steps; ++s, weights += 2 * kColumns) {
    const int16_t* two = operands + args.offsets[s];
    for (int n = 0; n < kColumns; ++n) {
      // Each product fits int32, -2^15 * -2^15 twice does not.
      sums[n] += static_cast<uint32_t>(two[0] * weights[2 * n]) +
                 static_cast<uint32_t>(two[1] * weights[2 * n + 1]);
    }
  }
  std::memcpy(args.psums, sums, sizeof sums);
}

int32_t Wrapped(uint32_t value, int bits) {
  return static_cast<int32_t>(value << (32 - bits)) >> (32 - bits);
}

void AddIntegers(const AccumulationArguments& args) {
  for (int64_t p = 0; p < args.pixels; ++p) {
    const uint32_t* psums = static_cast<const uint32_t*>(args.psums) + p * args.columns;
    uint32_t* results = static_cast<uint32_t*>(args.results) + p * args.stride;
    for (int64_t n = 0; n < args.columns; ++n) {
      const auto psum = static_cast<uint32_t>(Wrapped(psums[n], args.psum_bits));
      results[n] = static_cast<uint32_t>(Wrapped(results[n] + psum, args.accumulation_bits));
    }
  }
}

void AddAsFp32(const AccumulationArguments& args) { AddConvertedTile<simd::Scalar>(args); }

const IntegerKernelSet& KernelsOf(CpuLevel level) {
#if defined(__x86_64__)
  if (level >= CpuLevel::kAvx512Vnni) return kAvx512IntegerKernels;
  if (level == CpuLevel::kAvx2) return kAvx2IntegerKernels;
#endif
  (void)level;
  return kPortableIntegerKernels;
}

struct Range {
  int64_t low = 0, high = 0;
  bool Within(int64_t least, int64_t most) const { return low >= least && high <= most; }
};
// What the codes of an operand format count.
Range RangeOf(const Format& format) {
  if (format.is_integer() && !format.narrow) return {format.min_code(), format.max_code()};
  Range range{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  for (uint32_t code = 0; code <= CodeMask(format) && code < 1u << 16; ++code) {
    range.low = std::min(range.low, IntegerOperand(format, code));
    range.high = std::max(range.high, IntegerOperand(format, code));
  }
  return range;
}

class IntegerKernel final : public MacKernel {
 public:
  IntegerKernel(const MacRule& rule, const TilePlan& plan, bool one_tile)
      : MacKernel(rule), plan_(plan), one_tile_(one_tile) {
    for (uint32_t code = 0; code < 256;
         ++code) {  // formats of more bits are integers that stand for themselves
      const int64_t value = IntegerOperand(rule.input, code);
      operand_of_byte_[code] = plan.tile.starting ? value + 128 : value;
    }
  }
  std::string_view name() const override { return "integer"; }
  int operand_bytes() const override { return plan_.tile.weight_bytes; }

  void StoreOperands(const void* codes, int64_t count, void* operands) const override {
    if (rule().input.bytes() == 2) {  // sign- or zero-extended already
      std::memcpy(operands, codes, static_cast<size_t>(count) * 2);
    } else if (operand_bytes() == 1) {
      StoreBytes(static_cast<const uint8_t*>(codes), count, static_cast<uint8_t*>(operands));
    } else {
      StoreBytes(static_cast<const uint8_t*>(codes), count, static_cast<int16_t*>(operands));
    }
  }

  std::unique_ptr<const MacWeights> Pack(const MacOrder& order, int64_t columns, const void* codes,
                                         const float* scales) const override {
    CheckPacking(rule(), order, columns, scales);
    const size_t count = order.offsets.size() * static_cast<size_t>(columns);
    std::vector<uint8_t> weights(count * static_cast<size_t>(plan_.tile.weight_bytes));
    for (size_t i = 0; i < count; ++i) {
      const auto value = static_cast<int16_t>(
          IntegerOperand(rule().weight, LoadCode(rule().weight, codes, static_cast<int64_t>(i))));
      if (plan_.tile.weight_bytes == 1) {
        weights[i] = static_cast<uint8_t>(value);
      } else {
        std::memcpy(weights.data() + 2 * i, &value, 2);
      }
    }
    return PackTiles(plan_, one_tile_ ? OneTile(order) : order, columns, weights.data(), scales);
  }

 private:
  template <typename Operand>
  void StoreBytes(const uint8_t* codes, int64_t count, Operand* operands) const {
    if (rule().input.is_integer()) {  // extended in memory
      const int bias = plan_.tile.starting ? 128 : 0;
      if (rule().input.is_signed) {
        for (int64_t i = 0; i < count; ++i)
          operands[i] = static_cast<Operand>(static_cast<int8_t>(codes[i]) + bias);
      } else {
        for (int64_t i = 0; i < count; ++i) operands[i] = static_cast<Operand>(codes[i] + bias);
      }
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      operands[i] = static_cast<Operand>(operand_of_byte_[codes[i] & CodeMask(rule().input)]);
    }
  }

  const TilePlan plan_;
  const bool one_tile_;
  int64_t operand_of_byte_[256];
};

}  // namespace

const IntegerKernelSet kPortableIntegerKernels = {.bytes = {},
                                                  .words = {.lanes = kColumns,
                                                            .max_vectors = 1,
                                                            .pixels = 1,
                                                            .operands_per_step = 2,
                                                            .weight_bytes = 2,
                                                            .starting = false,
                                                            .function = {WordTile}},
                                                  .to_integer = AddIntegers,
                                                  .to_fp32 = AddAsFp32,
                                                  .scaled = {}};

std::unique_ptr<const MacKernel> MakeIntegerKernel(CpuLevel level, const MacRule& rule) {
  if (!rule.integer_psum()) return nullptr;
  const Range input = RangeOf(rule.input), weight = RangeOf(rule.weight);
  const IntegerKernelSet& kernels = KernelsOf(level);
  TilePlan plan;
  const bool bytes =
      input.Within(-128, 127) && weight.Within(-128, 127) && kernels.bytes.function[0] != nullptr;
  if (!bytes && !(input.Within(-32768, 32767) && weight.Within(-32768, 32767))) return nullptr;
  plan.tile = bytes ? kernels.bytes : kernels.words;
  plan.psum_bits = rule.psum.bits;
  plan.accumulation_bits = rule.accumulation.bits;
  bool one_tile = false;
  if (rule.integer_result()) {
    plan.accumulate = kernels.to_integer;
    one_tile =
        rule.accumulation.bits <= rule.psum.bits;  // then cutting the psum first changes nothing
  } else {
    plan.accumulation = SumFormatOf(rule.accumulation);
    const bool plain = plan.accumulation.rounding == SumRounding::kFp32 && rule.psum.bits == 32;
    plan.accumulate =
        plain ? kernels.to_fp32 : FloatAccumulation(level, plan.accumulation.rounding);
    if (plain && bytes && rule.scaled && kernels.scaled.function[0] != nullptr) {
      plan.chunk = kernels.scaled;
      plan.tile = kernels.scaled.tile;
    }
  }
  if (plan.accumulate == nullptr) return nullptr;
  return std::make_unique<IntegerKernel>(rule, plan, one_tile);
}

}  // namespace kiln::internal
