// The optima of the plain model in tests/data/dataflow/plain_model_optima.csv.
#ifndef KILN_TESTS_TARGETS_DATAFLOW_FOLD_OPTIMA_H_
#define KILN_TESTS_TARGETS_DATAFLOW_FOLD_OPTIMA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kiln/targets/dataflow/fold/plain_model.h"

namespace kiln::dataflow {

// One row: a network, a DSP limit, and the fold of least L_max, then least L_sum, then fewest DSPs.
struct PlainOptimum {
  std::string name;
  std::vector<PlainLayer> layers;
  int64_t dsp_limit = 0, l_max = 0, l_sum = 0, dsp_used = 0;
};

// Reads all rows.
std::vector<PlainOptimum> ReadPlainOptima();

}  // namespace kiln::dataflow

#endif  // KILN_TESTS_TARGETS_DATAFLOW_FOLD_OPTIMA_H_
