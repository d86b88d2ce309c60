// Tests of `kiln verify --wave` on machines of the binary family.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "fmt/format.h"
#include "kiln/cli/application.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "tests/cli/call.h"

namespace kiln::cli {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

// Verifies a small network on a small machine with a copy of the hardware library that has faults.
// Two layers run on the machine; the host works between them.
class BinaryWaves : public testing::Test {
 protected:
  void SetUp() override {
    std::string weights;
    for (int i = 0; i < 36; ++i) weights += fmt::format("{}{}", i == 0 ? "" : ", ", i * 7 % 11 - 5);
    ASSERT_TRUE(WriteFile(Path("net.kir"), fmt::format(R"(graph "small" {{
  input %image : f32[1x2x6x6]
  const %w : f32[2x2x3x3] = [{0}]
  const %v : f32[2x2x3x3] = [{0}]
  %1 = conv %image, %w {{kernel_shape=[3, 3], pads=[1, 1, 1, 1]}} "first" : f32[1x2x6x6]
  %2 = sigmoid %1 "shape" : f32[1x2x6x6]
  %3 = conv %2, %v {{kernel_shape=[3, 3], pads=[1, 1, 1, 1]}} "last" : f32[1x2x6x6]
  output %3
}}
)",
                                                       weights))
                    .ok());
    const auto library = hardware::RtlLibrary();
    ASSERT_TRUE(library.ok()) << library.status();
    std::filesystem::copy(*library, Path("rtl"), std::filesystem::copy_options::recursive);
    setenv("KILN_RTL", Path("rtl").c_str(), 1);
  }
  void TearDown() override { unsetenv("KILN_RTL"); }
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }
  void Spoil(const std::string& file, const std::string& right, const std::string& wrong) const {
    std::string text = *ReadFile(Path("rtl/binary/" + file));
    const size_t at = text.find(right);
    ASSERT_NE(at, std::string::npos) << file;
    text.replace(at, right.size(), wrong);
    ASSERT_TRUE(WriteFile(Path("rtl/binary/" + file), text).ok());
  }
  Outcome Verify() const {
    return Call({"verify", Path("net.kir"), "--on", "binary-small", "--random", "1", "--seed", "1",
                 "--wave", Path("wave.fst")});
  }

  const TemporaryFolder folder_ = *TemporaryFolder::Create("kiln-binary-waves");
};

// Results whose lowest bit is the wrong one.
TEST_F(BinaryWaves, WrongBitsAreRecorded) {
  Spoil("kiln_binary_requantise.sv", "result5 <= value4[16:0];",
        "result5 <= value4[16:0] ^ 17'd1;");
  const Outcome differs = Verify();
  EXPECT_EQ(differs.code, kExitError) << differs.out << differs.err;
  EXPECT_THAT(differs.out, HasSubstr("\nbits         DIFFERENT"));
  EXPECT_THAT(differs.out, HasSubstr("\ncycles       the same: "));
  EXPECT_THAT(
      differs.out,
      ContainsRegex("wave.fst: image 0, cycles 0 to [0-9]*, first different kernel first\n"));
  EXPECT_GT(std::filesystem::file_size(Path("wave.fst")), 1'000u);
}

// A stream out that takes a result in every other cycle alone.
TEST_F(BinaryWaves, LateCyclesAreRecorded) {
  Spoil("kiln_binary.sv", "  logic unused_last;",
        "  logic unused_last, odd;\n"
        "  always_ff @(posedge clock) odd <= !reset && !odd;");
  Spoil("kiln_binary.sv", "result_valid && result_ready;\n  end",
        "result_valid && result_ready && odd;\n  end");
  Spoil("kiln_binary.sv", ".in_tvalid(result_valid),", ".in_tvalid(result_valid && odd),");
  const Outcome late = Verify();
  EXPECT_EQ(late.code, kExitError) << late.out << late.err;
  EXPECT_THAT(late.out, HasSubstr("\nbits         the same: "));
  EXPECT_THAT(late.out, HasSubstr("\ncycles       DIFFERENT: "));
  EXPECT_THAT(late.out, ContainsRegex("wave.fst: image 0, cycles [0-9]* to [0-9]*, first different "
                                      "kernel first\n"));
  EXPECT_GT(std::filesystem::file_size(Path("wave.fst")), 1'000u);
}

TEST_F(BinaryWaves, NothingIsRecordedIfTheLevelsAgree) {
  const Outcome agree = Verify();
  EXPECT_EQ(agree.code, kExitOk) << agree.out << agree.err;
  EXPECT_FALSE(std::filesystem::exists(Path("wave.fst")));
}

}  // namespace
}  // namespace kiln::cli
