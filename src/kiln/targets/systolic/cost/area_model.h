// Area models of the modules of rtl/systolic: formulas of their parameters (hardware/area_model.h
// describes how).
#ifndef KILN_TARGETS_SYSTOLIC_COST_AREA_MODEL_H_
#define KILN_TARGETS_SYSTOLIC_COST_AREA_MODEL_H_

#include <string_view>
#include <vector>

#include "kiln/hardware/area_model.h"

namespace kiln::systolic {

using hardware::Feature;
using hardware::FittedModel;
using hardware::ModuleModel;
using hardware::ModuleParameters;

// Returns all models, in an order in which each uses only earlier models.
const std::vector<ModuleModel>& ModuleModels();
const std::vector<ModuleModel>&
VectorModels();  // the models of the vector unit's modules, which ModuleModels includes
const std::vector<FittedModel>& FittedModels();
inline hardware::AreaModels FamilyAreaModels() { return {ModuleModels(), FittedModels()}; }

// Returns hardware::ModuleArea with this family's models.
double ModuleArea(std::string_view module, const ModuleParameters& parameters,
                  const std::vector<FittedModel>& fitted = FittedModels());

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_COST_AREA_MODEL_H_
