// The documents' lists and the C header of a small register map, with values by hand. That the maps
// of machines are those of their RTL is for the tests of the families.
#include "kiln/hardware/register_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kiln/hardware/driver_folder.h"

namespace kiln::hardware {
namespace {

using testing::HasSubstr;
using testing::Not;

RegisterMap SmallMap() {
  RegisterMap map;
  map.machine = "a machine";
  map.page = "docs/none.md";
  map.identity = 0x1234;
  map.version = 0;
  map.registers = {
      {"IDENTITY", 0x000, true, false, "0x1234"},
      {"CONTROL", 0x004, false, true, "", {{"GO", 0, 0, "starts"}, {"MODE", 7, 4, "of the run"}}},
      {"STATUS", 0x008, true, false, "", {{"BUSY", 31, 31, "runs"}}},
      {"PROGRAM", 0x010, true, true, "its address", {}, {}, 2},
      {"FAULT", 0x018, true, false, "0: none", {}, {{1, "bad", "a bad one"}, {7, "late", "late"}}},
      {"BASE", 0x100, true, true, "of stream i", {}, {}, 2, 3, 16}};
  map.counters = {{"unit.busy", 0x040, 2, "cycles"}, {"unit.idle", 0x048, 1, "cycles"}};
  map.control = {.program = {"PROGRAM", "FAULT"},
                 .start = {"CONTROL", 1, 0x21},
                 .busy = {"STATUS", 0x80000000, 0x80000000},
                 .ended = {"STATUS", 0x80000000, 0},
                 .error = "FAULT",
                 .error_place = "IDENTITY",
                 .cycles = "PROGRAM"};
  return map;
}

TEST(RegisterMap, ListsForDocuments) {
  EXPECT_EQ(RegisterList(SmallMap()),
            "- **0x000 IDENTITY** (r): 0x1234.\n"
            "- **0x004 CONTROL** (w): bit 0 GO: starts; bits 7:4 MODE: of the run.\n"
            "- **0x008 STATUS** (r): bit 31 BUSY: runs.\n"
            "- **0x010, 0x014 PROGRAM** (rw): its address.\n"
            "- **0x018 FAULT** (r): 0: none; 1 bad, 7 late.\n"
            "- **0x100 + 16 i, 0x104 + 16 i BASE** (rw): of stream i.\n");
  EXPECT_EQ(CounterList(SmallMap()),
            "- **0x040** unit.busy: cycles.\n- **0x048** unit.idle: cycles.\n");
}

TEST(RegisterMap, WordsAreSortedByAddress) {
  std::vector<uint32_t> addresses;
  for (const RegisterWord& word : WordsOf(SmallMap())) addresses.push_back(word.address);
  EXPECT_THAT(addresses,
              testing::ElementsAre(0x000, 0x004, 0x008, 0x010, 0x014, 0x018, 0x040, 0x044, 0x048,
                                   0x100, 0x104, 0x110, 0x114, 0x120, 0x124));
  EXPECT_EQ(WordsOf(SmallMap())[12].name, "BASE_HIGH 1");
}

// Returns the value of a definition in the header, or "" if there is none.
std::string Defined(const std::string& header, const std::string& name) {
  const size_t at = header.find("#define " + name + " ");
  if (at == std::string::npos) return "";
  const size_t begin = header.find_first_not_of(' ', at + 9 + name.size());
  return header.substr(begin, header.find('\n', begin) - begin);
}

TEST(RegisterMap, TheHeaderHasAddressesMasksAndLists) {
  const std::string header = RegisterHeader(SmallMap());
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"KILN_REG_CONTROL", "0x004u"},
                                                        {"KILN_REG_PROGRAM_HIGH", "0x014u"},
                                                        {"KILN_CONTROL_MODE", "0xf0u"},
                                                        {"KILN_CONTROL_MODE_SHIFT", "4u"},
                                                        {"KILN_STATUS_BUSY", "0x80000000u"},
                                                        {"KILN_BASE_COUNT", "3u"},
                                                        {"KILN_BASE_STRIDE", "16u"},
                                                        {"KILN_IDENTITY_VALUE", "0x1234u"},
                                                        {"KILN_REGISTER_BYTES", "0x1000u"},
                                                        {"KILN_VERSION_VALUE", ""},
                                                        {"KILN_PROGRAM_WORDS", "3u"},
                                                        {"KILN_WORD_FAULT", "2u"},
                                                        {"KILN_START_VALUE", "0x21u"},
                                                        {"KILN_STOP_ADDRESS", ""},
                                                        {"KILN_CYCLES_WORDS", "2u"},
                                                        {"KILN_COUNTER_COUNT", "2u"}}) {
    EXPECT_EQ(Defined(header, name), value) << name;
  }
  EXPECT_THAT(header, HasSubstr("COUNTER(\"unit.busy\", 0x040u, 2u)"));
  EXPECT_THAT(header, HasSubstr("ERROR(7u, \"late\""));
}

// Addresses of more than 32 bits are split into the words of their registers.
TEST(DriverFolder, StepsAreATable) {
  DriverExample example;
  const std::vector<uint8_t> code = {1, 2, 3}, input = {4, 5};
  example.image = {{"code", 0x20, code}, {"nothing", 0x40, {}}};
  example.memory_bytes = 0x1000;
  example.sample.Write(0x80, input);
  example.sample.Run(std::vector<uint64_t>{0x123456789a, 6});
  PlacedTensor tensor;
  tensor.name = "y";
  tensor.base = 0x90;
  tensor.axes = AxesOf(std::vector<int64_t>{2}, std::vector<int64_t>{8});
  example.sample.Expect(tensor, input);
  RtlProject project;
  AddDriver(SmallMap(), example, &project);
  const auto text = [&](const std::string& name) {
    const auto at = std::ranges::find(project.others, "driver/" + name,
                                      [](const auto& file) { return file.first; });
    return at == project.others.end() ? std::string() : at->second;
  };
  const std::string steps = text("kiln_sample.c");
  EXPECT_THAT(steps, HasSubstr("{KILN_SAMPLE_WRITE, \"code\",\n     0x20u, kiln_image, 3u,"));
  EXPECT_THAT(steps, Not(HasSubstr("nothing")));
  EXPECT_THAT(steps, HasSubstr("0x80u, kiln_sample_input, 2u,"));
  EXPECT_THAT(steps, HasSubstr("{{0x3456789au, 0x12u, 0x6u}}"));
  EXPECT_THAT(steps,
              HasSubstr("{KILN_SAMPLE_EXPECT, \"y\",\n     0x90u, kiln_sample_expected, 2u,"));
  EXPECT_THAT(steps, HasSubstr("kiln_memory_bytes = 0x1000u;"));
  EXPECT_EQ(text("image.bin"), std::string("\1\2\3"));
  EXPECT_THAT(text("kiln_sample_data.S"), HasSubstr(".incbin \"../sample/input0.bin\""));
}

}  // namespace
}  // namespace kiln::hardware
