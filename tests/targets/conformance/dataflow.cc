#include "tests/targets/conformance/conformance.h"

KILN_CONFORMANCE(
    dataflow,
    {
        .design_points = {"accelerators/dataflow-zcu104.yaml", "accelerators/dataflow-small.yaml"},
        .never = {{"matmul.two_activations", "weights are constants of the hardware"},
                  {"matmul.transposed_activations", "weights are constants of the hardware"},
                  {"elementwise.mul*", "stages multiply by constants"},
                  {"elementwise.max", "stages add and concatenate two maps, nothing else"},
                  {"elementwise.add_constant", "constants are per channel, not per pixel"},
                  {"pool.average_3x3_padded", "all windows of a layer have one divisor"},
                  {"move.transpose*", "the host sends and receives words in any order"},
                  {"move.reshape", "the host sends and receives words in any order"},
                  {"move.slice_step_2", "no stage drops the first words of a map"},
                  {"normalise.*", "no stage divides by what it computes"},
                  {"reduce.mean_last_axis", "lanes of a word do not meet"},
                  {"network.squeeze_and_excite", "stages multiply by constants"},
                  {"network.attention", "a product of two activations, soft-max"}},
        .rtl_design_point = "accelerators/dataflow-small.yaml",
        .has_memory = false,
        .simulates_one_in = 9,
    });
