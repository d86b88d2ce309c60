// Tilings: that they cover the layer, that no measured time is below the bound, and that the
// estimate is what it says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "fmt/format.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/support/parallel.h"
#include "kiln/support/random.h"
#include "kiln/targets/vta/compile/lower.h"
#include "kiln/targets/vta/compile/schedule.h"
#include "kiln/targets/vta/compile/tiling_search.h"
#include "kiln/targets/vta/simulate/cycle/cycle.h"
#include "tests/targets/vta/compiled.h"
#include "tests/targets/vta/random_program.h"

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

// What is left out of a ranking by the bound would have been no better: on any machine, for any
// layer, however it is cut.
TEST(CompilerSchedule, TheBoundIsNeverAboveTheEstimate) {
  Random random(11);
  const auto draw = [&](uint64_t most) { return 1 + static_cast<int64_t>(random.Below(most)); };
  const auto is = [&] { return random.Below(2) == 0; };
  int64_t estimated = 0, met = 0;
  for (int i = 0; i < 6'000; ++i) {
    Config config = RandomConfig(random);
    config.memory_port_bytes = 1 << random.Below(8);
    config.memory_latency = static_cast<int>(draw(200));
    MatrixShape shape = RandomShape(random);
    shape.kernel.dilation_y = draw(2);
    shape.kernel.dilation_x = draw(2);
    shape.x_step = draw(2);
    shape.whole_columns = is();
    for (BlockRange& range : shape.reads) {
      range.first = static_cast<int64_t>(random.Below(4));
      range.last = range.first + draw(4);
    }
    shape.constant_rows = draw(4);
    shape.alu_steps = draw(9);
    shape.residual = random.Below(4) == 0;
    shape.planes = draw(2);
    shape.one_weight = random.Below(8) == 0;
    MatrixTiling tiling;
    tiling.threads = static_cast<int>(draw(kMaxThreads));
    tiling.blocks = draw(static_cast<uint64_t>(std::min<int64_t>(std::ssize(shape.reads), 4)));
    tiling.rows = draw(static_cast<uint64_t>(std::min<int64_t>(shape.height, 8)));
    tiling.columns = draw(static_cast<uint64_t>(std::min<int64_t>(shape.width, 8)));
    tiling.chunk = draw(4);
    tiling.blocks_outermost = is();
    tiling.resident = shape.one_weight || is();
    tiling.packed = shape.CanPack() && is();
    const auto cycles = EstimateCycles(shape, tiling, config);
    if (!cycles.has_value()) continue;
    ++estimated;
    const int64_t least = LeastEstimate(shape, tiling, config);
    ASSERT_LE(least, *cycles) << i << ": " << Describe(tiling) << " of " << shape.height << " x "
                              << shape.width;
    if (10 * least > 9 * *cycles) ++met;
  }
  EXPECT_GT(estimated, 600);
  EXPECT_GT(met, 30);  // a bound of nothing would pass, too
}

// Every tile's place is another one's nowhere, and every chunk's pairs of blocks are summed once.
TEST(CompilerSchedule, TilesCoverEveryPairOfEveryPixelOnce) {
  Random random(9);
  const Config config = PynqConfig();
  for (int i = 0; i < 12; ++i) {
    const MatrixShape shape = RandomShape(random);
    const int64_t outputs = std::ssize(shape.reads), inputs = shape.reads[0].count();
    for (const RankedTiling& ranked : RankTilings(shape, config, 0)) {
      std::vector<int> seen(static_cast<size_t>(outputs * inputs * shape.height * shape.width), 0);
      for (const Tile& tile : TilesOf(shape, ranked.tiling, config)) {
        ASSERT_LE(tile.elements(), RegionsOf(shape, config, ranked.tiling.threads).sums);
        for (const Chunk& chunk : tile.chunks) {
          ASSERT_EQ(chunk.steps * chunk.repeats,
                    std::ssize(chunk.pairs) * shape.kernel.taps() * tile.pixels());
          for (const Chunk::Pair& pair : chunk.pairs) {
            for (int64_t y = tile.rows.first; y < tile.rows.end(); ++y) {
              for (int64_t x = tile.columns.first; x < tile.columns.end(); ++x) {
                ++seen[static_cast<size_t>(
                    ((pair.output * inputs + pair.input) * shape.height + y) * shape.width + x)];
              }
            }
          }
        }
      }
      ASSERT_TRUE(std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; }));
    }
  }
}

// What a launch's instructions compute, element by element of memory: which inputs and weights each
// accumulator has been summed from, and where it is stored. What stands in an accumulator before
// the launch, and behind a store, is left over, until a reset, a load, or a maximum with constants,
// which are greater than any result, clears it.
class Follower {
 public:
  Follower(const Launch& launch, const Config& config) : launch_(launch), config_(config) {
    for (const Instruction& in : launch.instructions) Follow(in);
  }
  // Sums by the address that they are stored to: the steps that they are made of.
  using Steps = std::multiset<std::pair<uint64_t, uint64_t>>;
  const std::map<uint64_t, Steps>& stored() const { return stored_; }
  bool stored_twice() const { return stored_twice_; }
  // Steps that were summed onto what was left over, or onto what the ALU had made of a sum.
  int64_t steps_on_others() const { return steps_on_others_; }

 private:
  enum class Holds { kLeftover, kSum, kResult };
  struct Accumulator {
    Holds holds = Holds::kLeftover;
    Steps steps;
  };

  void Follow(const Instruction& in) {
    const bool moves = in.opcode == Opcode::kLoad || in.opcode == Opcode::kStore;
    if (moves && in.x_size > 0 && in.memory != Memory::kUop) Move(in);
    if (in.opcode == Opcode::kGemm || in.opcode == Opcode::kAlu) Compute(in);
  }

  void Move(const Instruction& in) {
    uint32_t at = in.sram_base;
    if (in.memory == Memory::kAccumulator || in.memory == Memory::kAccumulator8) {
      // Rows of padding as well, which are zeros.
      for (uint32_t i = 0; i < RectangleOf(in); ++i) accumulators_[at + i] = {Holds::kSum, {}};
      return;
    }
    for (uint32_t row = 0; row < in.y_size; ++row) {
      for (uint32_t x = 0; x < in.x_size; ++x, ++at) {
        const uint64_t address = RowAddress(in, row, config_) +
                                 x * static_cast<uint64_t>(ElementBytes(in.memory, config_));
        if (in.memory == Memory::kInput) inputs_[at] = address;
        if (in.memory == Memory::kWeight) weights_[at] = address;
        if (in.opcode != Opcode::kStore) continue;
        stored_twice_ |= stored_.contains(address);
        stored_[address] = std::exchange(accumulators_[at], {}).steps;
      }
    }
  }

  void Compute(const Instruction& in) {
    for (uint32_t outer = 0; outer < in.outer; ++outer) {
      for (uint32_t inner = 0; inner < in.inner; ++inner) {
        for (uint32_t u = in.uop_begin; u < in.uop_end; ++u) {
          const Uop& uop = launch_.uops[u];
          Accumulator& dst = accumulators_[uop.dst + outer * in.dst_outer + inner * in.dst_inner];
          if (in.opcode == Opcode::kAlu) {
            Work(in, dst);
          } else if (in.reset) {
            dst = {Holds::kSum, {}};
          } else {
            steps_on_others_ += dst.holds == Holds::kSum ? 0 : 1;
            dst.steps.emplace(
                inputs_.at(uop.src + outer * in.src_outer + inner * in.src_inner),
                weights_.at(uop.weight + outer * in.weight_outer + inner * in.weight_inner));
          }
        }
      }
    }
  }

  static void Work(const Instruction& in, Accumulator& dst) {
    if (dst.holds == Holds::kSum && !dst.steps.empty()) dst.holds = Holds::kResult;
    if (dst.holds == Holds::kLeftover && in.alu == AluOp::kMax && !in.use_immediate)
      dst.holds = Holds::kSum;
  }

  const Launch& launch_;
  const Config& config_;
  std::map<uint32_t, uint64_t> inputs_, weights_;  // on chip: addresses
  std::map<uint32_t, Accumulator> accumulators_;
  std::map<uint64_t, Steps> stored_;
  bool stored_twice_ = false;
  int64_t steps_on_others_ = 0;
};

// Convolutions of all kinds, with any number of threads: every output element is stored once, a sum
// of all its steps and nothing else.
TEST(CompilerSchedule, InstructionsSumEveryStepOnce) {
  Random random(4);
  for (int i = 0; i < 40; ++i) {
    const int64_t in = 16 * (1 + static_cast<int64_t>(random.Below(6)));
    const int64_t out = 16 * (1 + static_cast<int64_t>(random.Below(8)));
    const int64_t size = 4 + static_cast<int64_t>(random.Below(22)),
                  kernel = random.Below(3) == 0 ? 3 : 1;
    const int64_t stride = 1 + static_cast<int64_t>(random.Below(2));
    Graph graph("conv");
    Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, size, size, in}});
    Tensor weights(ElementType::kFloat32, Shape{out, in, kernel, kernel});
    for (float& v : weights.data<float>()) v = static_cast<float>(random.Uniform(-0.1, 0.1));
    Attributes a;
    a.Set("kernel_shape", std::vector<int64_t>{kernel, kernel});
    a.Set("pads", std::vector<int64_t>(4, kernel / 2));
    a.Set("strides", std::vector<int64_t>{stride, stride});
    a.Set("layout", std::string("nhwc"));
    graph.MarkOutput(
        graph.AddNode(Op::kConv, "c", {x, graph.AddConstant("w", weights)}, {"y"}, a)->result());
    ASSERT_EQ(InferShapes(graph), OkStatus());
    Recipe recipe = Int8Recipe();
    recipe.quantise_outputs = true;
    if (i % 2 == 1) {  // sums that begin with the bias
      recipe.activations.type.scale_format = recipe.weights.type.scale_format = *FindFormat("e8m0");
      recipe.weights.type.scheme = Scheme::kPerTensor;
      recipe.activations.type.symmetric = true;
    }
    const Graph prepared = Prepare(graph.Clone(), RandomImages(graph, 1, 1), recipe);
    const auto program =
        CompileFor(prepared, PynqConfig(), static_cast<int>(random.Below(kMaxThreads + 1)));
    ASSERT_NE(program, nullptr);
    const Config config = program->config();
    const Follower follower(*program->parts().steps[0].launch, config);
    const int64_t pixels = (size - 1) / stride + 1;
    EXPECT_FALSE(follower.stored_twice());
    EXPECT_EQ(follower.steps_on_others(), 0);
    EXPECT_EQ(std::ssize(follower.stored()), pixels * pixels * out / 16);
    for (const auto& [address, steps] : follower.stored()) {
      ASSERT_EQ(std::ssize(steps), in / 16 * kernel * kernel);
      for (const auto& step : steps) ASSERT_EQ(steps.count(step), 1U);
    }
  }
}

// All piece sizes together are the whole; a head leaves something to the chunks behind it only
// within its own chunk.
TEST(CompilerSchedule, PiecesLieWithinTheirChunks) {
  Random random(4);
  for (int i = 0; i < 300; ++i) {
    Tile tile;
    tile.blocks.count = tile.rows.count = tile.columns.count =
        1 + static_cast<int64_t>(random.Below(8));
    const uint64_t chunks = 1 + random.Below(4);
    for (uint64_t c = 0; c < chunks; ++c) {
      Chunk chunk;
      chunk.steps = 1 + static_cast<int64_t>(random.Below(30));
      chunk.repeats = tile.pixels();
      tile.chunks.push_back(chunk);
    }
    const Pieces pieces = PiecesOf(tile, random.Below(2) == 0 ? &tile : nullptr);
    EXPECT_GE(pieces.head, 1);
    EXPECT_LE(pieces.head, tile.chunks.front().steps);
    EXPECT_LE(pieces.tail, tile.chunks.back().steps);
    if (chunks == 1 && tile.chunks[0].steps > 1) {
      EXPECT_LE(pieces.head + pieces.tail, tile.chunks[0].steps);
    }
    EXPECT_EQ(pieces.tail == 0, chunks == 1 && tile.chunks[0].steps == 1);
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
  graph.MarkOutput(
      graph.AddNode(Op::kConv, "c", {x, graph.AddConstant("w", weights)}, {"y"}, a)->result());
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
    const std::string threads_of =
        fmt::format("{} virtual thread{}, tiles of ", threads, threads == 1 ? "" : "s");
    if (threads > 0) {
      EXPECT_THAT(program->kernels()[0].schedule, testing::StartsWith(threads_of));
    }
  }
  EXPECT_GT(costs[0], 1.1 * costs[1]);
  EXPECT_LT(costs[1], 1.06 * 28 * 28 * 4 * 4 * 9);
  EXPECT_LE(costs[3], std::min(costs[1], costs[2]));
}

// `copies` equal convolutions, one after the other, with weights of their own.
Graph Chain(int copies) {
  Graph graph("chain");
  Random random(6);
  Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, 14, 14, 32}});
  for (int i = 0; i < copies; ++i) {
    Tensor weights(ElementType::kFloat32, Shape{32, 32, 3, 3});
    for (float& v : weights.data<float>()) v = static_cast<float>(random.Uniform(-0.1, 0.1));
    Attributes a;
    a.Set("kernel_shape", std::vector<int64_t>{3, 3});
    a.Set("pads", std::vector<int64_t>{1, 1, 1, 1});
    a.Set("layout", std::string("nhwc"));
    const std::string number = std::to_string(i);
    x = graph
            .AddNode(Op::kConv, "c" + number, {x, graph.AddConstant("w" + number, weights)},
                     {"y" + number}, a)
            ->result();
  }
  graph.MarkOutput(x);
  EXPECT_EQ(InferShapes(graph), OkStatus());
  return graph;
}

// The search looks at time alone: what it finds must be the time of the machine with its data, and
// no bound above it.
TEST(CompilerSchedule, TimesWithoutDataAreThoseOfTheCycleLevel) {
  Graph graph = Chain(3);
  const Batch images = RandomImages(graph, 1, 1);
  Recipe recipe = Int8Recipe();
  recipe.quantise_outputs = true;
  const Graph prepared = Prepare(std::move(graph), images, recipe);
  for (const int threads : {1, 2, 3, 4}) {
    const auto program = CompileFor(prepared, PynqConfig(), threads);
    ASSERT_NE(program, nullptr);
    const ProgramParts& parts = program->parts();
    DeviceMemory memory(MemoryImage::kBase, parts.memory);
    for (size_t i = 0; i < parts.steps.size(); ++i) {
      if (!parts.steps[i].launch.has_value()) continue;
      const Launch& launch = *parts.steps[i].launch;
      CycleMachine machine(PynqConfig());
      const auto result = machine.Launch(memory, launch.address, launch.instructions.size());
      ASSERT_FALSE(result.fault.has_value()) << result.fault->message;
      const auto cycles = static_cast<int64_t>(result.time.cycles);
      EXPECT_EQ(program->kernels()[i].certificate.cost, static_cast<double>(cycles));
      EXPECT_LE(BusiestUnitOf(launch.instructions, PynqConfig()), cycles);
      EXPECT_GT(BusiestUnitOf(launch.instructions, PynqConfig()), cycles / 2);
      // A limit of exactly its cycles is met, one less is not.
      CycleTimer timer(PynqConfig());
      const UopsInMemory uops{launch.uops_address, launch.uops};
      EXPECT_EQ(*timer.CyclesOf(launch.instructions, launch.address, uops, result.time.cycles),
                result.time.cycles);
      EXPECT_EQ(*timer.CyclesOf(launch.instructions, launch.address, uops, result.time.cycles - 1),
                std::nullopt);
    }
  }
}

TEST(CompilerSchedule, EqualLayersAreSearchedOnceAndThreadsDecideNothing) {
  Graph graph = Chain(4);
  const Batch images = RandomImages(graph, 1, 1);
  Recipe recipe = Int8Recipe();
  recipe.quantise_outputs = true;
  const Graph prepared = Prepare(std::move(graph), images, recipe);
  const auto network = Lower(prepared, PynqConfig(), CompileOptions{}, {});
  ASSERT_TRUE(network.ok()) << network.status();
  std::vector<const MatrixLayer*> layers;
  for (const Layer& layer : network->layers) {
    if (layer.matrix.has_value()) layers.push_back(&*layer.matrix);
  }
  ASSERT_EQ(layers.size(), 4u);
  const Config config = PynqConfig();
  const std::vector<uint64_t> addresses(network->maps.size(), MemoryImage::kBase);
  MemoryImage image;
  const CodeContext context{config, *network, addresses, &image};
  TilingMemo tilings;
  ASSERT_EQ(tilings.Search(layers, 0, context), OkStatus());
  // The first reads what the host packs, which has no border, and the last writes none; those
  // between are equal.
  EXPECT_LE(tilings.size(), 3u);
  const auto second = tilings.TilingOf(*layers[1], 0, context),
             third = tilings.TilingOf(*layers[2], 0, context);
  ASSERT_TRUE(second.ok() && third.ok());
  EXPECT_EQ(*second, *third);
  EXPECT_EQ(image.bytes().size(), 0u);

  SetThreadCount(1);
  const auto alone = CompileFor(prepared, config);
  SetThreadCount(4);
  const auto together = CompileFor(prepared, config);
  SetThreadCount(0);
  ASSERT_TRUE(alone != nullptr && together != nullptr);
  EXPECT_EQ(alone->Print(), together->Print());
  EXPECT_EQ(alone->parts().memory, together->parts().memory);
}

// Room for the micro-ops of few tilings, none of which is among those that promise most: with four
// virtual threads one is found all the same.
TEST(CompilerSchedule, TilingsThatPromiseLessAreTriedWhereTheBestDoNotFit) {
  Graph graph("conv");
  Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, 20, 20, 192}});
  Tensor weights(ElementType::kFloat32, Shape{16, 192, 2, 2});
  Random random(3);
  for (float& v : weights.data<float>()) v = static_cast<float>(random.Uniform(-0.1, 0.1));
  Attributes a;
  a.Set("kernel_shape", std::vector<int64_t>{2, 2});
  a.Set("layout", std::string("nhwc"));
  graph.MarkOutput(
      graph.AddNode(Op::kConv, "c", {x, graph.AddConstant("w", weights)}, {"y"}, a)->result());
  ASSERT_EQ(InferShapes(graph), OkStatus());
  Recipe recipe = Int8Recipe();
  recipe.quantise_outputs = true;
  const Graph prepared = Prepare(graph.Clone(), RandomImages(graph, 1, 1), recipe);
  Config config = PynqConfig();
  config.uop_buffer_bytes = 64 * Config::kUopBytes;
  config.accumulator_buffer_bytes = 1 << 16;
  config.memory_latency = 54;
  ASSERT_TRUE(ParseConfig(PrintConfig(config), "config").ok());
  const auto network = Lower(prepared, config, CompileOptions{}, {});
  ASSERT_TRUE(network.ok()) << network.status();
  const auto at = std::ranges::find_if(network->layers,
                                       [](const Layer& layer) { return layer.matrix.has_value(); });
  ASSERT_NE(at, network->layers.end());
  const MatrixLayer& layer = *at->matrix;
  const std::vector<uint64_t> addresses(network->maps.size(), MemoryImage::kBase);
  MemoryImage image = MemoryImage::WithoutBytes();
  const CodeContext context{config, *network, addresses, &image};

  constexpr int kThreads = 4;
  const MatrixShape shape = ShapeOf(layer, *network);
  const auto best = RankTilings(shape, config, kThreads);
  const auto every = RankTilings(shape, config, kThreads, Ranked::kEvery);
  const auto fits = [&](const RankedTiling& ranked) {
    return GenerateMatrix(layer, ranked.tiling, context).ok();
  };
  ASSERT_FALSE(best.empty());
  ASSERT_TRUE(std::ranges::none_of(best, fits));
  ASSERT_TRUE(std::ranges::any_of(every, fits));
  TilingMemo tilings;
  ASSERT_EQ(tilings.Search({&layer}, kThreads, context), OkStatus());
  const auto found = tilings.TilingOf(layer, kThreads, context);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->threads, kThreads);
}

// What is left out of a ranking is left out of its end: the best are the same, each size's own,
// too.
TEST(CompilerSchedule, RankingsLeaveOutNoneOfTheBest) {
  Random random(13);
  const Config config = PynqConfig();
  constexpr size_t kBest = 6;  // that are timed
  for (int i = 0; i < 12; ++i) {
    const MatrixShape shape = RandomShape(random);
    const auto best = RankTilings(shape, config, 0),
               every = RankTilings(shape, config, 0, Ranked::kEvery);
    ASSERT_LE(best.size(), every.size());
    for (size_t j = 0; j < std::min(kBest, every.size()); ++j) {
      EXPECT_EQ(best[j].tiling, every[j].tiling) << i << ", " << j;
      EXPECT_EQ(best[j].cycles, every[j].cycles);
    }
  }
}

// A quarter of the effort looks at fewer tilings, and its best is hardly slower.
TEST(CompilerSchedule, LessEffortFindsNearlyTheBest) {
  Random random(29);
  const Config config = PynqConfig();
  size_t fewer = 0;
  for (int i = 0; i < 12; ++i) {
    const MatrixShape shape = RandomShape(random);
    const auto whole = RankTilings(shape, config, 0, Ranked::kEvery);
    const auto part = RankTilings(shape, config, 0, Ranked::kEvery, 0.25);
    ASSERT_EQ(part.empty(), whole.empty());
    if (whole.empty()) continue;
    fewer += part.size() < whole.size();
    EXPECT_LE(static_cast<double>(part[0].cycles), 1.05 * static_cast<double>(whole[0].cycles))
        << i;
  }
  EXPECT_GT(fewer, 3u);
}

}  // namespace
}  // namespace kiln::vta
