// Tests of `kiln verify --wave` and `kiln binary predict` on machines of the binary family.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "kiln/cli/application.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "tests/cli/call.h"

namespace kiln::cli {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

// Verifies a small network on a small machine with a copy of the hardware library that has faults.
// Two layers run on the machine; the host works between them.
class BinaryWaves : public testing::Test {
 protected:
  void SetUp() override {
    std::string weights;
    for (int i = 0; i < 36; ++i) weights += fmt::format("{}{}", i == 0 ? "" : ", ", i * 7 % 11 - 5);
    ASSERT_TRUE(WriteFile(Path("net.kir"), fmt::format(R"(graph "small" {{
  input %image : f32[1x2x6x6]
  const %w : f32[2x2x3x3] = [{0}]
  const %v : f32[2x2x3x3] = [{0}]
  %1 = conv %image, %w {{kernel_shape=[3, 3], pads=[1, 1, 1, 1]}} "first" : f32[1x2x6x6]
  %2 = sigmoid %1 "shape" : f32[1x2x6x6]
  %3 = conv %2, %v {{kernel_shape=[3, 3], pads=[1, 1, 1, 1]}} "last" : f32[1x2x6x6]
  output %3
}}
)",
                                                       weights))
                    .ok());
    const auto library = hardware::RtlLibrary();
    ASSERT_TRUE(library.ok()) << library.status();
    std::filesystem::copy(*library, Path("rtl"), std::filesystem::copy_options::recursive);
    setenv("KILN_RTL", Path("rtl").c_str(), 1);
  }
  void TearDown() override { unsetenv("KILN_RTL"); }
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }
  void Spoil(const std::string& file, const std::string& right, const std::string& wrong) const {
    std::string text = *ReadFile(Path("rtl/binary/" + file));
    const size_t at = text.find(right);
    ASSERT_NE(at, std::string::npos) << file;
    text.replace(at, right.size(), wrong);
    ASSERT_TRUE(WriteFile(Path("rtl/binary/" + file), text).ok());
  }
  Outcome Verify() const {
    return Call({"verify", Path("net.kir"), "--on", "binary-small", "--random", "1", "--seed", "1",
                 "--wave", Path("new/wave.fst")});
  }

  const TemporaryFolder folder_ = *TemporaryFolder::Create("kiln-binary-waves");
};

// Results whose lowest bit is the wrong one.
TEST_F(BinaryWaves, WrongBitsAreRecorded) {
  Spoil("kiln_binary_requantise.sv", "result5 <= value4[CODE_BITS-1:0];",
        "result5 <= value4[CODE_BITS-1:0] ^ CODE_BITS'(1);");
  const Outcome differs = Verify();
  EXPECT_EQ(differs.code, kExitError) << differs.out << differs.err;
  EXPECT_THAT(differs.out, HasSubstr("\nbits         DIFFERENT"));
  EXPECT_THAT(differs.out, HasSubstr("\ncycles       the same: "));
  EXPECT_THAT(
      differs.out,
      ContainsRegex("wave.fst: image 0, cycles 0 to [0-9]*, first different kernel first\n"));
  EXPECT_GT(std::filesystem::file_size(Path("new/wave.fst")), 1'000u);
}

// A stream out that takes a result in every fourth cycle alone.
TEST_F(BinaryWaves, LateCyclesAreRecorded) {
  Spoil("kiln_binary.sv", "  logic unused_last;",
        "  logic unused_last;\n  logic [1:0] turn;\n"
        "  always_ff @(posedge clock) turn <= reset ? '0 : turn + 1'b1;");
  Spoil("kiln_binary.sv", "result_valid && result_ready;\n  end",
        "result_valid && result_ready && turn == '0;\n  end");
  Spoil("kiln_binary.sv", ".in_tvalid(result_valid),", ".in_tvalid(result_valid && turn == '0),");
  const Outcome late = Verify();
  EXPECT_EQ(late.code, kExitError) << late.out << late.err;
  EXPECT_THAT(late.out, HasSubstr("\nbits         the same: "));
  EXPECT_THAT(late.out, HasSubstr("\ncycles       DIFFERENT: "));
  EXPECT_THAT(late.out, ContainsRegex("wave.fst: image 0, cycles [0-9]* to [0-9]*, first different "
                                      "kernel first\n"));
  EXPECT_GT(std::filesystem::file_size(Path("new/wave.fst")), 1'000u);
}

TEST_F(BinaryWaves, NothingIsRecordedIfTheLevelsAgree) {
  const Outcome agree = Verify();
  EXPECT_EQ(agree.code, kExitOk) << agree.out << agree.err;
  EXPECT_FALSE(std::filesystem::exists(Path("new"))) << "the folder comes with the file";
}

// `kiln binary predict` on images of Fashion-MNIST.
class BinaryPrediction : public testing::Test {
 protected:
  static constexpr const char* kData =
      "/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz";
  void SetUp() override {
    if (!std::filesystem::exists(kData))
      GTEST_SKIP() << kData << " is not there (package dataset-fashion-mnist)";
  }
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }
  // Returns the rows of 40 images by the names of their settings.
  static nlohmann::json Predict(const std::string& model, std::vector<std::string> more) {
    std::vector<std::string> arguments = {"binary", "predict", model,     "--on", "binary-44",
                                          "--data", kData,     "--train", "50",   "--limit",
                                          "40",     "--json",  "-"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = Call(arguments);
    EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
    nlohmann::json rows;
    for (nlohmann::json& row : nlohmann::json::parse(outcome.out, nullptr, false)) {
      const std::string name = row["prediction"];
      row.erase("prediction");
      row.erase("budget");
      rows[name] = row;
    }
    return rows;
  }

  const TemporaryFolder folder_ = *TemporaryFolder::Create("kiln-binary-prediction");
};

// The saved model brings its thresholds: on it, `stored` is what `trained` was on the original.
TEST_F(BinaryPrediction, TheSavedModelIsTheOneThatWasMeasured) {
  const auto rows =
      Predict("models/fashion_cnn_w1a8.onnx", {"--budget", "0.05", "--save", Path("trained.onnx")});
  const auto saved = Predict(Path("trained.onnx"), {"--budget", "0.05"});
  EXPECT_EQ(saved["stored"], rows["trained 0.05"]);
  EXPECT_NE(saved["stored"], rows["predicted"]);
  EXPECT_EQ(saved["predicted"], rows["predicted"]);
  EXPECT_EQ(saved["exact"], rows["exact"]);
  EXPECT_EQ(saved["none"], rows["none"]);
  EXPECT_EQ(saved["trained 0.05"], rows["trained 0.05"]);
  // Less look-ups are less energy.
  EXPECT_LT(rows["exact"]["picojoules"], rows["none"]["picojoules"]);
  EXPECT_LT(rows["predicted"]["picojoules"], rows["exact"]["picojoules"]);

  // Every level uses them.
  const Outcome run = Call({"run", Path("trained.onnx"), "--on", "binary-44-predicted", "--data",
                            kData, "--limit", "4", "--cycle-limit", "4", "--json", "-"});
  ASSERT_EQ(run.code, kExitOk) << run.err;
  const auto report = nlohmann::json::parse(run.out, nullptr, false);
  EXPECT_EQ(report["levels_compared"]["images"], 4);
  EXPECT_EQ(report["levels_compared"]["different"], 0);

  const Outcome several = Call({"binary", "predict", "models/fashion_cnn_w1a8.onnx", "--on",
                                "binary-44", "--data", kData, "--save", Path("other.onnx")});
  EXPECT_EQ(several.code, kExitError);
  EXPECT_EQ(several.err, "kiln: --save: there are 4 budgets; name one with --budget\n");
  EXPECT_FALSE(std::filesystem::exists(Path("other.onnx")));
}

// With the exact lead no maximum changes; with none, most candidates are left out.
TEST_F(BinaryPrediction, OfMaximumPooling) {
  const auto rows =
      Predict("models/fashion_cnn_w1a8.onnx", {"--budget", "0.01", "--pools", "1", "0", "0.05"});
  const auto exact = rows["pools 1"], some = rows["pools 0.05"], none = rows["pools 0"];
  EXPECT_EQ(exact["wrong"], 0);
  EXPECT_EQ(exact["right"], rows["none"]["right"]);
  EXPECT_FALSE(exact.contains("sqnr_db"));
  EXPECT_GT(exact["pools"], 0);
  EXPECT_LT(exact["skipped"], some["skipped"]);
  EXPECT_LT(some["skipped"], none["skipped"]);
  EXPECT_LE(some["wrong"], none["wrong"]);
  EXPECT_GT(none["wrong"], 0);
}

}  // namespace
}  // namespace kiln::cli
