// Tests of the sample in emitted folders, for the smallest design point of each family: `make sim`
// ends in PASS, and after a change of the expected bytes in the element that differs; the driver in
// C runs the sample on the simulated machine. make runs in the folder as a user of the folder runs
// it: it builds the simulation from the emitted files alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <absl/strings/ascii.h>

#include <cctype>
#include <filesystem>
#include <functional>
#include <map>
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

  // Returns the words of a file with one blank between them.
  std::string WordsOf(const std::string& file) const {
    return std::regex_replace(ReadFile(Path(file)).value_or(""), std::regex("\\s+"), " ");
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
    CheckSocAt("0x2380000000");
    const std::string readme = ReadFile(Path(soc + "/README.md")).value_or("");
    EXPECT_THAT(readme, HasSubstr("\n## Start a run\n"));
    EXPECT_THAT(readme, testing::Not(HasSubstr("` |  |"))) << "a file is not described";
    hardware::ExpectAnsweredAddresses(hardware::StreamRegisters(in, out), Path(soc));
    EXPECT_THAT(readme, testing::Not(HasSubstr("folder above"))) << "the folder may be moved";
    // The header has the streams of the sample, and C takes it.
    const std::string tensors = ReadFile(Path(soc + "/driver/kiln_tensors.h")).value_or("");
    for (std::string stream : in) {
      absl::AsciiStrToUpper(&stream);
      EXPECT_THAT(tensors, ContainsRegex(fmt::format("KILN_SAMPLE_{}_BEATS 0x[1-9a-f]", stream)));
    }
    const std::string machine = soc + "/driver/kiln_machine_registers.h";
    const std::string code = fmt::format(
        "#include \"kiln_registers.h\"\n#include \"kiln_tensors.h\"\n{}"
        "int bytes[KILN_SAMPLE_MEMORY_BYTES > 0 ? 1 : -1];\n",
        fs::exists(Path(machine)) ? "#include \"kiln_machine_registers.h\"\n" : "");
    ASSERT_TRUE(WriteFile(Path(soc + "/driver/headers.c"), code).ok());
    const fs::path log = Path("gcc.log");
    EXPECT_TRUE(RunProgram({"gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic",
                            "-fsyntax-only", Path(soc + "/driver/headers.c")},
                           log)
                    .ok())
        << ReadFile(log).value_or("");
  }

  // Simulates a stream machine in a system that has its memory at another address, where no access
  // to a lower address is answered: the testbench and the driver add it to what registers take.
  void CheckSocAt(const std::string& address) const {
    const std::string soc = "design/soc", base = "MEMORY_BASE=" + address;
    bool passes = false;
    const std::string right = Make("sim", &passes, soc, base);
    EXPECT_TRUE(passes) << right;
    EXPECT_THAT(right, ContainsRegex("PASS: [1-9][0-9]* elements of [1-9][0-9]* tensors"));
    const std::string driven = Make("sim", &passes, soc + "/driver", base);
    EXPECT_TRUE(passes) << driven;
    EXPECT_THAT(driven, ContainsRegex("PASS: [1-9][0-9]* bytes"));
    // The other platforms take it as an option.
    const fs::path log = Path("make.log"), driver = Path(soc + "/driver");
    const Status built =
        RunProgram({"make", "-s", "-C", driver.string(), "linux", "bare", "CC=gcc",
                    "REGISTERS=0x40000000", "MEMORY=0x80000000", "BUS_MEMORY=" + address},
                   log);
    EXPECT_TRUE(built.ok()) << ReadFile(log).value_or("");
  }

  // Checks that the launches of the header are those of the sample: each begins where the one
  // before ends. `bytes` are those of a beat, and `beats_of` the beats of a launch by its numbers.
  void CheckLaunches(
      uint64_t bytes,
      const std::function<uint64_t(const std::map<std::string, uint64_t>&)>& beats_of) const {
    const std::string tensors = ReadFile(Path("design/driver/kiln_tensors.h")).value_or("");
    std::map<uint64_t, std::map<std::string, uint64_t>> launches;
    const std::regex line("#define KILN_LAUNCH_([0-9]+)_([A-Z_]+) ([0-9]+)u\n");
    for (std::sregex_iterator at(tensors.begin(), tensors.end(), line), end; at != end; ++at)
      launches[std::stoul((*at)[1].str())][(*at)[2].str()] = std::stoul((*at)[3].str());
    ASSERT_THAT(tensors, HasSubstr(fmt::format("#define KILN_LAUNCHES {}u\n", launches.size())));
    ASSERT_FALSE(launches.empty());
    uint64_t offset = 0;
    for (auto& [number, launch] : launches) {
      EXPECT_EQ(launch["OFFSET"], offset) << number;
      offset += bytes * beats_of(launch);
    }
    EXPECT_EQ(offset, fs::file_size(Path("design/sample/input0.bin")));
    const std::string readme = ReadFile(Path("design/README.md")).value_or("");
    for (const auto& [number, launch] : launches)
      EXPECT_THAT(readme, HasSubstr(fmt::format("\n### Launch {} of `", number)));
  }

  // Streams in which the machine sends nothing have no file.
  fs::path FirstExpected() const {
    for (int i = 0; i < 4; ++i) {
      const fs::path file = Path("design/sample/expected" + std::to_string(i) + ".bin");
      if (fs::exists(file) && fs::file_size(file) > 0) return file;
    }
    return Path("design/sample/expected0.bin");
  }

  // Lines have at most 100 columns, but for rows of tables.
  static void CheckColumns(const std::string& readme) {
    std::istringstream lines(readme);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with('|')) {
        EXPECT_LE(Width(line), 100u) << line;
      }
    }
  }

  // The README lists every file, or its folder, with what it holds.
  void CheckReadme() const {
    const std::string readme = ReadFile(Path("design/README.md")).value_or("");
    EXPECT_THAT(readme, HasSubstr("`net.kir`"));
    EXPECT_THAT(readme, HasSubstr("\n## Start a run\n"));
    EXPECT_THAT(readme, HasSubstr("Apache License"));
    EXPECT_THAT(readme, testing::Not(HasSubstr("\n\n\n")));
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
// MEMORY_BASE places the memory of the buses; the addresses of steps and programs do not change.
TEST_F(EmittedSample, SystolicRunsAtAnotherAddress) {
  Emit(Path("tiny.yaml"), kTwoLayers);
  bool passes = false;
  const std::string base = "MEMORY_BASE=0xc380000000";
  const std::string right = Make("sim", &passes, "design", base);
  EXPECT_TRUE(passes) << right;
  EXPECT_THAT(right, ContainsRegex("PASS: [1-9][0-9]* elements"));
  const std::string driven = Make("sim", &passes, "design/driver", base);
  EXPECT_TRUE(passes) << driven;
  EXPECT_THAT(driven, ContainsRegex("PASS: [1-9][0-9]* bytes"));
  EXPECT_TRUE(fs::exists(Path("design/build/simulate_0xc380000000")));
  EXPECT_FALSE(fs::exists(Path("design/build/simulate"))) << "is another machine";
  // A memory that is not where the machine looks for it: the testbench has another base.
  const std::string wrong = Make("sim", &passes, "design", "MEMORY_BASE=0x1001");
  EXPECT_FALSE(passes);
  EXPECT_THAT(wrong, HasSubstr("MEMORY_BASE must be a multiple of 4096"));
}
TEST_F(EmittedSample, VtaRunsAtAnotherAddress) {
  Emit("tests/targets/conformance/vta-tiny.yaml", kRectified);
  bool passes = false;
  const std::string driven = Make("sim", &passes, "design/driver", "MEMORY_BASE=2147483648");
  EXPECT_TRUE(passes) << driven;
  EXPECT_THAT(driven, ContainsRegex("PASS: [1-9][0-9]* bytes"));
  // The header has the launch.
  const std::string tensors = ReadFile(Path("design/driver/kiln_tensors.h")).value_or("");
  const std::string readme = ReadFile(Path("design/README.md")).value_or("");
  std::smatch address, count;
  ASSERT_TRUE(std::regex_search(tensors, address, std::regex("KILN_PROGRAM_ADDRESS (0x\\w+)u\n")));
  ASSERT_TRUE(
      std::regex_search(tensors, count, std::regex("KILN_PROGRAM_INSTRUCTIONS (0x\\w+)u\n")));
  EXPECT_THAT(readme,
              HasSubstr(fmt::format("{} instructions from {}.",
                                    std::stoul(count[1].str(), nullptr, 16), address[1].str())));
  EXPECT_THAT(tensors, ContainsRegex("KILN_MEMORY_BYTES 0x[0-9a-f]+u\n"));
}
// What the network's metadata state of pixels is in the README, in the headers of both folders and
// beside the format of the input, and codes of errors have names.
TEST_F(EmittedSample, SaysWhatNumbersMean) {
  std::string network = kRectified;
  network.insert(network.find("  input"),
                 "  metadata \"kiln.preprocess\" = \"scale=1/255,mean=0.286,std=0.353\"\n");
  for (const auto& [point, errors] : std::vector<std::pair<std::string, std::string>>{
           {Path("tiny.yaml"), "ERROR_CODE is 0 without an error, or one of 1 opcode, 2 order, "},
           {"tests/targets/conformance/vta-tiny.yaml",
            "FAULT (0x28) is 0, or one of 1 sram_range, 2 dram_range, "},
           {"accelerators/dataflow-small.yaml", ""}}) {
    fs::remove_all(Path("design"));
    Emit(point, network);
    for (const std::string folder : {"design", "design/soc"}) {
      if (!fs::exists(Path(folder))) continue;
      const std::string readme = WordsOf(folder + "/README.md");
      EXPECT_THAT(readme, HasSubstr("Preprocessing of the network's input: `scale=1/255,mean=0.286,"
                                    "std=0.353`. The stored number x of an image, a pixel of 0 to "
                                    "255, becomes the value (x / 255 - 0.286) / 0.353."));
      EXPECT_THAT(readme, HasSubstr(errors));
      EXPECT_THAT(ReadFile(Path(folder + "/driver/kiln_tensors.h")).value_or(""),
                  HasSubstr("#define KILN_PREPROCESS_DIVIDE 255.0\n"));
      if (fs::exists(Path(folder + "/driver/kiln_sample.c"))) {
        EXPECT_THAT(readme, HasSubstr(" AXI4 masters send bursts of the type INCR "));
        EXPECT_THAT(readme, ContainsRegex(" at most [0-9]+ requests "));
      }
    }
  }
  const std::string soc = WordsOf("design/soc/README.md");
  EXPECT_THAT(soc, HasSubstr("`machine_` is the AXI4-Lite slave with the registers of the machine "
                             "itself, which `driver/kiln_machine_registers.h` lists."));
  EXPECT_THAT(soc, HasSubstr("| `driver/kiln_machine_registers.h` | the registers of the bus"));
}

// A machine that works on several images at once says where the others are.
TEST_F(EmittedSample, VtaNamesTheImagesOfABatch) {
  Emit("accelerators/vta-batch-4.yaml", R"(graph "small" {
  input %image : f32[1x2x6x6]
  const %w : f32[2x2x3x3] = [1, -2, 3, 4, 1, 2, 3, 1, 2, 2, 1, 0, 1, 1, 3, 1, 2, 1,
                             1, 2, 0, 4, 1, 2, -3, 1, 2, 2, 1, 0, 1, 1, 3, 1, 2, 1]
  %y = conv %image, %w {kernel_shape=[3, 3]} : f32[1x2x4x4]
  %z = conv %y, %w {kernel_shape=[3, 3]} : f32[1x2x2x2]
  output %z
}
)");
  EXPECT_THAT(
      WordsOf("design/README.md"),
      HasSubstr("A run works on 4 images at once: the lists say where the first one is, and "
                "the others follow it 16 bytes apart"));
  const std::string tensors = ReadFile(Path("design/driver/kiln_tensors.h")).value_or("");
  EXPECT_THAT(tensors, HasSubstr("#define KILN_BATCH_IMAGES 0x4u\n"));
  EXPECT_THAT(tensors, HasSubstr("#define KILN_BATCH_STRIDE 0x10u\n"));
}
TEST_F(EmittedSample, StreamMachinesHaveNoMemoryBase) {
  Emit("accelerators/se-4.yaml", kRectified);
  bool passes = false;
  EXPECT_THAT(Make("sim", &passes, "design", "MEMORY_BASE=0x1000"),
              HasSubstr("this machine has streams and no memory: make -C soc sim"));
  EXPECT_FALSE(passes);
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
  uint64_t loads = 0;
  CheckLaunches(16, [&](const auto& launch) {
    EXPECT_EQ(launch.at("LOAD_OFFSET"), loads);
    loads += 16 * launch.at("LOAD_BEATS");
    return launch.at("LOAD_BEATS") + launch.at("RUNS_HELD") * launch.at("BEATS_IN");
  });
  const std::string sent = *ReadFile(Path("design/sample/input0.bin")),
                    loaded = *ReadFile(Path("design/loads.bin"));
  ASSERT_EQ(loaded.size(), loads);
  const size_t first = fs::file_size(Path("design/configuration.bin"));
  EXPECT_EQ(loaded.substr(0, first), sent.substr(0, first));
  EXPECT_TRUE(fs::exists(Path("design/soc/loads.bin")));
}
TEST_F(EmittedSample, BinaryPassesAndFindsADifference) {
  Check("accelerators/binary-small.yaml", kTwoLayers);
}
TEST_F(EmittedSample, BinaryRunsByItsDriver) {
  Emit("accelerators/binary-small.yaml", kTwoLayers);
  CheckSoc({"in"}, {"out0", "out1"});
  CheckLaunches(8, [](const auto& launch) {
    EXPECT_EQ(launch.at("PIXELS"), launch.at("HEIGHT") * launch.at("WIDTH"));
    return launch.at("LOAD_BEATS") + 1 + launch.at("PIXELS") * launch.at("RECORD_BEATS");
  });
  const std::string readme = WordsOf("design/README.md");
  EXPECT_THAT(readme, ContainsRegex("- Codes 0 to 1 of each record: channels 0 to 1 of `[a-z0-9]+` "
                                    ".u?int8, [0-9 x]+; value = [0-9.e-]+ [*] "));
  EXPECT_THAT(readme, ContainsRegex("- Stage 0: 4 x 4 pixels of 1 beats, [0-9]+ columns. Its "
                                    "channels 0 to 1 go to channels 0 to 1 of `"));
}
TEST_F(EmittedSample, DataflowPassesAndFindsADifference) {
  Check("accelerators/dataflow-small.yaml");
}
TEST_F(EmittedSample, DataflowRunsByItsDriver) {
  Emit("accelerators/dataflow-small.yaml", kRectified);
  CheckSoc({"in0"}, {"out0"});
}

// Sums that the host turns into values have a scale and an offset for each channel in the header:
// the largest weights of the channels are 2 and 4, each in codes up to 127.
TEST_F(EmittedSample, DataflowNamesScalesOfChannels) {
  Emit("accelerators/dataflow-small.yaml", R"(graph "small" {
  input %image : f32[1x2x4x4]
  const %w : f32[2x2x1x1] = [1, -2, 3, 4]
  %y = conv %image, %w {kernel_shape=[1, 1]} : f32[1x2x4x4]
  output %y
}
)");
  const std::string tensors = ReadFile(Path("design/driver/kiln_tensors.h")).value_or("");
  std::smatch in, out;
  ASSERT_TRUE(std::regex_search(tensors, in, std::regex("KILN_INPUT_IN0_SCALE ([0-9.e-]+)\n")))
      << tensors;
  ASSERT_TRUE(std::regex_search(
      tensors, out,
      std::regex("KILN_OUTPUT_OUT0_SCALES_COUNT 2u\n#define KILN_OUTPUT_OUT0_SCALES . ."
                 "\n  ([0-9.e-]+), ([0-9.e-]+).\n")))
      << tensors;
  EXPECT_THAT(tensors, HasSubstr("KILN_OUTPUT_OUT0_OFFSETS_COUNT 2u\n"));
  const double scale = std::stod(in[1].str());
  EXPECT_NEAR(std::stod(out[1].str()), scale * 2 / 127, 1e-6 * scale);
  EXPECT_NEAR(std::stod(out[2].str()), scale * 4 / 127, 1e-6 * scale);
  const std::string readme = WordsOf("design/README.md");
  EXPECT_THAT(readme, HasSubstr("value = scale of the channel * sum + offset of the channel; "
                                "`driver/kiln_tensors.h` has both lists, KILN_OUTPUT_OUT0_SCALES"));
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
    const std::string one_line = WordsOf("design/README.md");
    const std::string middle =
        "- `middle` (softmax): after `first`, before `third`. It reads `a` (1 x 4 x 4 x 2, from "
        "`first`) and computes `b` (1 x 4 x 4 x 2, for `third`).";
    EXPECT_EQ(one_line.find(middle) != std::string::npos, !has_exponential) << point << readme;
    EXPECT_THAT(one_line,
                ContainsRegex("- `fourth[+a-z]*` .softmax[ +a-z]*.: after `third`, as the "
                              "last kernel. It reads `[a-z0-9.]+` .[0-9 x]+, from `third`. "
                              "and computes `[a-z0-9_.]+` .[0-9 x]+.[.] "))
        << point << readme;
    EXPECT_THAT(one_line, HasSubstr("A kernel has the names of its nodes in `net.kir`")) << point;
    EXPECT_THAT(one_line, HasSubstr("No preprocessing of the network's input is stated")) << point;
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
    EXPECT_FALSE(tensors.empty()) << point;
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
      // A line must not begin with a sign, which would be an item of a list.
      const size_t second = begin + word.size() + 1;
      if (second < line.size() && std::string("+-*").find(line[second]) != std::string::npos)
        continue;
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
