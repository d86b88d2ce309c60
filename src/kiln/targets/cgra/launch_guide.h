// Describes launches in the README of an emitted folder: the elements and tensors that each lane of
// the streams holds.
#ifndef KILN_TARGETS_CGRA_LAUNCH_GUIDE_H_
#define KILN_TARGETS_CGRA_LAUNCH_GUIDE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kiln/hardware/design_guide.h"
#include "kiln/targets/cgra/compile/network_program.h"

namespace kiln::cgra {

// A launch and its place in the sample, which holds its first `runs` runs.
struct HeldLaunch {
  int kernel = 0;  // index into NetworkProgram::lowered()
  const Launch* launch = nullptr;
  int64_t runs = 0;
  uint64_t offset = 0;  // of its first byte in the stream in
};

// The contents of files that the guide names.
struct LaunchFiles {
  std::string constants;  // hardware::kLaunchConstants: numbers of 32 bits. May be empty.
  std::string loads;      // hardware::kLaunchLoads: the beats that load each launch's configuration
};
// Adds all launches to a guide, with the places in the sample of those that it holds.
LaunchFiles DescribeLaunches(const NetworkProgram& program, const std::vector<HeldLaunch>& held,
                             hardware::DesignGuide* guide);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_LAUNCH_GUIDE_H_
