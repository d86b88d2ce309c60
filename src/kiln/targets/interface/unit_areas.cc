// Applies the fitted models of modules and the memory model to the units of a machine.
#include "kiln/targets/interface/unit_areas.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/hardware/energy.h"
#include "kiln/hardware/technology.h"

namespace kiln {

namespace {
using hardware::FittedModel;
using hardware::ModuleModel;

Status CheckNode(int node_nm) {
  if (hardware::IsTechnologyNode(node_nm)) return OkStatus();
  std::string nodes;
  for (const int node : hardware::TechnologyNodes())
    nodes += (nodes.empty() ? "" : ", ") + std::to_string(node);
  return ErrorAt("", fmt::format("node of {} nm", node_nm),
                 "is not in the tables that areas and energies are scaled by", nodes);
}

std::string EnergySource() {
  return fmt::format("{}; {}", hardware::kEnergySource, hardware::kScalingSource);
}

}  // namespace

StatusOr<Cost> CostAt(int node_nm) {
  KILN_RETURN_IF_ERROR(CheckNode(node_nm));
  Cost cost;
  cost.node_nm = node_nm;
  cost.source = EnergySource();
  return cost;
}

StatusOr<Energy> EnergyAt(int node_nm) {
  KILN_RETURN_IF_ERROR(CheckNode(node_nm));
  Energy energy;
  energy.node_nm = node_nm;
  energy.source = EnergySource();
  return energy;
}

int64_t MemoryBitsOf(const std::vector<UnitParts>& units) {
  int64_t bits = 0;
  for (const UnitParts& unit : units) {
    for (const MemoryInstances& memories : unit.memories) bits += memories.count * memories.bits;
  }
  return bits;
}

void AddAreas(const std::vector<UnitParts>& units, const hardware::AreaModels& models, Cost* cost) {
  const double scale = hardware::AreaScale(hardware::kAreaNode, cost->node_nm);
  double logic = 0, checked_logic = 0, area = 0, error = 0;
  std::set<std::string> missing, unchecked;
  for (const UnitParts& parts : units) {
    UnitArea unit{.unit = parts.unit};
    for (const ModuleInstances& module : parts.modules) {
      const ModuleModel* model = FindModuleModel(models.models, module.module, module.parameters);
      const FittedModel* fitted = model == nullptr ? nullptr : FindFit(*model, models.fitted);
      if (fitted == nullptr) {
        missing.emplace(model == nullptr ? module.module : model->name);
        continue;
      }
      const double modules =
          ModuleArea(models, module.module, module.parameters) * static_cast<double>(module.count);
      unit.logic += modules * scale;
      logic += modules;
      if (fitted->check.points == 0) {
        unchecked.emplace(model->name);
        continue;
      }
      checked_logic += modules;
      error += fitted->check.mean * modules;
      if (fitted->check.worst > cost->area_error_worst) {
        cost->area_error_worst = fitted->check.worst;
        cost->area_error_worst_model = model->name;
      }
    }
    for (const MemoryInstances& memories : parts.memories) {
      unit.memory +=
          hardware::MemoryArea(memories.bits, cost->node_nm) * static_cast<double>(memories.count);
      unit.memory_bits += memories.count * memories.bits;
    }
    area += unit.total();
    cost->units.push_back(std::move(unit));
  }
  cost->source = fmt::format("{}; memories after OpenRAM's sky130 macros; {}",
                             hardware::kAreaSource, cost->source);
  cost->area_square_micrometres = area;
  cost->gate_equivalents = logic / hardware::kGateArea;
  cost->area_error = checked_logic > 0 ? error / checked_logic : 0;
  cost->area_checked_share = logic > 0 ? checked_logic / logic : 0;
  cost->missing.assign(missing.begin(), missing.end());
  if (!unchecked.empty()) {
    cost->notes.push_back(fmt::format(
        "{:.0f} % of the logic by models that no synthesis kept out of the fit checks: {}",
        100 * (1 - checked_logic / logic), fmt::join(unchecked, ", ")));
  }
}

}  // namespace kiln
