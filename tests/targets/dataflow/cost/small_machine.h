// A machine whose modules and events can be counted by hand: a convolution, a maximum pool and a
// fully connected layer.
#ifndef KILN_TESTS_TARGETS_DATAFLOW_COST_SMALL_MACHINE_H_
#define KILN_TESTS_TARGETS_DATAFLOW_COST_SMALL_MACHINE_H_

#include "kiln/targets/dataflow/isa/pipeline.h"

namespace kiln::dataflow {

// 6x6 pixels of 4 channels in words of 2 lanes, int8.
//   conv   3x3, 8 channels by 4 elements that share multipliers by twos: 2 passes of 2 words
//   pool   2x2, stride 2, words of 4 lanes
//   dense  72 to 4 channels by 2 elements, weights of 4 bits in a block memory, thresholds: 2
//          passes of 18 words, results of 2 words
// Channel 1 is in a memory of 5 words; the others are registers of 8, 2 and 4 words.
Pipeline SmallMachine();

}  // namespace kiln::dataflow

#endif  // KILN_TESTS_TARGETS_DATAFLOW_COST_SMALL_MACHINE_H_
