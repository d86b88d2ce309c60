// OpenSTA on a mapped design.
#ifndef KILN_HARDWARE_SYNTHESIS_TIMING_H_
#define KILN_HARDWARE_SYNTHESIS_TIMING_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "kiln/hardware/netlist_statistics.h"
#include "kiln/hardware/synthesis.h"
#include "kiln/support/status.h"

namespace kiln::hardware {

// What of a design is timed. OpenSTA takes a kilobyte and more for each cell of the flat design, and a vector unit of
// twelve equal stages has millions: in a design of more than kTimedCells, of the instances of a module that has more
// than kLeftOutCells and stands more than kTimedInstances times in another one, the first two (by name) and the last
// are timed, so that paths within one, from one to the next, and to both ends of a chain are. The others are black
// boxes.
inline constexpr int64_t kTimedCells = 1'000'000, kLeftOutCells = 10'000, kTimedInstances = 3;

// Modules whose instances are left out, and in which module: (the module around, the module). `statistics`: of the
// mapped design.
std::set<std::pair<std::string, std::string>> ModulesLeftOut(const NetlistStatistics& statistics,
                                                             const std::string& top);

// The Verilog netlist of one module, as Yosys writes it, with the instances of `modules` beyond those that are timed as
// instances of modules that are not there. `count` is raised by how many.
std::string LeaveInstancesOut(const std::string& netlist, const std::set<std::string>& modules,
                              int64_t* count);

struct TimingSetup {
  std::filesystem::path
      work;  // absolute; with netlist, cells and what is written here. OpenSTA runs in it
  std::string netlist, liberty;  // files, relative to it
  std::string top, clock;        // clock: a port, or none of that name
  double period_ns = 0;
  std::string
      driver;  // a cell, of all inputs; as all names here it is an identifier (hardware/tool_names.h)
  double load = 0;  // of all outputs, in the library's units
};
// The worst path. Error: OpenSTA's.
StatusOr<Timing> FindWorstPath(const TimingSetup& setup);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_SYNTHESIS_TIMING_H_
