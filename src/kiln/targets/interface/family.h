// What a family hands to the registry: one function that reads a design point.
#ifndef KILN_TARGETS_INTERFACE_FAMILY_H_
#define KILN_TARGETS_INTERFACE_FAMILY_H_

#include <memory>
#include <string_view>

#include "kiln/targets/interface/accelerator.h"

namespace kiln {

// Reads a design point from YAML text; `source` is the file's name for messages. Every family defines
// kiln::<family>::ParseDesignPoint of this type and stands in kiln_family_list() of the build. A family that also reads
// another project's files (registry.cc) tells them by the ending of `source`.
using FamilyParser = StatusOr<std::unique_ptr<Accelerator>>(std::string_view yaml,
                                                            std::string_view source);

}  // namespace kiln

#endif  // KILN_TARGETS_INTERFACE_FAMILY_H_
