// Tilings: that they cover the layer, that no measured time is below the bound, and that the estimate is what it says.
#include <gtest/gtest.h>

#include <cmath>

#include "fmt/format.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/support/random.h"
#include "kiln/targets/vta/schedule.h"
#include "tests/targets/vta/compiled.h"

namespace kiln::vta {
namespace {

MatrixShape RandomShape(Random& random) {
  const auto draw = [&](uint64_t most) { return 1 + static_cast<int64_t>(random.Below(most)); };
  MatrixShape shape;
  shape.height = draw(30);
  shape.width = draw(30);
  shape.kernel.y = draw(3);
  shape.kernel.x = draw(3);
  shape.kernel.stride_y = shape.kernel.stride_x = draw(2);
  shape.reads.assign(static_cast<size_t>(draw(20)), BlockRange{0, draw(20)});
  return shape;
}

TEST(CompilerSchedule, TilesCoverEveryStepOnce) {
  Random random(9);
  const Config config = PynqConfig();
  for (int i = 0; i < 40; ++i) {
    const MatrixShape shape = RandomShape(random);
    const int64_t pairs = std::ssize(shape.reads) * shape.reads[0].count();
    for (const RankedTiling& ranked : RankTilings(shape, config, 0)) {
      int64_t steps = 0, loaded = 0;
      for (const Tile& tile : TilesOf(shape, ranked.tiling)) {
        int64_t pixels = tile.rows.count * tile.columns.count;
        ASSERT_LE(tile.blocks.count * pixels, RegionsOf(config, ranked.tiling.threads).sums);
        for (const Chunk& chunk : tile.chunks) {
          steps += chunk.steps * pixels;
          if (chunk.load_weights) loaded += chunk.weights;
        }
      }
      ASSERT_EQ(steps, pairs * shape.kernel.taps() * shape.height * shape.width);
      ASSERT_GE(loaded, pairs * shape.kernel.taps());
      ASSERT_TRUE(!ranked.tiling.resident || loaded == pairs * shape.kernel.taps());
    }
  }
}

TEST(CompilerSchedule, PiecesLeaveNothingOut) {
  Random random(4);
  for (int i = 0; i < 300; ++i) {
    Tile tile;
    tile.blocks.count = tile.rows.count = tile.columns.count = 1 + static_cast<int64_t>(random.Below(8));
    const uint64_t chunks = 1 + random.Below(4);
    for (uint64_t c = 0; c < chunks; ++c) {
      Chunk chunk;
      chunk.steps = 1 + static_cast<int64_t>(random.Below(30));
      tile.chunks.push_back(chunk);
    }
    const Pieces pieces = PiecesOf(tile, random.Below(2) == 0 ? &tile : nullptr);
    EXPECT_GE(pieces.head, 1);
    EXPECT_GE(pieces.tail, 0);
    EXPECT_LE(pieces.head, tile.chunks.front().steps);
    EXPECT_LE(pieces.tail, tile.chunks.back().steps);
  }
}

// A convolution of the size of ResNet's, smaller: with every number of virtual threads.
TEST(CompilerSchedule, MoreVirtualThreadsAreFasterAndTheBoundHolds) {
  Graph graph("conv");
  Random random(2);
  Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, 28, 28, 64}});
  Tensor weights(ElementType::kFloat32, Shape{64, 64, 3, 3});
  for (float& v : weights.data<float>()) v = static_cast<float>(random.Uniform(-0.1, 0.1));
  Attributes a;
  a.Set("kernel_shape", std::vector<int64_t>{3, 3});
  a.Set("pads", std::vector<int64_t>{1, 1, 1, 1});
  a.Set("layout", std::string("nhwc"));
  graph.MarkOutput(graph.AddNode(Op::kConv, "c", {x, graph.AddConstant("w", weights)}, {"y"}, a)->result());
  ASSERT_EQ(InferShapes(graph), OkStatus());
  const Batch images = RandomImages(graph, 1, 1);
  Recipe recipe = Int8Recipe();
  recipe.quantise_outputs = true;
  const Graph prepared = Prepare(graph.Clone(), images, recipe);
  std::vector<double> costs;
  for (const int threads : {1, 2, 3, 0}) {
    const auto program = CompileFor(prepared, PynqConfig(), threads);
    ASSERT_NE(program, nullptr);
    const Certificate& certificate = program->kernels()[0].certificate;
    EXPECT_EQ(certificate.lower_bound, 28 * 28 * 4 * 4 * 9);
    EXPECT_EQ(certificate.bound_from, "GEMM steps");
    EXPECT_GT(certificate.cost, certificate.lower_bound);
    costs.push_back(certificate.cost);
  }
  EXPECT_GT(costs[0], 1.1 * costs[1]);
  EXPECT_LT(costs[1], 1.06 * 28 * 28 * 4 * 4 * 9);
  EXPECT_LE(costs[3], std::min(costs[1], costs[2]));
}

}  // namespace
}  // namespace kiln::vta
