#include "tests/targets/conformance/conformance.h"

// Compilation is for the zoo of real networks first: what only moves data between layouts, or repeats operands, is left
// to the host.
KILN_CONFORMANCE(vta,
                 {
                     .design_points = {"accelerators/vta-pynq.yaml", "accelerators/vta-zcu104.yaml"},
                     .never = {{"matmul.two_activations", "weights come from memory packed in tiles of 8-bit codes"},
                               {"activation.sigmoid", "the ALU has MIN, MAX, ADD, SHR and MUL"},
                               {"activation.tanh", "the ALU has MIN, MAX, ADD, SHR and MUL"},
                               {"activation.gelu", "the ALU has MIN, MAX, ADD, SHR and MUL"},
                               {"activation.softplus", "the ALU has MIN, MAX, ADD, SHR and MUL"},
                               {"elementwise.exp", "the ALU has MIN, MAX, ADD, SHR and MUL"},
                               {"elementwise.erf", "the ALU has MIN, MAX, ADD, SHR and MUL"},
                               {"normalise.*", "the ALU has no division"},
                               {"reduce.mean_last_axis", "lanes of a tile do not meet"},
                               {"network.attention", "a product of two activations, soft-max"}},
                     .not_yet = {{"activation.hard_swish", "an input in two registers and a product"},
                                 {"elementwise.mul_channel_broadcast", "operands of one size"},
                                 {"elementwise.add_constant", "constants as operands"},
                                 {"pool.average_3x3_padded", "another divisor at the edge"},
                                 {"move.pad_channels", "padding in the layout of ONNX"},
                                 {"move.concat", "results side by side in one map"}},
                 });
