// Thresholds of prediction: what they decide on the images that they were trained on stays within
// the budget, and nothing is lost without one.

#include "kiln/targets/binary/train_thresholds.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "kiln/ir/text.h"
#include "kiln/support/random.h"

namespace kiln::binary {
namespace {

// A convolution of signs, 16 -> 12 channels, behind a ReLU.
std::string NetworkText() {
  Random random(3);
  std::string weights;
  for (int i = 0; i < 12 * 16 * 9; ++i)
    weights += fmt::format("{}{}", i == 0 ? "" : ", ", random.Below(2) == 0 ? "-0.25" : "0.25");
  return fmt::format(
      "graph \"net\" {{ input %x : f32[1x6x6x16] quant uint8 per_tensor scale=[0.0625]\n"
      "const %w : f32[12x16x3x3] quant int2 per_tensor symmetric scale=[0.25] = [{}]\n"
      "%c = conv %x, %w {{layout=\"nhwc\", pads=[1, 1, 1, 1]}} \"conv\" : f32[1x6x6x12]\n"
      "%r = relu %c \"relu\" : f32[1x6x6x12] quant uint8 per_tensor scale=[0.5]\n"
      "output %r }}",
      weights);
}

class ThresholdsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto graph = ParseGraph(NetworkText(), "net.kir");
    ASSERT_TRUE(graph.ok()) << graph.status();
    Config config;
    config.name = "machine";
    config.columns_0 = 1;
    config.prediction = Prediction::kPredicted;
    auto program = CompileNetwork(*graph, config, {});
    ASSERT_TRUE(program.ok()) << program.status();
    program_.reset(static_cast<NetworkProgram*>(program->release()));
    ASSERT_EQ(program_->launches()[0][0].program.stages[0].tests(), 1);
    Tensor images(ElementType::kFloat32, Shape{5, 6, 6, 16});
    Random random(8);
    for (float& value : images.data<float>())
      value = random.Below(2) == 0 ? 0 : 0.0625f * static_cast<float>(random.Below(256));
    images_.inputs.push_back(std::move(images));
  }

  RunResult Run(NetworkCounts* counts) const {
    auto result = RunAndCount(*program_, images_, {}, counts);
    EXPECT_TRUE(result.ok()) << result.status();
    return *std::move(result);
  }

  std::unique_ptr<NetworkProgram> program_;
  Batch images_;
};

TEST_F(ThresholdsTest, StayWithinTheBudget) {
  NetworkCounts counts;
  DisableThresholds(program_.get());
  const RunResult exact = Run(&counts);
  EXPECT_EQ(counts[0][0].decided, 0);
  EXPECT_EQ(counts[0][0].outputs, 5 * 36 * 12);
  EXPECT_EQ(counts[0][0].looked_up, 2 * 5 * 36 * 12);
  const auto trainer = ThresholdTrainer::Collect(program_.get(), images_, {});
  ASSERT_TRUE(trainer.ok()) << trainer.status();

  trainer->SetThresholds(0, program_.get());
  EXPECT_TRUE(Run(&counts).codes == exact.codes);
  EXPECT_EQ(counts[0][0].wrong, 0);
  int64_t decided = counts[0][0].decided;
  EXPECT_GT(decided, 0);
  for (const double budget : {0.01, 0.05, 0.2}) {
    trainer->SetThresholds(budget, program_.get());
    Run(&counts);
    const StageCounts& now = counts[0][0];
    // Each channel's share, rounded down.
    EXPECT_LE(now.wrong, 12 * static_cast<int64_t>(budget * 5 * 36));
    EXPECT_GT(now.wrong, 0);
    EXPECT_GT(now.decided, decided);
    EXPECT_EQ(now.looked_up, 2 * now.outputs - now.decided);
    decided = now.decided;
  }
}

}  // namespace
}  // namespace kiln::binary
