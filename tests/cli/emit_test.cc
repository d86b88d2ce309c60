// Tests of `kiln compile --emit` and `kiln verify` on the smallest systolic machine: emitted
// folders are self-contained, the hardware agrees with the simulator, and faulty hardware is
// reported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kiln/cli/application.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "tests/cli/call.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;
using testing::ContainsRegex;
using testing::HasSubstr;

// Sets a variable of the environment while it lives.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Environment() { unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* const name_;
};

class EmittedDesigns : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(WriteFile(folder_.path() / "tiny.yaml", R"(family: systolic
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
)")
                    .ok());
    // The convolution has no name, the pool has one.
    ASSERT_TRUE(WriteFile(folder_.path() / "net.kir", R"(graph "small" {
  input %image : f32[1x2x4x4]
  const %w : f32[2x2x1x1] = [1, -2, 3, 4]
  %y = conv %image, %w {kernel_shape=[1, 1]} : f32[1x2x4x4]
  %z = max_pool %y {kernel_shape=[2, 2], strides=[2, 2]} "pool" : f32[1x2x2x2]
  output %z
}
)")
                    .ok());
  }
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }
  Outcome CallOnNet(const std::string& command, std::vector<std::string> options) const {
    std::vector<std::string> arguments = {command, Path("net.kir"), "--on", Path("tiny.yaml")};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return Call(arguments);
  }
  // With the same power-up in every run of the test.
  Outcome VerifyNet(std::vector<std::string> options) const {
    options.insert(options.end(), {"--seed", "1"});
    return CallOnNet("verify", std::move(options));
  }

  // The SystemVerilog library, to be spoilt.
  void CopyLibrary() const {
    const auto library = hardware::RtlLibrary();
    ASSERT_TRUE(library.ok()) << library.status();
    fs::copy(*library, Path("rtl"), fs::copy_options::recursive);
  }
  void Spoil(const std::string& file, const std::string& right, const std::string& wrong) const {
    std::string text = *ReadFile(Path("rtl/" + file));
    const size_t at = text.find(right);
    ASSERT_NE(at, std::string::npos) << file;
    text.replace(at, right.size(), wrong);
    ASSERT_TRUE(WriteFile(Path("rtl/" + file), text).ok());
  }

  const TemporaryFolder folder_ = *TemporaryFolder::Create("kiln-emit-cli");
};

TEST_F(EmittedDesigns, CompileWritesAFolderThatStandsByItself) {
  const Outcome compiled = CallOnNet("compile", {"--emit", Path("design")});
  ASSERT_EQ(compiled.code, kExitOk) << compiled.err;
  EXPECT_THAT(compiled.out, HasSubstr("SystemVerilog in " + Path("design") + ": make -C "));
  for (const char* file :
       {"Makefile", "design.mk", "filelist.f", "kiln_accelerator.sv", "rtl/kiln_systolic.sv",
        "testbench/kiln_systolic_testbench.cc", "memory.hex", "program.txt", "design.yaml",
        "kernels.txt", "waivers.vlt"}) {
    EXPECT_GT(ReadFile(fs::path(Path("design")) / file).value_or("").size(), 0u) << file;
  }
  EXPECT_THAT(*ReadFile(Path("design/kernels.txt")), ContainsRegex("conv_y .*matrix"));
  EXPECT_THAT(*ReadFile(Path("design/emitted.txt")), HasSubstr("\nkernels.txt\n"));
  const fs::path log = Path("lint.log");
  EXPECT_TRUE(RunProgram({"make", "-s", "-C", Path("design"), "lint"}, log).ok()) << *ReadFile(log);

  // A second emission over the first; never over files that are somebody's.
  EXPECT_EQ(CallOnNet("compile", {"--emit", Path("design")}).code, kExitOk);
  for (const char* command : {"compile", "verify"}) {
    const Outcome foreign = CallOnNet(command, {"--emit", folder_.path().string()});
    EXPECT_EQ(foreign.code, kExitError);
    EXPECT_EQ(foreign.err, "kiln: " + folder_.path().string() +
                               ": holds files that are not of an earlier emission; name a new "
                               "folder, or an empty one\n");
  }
}

TEST_F(EmittedDesigns, FoldersHaveNoBlanksInTheirPath) {
  for (const char* command : {"compile", "verify"}) {
    const Outcome refused = CallOnNet(command, {"--emit", Path("a b")});
    EXPECT_EQ(refused.code, kExitError) << command;
    EXPECT_EQ(refused.err, "kiln: " + Path("a b") +
                               ": make and Verilator take no blanks in paths; name a folder "
                               "without any in its path\n");
    EXPECT_FALSE(fs::exists(Path("a b")));
  }
}

TEST_F(EmittedDesigns, VerifyShowsThatTheLevelsAgree) {
  const Outcome agreed = VerifyNet({"--limit", "2", "--json", Path("found.json")});
  ASSERT_EQ(agreed.code, kExitOk) << agreed.out << agreed.err;
  // What takes long says what it is at where no bar can be drawn.
  EXPECT_EQ(agreed.err,
            "kiln: calibrate\nkiln: compile\nkiln: functional level\nkiln: cycle level\n"
            "kiln: rtl level: building the simulation\nkiln: rtl level: running the simulation\n");
  // Kernels by name, with the same cycles at both levels.
  EXPECT_THAT(agreed.out, ContainsRegex("\nconv_y +conv 1x1 2->2 .*\npool +max pool 2x2 .*\n"));
  EXPECT_THAT(
      agreed.out,
      HasSubstr(
          "\nbits         the same: functional, cycle and rtl level\ncycles       the same: "));
  EXPECT_THAT(agreed.out, HasSubstr("\ncounters     the same: "));
  EXPECT_THAT(agreed.out,
              HasSubstr("\nverified     2 of 2 kernels, with 100.00 % of the operations\n"
                        "registers    random at power-up, seed 1 (--seed)\n"));
  const auto found = nlohmann::json::parse(*ReadFile(Path("found.json")));
  EXPECT_TRUE(found["agrees"]);
  EXPECT_EQ(found["rtl_cycles"].size(), 2u);
  EXPECT_EQ(found["rtl_cycles"], found["cycle_level_cycles"]);
  for (const auto& kernel : found["kernels"]) EXPECT_EQ(kernel["rtl"], kernel["cycle_level"]);
  EXPECT_EQ(found["verified_share"], 1);
  EXPECT_EQ(found["host_kernels"].size(), 0u);
}

// `kiln verify` writes the same folder as `kiln compile`, and make finds its simulation up to date.
TEST_F(EmittedDesigns, VerifyKeepsTheWholeFolder) {
  ASSERT_EQ(CallOnNet("compile", {"--random", "1", "--emit", Path("compiled")}).code, kExitOk);
  const Outcome verified = VerifyNet({"--random", "1", "--emit", Path("design")});
  ASSERT_EQ(verified.code, kExitOk) << verified.err;
  const std::string listed = ReadFile(Path("design/emitted.txt")).value_or("");
  EXPECT_EQ(listed, ReadFile(Path("compiled/emitted.txt")).value_or("-"));
  std::istringstream files(listed);
  int count = 0;
  for (std::string file; std::getline(files, file);) {
    if (file.starts_with('#')) continue;
    EXPECT_EQ(ReadFile(Path("design/" + file)).value_or(""),
              ReadFile(Path("compiled/" + file)).value_or("-"))
        << file;
    ++count;
  }
  EXPECT_GT(count, 20);
  for (const char* file : {"README.md", "sample/steps.txt", "kernels.txt", "driver/main.c"})
    EXPECT_TRUE(fs::exists(Path("design") + "/" + file)) << file;
  const fs::path log = Path("make.log");
  EXPECT_TRUE(RunProgram({"make", "-q", "-C", Path("design"), "build/simulate"}, log).ok());
  EXPECT_TRUE(RunProgram({"make", "-s", "-C", Path("design"), "sim"}, log).ok());
  EXPECT_THAT(*ReadFile(log), HasSubstr("PASS: "));
}

// Without --seed every run is another one, and the seed that it reports repeats it.
TEST_F(EmittedDesigns, VerifyDrawsASeedAndReportsIt) {
  const auto verify = [&](std::vector<std::string> options) {
    options.insert(options.end(), {"--emit", Path("design"), "--stalls", "0.4", "--json", "-"});
    const Outcome run = CallOnNet("verify", options);
    EXPECT_EQ(run.code, kExitOk) << run.err;
    return nlohmann::json::parse(run.out, nullptr, false);
  };
  const auto first = verify({}), second = verify({});
  const auto seed = first["seed"].get<uint64_t>();
  EXPECT_NE(second["seed"].get<uint64_t>(), seed);
  const auto again = verify({"--seed", std::to_string(seed)});
  EXPECT_EQ(again["seed"].get<uint64_t>(), seed);
  EXPECT_EQ(again["rtl_cycles"], first["rtl_cycles"]);
}

// A library in which queues come up with whatever their counters hold: a simulation that begins
// with zeros would run as if nothing were missing.
TEST_F(EmittedDesigns, VerifyFindsAResetThatIsMissing) {
  CopyLibrary();
  Spoil("memory/kiln_fifo.sv", "    if (reset) begin\n      count       <= '0;\n",
        "    if (reset) begin\n");
  const Environment spoilt("KILN_RTL", Path("rtl"));
  const Outcome differs = VerifyNet({"--emit", Path("design")});
  EXPECT_EQ(differs.code, kExitError) << differs.out;
  EXPECT_THAT(differs.out + differs.err, testing::ContainsRegex("seed 1 .--seed|.--seed 1.\n"))
      << "how to repeat it";
  // Another power-up of the same hardware, which is as wrong.
  EXPECT_EQ(CallOnNet("verify", {"--emit", Path("design"), "--seed", "7"}).code, kExitError);
}

// A library in which a window's maximum is its minimum: the pool is wrong, and the convolution in
// front of it right. And then a memory that answers a cycle late: the convolution is, too.
TEST_F(EmittedDesigns, VerifyNamesAndRecordsTheFirstKernelThatIsWrong) {
  CopyLibrary();
  Spoil("systolic/vector/kiln_operand_buffer.sv", "joined = greatest;",
        "joined = greatest == number ? partial : number;");

  const Environment spoilt("KILN_RTL", Path("rtl"));
  const Outcome differs = VerifyNet({"--wave", Path("difference.fst"), "--emit", Path("design")});
  EXPECT_EQ(differs.code, kExitError);
  EXPECT_THAT(differs.err,
              testing::EndsWith("\nkiln: the levels differ; this is a fault of Kiln\n"));
  EXPECT_THAT(differs.out, HasSubstr("\nbits         DIFFERENT"));
  EXPECT_THAT(differs.out, HasSubstr("\ncycles       the same: "));
  EXPECT_THAT(differs.out,
              ContainsRegex("difference.fst: image 0, cycles .*, first different kernel pool\n"));
  EXPECT_GT(fs::file_size(Path("difference.fst")), 1'000u);

  // Cycles are compared behind a latency that both levels follow, and recorded where they differ.
  Spoil("testbench/kiln_memory_timing.h", "(now + timing_.latency) <<",
        "(now + timing_.latency + 1) <<");
  const Outcome late =
      VerifyNet({"--wave", Path("late.fst"), "--emit", Path("design"), "--memory-latency", "5"});
  EXPECT_EQ(late.code, kExitError);
  EXPECT_THAT(late.out, HasSubstr("\ncycles       DIFFERENT: "));
  EXPECT_THAT(late.out,
              ContainsRegex("late.fst: image 0, cycles .*, first different kernel conv_y\n"));
}

}  // namespace
}  // namespace kiln::cli
