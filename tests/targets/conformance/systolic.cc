#include "tests/targets/conformance/conformance.h"

KILN_CONFORMANCE(systolic,
                 {
                     .design_points = {"accelerators/systolic-int8-8x8.yaml", "accelerators/systolic-int8-16x16.yaml"},
                     .never = {},
                     .not_yet = {},
                 });
