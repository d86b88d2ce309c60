// The accelerator behind the interface of all families: what EmitRtl writes for a network.

#include "kiln/targets/cgra/accelerator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "kiln/ir/text.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "kiln/targets/cgra/chart/chart.h"
#include "kiln/targets/cgra/compile/network_program.h"

namespace kiln::cgra {
namespace {

using ::testing::HasSubstr;

constexpr char kDesign[] =
    "family: cgra\nname: five\ncolumns: 5\nlanes: 4\nmemory_depth: 128\nring_entries: 8\n"
    "outputs: 2\nwait_limit: 12\n";
// A product and a sum on the machine, between them a logarithm of a soft-max on the host.
constexpr char kNetwork[] =
    "graph \"net\" { input %x : f32[1x8] quant int8 per_tensor symmetric scale=[0.5]\n"
    "input %y : f32[1x8] quant int8 per_tensor symmetric scale=[0.5]\n"
    "%p = mul %x, %y \"product\" : f32[1x8] quant int8 per_tensor symmetric scale=[0.5]\n"
    "%s = log_softmax %p {axis=-1} \"soft\" : f32[1x8] quant int8 per_tensor scale=[0.01]\n"
    "%a = add %s, %x \"sum\" : f32[1x8] quant int8 per_tensor symmetric scale=[0.5]\n"
    "output %a }";
constexpr char kOnlyHost[] =
    "graph \"net\" { input %x : f32[1x8] quant int8 per_tensor symmetric scale=[0.5]\n"
    "%s = log_softmax %x {axis=-1} \"soft\" : f32[1x8] quant int8 per_tensor scale=[0.01]\n"
    "output %s }";

class CgraEmitRtl : public testing::Test {
 protected:
  std::unique_ptr<Program> Compile(const char* text) {
    const auto graph = ParseGraph(text, "net.kir");
    EXPECT_TRUE(graph.ok()) << graph.status();
    auto program = accelerator_.Compile(*graph, {});
    EXPECT_TRUE(program.ok()) << program.status();
    return program.ok() ? *std::move(program) : nullptr;
  }
  std::string Text(const std::string& name) const {
    const auto text = ReadFile(folder_.path() / "design" / name);
    EXPECT_TRUE(text.ok()) << text.status();
    return text.ok() ? *text : "";
  }
  bool Exists(const std::string& name) const {
    return std::filesystem::exists(folder_.path() / "design" / name);
  }

  const TemporaryFolder folder_ = *TemporaryFolder::Create("kiln-cgra-emit");
  const CgraAccelerator accelerator_{*ParseConfig(kDesign, "five.yaml")};
};

TEST_F(CgraEmitRtl, WritesTheMachineAndTheFirstConfiguration) {
  const auto program = Compile(kNetwork);
  ASSERT_NE(program, nullptr);
  ASSERT_EQ(accelerator_.EmitRtl(*program, {}, folder_.path() / "design"), OkStatus());

  // The machine has the parameters of the design point, and beats of 4 lanes.
  const std::string top = Text("kiln_accelerator.sv");
  EXPECT_THAT(top, HasSubstr("kiln_cgra #("));
  for (const char* parameter : {".TILES(5)", ".LANES(4)", ".MEMORY_DEPTH(128)", ".RING(8)",
                                ".OUTPUTS(2)", ".WAIT_LIMIT(12)", ".REACH(2)"}) {
    EXPECT_THAT(top, HasSubstr(parameter));
  }
  EXPECT_THAT(top, HasSubstr("[127:0] in_tdata"));
  for (const char* module : {"kiln_cgra.sv", "kiln_cgra_tile.sv", "kiln_cgra_lane.sv"})
    EXPECT_TRUE(Exists(std::string("rtl/") + module)) << module;
  const auto design = ParseConfig(Text("design.yaml"), "design.yaml");
  ASSERT_TRUE(design.ok()) << design.status();
  EXPECT_EQ(design->columns, 5);
  EXPECT_EQ(design->wait_limit, 12);

  // The listing is the network's, with all of its kernels; the example is its first launch.
  EXPECT_EQ(Text("program.txt"), program->Print());
  for (const char* kernel : {"product", "soft", "sum"})
    EXPECT_THAT(Text("program.txt"), HasSubstr(kernel));
  const auto& compiled = dynamic_cast<const NetworkProgram&>(*program);
  ASSERT_TRUE(compiled.lowered()[0].machine.has_value());
  const CgraProgram& first = compiled.lowered()[0].machine->launches[0].mapped->program;
  EXPECT_EQ(Text("configuration.json"), ConfigurationJson(first));
  const std::string load = Text("configuration.bin"), example = Text("example.bin");
  EXPECT_EQ(load.size(), 16 * static_cast<size_t>(LoadBeats(first)));
  ASSERT_GT(example.size(), load.size());
  EXPECT_EQ(example.substr(0, load.size()), load);
  EXPECT_EQ(example[load.size()] & 15, 2);  // a run follows
  EXPECT_THAT(Text("design.mk"), HasSubstr("--memory example.bin --beats"));
}

// An absent `wait_limit` must not be one that no hardware has.
TEST(CgraConfig, AMachineOfDefaultsCanBeBuilt) {
  const auto config = ParseConfig("family: cgra\nname: plain\n", "plain.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->wait_limit, 15);
  EXPECT_EQ(CheckStreamMachine(*config), OkStatus());
  const auto any = ParseConfig("family: cgra\nname: plain\nwait_limit: any\n", "any.yaml");
  ASSERT_TRUE(any.ok()) << any.status();
  EXPECT_EQ(any->wait_limit, -1);
  EXPECT_FALSE(CheckStreamMachine(*any).ok());
}

TEST_F(CgraEmitRtl, WritesTheMachineAloneForNetworksOfTheHost) {
  const auto program = Compile(kOnlyHost);
  ASSERT_NE(program, nullptr);
  ASSERT_EQ(accelerator_.EmitRtl(*program, {}, folder_.path() / "design"), OkStatus());
  EXPECT_THAT(Text("kiln_accelerator.sv"), HasSubstr(".TILES(5)"));
  EXPECT_EQ(Text("program.txt"), program->Print());
  EXPECT_FALSE(Exists("configuration.json"));
  EXPECT_FALSE(Exists("example.bin"));
}

TEST_F(CgraEmitRtl, RefusesProgramsOfOtherFamilies) {
  class Other final : public Program {
    std::string Print() const override { return "other"; }
  };
  const Status status = accelerator_.EmitRtl(Other(), {}, folder_.path() / "design");
  EXPECT_THAT(MessageOf(status), HasSubstr("five: the program was compiled for another family"));
  EXPECT_FALSE(Exists("kiln_accelerator.sv"));
}

TEST_F(CgraEmitRtl, RefusesMachinesThatAreNotBuilt) {
  const auto program = Compile(kOnlyHost);
  ASSERT_NE(program, nullptr);
  Config config = accelerator_.config();
  config.hop_cycles = 2;
  const Status status = CgraAccelerator(config).EmitRtl(*program, {}, folder_.path() / "design");
  // The program keeps the design point that it was compiled for; another one has no hardware.
  EXPECT_THAT(MessageOf(status), HasSubstr("hop_cycles"));
  EXPECT_FALSE(Exists("kiln_accelerator.sv"));
}

// Behind a memory both streams use one bus of 16 bytes; a beat has 4 lanes of 4 bytes.
TEST_F(CgraEmitRtl, StreamsShareABusToMemory) {
  const auto program = Compile(kNetwork);
  ASSERT_NE(program, nullptr);
  auto traffic = accelerator_.EstimateTraffic(*program);
  ASSERT_TRUE(traffic.ok()) << traffic.status();
  traffic->PutBehindMemory(100);
  ASSERT_EQ(traffic->ports.size(), 5u);
  for (size_t p = 0; p < 4; ++p) EXPECT_EQ(traffic->ports[p].bytes_per_cycle, 16) << p;
  for (size_t k = 0; k < program->kernels().size(); ++k) {
    EXPECT_EQ(traffic->bytes[k][2], traffic->BytesRead(k));
    EXPECT_EQ(traffic->bytes[k][3], traffic->BytesWritten(k));
    EXPECT_EQ(traffic->bytes[k][4], traffic->Bytes(k));
    EXPECT_EQ(traffic->Bytes(k) == 0, program->kernels()[k].on_host());
  }
}

}  // namespace
}  // namespace kiln::cgra
