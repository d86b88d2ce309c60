// What of the outer memory is allocated, and whether loads and stores keep to it.
#ifndef KILN_TARGETS_VTA_LIVE_MEMORY_H_
#define KILN_TARGETS_VTA_LIVE_MEMORY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "kiln/targets/vta/config.h"
#include "kiln/targets/vta/isa.h"

namespace kiln::vta {

class LiveMemory {
 public:
  // A range [begin, begin + bytes). Ranges do not overlap.
  void Add(uint64_t begin, uint64_t bytes) { ranges_[begin] = begin + bytes; }

  // Whether each row of a load or store lies inside one range; rows may lie in several. What padding fills is on chip
  // and not looked at, nor are the gaps that a stride leaves. nullopt: it does; else the row that does not, and the
  // range before it. Takes as many steps as ranges are met, however many rows there are.
  std::optional<std::string> FindStray(const Instruction& instruction, const Config& config) const;

 private:
  std::map<uint64_t, uint64_t> ranges_;  // begin to end
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_LIVE_MEMORY_H_
