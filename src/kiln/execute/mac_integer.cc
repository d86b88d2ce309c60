// Integer psums. Sums wrap, so their order matters only where a row tile ends and the psum is cut
// to its bits. Kernels of all processor levels multiply exactly in int32, modulo 2^32, and
// therefore give the same bits.
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

constexpr int kIntegerColumns = 16;

// Portable tile kernel: one pixel by 16 columns, two int16 operands per step.
void WordTile(const TileArguments& args) {
  uint32_t sums[kIntegerColumns] = {};
  const int16_t* operands = static_cast<const int16_t*>(args.image) + args.places[0];
  const auto* weights = static_cast<const int16_t*>(args.weights);
  for (int64_t s = 0; s < args.steps; ++s, weights += 2 * kIntegerColumns) {
    const int16_t* two = operands + args.offsets[s];
    for (int n = 0; n < kIntegerColumns; ++n) {
      // Each product fits int32, but the sum of two products -2^15 * -2^15 does not.
      sums[n] += static_cast<uint32_t>(two[0] * weights[2 * n]) +
                 static_cast<uint32_t>(two[1] * weights[2 * n + 1]);
    }
  }
  std::memcpy(args.psums, sums, sizeof sums);
}

// Returns the low `bits` bits of a value, sign-extended: two's complement wrap-around.
int32_t Wrapped(uint32_t value, int bits) {
  return static_cast<int32_t>(value << (32 - bits)) >> (32 - bits);
}

// Adds integer psums to integer accumulations; each wraps at its own bits.
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

// Adds 32-bit psums to fp32 accumulations.
void AddAsFp32(const AccumulationArguments& args) { AddConvertedTile<simd::Scalar>(args); }

// Returns the integer kernels of a processor level.
const IntegerKernelSet& IntegerKernelsOf(CpuLevel level) {
#if defined(__x86_64__)
  if (level >= CpuLevel::kAvx512Vnni) return kAvx512IntegerKernels;
  if (level == CpuLevel::kAvx2) return kAvx2IntegerKernels;
#endif
  (void)level;
  return kPortableIntegerKernels;
}

// The range of an operand's values.
struct Range {
  int64_t low = 0, high = 0;
  bool Within(int64_t least, int64_t most) const { return low >= least && high <= most; }
};
// Returns the range of the values of an operand format. Formats other than plain integers are
// enumerated, up to 2^16 codes.
Range RangeOf(const Format& format) {
  if (format.is_integer() && !format.narrow) return {format.min_code(), format.max_code()};
  Range range{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  for (uint32_t code = 0; code <= CodeMask(format) && code < 1u << 16; ++code) {
    range.low = std::min(range.low, IntegerOperand(format, code));
    range.high = std::max(range.high, IntegerOperand(format, code));
  }
  return range;
}

// The integer kernel. Operands are bytes or 16-bit words, as the tile kernel asks for.
class IntegerKernel final : public MacKernel {
 public:
  IntegerKernel(const MacRule& rule, const TilePlan& plan, bool one_tile)
      : MacKernel(rule), plan_(plan), one_tile_(one_tile) {
    for (uint32_t code = 0; code < 256;
         ++code) {  // wider formats are integers whose codes are the values
      const int64_t value = IntegerOperand(rule.input, code);
      operand_of_byte_[code] = plan.tile.starting ? value + 128 : value;
    }
  }
  std::string_view name() const override { return "integer"; }
  int operand_bytes() const override { return plan_.tile.weight_bytes; }

  // A 2-byte code already is the operand: formats are stored sign- or zero-extended.
  void StoreOperands(const void* codes, int64_t count, void* operands) const override {
    if (rule().input.bytes() == 2) {
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
  // Converts 1-byte codes to operands of 1 or 2 bytes, biased by 128 if the kernel takes unsigned
  // bytes.
  template <typename Operand>
  void StoreBytes(const uint8_t* codes, int64_t count, Operand* operands) const {
    if (rule().input.is_integer()) {  // sign- or zero-extended in memory
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
                                                  .words = {.lanes = kIntegerColumns,
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
  // Prefers byte kernels, which multiply twice as many operands per instruction, if both formats
  // fit int8; otherwise uses 16-bit words; otherwise leaves the rule to another kernel.
  const Range input = RangeOf(rule.input), weight = RangeOf(rule.weight);
  const IntegerKernelSet& kernels = IntegerKernelsOf(level);
  TilePlan plan;
  const bool bytes =
      input.Within(-128, 127) && weight.Within(-128, 127) && kernels.bytes.function[0] != nullptr;
  if (!bytes && !(input.Within(-32768, 32767) && weight.Within(-32768, 32767))) return nullptr;
  plan.tile = bytes ? kernels.bytes : kernels.words;
  plan.psum_bits = rule.psum.bits;
  plan.accumulation_bits = rule.accumulation.bits;
  // An integer accumulation wraps; a float accumulation converts each tile's psum first.
  bool one_tile = false;
  if (rule.integer_result()) {
    plan.accumulate = kernels.to_integer;
    one_tile =
        // Cutting the psum first does not change the result then, so tile boundaries do not matter.
        rule.accumulation.bits <= rule.psum.bits;
  } else {
    plan.accumulation = SumFormatOf(rule.accumulation);
    // Scaled fp32 accumulations of 32-bit psums have a chunk kernel that never stores psums.
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
