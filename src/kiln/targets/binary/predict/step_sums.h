// The sums of single steps, on which prediction is trained and measured.
//
// A convolution with weights of P planes and activations of Q digits (tables/planes.h) has P * Q
// steps. Step (p, q) adds 2^p 16^q s_pq, where s_pq is the sum of c_p d_q over the window:
//   scale * S = sum of 2^p 16^q s_pq + offset * sum of 16^q X_q + scale * bias
// X_q is the sum of digit q over the window. It is the same for all output channels, so it is known
// before the first step. All sums here are in units of scale * S.
#ifndef KILN_TARGETS_BINARY_PREDICT_STEP_SUMS_H_
#define KILN_TARGETS_BINARY_PREDICT_STEP_SUMS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/binary/tables/convolution.h"

namespace kiln::binary {

// A weight plane and an activation digit.
struct Step {
  int plane = 0;
  int digit = 0;
  bool operator==(const Step&) const = default;
};

// How far the sum of the steps that are left is bounded.
//   static  by the digits' range and the numbers of +1 and -1 weights of the channel, which are
//           known when the program is compiled
//   map     also by X_q of the window, where digits cannot be negative
enum class Bound { kStatic, kMap };

class StepSums {
 public:
  // Computes the sums of all steps by tables. `bias` has one value per output channel, in units of
  // S. Errors: as of TableConvolution::Create and Run; more than 2^28 sums.
  static StatusOr<StepSums> Create(const WindowShape& shape, const WeightFormat& weight_format,
                                   const ActivationFormat& activation_format,
                                   std::span<const int32_t> weights, std::span<const int32_t> input,
                                   std::span<const int64_t> bias);

  const WindowShape& shape() const { return shape_; }
  const WeightFormat& weights() const { return weights_; }
  const ActivationFormat& activations() const { return activations_; }
  int planes() const { return weights_.bits; }
  int digits() const { return activations_.digits(); }
  int steps() const { return planes() * digits(); }
  int64_t positions() const { return shape_.positions(); }
  int64_t outputs() const { return shape_.outputs; }

  // Returns the sum before the first step: bias and base.
  int64_t Start(int64_t position, int64_t output) const;
  // Returns what a step adds, 2^p 16^q s_pq.
  int64_t Term(Step step, int64_t position, int64_t output) const {
    return Weigh(step, sums_[Index(step, position, output)]);
  }
  // Returns the most and the least that a step can add.
  int64_t Highest(Step step, int64_t position, int64_t output, Bound bound) const;
  int64_t Lowest(Step step, int64_t output) const;
  // Returns the whole sum, scale * S.
  int64_t Total(int64_t position, int64_t output) const;

 private:
  static int64_t Weigh(Step step, int64_t sum) { return sum << (step.plane + 4 * step.digit); }
  size_t Index(Step step, int64_t position, int64_t output) const {
    return static_cast<size_t>(
        ((step.plane * digits() + step.digit) * positions() + position) * outputs() + output);
  }

  WindowShape shape_;
  WeightFormat weights_;
  ActivationFormat activations_;
  std::vector<int64_t> bias_;
  std::vector<int32_t> sums_;        // [plane][digit][position][output]: s_pq
  std::vector<int32_t> digit_sums_;  // [digit][position]: X_q
  std::vector<int64_t> positive_;    // [plane][output]: number of +1 weights
};

// Returns all steps from the most to the least significant; among equals, the higher digit first.
std::vector<Step> StepsBySignificance(const StepSums& sums);

// Returns whether `order` has each step once, after the step with the next higher plane of the same
// digit and the step with the next higher digit of the same plane.
bool IsValidOrder(const StepSums& sums, std::span<const Step> order);

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_PREDICT_STEP_SUMS_H_
