// What a mapped module hands to the modules below it.
#ifndef KILN_HARDWARE_SYNTHESIS_INSTANCES_H_
#define KILN_HARDWARE_SYNTHESIS_INSTANCES_H_

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/support/status.h"

namespace kiln::hardware {

struct MappedInstance {
  std::string name, module;
  std::map<std::string, std::string>
      inputs;  // bits of ports, the highest first: 0, 1, or x for what is no constant
};

// Commands of Yosys that write the instances of these modules to a file and leave nothing else of the design; before,
// names for instances that have none in the source.
std::string NameInstances(const std::set<std::string>& modules);
std::string WriteInstances(const std::set<std::string>& modules, const std::string& file);
// What these wrote. Error: not such a file.
StatusOr<std::vector<MappedInstance>> ParseInstances(const std::string& text);

// Whether enough of an instance's inputs are constants for its module to be mapped with them.
bool HasManyConstants(const MappedInstance& instance);

// Places of instances in a netlist as Yosys writes it, which has them in lines "  \\module$0a1b  name (".
struct NetlistPlace {
  size_t at = 0;              // of the module's name, with its backslash
  std::string_view instance;  // its name, without one
};
std::vector<NetlistPlace> PlacesOf(std::string_view netlist, const std::string& module);

struct ReplacedInstance {
  std::string name, module,
      part;  // it is of `part` where the netlist says `module`; both names have a '$' in them
};
std::string ReplaceInstances(const std::string& netlist,
                             const std::vector<ReplacedInstance>& replaced);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_SYNTHESIS_INSTANCES_H_
