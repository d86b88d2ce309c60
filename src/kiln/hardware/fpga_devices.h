// The FPGAs of fpga_devices.def, and whether a design fits one.
#ifndef KILN_HARDWARE_FPGA_DEVICES_H_
#define KILN_HARDWARE_FPGA_DEVICES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/hardware/netlist_statistics.h"
#include "kiln/support/status.h"

namespace kiln::hardware {

// A row of fpga_devices.def.
struct FpgaDevice {
  std::string_view part, family;
  int64_t luts, lut_memories, flip_flops, block_rams, ultra_rams, dsps;
};

// Returns all rows.
const std::vector<FpgaDevice>& FpgaDevices();
// Returns their parts, separated by commas.
std::string FpgaParts();
// Returns the row of a part, in capital or small letters. Error: an unknown part; the message names
// `place`, an option or a key, and lists the known parts.
StatusOr<const FpgaDevice*> FindFpgaDevice(std::string_view part, std::string_view place);

// How much of one kind of resource a design takes.
struct DeviceUse {
  std::string_view resource;  // the title of its column in reports
  std::string_view key;       // its name in JSON
  double used = 0;
  int64_t available = 0;
  bool fits() const { return used <= static_cast<double>(available); }
};

// Returns the least LUTs that hold the functions of a design. A LUT of these families has six
// inputs and two outputs: it holds two functions that have at most five inputs together, of four
// and one, three and two or fewer. (Functions with common inputs, which also could share a LUT, are
// not searched for.)
int64_t PackedLuts(const Resources& design);

// Compares a mapped design with a device, kind by kind. LUTs are PackedLuts and those that serve as
// memory together; the latter have a row of their own, too.
std::vector<DeviceUse> UseOf(const FpgaDevice& device, const Resources& design);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_FPGA_DEVICES_H_
