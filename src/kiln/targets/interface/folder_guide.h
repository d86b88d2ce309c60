// What the README.md of an emitted folder says alike for all families.
#ifndef KILN_TARGETS_INTERFACE_FOLDER_GUIDE_H_
#define KILN_TARGETS_INTERFACE_FOLDER_GUIDE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "kiln/hardware/design_guide.h"
#include "kiln/targets/interface/accelerator.h"

namespace kiln {

// What the sample of a machine with memory holds (DesignGuide::sample).
inline constexpr char kWholeNetworkSample[] =
    "The sample runs one input through the whole network. Results of the host's kernels, if there "
    "are any, come\nfrom the sample.";

// The most bytes of the sample of a machine whose network is many launches on streams; the first
// launches that fit are in it.
inline constexpr size_t kMostSampleBytes = size_t{4} << 20;
// Returns a paragraph that says that the sample of such a machine holds `held` of its launches, and
// whether the README describes all of them or these; empty without any.
std::string LaunchesInFolder(int64_t held, int64_t launches, bool describes_all);

// Returns the guide of a folder with its names, its figures and the kernels that the host computes;
// the family adds the rest.
hardware::DesignGuide GuideOf(std::string family, std::string design_point,
                              const FolderContent& content, const Program& program);

// Returns what a code means: "value = 0.5 * (code + 3)" for the zero point -3.
std::string CodeMeaning(float scale, int64_t zero_point);
// Returns the bounds of a value that are finite, as the end of what its codes or sums mean: ", at
// least 0, at most 6".
std::string BoundsMeaning(double low, double high);

}  // namespace kiln

#endif  // KILN_TARGETS_INTERFACE_FOLDER_GUIDE_H_
