// Checks that the layout passes move the axes of blocks along with the dimensions.
#include <gtest/gtest.h>

#include "kiln/ir/verifier.h"
#include "kiln/passes/pipeline.h"
#include "kiln/quantise/post_training.h"
#include "kiln/quantise/recipe_names.h"
#include "kiln/quantise/simulate.h"
#include "tests/quantise/small_net.h"

namespace kiln {
namespace {

TEST(Layout, BlocksMoveWithTheirAxis) {
  const Graph graph = SmallNet();
  const Tensor images = UniformTensor({4, 4, 8, 8}, 21);
  auto recipe = RecipeByName("mxint8");
  ASSERT_TRUE(recipe.ok()) << recipe.status();
  const auto quantised = QuantiseOnImages(graph, *recipe, std::span(&images, 1), 4);
  ASSERT_TRUE(quantised.ok()) << quantised.status();
  ASSERT_EQ(quantised->FindValue("relu_b")->quantisation()->type.scheme, Scheme::kPerBlock);
  ASSERT_EQ(quantised->FindValue("relu_b")->quantisation()->axis, 1);

  Graph laid_out = quantised->Clone();
  PassContext context;
  const Status status = RunPasses(laid_out, LayoutPipeline(), context);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_TRUE(Verify(laid_out).ok()) << Verify(laid_out);
  int blocked = 0;
  for (const auto& node : laid_out.nodes()) {
    if (node->op() != Op::kConv) continue;
    const auto& q = node->operand(0)->quantisation();
    if (!q || q->type.scheme != Scheme::kPerBlock) continue;
    EXPECT_EQ(q->axis, 3) << node->name();
    ++blocked;
  }
  EXPECT_GE(blocked, 1);
  const Tensor before = OutputOf(*SimulateQuantisation(*quantised), images);
  const Tensor after = OutputOf(*SimulateQuantisation(laid_out), images);
  // Sums in another order may move a value next to a boundary by one code.
  EXPECT_LT(MeanSquare(after, before), 1e-6);
}

}  // namespace
}  // namespace kiln
