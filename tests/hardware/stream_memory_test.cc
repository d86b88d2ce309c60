// Tests of stream machines behind memory: the register map and its page, and what the project has.
// tests/cli/sample_test.cc runs them.
#include "kiln/hardware/stream_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/hardware/top_module.h"
#include "kiln/support/file.h"
#include "tests/targets/register_checks.h"

namespace kiln::hardware {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A machine with two streams in, of 3 and 24 bytes, one out of 8 bytes, and registers.
RtlProject MachineWithStreams() {
  TopModule top;
  top.buses = {{"control", AxiLiteSignals()},
               {"in0", AxiStreamSinkSignals(3)},
               {"in1", AxiStreamSinkSignals(24)},
               {"out", AxiStreamSourceSignals(8, true)}};
  top.observed = {{true, 5, "levels"}};
  RtlProject project;
  SetTop(top, &project);
  project.others = {{"design.yaml", "name: streams\n"},
                    {"memory/rom0.hex", "00\n"},
                    {"design.h", "// of the testbench of streams\n"}};
  return project;
}

TEST(StreamMemory, RegistersAreInTheDocuments) {
  const std::vector<std::string> in = {"in"}, out = {"out"};
  ExpectInDocument(StreamRegisters(in, out));
}

TEST(StreamMemory, EveryStreamHasItsRegisters) {
  const std::vector<std::string> in = {"in0", "in1"}, out = {"out"};
  const RegisterMap map = StreamRegisters(in, out);
  EXPECT_THAT(map.control.program, ElementsAre("IN0_ADDRESS", "IN0_BEATS", "IN1_ADDRESS",
                                               "IN1_BEATS", "OUT_ADDRESS", "OUT_BEATS"));
  EXPECT_EQ(FindRegister(map, "IN1_ADDRESS").address, 0x110);
  EXPECT_EQ(FindRegister(map, "OUT_BEATS").address, 0x128);
  ASSERT_EQ(map.counters.size(), 6u);
  EXPECT_EQ(map.counters[5].name, "out.stalled");
  EXPECT_EQ(map.counters[5].address, 0x414);
}

// What testbenches observe of the machine is a port of the top only for simulations that ask.
TEST(StreamMemory, ShowsTheChannelsOfTheMachineIfAsked) {
  for (const bool observed : {false, true}) {
    RtlProject project = MachineWithStreams();
    project.description->observed = {{true, 5, "pushed"}, {true, 160, "highest"}};
    AddSoc({}, 0, &project, observed);
    EXPECT_THAT(project.soc->top_text, HasSubstr(observed ? ".pushed(pushed)" : ".pushed()"));
    EXPECT_EQ(project.soc->description->observed.size(), observed ? 2u : 0u);
    EXPECT_THAT(project.soc->top_text, HasSubstr(".out_tlast()"));
    const auto header = std::ranges::find(project.soc->others, "design.h",
                                          &std::pair<std::string, std::string>::first);
    ASSERT_NE(header, project.soc->others.end());
    EXPECT_THAT(header->second, HasSubstr(observed ? "kChannels = 5;" : "kChannels = 0;"));
  }
}

TEST(StreamMemory, StreamsLieOneAfterTheOtherInMemory) {
  RtlProject project = MachineWithStreams();
  StreamSample sample;
  sample.run.Send(0, std::vector<uint8_t>(3 * 2000, 1));  // two pages
  sample.run.Send(1, std::vector<uint8_t>(24, 2));
  const PlacedTensor tensor = {.name = "y", .base = 16, .axes = {{.name = "", .digits = {{8, 8}}}}};
  sample.run.Expect(tensor, std::vector<uint8_t>(8, 7));
  sample.beats = {3};
  AddSoc(sample, 0, &project);
  ASSERT_NE(project.soc, nullptr);
  std::string steps;
  std::vector<std::string> names;
  for (const auto& [name, text] : project.soc->others) {
    names.push_back(name);
    if (name == "sample/steps.txt") steps = text;
  }
  EXPECT_THAT(steps, HasSubstr("write 0 6000 0\nwrite 6000 24 8192\n"
                               "run 0 2000 8192 1 12288 3\n"
                               "expect 0 0 12304 8 s y :8*8\n"));
  EXPECT_THAT(names, testing::IsSupersetOf({"design.yaml", "memory/rom0.hex", "design.h"}));
  EXPECT_EQ(std::ranges::count(names, "design.h"), 1) << "the machine's own is left out";
  EXPECT_THAT(project.soc->top_text, HasSubstr(".BEAT_BYTES({32'd8, 32'd24, 32'd3})"));
  EXPECT_THAT(project.soc->top_text, HasSubstr(".in1_tdata(to_tdata[215:24])"));
  EXPECT_THAT(project.soc->top_text, HasSubstr(".control_awvalid(machine_awvalid)"));
  EXPECT_THAT(project.soc->top_text, HasSubstr(".levels(),"));
}

// A port of the machine that only reads stays a master of the top. Its constants lie behind the
// streams, and the sample tells the machine where.
TEST(StreamMemory, PortsReadConstantsBehindTheStreams) {
  TopModule top;
  top.buses = {{"control", AxiLiteSignals()},
               {"in", AxiStreamSinkSignals(4)},
               {"out", AxiStreamSourceSignals(8, false)},
               {"weights0", AxiReadSignals(32, 40)}};
  RtlProject project;
  SetTop(top, &project);
  const std::vector<uint8_t> bytes(5000, 9);
  PortConstants constants;
  constants.file = "weights.bin";
  constants.bytes = bytes;
  constants.bases = {{.address = 0x100, .offset = 0}, {.address = 0x108, .offset = 4096}};
  constants.start = 0x008;
  project.others = {{"weights.bin", std::string(5000, 9)}};
  StreamSample sample;
  sample.run.Send(0, std::vector<uint8_t>(40, 1));
  const PlacedTensor tensor = {.name = "y", .base = 0, .axes = {{.name = "", .digits = {{8, 8}}}}};
  sample.run.Expect(tensor, std::vector<uint8_t>(8, 7));
  sample.beats = {1};
  AddSoc(sample, 0, &project, false, constants);
  const auto file = [&](const std::string& name) {
    const auto at =
        std::ranges::find(project.soc->others, name, &std::pair<std::string, std::string>::first);
    return at == project.soc->others.end() ? "" : at->second;
  };
  // The streams take a page each.
  EXPECT_THAT(file("sample/steps.txt"), HasSubstr("write 0 5000 8192\n"
                                                  "place 4352 8192\nplace 4360 12288\n"
                                                  "set 4104 1\n"
                                                  "write 5000 40 0\nrun 0 10 4096 1\n"));
  EXPECT_THAT(file("driver/kiln_sample.c"),
              HasSubstr("{KILN_SAMPLE_PLACE, \"address\", 0x1108u, NULL, 0x3000u, {{0}}}"));
  EXPECT_THAT(file("driver/kiln_registers.h"),
              HasSubstr("#define KILN_BUS_WORDS(WORD) \\\n  WORD(KILN_WORD_IN_ADDRESS) \\\n"
                        "  WORD(KILN_WORD_OUT_ADDRESS)\n"));
  EXPECT_THAT(file("driver/kiln_registers.h"),
              testing::ContainsRegex("KILN_REGISTER_BYTES +0x2000u"));
  EXPECT_THAT(file("design.h"), HasSubstr("#define KILN_PORTS(PORT) PORT(weights0, 32)\n"));
  EXPECT_EQ(file("weights.bin").size(), 5000u);
  const std::string& text = project.soc->top_text;
  EXPECT_THAT(text, HasSubstr("output logic [39:0] weights0_araddr"));
  EXPECT_THAT(text, HasSubstr(".weights0_arprot()"));
  EXPECT_THAT(text, HasSubstr("assign weights0_arprot = AXI_PROT;"));
}

// A folder's soc is removed if the next emission has none, and no link is followed.
TEST(StreamMemory, EmissionsReplaceTheFolder) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-soc");
  RtlProject project = MachineWithStreams();
  AddSoc({}, 0, &project);
  ASSERT_EQ(WriteRtlProject(project, folder.path()), OkStatus());
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "soc/driver/kiln_driver.c"));
  project.soc = nullptr;
  ASSERT_EQ(WriteRtlProject(project, folder.path()), OkStatus());
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "soc/driver/kiln_driver.c"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "soc/emitted.txt"));
  std::filesystem::remove_all(folder.path() / "soc");
  std::filesystem::create_directory_symlink("/tmp", folder.path() / "soc");
  EXPECT_FALSE(WriteRtlProject(project, folder.path()).ok());
}

// From one project to two, and back: nothing of the earlier emission is left.
TEST(StreamMemory, FewerProjectsLeaveNothing) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-soc");
  RtlProject project = MachineWithStreams();
  AddSoc({}, 0, &project);
  const auto files = [&](const std::string& below) {
    int count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path()))
      count += entry.is_regular_file() &&
               entry.path().string().find("/" + below + "/") != std::string::npos;
    return count;
  };
  ASSERT_EQ(WriteRtlProject(project, folder.path()), OkStatus());
  const int of_one = files("soc");
  EXPECT_GT(of_one, 20);
  ASSERT_EQ(WriteFolderOfProjects({{"segment0", project}, {"segment1", project}},
                                  {{"README.md", "two\n"}}, folder.path()),
            OkStatus());
  EXPECT_EQ(files("soc"), 2 * of_one) << "of the segments";
  ASSERT_EQ(WriteRtlProject(project, folder.path()), OkStatus());
  EXPECT_EQ(files("segment0") + files("segment1"), 0);
  EXPECT_EQ(files("soc"), of_one);
}

// A long name of a network does not hide which folder a core belongs to.
TEST(StreamMemory, CoresOfOneEmissionHaveNamesOfTheirOwn) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-soc");
  RtlProject project = MachineWithStreams();
  DesignGuide& guide = project.guide.emplace();
  guide.family = "streams";
  guide.design_point = "small";
  guide.network = std::string(100, 'n');
  guide.part = "segment0";
  AddSoc({}, 0, &project);
  ASSERT_EQ(WriteRtlProject(project, folder.path()), OkStatus());
  const auto name = [&](const std::string& file) {
    const std::string text = ReadFile(folder.path() / file).value_or("");
    const size_t at = text.find("name: ");
    return text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_THAT(name("design.core"), HasSubstr("nn_segment0:"));
  EXPECT_THAT(name("soc/design.core"), HasSubstr("nn_segment0_soc:"));
}

}  // namespace
}  // namespace kiln::hardware
