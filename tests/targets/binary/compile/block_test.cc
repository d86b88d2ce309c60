// Blocks of layers: parts of layers have the bits of the whole layer, and which layers share a
// kernel.

#include "kiln/targets/binary/compile/block.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fmt/format.h"
#include "kiln/targets/binary/compile/network_program.h"
#include "tests/targets/binary/compile/plain_network.h"

namespace kiln::binary {
namespace {

Config ThreeStages() {
  Config config;
  config.name = "three";
  config.channels_0 = 8;
  config.channels_1 = config.channels_2 = 4;
  config.columns_0 = config.columns_1 = config.columns_2 = 2;
  config.beat_bytes = 8;
  config.column_depth = 16;
  config.row_words = 256;
  config.weight_words = 1024;
  config.skip_beats = 256;
  return config;
}

std::string LayerText(const PlainConv& conv, const std::string& input, const std::string& name,
                      const PlainMap& result, const PlainCodes& codes) {
  return conv.Constant("w" + name, 4) +
         fmt::format("  %p{0} = {1} : {2}\n  %{0} = relu %p{0} : {2}{3}\n", name,
                     conv.Node(input, "w" + name), TypeOf(result), codes.Text());
}

int64_t KernelsOfTheHost(const Program& program) {
  int64_t count = 0;
  for (const KernelInfo& kernel : program.kernels()) count += kernel.on_host() ? 1 : 0;
  return count;
}

TEST(BinaryBlock, PartsHaveTheBitsOfTheWholeLayer) {
  Random random(1);
  int64_t most_strips = 0, most_channel_parts = 0;
  for (int i = 0; i < 24; ++i) {
    const PlainCodes in = i % 4 == 3 ? PlainCodes{"uint8", 0.5, 9, 0, 255} : Unsigned(1),
                     out = Unsigned(16);
    const PlainMap map = RandomMap(random, 6, 13, 5, in);
    PlainConv conv = RandomConv(random, 5, 11, i % 3 == 0 ? 1 : 3, -8, 7);
    conv.stride = i % 2 == 0 ? 1 : 2;
    const PlainMap expected = Rounded(Relu(conv.Run(map)), out);
    const Graph graph = GraphOf(fmt::format("  input %x : {}{}\n", TypeOf(map), in.Text()) +
                                LayerText(conv, "x", "y", expected, out) + "  output %y\n");
    SCOPED_TRACE(i);
    const Compiled whole = CompileAndRun(graph, ThreeStages(), map);
    EXPECT_EQ(whole.launches, std::vector<int64_t>{1});
    EXPECT_EQ(whole.result, expected.values);
    // Strips of columns, parts of channels, and both.
    Config strips = ThreeStages(), channels = ThreeStages();
    strips.row_words = 8;
    channels.column_depth = 2;
    Config both = channels;
    both.row_words = 8;
    const Compiled in_strips = CompileAndRun(graph, strips, map),
                   in_channels = CompileAndRun(graph, channels, map),
                   in_both = CompileAndRun(graph, both, map);
    EXPECT_EQ(in_strips.result, expected.values);
    EXPECT_EQ(in_channels.result, expected.values);
    EXPECT_EQ(in_both.result, expected.values);
    ASSERT_EQ(in_strips.launches.size(), 1U);
    ASSERT_EQ(in_channels.launches.size(), 1U);
    EXPECT_EQ(in_both.launches[0], in_strips.launches[0] * in_channels.launches[0]);
    most_strips = std::max(most_strips, in_strips.launches[0]);
    most_channel_parts = std::max(most_channel_parts, in_channels.launches[0]);
  }
  EXPECT_GE(most_strips, 2);
  EXPECT_EQ(most_channel_parts, 3);  // 11 channels, 4 at a time
}

// A pixel of the input has a row of the window where that takes fewer cycles: wide windows of few
// channels, at every stride, with padding, with a zero point, and in parts.
TEST(BinaryBlock, RowsOfWideWindowsAreFolded) {
  Random random(5);
  Config config = ThreeStages();
  config.channels_0 = 16;
  int64_t folded = 0, unfolded = 0;
  for (int i = 0; i < 30; ++i) {
    SCOPED_TRACE(i);
    const PlainCodes in = i % 3 == 2 ? PlainCodes{"uint8", 0.5, 9, 0, 255} : Unsigned(1),
                     out = Unsigned(64);
    const int channels = 1 + i % 4, kernel = 3 + i % 5;
    const PlainMap map = RandomMap(random, 9, 14, channels, in);
    PlainConv conv = RandomConv(random, channels, 7, kernel, -8, 7);
    conv.stride = 1 + i % 4;
    conv.pad = i % 2 == 0 ? kernel / 2 : 0;
    const PlainMap expected = Rounded(Relu(conv.Run(map)), out);
    const Graph graph = GraphOf(fmt::format("  input %x : {}{}\n", TypeOf(map), in.Text()) +
                                LayerText(conv, "x", "y", expected, out) + "  output %y\n");
    Config parts = config;
    parts.column_depth = 2;
    parts.row_words = 8;
    for (const Config& own : {config, parts}) {
      const Compiled compiled = CompileAndRun(graph, own, map);
      EXPECT_EQ(compiled.result, expected.values);
      const auto& network = static_cast<const NetworkProgram&>(*compiled.program);
      for (const Launch& launch : network.launches()[0]) {
        const StageProgram& stage = launch.program.stages[0];
        EXPECT_TRUE(stage.kernel_width == 1 || stage.kernel_width == kernel);
        EXPECT_TRUE(stage.kernel_width != 1 || kernel * channels <= 16);
        (stage.kernel_width == 1 ? folded : unfolded) += 1;
        EXPECT_EQ(network.kernels()[0].schedule.ends_with("a row of the window in each"),
                  stage.kernel_width == 1);
      }
    }
  }
  EXPECT_GT(folded, 20);
  EXPECT_GT(unfolded, 20);
}

// What is added to a layer whose rows are folded is a part of the record of its own; layers behind
// it read its result as they do any other.
TEST(BinaryBlock, FoldedRowsInABlock) {
  Random random(6);
  Config config = ThreeStages();
  config.channels_0 = 16;
  const PlainCodes codes = Unsigned(16), sum = Unsigned(32);
  const PlainMap map = RandomMap(random, 8, 9, 2, codes);
  PlainConv a = RandomConv(random, 2, 2, 7, -8, 7), b = RandomConv(random, 2, 2, 3, -8, 7);
  a.scales = b.scales = {1.0 / 64};
  const PlainMap ra = Rounded(Relu(a.Run(map)), codes), rb = Rounded(Relu(b.Run(ra)), codes);
  for (const bool two : {false, true}) {
    const PlainMap& last = two ? rb : ra;
    const PlainMap expected = Rounded(Sum(last, map), sum);
    const Graph graph =
        GraphOf(fmt::format("  input %x : {}{}\n", TypeOf(map), codes.Text()) +
                LayerText(a, "x", "a", ra, codes) + (two ? LayerText(b, "a", "b", rb, codes) : "") +
                fmt::format("  %t = add %{}, %x : {}{}\n  output %t\n", two ? "b" : "a",
                            TypeOf(last), sum.Text()));
    const Compiled compiled = CompileAndRun(graph, config, map);
    EXPECT_EQ(compiled.result, expected.values);
    EXPECT_EQ(compiled.launches, std::vector<int64_t>{1});
    const auto& network = static_cast<const NetworkProgram&>(*compiled.program);
    EXPECT_EQ(network.launches()[0][0].program.stages.size(), two ? 2u : 1u);
    EXPECT_EQ(network.launches()[0][0].program.stages[0].kernel_width, 1);
  }
}

// The block of hourglass networks: three convolutions one after the other, whose results stand side
// by side and are added to the input.
TEST(BinaryBlock, AParallelResidualBlockIsOneKernel) {
  Random random(2);
  const PlainCodes codes = Unsigned(16), sum = Unsigned(32);
  const PlainMap map = RandomMap(random, 5, 6, 8, codes);
  PlainConv a = RandomConv(random, 8, 4, 3, -8, 7), b = RandomConv(random, 4, 2, 3, -8, 7),
            c = RandomConv(random, 2, 2, 3, -8, 7);
  a.scales = b.scales = c.scales = {1.0 / 64};
  const PlainMap ra = Rounded(Relu(a.Run(map)), codes), rb = Rounded(Relu(b.Run(ra)), codes),
                 rc = Rounded(Relu(c.Run(rb)), codes), joined = Joined({ra, rb, rc});
  const PlainMap expected = Rounded(Sum(joined, map), sum);
  const Graph graph = GraphOf(
      fmt::format("  input %x : {}{}\n", TypeOf(map), codes.Text()) +
      LayerText(a, "x", "a", ra, codes) + LayerText(b, "a", "b", rb, codes) +
      LayerText(c, "b", "c", rc, codes) +
      fmt::format("  %j = concat %a, %b, %c {{axis=3}} : {0}{1}\n  %s = add %j, %x : {0}{2}\n",
                  TypeOf(joined), codes.Text(), sum.Text()) +
      "  output %s\n");
  const Compiled compiled = CompileAndRun(graph, ThreeStages(), map);
  EXPECT_EQ(compiled.result, expected.values);
  EXPECT_EQ(compiled.launches, std::vector<int64_t>{1});
  ASSERT_EQ(std::ssize(compiled.program->kernels()), 1);
  EXPECT_EQ(KernelsOfTheHost(*compiled.program), 0);
}

// A shortcut with a convolution of its own: the last layer of the block adds it, in a kernel of its
// own, as it is not there when the block begins and has another size than the block's input.
TEST(BinaryBlock, ASumWithAShortcutIsSeparated) {
  Random random(3);
  const PlainCodes codes = Unsigned(16), sum = Unsigned(32);
  const PlainMap map = RandomMap(random, 6, 6, 8, codes);
  PlainConv a = RandomConv(random, 8, 4, 3, -8, 7), shortcut = RandomConv(random, 8, 4, 1, -8, 7);
  PlainConv b = RandomConv(random, 4, 4, 3, -8, 7);
  a.scales = b.scales = shortcut.scales = {1.0 / 64};
  a.stride = shortcut.stride = 2;
  const PlainMap rs = Rounded(Relu(shortcut.Run(map)), codes),
                 ra = Rounded(Relu(a.Run(map)), codes), rb = Rounded(Relu(b.Run(ra)), codes);
  const PlainMap expected = Rounded(Sum(rb, rs), sum);
  const Graph graph =
      GraphOf(fmt::format("  input %x : {}{}\n", TypeOf(map), codes.Text()) +
              LayerText(shortcut, "x", "s", rs, codes) + LayerText(a, "x", "a", ra, codes) +
              LayerText(b, "a", "b", rb, codes) +
              fmt::format("  %t = add %b, %s : {}{}\n  output %t\n", TypeOf(rb), sum.Text()));
  const Compiled compiled = CompileAndRun(graph, ThreeStages(), map);
  EXPECT_EQ(compiled.result, expected.values);
  EXPECT_EQ(std::ssize(compiled.launches), 3);
  EXPECT_EQ(KernelsOfTheHost(*compiled.program), 0);
}

TEST(BinaryBlock, LayersInARowShareAKernelWhereThatIsFaster) {
  Random random(4);
  const PlainCodes codes = Unsigned(16);
  const PlainMap map = RandomMap(random, 6, 6, 8, codes);
  PlainConv a = RandomConv(random, 8, 4, 3, -8, 7), b = RandomConv(random, 4, 4, 3, -8, 7);
  a.scales = b.scales = {1.0 / 64};
  const PlainMap ra = Rounded(Relu(a.Run(map)), codes), rb = Rounded(Relu(b.Run(ra)), codes);
  for (const bool read_outside : {false, true}) {
    const Graph graph =
        GraphOf(fmt::format("  input %x : {}{}\n", TypeOf(map), codes.Text()) +
                LayerText(a, "x", "a", ra, codes) + LayerText(b, "a", "b", rb, codes) +
                "  output %b\n" + (read_outside ? "  output %a\n" : ""));
    const Compiled compiled = CompileAndRun(graph, ThreeStages(), map);
    EXPECT_EQ(compiled.result, rb.values);
    EXPECT_EQ(compiled.launches, std::vector<int64_t>{1});
  }
}

}  // namespace
}  // namespace kiln::binary
