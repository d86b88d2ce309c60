// Counts of what the modules of rtl/dataflow consist of: registers, adders, multiplied bits. The
// area models and the energies of events use the same counts. Parameters have the modules' names.
#ifndef KILN_TARGETS_DATAFLOW_COST_MODULE_COUNTS_H_
#define KILN_TARGETS_DATAFLOW_COST_MODULE_COUNTS_H_

#include <cstdint>

namespace kiln::dataflow {

// kiln_dataflow_multiplier: `pack` products of one activation.
struct MultiplierCounts {
  int64_t pairs = 0;          // of multiplied bits
  int64_t register_bits = 0;  // weights and products, in all of their cycles
};
MultiplierCounts MultiplierCountsOf(int64_t in_bits, bool in_signed, int64_t weight_bits,
                                    int64_t pack);

// kiln_sum_tree and kiln_dataflow_max_tree.
struct TreeCounts {
  int64_t operator_bits = 0;  // of all adders or comparisons
  int64_t register_bits = 0;  // terms that are only delayed included
};
TreeCounts SumTreeCountsOf(int64_t terms, int64_t bits);
TreeCounts MaxTreeCountsOf(int64_t terms, int64_t bits);

// kiln_dataflow_scale: a lane of the requantisation by multiplication.
struct ScaleCounts {
  int64_t pairs = 0;
  int64_t register_bits = 0;
  int64_t scaled_bits = 0;  // of the sum of product and constant
};
ScaleCounts ScaleCountsOf(int64_t sum_bits, int64_t c_bits, int64_t out_bits,
                          int64_t multiplier_bits);

// kiln_dataflow_thresholds: a lane of the requantisation by thresholds.
struct ThresholdCounts {
  int64_t compared_bits = 0;
  int64_t register_bits = 0;
};
ThresholdCounts ThresholdCountsOf(int64_t sum_bits, int64_t threshold_bits, int64_t levels,
                                  int64_t words);

// Returns the number of digits 1 and -1 of a number in the signed binary notation that has the
// fewest of them: the terms of a multiplication by a constant.
int64_t SignedDigits(int64_t number);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_COST_MODULE_COUNTS_H_
