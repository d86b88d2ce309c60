#include "kiln/hardware/synthesis_parts.h"

#include <map>

#include "fmt/format.h"
#include "kiln/hardware/netlist_statistics.h"
#include "kiln/support/hash.h"

namespace kiln::hardware {
namespace {

class Cutter {
 public:
  Cutter(const RtlilDesign& design, const std::set<std::string>& black_boxes, const std::string& clock)
      : design_(design), clock_(clock) {
    for (const std::string& module : black_boxes) names_[module] = module;
  }

  // `modules` with boundaries of their own stand before those that use them.
  StatusOr<std::vector<MappingPart>> Cut(const std::vector<std::string>& modules, const std::set<std::string>& large,
                                         const std::string& top) {
    for (const std::string& module : modules) {
      if (!design_.contains(module)) return absl::InternalError("there is no module " + module + " to be mapped");
      MappingPart part{.name = "", .design = DesignOf(module), .large = large.contains(module)};
      part.name = module == top ? top : fmt::format("{}${:016x}", SourceName(module), StableHash(part.design));
      names_[module] = part.name;
      const auto [same, is_new] = places_.try_emplace(part.name, parts_.size());
      if (is_new) {
        parts_.push_back(std::move(part));
      } else if (parts_[same->second].design != part.design) {
        return absl::InternalError("two modules have the hash of " + part.name);
      }
    }
    return std::move(parts_);
  }

 private:
  // The module, what becomes part of it in the order in which it is met, and the rest as black boxes.
  std::string DesignOf(const std::string& module) const {
    std::vector<std::string> inside = {module};
    std::map<std::string, std::string> names = {{module, kPartModule}};
    std::map<std::string, std::string> boxes;  // by name in the netlist
    for (size_t i = 0; i < inside.size(); ++i) {
      for (const RtlilModule::Instance& instance : design_.at(inside[i]).instances) {
        const std::string& below = instance.module;
        if (const auto known = names_.find(below); known != names_.end()) {
          names[below] = known->second;
          boxes.emplace(known->second, below);
        } else if (names.try_emplace(below, fmt::format("inside${}", inside.size())).second) {
          inside.push_back(below);
        }
      }
    }
    std::string text;
    const auto name_of = [&names](const std::string& below) { return names.at(below); };
    for (const std::string& part : inside) text += ToRtlil(design_.at(part), names.at(part), name_of);
    for (const auto& [name, box] : boxes) text += BlackBox(design_.at(box), name, clock_);
    return text;
  }

  const RtlilDesign& design_;
  const std::string& clock_;
  std::map<std::string, std::string> names_;  // of modules that are done and of black boxes, in the netlist
  std::map<std::string, size_t> places_;      // of parts, by name
  std::vector<MappingPart> parts_;
};

}  // namespace

StatusOr<std::vector<MappingPart>> CutIntoParts(const RtlilDesign& design, const Boundaries& boundaries,
                                                const std::set<std::string>& black_boxes, const std::string& top,
                                                const std::string& clock) {
  std::vector<std::string> modules;
  for (const std::string& module : boundaries.kept) {
    if (!black_boxes.contains(module)) modules.push_back(module);
  }
  return Cutter(design, black_boxes, clock).Cut(modules, {boundaries.large.begin(), boundaries.large.end()}, top);
}

}  // namespace kiln::hardware
