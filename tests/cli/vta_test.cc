#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "kiln/cli/application.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"

namespace kiln::cli {
namespace {

using testing::HasSubstr;

struct Outcome {
  int code;
  std::string out, err;
};

Outcome Call(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  const int code = Main(arguments, out, err, /*err_is_terminal=*/false);
  return {code, out.str(), err.str()};
}

// Adds one to four accumulators of 16 and stores their low bytes; the stream stands at the memory's begin.
constexpr const char* kProgram = R"(# an example
---- LOAD uop sram=0 dram=1088 y=1 x=1 stride=1 pad(y0,y1,x0,x1)=0,0,0,0
---- LOAD acc sram=0 dram=72 y=1 x=4 stride=4 pad(y0,y1,x0,x1)=0,0,0,0
---N ALU add imm=1 uop[0,1) loop 1x4 dst(0,1) src(0,1)

p-P- STORE out sram=0 dram=320 y=1 x=4 stride=4 pad(y0,y1,x0,x1)=0,0,0,0
-n-- FINISH
)";

class VtaCommands : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }
  void Write(const std::string& name, std::string_view bytes) const {
    ASSERT_TRUE(WriteFile(folder_.path() / name, bytes).ok());
  }
  // A vector of that program; `wrong`: a byte of the memory after it is not what it should be.
  void WriteVector(bool wrong) const {
    Write("program.txt", kProgram);
    ASSERT_EQ(Call({"vta", "assemble", Path("program.txt"), "-o", Path("program.bin")}).code, kExitOk);
    std::string image = *ReadFile(Path("program.bin"));
    image.resize(4096);
    for (size_t i = 0; i < 64; ++i) image[512 + 4 * i] = static_cast<char>(i);
    Write("in.bin", image);
    for (size_t i = 0; i < 64; ++i) image[1024 + i] = static_cast<char>(i + 1);
    if (wrong) image[1030] = 0;
    Write("out.bin", image);
    Write("add.json", nlohmann::json{{"format", "vta-vector-1"},
                                     {"name", "add"},
                                     {"config", nlohmann::json::object()},
                                     {"dram_base", 4096},
                                     {"dram_size", 4096},
                                     {"dram_in", "in.bin"},
                                     {"dram_out", "out.bin"},
                                     {"runs", {{{"insn_addr", 4096}, {"insn_count", 5}}}}}
                          .dump());
    Write("other.json", R"({"format": "of something else"})");
  }

  const TemporaryFolder folder_ = *TemporaryFolder::Create("kiln-vta-cli");
};

TEST_F(VtaCommands, TextThereAndBack) {
  WriteVector(false);
  const Outcome text = Call({"vta", "disassemble", Path("program.bin")});
  ASSERT_EQ(text.code, kExitOk) << text.err;
  EXPECT_THAT(text.out, HasSubstr("---N ALU add imm=1 uop[0,1) loop 1x4 dst(0,1) src(0,1)\n"));
  Write("again.txt", text.out);
  ASSERT_EQ(Call({"vta", "assemble", Path("again.txt"), "-o", Path("again.bin")}).code, kExitOk);
  EXPECT_EQ(*ReadFile(Path("again.bin")), *ReadFile(Path("program.bin")));
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
  EXPECT_THAT(beside.out, HasSubstr("broken.json: is no JSON object"));
  WriteVector(true);
  const Outcome fail = Call({"vta", "exec", Path("add.json"), "--json", "-", "--orders", "2"});
  EXPECT_EQ(fail.code, kExitError);
  EXPECT_EQ(fail.err, "kiln: 1 of 1 vectors fail\n");
  const auto json = nlohmann::json::parse(fail.out);
  EXPECT_EQ(json["vectors"][0]["difference"], "byte 0x1406 of the memory is 0x07; 0x00 (order 0)");
}

TEST_F(VtaCommands, LaunchesEndAtTheLimitOfSteps) {
  WriteVector(false);
  EXPECT_EQ(Call({"vta", "exec", Path("add.json"), "--max-steps", "14"}).code, kExitOk);
  const Outcome stopped = Call({"vta", "exec", Path("add.json"), "--max-steps", "13"});
  EXPECT_EQ(stopped.code, kExitError);
  EXPECT_THAT(stopped.out, HasSubstr("too_long: 1 steps more, and 0 of 13 are left"));
  EXPECT_THAT(Call({"vta", "lint", Path("add.json"), "--max-steps", "4"}).out, HasSubstr("too_long"));
}

TEST_F(VtaCommands, ExecCountsCycles) {
  WriteVector(false);
  const Outcome run =
      Call({"vta", "exec", Path("add.json"), "--level", "cycle", "--json", "-", "--trace", Path("trace.json")});
  ASSERT_EQ(run.code, kExitOk) << run.err;
  const auto vector = nlohmann::json::parse(run.out)["vectors"][0];
  EXPECT_GT(vector["cycles"], 100);
  EXPECT_EQ(vector["counters"]["alu"]["steps"], 4);
  EXPECT_EQ(vector["counters"]["memory"]["output_bytes"], 64);
  const auto trace = nlohmann::json::parse(*ReadFile(Path("trace.json")));
  EXPECT_EQ(trace["otherData"]["cycles"], vector["cycles"]);
  int steps = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "X" && event["name"] == "2: ---N ALU add imm=1 uop[0,1) loop 1x4 dst(0,1) src(0,1)" &&
        event["dur"] == 4) {
      ++steps;
    }
  }
  EXPECT_EQ(steps, 1);
  const Outcome table = Call({"vta", "exec", Path("add.json"), "--level", "cycle"});
  EXPECT_THAT(table.out, HasSubstr("1 of 1 pass at the cycle level"));
  const Outcome long_one = Call({"vta", "exec", Path("add.json"), "--level", "cycle", "--max-steps", "100"});
  EXPECT_EQ(long_one.code, kExitError);
  EXPECT_THAT(long_one.out, HasSubstr("too_long: is not done after 100 cycles"));
  EXPECT_EQ(Call({"vta", "exec", Path("add.json"), "--trace", Path("trace.json")}).code, kExitError);
}

TEST_F(VtaCommands, LintTells) {
  WriteVector(false);
  const Outcome clean = Call({"vta", "lint", Path("add.json")});
  EXPECT_EQ(clean.code, kExitOk) << clean.out << clean.err;
  EXPECT_THAT(clean.out, HasSubstr("nothing found"));
}

}  // namespace
}  // namespace kiln::cli
