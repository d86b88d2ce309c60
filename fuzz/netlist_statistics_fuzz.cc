// Fuzz target: parses any bytes as the output of Yosys' `stat -json`. The result must be a one-line
// error, or modules with resources that can be summed up.
#include <cstddef>
#include <cstdint>
#include <string>

#include "fuzz/one_line.h"
#include "kiln/hardware/netlist_statistics.h"
#include "kiln/support/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace kiln::hardware;  // NOLINT: a program of one file
  const auto statistics = ParseStatistics(std::string(reinterpret_cast<const char*>(bytes), size));
  if (!statistics.ok()) {
    kiln::CheckOneLine(statistics.status());
    return 0;
  }
  KILN_CHECK(StatefulModules(*statistics).size() <= SequentialModules(*statistics).size());
  // A few sums of limited depth keep a case short.
  constexpr int kSums = 4, kDepth = 3;
  int sums = 0;
  for (const auto& [module, counts] : *statistics) {
    if (++sums > kSums) break;
    const auto sum =
        SumUnits(*statistics, module, kDepth, [](const std::string&) -> kiln::StatusOr<Resources> {
          return Resources{.area = 1, .cells = 1};
        });
    KILN_CHECK(sum.ok() && sum->resources.cells >= 0);
    KILN_CHECK(sum->resources.area == static_cast<double>(sum->resources.cells));
  }
  return 0;
}
