// Sums of steps in plain loops, which prediction is compared with, and small convolutions to do so.
#ifndef TESTS_TARGETS_BINARY_PREDICT_PLAIN_SUMS_H_
#define TESTS_TARGETS_BINARY_PREDICT_PLAIN_SUMS_H_

#include <cstdint>
#include <vector>

#include "kiln/targets/binary/predict/step_sums.h"

namespace kiln::binary {

struct PredictionCase {
  WindowShape shape;
  WeightFormat weight_format;
  ActivationFormat activation_format;
  std::vector<int32_t> weights, input;
  std::vector<int64_t> bias;

  StepSums Sums() const;
};

// Random weights, activations whose share `zeros` is zero, and biases in +-`bias`.
PredictionCase MakePredictionCase(const WindowShape& shape, const WeightFormat& weights,
                                  const ActivationFormat& activations, double zeros, int64_t bias,
                                  uint64_t seed);

// One output in plain loops.
struct PlainOutput {
  int64_t total = 0;                        // S, bias included
  std::vector<std::vector<int64_t>> terms;  // [plane][digit]: 2^p 16^q s_pq
  std::vector<std::vector<int64_t>> most;   // the greatest such sum for any digits of this range
  std::vector<std::vector<int64_t>> map;    // ... for digits with the sum that they have here
};
PlainOutput ComputePlainOutput(const PredictionCase& made, int64_t position, int64_t output);

}  // namespace kiln::binary

#endif  // TESTS_TARGETS_BINARY_PREDICT_PLAIN_SUMS_H_
