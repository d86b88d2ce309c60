// The multiply-accumulate of a weight-stationary array: which sums are formed, in which order, rounded where. This is
// the definition; kernels (execute/mac_gemm.h), the machines and RTL give its bits.
//
// The reduction of one output falls into row tiles, each at most as long as the array has rows:
//
//   accumulation = 0
//   for each row tile, in order:
//     psum = 0
//     for each element r of the tile, in order:
//       psum = round_psum(psum + x_r * w_r)                 product exact, one rounding; with product_rounded the
//       product
//                                                           is rounded to the psum format first
//     accumulation = round_accumulation(accumulation + psum * s)     product exact, one rounding; s of the row tile
//
// s is fp32(sx * sw), the product of the scales of the block that the tile lies in, and 1 without microscaling. A tile
// never straddles a block; the tail of an axis makes a shorter tile, never one with padding.
//
// Integers. When psum is an integer format, operands are integer formats, which count by their codes (binary places are
// the business of whoever scales the result), or codebooks of whole numbers, which count by their values. psum wraps
// modulo 2^bits, whatever the format's overflow. An integer accumulation wraps, too, and takes no scale; a float
// accumulation adds fp32(psum) * s.
//
// Quire. With `quire` the psum is exact and leaves the array rounded to fp32 once, nearest even: at the end of the
// whole reduction, or, with microscaling or `parted`, at the end of each row tile, to be accumulated as above. An exact
// sum of zero is +0.
#ifndef KILN_NUMERICS_MAC_H_
#define KILN_NUMERICS_MAC_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "kiln/numerics/exact.h"
#include "kiln/numerics/format.h"

namespace kiln {

struct MacRule {
  Format input, weight;
  bool product_rounded = false;
  bool quire = false;
  bool parted = false;  // a quire ends with its row tile, though it may have no scale
  bool scaled = false;  // microscaling: row tiles have scales
  Format psum, accumulation;

  // Of a quire: whether row tiles are rounded and accumulated.
  bool rounds_tiles() const { return scaled || parted; }
  bool integer_psum() const { return psum.is_integer(); }
  // Whether results are int32 numbers (the codes of an integer accumulation) rather than fp32.
  bool integer_result() const { return integer_psum() && accumulation.is_integer(); }
};

// What is wrong with a rule: a combination that the comment above excludes, or sums that round stochastically or have
// no zero or sign. `key` is the design point's: psum_format, accumulation_format or quire.
struct MacFault {
  std::string key, fault, remedy;
};
std::optional<MacFault> FindMacFault(const MacRule& rule);

// One row tile of one output: codes in order and the scale.
struct MacTile {
  std::span<const uint32_t> inputs, weights;  // of equal length
  float scale = 1;
};

// The whole reduction of one output, by the scalar definition. int32 bits when integer_result(), else fp32 bits of the
// accumulation's value (rounded to nearest even where fp32 cannot hold it); every NaN as 0x7fc00000.
uint32_t MultiplyAccumulate(const MacRule& rule, std::span<const MacTile> tiles);

// Its steps, for machines that keep psums and accumulations as codes of their formats (integers: sign-extended to 32
// bits). Not for a quire.
uint32_t PsumStep(const MacRule& rule, uint32_t psum, uint32_t input, uint32_t weight);
uint32_t AccumulationStep(const MacRule& rule, uint32_t accumulation, uint32_t psum, float scale);
// The same for a psum that is no code: float accumulations only.
uint32_t AccumulationStep(const MacRule& rule, uint32_t accumulation, const Exact& psum,
                          float scale);
// The bits that MultiplyAccumulate returns for an accumulation's code.
uint32_t MacResult(const MacRule& rule, uint32_t accumulation);
// The code that psums and accumulations start from: zero.
uint32_t MacZero(const Format& format);

// What an operand counts when psum is an integer format.
int64_t IntegerOperand(const Format& format, uint32_t code);
// Whether a format's codes can be operands of an integer psum.
bool IsIntegerOperand(const Format& format);

}  // namespace kiln

#endif  // KILN_NUMERICS_MAC_H_
