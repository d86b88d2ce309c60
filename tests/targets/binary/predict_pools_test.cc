// Prediction of maximum pooling on a network, against plain loops over candidates.

#include "kiln/targets/binary/predict_pools.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "kiln/ir/text.h"
#include "kiln/support/random.h"
#include "kiln/targets/binary/train_thresholds.h"

namespace kiln::binary {
namespace {

constexpr int kSize = 6, kIn = 16, kOut = 12, kImages = 3;

// A convolution of signs, 16 -> 12 channels, behind it a ReLU and a pool. A code of the input is
// 1/16, of a result 1/2, and weights are +-1/4: a result is a sum of codes over 32.
class PoolsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Random random(3);
    std::string weights;
    for (int i = 0; i < kOut * kIn * 9; ++i) {
      signs_.push_back(2 * static_cast<int>(random.Below(2)) - 1);
      weights += fmt::format("{}{}", i == 0 ? "" : ", ", 0.25 * signs_.back());
    }
    weights_ = weights;
    for (int i = 0; i < kImages * kSize * kSize * kIn; ++i)
      codes_.push_back(random.Below(3) == 0 ? 0 : static_cast<int>(random.Below(256)));
  }

  std::unique_ptr<NetworkProgram> Compile(int kernel, int stride) const {
    const int out = (kSize - kernel) / stride + 1;
    const auto graph = ParseGraph(
        fmt::format(
            "graph \"net\" {{ input %x : f32[1x6x6x16] quant uint8 per_tensor scale=[0.0625]\n"
            "const %w : f32[12x16x3x3] quant int2 per_tensor scale=[0.25] = [{0}]\n"
            "%c = conv %x, %w {{layout=\"nhwc\", pads=[1, 1, 1, 1]}} \"conv\" : f32[1x6x6x12]\n"
            "%r = relu %c \"relu\" : f32[1x6x6x12] quant uint8 per_tensor scale=[0.5]\n"
            "%p = max_pool %r {{layout=\"nhwc\", kernel_shape=[{1}, {1}], strides=[{2}, {2}]}} "
            "\"pool\" : f32[1x{3}x{3}x12]\noutput %p }}",
            weights_, kernel, stride, out),
        "net.kir");
    EXPECT_TRUE(graph.ok()) << graph.status();
    Config config;
    config.name = "machine";
    config.columns_0 = 1;
    config.prediction = Prediction::kPredicted;
    auto program = CompileNetwork(*graph, config, {});
    EXPECT_TRUE(program.ok()) << program.status();
    std::unique_ptr<NetworkProgram> network(static_cast<NetworkProgram*>(program->release()));
    DisableThresholds(network.get());
    return network;
  }

  Batch Images() const {
    Tensor images(ElementType::kFloat32, Shape{kImages, kSize, kSize, kIn});
    std::ranges::transform(codes_, images.data<float>().begin(),
                           [](int code) { return 0.0625f * static_cast<float>(code); });
    return Batch{{std::move(images)}};
  }

  // Returns the sum of a result's products with codes, or with their high digits times 16.
  int64_t Sum(int image, int y, int x, int n, bool high) const {
    int64_t sum = 0;
    for (int ky = 0; ky < 3; ++ky) {
      for (int kx = 0; kx < 3; ++kx) {
        const int at_y = y + ky - 1, at_x = x + kx - 1;
        if (at_y < 0 || at_y >= kSize || at_x < 0 || at_x >= kSize) continue;
        for (int c = 0; c < kIn; ++c) {
          const int code =
              codes_[static_cast<size_t>(((image * kSize + at_y) * kSize + at_x) * kIn + c)];
          const int sign = signs_[static_cast<size_t>(((n * kIn + c) * 3 + ky) * 3 + kx)];
          sum += sign * (high ? code / 16 * 16 : code);
        }
      }
    }
    return sum;
  }

  std::vector<int> signs_, codes_;
  std::string weights_;
};

TEST_F(PoolsTest, CandidatesBehindTheLeadAreNotFinished) {
  for (const auto& [kernel, stride] : {std::pair(2, 2), std::pair(3, 2), std::pair(3, 1)}) {
    const std::unique_ptr<NetworkProgram> program = Compile(kernel, stride);
    const int out = (kSize - kernel) / stride + 1;
    int64_t skipped_before = kImages * kSize * kSize * kOut + 1;
    for (const double lead : {0.0, 0.01, 0.05, 1.0}) {
      SCOPED_TRACE(fmt::format("{}x{} / {}, lead {}", kernel, kernel, stride, lead));
      const auto most = static_cast<int64_t>(lead * 15 * 9 * kIn);
      PoolCounts expected;
      std::vector<float> values;
      for (int image = 0; image < kImages; ++image) {
        // By pixel and channel: 0 belongs to no pool, 1 is not finished, 2 is.
        std::vector<int> state(static_cast<size_t>(kSize * kSize * kOut), 0);
        const auto at = [](int y, int x, int n) {
          return static_cast<size_t>((y * kSize + x) * kOut + n);
        };
        const auto for_pools = [&, kernel = kernel, stride = stride](const auto& use) {
          for (int y = 0; y < out; ++y) {
            for (int x = 0; x < out; ++x) {
              for (int n = 0; n < kOut; ++n) {
                std::vector<std::pair<int, int>> pixels;
                for (int k = 0; k < kernel * kernel; ++k)
                  pixels.emplace_back(y * stride + k / kernel, x * stride + k % kernel);
                use(pixels, n);
              }
            }
          }
        };
        for_pools([&](const auto& pixels, int n) {
          int64_t best = -1000000;
          for (const auto& [y, x] : pixels) best = std::max(best, Sum(image, y, x, n, true));
          for (const auto& [y, x] : pixels) {
            const int now = best - Sum(image, y, x, n, true) <= most ? 2 : 1;
            state[at(y, x, n)] = std::max(state[at(y, x, n)], now);
          }
        });
        for_pools([&](const auto& pixels, int n) {
          int exact = 0, found = 0;
          for (const auto& [y, x] : pixels) {
            const double rounded =
                std::floor(static_cast<double>(Sum(image, y, x, n, false)) / 32 + 0.5);
            const int code = static_cast<int>(std::clamp(rounded, 0.0, 255.0));
            exact = std::max(exact, code);
            if (state[at(y, x, n)] == 2) found = std::max(found, code);
          }
          ++expected.pools;
          expected.wrong += found != exact ? 1 : 0;
          values.push_back(0.5f * static_cast<float>(found));
        });
        expected.candidates += std::ranges::count_if(state, [](int s) { return s > 0; });
        expected.skipped += std::ranges::count(state, 1);
      }
      expected.steps = 2 * expected.candidates;
      expected.looked_up = expected.steps - expected.skipped;

      PoolCounts counts;
      const auto result = RunWithPools(*program, Images(), lead, &counts);
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(counts.pools, expected.pools);
      EXPECT_EQ(counts.wrong, expected.wrong);
      EXPECT_EQ(counts.candidates, expected.candidates);
      EXPECT_EQ(counts.skipped, expected.skipped);
      EXPECT_EQ(counts.steps, expected.steps);
      EXPECT_EQ(counts.looked_up, expected.looked_up);
      const auto outputs = result->outputs[0].data<float>();
      EXPECT_TRUE(std::ranges::equal(outputs, values));
      EXPECT_LT(counts.skipped, skipped_before);
      skipped_before = counts.skipped;
      if (lead == 0) {
        EXPECT_GT(counts.wrong, 0);
      }
      if (lead == 1) {
        EXPECT_EQ(counts.wrong, 0);
      }
    }
  }
}

}  // namespace
}  // namespace kiln::binary
