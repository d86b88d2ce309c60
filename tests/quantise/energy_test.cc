#include "kiln/quantise/energy.h"

#include <gtest/gtest.h>

namespace kiln {
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

TEST(Energy, BitsHoldTheirShareOfTheScale) {
  EXPECT_EQ(BitsOf(*FindQuantType("int8")), 8);
  EXPECT_EQ(BitsOf(*FindQuantType("mxint8")), 8.25);
  EXPECT_EQ(BitsOf(*FindQuantType("mxfp4")), 4.25);
}

}  // namespace
}  // namespace kiln
