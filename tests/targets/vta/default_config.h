// The design point of the original's defaults, for tests.
#ifndef TESTS_TARGETS_VTA_DEFAULT_CONFIG_H_
#define TESTS_TARGETS_VTA_DEFAULT_CONFIG_H_

#include "kiln/targets/vta/config/config.h"

namespace kiln::vta {

inline const Config kConfig = *ParseOriginalConfig("{}", "default");

}  // namespace kiln::vta

#endif  // TESTS_TARGETS_VTA_DEFAULT_CONFIG_H_
