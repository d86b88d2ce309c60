// Tests of the sample in emitted folders, for the smallest design point of each family: `make sim`
// ends in PASS, and after a change of the expected bytes in the element that differs. make runs in
// the folder as a user of the folder runs it: it builds the simulation from the emitted files
// alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>

#include "kiln/cli/application.h"
#include "kiln/report/text.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "tests/cli/call.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;
using testing::ContainsRegex;
using testing::HasSubstr;

constexpr char kTinySystolic[] = R"(family: systolic
name: tiny
array_rows: 2
array_columns: 2
input_buffer_words: 64
weight_buffer_words: 64
accumulation_buffer_words: 64
vector_stages: 1
vector_stage_latency: 1
vector_function_stages: []
vector_divide_stages: []
vector_row_buffer_words: 16
vector_rows_in_flight: 2
operand_buffer_words: 32
depthwise_multipliers: 0
input_port_bytes: 8
weight_port_bytes: 8
operand_port_bytes: 8
output_port_bytes: 8
memory_latency: 9
)";

constexpr char kRectified[] = R"(graph "small" {
  input %image : f32[1x2x4x4]
  const %w : f32[2x2x1x1] = [1, -2, 3, 4]
  %y = conv %image, %w {kernel_shape=[1, 1]} : f32[1x2x4x4]
  %z = relu %y : f32[1x2x4x4]
  output %z
}
)";
// The host computes the function between the layers.
constexpr char kTwoLayers[] = R"(graph "small" {
  input %image : f32[1x2x4x4]
  const %w : f32[2x2x1x1] = [1, -2, 3, 4]
  %y = conv %image, %w {kernel_shape=[1, 1]} : f32[1x2x4x4]
  %s = sigmoid %y : f32[1x2x4x4]
  %z = conv %s, %w {kernel_shape=[1, 1]} : f32[1x2x4x4]
  output %z
}
)";

class EmittedSample : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(WriteFile(folder_.path() / "tiny.yaml", kTinySystolic).ok());
  }
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }

  // Runs make in the emitted folder. Returns what it printed; `passes` says whether it exits with
  // 0.
  std::string Make(const std::string& target, bool* passes) const {
    const fs::path log = Path("make.log");
    *passes =
        RunProgram({"make", "-s", "-C", Path("design"), target, "KILN_QUICK_BUILD=1"}, log).ok();
    return ReadFile(log).value_or("");
  }

  // Emits a network for a design point and simulates it, then with another expected byte.
  void Check(const std::string& point, const std::string& network = kRectified) const {
    ASSERT_TRUE(WriteFile(folder_.path() / "net.kir", network).ok());
    const Outcome compiled =
        Call({"compile", Path("net.kir"), "--on", point, "--emit", Path("design")});
    ASSERT_EQ(compiled.code, kExitOk) << compiled.err;
    CheckReadme();
    bool passes = false;
    const std::string right = Make("sim", &passes);
    EXPECT_TRUE(passes) << right;
    EXPECT_THAT(right, ContainsRegex("cycles [1-9]"));
    EXPECT_THAT(right, ContainsRegex("counter [a-z0-9_]+.[a-z0-9_]+ [0-9]+"));
    EXPECT_THAT(right, ContainsRegex("PASS: [1-9][0-9]* elements of [1-9][0-9]* tensors"));

    // The lowest bit of the first expected byte is an element's in every family.
    const fs::path file = FirstExpected();
    std::string bytes = *ReadFile(file);
    bytes[0] = static_cast<char>(bytes[0] ^ 1);
    ASSERT_TRUE(WriteFile(file, bytes).ok());
    const std::string wrong = Make("sim", &passes);
    EXPECT_FALSE(passes);
    EXPECT_THAT(wrong,
                ContainsRegex("difference in [^ ]+, element .[a-z0-9, ]+., address 0x[0-9a-f]+"
                              ": expected -?[0-9a-fx]+, found -?[0-9a-fx]+"));
    EXPECT_THAT(wrong, HasSubstr("FAIL\n"));
    EXPECT_THAT(wrong, testing::Not(HasSubstr("PASS")));
  }

  // Streams in which the machine sends nothing have no file.
  fs::path FirstExpected() const {
    for (int i = 0; i < 4; ++i) {
      const fs::path file = Path("design/sample/expected" + std::to_string(i) + ".bin");
      if (fs::exists(file) && fs::file_size(file) > 0) return file;
    }
    return Path("design/sample/expected0.bin");
  }

  // Lines have at most 100 columns.
  static void CheckColumns(const std::string& readme) {
    std::istringstream lines(readme);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(Width(line), 100u) << line;
  }

  // The README lists every file, or its folder, with what it holds.
  void CheckReadme() const {
    const std::string readme = ReadFile(Path("design/README.md")).value_or("");
    EXPECT_THAT(readme, HasSubstr("`net.kir`"));
    EXPECT_THAT(readme, HasSubstr("\n## Start a run\n"));
    EXPECT_THAT(readme, HasSubstr("\nInputs, which the host writes:\n\n- `"));
    EXPECT_THAT(readme, HasSubstr("\nOutputs, which the host reads:\n\n- `"));
    CheckColumns(readme);
    std::istringstream listed(ReadFile(Path("design/emitted.txt")).value_or(""));
    for (std::string file; std::getline(listed, file);) {
      if (file.empty() || file[0] == '#') continue;
      if (file == "kernels.txt") {
        EXPECT_THAT(readme, HasSubstr("\n`kernels.txt` lists"));
        continue;
      }
      const std::string folder = file.substr(0, file.find('/') + 1);
      const bool named =
          readme.find("| `" + file + "` | ") != std::string::npos ||
          (!folder.empty() && readme.find("| `" + folder + "` | ") != std::string::npos);
      EXPECT_TRUE(named) << file << " is not in README.md";
      EXPECT_THAT(readme, testing::Not(HasSubstr("| `" + file + "` |  |"))) << "not described";
    }
  }

  const TemporaryFolder folder_ = *TemporaryFolder::Create("kiln-sample");
};

TEST_F(EmittedSample, SystolicPassesAndFindsADifference) { Check(Path("tiny.yaml")); }
TEST_F(EmittedSample, VtaPassesAndFindsADifference) {
  Check("tests/targets/conformance/vta-tiny.yaml");
}
TEST_F(EmittedSample, CgraPassesAndFindsADifference) { Check("accelerators/se-4.yaml"); }
TEST_F(EmittedSample, BinaryPassesAndFindsADifference) {
  Check("accelerators/binary-small.yaml", kTwoLayers);
}
TEST_F(EmittedSample, DataflowPassesAndFindsADifference) {
  Check("accelerators/dataflow-small.yaml");
}

}  // namespace
}  // namespace kiln::cli
