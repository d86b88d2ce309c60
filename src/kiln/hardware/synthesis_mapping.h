// Yosys on the parts of a design: how each is mapped, and what it came to.
#ifndef KILN_HARDWARE_SYNTHESIS_MAPPING_H_
#define KILN_HARDWARE_SYNTHESIS_MAPPING_H_

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kiln/hardware/netlist_statistics.h"
#include "kiln/hardware/synthesis_instances.h"
#include "kiln/hardware/synthesis_parts.h"
#include "kiln/support/status.h"

namespace kiln::hardware {

// A script of Yosys' commands, which is kept as `folder`/`name`.ys, and what it prints as .log.
struct YosysRun {
  std::filesystem::path folder;
  std::string name, script;
  std::string inputs;  // what the outputs depend on beside the script: versions, hashes of files
  std::vector<std::filesystem::path> outputs;  // files
  std::string design;                          // that errors are about
};
// Does nothing where `folder`/`name`.done says that the outputs are of the same script and inputs. Error: Yosys' own
// first one.
Status RunYosys(const YosysRun& run);

// For standard cells. Files lie in the work folder; the clock's period in ns.
struct CellMapping {
  std::string liberty, constraints;
  double period_ns = 0;
};
// For an FPGA.
struct FpgaMapping {
  std::string family;  // as synth_xilinx names it
  std::string
      cells;  // its cells as FpgaCells() leaves them: reading that takes a sixth of the time that their sources do
};
std::string FpgaCells(const std::string& file);
// The commands that make cells of kPartModule. `is_top`: the whole design's top, which on an FPGA has pads.
std::string CellCommands(const CellMapping& mapping, bool large);
std::string FpgaCommands(const FpgaMapping& mapping, bool large, bool is_top);

struct PartsMapping {
  std::filesystem::path folder;  // where a part's files are; what is there already and still right is not done again
  std::string tools;             // what results depend on beside the commands: versions, the library
  std::string top;
  int jobs = 1;                                                  // runs of Yosys at once
  std::function<std::string(const MappingPart& part)> commands;  // from operators to cells
  // Told what begins, of how many so far known; from any thread; may be empty.
  std::function<void(const MappingPart& part, int64_t done, int64_t total)> started;
};
struct MappedParts {
  NetlistStatistics statistics;    // what the parts came to, by name
  std::vector<std::string> names;  // of all that have been mapped
  // Of a part, its instances that are of another part than its netlist says.
  std::map<std::string, std::vector<ReplacedInstance>> replaced;
};
// Each part, those without state as their instances need them: with constants where instances have them at a good share
// of their inputs (WithConstants), and not at all where there is no instance left. Results do not depend on `jobs`.
//   parts   each before those that have instances of it
StatusOr<MappedParts> MapParts(const std::vector<MappingPart>& parts, const PartsMapping& mapping);
// What parts come to as they stand, without any of their instances' constants.
StatusOr<NetlistStatistics> MapWhole(const std::vector<MappingPart>& parts, const PartsMapping& mapping);
// The netlist of a part, which is `folder`/<name>.v but for the instances that are replaced.
StatusOr<std::string> NetlistOf(const MappedParts& mapped, const std::string& part,
                                const std::filesystem::path& folder);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_SYNTHESIS_MAPPING_H_
