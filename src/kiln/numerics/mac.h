// The rule of the multiply-accumulate in a weight-stationary array: which sums are formed, in which
// order, and where they are rounded. This is the definition; kernels (execute/mac_gemm.h), the
// simulators and the RTL compute the same bits.
//
// The reduction of one output is divided into row tiles, each at most as long as the array has
// rows:
//
//   accumulation = 0
//   for each row tile, in order:
//     psum = 0
//     for each element r of the tile, in order:
//       psum = round_psum(psum + x_r * w_r)
//     accumulation = round_accumulation(accumulation + psum * s)
//
// Both products are exact, so that each line rounds once. With product_rounded, x_r * w_r is first
// rounded to the psum format. s belongs to the row tile: fp32(sx * sw), the product of the scales
// of the tile's block, or 1 without microscaling. A tile never straddles a block boundary; at the
// end of an axis the tile is shorter and not padded.
//
// Integers. If the psum format is an integer format, operands are either integer formats, which
// contribute their codes (the scale of the result accounts for fraction bits), or codebooks of
// whole numbers, which contribute their values. The psum wraps modulo 2^bits, whatever overflow its
// format specifies. An integer accumulation wraps as well and takes no scale; a float accumulation
// adds fp32(psum) * s.
//
// Quire. With `quire` the psum is exact and is rounded to fp32 once, to nearest even, when it
// leaves the array: at the end of the whole reduction, or, with microscaling or `parted`, at the
// end of each row tile, after which it is accumulated as above. An exact sum of zero is +0.
#ifndef KILN_NUMERICS_MAC_H_
#define KILN_NUMERICS_MAC_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "kiln/numerics/exact.h"
#include "kiln/numerics/format.h"

namespace kiln {

// The formats and options of a multiply-accumulate.
struct MacRule {
  Format input, weight;
  bool product_rounded = false;  // products are rounded to the psum format before they are added
  bool quire = false;            // the psum is exact
  bool parted = false;           // the quire ends with each row tile, even without a scale
  bool scaled = false;           // microscaling: row tiles have scales
  Format psum, accumulation;

  // For a quire: returns whether each row tile is rounded and accumulated.
  bool rounds_tiles() const { return scaled || parted; }
  bool integer_psum() const { return psum.is_integer(); }
  // Returns whether results are int32 numbers (codes of an integer accumulation) instead of fp32.
  bool integer_result() const { return integer_psum() && accumulation.is_integer(); }
};

// The fault of a rule: a combination that the comment above excludes, or a format of sums that
// rounds stochastically or lacks a zero or a sign. `key` is the design point's key at fault:
// psum_format, accumulation_format or quire.
struct MacFault {
  std::string key, fault, remedy;
};
// Returns the first fault of a rule, or nullopt.
std::optional<MacFault> FindMacFault(const MacRule& rule);

// One row tile of one output: the codes in order, and the scale.
struct MacTile {
  std::span<const uint32_t> inputs, weights;  // of equal length
  float scale = 1;
};

// Returns the whole reduction of one output, computed by the scalar definition: int32 bits if
// integer_result(), otherwise the fp32 bits of the accumulation's value, rounded to nearest even if
// fp32 cannot represent it. Every NaN is 0x7fc00000.
uint32_t MultiplyAccumulate(const MacRule& rule, std::span<const MacTile> tiles);

// Single additions of the reduction, for simulators that hold psums and accumulations as codes of
// their formats (integers sign-extended to 32 bits). Not for a quire. PsumStep adds one product to
// a psum; AccumulationStep adds one scaled psum to an accumulation.
uint32_t PsumStep(const MacRule& rule, uint32_t psum, uint32_t input, uint32_t weight);
uint32_t AccumulationStep(const MacRule& rule, uint32_t accumulation, uint32_t psum, float scale);
// AccumulationStep for an exact psum instead of a code; float accumulations only.
uint32_t AccumulationStep(const MacRule& rule, uint32_t accumulation, const Exact& psum,
                          float scale);
// Returns the bits that MultiplyAccumulate returns if the reduction ends with this accumulation.
uint32_t MacResult(const MacRule& rule, uint32_t accumulation);
// Returns the code of zero, the initial value of psums and accumulations.
uint32_t MacZero(const Format& format);

// Returns the number that an operand contributes if the psum format is an integer format.
int64_t IntegerOperand(const Format& format, uint32_t code);
// Returns whether the codes of a format can be operands of an integer psum.
bool IsIntegerOperand(const Format& format);

}  // namespace kiln

#endif  // KILN_NUMERICS_MAC_H_
