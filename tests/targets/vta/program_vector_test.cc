#include "kiln/targets/vta/isa/program_vector.h"
#include "kiln/targets/vta/run/run_vector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fmt/format.h"
#include "kiln/support/budgets.h"
#include "kiln/support/file.h"
#include "kiln/support/hex.h"
#include "kiln/support/json_reader.h"
#include "kiln/support/process.h"
#include "kiln/support/sha256.h"
#include "kiln/targets/vta/config/config.h"
#include "tests/targets/vta/naive.h"
#include "tests/targets/vta/random_program.h"
#include "tests/test_data.h"

namespace kiln::vta {
namespace {

namespace fs = std::filesystem;

// Programs with the memory that the original's functional simulator left.
TEST(VtaProgramVectors, OfTheOriginalPass) {
  const fs::path folder = TestData("vta");
  int count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    const auto json = ReadJson(entry.path());
    ASSERT_TRUE(json.ok()) << json.status();
    if (!HasFormat(*json, kProgramVectorFormat)) continue;
    const auto vector = ParseProgramVector(*json, entry.path());
    ASSERT_TRUE(vector.ok()) << vector.status();
    for (uint64_t order = 0; order < 10; ++order) {
      EXPECT_EQ(FindDifference(*vector, order).value_or(""), "")
          << vector->name << ", order " << order;
    }
    RunTime time;
    EXPECT_EQ(FindCycleDifference(*vector, 0, &time, nullptr).value_or(""), "")
        << vector->name << ", cycle level";
    EXPECT_EQ(time.cycles == 0, vector->fault.has_value());
    ++count;
  }
  EXPECT_EQ(count, 13);
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
    json_ = {
        {"format", "vta-vector-1"},
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
  EXPECT_THAT(FindDifference(*vector, 0).value_or(""),
              testing::HasSubstr("byte 0x1064 of the memory is"));
  vector->after[100] ^= 1;
  vector->profile.emplace();
  EXPECT_THAT(FindDifference(*vector, 0).value_or(""), testing::HasSubstr("_nbytes is"));
  EXPECT_THAT(FindDifference(*vector, 0, 10).value_or(""), testing::HasSubstr("too_long"));
  vector->fault = "deadlock";
  EXPECT_THAT(FindDifference(*vector, 0).value_or(""),
              testing::HasSubstr("runs to its end; the vector has it stop with deadlock"));
}

// The digest of "abc", of FIPS 180-4's examples, and of nothing.
TEST(VtaSha256, IsTheStandards) {
  const std::string abc = "abc";
  EXPECT_EQ(HexOf(Sha256Of({reinterpret_cast<const uint8_t*>(abc.data()), abc.size()})),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(HexOf(Sha256Of({})),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST_F(VtaOwnVector, ImagesHaveTheirDigests) {
  const auto image = [&](const char* name) {
    const std::string text = *ReadFile(folder_.path() / name);
    return std::vector<uint8_t>(text.begin(), text.end());
  };
  const std::string in = HexOf(Sha256Of(image("in.bin"))), out = HexOf(Sha256Of(image("out.bin")));
  json_["sha256_in"] = in;
  json_["sha256_out"] = out;
  EXPECT_TRUE(Read().ok()) << Error();
  std::vector<uint8_t> other = image("out.bin");
  other.back() ^= 1;
  Write("out.bin", other);
  EXPECT_THAT(Error(),
              testing::MatchesRegex(".*out.bin: has the SHA-256 " + HexOf(Sha256Of(other)) +
                                    "; sha256_out of .*own.json is " + out));
  json_["sha256_in"] = out;
  EXPECT_THAT(Error(), testing::HasSubstr("in.bin: has the SHA-256 " + in));
}

TEST_F(VtaOwnVector, TheImageAtItsBudget) {
  json_["dram_size"] = budgets::kMemoryImageBytes;
  EXPECT_THAT(Error(), testing::HasSubstr(
                           "in.bin: has "));  // the budget is kept, the image is not of that size
  json_["dram_size"] = budgets::kMemoryImageBytes + 1;
  EXPECT_THAT(Error(), testing::HasSubstr("own.json: key 'dram_size': an image of 1073741825 bytes "
                                          "is too large; at most 1073741824"));
}

// Files with holes, which take no room on disk; the image at its budget is in the test above.
TEST_F(VtaOwnVector, FilesBeyondTheirBudgets) {
  ASSERT_TRUE(Read().ok());
  fs::resize_file(folder_.path() / "in.bin", budgets::kMemoryImageBytes + 1);
  EXPECT_EQ(Error(), (folder_.path() / "in.bin").string() +
                         ": 1073741825 bytes are too many; at most 1073741824 bytes are read");
  const fs::path file = folder_.path() / "own.json";
  fs::resize_file(file, budgets::kJsonBytes + 1);
  const std::string many =
      file.string() + ": 268435457 bytes are too many; at most 268435456 bytes are read";
  EXPECT_EQ(MessageOf(ReadProgramVector(file).status()), many);
  EXPECT_EQ(MessageOf(LoadConfig(file.string()).status()), many);
}

TEST(VtaFaultDifference, IsOfKindAndInstruction) {
  const std::optional<Fault> none, range = Fault{FaultKind::kSramRange, 3, "here"};
  EXPECT_EQ(FindDifference(none, none), std::nullopt);
  EXPECT_EQ(FindDifference(range, Fault{FaultKind::kSramRange, 3, "there"}), std::nullopt);
  EXPECT_EQ(FindDifference(range, Fault{FaultKind::kSramRange, 4, "here"}),
            "sram_range of instruction 3; sram_range of instruction 4");
  EXPECT_EQ(FindDifference(range, Fault{FaultKind::kDramRange, 3, "here"}),
            "sram_range of instruction 3; dram_range of instruction 3");
  EXPECT_EQ(FindDifference(none, range), "no fault; sram_range of instruction 3");
  const Fault late{FaultKind::kTooLong, 9, ""}, later{FaultKind::kTooLong, 0, ""};
  EXPECT_EQ(FindDifference(late, later), std::nullopt);
  EXPECT_EQ(FindDifference(late, range), "too_long; sram_range of instruction 3");
}

TEST_F(VtaOwnVector, ErrorsNameFileAndKey) {
  using testing::HasSubstr;
  const nlohmann::json right = json_;
  const auto with = [&](const char* key, const nlohmann::json& value) {
    json_ = right;
    json_[key] = value;
    return Error();
  };
  EXPECT_THAT(with("format", "vta-vector-2"),
              HasSubstr("own.json: key 'format': 'vta-vector-2' is none of programs"));
  EXPECT_THAT(with("dram_base", 100),
              HasSubstr("key 'dram_base': no memory begins at 100; a multiple of 4096, and not 0"));
  EXPECT_THAT(with("dram_base", 0), HasSubstr("no memory begins at 0"));
  const uint64_t end = uint64_t{1} << 32, size = right["dram_size"];
  EXPECT_THAT(
      with("dram_base", end - 4096),
      HasSubstr(fmt::format(
          "key 'dram_size': {} bytes from {} on go beyond addresses of 32 bits; at most 4096", size,
          end - 4096)));
  EXPECT_THAT(with("dram_base", end), HasSubstr("go beyond addresses of 32 bits; at most 0"));
  nlohmann::json deep = 1;
  for (int i = 0; i < 100; ++i) deep = nlohmann::json::array({deep});
  EXPECT_THAT(with("name", deep),
              HasSubstr("lists and objects are nested too deeply; at most 32 levels"));
  EXPECT_THAT(with("dram_base", -1), HasSubstr("key 'dram_base': -1 is no count"));
  EXPECT_THAT(with("dram_size", 1), HasSubstr("in.bin: has"));
  EXPECT_THAT(with("dram_in", "../in.bin"), HasSubstr("'../in.bin' is no file beside it"));
  EXPECT_THAT(with("dram_in", "none.bin"), HasSubstr("none.bin"));
  EXPECT_THAT(with("sha256_in", "00"), HasSubstr("key 'sha256_in': has 1 bytes; a SHA-256 has 32"));
  EXPECT_THAT(with("sha256_in", 7), HasSubstr("key 'sha256_in': 7 is no text"));
  EXPECT_THAT(with("sha256_out", std::string(64, 'x')),
              HasSubstr("key 'sha256_out': has other than pairs of hex"));
  EXPECT_THAT(with("config", {{"HW_VER", "0.0.1"}}),
              HasSubstr("own.json: key 'HW_VER': \"0.0.1\" is another version of the hardware"));
  EXPECT_THAT(with("config", {{"LOG_BATCH", 99}}), HasSubstr("key 'LOG_BATCH': 99"));
  EXPECT_THAT(with("runs", 1), HasSubstr("key 'runs': is no list"));
  EXPECT_THAT(with("runs", {{{"insn_addr", 0}, {"insn_count", 1}}}),
              HasSubstr("key 'runs[0].insn_addr'"));
  EXPECT_THAT(
      with("runs", {{{"insn_addr", 4096 + size + 1}, {"insn_count", 1}}}),
      HasSubstr(fmt::format(
          "key 'runs[0].insn_addr': there is no stream at {}, outside of the image; an address "
          "from 4096 to {}",
          4096 + size + 1, 4095 + size)));
  EXPECT_THAT(
      with("runs", {{{"insn_addr", 4096 + size - 40}, {"insn_count", 3}}}),
      HasSubstr(fmt::format(
          "key 'runs[0].insn_count': 3 instructions from {} on go beyond the image; at most 2",
          4096 + size - 40)));
  EXPECT_THAT(with("runs", {{{"insn_addr", 4096}}}),
              HasSubstr("key 'runs[0].insn_count': is missing"));
  EXPECT_THAT(with("counters", {{"inp_load_nbytes", 1}}),
              HasSubstr("key 'counters.wgt_load_nbytes': is missing"));
  json_ = right;
  json_["expect"] = "error";
  json_["error_kind"] = "sram_rang";
  EXPECT_THAT(
      Error(),
      HasSubstr(
          "key 'error_kind': there is no fault 'sram_rang'; one of: sram_range, dram_range, "
          "bad_opcode, bad_memory_id, bad_field, bad_dependency, deadlock, no_finish, too_long"));
  json_["error_kind"] = "too_long";
  EXPECT_EQ(Error(), "");
  json_ = right;
  json_["runs"][0]["insns"] = {"00"};
  EXPECT_THAT(Error(), HasSubstr("key 'runs[0].insns': differs from the stream in the image"));
  json_ = right;
  json_.erase("dram_out");
  EXPECT_THAT(Error(), HasSubstr("key 'dram_out': is missing"));
}

}  // namespace
}  // namespace kiln::vta
