// Tests of the table of FPGAs against the design points that describe the same devices, and of the
// comparison of a design with a device.
#include "kiln/hardware/fpga_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>

#include "kiln/support/yaml.h"

namespace kiln::hardware {
namespace {

using testing::HasSubstr;

// Design points that describe an FPGA were written from the boards' papers and data sheets.
TEST(FpgaDevices, HaveWhatDesignPointsSayOfTheirBoards) {
  std::set<std::string_view> described;
  for (const auto& entry : std::filesystem::directory_iterator("accelerators")) {
    if (entry.path().extension() != ".yaml") continue;
    SCOPED_TRACE(entry.path());
    const auto file = YamlFile::Load(entry.path().string());
    ASSERT_TRUE(file.ok()) << file.status();
    std::string family;
    file->root().String("fpga", &family);
    const auto integer = [&](const char* key) {
      int64_t value = 0;
      file->root().Int(key, &value, 0, 1 << 30);
      return value;
    };
    const auto device = std::ranges::find(FpgaDevices(), integer("lut"), &FpgaDevice::luts);
    if (family.empty() || device == FpgaDevices().end()) continue;  // or a device of no board
    EXPECT_EQ(device->family, family);
    EXPECT_EQ(device->dsps, integer("dsp"));
    EXPECT_EQ(device->block_rams, integer("bram"));
    EXPECT_EQ(device->ultra_rams, integer("uram"));
    // Every slice of these families has two flip-flops for each LUT.
    EXPECT_EQ(device->flip_flops, 2 * device->luts);
    described.insert(device->part);
  }
  EXPECT_EQ(described.size(), FpgaDevices().size());
}

// Data sheets state the LUTs that can be memory as bits, 64 for each, in units of 2^20.
TEST(FpgaDevices, HaveTheDistributedMemoryOfTheDataSheets) {
  const std::pair<const char*, double> stated[] = {
      {"XCZU3EG", 1.8}, {"XCZU7EV", 6.2}, {"XCU250", 48.3}};
  for (const auto& [part, megabits] : stated) {
    const auto device = FindFpgaDevice(part, "--device");
    ASSERT_TRUE(device.ok()) << device.status();
    const double bits = 64.0 * static_cast<double>((*device)->lut_memories);
    EXPECT_NEAR(bits / (1 << 20), megabits, 0.05) << part;
  }
}

TEST(FpgaDevices, AreFoundInSmallLettersToo) {
  const auto device = FindFpgaDevice("xc7z020", "--device");
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ((*device)->part, "XC7Z020");
  const auto unknown = FindFpgaDevice("XC7Z02", "--device");
  EXPECT_THAT(unknown.status().message(),
              testing::AllOf(HasSubstr("--device: there is no device 'XC7Z02'"),
                             HasSubstr("XC7Z020, XCZU3EG, XCZU7EV, XCU250")));
}

// The least LUTs that hold functions with n[i] of i + 1 inputs: any pair of at most five inputs may
// share one.
int64_t LeastLuts(std::array<int64_t, 4> n) {
  int64_t least = n[0] + n[1] + n[2] + n[3];
  for (size_t i = 0; i < 4; ++i) {
    for (size_t j = i; j < 4 && i + j + 2 <= 5; ++j) {
      std::array<int64_t, 4> rest = n;
      --rest[i];
      --rest[j];
      if (std::ranges::min(rest) >= 0) least = std::min(least, 1 + LeastLuts(rest));
    }
  }
  return least;
}

TEST(FpgaDevices, NarrowFunctionsShareLuts) {
  for (int64_t code = 0; code < 4 * 4 * 4 * 3; ++code) {
    const std::array<int64_t, 4> narrow = {code % 4, code / 4 % 4, code / 16 % 4, code / 64};
    int64_t functions = 7;  // of five and six inputs
    for (const int64_t count : narrow) functions += count;
    const Resources design = {.luts = functions, .narrow_luts = narrow};
    EXPECT_EQ(PackedLuts(design), 7 + LeastLuts(narrow)) << testing::PrintToString(narrow);
  }
}

// LUTs as memory are among the LUTs; a device that is filled to the last one holds the design.
TEST(FpgaDevices, CompareEveryResource) {
  const FpgaDevice device = {"PART", "xc7", 100, 20, 200, 10, 0, 5};
  const Resources design = {
      .flip_flops = 201, .luts = 85, .lut_memories = 15, .dsps = 5, .block_rams = 10.5};
  std::string text;
  for (const DeviceUse& use : UseOf(device, design)) {
    text += std::string(use.key) + ' ' + std::to_string(use.used).substr(0, 5) + " of " +
            std::to_string(use.available) + (use.fits() ? "\n" : " no\n");
  }
  EXPECT_EQ(text,
            "luts 100.0 of 100\n"
            "lut_memories 15.00 of 20\n"
            "flip_flops 201.0 of 200 no\n"
            "dsps 5.000 of 5\n"
            "block_rams 10.50 of 10 no\n"
            "ultra_rams 0.000 of 0\n");
}

}  // namespace
}  // namespace kiln::hardware
