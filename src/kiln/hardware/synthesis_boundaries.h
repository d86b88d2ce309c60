// The division of a design into modules that are mapped separately: the first decision of a
// synthesis.
#ifndef KILN_HARDWARE_SYNTHESIS_BOUNDARIES_H_
#define KILN_HARDWARE_SYNTHESIS_BOUNDARIES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kiln/hardware/netlist_statistics.h"

namespace kiln::hardware {

// The decision for a design, made from the counts of `stat -width` before mapping.
struct Boundaries {
  // Modules that are mapped by themselves: the top, all sequential modules, and combinational
  // modules that are so large and used so often that merging them into their users would map more
  // than kCopiedGates repeatedly.
  std::vector<std::string> kept;
  // The kept modules with more than kLargeGates gates, merged modules included, and more than
  // kArithmeticGates gates in adders, multipliers and dividers. Arithmetic of that size overwhelms
  // a SAT solver; multiplexers do not.
  std::vector<std::string> large;
  // The kept modules that store no state (StatefulModules), without the top. Their outputs depend
  // only on their inputs, so that an instance with constant inputs needs less than the whole
  // module.
  std::vector<std::string> stateless = {};
  // The stateless modules that are kept because of an estimate of at most kDoubtfulGates. The
  // estimate may be far too high: a format of powers of two needs a hundredth of a decoder that is
  // written for all formats.
  std::vector<std::string> doubtful = {};
};
// Limits in gates, as GateEstimate counts them.
inline constexpr int64_t kCopiedGates = 2500, kLargeGates = 16'000, kArithmeticGates = 2000,
                         kDoubtfulGates = 5000;
// Decides for a design. `measured` holds known gate counts of modules, including everything below.
Boundaries FindBoundaries(const NetlistStatistics& statistics, const std::string& top,
                          const std::map<std::string, int64_t>& measured = {});

// Returns an estimate of the two-input gates of a Yosys operator, named as by `stat -width`:
// $add_32. Returns 0 for registers and memories.
int64_t GateEstimate(const std::string& cell);
// Returns GateEstimate for adders, multipliers and dividers, and 0 for other operators.
int64_t ArithmeticEstimate(const std::string& cell);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_SYNTHESIS_BOUNDARIES_H_
