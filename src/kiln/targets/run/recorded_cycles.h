// Which cycles of a simulation are recorded.
#ifndef KILN_TARGETS_RUN_RECORDED_CYCLES_H_
#define KILN_TARGETS_RUN_RECORDED_CYCLES_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kiln {

// Cycles [begin, end] of a run to record to a file (FST); none without a file.
struct RecordedCycles {
  std::filesystem::path file;
  int64_t begin = 0, end = 0;

  // Appends the testbench's options (rtl/testbench/kiln_simulate_options.h).
  void AppendTo(std::vector<std::string>* arguments) const {
    if (file.empty()) return;
    arguments->insert(arguments->end(), {"--wave", file.string(), "--wave-from",
                                         std::to_string(begin), "--wave-to", std::to_string(end)});
  }
};

}  // namespace kiln

#endif  // KILN_TARGETS_RUN_RECORDED_CYCLES_H_
