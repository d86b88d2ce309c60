// What operations, registers and memories cost in energy: published figures for 45 nm and 0.9 V, and what is between
// them. For comparing design points and formats; a chip's own figures need its layout. Other nodes: EnergyScale of
// technology.h.
//
// Source, where no other is named: M. Horowitz, "Computing's Energy Problem (and what we can do about it)", ISSCC 2014,
// figure 1.1.9.
#ifndef KILN_HARDWARE_ENERGY_H_
#define KILN_HARDWARE_ENERGY_H_

#include <cstdint>

#include "kiln/numerics/format.h"

namespace kiln::hardware {

inline constexpr int kEnergyNode = 45;  // nm
inline constexpr const char* kEnergySource = "energies after Horowitz (ISSCC 2014, 45 nm)";

// Picojoules of one multiplication: 8-bit integer 0.2, 32-bit integer 3.1, fp16 1.1, fp32 3.7.
//
// Both integer figures are 0.0031 pJ for each pair of operand bits, so that is taken for every pair of widths. Of the
// float figures 0.0031 pJ for each pair of significand bits (hidden one included) is taken off; what is left, for
// exponents, shifting and rounding, is 0.045 pJ (fp16) to 0.060 pJ (fp32) a bit of the format: 0.05 pJ for each bit of
// the wider operand. Posits are floats with the longest fraction that they can have. A codebook is decoded to as many
// bits of significand as its values need (at most 11), without exponents.
double MultiplyEnergy(const Format& a, const Format& b);

// Picojoules of one addition in a format: integers 0.03 (8 bits) and 0.1 (32 bits), floats 0.4 (16 bits) and 0.9 (32
// bits); other widths lie on the straight line through the two, but for floats of less than 8 bits, which cost what 8
// bits do. Posits count as floats, codebooks as integers.
double AddEnergy(const Format& format);

// Picojoules of reading or writing one bit of an on-chip memory of so many bits. 64 bits of an 8 KiB cache cost 10 pJ,
// of 32 KiB 20 pJ, of 1 MiB 100 pJ; in between, and beyond, as a power of the size: 1/2 up to 32 KiB, 0.464 from there
// on.
double MemoryEnergyPerBit(int64_t bits);

// Picojoules of one byte of outer memory: 64 bits of DRAM cost 1.3 nJ to 2.6 nJ, of which the lower is taken. Does not
// scale with the accelerator's node.
inline constexpr double kOuterMemoryEnergyPerByte = 1300.0 / 8;

// Picojoules of one flip-flop that takes a new bit, which differs from the old one every other time: what OSU's 0.18 um
// library (osu018_stdcells.lib, DFFPOSX1, transitions of 0.24 ns) states for a clock cycle (0.137 pJ), a change of the
// input (0.067 pJ) and of the output (0.070 pJ), and the charge of its clock pin (0.0279 pF at 1.8 V: 0.090 pJ). From
// 180 nm to 45 nm by EnergyScale.
double RegisterEnergyPerBit();

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_ENERGY_H_
