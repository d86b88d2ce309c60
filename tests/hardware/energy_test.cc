#include "kiln/hardware/energy.h"

#include <gtest/gtest.h>

#include "kiln/hardware/technology.h"

namespace kiln::hardware {
namespace {

double Energy(std::string_view a, std::string_view b) { return MultiplyEnergy(*FindFormat(a), *FindFormat(b)); }

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

// A register bit costs less than a bit of the smallest memory that Horowitz lists, and far less than a multiplication.
TEST(Energy, RegistersAreCheap) {
  EXPECT_GT(RegisterEnergyPerBit(), 0.001);
  EXPECT_LT(RegisterEnergyPerBit(), MemoryEnergyPerBit(8 * 8192));
  EXPECT_LT(8 * RegisterEnergyPerBit(), Energy("int8", "int8"));
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
