// Describes launches in the README of an emitted folder: the channels and tensors that their
// records and results hold.
#ifndef KILN_TARGETS_BINARY_LAUNCH_GUIDE_H_
#define KILN_TARGETS_BINARY_LAUNCH_GUIDE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kiln/hardware/design_guide.h"
#include "kiln/targets/binary/compile/network_program.h"

namespace kiln::binary {

// A launch of the sample: its numbers in NetworkProgram::launches(), and its first byte in the
// stream in.
struct HeldLaunch {
  size_t kernel = 0, launch = 0;
  uint64_t offset = 0;
};

// Adds the launches to a guide.
void DescribeLaunches(const NetworkProgram& program, const std::vector<HeldLaunch>& held,
                      hardware::DesignGuide* guide);

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_LAUNCH_GUIDE_H_
