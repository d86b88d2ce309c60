// Checks that results do not depend on the processor (processors.h).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "kiln/support/random.h"
#include "tests/cli/processors.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

TEST_F(Processors, ExportWritesTheSameFile) {
  ExpectTheSameFiles(
      {"export", kModel, "-o", "OUT/net.onnx", "--quantise", "int8-entropy", "--random", "16"});
}

TEST_F(Processors, CompileEmitsTheSameFolder) {
  for (const char* machine : {"systolic-int8-8x8", "se-4"}) {
    ExpectTheSameFiles(
        {"compile", kModel, "--on", machine, "--random", "16", "--emit", "OUT/design"});
  }
}

// Elementary functions of the reference level: inside a recurrence, in soft-max, and alone. In f64,
// for rounding to f32 would hide nearly every difference in their last bits.
TEST_F(Processors, TheReferenceLevelWritesTheSameOutputs) {
  const fs::path network = folder_.path() / "functions.kir";
  Random random(6);
  const auto numbers = [&](int count) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += fmt::format("{}{:.4f}", i ? ", " : "", random.Uniform(-1, 1));
    return text;
  };
  ASSERT_TRUE(
      WriteFile(network, fmt::format(R"(graph "functions" {{
  input %x : f64[16x1x8]
  const %w : f64[1x64x8] = [{}]
  const %r : f64[1x64x16] = [{}]
  const %zw : f64[1x48x8] = [{}]
  const %zr : f64[1x48x16] = [{}]
  %y = lstm %x, %w, %r "lstm" : f64[16x1x1x16]
  %z = gru %x, %zw, %zr {{activations=["Softplus", "Elu"]}} "gru" : f64[16x1x1x16]
  %e = exp %x "exp" : f64[16x1x8]
  %t = tanh %x "tanh" : f64[16x1x8]
  %p = pow %e, %x "pow" : f64[16x1x8]
  %s = softmax %x "softmax" : f64[16x1x8]
  output %y
  output %z
  output %e
  output %t
  output %p
  output %s
}}
)",
                                     numbers(512), numbers(1024), numbers(384), numbers(768)))
          .ok());
  ExpectTheSameFiles(
      {"run", network.string(), "--level", "reference", "--random", "8", "--outputs", "OUT/y.npz"});
}

// Noise with labels: whether accuracy is good does not matter here.
TEST_F(Processors, MixedPrecisionWritesTheSameRecipe) {
  constexpr char kImages = 8;
  std::string images("\0\0\x08\x03\0\0\0", 7), labels("\0\0\x08\x01\0\0\0", 7);
  images += kImages;
  images += std::string("\0\0\0\x1c\0\0\0\x1c", 8);
  labels += kImages;
  Random random(5);
  for (int i = 0; i < kImages * 28 * 28; ++i) images += static_cast<char>(random.Below(256));
  for (int i = 0; i < kImages; ++i) labels += static_cast<char>(random.Below(10));
  const std::string data = (folder_.path() / "images.idx").string(),
                    truth = (folder_.path() / "labels.idx").string();
  ASSERT_TRUE(WriteFile(data, images).ok() && WriteFile(truth, labels).ok());
  ExpectTheSameFiles({"mixed-precision", kModel, "--formats", "int8,int4", "--budget", "5",
                      "--data", data, "--labels", truth, "--out", "OUT/recipe.yaml", "--json",
                      "OUT/curve.json"});
}

TEST_F(Processors, UnknownLevelIsAnError) {
  const Status status = RunProgram({"env", "KILN_CPU=avx1024", KilnProgram(), "list", "families"},
                                   folder_.path() / "log");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(
      ReadFile(folder_.path() / "log").value(),
      testing::HasSubstr("KILN_CPU: 'avx1024' is not a processor level; one of: portable, avx2, "));
}

}  // namespace
}  // namespace kiln::cli
