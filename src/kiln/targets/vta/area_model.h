// Areas of the modules of rtl/vta as formulas of their parameters (hardware/area_model.h says how).
#ifndef KILN_TARGETS_VTA_AREA_MODEL_H_
#define KILN_TARGETS_VTA_AREA_MODEL_H_

#include "kiln/hardware/area_model.h"

namespace kiln::vta {

hardware::AreaModels FamilyAreaModels();

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_AREA_MODEL_H_
