#include "kiln/targets/vta/program_vector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "tests/shared_folder.h"
#include "tests/targets/vta/naive.h"
#include "tests/targets/vta/random_program.h"

namespace kiln::vta {
namespace {

namespace fs = std::filesystem;

// The programs of the shared folder, made by the original's functional simulator.
TEST(VtaProgramVectors, OfTheSharedFolderPass) {
  const fs::path folder = SharedFolder() / "reference/vta/vectors";
  if (!fs::exists(folder)) GTEST_SKIP() << "needs " << folder;
  int count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    const auto json = ReadJson(entry.path());
    ASSERT_TRUE(json.ok()) << json.status();
    if (!HasFormat(*json, kProgramVectorFormat)) continue;
    const auto vector = ParseProgramVector(*json, entry.path());
    ASSERT_TRUE(vector.ok()) << vector.status();
    for (uint64_t order = 0; order < 10; ++order) {
      EXPECT_EQ(FindDifference(*vector, order).value_or(""), "") << vector->name << ", order " << order;
    }
    RunTime time;
    EXPECT_EQ(FindCycleDifference(*vector, 0, &time, nullptr).value_or(""), "") << vector->name << ", cycle level";
    EXPECT_EQ(time.cycles == 0, vector->fault.has_value());
    ++count;
  }
  EXPECT_GE(count, 13);
}

// A vector of our own, in a folder; tests change it.
class VtaOwnVector : public testing::Test {
 protected:
  void SetUp() override {
    Random random(5);
    const RandomProgram program = MakeRandomProgram(random, config_, 30);
    std::vector<uint8_t> after = program.memory;
    RunNaive(config_, program.instructions, RandomProgram::kBase, after);
    Write("in.bin", program.memory);
    Write("out.bin", after);
    json_ = {{"format", "vta-vector-1"},
             {"name", "own"},
             {"config", nlohmann::json::object()},
             {"dram_base", RandomProgram::kBase},
             {"dram_size", program.memory.size()},
             {"dram_in", "in.bin"},
             {"dram_out", "out.bin"},
             {"runs", {{{"insn_addr", program.address}, {"insn_count", program.instructions.size()}}}}};
  }
  void Write(const std::string& name, const std::vector<uint8_t>& bytes) const {
    ASSERT_TRUE(WriteFile(folder_.path() / name, std::string(bytes.begin(), bytes.end())).ok());
  }
  StatusOr<ProgramVector> Read() const {
    EXPECT_TRUE(WriteFile(folder_.path() / "own.json", json_.dump()).ok());
    return ReadProgramVector(folder_.path() / "own.json");
  }
  std::string Error() const { return MessageOf(Read().status()); }

  const Config config_ = *ParseOriginalConfig("{}", "default");
  const TemporaryFolder folder_ = *TemporaryFolder::Create("kiln-vta");
  nlohmann::json json_;
};

TEST_F(VtaOwnVector, DifferencesAreTold) {
  auto vector = Read();
  ASSERT_TRUE(vector.ok()) << vector.status();
  EXPECT_EQ(FindDifference(*vector, 0), std::nullopt);
  vector->after[100] ^= 1;
  EXPECT_THAT(FindDifference(*vector, 0).value_or(""), testing::HasSubstr("byte 0x1064 of the memory is"));
  vector->after[100] ^= 1;
  vector->profile.emplace();
  EXPECT_THAT(FindDifference(*vector, 0).value_or(""), testing::HasSubstr("_nbytes is"));
  EXPECT_THAT(FindDifference(*vector, 0, 10).value_or(""), testing::HasSubstr("too_long"));
  vector->fault = "deadlock";
  EXPECT_THAT(FindDifference(*vector, 0).value_or(""), testing::HasSubstr("should stop with deadlock"));
}

TEST_F(VtaOwnVector, ErrorsNameFileAndKey) {
  using testing::HasSubstr;
  const nlohmann::json right = json_;
  const auto with = [&](const char* key, const nlohmann::json& value) {
    json_ = right;
    json_[key] = value;
    return Error();
  };
  EXPECT_THAT(with("format", "vta-vector-2"), HasSubstr("own.json: key 'format': 'vta-vector-2' is none of programs"));
  EXPECT_THAT(with("dram_base", 100),
              HasSubstr("key 'dram_base': no memory begins at 100; a multiple of 4096, and not 0"));
  EXPECT_THAT(with("dram_base", 0), HasSubstr("no memory begins at 0"));
  nlohmann::json deep = 1;
  for (int i = 0; i < 100; ++i) deep = nlohmann::json::array({deep});
  EXPECT_THAT(with("name", deep), HasSubstr("is no JSON object"));
  EXPECT_THAT(with("dram_base", -1), HasSubstr("key 'dram_base': -1 is no count"));
  EXPECT_THAT(with("dram_size", 1), HasSubstr("in.bin: has"));
  EXPECT_THAT(with("dram_in", "../in.bin"), HasSubstr("'../in.bin' is no file beside it"));
  EXPECT_THAT(with("dram_in", "none.bin"), HasSubstr("none.bin"));
  EXPECT_THAT(with("config", {{"LOG_BATCH", 99}}), HasSubstr("key 'LOG_BATCH': 99"));
  EXPECT_THAT(with("runs", 1), HasSubstr("key 'runs': is no list"));
  EXPECT_THAT(with("runs", {{{"insn_addr", 0}, {"insn_count", 1}}}), HasSubstr("key 'runs[0].insn_addr'"));
  EXPECT_THAT(with("runs", {{{"insn_addr", 4096}}}), HasSubstr("key 'runs[0].insn_count': is missing"));
  EXPECT_THAT(with("counters", {{"inp_load_nbytes", 1}}), HasSubstr("key 'counters.wgt_load_nbytes': is missing"));
  json_ = right;
  json_["runs"][0]["insns"] = {"00"};
  EXPECT_THAT(Error(), HasSubstr("key 'runs[0].insns': differs from the stream in the image"));
  json_ = right;
  json_.erase("dram_out");
  EXPECT_THAT(Error(), HasSubstr("key 'dram_out': is missing"));
}

}  // namespace
}  // namespace kiln::vta
