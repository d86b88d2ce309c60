// Tests of the fit of area models to synthesised grids, and of the grid's reader.
#include "kiln/hardware/area_fit.h"

#include <gtest/gtest.h>

namespace kiln::hardware {
namespace {

TEST(AreaFit, SolvesLeastSquaresWithoutNegativeEntries) {
  // y = 2 a + 3 b exactly.
  const std::vector<double> exact =
      SolveNonNegative({{1, 0}, {0, 1}, {1, 1}, {2, 1}}, {2, 3, 5, 7});
  EXPECT_NEAR(exact[0], 2, 1e-6);
  EXPECT_NEAR(exact[1], 3, 1e-6);
  // Without the bound the second entry would be -1: the best without it has the first alone, 4 / 2.
  const std::vector<double> bounded = SolveNonNegative({{1, 0}, {1, 2}}, {3, 1});
  EXPECT_NEAR(bounded[0], 2, 1e-6);
  EXPECT_EQ(bounded[1], 0);
}

TEST(AreaFit, NamesWhatIsWrongInAGrid) {
  const std::string head =
      "module,without,parameters,use,area_um2,flip_flops,memory_bits,seconds\n";
  EXPECT_FALSE(ParseGrid(head + "m,,A=1,fit,1\n", "g.csv").ok());
  EXPECT_FALSE(ParseGrid(head + "m,,A,fit,1,0,0,0\n", "g.csv").ok());
  EXPECT_FALSE(ParseGrid(head + "m,,A=nonsense,fit,1,0,0,0\n", "g.csv").ok());
  const auto zero = ParseGrid(head + "m,,A=1,fit,0,0,0,0\n", "g.csv");
  ASSERT_FALSE(zero.ok());
  EXPECT_NE(std::string(zero.status().message()).find("g.csv:2"), std::string::npos)
      << zero.status();
  const auto good = ParseGrid("# a remark\n" + head + "m,,A=1 B=e4m3,check,2.5,0,0,0\n", "g.csv");
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ((*good)[0].area, 2.5);
  EXPECT_TRUE((*good)[0].check);
  EXPECT_EQ((*good)[0].parameters.Number("A", 0), 1);
  EXPECT_EQ((*good)[0].parameters.FormatOf("B").name, "e4m3");
  EXPECT_TRUE(FitModels({}, {}).empty());
}

}  // namespace
}  // namespace kiln::hardware
