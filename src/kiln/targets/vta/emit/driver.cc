// Describes a vector's memory image and its launches to the driver's folder.

#include "kiln/targets/vta/emit/driver.h"

#include <array>

#include "kiln/hardware/driver_folder.h"
#include "kiln/targets/vta/isa/registers.h"

namespace kiln::vta {

void AddDriverTo(const ProgramVector& vector, const hardware::SampleRun& sample,
                 hardware::RtlProject* project) {
  hardware::DriverExample example;
  example.image = {{"constants and programs", vector.base, vector.before}};
  example.memory_bytes = vector.base + vector.before.size();
  example.sample = sample;
  if (sample.empty()) {
    for (const ProgramVector::Launch& launch : vector.launches)
      example.sample.Run(std::array<uint64_t, 2>{launch.address, launch.instructions});
  }
  hardware::AddDriver(Registers(), example, project);
}

}  // namespace kiln::vta
