#include "tests/targets/conformance/conformance.h"

KILN_CONFORMANCE(cgra, {
                           .design_points = {"accelerators/se-16.yaml", "accelerators/se-4.yaml"},
                           .never = {{"normalise.*", "lanes do not meet, and divide nothing"},
                                     {"network.attention", "a soft-max"}},
                           .rtl_design_point = "accelerators/se-4.yaml",
                           .has_memory = false,
                           .quantises_outputs = true,
                       });
