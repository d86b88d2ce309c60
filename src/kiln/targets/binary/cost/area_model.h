// The area models of the modules of rtl/binary, and of the queues and registers around them:
// formulas of their parameters, as hardware/area_model.h describes.
#ifndef KILN_TARGETS_BINARY_COST_AREA_MODEL_H_
#define KILN_TARGETS_BINARY_COST_AREA_MODEL_H_

#include "kiln/hardware/area_model.h"

namespace kiln::binary {

// Returns the models and their fitted coefficients (um2 at 180 nm).
hardware::AreaModels FamilyAreaModels();

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_COST_AREA_MODEL_H_
