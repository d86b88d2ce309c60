#include "tests/targets/lower/sign_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/execute/reference.h"
#include "kiln/ir/text.h"
#include "kiln/passes/pipeline.h"
#include "kiln/support/random.h"

namespace kiln {
namespace {

constexpr double kInputScale = 0.25, kWeightScale = 0.5;
constexpr int64_t kZero = 3;
constexpr double kFirstSize = 2, kLastSize = 0.5;  // the middle sign has the size 1

// Maps and weights are [channel][y][x] and [out channel][channel][y][x].
constexpr int kSide = SignNetwork::kSide, kHalf = kSide / 2;

std::vector<int64_t> RandomNumbers(Random& random, int count, int64_t low, int64_t high) {
  std::vector<int64_t> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(random.Between(low, high));
  return numbers;
}

std::string Numbers(std::span<const int64_t> codes, double scale) {
  std::vector<double> numbers;
  for (const int64_t code : codes) numbers.push_back(static_cast<double>(code) * scale);
  return fmt::format("{}", fmt::join(numbers, ", "));
}

// Returns the sums of a padded convolution of 3x3, in half units, with the bias.
std::vector<int64_t> Convolution(std::span<const int64_t> map, int channels, int side,
                                 std::span<const int64_t> weights, std::span<const int64_t> bias) {
  std::vector<int64_t> sums;
  for (int o = 0; o < std::ssize(bias); ++o) {
    for (int at = 0; at < side * side; ++at) {
      int64_t sum = bias[static_cast<size_t>(o)];
      for (int i = 0; i < channels * 9; ++i) {
        const int y = at / side + i % 9 / 3 - 1, x = at % side + i % 3 - 1;
        if (y < 0 || x < 0 || y >= side || x >= side) continue;
        sum += 2 * weights[static_cast<size_t>(o * channels * 9 + i)] *
               map[static_cast<size_t>((i / 9 * side + y) * side + x)];
      }
      sums.push_back(sum);
    }
  }
  return sums;
}

std::vector<int64_t> SignsOf(const std::vector<int64_t>& sums, int* zeros) {
  *zeros += static_cast<int>(std::ranges::count(sums, 0));
  std::vector<int64_t> signs;
  for (const int64_t sum : sums) signs.push_back(sum >= 0 ? 1 : -1);
  return signs;
}

Graph AsAcceleratorsTakeIt(Graph graph) {
  PassContext context;
  for (const auto& pipeline : {AnnotationPipeline(), LayoutPipeline()})
    EXPECT_EQ(RunPasses(graph, pipeline, context), OkStatus());
  return graph;
}

}  // namespace

SignNetwork::SignNetwork(First first, uint64_t seed) : first_(first) {
  Random random(seed);
  conv1_ = RandomNumbers(random, kMiddle * kChannels * 9, -3, 3);
  bias1_ = RandomNumbers(random, kMiddle, -5, 5);
  conv2_ = RandomNumbers(random, kLast * kMiddle * 9, 0, 1);
  for (int64_t& weight : conv2_) weight = 2 * weight - 1;
  bias2_ = RandomNumbers(random, kLast, -4, 4);
  dense_ = RandomNumbers(random, kLast * kHalf * kHalf * kOutputs, -7, 7);
  bias3_ = RandomNumbers(random, kOutputs, -20, 20);
}

Graph SignNetwork::Own() const {
  const double in = first_ == First::kConvolution ? kInputScale : kFirstSize;
  const bool codes = first_ != First::kSignOfNumbers;
  const std::string text = fmt::format(
      R"(graph "signs" {{
  input %x : f32[1x{0}x{1}x{1}] {2}
  const %s0 : f32[] = [{3}]
  const %s1 : f32[] = [1]
  const %s2 : f32[] = [{4}]
  const %w1 : f32[{5}x{0}x3x3] quant int4 per_tensor symmetric scale=[{6}] = [{7}]
  const %b1 : f32[{5}] = [{8}]
  const %w2 : f32[{9}x{5}x3x3] quant int2 per_tensor symmetric scale=[{6}] = [{10}]
  const %b2 : f32[{9}] = [{11}]
  const %w3 : f32[{12}x{13}] quant int4 per_tensor symmetric scale=[{6}] = [{14}]
  const %b3 : f32[{13}] = [{15}]
  const %flat : i64[2] = [1, {12}]
  {16}
  %c1 = conv %h0, %w1, %b1 {{kernel_shape=[3, 3], pads=[1, 1, 1, 1]}} "conv1"
  %h1 = bipolar_quant %c1, %s1 "sign1"
  %p1 = max_pool %h1 {{kernel_shape=[2, 2], strides=[2, 2]}} "pool1"
  %c2 = conv %p1, %w2, %b2 {{kernel_shape=[3, 3], pads=[1, 1, 1, 1]}} "conv2"
  %h2 = bipolar_quant %c2, %s2 "sign2"
  %f = reshape %h2, %flat "flatten"
  %m = matmul %f, %w3 "dense"
  %y = add %m, %b3 "dense"
  output %y
}})",
      kChannels, kSide,
      codes ? fmt::format("quant int8 per_tensor scale=[{}] zero=[{}]", kInputScale, kZero) : "",
      kFirstSize, kLastSize, kMiddle, kWeightScale, Numbers(conv1_, kWeightScale),
      Numbers(bias1_, in * kWeightScale / 2), kLast, Numbers(conv2_, kWeightScale),
      Numbers(bias2_, kWeightScale / 2), kLast * kHalf * kHalf, kOutputs,
      Numbers(dense_, kWeightScale), Numbers(bias3_, kLastSize * kWeightScale),
      first_ == First::kConvolution ? "%h0 = identity %x \"begin\""
                                    : "%h0 = bipolar_quant %x, %s0 \"sign0\"");
  auto graph = ParseGraph(text, "signs.kir");
  EXPECT_TRUE(graph.ok()) << graph.status();
  PassContext context;
  EXPECT_EQ(RunPasses(*graph, StandardPipeline(), context), OkStatus());
  return *std::move(graph);
}

Graph SignNetwork::ForAccelerators() const { return AsAcceleratorsTakeIt(Own()); }

Tensor SignNetwork::Images(int64_t images, uint64_t seed) const {
  Random random(seed);
  Tensor tensor(ElementType::kFloat32, Shape{images, kChannels, kSide, kSide});
  for (float& value : tensor.data<float>())
    value = static_cast<float>(random.Between(-6, 6) * kInputScale);
  return tensor;
}

std::vector<float> SignNetwork::Expected(const Tensor& images, int64_t image, int* zeros) const {
  std::vector<int64_t> map;
  constexpr int kPixels = kChannels * kSide * kSide;
  for (int64_t i = 0; i < kPixels; ++i) {
    const double number = images.ValueAt(image * kPixels + i);
    const int64_t steps = std::llround(number / kInputScale);
    map.push_back(first_ == First::kConvolution ? steps : steps >= 0 ? 1 : -1);
    *zeros += first_ != First::kConvolution && steps == 0 ? 1 : 0;
  }
  const std::vector<int64_t> first =
      SignsOf(Convolution(map, kChannels, kSide, conv1_, bias1_), zeros);
  std::vector<int64_t> pooled;
  for (int i = 0; i < kMiddle * kHalf * kHalf; ++i) {
    const auto at = static_cast<size_t>((i / kHalf * 2) * kSide + i % kHalf * 2);
    pooled.push_back(
        std::max({first[at], first[at + 1], first[at + kSide], first[at + kSide + 1]}));
  }
  const std::vector<int64_t> last =
      SignsOf(Convolution(pooled, kMiddle, kHalf, conv2_, bias2_), zeros);
  std::vector<float> outputs;
  for (size_t o = 0; o < kOutputs; ++o) {
    int64_t sum = bias3_[o];
    for (size_t i = 0; i < last.size(); ++i) sum += last[i] * dense_[i * kOutputs + o];
    outputs.push_back(static_cast<float>(static_cast<double>(sum) * kLastSize * kWeightScale));
  }
  return outputs;
}

std::string OnHost(const Program& program) {
  std::string text;
  for (const KernelInfo& kernel : program.kernels()) {
    if (kernel.on_host())
      text += fmt::format("{}: {}\n", kernel.source_nodes.front(), kernel.host_reason);
  }
  return text;
}

void ExpectPlainSigns(const Accelerator& accelerator, SignNetwork::First first,
                      const std::string& on_host) {
  constexpr int64_t kImages = 6;
  int zeros = 0;
  for (const uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE(seed);
    const SignNetwork network(first, seed);
    const Tensor images = network.Images(kImages, seed + 10);
    const Graph own = network.Own();
    const auto reference = ReferenceExecutor::Create(own);
    ASSERT_TRUE(reference.ok()) << reference.status();
    const auto wanted = (*reference)->RunBatch({&images, 1});
    ASSERT_TRUE(wanted.ok()) << wanted.status();
    const auto program = accelerator.Compile(network.ForAccelerators(), {});
    ASSERT_TRUE(program.ok()) << program.status();
    EXPECT_EQ(OnHost(**program), on_host);
    for (const Level level : {Level::kFunctional, Level::kCycle}) {
      SCOPED_TRACE(NameOf(level));
      RunOptions options;
      options.level = level;
      const auto result = accelerator.Run(**program, {{images}}, options);
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(result->outputs[0], (*wanted)[0]);
      for (int64_t i = 0; i < kImages; ++i) {
        const std::vector<float> expected = network.Expected(images, i, &zeros);
        for (size_t o = 0; o < expected.size(); ++o) {
          EXPECT_EQ(result->outputs[0].ValueAt(i * SignNetwork::kOutputs + static_cast<int64_t>(o)),
                    expected[o]);
        }
      }
    }
  }
  EXPECT_GT(zeros, 0);
}

void ExpectSignsOfRoundedSums(const Accelerator& accelerator) {
  auto graph = ParseGraph(R"(graph "rounded" {
  input %x : f32[1x2] quant int8 per_tensor scale=[0.25]
  const %w : f32[2x1] quant int4 per_tensor symmetric scale=[0.5] = [0.5, 0]
  const %one : f32[] = [1]
  const %zero : f32[] = [0]
  const %bits : f32[] = [4]
  %p = matmul %x, %w "product"
  %q = quant %p, %one, %zero, %bits {narrow=0, signed=1} "round"
  %y = bipolar_quant %q, %one "sign"
  output %y
})",
                          "rounded.kir");
  ASSERT_TRUE(graph.ok()) << graph.status();
  PassContext context;
  ASSERT_EQ(RunPasses(*graph, StandardPipeline(), context), OkStatus());
  const auto program = accelerator.Compile(AsAcceleratorsTakeIt(std::move(*graph)), {});
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(OnHost(**program), "");
  constexpr int64_t kImages = 25;
  Tensor images(ElementType::kFloat32, Shape{kImages, 2});
  for (int64_t i = 0; i < kImages; ++i)
    images.data<float>()[static_cast<size_t>(2 * i)] = static_cast<float>(i - 12) / 4;
  for (const Level level : {Level::kFunctional, Level::kCycle}) {
    RunOptions options;
    options.level = level;
    const auto result = accelerator.Run(**program, {{images}}, options);
    ASSERT_TRUE(result.ok()) << result.status();
    // An eighth of i - 12, rounded to even: from -4 / 8 on it is not negative.
    for (int64_t i = 0; i < kImages; ++i)
      EXPECT_EQ(result->outputs[0].ValueAt(i), i - 12 >= -4 ? 1 : -1) << i - 12;
  }
}

}  // namespace kiln
