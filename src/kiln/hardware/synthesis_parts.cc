// Divides a design in RTLIL into parts and renames them by their contents.

#include "kiln/hardware/synthesis_parts.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "fmt/format.h"
#include "kiln/hardware/netlist_statistics.h"
#include "kiln/hardware/tool_names.h"
#include "kiln/support/check.h"
#include "kiln/support/hash.h"

namespace kiln::hardware {
namespace {

// Returns the name of a part. Escaped Verilog identifiers may contain any character, and the name
// becomes part of scripts: it is reduced to plain characters, and a hash makes it unique.
std::string NameOf(const std::string& module, const std::string& design) {
  return fmt::format("{}${:016x}", PlainName(SourceName(module)), StableHash(design));
}

// Returns a port's bits, some of which are constant, as an RTLIL signal: { \port [31:23]
// 23'00000000000000000000000 }
std::string SignalText(const std::string& port, const std::string& bits) {
  if (bits.size() == 1) return bits == "x" ? '\\' + port : fmt::format("1'{}", bits);
  std::string signal = "{";
  for (size_t begin = 0; begin < bits.size();) {
    const bool is_constant = bits[begin] != 'x';
    size_t end = begin + 1;
    while (end < bits.size() && (bits[end] != 'x') == is_constant) ++end;
    signal += is_constant
                  ? fmt::format(" {}'{}", end - begin, bits.substr(begin, end - begin))
                  : fmt::format(" \\{} [{}:{}]", port, bits.size() - 1 - begin, bits.size() - end);
    begin = end;
  }
  return signal + " }";
}

// Divides one design. Names and parts accumulate from module to module.
class Cutter {
 public:
  Cutter(const RtlilDesign& design, const std::set<std::string>& black_boxes,
         const std::string& clock)
      : design_(design), clock_(clock) {
    for (const std::string& module : black_boxes) names_[module] = module;
  }

  // Each of `modules` must precede those that use it.
  StatusOr<std::vector<MappingPart>> Cut(const std::vector<std::string>& modules,
                                         const std::set<std::string>& large,
                                         const std::set<std::string>& stateless,
                                         const std::string& top) {
    for (const std::string& module : modules) {
      if (!design_.contains(module))
        return absl::InternalError("there is no module " + module + " to be mapped");
      MappingPart part;
      part.design = DesignOf(module, &part.below);
      part.ports = design_.at(module).ports;
      part.large = large.contains(module);
      part.stateless = stateless.contains(module);
      part.name = module == top ? top : NameOf(module, part.design);
      names_[module] = part.name;
      const auto [same, is_new] = places_.try_emplace(part.name, parts_.size());
      if (is_new) {
        parts_.push_back(std::move(part));
      } else if (parts_[same->second].design != part.design) {
        return absl::InternalError("two modules have the hash of " + part.name);
      }
      parts_[same->second].modules.push_back(module);
    }
    return std::move(parts_);
  }

 private:
  // Returns the text of a part: the module, then the modules that become part of it in order of
  // occurrence, then the others as black boxes. Adds the names of these to `below`.
  std::string DesignOf(const std::string& module, std::set<std::string>* below) const {
    std::vector<std::string> inside = {module};
    std::map<std::string, std::string> names = {{module, kPartModule}};
    std::map<std::string, std::string> boxes;  // by their names in the netlist
    for (size_t i = 0; i < inside.size(); ++i) {
      for (const RtlilModule::Instance& instance : design_.at(inside[i]).instances) {
        const std::string& used = instance.module;
        if (const auto known = names_.find(used); known != names_.end()) {
          names[used] = known->second;
          boxes.emplace(known->second, used);
        } else if (names.try_emplace(used, fmt::format("inside${}", inside.size())).second) {
          inside.push_back(used);
        }
      }
    }
    std::string text;
    const auto name_of = [&names](const std::string& used) { return names.at(used); };
    for (const std::string& part : inside)
      text += ToRtlil(design_.at(part), names.at(part), name_of);
    for (const auto& [name, box] : boxes) {
      text += BlackBox(design_.at(box), name, clock_);
      below->insert(name);
    }
    return text;
  }

  const RtlilDesign& design_;
  const std::string& clock_;
  // Netlist names of black boxes and of the modules that have been processed.
  std::map<std::string, std::string> names_;
  std::map<std::string, size_t> places_;  // indices into parts_, by name
  std::vector<MappingPart> parts_;
};

}  // namespace

StatusOr<std::vector<MappingPart>> CutIntoParts(const RtlilDesign& design,
                                                const Boundaries& boundaries,
                                                const std::set<std::string>& black_boxes,
                                                const std::string& top, const std::string& clock) {
  std::vector<std::string> modules;
  for (const std::string& module : boundaries.kept) {
    if (!black_boxes.contains(module)) modules.push_back(module);
  }
  return Cutter(design, black_boxes, clock)
      .Cut(modules, {boundaries.large.begin(), boundaries.large.end()},
           {boundaries.stateless.begin(), boundaries.stateless.end()}, top);
}

MappingPart WithConstants(const MappingPart& part,
                          const std::map<std::string, std::string>& inputs) {
  // The module is renamed, and a new module with its old name and ports instantiates it with the
  // constants.
  constexpr std::string_view kWhole = "whole";
  const std::string head = fmt::format("module \\{}\n", kPartModule);
  const size_t at = part.design.find(head);
  KILN_CHECK(at != std::string::npos);
  std::string ports, connections;
  size_t bits_of_inputs = 0, constants = 0;
  for (const std::string& line : part.ports) {
    ports += fmt::format("  {}\n", line);
    const std::string port = line.substr(line.rfind(' ') + 2);  // without the backslash
    const auto bits = inputs.find(port);
    if (bits != inputs.end()) {
      bits_of_inputs += bits->second.size();
      constants += static_cast<size_t>(std::count_if(bits->second.begin(), bits->second.end(),
                                                     [](char bit) { return bit != 'x'; }));
    }
    connections += fmt::format("    connect \\{} {}\n", port,
                               bits == inputs.end() ? '\\' + port : SignalText(port, bits->second));
  }
  MappingPart result = part;
  result.design.replace(at, head.size(), fmt::format("module \\{}\n", kWhole));
  result.design +=
      fmt::format("{}{}  cell \\{} \\{}\n{}  end\nend\n", head, ports, kWhole, kWhole, connections);
  result.name = NameOf(part.name, result.design);
  // With half of its inputs constant, a quarter of a product remains, which is not large any more.
  result.large = part.large && 2 * constants < bits_of_inputs;
  return result;
}

}  // namespace kiln::hardware
