// The numbers of single layers: planes, signs, magnitudes, zero points and tests, against plain
// arithmetic on real numbers.

#include "kiln/targets/binary/compile/layer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fmt/format.h"
#include "tests/targets/binary/compile/plain_network.h"

namespace kiln::binary {
namespace {

Config SmallConfig() {
  Config config;
  config.name = "small";
  config.stages = 2;
  config.channels_0 = 8;
  config.channels_1 = 4;
  config.columns_0 = config.columns_1 = 2;
  config.beat_bytes = 8;
  config.column_depth = 16;
  config.row_words = 128;
  config.weight_words = 512;
  config.skip_beats = 128;
  return config;
}

// A convolution with what is behind it: a product by channel if `factors` is not empty, and relu.
struct Case {
  PlainMap map;
  PlainConv conv;
  PlainCodes in = Unsigned(1), out = Unsigned(32);
  int bits = 8;
  std::vector<double> factors;
  bool relu = true;

  PlainMap Expected() const {
    PlainMap result = conv.Run(map);
    for (size_t i = 0; i < result.values.size() && !factors.empty(); ++i)
      result.values[i] *= factors[i % factors.size()];
    return Rounded(relu ? Relu(result) : result, out);
  }
  Graph Network() const {
    const std::string type = TypeOf(Expected());
    std::string body = fmt::format("  input %x : {}{}\n", TypeOf(map), in.Text());
    body += conv.Constant("w", bits);
    std::string last = "1";
    const bool several = relu || !factors.empty();
    body += fmt::format("  %1 = {} : {}{}\n", conv.Node("x", "w"), type, several ? "" : out.Text());
    if (!factors.empty()) {
      body += fmt::format("  const %f : f32[{}] = [", factors.size());
      for (size_t i = 0; i < factors.size(); ++i)
        body += fmt::format("{}{:.12f}", i == 0 ? "" : ", ", factors[i]);
      body += fmt::format("]\n  %2 = mul %1, %f : {}{}\n", type, relu ? "" : out.Text());
      last = "2";
    }
    if (relu) {
      body += fmt::format("  %3 = relu %{} : {}{}\n", last, type, out.Text());
      last = "3";
    }
    return GraphOf(body + "  output %" + last + "\n");
  }
  Layer OwnLayer(const Graph& graph, const Config& config) const {
    std::vector<const Node*> nodes;
    for (const auto& node : graph.nodes()) nodes.push_back(node.get());
    auto layer = LayerOf(nodes, config, "test.kir");
    EXPECT_TRUE(layer.ok()) << MessageOf(layer.status());
    return *std::move(layer);
  }
};

// Runs a case with all kinds of tests that never change a result; returns what tests decided.
int64_t ExpectPlainResult(const Case& layer, Config config) {
  const Graph graph = layer.Network();
  int64_t decided = 0;
  for (const Prediction prediction : {Prediction::kNone, Prediction::kExact}) {
    config.prediction = prediction;
    const Compiled compiled = CompileAndRun(graph, config, layer.map);
    EXPECT_EQ(compiled.result, layer.Expected().values);
    EXPECT_EQ(compiled.wrong, 0);
    EXPECT_EQ(std::ranges::count(compiled.launches, 0), 0) << "a kernel of the host";
    if (prediction == Prediction::kNone) {
      EXPECT_EQ(compiled.decided, 0);
    }
    decided += compiled.decided;
  }
  return decided;
}

TEST(BinaryLayer, PlanesAreTheBitsOfAWeight) {
  Random random(1);
  for (const int bits : {2, 3, 5, 8}) {
    Case layer;
    layer.map = RandomMap(random, 4, 4, 3, layer.in);
    layer.conv = RandomConv(random, 3, 5, 3, -(1 << (bits - 1)), (1 << (bits - 1)) - 1);
    layer.conv.codes[0] = -(1 << (bits - 1));
    layer.out = Unsigned(1 << (bits + 2));
    const Graph graph = layer.Network();
    const Config config = SmallConfig();
    const Layer own = layer.OwnLayer(graph, config);
    EXPECT_EQ(own.bits, bits);
    const auto stage = StageOf(own, {.channels = 5, .columns = 4}, config, 0);
    ASSERT_TRUE(stage.ok()) << MessageOf(stage.status());
    EXPECT_TRUE(stage->subtract_base);
    ASSERT_EQ(stage->planes(), bits);
    EXPECT_EQ(std::ssize(stage->steps), 2 * bits);
    const auto channels = static_cast<size_t>(stage->list * config.columns(0));
    for (size_t n = 0; n < 5; ++n) {
      for (size_t t = 0; t < 27; ++t) {
        // 2 w = sum of 2^p s_p, less 1.
        int sum = -1;
        for (int p = 0; p < bits; ++p) {
          const size_t at = (static_cast<size_t>(p) * channels + n) * 27 + t;
          sum += (stage->signs[at] != 0 ? 1 : -1) << p;
        }
        const size_t place = t / 3, channel = t % 3;
        EXPECT_EQ(sum, 2 * layer.conv.codes[(n * 3 + channel) * 9 + place]);
      }
    }
    ExpectPlainResult(layer, config);
  }
}

TEST(BinaryLayer, WeightsOfOneMagnitudeByChannelAreSigns) {
  Random random(2);
  Case layer;
  layer.map = RandomMap(random, 5, 4, 3, layer.in);
  layer.conv = RandomConv(random, 3, 4, 3, 0, 1);
  const std::vector<int> magnitudes = {1, 2, 16, 127};
  for (size_t i = 0; i < layer.conv.codes.size(); ++i) {
    int& code = layer.conv.codes[i];
    code = (code == 0 ? -1 : 1) * magnitudes[i / 27];
  }
  layer.conv.scales = {1, 0.5, 0.125, 1};
  layer.out = Unsigned(8);
  const Graph graph = layer.Network();
  const Layer own = layer.OwnLayer(graph, SmallConfig());
  EXPECT_EQ(own.bits, 1);
  EXPECT_EQ(own.line.factors, (std::vector<double>{1, 1, 2, 127}));
  EXPECT_TRUE(std::ranges::all_of(own.weights, [](int32_t w) { return w == 1 || w == -1; }));
  const auto stage = StageOf(own, {.channels = 4, .columns = 4}, SmallConfig(), 0);
  ASSERT_TRUE(stage.ok()) << MessageOf(stage.status());
  EXPECT_FALSE(stage->subtract_base);
  EXPECT_EQ(stage->planes(), 1);
  ExpectPlainResult(layer, SmallConfig());
  // One weight of another magnitude, and the layer has planes.
  layer.conv.codes[30] = 1;
  EXPECT_EQ(layer.OwnLayer(layer.Network(), SmallConfig()).bits, 8);
  ExpectPlainResult(layer, SmallConfig());
}

// Weights of -1 and 0, or of 0 alone, would fit one bit, but a sign is never 0.
TEST(BinaryLayer, AWeightOfZeroIsNoSign) {
  Random random(6);
  for (const int least : {-1, 0}) {
    Case layer;
    layer.map = RandomMap(random, 4, 4, 3, layer.in);
    layer.conv = RandomConv(random, 3, 4, 3, least, 0);
    layer.relu = false;
    layer.out = Signed(32);
    EXPECT_EQ(layer.OwnLayer(layer.Network(), SmallConfig()).bits, 2);
    ExpectPlainResult(layer, SmallConfig());
  }
}

TEST(BinaryLayer, NegativeFactorsFlipSigns) {
  Random random(3);
  for (const bool binary : {true, false}) {
    Case layer;
    layer.map = RandomMap(random, 4, 5, 3, layer.in);
    layer.conv = RandomConv(random, 3, 4, 3, binary ? 0 : -128, binary ? 1 : 127);
    if (binary) {
      for (int& code : layer.conv.codes) code = 2 * code - 1;
    } else {
      // The negative of the least code needs another bit.
      layer.conv.codes[0] = -128;
    }
    layer.factors = {-0.5, 1, -2, 0.25};
    layer.out = binary ? Unsigned(2) : Unsigned(256);
    const Graph graph = layer.Network();
    const Layer own = layer.OwnLayer(graph, SmallConfig());
    EXPECT_EQ(own.bits, binary ? 1 : 9);
    EXPECT_EQ(own.line.factors, (std::vector<double>{0.5, 1, 2, 0.25}));
    for (size_t n = 0; n < 4; ++n) {
      const int code = layer.conv.codes[n * 27];
      EXPECT_EQ(own.weights[n * 27], n % 2 == 0 ? -code : code);
    }
    ExpectPlainResult(layer, SmallConfig());
  }
}

TEST(BinaryLayer, ZeroPointsOfInputsAndResults) {
  Random random(4);
  const std::vector<PlainCodes> inputs = {{"uint8", 0.5, 7, 0, 255},
                                          {"int8", 0.25, -128, -128, 127},
                                          {"int8", 1, 0, -128, 127},
                                          {"int8", 1, 5, -128, 127}};
  const std::vector<PlainCodes> outputs = {{"uint8", 16, 0, 0, 255},
                                           {"uint8", 32, 100, 0, 255},
                                           {"int8", 16, -128, -128, 127},
                                           {"int8", 32, -3, -128, 127}};
  for (const PlainCodes& in : inputs) {
    for (const PlainCodes& out : outputs) {
      for (const bool relu : {false, true}) {
        if (relu && out.zero > 0) continue;  // bounds without the code 0 are the host's
        Case layer;
        layer.in = in;
        layer.out = out;
        layer.relu = relu;
        layer.map = RandomMap(random, 4, 4, 3, in);
        layer.conv = RandomConv(random, 3, 3, 3, -8, 7);
        SCOPED_TRACE(in.Text() + " to " + out.Text() + (relu ? ", relu" : ""));
        ExpectPlainResult(layer, SmallConfig());
      }
    }
  }
}

TEST(BinaryLayer, TestsNeverChangeAResult) {
  Random random(5);
  int64_t decided = 0;
  for (int i = 0; i < 60; ++i) {
    Case layer;
    const bool binary = i % 2 == 0;
    layer.in = random.Below(3) == 0 ? Signed(1) : Unsigned(1);
    const auto in = static_cast<int>(random.Between(1, 9)),
               out = static_cast<int>(random.Between(1, 24)),
               kernel = 1 + 2 * static_cast<int>(random.Below(2));
    layer.map = RandomMap(random, 4, 3, in, layer.in);
    layer.conv = RandomConv(random, in, out, kernel, binary ? 0 : -4, binary ? 1 : 2);
    if (binary) {
      for (int& code : layer.conv.codes) code = 2 * code - 1;
    }
    layer.out = Unsigned(static_cast<double>(1 << random.Below(6)));
    SCOPED_TRACE(i);
    // One column with all output channels, so that tests are worth waiting for.
    Config config = SmallConfig();
    config.columns_0 = 1;
    config.column_depth = 32;
    config.weight_words = 1024;
    decided += ExpectPlainResult(layer, config);
  }
  EXPECT_GT(decided, 100);
}

// A limit is the least sum whose result is above the low bound; tests may decide all sums below it,
// and no other.
TEST(BinaryLayer, LimitsAreTheLeastSumsAboveTheLowBound) {
  Random random(7);
  int64_t limits = 0;
  for (int i = 0; i < 12; ++i) {
    Case layer;
    layer.map = RandomMap(random, 4, 4, 3, layer.in);
    layer.conv = RandomConv(random, 3, 6, 3, -4, 3);
    layer.out = i % 2 == 0 ? Unsigned(16) : Signed(8);
    // With quotients that are whole numbers, and with others.
    if (i % 3 != 0) layer.factors = {0.5, 1, 0.3, 0.7, 2, 0.01};
    const auto stage = StageOf(layer.OwnLayer(layer.Network(), SmallConfig()),
                               {.channels = 6, .columns = 4}, SmallConfig(), 0);
    ASSERT_TRUE(stage.ok()) << MessageOf(stage.status());
    for (size_t n = 0; n < 6; ++n) {
      const auto result = [&](int64_t sum) {
        const int64_t value = (sum * stage->multipliers[n] + stage->addends[n]) >> stage->shift;
        return std::clamp(value, stage->low, stage->high);
      };
      EXPECT_EQ(result(stage->limits[n] - 1), stage->low) << "case " << i << ", channel " << n;
      EXPECT_GT(result(stage->limits[n]), stage->low) << "case " << i << ", channel " << n;
      ++limits;
    }
  }
  EXPECT_EQ(limits, 72);
}

// Returns the most that the steps behind step `i` can add to the sum of output channel n: a signed
// digit is -8 to 7, any other 0 to 15.
int64_t MostBehind(const StageProgram& stage, size_t i, size_t n, size_t channels, size_t taps) {
  int64_t most = 0;
  for (size_t j = i + 1; j < stage.steps.size(); ++j) {
    const LookupStep& step = stage.steps[j];
    const bool is_signed = stage.signed_codes && step.digit == stage.top_digit;
    for (size_t t = 0; t < taps; ++t) {
      const bool positive =
          stage.signs[(static_cast<size_t>(step.plane) * channels + n) * taps + t] != 0;
      const int64_t tap = positive ? (is_signed ? 7 : 15) : (is_signed ? 8 : 0);
      most += tap << step.shift();
    }
  }
  return most;
}

// A sum below a threshold stays below the limit, whatever the steps behind the test add; with
// unsigned digits no greater threshold does that.
TEST(BinaryLayer, ThresholdsLeaveRoomForTheStepsBehind) {
  Random random(8);
  int64_t thresholds[2] = {0, 0};  // by whether codes are signed
  for (const PlainCodes& in : {Unsigned(1), PlainCodes{"int4", 1, 0, -8, 7}}) {
    for (const int bits : {2, 3}) {
      Case layer;
      layer.in = in;
      layer.map = RandomMap(random, 4, 4, 5, in);
      layer.conv = RandomConv(random, 5, 12, 3, -(1 << (bits - 1)), (1 << (bits - 1)) - 1);
      Config config = SmallConfig();
      config.prediction = Prediction::kExact;
      config.columns_0 = 1;
      config.column_depth = 32;
      config.weight_words = 1024;
      const auto stage = StageOf(layer.OwnLayer(layer.Network(), config),
                                 {.channels = 12, .columns = 4}, config, 0);
      ASSERT_TRUE(stage.ok()) << MessageOf(stage.status());
      const size_t channels = stage->multipliers.size();
      size_t at = 0;
      for (size_t i = 0; i < stage->steps.size(); ++i) {
        if (!stage->steps[i].test) continue;
        for (size_t n = 0; n < channels; ++n, ++at) {
          const int64_t greatest = stage->limits[n] - MostBehind(*stage, i, n, channels, 45);
          EXPECT_LE(stage->thresholds[at], greatest) << in.format << ", channel " << n;
          if (!stage->signed_codes) {
            EXPECT_EQ(stage->thresholds[at], greatest) << "channel " << n;
          }
          ++thresholds[stage->signed_codes ? 1 : 0];
        }
      }
    }
  }
  EXPECT_GE(thresholds[0], 12);
  EXPECT_GE(thresholds[1], 12);
}

}  // namespace
}  // namespace kiln::binary
