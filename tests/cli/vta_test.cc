// Tests of the commands of `kiln vta`, and of networks on machines of the VTA family.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kiln/cli/application.h"
#include "kiln/support/budgets.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "tests/cli/call.h"

namespace kiln::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

// Adds one to four accumulators and stores their low bytes; the stream stands at the memory's
// begin. Addresses are counted in elements: of 4 bytes a lane for the accumulators, of 1 for what
// is stored.
std::string ProgramOf(int lanes) {
  return fmt::format(R"(# an example
---- LOAD uop sram=0 dram=1088 y=1 x=1 stride=1 pad(y0,y1,x0,x1)=0,0,0,0
---- LOAD acc sram=0 dram={} y=1 x=4 stride=4 pad(y0,y1,x0,x1)=0,0,0,0
---N ALU add imm=1 uop[0,1) loop 1x4 dst(0,1) src(0,1)

p-P- STORE out sram=0 dram={} y=1 x=4 stride=4 pad(y0,y1,x0,x1)=0,0,0,0
-n-- FINISH
)",
                     4608 / (4 * lanes), 5120 / lanes);
}

class VtaCommands : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }
  void Write(const std::string& name, std::string_view bytes) const {
    ASSERT_TRUE(WriteFile(folder_.path() / name, bytes).ok());
  }
  // A vector of that program; `wrong`: a byte of the memory after it is not what it should be.
  void WriteVector(bool wrong, const std::string& config = "{}", int lanes = 16) const {
    Write("program.txt", ProgramOf(lanes));
    Write("sizes.json", config);
    ASSERT_EQ(Call({"vta", "assemble", Path("program.txt"), "-o", Path("program.bin"), "--on",
                    Path("sizes.json")})
                  .code,
              kExitOk);
    std::string image = *ReadFile(Path("program.bin"));
    image.resize(4096);
    const auto numbers = static_cast<size_t>(4 * lanes);
    for (size_t i = 0; i < numbers; ++i) image[512 + 4 * i] = static_cast<char>(i);
    Write("in.bin", image);
    for (size_t i = 0; i < numbers; ++i) image[1024 + i] = static_cast<char>(i + 1);
    if (wrong) image[1030] = 0;
    Write("out.bin", image);
    Write("add.json", nlohmann::json{{"format", "vta-vector-1"},
                                     {"name", "add"},
                                     {"config", nlohmann::json::parse(config)},
                                     {"dram_base", 4096},
                                     {"dram_size", 4096},
                                     {"dram_in", "in.bin"},
                                     {"dram_out", "out.bin"},
                                     {"runs", {{{"insn_addr", 4096}, {"insn_count", 5}}}}}
                          .dump());
    Write("other.json", R"({"format": "of something else"})");
  }

  // A vector of a program that is to be stopped.
  void WriteFault(const std::string& text, const std::string& fault,
                  const std::string& config) const {
    Write("fault.txt", text);
    Write("sizes.json", config);
    ASSERT_EQ(Call({"vta", "assemble", Path("fault.txt"), "-o", Path("fault.bin"), "--on",
                    Path("sizes.json")})
                  .code,
              kExitOk);
    std::string image = *ReadFile(Path("fault.bin"));
    const size_t instructions = image.size() / 16;
    image.resize(4096);
    Write("fault.in.bin", image);
    Write("fault.json",
          nlohmann::json{{"format", "vta-vector-1"},
                         {"name", "fault"},
                         {"config", nlohmann::json::parse(config)},
                         {"dram_base", 4096},
                         {"dram_size", 4096},
                         {"dram_in", "fault.in.bin"},
                         {"expect", "error"},
                         {"error_kind", fault},
                         {"runs", {{{"insn_addr", 4096}, {"insn_count", instructions}}}}}
              .dump());
  }

  const TemporaryFolder folder_ = *TemporaryFolder::Create("kiln-vta-cli");
};

TEST_F(VtaCommands, TextThereAndBack) {
  WriteVector(false);
  const Outcome text = Call({"vta", "disassemble", Path("program.bin")});
  ASSERT_EQ(text.code, kExitOk) << text.err;
  EXPECT_THAT(text.out, HasSubstr("---N ALU add imm=1 uop[0,1) loop 1x4 dst(0,1) src(0,1)\n"));
  // Whatever a file holds goes to no terminal but as text.
  Write("other.txt", "---- \x1b[31m\xff");
  const Outcome other = Call({"vta", "assemble", Path("other.txt"), "-o", Path("other.bin")});
  EXPECT_EQ(other.err, "kiln: " + Path("other.txt") +
                           ": line 1: ' [31m\uFFFD' is no instruction; LOAD, STORE, GEMM, ALU, "
                           "NOP, FINISH or raw\n");
  Write("again.txt", text.out);
  ASSERT_EQ(Call({"vta", "assemble", Path("again.txt"), "-o", Path("again.bin")}).code, kExitOk);
  EXPECT_EQ(*ReadFile(Path("again.bin")), *ReadFile(Path("program.bin")));
}

// Files with holes, which take no room on disk; no program has 15 bytes more than instructions.
TEST_F(VtaCommands, ProgramsHaveALimit) {
  Write("program.bin", "");
  const auto error = [&](const char* command, int64_t bytes) {
    std::filesystem::resize_file(Path("program.bin"), bytes);
    return Call({"vta", command, Path("program.bin"), "-o", Path("out")}).err;
  };
  const std::string many = ": 268435457 bytes are too many; at most 268435456 bytes are read\n";
  EXPECT_THAT(error("disassemble", budgets::kProgramBytes - 1), Not(HasSubstr("too many")));
  EXPECT_EQ(error("disassemble", budgets::kProgramBytes + 1),
            "kiln: " + Path("program.bin") + many);
  EXPECT_EQ(error("assemble", budgets::kProgramBytes + 1), "kiln: " + Path("program.bin") + many);
  EXPECT_EQ(Call({"vta", "lint", Path("program.bin")}).err, "kiln: " + Path("program.bin") + many);
}

TEST_F(VtaCommands, ExecPassesAndFails) {
  WriteVector(false);
  const Outcome pass = Call({"vta", "exec", folder_.path().string()});
  EXPECT_EQ(pass.code, kExitOk) << pass.err;
  EXPECT_THAT(pass.out, HasSubstr("1 of 1 pass, in 10 orders of the stages"));
  Write("broken.json", "{");
  const Outcome beside = Call({"vta", "exec", folder_.path().string()});
  EXPECT_EQ(beside.code, kExitError);
  EXPECT_THAT(beside.out, HasSubstr("1 of 2 pass"));
  EXPECT_THAT(beside.out, HasSubstr("broken.json: line 1, column 2: is no JSON"));
  WriteVector(true);
  const Outcome fail = Call({"vta", "exec", Path("add.json"), "--json", "-", "--orders", "2"});
  EXPECT_EQ(fail.code, kExitError);
  EXPECT_EQ(fail.err, "kiln: 1 of 1 vectors fail\n");
  const auto json = nlohmann::json::parse(fail.out);
  EXPECT_EQ(json["vectors"][0]["difference"],
            "byte 0x1406 of the memory is 0x07; the vector has 0x00 (order 0)");
}

TEST_F(VtaCommands, LaunchesEndAtTheLimitOfSteps) {
  WriteVector(false);
  EXPECT_EQ(Call({"vta", "exec", Path("add.json"), "--max-steps", "14"}).code, kExitOk);
  const Outcome stopped = Call({"vta", "exec", Path("add.json"), "--max-steps", "13"});
  EXPECT_EQ(stopped.code, kExitError);
  EXPECT_THAT(stopped.out, HasSubstr("too_long: 1 steps more, and 0 of 13 are left"));
  EXPECT_THAT(Call({"vta", "lint", Path("add.json"), "--max-steps", "4"}).out,
              HasSubstr("too_long"));
}

TEST_F(VtaCommands, ExecCountsCycles) {
  WriteVector(false);
  const Outcome run = Call({"vta", "exec", Path("add.json"), "--level", "cycle", "--json", "-",
                            "--trace", Path("trace.json")});
  ASSERT_EQ(run.code, kExitOk) << run.err;
  const auto vector = nlohmann::json::parse(run.out)["vectors"][0];
  EXPECT_GT(vector["cycles"], 100);
  EXPECT_EQ(vector["counters"]["alu"]["steps"], 4);
  EXPECT_EQ(vector["counters"]["memory"]["output_bytes"], 64);
  const auto trace = nlohmann::json::parse(*ReadFile(Path("trace.json")));
  EXPECT_EQ(trace["otherData"]["cycles"], vector["cycles"]);
  int steps = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "X" &&
        event["name"] == "2: ---N ALU add imm=1 uop[0,1) loop 1x4 dst(0,1) src(0,1)" &&
        event["dur"] == 4) {
      ++steps;
    }
  }
  EXPECT_EQ(steps, 1);
  const Outcome table = Call({"vta", "exec", Path("add.json"), "--level", "cycle"});
  EXPECT_THAT(table.out, HasSubstr("1 of 1 pass at the cycle level"));
  const Outcome long_one =
      Call({"vta", "exec", Path("add.json"), "--level", "cycle", "--max-steps", "100"});
  EXPECT_EQ(long_one.code, kExitError);
  EXPECT_THAT(long_one.out, HasSubstr("too_long: is not done after 100 cycles"));
  EXPECT_EQ(Call({"vta", "exec", Path("add.json"), "--trace", Path("trace.json")}).code,
            kExitError);
}

TEST_F(VtaCommands, LintTells) {
  WriteVector(false);
  const Outcome clean = Call({"vta", "lint", Path("add.json")});
  EXPECT_EQ(clean.code, kExitOk) << clean.out << clean.err;
  EXPECT_THAT(clean.out, HasSubstr("nothing found"));
  EXPECT_THAT(clean.out, HasSubstr("portable to HLS "));
  const auto json =
      nlohmann::json::parse(Call({"vta", "lint", Path("add.json"), "--json", "-"}).out);
  EXPECT_TRUE(json["not_portable_hls"].is_array());
  EXPECT_TRUE(json["hazard_free"].is_boolean());
}

// A program without its memory, as text and as bytes: the place in the text, and what is not known.
TEST_F(VtaCommands, LintTakesTextAndBytes) {
  WriteVector(false);
  for (const char* program : {"program.txt", "program.bin"}) {
    const Outcome clean = Call({"vta", "lint", Path(program), "--on", "vta-default"});
    EXPECT_EQ(clean.code, kExitOk) << clean.out << clean.err;
    EXPECT_THAT(clean.out,
                HasSubstr("nothing found\n\nportable to HLS     depends on micro-ops\n"));
    EXPECT_THAT(clean.out, HasSubstr("\nnot checked: ranges, races, "));
    const auto json =
        nlohmann::json::parse(Call({"vta", "lint", Path(program), "--json", "-"}).out);
    EXPECT_TRUE(json["not_portable_hls"].is_null());
    EXPECT_TRUE(json["hazard_free"].is_null());
    EXPECT_THAT(json["not_checked"].get<std::string>(), HasSubstr("(1 of 1)"));
  }
  EXPECT_EQ(nlohmann::json::parse(
                Call({"vta", "lint", Path("add.json"), "--json", "-"}).out)["not_checked"],
            "");
  // Where the fields of a GEMM stand is the machine's.
  Write("far.txt", "---- GEMM uop[0,4097) loop 1x1 dst(0,0) src(0,0) wgt(0,0)\n---- FINISH\n");
  EXPECT_THAT(Call({"vta", "lint", Path("far.txt"), "--on", "vta-pynq"}).out,
              HasSubstr("sram_range: uop 4096 of 4096"));
  EXPECT_THAT(Call({"vta", "lint", Path("far.txt")}).out, Not(HasSubstr("sram_range")));
  Write("stuck.txt", "# a comment\n\np--- FINISH\n");
  const Outcome stuck = Call({"vta", "lint", Path("stuck.txt")});
  EXPECT_EQ(stuck.code, kExitError);
  EXPECT_EQ(stuck.err, "kiln: " + Path("stuck.txt") + ": 1 finding\n");
  EXPECT_THAT(stuck.out, HasSubstr("   3            0  fault  deadlock: "));
  const auto json =
      nlohmann::json::parse(Call({"vta", "lint", Path("stuck.txt"), "--json", "-"}).out);
  EXPECT_EQ(json["findings"][0]["line"], 3);
  EXPECT_TRUE(json["not_portable_hls"].is_null());
}

// Of a program that is stopped nobody knows what hardware would have done.
TEST_F(VtaCommands, LintDoesNotJudgeWhatIsStopped) {
  WriteVector(false);
  const Outcome stopped = Call({"vta", "lint", Path("add.json"), "--max-steps", "4"});
  EXPECT_EQ(stopped.code, kExitError);
  EXPECT_EQ(stopped.err, "kiln: " + Path("add.json") + ": 1 finding\n");
  EXPECT_THAT(stopped.out, HasSubstr("cannot be judged: the program does not come to its end"));
  EXPECT_THAT(stopped.out, Not(HasSubstr("portable to")));
  const auto json = nlohmann::json::parse(
      Call({"vta", "lint", Path("add.json"), "--max-steps", "4", "--json", "-"}).out);
  for (const char* key : {"not_portable_hls", "not_portable_chisel", "hazard_free"})
    EXPECT_TRUE(json[key].is_null());
}

TEST_F(VtaCommands, TablesNameTheFile) {
  WriteVector(false);
  EXPECT_THAT(Call({"vta", "exec", Path("add.json")}).out,
              HasSubstr("\n" + Path("add.json") + "  1x16_"));
  Write("other_name.json", *ReadFile(Path("add.json")));
  EXPECT_THAT(Call({"vta", "exec", Path("other_name.json")}).out,
              HasSubstr("\n" + Path("other_name.json") + " (add)  1x16_"));
}

TEST_F(VtaCommands, WhatIsNoFilesFaultIsToldOnce) {
  const std::string vector =
      R"({"format": "vta-rtapi-1", "name": "x", "config": {}, "calls": [], "launches": [], )"
      R"("final": {}})";
  for (const char* name : {"a.json", "b.json", "c.json"}) Write(name, vector);
  EXPECT_EQ(Call({"vta", "replay", folder_.path().string()}).code, kExitOk);
  const Outcome board = Call({"vta", "replay", folder_.path().string(), "--device", "board"});
  EXPECT_EQ(board.code, kExitError);
  EXPECT_EQ(board.out, "");
  EXPECT_EQ(board.err,
            "kiln: there is no device 'board'; functional, cycle, rtl or remote:HOST:PORT\n");
}

// Calls that add 5 to four accumulators and store them, with the stream that the original's runtime
// makes of them.
class VtaRuntimeCalls : public VtaCommands {
 protected:
  // The vector, with such a sum expected.
  void WriteCalls(int sum) const {
    Write("stream.txt", R"(---- LOAD uop sram=0 dram=0x400 y=1 x=1 stride=1 pad(y0,y1,x0,x1)=0,0,0,0
---N ALU add imm=5 uop[0,1) loop 1x4 dst(0,1) src(0,1)
p-P- STORE out sram=0 dram=0x400100 y=1 x=4 stride=4 pad(y0,y1,x0,x1)=0,0,0,0
---N NOP stage=load
pn-- NOP stage=compute
---- FINISH
)");
    ASSERT_EQ(Call({"vta", "assemble", Path("stream.txt"), "-o", Path("stream.bin")}).code,
              kExitOk);
    const std::string bytes = *ReadFile(Path("stream.bin"));
    std::vector<std::string> words;
    for (size_t at = 0; at < bytes.size(); ++at) {
      if (at % 16 == 0) words.emplace_back();
      words.back() += fmt::format("{:02x}", static_cast<uint8_t>(bytes[at]));
    }
    std::string stored;
    for (int i = 0; i < 64; ++i) stored += fmt::format("{:02x}", sum);
    using Json = nlohmann::json;
    const auto call = [](const char* name, const Json& arguments) {
      return Json::array({name, arguments});
    };
    const Json kernel = {{"handle", "add"},
                         {"body", Json::array({call("VTAUopLoopBegin", {4, 1, 1, 0}),
                                               call("VTAUopPush", {1, 0, 0, 0, 0, 2, 1, 5}),
                                               call("VTAUopLoopEnd", Json::array())})}};
    const Json edge = {{"from", 2}, {"to", 3}};
    const Json store = {{"dst", "C"},           {"dst_elem_offset", 0}, {"src_sram_index", 0},
                        {"src_memory_type", 4}, {"x_size", 4},          {"y_size", 1},
                        {"x_stride", 4}};
    const Json calls = Json::array({call("VTABufferAlloc", {{"id", "C"}, {"size", 64}}),
                                    call("VTAPushALUOp", kernel), call("VTADepPush", edge),
                                    call("VTADepPop", edge), call("VTAStoreBuffer2D", store),
                                    call("VTASynchronize", Json::object())});
    const Json load = {{"dram_addr", 0x1000}, {"sram", 0}, {"words", Json::array({0})}};
    const Json launch = {
        {"insn_addr", 0x2001000}, {"insns", words}, {"uop_loads", Json::array({load})}};
    const Json vector = {{"format", "vta-rtapi-1"},           {"name", "calls"},
                         {"config", Json::object()},          {"calls", calls},
                         {"launches", Json::array({launch})}, {"final", {{"C", stored}}}};
    Write("calls.json", vector.dump());
  }
};

TEST_F(VtaRuntimeCalls, ReplayPassesAndFails) {
  WriteCalls(5);
  for (const char* device : {"functional", "cycle"}) {
    const Outcome pass = Call({"vta", "replay", Path("calls.json"), "--device", device});
    EXPECT_EQ(pass.code, kExitOk) << pass.out << pass.err;
    EXPECT_THAT(pass.out, HasSubstr("1 of 1 pass"));
  }
  WriteCalls(6);
  const Outcome fail = Call({"vta", "replay", Path("calls.json")});
  EXPECT_EQ(fail.code, kExitError);
  EXPECT_THAT(fail.out, HasSubstr("FAIL: byte 0 of buffer C is 0x05; the vector has 0x06"));
}

// The server is a program of its own: it does not come to its end.
TEST_F(VtaRuntimeCalls, ServesThoseWhoHaveTheToken) {
  WriteCalls(5);
  Write("token", "0123456789abcdef\n");
  Write("other", "0123456789abcdee\n");
  for (const char* file : {"token", "other"}) {
    std::filesystem::permissions(Path(file), std::filesystem::perms::owner_read);
  }
  const auto kiln =
      std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "bin/kiln";
  auto server =
      ChildProcess::Start({kiln.string(), "vta", "serve", "--on", "vta-default", "--device",
                           "cycle", "--port", "0", "--token-file", Path("token")},
                          Path("log"));
  ASSERT_TRUE(server.ok()) << server.status();
  std::string line;
  for (uint8_t byte = 0; byte != '\n'; line += static_cast<char>(byte)) {
    ASSERT_TRUE(server->Receive({&byte, 1}).ok()) << *ReadFile(Path("log"));
  }
  constexpr std::string_view kListening = "listening at ";
  ASSERT_TRUE(line.starts_with(kListening)) << line;
  const std::string device =
      "remote:" + line.substr(kListening.size(), line.size() - kListening.size() - 1);
  const auto replay = [&](const char* token) {
    EXPECT_EQ(setenv("KILN_VTA_TOKEN_FILE", Path(token).c_str(), 1), 0);
    return Call({"vta", "replay", Path("calls.json"), "--device", device});
  };
  const Outcome pass = replay("token");
  EXPECT_EQ(pass.code, kExitOk) << pass.out << pass.err;
  EXPECT_THAT(pass.out, HasSubstr("1 of 1 pass"));
  EXPECT_EQ(replay("other").code, kExitError);
  ASSERT_EQ(unsetenv("KILN_VTA_TOKEN_FILE"), 0);
}

// A machine's name, its YAML file and the original's configuration are taken alike.
TEST_F(VtaCommands, MachinesByNameAndFile) {
  WriteVector(false);
  Write("vta_config.json", R"({"TARGET": "sim", "HW_VER": "0.0.2", "LOG_UOP_BUFF_SIZE": 14})");
  // Fields of a GEMM stand elsewhere with other buffers.
  Write("gemm.txt", "---- GEMM uop[1,2) loop 1x1 dst(0,0) src(0,0) wgt(0,0)\n");
  const auto assemble = [&](const std::string& option, const std::string& machine) {
    const Outcome made = Call({"vta", "assemble", Path("gemm.txt"), "-o", "-", option, machine});
    EXPECT_EQ(made.code, kExitOk) << made.err;
    return made.out;
  };
  const std::string pynq = assemble("--on", "vta-pynq");
  EXPECT_EQ(assemble("--config", "accelerators/vta-pynq.yaml"), pynq);
  EXPECT_EQ(assemble("--on", Path("vta_config.json")), pynq);
  EXPECT_NE(assemble("--on", "vta-default"), pynq);
  Write("gemm.bin", pynq);
  EXPECT_EQ(Call({"vta", "disassemble", Path("gemm.bin"), "--on", "vta-pynq"}).out,
            *ReadFile(Path("gemm.txt")));

  // Only time tells machines of the same sizes apart.
  Write("slow.yaml", "family: vta\nname: slow\nmemory_latency: 500\n");
  const auto cycles = [&](const std::string& machine) {
    const Outcome run =
        Call({"vta", "exec", Path("add.json"), "--level", "cycle", "--json", "-", "--on", machine});
    EXPECT_EQ(run.code, kExitOk) << run.err;
    return nlohmann::json::parse(run.out)["vectors"][0]["cycles"].get<int>();
  };
  EXPECT_GT(cycles(Path("slow.yaml")), cycles("vta-default") + 3 * 400);
}

// A network of one convolution and its machine: the original's configuration, small, so that it
// simulates quickly.
class VtaNetworks : public VtaCommands {
 protected:
  void SetUp() override {
    std::vector<std::string> weights;
    for (int i = 0; i < 4 * 4 * 9; ++i)
      weights.push_back(fmt::format("{}", (i * 37 % 101 - 50) / 64.0));
    Write("net.kir", fmt::format(R"(graph "small" {{
  input %image : f32[1x4x6x6]
  const %w : f32[4x4x3x3] = [{}]
  %1 = conv %image, %w {{kernel_shape=[3, 3]}} : f32[1x4x4x4]
  %2 = relu %1 : f32[1x4x4x4]
  output %2
}}
)",
                                 fmt::join(weights, ", ")));
    Write("vta_config.json",
          R"({"TARGET": "sim", "HW_VER": "0.0.2", "LOG_BLOCK": 2, "LOG_UOP_BUFF_SIZE": 10,
                                 "LOG_INP_BUFF_SIZE": 12, "LOG_WGT_BUFF_SIZE": 13, "LOG_ACC_BUFF_SIZE": 12})");
  }
};

TEST_F(VtaNetworks, RunOnTheOriginalsConfiguration) {
  const Outcome run = Call(
      {"run", Path("net.kir"), "--on", Path("vta_config.json"), "--random", "2", "--json", "-"});
  ASSERT_EQ(run.code, kExitOk) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["accelerator"]["name"], "1x4_i8w8a32_10_12_13_12");
  EXPECT_EQ(json["levels_compared"]["different"], 0);
  EXPECT_EQ(json["kernels"][0]["name"], "conv_1");  // as its nodes have no names
  const Outcome compiled =
      Call({"compile", Path("net.kir"), "--on", Path("vta_config.json"), "--emit", Path("design")});
  ASSERT_EQ(compiled.code, kExitOk) << compiled.err;
  EXPECT_THAT(*ReadFile(Path("design/kiln_accelerator.sv")), HasSubstr(".BLOCK_OUT(4)"));
  // `make sim` has what it needs without a word.
  EXPECT_THAT(*ReadFile(Path("design/design.mk")),
              HasSubstr("ARGUMENTS ?= --memory memory.bin --base 4096"));
}

// Memories change cycles and never bits; each option reaches the simulation.
TEST_F(VtaNetworks, VerifyBehindEveryMemory) {
  // Nearer than the hardware is made for.
  const std::vector<std::string> kNear = {"--memory-latency", "3"};
  const auto verify = [&](const std::vector<std::string>& memory) {
    std::vector<std::string> command = {
        "verify", Path("net.kir"), "--on",   Path("vta_config.json"),
        "--emit", Path("designs"), "--json", "-"};
    command.insert(command.end(), memory.begin(), memory.end());
    if (std::ranges::find(memory, "--seed") == memory.end())
      command.insert(command.end(), {"--seed", "1"});
    const Outcome run = Call(command);
    EXPECT_EQ(run.code, kExitOk) << run.err;
    auto json = nlohmann::json::parse(run.out, nullptr, false);
    EXPECT_TRUE(json["agrees"]) << run.out;
    EXPECT_TRUE(json["bits_agree"]);
    // The cycle level simulates every memory that does not stall at random.
    EXPECT_EQ(json["cycles_compared"], std::ranges::find(memory, "--stalls") == memory.end());
    if (json["cycles_compared"]) {
      EXPECT_TRUE(json["cycles_agree"]);
      EXPECT_EQ(json["rtl_cycles"][0], json["cycle_level_cycles"][0]);
    }
    return json;
  };
  const auto cycles = [&](const std::vector<std::string>& memory) {
    return verify(memory)["rtl_cycles"][0].get<int>();
  };
  const auto ideal = verify({});
  EXPECT_TRUE(ideal["cycles_agree"]);
  EXPECT_TRUE(ideal["counters_agree"]);
  const int least = ideal["rtl_cycles"][0];
  EXPECT_EQ(least, ideal["cycle_level_cycles"][0]);
  EXPECT_LT(cycles(kNear), least);
  EXPECT_GT(cycles({"--memory-latency", "200"}), least);
  const int stalled = cycles({"--stalls", "0.4", "--seed", "1"});
  EXPECT_GT(stalled, least);
  EXPECT_EQ(cycles({"--stalls", "0.4", "--seed", "1"}), stalled);
  EXPECT_NE(cycles({"--stalls", "0.4", "--seed", "2"}), stalled);
  const int dram = cycles({"--dram", "2"});
  EXPECT_GT(dram, least);
  // Each image meets stalls and a DRAM of its own, whatever runs before it and beside it.
  const auto of_images = [&](const char* images, const char* threads,
                             const std::vector<std::string>& memory) {
    std::vector<std::string> command = {"--limit", images, "--threads", threads};
    command.insert(command.end(), memory.begin(), memory.end());
    return verify(command)["rtl_cycles"].get<std::vector<int>>();
  };
  const std::vector<int> three = of_images("3", "1", {"--stalls", "0.4"});
  EXPECT_EQ(three[0], stalled);
  EXPECT_EQ(of_images("3", "3", {"--stalls", "0.4"}), three);
  EXPECT_EQ(of_images("2", "1", {"--stalls", "0.4", "--seed", "2"}),
            (std::vector<int>{three[1], three[2]}));
  EXPECT_EQ(of_images("3", "1", {"--dram", "2"}), std::vector<int>(3, dram));
  EXPECT_GT(cycles({"--dram", "2", "--row-miss", "300"}), dram);

  // The simulation that verify has built runs vectors, too.
  WriteVector(false, *ReadFile(Path("vta_config.json")), 4);
  const auto exec = [&](const std::string& level) {
    std::vector<std::string> command = {"vta",    "exec", Path("add.json"), "--level", level,
                                        "--json", "-"};
    if (level == "rtl") command.insert(command.end(), {"--designs", Path("designs")});
    const Outcome run = Call(command);
    EXPECT_EQ(run.code, kExitOk) << run.out << run.err;
    return nlohmann::json::parse(run.out)["vectors"][0];
  };
  const auto hardware = exec("rtl");
  EXPECT_TRUE(hardware["pass"]);
  EXPECT_EQ(hardware["cycles"], exec("cycle")["cycles"]);
  WriteVector(true, *ReadFile(Path("vta_config.json")), 4);
  const Outcome wrong =
      Call({"vta", "exec", Path("add.json"), "--level", "rtl", "--designs", Path("designs")});
  EXPECT_EQ(wrong.code, kExitError);
  EXPECT_THAT(wrong.out, HasSubstr("FAIL: byte 0x1406 of the memory is"));

  // Faults of tokens, which hardware meets in its time or not at all: load waits for ever; FINISH
  // for nothing.
  for (const auto& [fault, load] : {std::pair("deadlock", "-n--"), {"no_finish", "----"}}) {
    WriteFault(fmt::format("{} NOP stage=load\n---- FINISH\n", load), fault,
               *ReadFile(Path("vta_config.json")));
    for (const std::vector<std::string>& level : std::vector<std::vector<std::string>>{
             {"functional"}, {"cycle"}, {"rtl", "--designs", Path("designs")}}) {
      std::vector<std::string> command = {"vta", "exec", Path("fault.json"), "--level"};
      command.insert(command.end(), level.begin(), level.end());
      const Outcome stopped = Call(command);
      EXPECT_EQ(stopped.code, kExitOk) << stopped.out;
      EXPECT_THAT(stopped.out, HasSubstr(fmt::format("pass, stopped with {}\n", fault)));
    }
  }
}

TEST_F(VtaCommands, ServeNamesItsOwnOptions) {
  unsetenv("KILN_VTA_TOKEN");
  unsetenv("KILN_VTA_TOKEN_FILE");
  const Outcome no_token = Call({"vta", "serve", "--port", "0"});
  EXPECT_EQ(no_token.code, kExitError);
  EXPECT_THAT(no_token.err, HasSubstr("kiln: --token-file: clients have to show a token"));
  for (const char* device : {"foo", "remote:localhost:1"}) {
    const Outcome refused = Call({"vta", "serve", "--device", device});
    EXPECT_EQ(refused.code, kExitUsage);
    EXPECT_THAT(refused.err, HasSubstr("functional"));
    EXPECT_THAT(refused.err, Not(HasSubstr("HOST")));
  }
}

// The mode counts as well as what is in it.
TEST_F(VtaCommands, TokensAreTheirOwnersAlone) {
  namespace fs = std::filesystem;
  Write("token", "0123456789abcdef\n");
  const auto serve = [&] {
    return Call({"vta", "serve", "--token-file", Path("token"), "--bind", "no address"});
  };
  for (const auto mode : {0644, 0640, 0604, 0620, 0602, 0610}) {
    fs::permissions(Path("token"), static_cast<fs::perms>(mode));
    const Outcome refused = serve();
    EXPECT_EQ(refused.code, kExitError);
    EXPECT_EQ(refused.err,
              fmt::format(
                  "kiln: {}: a token that others may read or change (mode {:04o}); chmod 600 {}\n",
                  Path("token"), mode, Path("token")));
  }
  for (const auto mode : {0600, 0400}) {
    fs::permissions(Path("token"), static_cast<fs::perms>(mode));
    EXPECT_THAT(serve().err, HasSubstr("'no address' is no address"));
  }
}

}  // namespace
}  // namespace kiln::cli
