// Describes a program's memory image and its runs to the driver's folder.
#include "kiln/targets/systolic/emit/driver.h"

#include <span>

#include "kiln/hardware/driver_folder.h"
#include "kiln/targets/systolic/emit/emit.h"
#include "kiln/targets/systolic/isa/registers.h"

namespace kiln::systolic {

void AddDriverTo(const SystolicProgram& program, const hardware::SampleRun& sample,
                 hardware::RtlProject* project) {
  const ProgramImage image = ProgramImageOf(program);
  hardware::DriverExample example;
  example.image = {{"constants", program.constants_base(), program.constants()},
                   {"programs", image.base, image.bytes}};
  example.memory_bytes = image.memory_bytes + kPrefetchBytes;
  example.sample = sample;
  if (sample.empty()) {
    for (const uint64_t address : image.addresses) example.sample.Run(std::span(&address, 1));
  }
  hardware::AddDriver(Registers(), example, project);
}

}  // namespace kiln::systolic
