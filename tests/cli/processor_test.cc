// Checks that results do not depend on the processor: child processes run kiln as on older
// processors and must write identical files. These variables select the processor:
//
//   KILN_CPU           for Kiln's own kernels
//   DNNL_MAX_CPU_ISA   for oneDNN, which code that decides bits must not call
//   GLIBC_TUNABLES     for the C library's versions of exp, log, pow, sin and others
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "kiln/support/random.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

std::string Program() {
  return (fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "bin/kiln").string();
}

// The files below a folder, by their paths inside it.
std::map<std::string, std::string> FilesOf(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const auto text = ReadFile(entry.path());
    files[fs::relative(entry.path(), folder).string()] =
        text.ok() ? *text : MessageOf(text.status());
  }
  return files;
}

class Processors : public testing::Test {
 protected:
  Processors() : folder_(TemporaryFolder::Create("kiln-processors").value()) {}

  // Runs `arguments` with OUT standing for a folder of its own, as on each processor, and compares
  // what it writes. `has_threads` says that the command has the option --threads.
  void ExpectTheSameFiles(const std::vector<std::string>& arguments, bool has_threads = true) {
    const std::vector<std::vector<std::string>> processors = {
        {},
        {"KILN_CPU=portable", "DNNL_MAX_CPU_ISA=SSE41", kNoFma},
        {"KILN_CPU=avx2", "DNNL_MAX_CPU_ISA=AVX2"},
        {"DNNL_MAX_CPU_ISA=AVX2", kNoFma},
        {"OMP_NUM_THREADS=1", "THREADS=1"},
    };
    std::map<std::string, std::string> first;
    for (size_t i = 0; i < processors.size(); ++i) {
      const fs::path out = folder_.path() / ("out" + std::to_string(runs_++));
      fs::create_directory(out);
      std::vector<std::string> command = {"env"};
      bool one_thread = false;
      for (const std::string& variable : processors[i]) {
        if (variable == "THREADS=1")
          one_thread = true;
        else
          command.push_back(variable);
      }
      command.push_back(Program());
      if (one_thread && has_threads) command.insert(command.end(), {"--threads", "1"});
      for (std::string argument : arguments) {
        if (const size_t at = argument.find("OUT"); at != std::string::npos)
          argument.replace(at, 3, out.string());
        command.push_back(argument);
      }
      const Status status = RunProgram(command, folder_.path() / "log");
      ASSERT_TRUE(status.ok()) << MessageOf(status);
      const std::map<std::string, std::string> files = FilesOf(out);
      ASSERT_FALSE(files.empty());
      if (i == 0) {
        first = files;
        continue;
      }
      ASSERT_EQ(files.size(), first.size());
      for (const auto& [name, bytes] : files) {
        EXPECT_TRUE(bytes == first[name])
            << name << " differs with " << testing::PrintToString(processors[i]);
      }
    }
  }

  static constexpr const char* kNoFma = "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F";
  static constexpr const char* kModel = "models/demo_fashion_mnist.onnx";
  TemporaryFolder folder_;
  int runs_ = 0;
};

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

// Searches that draw random numbers, compare costs, or ask a policy whose scores are sums of
// floats.
TEST_F(Processors, MappersFindTheSameMapping) {
  for (const char* mapper : {"ppo", "guided", "annealing", "evolutionary", "exact"}) {
    ExpectTheSameFiles(
        {"cgra", "map", "fir-8", "--on", "se-16", "--mapper", mapper, "--steps", "400", "--mapping",
         "OUT/mapping.json", "--configuration", "OUT/configuration.json"},
        /*has_threads=*/false);
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
  const Status status = RunProgram({"env", "KILN_CPU=avx1024", Program(), "list", "families"},
                                   folder_.path() / "log");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(
      ReadFile(folder_.path() / "log").value(),
      testing::HasSubstr("KILN_CPU: 'avx1024' is not a processor level; one of: portable, avx2, "));
}

}  // namespace
}  // namespace kiln::cli
