// Energy of operations, registers and memories: published figures for 45 nm and 0.9 V, with
// interpolation. They serve to compare design points and formats; the figures of a chip require its
// layout. technology.h scales to other nodes (EnergyScale).
//
// Source, unless another is named: M. Horowitz, "Computing's Energy Problem (and what we can do
// about it)", ISSCC 2014, figure 1.1.9.
#ifndef KILN_HARDWARE_ENERGY_H_
#define KILN_HARDWARE_ENERGY_H_

#include <cstdint>

#include "kiln/numerics/format.h"

namespace kiln::hardware {

inline constexpr int kEnergyNode = 45;  // nm
inline constexpr const char* kEnergySource = "energies after Horowitz (ISSCC 2014, 45 nm)";

// Returns the energy of one multiplication in pJ. Published: 8-bit integer 0.2, 32-bit integer 3.1,
// fp16 1.1, fp32 3.7.
//
// Both integer figures equal 0.0031 pJ per pair of operand bits, which is used for all pairs of
// widths. Subtracting 0.0031 pJ per pair of significand bits (with the hidden bit) from the float
// figures leaves 0.045 pJ (fp16) to 0.060 pJ (fp32) per bit of the format for exponents, shifting
// and rounding; 0.05 pJ per bit of the wider operand is used. Posits count as floats with their
// longest possible fraction. Codebooks are decoded to the significand bits that their values need
// (at most 11), without exponents.
double MultiplyEnergy(const Format& a, const Format& b);

// Returns the energy of one addition in a format in pJ. Published: integers 0.03 (8 bits) and 0.1
// (32 bits), floats 0.4 (16 bits) and 0.9 (32 bits). Other widths are interpolated linearly; floats
// of less than 8 bits cost as much as those of 8 bits. Posits count as floats, codebooks as
// integers.
double AddEnergy(const Format& format);

// Returns the energy of reading or writing one bit of an on-chip memory with `bits` bits, in pJ.
// Published for 64-bit accesses: 10 pJ for an 8 KiB cache, 20 pJ for 32 KiB, 100 pJ for 1 MiB.
// Other sizes follow a power law: exponent 1/2 up to 32 KiB, 0.464 above.
double MemoryEnergyPerBit(int64_t bits);

// Energy of one byte of DRAM in pJ. 64 bits cost 1.3 nJ to 2.6 nJ; the lower figure is used. Does
// not scale with the accelerator's node.
inline constexpr double kOuterMemoryEnergyPerByte = 1300.0 / 8;

// Returns the energy of one flip-flop that stores a new bit, in pJ, if every other new bit differs
// from the old one. Computed from OSU's 0.18 um library (osu018_stdcells.lib, DFFPOSX1, transitions
// of 0.24 ns): a clock cycle (0.137 pJ), a change of the input (0.067 pJ) and of the output (0.070
// pJ), and the charge of the clock pin (0.0279 pF at 1.8 V: 0.090 pJ). Scaled from 180 nm to 45 nm
// by EnergyScale.
double RegisterEnergyPerBit();

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_ENERGY_H_
