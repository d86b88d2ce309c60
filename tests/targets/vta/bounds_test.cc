// Lower bounds of certificates against what programs do: no program has fewer GEMM steps, moves
// less through the port, or takes fewer cycles, for random layers and machines and any number of
// virtual threads.
#include <gtest/gtest.h>

#include <algorithm>

#include "fmt/format.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/support/integer.h"
#include "kiln/support/random.h"
#include "kiln/targets/vta/compile/schedule.h"
#include "tests/targets/vta/compiled.h"

namespace kiln::vta {
namespace {

// What the instructions of a launch do, counted from them.
struct Work {
  int64_t gemm_steps = 0, read_beats = 0, written_beats = 0;
};

Work WorkOf(const Launch& launch, const Config& config) {
  Work work;
  for (const Instruction& in : launch.instructions) {
    if (in.opcode == Opcode::kGemm && !in.reset)
      work.gemm_steps += static_cast<int64_t>(StepsOf(in));
    if (!Moves(in) || in.memory == Memory::kUop) continue;
    // Every element begins a beat of its own.
    const int64_t beats = int64_t{in.x_size} * in.y_size *
                          CeilDivide(ElementBytes(in.memory, config), config.memory_port_bytes);
    (in.opcode == Opcode::kLoad ? work.read_beats : work.written_beats) += beats;
  }
  return work;
}

Graph RandomConvolution(Random& random, const Config& config) {
  const auto draw = [&](uint64_t most) { return 1 + static_cast<int64_t>(random.Below(most)); };
  const int64_t kernel = draw(3), stride = draw(3),
                size = kernel + static_cast<int64_t>(random.Below(7));
  const int64_t in = config.block_in * draw(3), out = config.block_out * draw(3);
  Graph graph("conv");
  Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, size, size, in}});
  Tensor weights(ElementType::kFloat32, Shape{out, in, kernel, kernel});
  for (float& v : weights.data<float>()) v = static_cast<float>(random.Uniform(-0.2, 0.2));
  Attributes a;
  a.Set("kernel_shape", std::vector<int64_t>{kernel, kernel});
  a.Set("pads", std::vector<int64_t>(4, random.Below(2) == 0 ? 0 : kernel / 2));
  a.Set("strides", std::vector<int64_t>{stride, stride});
  a.Set("layout", std::string("nhwc"));
  graph.MarkOutput(
      graph.AddNode(Op::kConv, "c", {x, graph.AddConstant("w", weights)}, {"y"}, a)->result());
  EXPECT_EQ(InferShapes(graph), OkStatus());
  return graph;
}

TEST(VtaBounds, HoldForEveryProgramOfALayer) {
  Random random(81);
  int steps = 0, reads = 0;
  for (int i = 0; i < 14; ++i) {
    Config config = PynqConfig();
    // As many elements in every buffer, whatever their size.
    const int shift = static_cast<int>(random.Below(3));
    config.block_in = config.block_out = 16 >> shift;
    config.input_buffer_bytes >>= shift;
    config.accumulator_buffer_bytes >>= shift;
    config.weight_buffer_bytes >>= 2 * shift;
    config.memory_port_bytes = 8 << random.Below(5);
    config.memory_latency = 1 + static_cast<int>(random.Below(16));
    const Graph graph = RandomConvolution(random, config);
    Recipe recipe = Int8Recipe();
    recipe.quantise_outputs = true;
    const Graph prepared = Prepare(graph.Clone(), RandomImages(graph, 1, 1), recipe);
    for (const int threads : {1, 2, 0}) {
      SCOPED_TRACE(fmt::format("layer {}, {} threads", i, threads));
      const auto program = CompileFor(prepared, config, threads);
      ASSERT_NE(program, nullptr);
      if (program->kernels().size() != 1 || program->kernels()[0].on_host()) continue;
      const Certificate& certificate = program->kernels()[0].certificate;
      const Work work = WorkOf(*program->parts().steps[0].launch, config);
      EXPECT_LE(certificate.lower_bound, certificate.cost);
      const auto bound = static_cast<int64_t>(certificate.lower_bound);
      EXPECT_LE(bound, std::max({work.gemm_steps, work.read_beats, work.written_beats}))
          << certificate.bound_from;
      if (certificate.bound_from == "GEMM steps") {
        EXPECT_EQ(bound, work.gemm_steps);
        ++steps;
      } else if (certificate.bound_from == "memory writes") {
        EXPECT_EQ(bound, work.written_beats);
      } else if (certificate.bound_from == "memory reads") {
        EXPECT_LE(bound, work.read_beats);
        ++reads;
      }
    }
  }
  EXPECT_GT(steps, 2);
  EXPECT_GT(reads, 2);
}

// By hand: 3 x 3 pixels of 2 blocks in, 1 out, kernel 2 x 2 and stride 1, on a port of 8 bytes: 9 *
// 2 * 4 steps; 8 weights of 256 bytes and 4 * 4 * 2 inputs of 16; 9 outputs of 16.
TEST(VtaBounds, OfOneLayerByHand) {
  MatrixShape shape;
  shape.height = shape.width = 3;
  shape.kernel.y = shape.kernel.x = 2;
  shape.reads = {BlockRange{0, 2}};
  Config config = PynqConfig();
  const auto bound = [&] { return CertificateOf(shape, config, 10000); };
  EXPECT_EQ(bound().lower_bound, 8 * 32 + 32 * 2);
  EXPECT_EQ(bound().bound_from, "memory reads");
  EXPECT_FALSE(bound().optimal);
  config.memory_port_bytes = 128;
  EXPECT_EQ(bound().lower_bound, 72);
  EXPECT_EQ(bound().bound_from, "GEMM steps");
  shape.planes = 10;
  EXPECT_EQ(bound().lower_bound, 90);
  EXPECT_EQ(bound().bound_from, "memory writes");
  EXPECT_TRUE(CertificateOf(shape, config, 90).optimal);
  EXPECT_FALSE(CertificateOf(shape, config, 91).optimal);
  // Residuals cross the port once; a stride above the kernel leaves pixels out: 3 * 2 rows and
  // columns.
  shape.planes = 1;
  config.memory_port_bytes = 8;
  shape.residual = true;
  EXPECT_EQ(bound().lower_bound, 8 * 32 + 32 * 2 + 9 * 2);
  shape.residual = false;
  shape.kernel.stride_y = shape.kernel.stride_x = 5;
  EXPECT_EQ(bound().lower_bound, 8 * 32 + 6 * 6 * 2 * 2);
  shape.one_weight = true;
  EXPECT_EQ(bound().lower_bound, 32 + 6 * 6 * 2 * 2);
}

}  // namespace
}  // namespace kiln::vta
