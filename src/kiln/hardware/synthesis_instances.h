// The instances in a mapped module, with the constants at their inputs. Used to map stateless
// modules for the constants that their instances receive.
#ifndef KILN_HARDWARE_SYNTHESIS_INSTANCES_H_
#define KILN_HARDWARE_SYNTHESIS_INSTANCES_H_

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/support/status.h"

namespace kiln::hardware {

// An instance of a module in a mapped part.
struct MappedInstance {
  std::string name, module;
  // The bits of its input ports, MSB first: 0, 1, or x for a bit that is not constant.
  std::map<std::string, std::string> inputs;
};

// Return Yosys commands: NameInstances names the instances of these modules that have no name in
// the source; WriteInstances writes all of them to a file and deletes the rest of the design.
std::string NameInstances(const std::set<std::string>& modules);
std::string WriteInstances(const std::set<std::string>& modules, const std::string& file);
// Parses the file that WriteInstances wrote. Error: text that is not such a file.
StatusOr<std::vector<MappedInstance>> ParseInstances(const std::string& text);

// Returns whether enough inputs of an instance are constant for a separate mapping to pay off.
bool HasManyConstants(const MappedInstance& instance);

// The position of an instance in a netlist of Yosys. It begins a line "  \\module$0a1b name (".
struct NetlistPlace {
  size_t at = 0;              // offset of the module's name, with its backslash
  std::string_view instance;  // name of the instance, without a backslash
};
// Returns the positions of all instances of a module.
std::vector<NetlistPlace> PlacesOf(std::string_view netlist, const std::string& module);

// An instance that becomes an instance of `part` where the netlist has `module`. Both names contain
// a '$'.
struct ReplacedInstance {
  std::string name, module, part;
};
// Returns the netlist with the modules of these instances replaced.
std::string ReplaceInstances(const std::string& netlist,
                             const std::vector<ReplacedInstance>& replaced);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_SYNTHESIS_INSTANCES_H_
