// The allocated ranges of external memory, and a check that loads and stores stay inside them. The
// runtime checks each stream before it runs.
#ifndef KILN_TARGETS_VTA_RUNTIME_LIVE_MEMORY_H_
#define KILN_TARGETS_VTA_RUNTIME_LIVE_MEMORY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "kiln/targets/vta/config/config.h"
#include "kiln/targets/vta/isa/isa.h"

namespace kiln::vta {

// A set of allocated ranges.
class LiveMemory {
 public:
  // Adds the range [begin, begin + bytes). Ranges must not overlap.
  void Add(uint64_t begin, uint64_t bytes) { ranges_[begin] = begin + bytes; }

  // Checks that each row of a load or store is inside one range; different rows may be in different
  // ranges. Padding, which is on chip only, and the gaps that a stride leaves are ignored. Returns
  // nullopt if all rows are inside, else a message with the first row that is not and the range
  // before it. The time depends on the number of ranges that the rows touch, not on the number of
  // rows.
  std::optional<std::string> FindStray(const Instruction& instruction, const Config& config) const;

 private:
  std::map<uint64_t, uint64_t> ranges_;  // begin to end
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_RUNTIME_LIVE_MEMORY_H_
