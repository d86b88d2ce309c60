// The cell counts of Yosys' `stat` command, and resources summed over the module hierarchy.
//
// Counts are used twice: before mapping to choose the module boundaries (synthesis_boundaries.h),
// and after mapping for the report.
#ifndef KILN_HARDWARE_NETLIST_STATISTICS_H_
#define KILN_HARDWARE_NETLIST_STATISTICS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kiln/support/status.h"

namespace kiln::hardware {

// The counts of one module, without the modules inside it.
struct ModuleStatistics {
  int64_t memory_bits = 0;               // bits of memories that have not been mapped
  std::map<std::string, int64_t> cells;  // by type; instances of modules are counted like cells
};
// Statistics by module name as Yosys writes it: \kiln_fifo is kiln_fifo; with parameters it is
// $paramod$<hash>\kiln_fifo.
using NetlistStatistics = std::map<std::string, ModuleStatistics>;

// Parses the output of `stat -json`. Yosys 0.23 prints the hierarchy tree, which is not JSON, into
// the middle; it is skipped. Errors: text that is not such an output; a negative or absurd count; a
// module inside itself; modules nested deeper than budgets::kNetlistDepth.
StatusOr<NetlistStatistics> ParseStatistics(const std::string& text);

// Returns the name of a module in its source: $paramod$<hash>\kiln_fifo,
// $paramod\kiln_fifo\WIDTH=... and kiln_fifo$<hash> (a MappingPart) are kiln_fifo.
std::string SourceName(const std::string& module);

// Returns whether a Yosys cell stores state: flip-flops ($dff and similar), latches, memories, and
// their gate-level counterparts.
bool KeepsState(const std::string& cell);

// Returns the modules that contain registers, latches or memories, tables included, at any depth.
// All others are combinational.
std::vector<std::string> SequentialModules(const NetlistStatistics& statistics);
// Returns the sequential modules that store state. A table does not: its output depends only on its
// input.
std::vector<std::string> StatefulModules(const NetlistStatistics& statistics);

// The resources of a cell or of a set of cells.
struct Resources {
  double area = 0;  // standard cells, in the library's units
  int64_t cells = 0, flip_flops = 0, memory_bits = 0;
  int64_t clock_gates = 0;  // standard cells, with SynthesisOptions::clock_gating
  // FPGA only; lut_memories are LUTs that serve as memory. luts counts functions of one output,
  // narrow_luts of these the ones that have 1, 2, 3 and 4 inputs.
  int64_t luts = 0, lut_memories = 0, carries = 0, dsps = 0, ultra_rams = 0;
  std::array<int64_t, 4> narrow_luts = {};
  double block_rams = 0;  // FPGA only, in units of 36 Kib

  // Adds `times` the resources of `other`.
  void Add(const Resources& other, int64_t times);
};

// A unit of the report: all instances of a source module in one place of the hierarchy.
struct SynthesisedUnit {
  std::string name;  // name of the module in the source
  int64_t instances = 1;
  Resources resources;  // of all instances, including the modules inside
  // The modules inside, one entry per source module, sorted by decreasing size.
  std::vector<SynthesisedUnit> parts;
  Resources own;  // of all instances, without the modules inside
};

// Sums up a design from its top module, with `depth` levels of parts. `resources_of` returns the
// resources of a cell that is not a module; its error ends the sum. Modules that only wrap another
// module are skipped.
StatusOr<SynthesisedUnit> SumUnits(
    const NetlistStatistics& statistics, const std::string& top, int depth,
    const std::function<StatusOr<Resources>(const std::string& cell)>& resources_of);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_NETLIST_STATISTICS_H_
