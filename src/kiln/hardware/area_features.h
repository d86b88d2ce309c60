// What the families' functions of features (ModuleModel::features) are written with.
#ifndef KILN_HARDWARE_AREA_FEATURES_H_
#define KILN_HARDWARE_AREA_FEATURES_H_

#include <cstdint>
#include <vector>

#include "kiln/hardware/area_model.h"

namespace kiln::hardware {

using Features = std::vector<Feature>;
using Fits = std::vector<FittedModel>;

// ModuleModel::applies of a model that covers all parameters.
inline bool Always(const ModuleParameters&) { return true; }

// Returns a count as a Feature has it: `n`, or `n` where a condition holds and else 0.
inline double Real(int64_t n) { return static_cast<double>(n); }
inline double RealIf(bool condition, int64_t n) { return condition ? Real(n) : 0; }

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_AREA_FEATURES_H_
