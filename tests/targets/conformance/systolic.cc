#include "tests/targets/conformance/conformance.h"

// Weights in a format of their own leave no way for activations to stand as weights.
static const std::vector<kiln::conformance::Exception> kTwoFormats = {
    {"matmul.two_activations", "the array's weights have another format than its activations"},
    {"matmul.transposed_activations",
     "the array's weights have another format than its activations"},
    {"*attention*", "the array's weights have another format than its activations"}};

KILN_CONFORMANCE(
    systolic,
    {
        .design_points =
            {"accelerators/systolic-int8-8x8.yaml",
             "accelerators/systolic-int8-16x16.yaml",
             "accelerators/systolic-int8-8x8-one-bus.yaml",
             {"accelerators/systolic-int8-e4m3-8x8.yaml", "int8", "int8", 2, {}, "e4m3"},
             {"accelerators/systolic-mxint8-16x16.yaml", "mxint8", "mxint8", 1},
             {"accelerators/systolic-mxfp8_e4m3-16x16.yaml", "mxfp8_e4m3", "mxfp8_e4m3", 2},
             {"accelerators/systolic-e4m3-16x16.yaml", "e4m3", "e4m3", 2},
             {"accelerators/systolic-posit8_1-16x16.yaml", "posit8_1", "posit8_1", 2},
             {"accelerators/systolic-posit8_1-quire-16x16.yaml", "posit8_1", "posit8_1", 2},
             {"accelerators/systolic-bf16-16x16.yaml", "bf16", "bf16", 1},
             {"accelerators/systolic-nf4xint8-16x16.yaml", "int8", "nf4", 5, kTwoFormats},
             {"accelerators/systolic-nf4xbf16-16x16.yaml", "bf16", "nf4", 5, kTwoFormats},
             {"accelerators/systolic-binaryxint8-16x16.yaml", "int8", "binary", 25, kTwoFormats}},
        .never = {},
        .not_yet = {},
        .rtl_design_point = "tests/targets/conformance/systolic-tiny.yaml",
    });
