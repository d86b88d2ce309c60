// Tests of the networks with weights of -1 and +1 that come with Kiln (models/README.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "kiln/cli/application.h"
#include "tests/cli/call.h"

namespace kiln::cli {
namespace {

using nlohmann::json;

constexpr const char* kData = "/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz";

// Prints as its file.
struct Classifier {
  friend void PrintTo(const Classifier& classifier, std::ostream* out) { *out << classifier.model; }
  const char* model;
  int correct;  // of the first 500 test images, as models/train_binary_mnist.py printed
};

class BinaryClassifiers : public testing::TestWithParam<Classifier> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kData))
      GTEST_SKIP() << kData << " is not there (package dataset-fashion-mnist)";
  }
  json Run(std::vector<std::string> more) {
    std::vector<std::string> arguments = {
        "run", std::string("models/") + GetParam().model + ".onnx", "--data", kData, "--json", "-"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = Call(arguments);
    EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
    return json::parse(outcome.out, nullptr, false);
  }
};

TEST_P(BinaryClassifiers, AreAsAccurateAsInPyTorch) {
  const json run = Run({"--level", "reference", "--limit", "500"});
  ASSERT_TRUE(run.is_object());
  EXPECT_EQ(run["accuracy"]["fp32"]["images"], 500);
  EXPECT_EQ(run["accuracy"]["fp32"]["correct"], GetParam().correct);
}

// Other families compute signs, too, and hold them in their own formats. An array whose weights are
// signs leaves the host the last layer of the convolutional networks, which has weights of 8 bits.
// vta-pynq rounds the biases of other layers to units of its sums, and the systolic machines
// normalise in bf16.
TEST_P(BinaryClassifiers, RunOnOtherFamilies) {
  const bool wide = std::string(GetParam().model).find("cnn") != std::string::npos;
  const std::vector<std::tuple<std::string, double, int>> machines = {
      {"systolic-int8-16x16", 0.0, 95},
      {"systolic-binaryxint8-16x16", wide ? 0.0031 : 0.0, 95},
      {"dataflow-zcu104", 0.0, 98},
      {"vta-pynq", 0.0, 96}};
  for (const auto& [on, host_share, agreeing] : machines) {
    SCOPED_TRACE(on);
    const json run = Run({"--on", on, "--limit", "100"});
    ASSERT_TRUE(run.is_object());
    EXPECT_LE(run["host_share"], host_share);
    EXPECT_GE(run["levels_compared"]["images"], 1);
    EXPECT_EQ(run["levels_compared"]["different"], 0);
    EXPECT_GE(run["accuracy"]["agreement"]["correct"], agreeing);
  }
}

// An 8-bit machine computes the heat maps of the reference level but for roundings to codes and
// to bf16.
TEST(BinaryHourglass, RunsOnTheSystolicFamily) {
  const Outcome outcome = Call({"run", "models/hourglass.onnx", "--on", "systolic-int8-16x16",
                                "--data", "tests/data/hourglass/images.npy", "--json", "-"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  const json run = json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(run.is_object());
  EXPECT_EQ(run["host_share"], 0.0);
  EXPECT_GE(run["levels_compared"]["images"], 1);
  EXPECT_EQ(run["levels_compared"]["different"], 0);
  EXPECT_GT(run["output_sqnr_db"], 36);
}

// The family's own machine: 99 % of the network in blocks of three convolutions. The host has the
// pools, the enlargements and the sums between levels.
TEST(BinaryHourglass, RunsInBlocks) {
  const Outcome outcome =
      Call({"run", "models/hourglass.onnx", "--on", "binary-176", "--data",
            "tests/data/hourglass/images.npy", "--cycle-limit", "1", "--json", "-"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  const json run = json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(run.is_object());
  EXPECT_LT(run["host_share"], 0.01);
  EXPECT_GE(run["levels_compared"]["images"], 1);
  EXPECT_EQ(run["levels_compared"]["different"], 0);
  EXPECT_GT(run["output_sqnr_db"], 30);
}

INSTANTIATE_TEST_SUITE_P(Trained, BinaryClassifiers,
                         testing::Values(Classifier{"fashion_mlp_w1a8", 451},
                                         Classifier{"fashion_mlp_w1a1", 436},
                                         Classifier{"fashion_cnn_w1a8", 452},
                                         Classifier{"fashion_cnn_w1a4", 449},
                                         Classifier{"fashion_cnn_w1a1", 443}),
                         [](const auto& info) { return std::string(info.param.model); });

}  // namespace
}  // namespace kiln::cli
