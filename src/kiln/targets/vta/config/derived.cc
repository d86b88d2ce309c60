// Computes the widths of micro-ops and instructions from a design point's buffer sizes.

#include "kiln/targets/vta/config/derived.h"

#include <algorithm>
#include <initializer_list>

namespace kiln::vta {
namespace {

constexpr int kHalfBits = 64;

// Widths in bits of the opcode, the four token flags and each of the two loop counts of every GEMM
// and ALU instruction.
constexpr int kOpcodeBits = 3, kTokenBits = 4, kLoopBits = 14;
constexpr int kAluOpBits = 3, kImmediateBits = 16;

// Returns the end of consecutive fields, none of which crosses the middle of the instruction (bit
// 64).
int EndOf(std::initializer_list<int> widths) {
  int at = 0;
  for (const int bits : widths) {
    if (at < kHalfBits && at + bits > kHalfBits) at = kHalfBits;
    at += bits;
  }
  return at;
}

}  // namespace

int UopBits(const Config& c) {
  return c.accumulator_index_bits() + std::max(c.accumulator_index_bits(), c.input_index_bits()) +
         c.weight_index_bits();
}

int GemmInstructionBits(const Config& c) {
  const int dst = c.accumulator_index_bits(), src = c.input_index_bits();
  const int weight = c.weight_index_bits(), uop = c.uop_index_bits();
  // `uop_end` is one past the last micro-op, so its field is one bit wider than an index.
  return EndOf({kOpcodeBits + kTokenBits, 1, uop, uop + 1, kLoopBits, kLoopBits, dst, dst, src, src,
                weight, weight});
}

int AluInstructionBits(const Config& c) {
  const int dst = c.accumulator_index_bits(), uop = c.uop_index_bits();
  return EndOf({kOpcodeBits + kTokenBits, 1, uop, uop + 1, kLoopBits, kLoopBits, dst, dst, dst, dst,
                kAluOpBits, 1, kImmediateBits});
}

}  // namespace kiln::vta
