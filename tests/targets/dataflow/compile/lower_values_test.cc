// Tests what lowered layers of random sizes compute: convolutions against ONNX's definition, which
// is implemented here, pools and data movement against the reference executor. All numbers are
// small integers, so both are exact.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kiln/execute/reference.h"
#include "kiln/support/random.h"
#include "kiln/targets/dataflow/compile/lower.h"
#include "tests/targets/dataflow/compile/lowered.h"

namespace kiln::dataflow {
namespace {

std::vector<double> Integers(Random* random, int64_t count, int64_t low, int64_t high) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < count; ++i)
    numbers.push_back(static_cast<double>(random->Between(low, high)));
  return numbers;
}

// Writes numbers as a list of fp32 constants.
std::string List(const std::vector<double>& numbers) {
  std::string text;
  for (const double number : numbers)
    text += fmt::format("{}{:.1f}", text.empty() ? "" : ", ", number);
  return "[" + text + "]";
}

// The sizes of a convolution.
struct Sizes {
  int64_t height = 1, width = 1, groups = 1;
  int64_t in = 1, out = 1;  // channels of a group
  // By axis: rows, columns.
  int64_t kernel[2] = {}, stride[2] = {}, dilation[2] = {}, begin[2] = {}, end[2] = {};
  int64_t output(int axis) const {
    const int64_t size = axis == 0 ? height : width;
    return (size + begin[axis] + end[axis] - (kernel[axis] - 1) * dilation[axis] - 1) /
               stride[axis] +
           1;
  }
  bool IsPossible() const {
    for (const int axis : {0, 1}) {
      if ((axis == 0 ? height : width) + begin[axis] + end[axis] <
          (kernel[axis] - 1) * dilation[axis] + 1)
        return false;
    }
    return true;
  }
};

Sizes RandomSizes(Random* random) {
  Sizes s;
  do {
    s.height = random->Between(1, 8);
    s.width = random->Between(1, 8);
    s.groups = random->Between(1, 3);
    s.in = random->Between(1, 3);
    s.out = random->Between(1, 3);
    for (const int axis : {0, 1}) {
      s.kernel[axis] = random->Between(1, 4);
      s.stride[axis] = random->Between(1, 3);
      s.dilation[axis] = random->Between(1, 3);
      s.begin[axis] = random->Between(0, 4);
      s.end[axis] = random->Between(0, 4);
    }
  } while (!s.IsPossible());
  return s;
}

std::string WindowText(const Sizes& s) {
  return fmt::format("strides=[{}, {}], dilations=[{}, {}], pads=[{}, {}, {}, {}]", s.stride[0],
                     s.stride[1], s.dilation[0], s.dilation[1], s.begin[0], s.begin[1], s.end[0],
                     s.end[1]);
}

// ONNX Conv on an NHWC map with weights [out][in][ky][kx].
std::vector<double> Convolve(const Sizes& s, const std::vector<double>& x,
                             const std::vector<double>& w, const std::vector<double>& bias) {
  std::vector<double> y;
  const int64_t in = s.groups * s.in, out = s.groups * s.out;
  for (int64_t oy = 0; oy < s.output(0); ++oy) {
    for (int64_t ox = 0; ox < s.output(1); ++ox) {
      for (int64_t o = 0; o < out; ++o) {
        double sum = bias[static_cast<size_t>(o)];
        for (int64_t i = 0; i < s.in; ++i) {
          for (int64_t ky = 0; ky < s.kernel[0]; ++ky) {
            for (int64_t kx = 0; kx < s.kernel[1]; ++kx) {
              const int64_t iy = oy * s.stride[0] + ky * s.dilation[0] - s.begin[0],
                            ix = ox * s.stride[1] + kx * s.dilation[1] - s.begin[1];
              if (iy < 0 || iy >= s.height || ix < 0 || ix >= s.width) continue;
              const int64_t channel = o / s.out * s.in + i;
              sum += x[static_cast<size_t>((iy * s.width + ix) * in + channel)] *
                     w[static_cast<size_t>(((o * s.in + i) * s.kernel[0] + ky) * s.kernel[1] + kx)];
            }
          }
        }
        y.push_back(sum);
      }
    }
  }
  return y;
}

TEST(DataflowLowerValues, ConvolutionsAreThoseOfOnnx) {
  Random random(11);
  int padded = 0, depthwise = 0;
  for (int i = 0; i < 600; ++i) {
    const Sizes s = RandomSizes(&random);
    const int64_t in = s.groups * s.in, out = s.groups * s.out;
    const int64_t zero = random.Between(-4, 4);
    const auto x = Integers(&random, s.height * s.width * in, -20, 20),
               w = Integers(&random, out * s.in * s.kernel[0] * s.kernel[1], -3, 3),
               bias = Integers(&random, out, -9, 9);
    const std::string text = fmt::format(
        "input %x : f32[1x{}x{}x{}] quant int8 per_tensor scale=[1.0] zero=[{}]\n"
        "const %w : f32[{}x{}x{}x{}] quant int3 per_tensor symmetric scale=[1.0] = {}\n"
        "const %b : f32[{}] = {}\n"
        "%1 = conv %x, %w, %b {{layout=\"nhwc\", group={}, {}}} : f32[1x{}x{}x{}]\n"
        "output %1",
        s.height, s.width, in, zero, out, s.in, s.kernel[0], s.kernel[1], List(w), out, List(bias),
        s.groups, WindowText(s), s.output(0), s.output(1), out);
    const auto lowered = LowerText(text, /*host=*/false);
    ASSERT_TRUE(lowered.ok()) << MessageOf(lowered.status()) << "\n" << text;
    ASSERT_EQ(RunLowered(*lowered, x), Convolve(s, x, w, bias)) << text;
    padded += lowered->layers.size() > 1 ? 1 : 0;
    depthwise += lowered->layers.back().stage.kind == StageKind::kDepthwise ? 1 : 0;
  }
  // All kinds of layers were met.
  EXPECT_GT(padded, 50);
  EXPECT_GT(depthwise, 10);
}

// Runs a graph of one input on the reference executor.
std::vector<double> Reference(const std::string& text, const std::vector<double>& x) {
  const Graph graph = GraphOf(text);
  const std::vector<float> numbers(x.begin(), x.end());
  const Tensor input = Tensor::Of(graph.inputs()[0]->shape(), numbers);
  const auto executor = ReferenceExecutor::Create(graph);
  EXPECT_TRUE(executor.ok());
  const auto outputs = (*executor)->Run(std::vector<Tensor>{input});
  EXPECT_TRUE(outputs.ok()) << MessageOf(outputs.status());
  std::vector<double> values;
  for (int64_t i = 0; i < (*outputs)[0].size(); ++i) values.push_back((*outputs)[0].ValueAt(i));
  return values;
}

// Both kinds of pools, with rounding of the size up or down. Refusals are allowed for averages that
// do not have one divisor; whatever becomes a layer must be exact.
TEST(DataflowLowerValues, PoolsAreThoseOfTheReference) {
  Random random(12);
  int averages = 0, maxima = 0, ceil = 0;
  for (int i = 0; i < 800; ++i) {
    Sizes s = RandomSizes(&random);
    const bool average = random.Below(2) == 0;
    const bool up = random.Below(2) == 0;
    for (const int axis : {0, 1}) {  // ONNX: a padding is smaller than the kernel
      s.begin[axis] %= s.kernel[axis];
      s.end[axis] %= s.kernel[axis];
    }
    if (!s.IsPossible()) continue;
    const int64_t channels = s.in;
    const auto output = [&](int axis) {
      const int64_t size = (axis == 0 ? s.height : s.width) + s.begin[axis] + s.end[axis] -
                           (s.kernel[axis] - 1) * s.dilation[axis] - 1;
      int64_t count = (up ? size + s.stride[axis] - 1 : size) / s.stride[axis] + 1;
      // A window that begins in the padding at the end does not count.
      if (up && (count - 1) * s.stride[axis] >= (axis == 0 ? s.height : s.width) + s.begin[axis])
        --count;
      return count;
    };
    const std::string text = fmt::format(
        "input %x : f32[1x{}x{}x{}] Q\n"
        "%1 = {} %x {{layout=\"nhwc\", kernel_shape=[{}, {}], {}, ceil_mode={}{}}} "
        ": f32[1x{}x{}x{}]{}\noutput %1",
        s.height, s.width, channels, average ? "average_pool" : "max_pool", s.kernel[0],
        s.kernel[1], WindowText(s), up ? 1 : 0, average ? ", count_include_pad=1" : "", output(0),
        output(1), channels, average ? "" : " Q");
    const auto lowered = LowerText(text, /*host=*/false);
    if (!lowered.ok()) {
      ASSERT_TRUE(average) << MessageOf(lowered.status()) << "\n" << text;
      continue;
    }
    const auto x = Integers(&random, s.height * s.width * channels, -20, 20);
    const std::vector<double> given = RunLowered(*lowered, x), expected = Reference(text, x);
    ASSERT_EQ(given.size(), expected.size()) << text;
    // A maximum over padding alone is minus infinity, which saturates.
    for (size_t k = 0; k < given.size(); ++k)
      ASSERT_NEAR(given[k], std::max(expected[k], -128.0), 1e-4) << k << "\n" << text;
    (average ? averages : maxima) += 1;
    ceil += up ? 1 : 0;
  }
  EXPECT_GT(averages, 100);
  EXPECT_GT(maxima, 200);
  EXPECT_GT(ceil, 100);
}

// Up-sampling by whole factors and depth to space, in the order of axes after the layout pass.
TEST(DataflowLowerValues, RearrangementsAreThoseOfOnnx) {
  Random random(13);
  for (int i = 0; i < 200; ++i) {
    const int64_t h = random.Between(1, 5), w = random.Between(1, 5), c = random.Between(1, 3),
                  f = random.Between(2, 3);
    const auto depth = Integers(&random, h * w * c * f * f, -20, 20);
    const std::string text = fmt::format(
        "input %x : f32[1x{0}x{1}x{2}] Q\n"
        "%1 = transpose %x {{perm=[0, 3, 1, 2]}} : f32[1x{2}x{0}x{1}] Q\n"
        "%2 = depth_to_space %1 {{blocksize={3}}} : f32[1x{4}x{5}x{6}] Q\n"
        "%3 = transpose %2 {{perm=[0, 2, 3, 1]}} : f32[1x{5}x{6}x{4}] Q\noutput %3",
        h, w, c * f * f, f, c, h * f, w * f);
    const auto lowered = LowerText(text, /*host=*/false);
    ASSERT_TRUE(lowered.ok()) << MessageOf(lowered.status()) << "\n" << text;
    // ONNX, mode DCR: element (y, x) of block (by, bx) of channel k is channel
    // (by * f + bx) * c + k of pixel (y, x).
    std::vector<double> expected;
    for (int64_t y = 0; y < h * f; ++y) {
      for (int64_t x = 0; x < w * f; ++x) {
        for (int64_t k = 0; k < c; ++k)
          expected.push_back(depth[static_cast<size_t>((y / f * w + x / f) * c * f * f +
                                                       (y % f * f + x % f) * c + k)]);
      }
    }
    ASSERT_EQ(RunLowered(*lowered, depth), expected) << text;

    const int64_t fy = random.Between(1, 3), fx = random.Between(1, 3);
    const auto map = Integers(&random, h * w * c, -20, 20);
    const std::string repeat = fmt::format(
        "input %x : f32[1x{}x{}x{}] Q\nconst %s : f32[4] = [1.0, {}.0, {}.0, 1.0]\n"
        "%1 = resize %x, _, %s {{mode=\"nearest\", "
        "coordinate_transformation_mode=\"asymmetric\", nearest_mode=\"floor\"}} "
        ": f32[1x{}x{}x{}] Q\noutput %1",
        h, w, c, fy, fx, h * fy, w * fx, c);
    const auto repeated = LowerText(repeat, /*host=*/false);
    ASSERT_TRUE(repeated.ok()) << MessageOf(repeated.status()) << "\n" << repeat;
    expected.clear();
    for (int64_t y = 0; y < h * fy; ++y) {
      for (int64_t x = 0; x < w * fx; ++x) {
        for (int64_t k = 0; k < c; ++k)
          expected.push_back(map[static_cast<size_t>((y / fy * w + x / fx) * c + k)]);
      }
    }
    ASSERT_EQ(RunLowered(*repeated, map), expected) << repeat;
  }
}

// Slices, paddings and concatenations of a map with itself.
TEST(DataflowLowerValues, MovesAreThoseOfTheReference) {
  Random random(14);
  for (int i = 0; i < 300; ++i) {
    const int64_t h = random.Between(2, 6), w = random.Between(2, 6), c = random.Between(2, 4);
    const auto x = Integers(&random, h * w * c, -20, 20);
    const std::string input = fmt::format("input %x : f32[1x{}x{}x{}] Q\n", h, w, c);
    const int64_t p[6] = {random.Between(0, 3), random.Between(0, 3), random.Between(0, 3),
                          random.Between(0, 3), random.Between(0, 3), random.Between(0, 3)};
    const int64_t rows = random.Between(1, h), step = random.Between(1, 3);
    const std::vector<std::string> graphs = {
        fmt::format("const %p : i64[8] = [0, {}, {}, {}, 0, {}, {}, {}]\n"
                    "const %v : f32[] = [{}.0]\n%1 = pad %x, %p, %v : f32[1x{}x{}x{}] Q\noutput %1",
                    p[0], p[1], p[2], p[3], p[4], p[5], random.Between(-9, 9), h + p[0] + p[3],
                    w + p[1] + p[4], c + p[2] + p[5]),
        fmt::format("const %s : i64[2] = [0, 0]\nconst %e : i64[2] = [{}, {}]\n"
                    "const %a : i64[2] = [1, 2]\nconst %n : i64[2] = [1, {}]\n"
                    "%1 = slice %x, %s, %e, %a, %n : f32[1x{}x{}x{}] Q\noutput %1",
                    rows, w, step, rows, (w + step - 1) / step, c),
        fmt::format("%0 = max_pool %x {{layout=\"nhwc\", kernel_shape=[1, 1]}} "
                    ": f32[1x{0}x{1}x{2}] Q\n"
                    "%1 = concat %x, %0, %x {{axis=3}} : f32[1x{0}x{1}x{3}] Q\noutput %1",
                    h, w, c, 3 * c),
        fmt::format("%0 = max_pool %x {{layout=\"nhwc\", kernel_shape=[1, 1]}} "
                    ": f32[1x{0}x{1}x{2}] Q\n"
                    "%1 = sub %0, %x : f32[1x{0}x{1}x{2}] Q\n"
                    "%2 = add %1, %0 : f32[1x{0}x{1}x{2}] Q\noutput %2",
                    h, w, c)};
    for (const std::string& graph : graphs) {
      const auto lowered = LowerText(input + graph, /*host=*/false);
      ASSERT_TRUE(lowered.ok()) << MessageOf(lowered.status()) << "\n" << input << graph;
      ASSERT_EQ(RunLowered(*lowered, x), Reference(input + graph, x)) << input << graph;
    }
  }
}

// A table of several functions rounds where the network asks for it, and nowhere else. By hand: -9,
// 5, 6 and 70 in units of 4 are -2, 1, 2 (1.5 to even) and 7, the greatest code.
TEST(LoweredValues, TablesRoundWhereAnIdentityIsAnnotated) {
  const auto magnitudes = [](const std::string& rounding) {
    const auto network = LowerText("input %x : f32[1x4] Q\n%r = identity %x : f32[1x4]" + rounding +
                                       "\n%y = abs %r : f32[1x4] Q\noutput %y\n",
                                   /*host=*/false);
    EXPECT_TRUE(network.ok()) << network.status();
    EXPECT_EQ(network->layers.size(), 1u);
    return RunLowered(*network, {-9, 5, 6, 70});
  };
  EXPECT_EQ(magnitudes(" quant int4 per_tensor scale=[4]"), (std::vector<double>{8, 4, 8, 28}));
  EXPECT_EQ(magnitudes(""), (std::vector<double>{9, 5, 6, 70}));
}

}  // namespace
}  // namespace kiln::dataflow
