// The table fpga_devices.def and comparisons with it.
#include "kiln/hardware/fpga_devices.h"

#include <absl/strings/ascii.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "kiln/support/excerpt.h"

namespace kiln::hardware {

const std::vector<FpgaDevice>& FpgaDevices() {
  static const std::vector<FpgaDevice> devices = {
#define KILN_FPGA(part, family, ...) {#part, #family, __VA_ARGS__},
#include "kiln/hardware/fpga_devices.def"
#undef KILN_FPGA
  };
  return devices;
}

std::string FpgaParts() {
  std::vector<std::string_view> parts;
  for (const FpgaDevice& device : FpgaDevices()) parts.push_back(device.part);
  return fmt::format("{}", fmt::join(parts, ", "));
}

StatusOr<const FpgaDevice*> FindFpgaDevice(std::string_view part, std::string_view place) {
  const std::string capitals = absl::AsciiStrToUpper(std::string(part));
  for (const FpgaDevice& device : FpgaDevices()) {
    if (device.part == capitals) return &device;
  }
  return NotFoundAt("", place, fmt::format("there is no device {}", QuotedExcerpt(part)),
                    "give one of: " + FpgaParts());
}

int64_t PackedLuts(const Resources& design) {
  auto [one, two, three, four] = design.narrow_luts;
  const int64_t wide = design.luts - one - two - three - four;
  // Each function of four inputs takes one of one; each of three takes one of two, or else of one;
  // what remains has at most two inputs and goes in pairs.
  one -= std::min(one, four);
  const int64_t beside_two = std::min(three, two);
  two -= beside_two;
  one -= std::min(one, three - beside_two);
  return wide + four + three + (one + two + 1) / 2;
}

std::vector<DeviceUse> UseOf(const FpgaDevice& device, const Resources& design) {
  const auto row = [](std::string_view resource, std::string_view key, auto used,
                      int64_t available) {
    return DeviceUse{resource, key, static_cast<double>(used), available};
  };
  return {row("LUT", "luts", PackedLuts(design) + design.lut_memories, device.luts),
          row("LUT as memory", "lut_memories", design.lut_memories, device.lut_memories),
          row("FF", "flip_flops", design.flip_flops, device.flip_flops),
          row("DSP", "dsps", design.dsps, device.dsps),
          row("BRAM", "block_rams", design.block_rams, device.block_rams),
          row("URAM", "ultra_rams", design.ultra_rams, device.ultra_rams)};
}

}  // namespace kiln::hardware
