// Parses Yosys' statistics, validates the module hierarchy, and sums resources over it.

#include "kiln/hardware/netlist_statistics.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "fmt/format.h"
#include "kiln/support/budgets.h"

namespace kiln::hardware {
namespace {

using Json = nlohmann::json;

// Returns a name of a cell type or module without the leading backslash.
std::string Plain(const std::string& name) {
  return name.starts_with('\\') ? name.substr(1) : name;
}

// Returns the lines of `text` that can belong to Yosys' JSON; drops the hierarchy tree between
// them.
std::string JsonLines(const std::string& text) {
  std::string json;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const size_t first = text.find_first_not_of(" \t\r", at);
    if (first < end && std::string_view("{}\"").find(text[first]) != std::string_view::npos) {
      json.append(text, at, end - at);
      json += '\n';
    }
    at = end + 1;
  }
  return json;
}

// The modules that come from one source module, with the number of instances of each.
using Group = std::map<std::string, int64_t>;

// Sums resources over the hierarchy. Every module is summed once and its total reused.
class Summation {
 public:
  using ResourcesOf = std::function<StatusOr<Resources>(const std::string&)>;
  Summation(const NetlistStatistics& statistics, const ResourcesOf& resources_of)
      : statistics_(statistics), resources_of_(resources_of) {}

  // Returns the unit of a group of modules with `depth` levels of parts.
  StatusOr<SynthesisedUnit> Unit(const std::string& name, const Group& modules, int depth) {
    SynthesisedUnit unit;
    unit.name = name;
    unit.instances = 0;
    std::map<std::string, Group> groups;
    for (const auto& [module, count] : modules) {
      KILN_ASSIGN_OR_RETURN(const Resources total, Total(module));
      unit.instances += count;
      unit.resources.Add(total, count);
      KILN_ASSIGN_OR_RETURN(const Resources own, Own(module));
      unit.own.Add(own, count);
      for (const auto& [cell, number] : statistics_.at(module).cells) {
        if (statistics_.contains(cell)) groups[SourceName(cell)][cell] += number * count;
      }
    }
    if (depth == 0) return unit;
    for (const auto& [part, group] : groups) {
      KILN_ASSIGN_OR_RETURN(SynthesisedUnit sum, Unit(part, group, depth - 1));
      unit.parts.push_back(std::move(sum));
    }
    const auto size = [](const SynthesisedUnit& u) {
      return std::make_pair(u.resources.area, u.resources.luts + u.resources.cells);
    };
    std::sort(unit.parts.begin(), unit.parts.end(),
              [&](const SynthesisedUnit& x, const SynthesisedUnit& y) {
                return size(x) != size(y) ? size(x) > size(y) : x.name < y.name;
              });
    return unit;
  }

 private:
  // Returns the resources of a module's own cells, without the modules inside it.
  StatusOr<Resources> Own(const std::string& module) {
    Resources sum;
    for (const auto& [cell, count] : statistics_.at(module).cells) {
      if (statistics_.contains(cell)) continue;
      KILN_ASSIGN_OR_RETURN(const Resources resources, resources_of_(cell));
      sum.Add(resources, count);
    }
    return sum;
  }

  // Returns the resources of a module with everything below it.
  StatusOr<Resources> Total(const std::string& module) {
    if (const auto known = totals_.find(module); known != totals_.end()) return known->second;
    KILN_ASSIGN_OR_RETURN(Resources sum, Own(module));
    for (const auto& [cell, count] : statistics_.at(module).cells) {
      if (!statistics_.contains(cell)) continue;
      KILN_ASSIGN_OR_RETURN(const Resources below, Total(cell));
      sum.Add(below, count);
    }
    return totals_[module] = sum;
  }

  const NetlistStatistics& statistics_;
  const ResourcesOf& resources_of_;
  std::map<std::string, Resources> totals_;
};

}  // namespace

namespace {

// The largest accepted number of cells and bits of a design, over all instances: sums remain exact
// in binary64.
constexpr int64_t kMostCells = int64_t{1} << 52;

// Returns an error about Yosys' statistics.
Status Faulty(const std::string& fault) {
  return ErrorAt("", "", "Yosys' statistics " + fault, "");
}

// Returns a count of 0 or more. Errors name its key.
StatusOr<int64_t> CountOf(const Json& value, const std::string& key) {
  if (value.is_number_unsigned() && value.get<uint64_t>() <= static_cast<uint64_t>(kMostCells)) {
    return value.get<int64_t>();
  }
  return Faulty("have a '" + key + "' that is not a count");
}

// Rejects hierarchies that cannot be summed: a module inside itself, too many levels, too many
// cells.
class HierarchyCheck {
 public:
  explicit HierarchyCheck(const NetlistStatistics& statistics) : statistics_(statistics) {}

  Status Run() {
    for (const auto& [module, counts] : statistics_)
      KILN_RETURN_IF_ERROR(Measure(module, 1).status());
    return OkStatus();
  }

 private:
  // The size of a module with everything below it.
  struct Size {
    int64_t cells = 0;  // cells and memory bits, at least 1; 0 while the module is being measured
    int64_t levels = 1;
  };

  // Measures a module depth first. A module whose size is still 0 is among its own ancestors.
  StatusOr<Size> Measure(const std::string& module, int depth) {
    if (const auto known = sizes_.find(module); known != sizes_.end()) {
      if (known->second.cells == 0) return Faulty("have the module " + module + " inside itself");
      return known->second;
    }
    if (depth > budgets::kNetlistDepth) return TooDeep();
    sizes_[module] = {};
    int64_t levels = 1;
    const ModuleStatistics& counts = statistics_.at(module);
    int64_t sum = std::max<int64_t>(counts.memory_bits, 1);
    for (const auto& [cell, count] : counts.cells) {
      int64_t each = 1;
      if (statistics_.contains(cell)) {
        KILN_ASSIGN_OR_RETURN(const Size size, Measure(cell, depth + 1));
        each = size.cells;
        levels = std::max(levels, size.levels + 1);
      }
      int64_t product = 0;
      if (__builtin_mul_overflow(each, count, &product) || product > kMostCells - sum) {
        return Faulty("have more cells below " + module + " than any design");
      }
      sum += product;
    }
    if (levels > budgets::kNetlistDepth) return TooDeep();
    return sizes_[module] = {.cells = sum, .levels = levels};
  }

  static Status TooDeep() {
    return Faulty(fmt::format("have modules inside modules too deeply: at most {} levels",
                              budgets::kNetlistDepth));
  }

  const NetlistStatistics& statistics_;
  std::map<std::string, Size> sizes_;
};

}  // namespace

StatusOr<NetlistStatistics> ParseStatistics(const std::string& text) {
  const Json json = Json::parse(JsonLines(text), nullptr, false);
  if (!json.is_object() || !json.contains("modules") || !json["modules"].is_object()) {
    return Faulty("are not what `stat -json` prints");
  }
  NetlistStatistics statistics;
  for (const auto& [name, counts] : json["modules"].items()) {
    ModuleStatistics& module = statistics[Plain(name)];
    if (!counts.is_object()) return Faulty("of the module " + name + " are not an object");
    if (const auto bits = counts.find("num_memory_bits"); bits != counts.end()) {
      KILN_ASSIGN_OR_RETURN(module.memory_bits, CountOf(*bits, "num_memory_bits"));
    }
    const auto cells = counts.find("num_cells_by_type");
    if (cells == counts.end()) continue;
    if (!cells->is_object())
      return Faulty("of the module " + name + " have cells that are not an object");
    for (const auto& [type, count] : cells->items()) {
      KILN_ASSIGN_OR_RETURN(module.cells[Plain(type)], CountOf(count, type));
    }
  }
  KILN_RETURN_IF_ERROR(HierarchyCheck(statistics).Run());
  return statistics;
}

std::string SourceName(const std::string& module) {
  if (!module.starts_with("$paramod")) return Plain(module.substr(0, module.find('$', 1)));
  const size_t begin = module.find('\\');
  if (begin == std::string::npos) return module;
  return module.substr(begin + 1, module.find('\\', begin + 1) - begin - 1);
}

bool KeepsState(const std::string& cell) {
  if (!cell.starts_with('$')) return false;
  for (const char* part : {"dff", "DFF", "latch", "LATCH", "$mem", "$sr", "$_SR", "$ff", "$_FF"}) {
    if (cell.find(part) != std::string::npos) return true;
  }
  return false;
}

namespace {

// Returns the modules for which `own` holds, or that contain a module for which it holds.
std::vector<std::string> ModulesWith(const NetlistStatistics& statistics,
                                     const std::function<bool(const ModuleStatistics&)>& own) {
  std::map<std::string, bool> known;
  const std::function<bool(const std::string&)> has_it = [&](const std::string& module) {
    if (const auto at = known.find(module); at != known.end()) return at->second;
    const ModuleStatistics& counts = statistics.at(module);
    bool has = own(counts);
    for (const auto& [cell, count] : counts.cells)
      has = has || (statistics.contains(cell) && has_it(cell));
    return known[module] = has;
  };
  std::vector<std::string> modules;
  for (const auto& [module, counts] : statistics) {
    if (has_it(module)) modules.push_back(module);
  }
  return modules;
}

// Returns whether a cell reads or initialises a memory. A memory with only such cells is a table.
bool IsOfATable(const std::string& cell) {
  return cell.starts_with("$memrd") || cell.starts_with("$meminit");
}

}  // namespace

std::vector<std::string> SequentialModules(const NetlistStatistics& statistics) {
  return ModulesWith(statistics, [](const ModuleStatistics& counts) {
    return counts.memory_bits > 0 ||
           std::any_of(counts.cells.begin(), counts.cells.end(),
                       [](const auto& cell) { return KeepsState(cell.first); });
  });
}

std::vector<std::string> StatefulModules(const NetlistStatistics& statistics) {
  return ModulesWith(statistics, [](const ModuleStatistics& counts) {
    return std::any_of(counts.cells.begin(), counts.cells.end(), [](const auto& cell) {
      return KeepsState(cell.first) && !IsOfATable(cell.first);
    });
  });
}

void Resources::Add(const Resources& other, int64_t times) {
  area += other.area * static_cast<double>(times);
  block_rams += other.block_rams * static_cast<double>(times);
  for (const auto member : {&Resources::cells, &Resources::flip_flops, &Resources::memory_bits,
                            &Resources::clock_gates, &Resources::luts, &Resources::lut_memories,
                            &Resources::carries, &Resources::dsps, &Resources::ultra_rams}) {
    this->*member += other.*member * times;
  }
  for (size_t i = 0; i < narrow_luts.size(); ++i) narrow_luts[i] += other.narrow_luts[i] * times;
}

StatusOr<SynthesisedUnit> SumUnits(
    const NetlistStatistics& statistics, const std::string& top, int depth,
    const std::function<StatusOr<Resources>(const std::string& cell)>& resources_of) {
  if (!statistics.contains(top))
    return absl::InternalError("Yosys' statistics have no module " + top);
  // Skips wrappers: a module with a single cell that is a module.
  std::string unit = top;
  for (;;) {
    const auto& cells = statistics.at(unit).cells;
    if (cells.size() != 1 || cells.begin()->second != 1 ||
        !statistics.contains(cells.begin()->first))
      break;
    unit = cells.begin()->first;
  }
  return Summation(statistics, resources_of).Unit(SourceName(unit), {{unit, 1}}, depth);
}

}  // namespace kiln::hardware
