// What the families share in looking for the first cycles in which simulated hardware does something else than the
// cycle level says, and in telling a simulation what it needs for that.
#ifndef KILN_TARGETS_INTERFACE_DIFFERENCE_H_
#define KILN_TARGETS_INTERFACE_DIFFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "kiln/targets/interface/accelerator.h"

namespace kiln {

// The first place in which two lists differ; their lengths count.
std::optional<size_t> FirstDifferent(const std::vector<int64_t>& a, const std::vector<int64_t>& b);

struct CycleWindow {
  int64_t begin = 0, end = 0;
};
// Cycles to record around event `index` of a list of events by their cycles: from the last but one before it, since
// units work ahead, to its own at both levels, and what becomes of it in a memory of latency `latency`.
CycleWindow WindowAround(size_t index, const std::vector<int64_t>& expected,
                         const std::vector<int64_t>& actual, int64_t latency);

// Which cycles of a run to record; no file: none.
struct WaveOptions {
  std::filesystem::path file;  // FST
  CycleWindow window;
};

// What a built simulation is told on its command line (rtl/testbench/kiln_simulate_options.h): the memory behind its
// ports, where that is not the design point's ideal one, the seed, the limit of cycles; what to record.
std::vector<std::string> MemoryArguments(const RtlOptions& options, uint64_t seed);
std::vector<std::string> WaveArguments(const WaveOptions& wave);

}  // namespace kiln

#endif  // KILN_TARGETS_INTERFACE_DIFFERENCE_H_
