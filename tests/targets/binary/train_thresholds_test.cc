// Thresholds of prediction: what they decide on the images that they were trained on stays within
// the budget, and nothing is lost without one.

#include "kiln/targets/binary/train_thresholds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "kiln/ir/text.h"
#include "kiln/support/random.h"

namespace kiln::binary {
namespace {

// A convolution of signs or of integers of `bits`, 16 -> `outputs` channels, behind a ReLU.
std::string NetworkText(int bits, int outputs) {
  Random random(3);
  std::string weights;
  for (int i = 0; i < outputs * 16 * 9; ++i) {
    const int code =
        bits == 1 ? 2 * static_cast<int>(random.Below(2)) - 1
                  : static_cast<int>(random.Between(-(1 << (bits - 1)), (1 << (bits - 1)) - 1));
    weights += fmt::format("{}{}", i == 0 ? "" : ", ", 0.25 * code);
  }
  return fmt::format(
      "graph \"net\" {{ input %x : f32[1x6x6x16] quant uint8 per_tensor scale=[0.0625]\n"
      "const %w : f32[{2}x16x3x3] quant int{0} per_tensor scale=[0.25] = [{1}]\n"
      "%c = conv %x, %w {{layout=\"nhwc\", pads=[1, 1, 1, 1]}} \"conv\" : f32[1x6x6x{2}]\n"
      "%r = relu %c \"relu\" : f32[1x6x6x{2}] quant uint8 per_tensor scale=[0.5]\n"
      "output %r }}",
      std::max(bits, 2), weights, outputs);
}

// Compiles the network, with trained thresholds in its metadata unless they are empty.
std::unique_ptr<NetworkProgram> Compiled(int bits, Prediction prediction,
                                         const std::string& thresholds = "", int outputs = 12,
                                         int weight_words = 32) {
  auto graph = ParseGraph(NetworkText(bits, outputs), "net.kir");
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!thresholds.empty()) graph->metadata()[std::string(kThresholdsMetadataKey)] = thresholds;
  Config config;
  config.name = "machine";
  config.columns_0 = 1;
  config.column_depth = 32;
  config.weight_words = weight_words;
  config.prediction = prediction;
  auto program = CompileNetwork(*graph, config, {});
  EXPECT_TRUE(program.ok()) << program.status();
  return std::unique_ptr<NetworkProgram>(static_cast<NetworkProgram*>(program->release()));
}

class ThresholdsTest : public ::testing::Test {
 protected:
  void Compile(int bits, int tests) {
    program_ = Compiled(bits, Prediction::kPredicted);
    ASSERT_EQ(program_->launches()[0][0].program.stages[0].tests(), tests);
    Tensor images(ElementType::kFloat32, Shape{5, 6, 6, 16});
    Random random(8);
    for (float& value : images.data<float>())
      value = random.Below(2) == 0 ? 0 : 0.0625f * static_cast<float>(random.Below(256));
    images_.inputs.assign(1, std::move(images));
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
  Compile(1, 1);
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

// Each of the tests of a stage may be wrong about its part of the share.
TEST_F(ThresholdsTest, TestsOfAStageShareTheBudget) {
  constexpr int kTests = 2;
  Compile(3, kTests);
  const auto trainer = ThresholdTrainer::Collect(program_.get(), images_, {});
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  // By test and channel of the first of two launches: the sums of outputs that are not low.
  std::map<std::pair<int, int64_t>, std::vector<int64_t>> above;
  DisableThresholds(program_.get());
  NetworkCounts counts;
  ASSERT_TRUE(RunAndCount(*program_, images_, {}, &counts,
                          [&](size_t /*kernel*/, size_t launch, int /*stage*/, int test,
                              int64_t channel, int64_t sum, bool is_above) {
                            if (is_above && launch == 0) above[{test, channel}].push_back(sum);
                          })
                  .ok());
  ASSERT_EQ(std::ssize(above), kTests * 6);
  for (const double budget : {0.05, 0.1, 0.2}) {
    trainer->SetThresholds(budget, program_.get());
    const StageProgram& stage = program_->launches()[0][0].program.stages[0];
    const int64_t channels = std::ssize(stage.multipliers);
    const auto share = static_cast<int64_t>(budget * (5 * 36) / kTests);
    int64_t wrong = 0;
    for (const auto& [place, sums] : above) {
      const int64_t threshold =
          stage.thresholds[static_cast<size_t>(place.first * channels + place.second)];
      const int64_t below = std::ranges::count_if(sums, [&](int64_t s) { return s < threshold; });
      EXPECT_LE(below, share) << "test " << place.first << ", channel " << place.second;
      wrong += below;
    }
    EXPECT_GT(wrong, 0);
  }
}

// A model with trained thresholds in its metadata is compiled to the program that was trained: to
// the last sum, for weights of one plane and of several, in one launch and in two.
TEST_F(ThresholdsTest, AModelCarriesThem) {
  for (const auto& [bits, tests] : {std::pair(1, 1), std::pair(3, 2)}) {
    Compile(bits, tests);
    const auto trainer = ThresholdTrainer::Collect(program_.get(), images_, {});
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    const std::unique_ptr<NetworkProgram> untrained = Compiled(bits, Prediction::kPredicted);
    for (const double budget : {0.0, 0.05, 0.2}) {
      trainer->SetThresholds(budget, program_.get());
      const std::string text = *PrintThresholds(ThresholdsIn(*program_));
      const std::unique_ptr<NetworkProgram> loaded = Compiled(bits, Prediction::kPredicted, text);
      ASSERT_EQ(loaded->launches()[0].size(), program_->launches()[0].size());
      for (size_t l = 0; l < loaded->launches()[0].size(); ++l) {
        const auto thresholds = [l](const NetworkProgram& program) {
          return program.launches()[0][l].program.stages[0].thresholds;
        };
        EXPECT_EQ(thresholds(*loaded), thresholds(*program_)) << bits << " " << budget;
        EXPECT_NE(thresholds(*loaded), thresholds(*untrained)) << bits << " " << budget;
      }
    }
    // The exact prediction has no use for them.
    const std::string text = *PrintThresholds(ThresholdsIn(*program_));
    EXPECT_EQ(Compiled(bits, Prediction::kExact, text)->Print(),
              Compiled(bits, Prediction::kExact)->Print());
    EXPECT_EQ(
        Compiled(bits, Prediction::kExact, text)->launches()[0][0].program.stages[0].thresholds,
        Compiled(bits, Prediction::kExact)->launches()[0][0].program.stages[0].thresholds);
  }
}

// A machine may test channels that the one of the training did not: of 19 output channels in two
// launches, only the 10 of the first one. Thresholds of the others decide nothing.
TEST_F(ThresholdsTest, ChannelsWithoutATestAreNotDecidedElsewhere) {
  Compile(1, 1);  // the images
  const auto narrow = Compiled(1, Prediction::kPredicted, "", 19, 10);
  ASSERT_EQ(narrow->launches()[0].size(), 2u);
  ASSERT_EQ(narrow->launches()[0][0].program.stages[0].tests(), 1);
  ASSERT_EQ(narrow->launches()[0][1].program.stages[0].tests(), 0);
  const auto trainer = ThresholdTrainer::Collect(narrow.get(), images_, {});
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  trainer->SetThresholds(0.1, narrow.get());
  const auto wide =
      Compiled(1, Prediction::kPredicted, *PrintThresholds(ThresholdsIn(*narrow)), 19);
  ASSERT_EQ(wide->launches()[0].size(), 1u);
  const StageProgram& stage = wide->launches()[0][0].program.stages[0];
  ASSERT_EQ(stage.tests(), 1);
  const std::vector<int64_t>& trained = narrow->launches()[0][0].program.stages[0].thresholds;
  for (size_t n = 0; n < 19; ++n)
    EXPECT_EQ(stage.thresholds[n], n < 10 ? trained[n] : -((1 << 27) - 1)) << n;
}

}  // namespace
}  // namespace kiln::binary
