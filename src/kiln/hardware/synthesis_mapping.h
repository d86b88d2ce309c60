// Yosys on the parts of a design: how each is mapped, and what it came to.
#ifndef KILN_HARDWARE_SYNTHESIS_MAPPING_H_
#define KILN_HARDWARE_SYNTHESIS_MAPPING_H_

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/hardware/netlist_statistics.h"
#include "kiln/hardware/synthesis_instances.h"
#include "kiln/hardware/synthesis_parts.h"
#include "kiln/support/status.h"

namespace kiln::hardware {

// A script of Yosys' commands, which is kept as `work`/`name`.ys, and what it prints as .log. Yosys runs in `work`, and
// the script names files relative to it.
struct YosysRun {
  std::filesystem::path work;  // absolute
  std::string name, script;    // the name may have folders in front
  std::string inputs;  // what the outputs depend on beside the script: versions, hashes of files
  std::vector<std::string> outputs;  // files, relative to `work`
  std::string design;                // that errors are about
  std::filesystem::path sources;     // the folder that kSourcesLink stands for, for errors
};
// Below a work folder: a link to the folder with the design's sources, whose own name no script has to quote.
inline constexpr std::string_view kSourcesLink = "sources";
// Does nothing where `work`/`name`.done says that the outputs are of the same script and inputs. Error: Yosys' own
// first one.
Status RunYosys(const YosysRun& run);

struct PartsMapping {
  std::filesystem::path
      work;  // absolute, with a folder kPartsFolder that has the parts' files; what is there already
             // and still right is not done again
  std::string tools;  // what results depend on beside the commands: versions, the library
  std::string top;
  int jobs = 1;                                                  // runs of Yosys at once
  std::function<std::string(const MappingPart& part)> commands;  // from operators to cells
  // Told what begins, of how many so far known; from any thread; may be empty.
  std::function<void(const MappingPart& part, int64_t done, int64_t total)> started;
};
inline constexpr std::string_view kPartsFolder = "parts";
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
StatusOr<NetlistStatistics> MapWhole(const std::vector<MappingPart>& parts,
                                     const PartsMapping& mapping);
// The netlist of a part, which is <name>.v in the parts' folder but for the instances that are replaced.
StatusOr<std::string> NetlistOf(const MappedParts& mapped, const std::string& part,
                                const std::filesystem::path& work);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_SYNTHESIS_MAPPING_H_
