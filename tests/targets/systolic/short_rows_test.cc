// Soft-max over rows that are shorter than a word: neighbouring rows side by side in the lanes.
#include "kiln/targets/systolic/compile/short_rows.h"

#include <algorithm>

#include "fmt/format.h"
#include "gtest/gtest.h"
#include "kiln/ir/random_tensor.h"
#include "kiln/ir/text.h"
#include "kiln/support/random.h"
#include "kiln/targets/systolic/simulate/cycle/cycle.h"
#include "kiln/targets/systolic/simulate/functional/functional.h"
#include "tests/targets/systolic/compiled.h"

namespace kiln::systolic {
namespace {

constexpr int64_t kRows = 600, kFew = 4;

StatusOr<std::unique_ptr<SystolicProgram>> SoftmaxOf(const std::string& op, int64_t rows,
                                                     int length, const std::string& result_quant) {
  const std::string text = fmt::format(R"(graph "t" {{
  input %x : f32[1x{0}x{1}] quant int8 per_tensor symmetric scale=[0.05]
  %1 = {3} %x {{axis=2}} : f32[1x{0}x{1}]{2}
  output %1
}})",
                                       rows, length, result_quant, op);
  KILN_ASSIGN_OR_RETURN(const Graph graph, ParseGraph(text, "test.kir"));
  return CompileFor(graph, SquareConfig(16));
}

std::vector<float> Numbers(const StatusOr<RunResult>& result) {
  EXPECT_TRUE(result.ok()) << result.status();
  if (!result.ok()) return {};
  const auto numbers = result->outputs[0].data<float>();
  return {numbers.begin(), numbers.end()};
}

// A few rows take less time one after the other, each along the lanes: the same rows must come to
// the same bits.
class SystolicShortRows : public testing::TestWithParam<std::string> {};

TEST_P(SystolicShortRows, GiveTheBitsOfRowsAlongTheLanes) {
  Random random(11);
  for (const int length : {2, 3, 5, 8, 9, 15}) {
    for (const std::string quant : {"", " quant int8 per_tensor symmetric scale=[0.0079]"}) {
      SCOPED_TRACE(fmt::format("rows of {}{}", length, quant));
      const auto many = SoftmaxOf(GetParam(), kRows, length, quant),
                 few = SoftmaxOf(GetParam(), kFew, length, quant);
      ASSERT_TRUE(many.ok()) << many.status();
      ASSERT_TRUE(few.ok()) << few.status();
      const Tensor x =
          RandomTensor(random, ElementType::kFloat32, Shape{1, kRows, length}, -6.0, 6.0);
      Tensor parts(ElementType::kFloat32, Shape{kRows / kFew, kFew, length});
      std::copy_n(x.data<float>().begin(), x.size(), parts.data<float>().begin());
      const std::vector<float> numbers = Numbers(RunFunctional(**many, Batch{{x}}, RunOptions{}));
      EXPECT_EQ(numbers, Numbers(RunFunctional(**few, Batch{{parts}}, RunOptions{})));
      EXPECT_EQ(numbers, Numbers(RunCycle(**many, Batch{{x}}, RunOptions{})));
      // A row after the other takes 13.5 cycles, measured before there was another way.
      if (length == 2) {
        EXPECT_LT((*many)->kernels()[0].certificate.cost, 8 * kRows);
      }
      ASSERT_EQ((*few)->instructions().size(), 1u);
      EXPECT_GE((*many)->instructions().size(), length == 2 ? 4u : 1u);
      // What is proved is of every way to compute it: three passes over words that are full, of two
      // cycles at most.
      EXPECT_LE((*many)->kernels()[0].certificate.lower_bound, 6.0 * kRows * length / 16);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Softmax, SystolicShortRows, testing::Values("softmax", "log_softmax"),
                         [](const auto& suite) { return suite.param; });

TEST(SystolicLongRows, StayAlongTheLanes) {
  for (const char* op : {"softmax", "log_softmax"}) {
    const auto program = SoftmaxOf(op, kRows, 16, "");
    ASSERT_TRUE(program.ok()) << program.status();
    EXPECT_EQ((*program)->instructions().size(), 1u);
  }
}

}  // namespace
}  // namespace kiln::systolic
