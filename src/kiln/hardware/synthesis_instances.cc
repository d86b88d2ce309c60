// Extracts the instances of a mapped module from Yosys' JSON, and edits instances in netlists.

#include "kiln/hardware/synthesis_instances.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "fmt/format.h"

namespace kiln::hardware {
namespace {

using Json = nlohmann::json;

// Returns a Yosys selection of all cells of these types.
std::string Selection(const std::set<std::string>& modules) {
  std::string selection;
  for (const std::string& module : modules) selection += " t:" + module;
  return selection;
}

// Returns the bits of a port in Yosys' JSON, MSB first. There the LSB is first; constants are
// strings, nets are numbers.
std::string BitsOf(const Json& connection) {
  std::string bits;
  for (auto bit = connection.rbegin(); bit != connection.rend(); ++bit) {
    const bool is_constant = *bit == "0" || *bit == "1";
    bits += is_constant ? bit->get<std::string>() : "x";
  }
  return bits;
}

}  // namespace

std::string NameInstances(const std::set<std::string>& modules) {
  if (modules.empty()) return "";
  return fmt::format("rename -enumerate -pattern instance%_{}\n", Selection(modules));
}

std::string WriteInstances(const std::set<std::string>& modules, const std::string& file) {
  if (modules.empty()) return "";
  return fmt::format("select -set instances{}\ndelete c:* @instances %d\nwrite_json {}\n",
                     Selection(modules), file);
}

StatusOr<std::vector<MappedInstance>> ParseInstances(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  const auto fault = [] {
    return absl::InternalError("Yosys' instances are not what `write_json` writes");
  };
  if (!json.is_object() || !json.contains("modules") || !json["modules"].is_object())
    return fault();
  std::vector<MappedInstance> instances;
  for (const auto& [module, contents] : json["modules"].items()) {
    // FPGA cells are accompanied by black boxes for their timing.
    if (contents.contains("attributes") && contents["attributes"].contains("blackbox")) continue;
    const Json cells = contents.value("cells", Json::object());
    for (const auto& [name, cell] : cells.items()) {
      MappedInstance instance;
      instance.name = name;
      instance.module = cell.value("type", "");
      const Json directions = cell.value("port_directions", Json::object());
      const Json connections = cell.value("connections", Json::object());
      for (const auto& [port, connection] : connections.items()) {
        if (!connection.is_array()) return fault();
        if (directions.value(port, "") == "input") instance.inputs[port] = BitsOf(connection);
      }
      if (instance.module.empty()) return fault();
      instances.push_back(std::move(instance));
    }
  }
  return instances;
}

// A sixteenth of the inputs: fewer constants do not repay a separate mapping run.
bool HasManyConstants(const MappedInstance& instance) {
  constexpr int64_t kShare = 16;
  int64_t bits = 0, constants = 0;
  for (const auto& [port, values] : instance.inputs) {
    bits += static_cast<int64_t>(values.size());
    constants +=
        std::count_if(values.begin(), values.end(), [](char value) { return value != 'x'; });
  }
  return constants > 0 && constants * kShare >= bits;
}

std::vector<NetlistPlace> PlacesOf(std::string_view netlist, const std::string& module) {
  std::vector<NetlistPlace> places;
  const std::string begin = fmt::format("\n  \\{} ", module);
  for (size_t at = netlist.find(begin); at != std::string_view::npos;
       at = netlist.find(begin, at + 1)) {
    size_t name = netlist.find_first_not_of(' ', at + begin.size());
    const size_t end = std::min(netlist.find(' ', name), netlist.size());
    if (netlist[name] == '\\') ++name;
    places.push_back({.at = at + 3, .instance = netlist.substr(name, end - name)});
  }
  return places;
}

std::string ReplaceInstances(const std::string& netlist,
                             const std::vector<ReplacedInstance>& replaced) {
  struct Change {
    size_t begin, end;
    const std::string* part;
  };
  // By module and instance.
  std::map<std::string, std::map<std::string_view, const std::string*>> parts;
  for (const ReplacedInstance& instance : replaced)
    parts[instance.module][instance.name] = &instance.part;
  std::vector<Change> changes;
  for (const auto& [module, instances] : parts) {
    for (const NetlistPlace& place : PlacesOf(netlist, module)) {
      const auto part = instances.find(place.instance);
      if (part != instances.end())
        changes.push_back({place.at + 1, place.at + 1 + module.size(), part->second});
    }
  }
  std::sort(changes.begin(), changes.end(),
            [](const Change& x, const Change& y) { return x.begin < y.begin; });
  std::string text;
  size_t at = 0;
  for (const Change& change : changes) {
    text.append(netlist, at, change.begin - at).append(*change.part);
    at = change.end;
  }
  return text.append(netlist, at);
}

}  // namespace kiln::hardware
