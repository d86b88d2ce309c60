// Areas of the modules of rtl/systolic as formulas of their parameters (hardware/area_model.h says how).
#ifndef KILN_TARGETS_SYSTOLIC_AREA_MODEL_H_
#define KILN_TARGETS_SYSTOLIC_AREA_MODEL_H_

#include <string_view>
#include <vector>

#include "kiln/hardware/area_model.h"

namespace kiln::systolic {

using hardware::Feature;
using hardware::FittedModel;
using hardware::ModuleModel;
using hardware::ModuleParameters;

// In an order in which each uses only models before it.
const std::vector<ModuleModel>& ModuleModels();
const std::vector<ModuleModel>&
VectorModels();  // those of the vector unit's modules, which stand among them
const std::vector<FittedModel>& FittedModels();
inline hardware::AreaModels FamilyAreaModels() { return {ModuleModels(), FittedModels()}; }

// hardware::ModuleArea of this family's models.
double ModuleArea(std::string_view module, const ModuleParameters& parameters,
                  const std::vector<FittedModel>& fitted = FittedModels());

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_AREA_MODEL_H_
