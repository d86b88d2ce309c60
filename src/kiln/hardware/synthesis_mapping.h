// Mapping of the parts of a design by runs of Yosys.
//
// Parts are mapped on several threads if requested, and results from earlier runs are reused if
// script, inputs and tools are the same. Yosys takes 2 s to read an FPGA's cells and mapping rules,
// but 0.2 s to map a small part with them: small parts may share a run.
#ifndef KILN_HARDWARE_SYNTHESIS_MAPPING_H_
#define KILN_HARDWARE_SYNTHESIS_MAPPING_H_

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/hardware/netlist_statistics.h"
#include "kiln/hardware/synthesis_instances.h"
#include "kiln/hardware/synthesis_parts.h"
#include "kiln/support/status.h"

namespace kiln::hardware {

// A script of Yosys commands. It is kept as `work`/`name`.ys, its output as `work`/`name`.log.
// Yosys runs in `work`, and the script names files relative to it.
struct YosysRun {
  std::filesystem::path work;        // absolute
  std::string name, script;          // the name may include folders
  std::string inputs;                // other inputs of the outputs: tool versions, source hashes
  std::vector<std::string> outputs;  // files, relative to `work`
  std::string design;                // the name of the design in errors
  std::filesystem::path sources;     // the folder that kSourcesLink points to, for errors
};
// A link in the work folder to the folder of the design's sources, so that scripts need not quote
// its name.
inline constexpr std::string_view kSourcesLink = "sources";
// Runs a script. Does nothing if `work`/`name`.done shows that the outputs come from the same
// script and inputs. Errors: Yosys' first error.
Status RunYosys(const YosysRun& run);

// The settings of mapping.
struct PartsMapping {
  // Absolute, with a folder kPartsFolder for the files of the parts. Valid results in it are
  // reused.
  std::filesystem::path work;
  std::string tools;  // versions of the tools and the library, on which results also depend
  std::string top;
  std::string suffix;  // of the files of the parts, for mappings of different kinds in one folder
  int jobs = 1;        // concurrent runs of Yosys
  // Returns the commands from operators to cells.
  std::function<std::string(const MappingPart& part, bool for_speed)> commands;
  // The same for all parts of a run that small parts share. Empty: each part has a run of its own.
  std::string shared_commands;
  std::set<std::string> for_speed;  // names of parts for which the clock comes before the area
  // Called when a run begins, with its first part and the total known so far; from any thread; may
  // be empty.
  std::function<void(const MappingPart& part, int64_t done, int64_t total)> started;
};
inline constexpr std::string_view kPartsFolder = "parts";
// The result of mapping.
struct MappedParts {
  NetlistStatistics statistics;    // statistics of the mapped parts, by name
  std::vector<std::string> names;  // names of all mapped parts
  // Their files without extension, relative to the work folder, by name.
  std::map<std::string, std::string> files;
  // By part: its instances whose module differs from the one in its netlist file.
  std::map<std::string, std::vector<ReplacedInstance>> replaced;
};
// Maps all parts, each of which precedes those that instantiate it. Stateless parts are mapped in
// the variants that their instances need: with constants, if a considerable share of an instance's
// inputs is constant (WithConstants), and not at all without instances. Results do not depend on
// `jobs`. They depend on the parts that share a run, whose names Yosys and ABC use to break ties:
// which ones these are follows from `parts` alone, and results are only reused for all of them.
StatusOr<MappedParts> MapParts(const std::vector<MappingPart>& parts, const PartsMapping& mapping);
// Maps parts as they are, without the constants of any instance, and returns their statistics.
StatusOr<NetlistStatistics> MapWhole(const std::vector<MappingPart>& parts,
                                     const PartsMapping& mapping);
// Returns the netlist of a part, with the replaced instances.
StatusOr<std::string> NetlistOf(const MappedParts& mapped, const std::string& part,
                                const std::filesystem::path& work);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_SYNTHESIS_MAPPING_H_
