// What Yosys' `stat` counts, and the units that it makes up.
#ifndef KILN_HARDWARE_NETLIST_STATISTICS_H_
#define KILN_HARDWARE_NETLIST_STATISTICS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kiln/support/status.h"

namespace kiln::hardware {

struct ModuleStatistics {
  int64_t memory_bits = 0;               // of memories that are not mapped yet
  std::map<std::string, int64_t> cells;  // by type; modules are types, too
};
// By module, names as Yosys makes them: \kiln_fifo as kiln_fifo, with parameters $paramod$<hash>\kiln_fifo.
using NetlistStatistics = std::map<std::string, ModuleStatistics>;

// The output of `stat -json`. Yosys 0.23 prints its tree of the hierarchy, which is no JSON, into the middle; it is
// left out. Errors: not such an output; a count that is negative or absurd; a module inside itself, or modules nested
// deeper than budgets::kNetlistDepth.
StatusOr<NetlistStatistics> ParseStatistics(const std::string& text);

// The module's name in its source: $paramod$<hash>\kiln_fifo, $paramod\kiln_fifo\WIDTH=... and kiln_fifo$<hash> (a
// MappingPart's) are kiln_fifo.
std::string SourceName(const std::string& module);

// Yosys' cells that keep something: $dff and its kin, latches, memories; and their gates.
bool KeepsState(const std::string& cell);

// Modules with registers, latches or memories (tables, too) in them or below. Others are combinational.
std::vector<std::string> SequentialModules(const NetlistStatistics& statistics);
// Of these the ones that remember something: tables do not, what comes out of them follows from what goes in.
std::vector<std::string> StatefulModules(const NetlistStatistics& statistics);

// What a cell counts for.
struct Resources {
  double area = 0;  // standard cells, in the library's units
  int64_t cells = 0, flip_flops = 0, memory_bits = 0;
  int64_t luts = 0, lut_memories = 0, carries = 0, dsps = 0,
          ultra_rams = 0;  // FPGA; lut_memories: LUTs as memory
  double block_rams = 0;   // FPGA, of 36 Kib

  void Add(const Resources& other, int64_t times);
};

struct SynthesisedUnit {
  std::string name;  // of its module, in the source
  int64_t instances = 1;
  Resources resources;  // of all instances, with all that is below
  std::vector<SynthesisedUnit>
      parts;      // modules inside, those of one name together; the largest first
  Resources own;  // what no part has
};

// Sums up a design from its top. `resources_of` gives what a cell that is no module counts for; its error ends the sum.
//   depth   levels of parts that are kept
// A module that does nothing but wrap another one is passed over.
StatusOr<SynthesisedUnit> SumUnits(
    const NetlistStatistics& statistics, const std::string& top, int depth,
    const std::function<StatusOr<Resources>(const std::string& cell)>& resources_of);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_NETLIST_STATISTICS_H_
