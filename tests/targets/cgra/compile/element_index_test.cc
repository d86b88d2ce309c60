// The texts of element indices: what expressions look like, and that they name the elements that
// launches read and write. CompileText compares them for all networks of these tests; here are the
// operators that other tests do not have.
#include "kiln/targets/cgra/compile/element_index.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/targets/cgra/compile/by_graph.h"
#include "tests/targets/cgra/compile/index_text_value.h"

namespace kiln::cgra {
namespace {

TEST(IndexText, LeavesOutWhatChangesNothing) {
  EXPECT_EQ(SumText("0", "k"), "k");
  EXPECT_EQ(SumText("k", 0), "k");
  EXPECT_EQ(SumText("k", -2), "k - 2");
  EXPECT_EQ(ProductText("k", 1), "k");
  EXPECT_EQ(ProductText("k", 0), "0");
  EXPECT_EQ(DigitText("k", 1, 5, 5), "k");
  EXPECT_EQ(DigitText("k", 5, 3, 3), "k / 5");
  EXPECT_EQ(DigitText("k", 5, 3, 6), "k / 5 % 3");
  EXPECT_EQ(DigitText("k", 5, 1, 6), "0");
  EXPECT_EQ(PositionText("e", RowMajorView(std::vector<int64_t>{2, 3, 4})), "e");
  EXPECT_EQ(PositionText("e", {7, {2, 3, 4}, {4, 8, 1}}), "e / 12 * 4 + e / 4 % 3 * 8 + e % 4 + 7");
  EXPECT_EQ(PositionText("e", {0, {}, {}}), "0");
}

constexpr char kQuantised[] = " quant int8 per_tensor scale=[0.05] zero=[3]\n";

// Compiles a graph whose kernels are all on the machine, for both machines.
void Check(const std::string& text, size_t kernels) {
  for (const Config& config : {MachineOf16(), MachineOf4()}) {
    SCOPED_TRACE(config.name);
    const auto program = CompileText(text, config);
    ASSERT_NE(program, nullptr);
    EXPECT_EQ(program->kernels().size(), kernels);
    for (const KernelInfo& kernel : program->kernels()) EXPECT_EQ(kernel.host_reason, "");
  }
}

std::string Numbers(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + std::to_string(i % 7 - 3);
  return text;
}

TEST(IndexText, OfConvolutionsWithChannelsFirst) {
  const std::string q = kQuantised;
  Check("graph \"g\" { input %x : f32[1x3x7x9]" + q +
            "const %w : f32[5x3x3x2] quant int8 per_tensor symmetric scale=[1] = [" + Numbers(90) +
            "]\n"
            "%y = conv %x, %w {dilations=[2, 1], kernel_shape=[3, 2], pads=[2, 1, 1, 0], "
            "strides=[2, 3]} \"conv\" : f32[1x5x3x3]" +
            q +
            "%z = max_pool %y {kernel_shape=[2, 2], pads=[1, 0, 0, 0], strides=[2, 1]} \"pool\" "
            ": f32[1x5x2x2]" +
            q + "output %z }",
        2);
  Check("graph \"g\" { input %x : f32[1x4x11]" + q +
            "const %w : f32[6x2x3] quant int8 per_tensor symmetric scale=[1] = [" + Numbers(36) +
            "]\n%y = conv %x, %w {group=2, kernel_shape=[3], pads=[1, 1], strides=[2]} \"conv\" "
            ": f32[1x6x6]" +
            q + "output %y }",
        1);
}

TEST(IndexText, OfMovesAndBroadcasts) {
  const std::string q = kQuantised;
  Check("graph \"g\" { input %x : f32[1x4x6]" + q +
            "const %i : i64[3] = [2, -1, 0]\n"
            "%y = gather %x, %i {axis=1} \"rows\" : f32[1x3x6]" +
            q +
            "const %p : i64[6] = [0, 1, 2, 0, 0, 1]\n"
            "%z = pad %y, %p \"pad\" : f32[1x4x9]" +
            q +
            "const %c : f32[4x1] = [1, -2, 0.5, 3]\n"
            "%s = add %z, %c \"add\" : f32[1x4x9]" +
            q + "output %s }",
        3);
}

TEST(IndexText, OfProductsOfBatches) {
  const std::string q = kQuantised;
  Check("graph \"g\" { input %a : f32[2x3x5x7]" + q + "input %b : f32[3x4x7]" + q +
            "%y = matmul %a, %b {transpose_b=1} \"product\" : f32[2x3x5x4]" + q + "output %y }",
        1);
}

}  // namespace
}  // namespace kiln::cgra
