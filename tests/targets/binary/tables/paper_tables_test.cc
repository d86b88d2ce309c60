// Tables 1 and 2 of the paper from the counts of convolutions, not from closed forms. Expected
// values are table1_lut_group_size.csv and table2_alexnet_ops.csv of the reference tables.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kiln/targets/binary/tables/convolution.h"

namespace kiln::binary {
namespace {

// Counts one position with 60 taps, which are whole groups of any size, on inputs without zeros.
double Left(int64_t outputs, int size, Builder builder) {
  WindowShape shape;
  shape.outputs = outputs;
  shape.width = shape.kernel_width = 60;
  const TableFormat format{{WeightCoding::kOdd, 1}, {false, 8}, size, Grouping::kTaps};
  const std::vector<int32_t> weights(static_cast<size_t>(60 * outputs), 1), input(60, 0x11);
  const auto convolution = TableConvolution::Create(shape, format, weights);
  EXPECT_TRUE(convolution.ok());
  const auto counts = convolution->Count(input, builder);
  EXPECT_TRUE(counts.ok());
  return static_cast<double>(counts->table_additions + counts->accumulations) /
         static_cast<double>(counts->plain_additions);
}

std::string Reduction(double left) { return fmt::format("{:.2f}", 100 * (1 - left)); }

TEST(PaperTables, Table1FromCounts) {
  EXPECT_EQ(Reduction(Left(3, 2, Builder::kChain)), "16.67");
  EXPECT_EQ(Reduction(Left(8, 2, Builder::kChain)), "37.50");
  EXPECT_EQ(Reduction(Left(9, 3, Builder::kChain)), "44.44");
  EXPECT_EQ(Reduction(Left(90, 3, Builder::kChain)), "64.44");
  EXPECT_EQ(Reduction(Left(91, 4, Builder::kChain)), "71.15");
}

// Ideal prediction: half of the work of all outputs that are zero.
TEST(PaperTables, Table2FromCounts) {
  struct Row {
    int64_t outputs;
    double zeros;
    const char* reduction;
  };
  for (const Row& row :
       {Row{96, 0.3870, "76.90"}, Row{256, 0.7250, "83.19"}, Row{384, 0.7930, "84.36"},
        Row{384, 0.7760, "84.14"}, Row{256, 0.8077, "84.28"}}) {
    EXPECT_EQ(Reduction(Left(row.outputs, 4, Builder::kChain) * (1 - row.zeros / 2)),
              row.reduction);
  }
}

// spec.md, 2.1: the Gray walk saves 72.40 % of Conv1 instead of 71.35 %.
TEST(PaperTables, GrayWalkFromCounts) {
  EXPECT_EQ(Reduction(Left(96, 4, Builder::kChain)), "71.35");
  EXPECT_EQ(Reduction(Left(96, 4, Builder::kGray)), "72.40");
}

}  // namespace
}  // namespace kiln::binary
