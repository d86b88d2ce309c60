// Tests of energy and technology models against the published figures they are based on and against
// values worked out by hand.
#include "kiln/hardware/energy.h"

#include <gtest/gtest.h>

#include "kiln/hardware/technology.h"

namespace kiln::hardware {
namespace {

double Energy(std::string_view a, std::string_view b) {
  return MultiplyEnergy(*FindFormat(a), *FindFormat(b));
}

TEST(Energy, MeetsTheFiguresItIsFrom) {
  EXPECT_NEAR(Energy("int8", "int8"), 0.2, 0.01);
  EXPECT_NEAR(Energy("int32", "int32"), 3.1, 0.1);
  EXPECT_NEAR(Energy("fp16", "fp16"), 1.1, 0.15);
  EXPECT_NEAR(Energy("fp32", "fp32"), 3.7, 0.4);
}

TEST(Energy, NarrowerIsCheaperAndOrderDoesNotMatter) {
  EXPECT_LT(Energy("int4", "int4"), Energy("int4", "int8"));
  EXPECT_LT(Energy("int4", "int8"), Energy("int8", "int8"));
  EXPECT_LT(Energy("e2m1", "e2m1"), Energy("e4m3", "e4m3"));
  EXPECT_LT(Energy("e4m3", "e4m3"), Energy("bf16", "bf16"));
  EXPECT_LT(Energy("int8", "binary"), Energy("int8", "ternary"));
  EXPECT_EQ(Energy("bf16", "nf4"), Energy("nf4", "bf16"));
}

TEST(Energy, AdditionsMeetTheFiguresTheyAreFrom) {
  EXPECT_DOUBLE_EQ(AddEnergy(*FindFormat("int8")), 0.03);
  EXPECT_DOUBLE_EQ(AddEnergy(*FindFormat("int32")), 0.1);
  EXPECT_DOUBLE_EQ(AddEnergy(*FindFormat("fp16")), 0.4);
  EXPECT_DOUBLE_EQ(AddEnergy(*FindFormat("fp32")), 0.9);
  for (const Format& format : AllFormats()) EXPECT_GT(AddEnergy(format), 0) << format.name;
}

TEST(Technology, AccessTimesOfMemoriesMeetTheFiguresTheyAreFrom) {
  EXPECT_DOUBLE_EQ(MemoryAccessNs(8 * 1024), 0.85);
  // A gate delay for each doubling up to 1 Mib: 0.85 + 7 * 0.095.
  EXPECT_NEAR(MemoryAccessNs(1 << 20), 1.515, 1e-9);
  EXPECT_NEAR(MemoryAccessNs(1), 0.19, 1e-9);
  EXPECT_EQ(MemoryAccessNs(0), 0);
}

TEST(Energy, MemoriesMeetTheFiguresTheyAreFrom) {
  constexpr int64_t kKibibyte = 1024 * 8;
  EXPECT_NEAR(64 * MemoryEnergyPerBit(8 * kKibibyte), 10, 1e-9);
  EXPECT_NEAR(64 * MemoryEnergyPerBit(32 * kKibibyte), 20, 1e-9);
  EXPECT_NEAR(64 * MemoryEnergyPerBit(1024 * kKibibyte), 100, 1e-9);
  double before = 0;
  for (int64_t bits = 64; bits < int64_t{1} << 30; bits *= 2) {
    EXPECT_GT(MemoryEnergyPerBit(bits), before) << bits;
    before = MemoryEnergyPerBit(bits);
  }
}

// A register bit costs less than a bit of the smallest memory that Horowitz lists, and far less
// than a multiplication.
TEST(Energy, RegistersAreCheap) {
  EXPECT_GT(RegisterEnergyPerBit(), 0.001);
  EXPECT_LT(RegisterEnergyPerBit(), MemoryEnergyPerBit(8 * 8192));
  EXPECT_LT(8 * RegisterEnergyPerBit(), Energy("int8", "int8"));
}

// 0.137 pJ of a clock cycle, 0.090 pJ of the clock pin, and every other time a change of input and
// output (0.067 pJ and 0.070 pJ), at 180 nm; there and at 45 nm a circuit's energy is as 24.64
// * 1.8 - 17.98 and as 1.018 * 0.9^2 - 0.3107 * 0.9 + 0.1539.
TEST(Energy, ARegisterBitByHand) {
  const double at_180 = 24.64 * 1.8 - 17.98, at_45 = 1.018 * 0.81 - 0.3107 * 0.9 + 0.1539;
  EXPECT_DOUBLE_EQ(EnergyScale(180, 45), at_45 / at_180);
  EXPECT_NEAR(RegisterEnergyPerBit(), (0.137 + 0.090 + 0.137 / 2) * at_45 / at_180, 1e-12);
}

// 0.0031 pJ for each pair of bits of integers or significands, and 0.05 pJ for each bit of the
// wider float.
TEST(Energy, MultiplicationsByHand) {
  EXPECT_DOUBLE_EQ(Energy("int4", "int8"), 0.0031 * 4 * 8);
  EXPECT_DOUBLE_EQ(Energy("e4m3", "e4m3"), 0.0031 * 4 * 4 + 0.05 * 8);
  EXPECT_DOUBLE_EQ(Energy("bf16", "e4m3"), 0.0031 * 8 * 4 + 0.05 * 16);
  EXPECT_DOUBLE_EQ(Energy("int8", "bf16"), 0.0031 * 8 * 8 + 0.05 * 16);
  EXPECT_DOUBLE_EQ(Energy("fp32", "fp32"), 0.0031 * 24 * 24 + 0.05 * 32);
  EXPECT_DOUBLE_EQ(Energy("posit8_1", "posit8_1"), 0.0031 * 5 * 5 + 0.05 * 8);
  EXPECT_DOUBLE_EQ(Energy("nf4", "int8"),
                   0.0031 * 11 * 8);  // a codebook of up to 11 bits, without exponents
}

// The straight lines through 8 and 32 bits (integers), 16 and 32 bits (floats); floats below 8 bits
// as of 8.
TEST(Energy, AdditionsByHand) {
  const auto add = [](std::string_view name) { return AddEnergy(*FindFormat(name)); };
  EXPECT_DOUBLE_EQ(add("int20"), 0.03 + 12 * 0.07 / 24);
  EXPECT_DOUBLE_EQ(add("int4"), 0.03 - 4 * 0.07 / 24);
  EXPECT_DOUBLE_EQ(add("tf32"), 0.4 + 3 * 0.5 / 16);
  EXPECT_DOUBLE_EQ(add("e4m3"), 0.4 - 8 * 0.5 / 16);
  EXPECT_DOUBLE_EQ(add("e2m1"), 0.4 - 8 * 0.5 / 16);
  EXPECT_DOUBLE_EQ(add("posit16_1"), 0.4);
  EXPECT_DOUBLE_EQ(add("nf4"), 0.03 - 4 * 0.07 / 24);
}

// Half way between two sizes of the table, in powers: sqrt below 32 KiB, 0.464... beyond.
TEST(Energy, MemoriesByHand) {
  constexpr int64_t kKibibyte = 1024 * 8;
  EXPECT_NEAR(64 * MemoryEnergyPerBit(2 * kKibibyte), 5, 1e-9);
  EXPECT_NEAR(64 * MemoryEnergyPerBit(32 * kKibibyte + 1), 20, 1e-3);
  EXPECT_NEAR(64 * MemoryEnergyPerBit(32768 * kKibibyte), 500,
              1e-6);  // 32 times the size, 5 times the energy
  EXPECT_EQ(kOuterMemoryEnergyPerByte, 162.5);
}

TEST(Technology, ScalesThereAndBack) {
  for (const int from : TechnologyNodes()) {
    for (const int to : TechnologyNodes()) {
      EXPECT_NEAR(AreaScale(from, to) * AreaScale(to, from), 1, 1e-12);
      EXPECT_NEAR(EnergyScale(from, to) * EnergyScale(to, from), 1, 1e-12);
      if (to < from) {
        EXPECT_LT(AreaScale(from, to), 1) << from << " to " << to;
        EXPECT_LT(EnergyScale(from, to), 1) << from << " to " << to;
      }
    }
  }
  EXPECT_FALSE(IsTechnologyNode(22));
  EXPECT_TRUE(IsTechnologyNode(kEnergyNode));
}

// Factors that the paper prints.
TEST(Technology, MeetsTheTable) {
  EXPECT_NEAR(AreaScale(180, 45), 0.053, 0.0005);
  EXPECT_NEAR(AreaScale(65, 7), 0.039, 0.002);
  EXPECT_NEAR(AreaScale(45, 16), 0.19, 0.003);
}

// The outlines of the macros that the formula is from.
TEST(Technology, MemoriesMeetTheMacros) {
  const auto near = [](int64_t bits, double width, double height) {
    EXPECT_NEAR(MemoryArea(bits, 130) / (width * height), 1, 0.09) << bits << " bits";
  };
  near(32 * 256, 493.38, 400.22);
  near(8 * 1024, 464.82, 447.14);
  near(8 * 1024, 463.46, 447.14);
  near(32 * 512, 683.1, 416.54);
  EXPECT_EQ(MemoryArea(0, 45), 0);
}

}  // namespace
}  // namespace kiln::hardware
