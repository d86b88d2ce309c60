// Which modules of a design are mapped on their own.
#ifndef KILN_HARDWARE_SYNTHESIS_BOUNDARIES_H_
#define KILN_HARDWARE_SYNTHESIS_BOUNDARIES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kiln/hardware/netlist_statistics.h"

namespace kiln::hardware {

// How synthesis goes about a design, from what `stat -width` counts before any mapping.
struct Boundaries {
  // Modules that are mapped on their own: the top, the sequential ones, and combinational ones that stand so often, and
  // are so large, that becoming part of the modules around them would have kCopiedGates mapped once more.
  std::vector<std::string> kept;
  // Of these the ones with more than kLargeGates in them, what becomes part of them included, and more than
  // kArithmeticGates of that in adders, multipliers and dividers: what a SAT solver is lost in. Multiplexers are not.
  std::vector<std::string> large;
  // And those that remember nothing (StatefulModules), the top left out: what comes out of them follows from what goes
  // in, so that an instance with constants at its inputs needs less than the whole module.
  std::vector<std::string> stateless = {};
  // Of the stateless ones those whose estimate, of at most kDoubtfulGates, decides that they are kept: of a decoder of
  // powers of two, which is a text for all formats, a hundredth is left.
  std::vector<std::string> doubtful = {};
};
// In gates as GateEstimate() counts them.
inline constexpr int64_t kCopiedGates = 2500, kLargeGates = 16'000, kArithmeticGates = 2000,
                         kDoubtfulGates = 5000;
//   measured   gates of modules that are known, all that is below included
Boundaries FindBoundaries(const NetlistStatistics& statistics, const std::string& top,
                          const std::map<std::string, int64_t>& measured = {});

// Roughly the gates with two inputs in one of Yosys' operators, named as `stat -width` does: $add_32. Registers and
// memories count for none.
int64_t GateEstimate(const std::string& cell);
// The same of adders, multipliers and dividers; of others 0.
int64_t ArithmeticEstimate(const std::string& cell);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_SYNTHESIS_BOUNDARIES_H_
