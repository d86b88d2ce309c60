// The folder driver/ of an emitted design: the C driver of the machine (rtl/driver), the header of
// its registers, and the example's data.
#ifndef KILN_HARDWARE_DRIVER_FOLDER_H_
#define KILN_HARDWARE_DRIVER_FOLDER_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kiln/hardware/register_map.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/hardware/sample_run.h"

namespace kiln::hardware {

// The folder in a project.
inline constexpr char kDriverFolder[] = "driver";

// The example that driver/main.c runs.
struct DriverExample {
  // What is in the machine's memory before the first step: constants and programs. `bytes` only
  // needs to live during the call.
  struct Part {
    std::string name;
    uint64_t address;
    std::span<const uint8_t> bytes;
  };
  std::vector<Part> image;
  uint64_t memory_bytes;  // that the machine needs, from its address 0 on
  // The steps, whose files are part of the project (sample_run.h). The words of a run are the
  // registers of ProgramControl::program, one number for each, those of two words, too.
  SampleRun sample;
};

// Adds the files of the driver to the project: those of rtl/driver, driver/kiln_registers.h,
// driver/kiln_sample.c, driver/kiln_sample_data.S, and driver/image.bin.
void AddDriver(const RegisterMap& map, const DriverExample& example, RtlProject* project);

// Adds only driver/kiln_registers.h, for a machine that runs no programs.
void AddRegisterHeader(const RegisterMap& map, RtlProject* project);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_DRIVER_FOLDER_H_
