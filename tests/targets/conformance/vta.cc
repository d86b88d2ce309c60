#include "tests/targets/conformance/conformance.h"

KILN_CONFORMANCE(vta,
                 {
                     .design_points = {"accelerators/vta-pynq.yaml", "accelerators/vta-zcu104.yaml",
                                       "accelerators/vta-batch-4.yaml"},
                     .never = {{"matmul.two_activations",
                                "weights come from memory packed in tiles of 8-bit codes"},
                               {"matmul.transposed_activations",
                                "weights come from memory packed in tiles of 8-bit codes"},
                               {"activation.sigmoid", "the ALU has MIN, MAX, ADD, SHR and MUL"},
                               {"activation.tanh", "the ALU has MIN, MAX, ADD, SHR and MUL"},
                               {"activation.gelu", "the ALU has MIN, MAX, ADD, SHR and MUL"},
                               {"activation.softplus", "the ALU has MIN, MAX, ADD, SHR and MUL"},
                               {"elementwise.exp", "the ALU has MIN, MAX, ADD, SHR and MUL"},
                               {"elementwise.erf", "the ALU has MIN, MAX, ADD, SHR and MUL"},
                               {"normalise.*", "the ALU has no division"},
                               {"reduce.mean_last_axis", "lanes of a tile do not meet"},
                               {"network.attention", "a product of two activations, soft-max"}},
                     .not_yet = {{"move.concat", "sums of 32 bits side by side in one block"}},
                     .rtl_design_point = "tests/targets/conformance/vta-tiny.yaml",
                 });
