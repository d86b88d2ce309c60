// Static timing of a mapped design by OpenSTA: the last step of a synthesis for standard cells.
//
// Very large designs are timed without most of their repeated instances, since OpenSTA flattens the
// whole design in memory.
#ifndef KILN_HARDWARE_SYNTHESIS_TIMING_H_
#define KILN_HARDWARE_SYNTHESIS_TIMING_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "kiln/hardware/liberty.h"
#include "kiln/hardware/netlist_statistics.h"
#include "kiln/hardware/synthesis.h"
#include "kiln/support/status.h"

namespace kiln::hardware {

// Limits of timing. OpenSTA needs a kilobyte or more per cell of the flat design, and a vector unit
// of twelve equal stages has millions of cells. In designs with more than kTimedCells, consider a
// module with more than kLeftOutCells that is instantiated more than kTimedInstances times in
// another module: only its first two instances (by name) and its last are timed. These cover the
// paths within one instance, from one to the next, and to both ends of a chain. The other instances
// are black boxes.
inline constexpr int64_t kTimedCells = 1'000'000, kLeftOutCells = 10'000, kTimedInstances = 3;

// Returns the modules with omitted instances as pairs (enclosing module, module). `statistics` are
// those of the mapped design.
std::set<std::pair<std::string, std::string>> ModulesLeftOut(const NetlistStatistics& statistics,
                                                             const std::string& top);

// Returns the netlist of one module, as Yosys wrote it, in which the omitted instances of `modules`
// are instances of modules that do not exist. Adds their number to `count`.
std::string LeaveInstancesOut(const std::string& netlist, const std::set<std::string>& modules,
                              int64_t* count);

// The input of timing. All names are identifiers (hardware/tool_names.h).
struct TimingSetup {
  // Absolute; contains the netlist and the library. OpenSTA runs in it and writes to it.
  std::filesystem::path work;
  std::string netlist, liberty;  // files, relative to it
  std::string memories;          // another library, or empty
  std::string top, clock;        // the top may lack a port with the clock's name
  double period_ns = 0;
  std::string driver;  // the cell that drives all inputs
  double load = 0;     // load of each output, in the library's units
  // The cells that gate clocks; null: none. An enable must be stable before the latch closes and,
  // behind the latch, before the clock rises. For an integrated cell the library says when.
  const ClockGate* clock_gate = nullptr;
};
// The number of paths among which the modules that are too slow are sought.
inline constexpr int kLatePaths = 10'000;
// Returns the worst path, and the modules with a cell on one of the worst kLatePaths paths that are
// too long. A path through the latch of a clock gate begins at the register before the latch. A
// path to a gate has at its end the net of a register behind the gate. Errors: OpenSTA's own.
StatusOr<Timing> FindWorstPath(const TimingSetup& setup);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_SYNTHESIS_TIMING_H_
