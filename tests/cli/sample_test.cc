// Tests of the sample in emitted folders, for the smallest design point of each family: `make sim`
// ends in PASS, and after a change of the expected bytes in the element that differs; the driver in
// C runs the sample on the simulated machine. make runs in the folder as a user of the folder runs
// it: it builds the simulation from the emitted files alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "kiln/cli/application.h"
#include "kiln/hardware/stream_memory.h"
#include "kiln/report/text.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "tests/cli/call.h"
#include "tests/targets/register_checks.h"

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

constexpr char kTwoInputs[] = R"(graph "small" {
  input %image : f32[1x2x4x4]
  input %other : f32[1x3x4x4]
  const %w : f32[2x2x1x1] = [1, -2, 3, 4]
  const %v : f32[2x3x1x1] = [1, -2, 3, 4, 2, 1]
  %y = conv %image, %w {kernel_shape=[1, 1]} : f32[1x2x4x4]
  %x = conv %other, %v {kernel_shape=[1, 1]} : f32[1x2x4x4]
  %z = add %y, %x : f32[1x2x4x4]
  %r = relu %z : f32[1x2x4x4]
  output %r
  output %y
}
)";

class EmittedSample : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(WriteFile(folder_.path() / "tiny.yaml", kTinySystolic).ok());
  }
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }

  // Runs make in a folder of the emission. Returns what it printed; `passes` says whether it exits
  // with 0.
  std::string Make(const std::string& target, bool* passes, const std::string& folder = "design",
                   const std::string& setting = "KILN_QUICK_BUILD=1") const {
    const fs::path log = Path("make.log");
    *passes =
        RunProgram({"make", "-s", "-C", Path(folder), target, "KILN_QUICK_BUILD=1", setting}, log)
            .ok();
    return ReadFile(log).value_or("");
  }

  void Emit(const std::string& point, const std::string& network) const {
    ASSERT_TRUE(WriteFile(folder_.path() / "net.kir", network).ok());
    const Outcome compiled =
        Call({"compile", Path("net.kir"), "--on", point, "--emit", Path("design")});
    ASSERT_EQ(compiled.code, kExitOk) << compiled.err;
  }

  // Emits a network for a design point and simulates it, then with another expected byte.
  void Check(const std::string& point, const std::string& network = kRectified) const {
    Emit(point, network);
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

  // Runs the driver's example, which compares the memory with the bytes of the functional level.
  void CheckDriver(const std::string& folder) const {
    bool passes = false;
    const std::string driven = Make("sim", &passes, folder + "/driver");
    EXPECT_TRUE(passes) << driven;
    EXPECT_THAT(driven, ContainsRegex("PASS: [1-9][0-9]* bytes are as the functional level"));
  }

  // Checks a stream machine behind memory: its sample without and with stalls on every channel, the
  // addresses of its registers, and its driver.
  void CheckSoc(const std::vector<std::string>& in, const std::vector<std::string>& out) const {
    const std::string soc = "design/soc";
    bool passes = false;
    const std::string right = Make("sim", &passes, soc);
    EXPECT_TRUE(passes) << right;
    EXPECT_THAT(right, ContainsRegex("PASS: [1-9][0-9]* elements of [1-9][0-9]* tensors"));
    const std::string stalled =
        Make("sim", &passes, soc, "ARGUMENTS=--sample sample --stalls 0.4 --seed 7");
    EXPECT_TRUE(passes) << stalled;
    EXPECT_THAT(stalled, HasSubstr("PASS"));
    EXPECT_NE(right, stalled) << "stalls take cycles";
    CheckDriver(soc);
    const std::string readme = ReadFile(Path(soc + "/README.md")).value_or("");
    EXPECT_THAT(readme, HasSubstr("\n## Start a run\n"));
    EXPECT_THAT(readme, testing::Not(HasSubstr("` |  |"))) << "a file is not described";
    hardware::ExpectAnsweredAddresses(hardware::StreamRegisters(in, out), Path(soc));
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
    EXPECT_THAT(readme, HasSubstr("Apache License"));
    EXPECT_THAT(readme, HasSubstr("\nInputs, which the host writes:\n\n- `"));
    EXPECT_THAT(readme, HasSubstr("\nOutputs, which the host reads:\n\n- `"));
    CheckColumns(readme);
    std::istringstream listed(ReadFile(Path("design/emitted.txt")).value_or(""));
    for (std::string file; std::getline(listed, file);) {
      if (file.empty() || file[0] == '#') continue;
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

TEST_F(EmittedSample, SystolicPassesAndFindsADifference) {
  Check(Path("tiny.yaml"));
  EXPECT_FALSE(fs::exists(Path("design/soc"))) << "it has memory ports of its own";
}
TEST_F(EmittedSample, SystolicRunsByItsDriver) {
  Emit(Path("tiny.yaml"), kTwoLayers);
  CheckDriver("design");
}
TEST_F(EmittedSample, VtaPassesAndFindsADifference) {
  Check("tests/targets/conformance/vta-tiny.yaml");
}
TEST_F(EmittedSample, VtaRunsByItsDriver) {
  Emit("tests/targets/conformance/vta-tiny.yaml", kTwoLayers);
  CheckDriver("design");
}
TEST_F(EmittedSample, CgraPassesAndFindsADifference) { Check("accelerators/se-4.yaml"); }
TEST_F(EmittedSample, CgraRunsByItsDriver) {
  Emit("accelerators/se-4.yaml", kRectified);
  CheckSoc({"in"}, {"out"});
}
TEST_F(EmittedSample, BinaryPassesAndFindsADifference) {
  Check("accelerators/binary-small.yaml", kTwoLayers);
}
TEST_F(EmittedSample, BinaryRunsByItsDriver) {
  Emit("accelerators/binary-small.yaml", kTwoLayers);
  CheckSoc({"in"}, {"out0", "out1"});
}
TEST_F(EmittedSample, DataflowPassesAndFindsADifference) {
  Check("accelerators/dataflow-small.yaml");
}
TEST_F(EmittedSample, DataflowRunsByItsDriver) {
  Emit("accelerators/dataflow-small.yaml", kRectified);
  CheckSoc({"in0"}, {"out0"});
}

TEST_F(EmittedSample, DataflowOfTwoInputsRunsByItsDriver) {
  Emit("accelerators/dataflow-small.yaml", kTwoInputs);
  CheckSoc({"in0", "in1"}, {"out0", "out1"});
}

// The README names the kernels of the host with their neighbours, the register map and the meaning
// of codes. Its lines are full: no line break where the next word would fit.
TEST_F(EmittedSample, ReadmesNameTheKernelsOfTheHost) {
  constexpr char kNet[] = R"(graph "small" {
  input %image : f32[1x2x4x4]
  const %w : f32[2x2x1x1] = [1, -2, 3, 4]
  %a = conv %image, %w {kernel_shape=[1, 1]} "first" : f32[1x2x4x4]
  %b = softmax %a {axis=1} "middle" : f32[1x2x4x4]
  %c = conv %b, %w {kernel_shape=[1, 1]} "third" : f32[1x2x4x4]
  %d = softmax %c {axis=1} "fourth" : f32[1x2x4x4]
  output %d
}
)";
  for (const std::string& point :
       {Path("tiny.yaml"), std::string("tests/targets/conformance/vta-tiny.yaml"),
        std::string("accelerators/binary-small.yaml"), std::string("accelerators/se-4.yaml")}) {
    fs::remove_all(Path("design"));
    Emit(point, kNet);
    const std::string readme = ReadFile(Path("design/README.md")).value_or("");
    EXPECT_THAT(readme, HasSubstr("\n## Kernels of the host\n")) << point;
    const bool has_exponential = point == "accelerators/se-4.yaml";  // and no output in fp32
    EXPECT_EQ(readme.find("\n- `middle` (softmax): after `first`, before `third`.\n") !=
                  std::string::npos,
              !has_exponential)
        << point << readme;
    EXPECT_THAT(readme,
                ContainsRegex("\n- `fourth[+a-z]*` .softmax[ +a-z]*.: after `third`, as the "
                              "last kernel.\n"))
        << point << readme;
    EXPECT_THAT(readme, testing::Not(HasSubstr("code - -"))) << point;
    const auto is_of = [&](const char* family) {
      return readme.find(fmt::format("an accelerator of the family {}\n", family)) !=
             std::string::npos;
    };
    std::string words = readme;
    std::ranges::replace(words, '\n', ' ');
    EXPECT_EQ(words.find("; it holds the tensor `") != std::string::npos, is_of("vta")) << point;
    EXPECT_EQ(words.find("The folder holds the machine and a sample") != std::string::npos,
              is_of("cgra") || is_of("binary"))
        << point << readme;
    CheckColumns(readme);
    const bool has_registers = fs::exists(Path("design/driver/kiln_registers.h"));
    EXPECT_EQ(readme.find("`driver/kiln_registers.h` is the register map") != std::string::npos,
              has_registers)
        << point;
    EXPECT_EQ(readme.find("make -C driver bare REGISTERS=") != std::string::npos, has_registers);
    // Machines with memory have the same addresses in a header.
    const std::string tensors = ReadFile(Path("design/driver/kiln_tensors.h")).value_or("");
    EXPECT_EQ(!tensors.empty(), has_registers) << point;
    for (const char* kind : {"INPUT", "OUTPUT"}) {
      std::smatch defined;
      const std::regex line(fmt::format("#define KILN_{}_\\w+_ADDRESS (0x[0-9a-f]+)u", kind));
      if (!has_registers) break;
      ASSERT_TRUE(std::regex_search(tensors, defined, line)) << point << tensors;
      EXPECT_THAT(readme, HasSubstr(" bytes from " + defined[1].str())) << point;
    }
    // Text of one paragraph fills its lines.
    std::istringstream lines(readme);
    bool fenced = false;
    std::string before;
    for (std::string line; std::getline(lines, line); before = line) {
      if (line.starts_with("```")) fenced = !fenced;
      if (fenced || before.empty() || line.empty() || line[0] == '|' || line[0] == '-' ||
          line[0] == '`' || line[0] == '#' || std::isdigit(static_cast<unsigned char>(line[0])) ||
          before[0] == '|' || before.starts_with("```")) {
        continue;
      }
      const size_t begin = line.find_first_not_of(' ');
      const std::string word = line.substr(begin, line.find(' ', begin) - begin);
      EXPECT_GT(Width(before) + 1 + Width(word), 100u) << before << '\n' << line;
    }
  }
  // A network without them has no such section.
  fs::remove_all(Path("design"));
  Emit(Path("tiny.yaml"), kRectified);
  EXPECT_THAT(ReadFile(Path("design/README.md")).value_or(""),
              testing::Not(HasSubstr("Kernels of the host")));
}

// A layer whose weights do not fit in the device's block RAM reads them through a port.
TEST_F(EmittedSample, DataflowReadsItsWeightsBehindMemory) {
  constexpr int kChannels = 14, kOutputs = 20, kSide = 6;
  std::string weights = "-1";
  for (int i = 1; i < kOutputs * kChannels * kSide * kSide; ++i)
    weights += fmt::format(", {}", i * 5 % 7 - 3);
  const std::string device = Path("device.yaml");
  ASSERT_TRUE(WriteFile(device,
                        "family: dataflow\nname: device\nfpga: xcup\ndsp: 70\nbram: 1\nlut: 30000\n"
                        "weight_ports: 1\nweight_port_bytes: 8\nweight_latency: 20\n"
                        "channel_padding: true\n")
                  .ok());
  Emit(device, fmt::format(R"(graph "dense" {{
  input %x : f32[1x{0}x{1}x{1}]
  const %w : f32[{2}x{0}x{1}x{1}] = [{3}]
  %y = conv %x, %w : f32[1x{2}x1x1]
  output %y
}}
)",
                           kChannels, kSide, kOutputs, weights));
  ASSERT_TRUE(fs::exists(Path("design/soc/weights.bin")));
  CheckSoc({"in0"}, {"out0"});
}

}  // namespace
}  // namespace kiln::cli
