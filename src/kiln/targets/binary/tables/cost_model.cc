// Evaluates the cost of groups of weights in closed form.
#include "kiln/targets/binary/tables/cost_model.h"

#include "kiln/support/check.h"

namespace kiln::binary {

GroupCost CostOfGroup(int size, int64_t outputs, double k, Builder builder) {
  KILN_CHECK(size >= 1 && size <= kMaxGroup && outputs >= 1 && k >= 0);
  const auto n = static_cast<double>(outputs);
  return {static_cast<double>(BuildAdditions(builder, size)) / size, n / size,
          n * k * (HalfEntries(size) - 1) / size};
}

double Reduction(int size, double outputs, Builder builder) {
  return 1 - 1.0 / size - static_cast<double>(BuildAdditions(builder, size)) / (size * outputs);
}

double ReductionWithPrediction(int size, double outputs, double zeros, Builder builder) {
  return 1 - (1 - Reduction(size, outputs, builder)) * (1 - zeros / 2);
}

int BestGroup(int64_t outputs, double k, Builder builder, int largest) {
  // Compares the costs of whole groups crosswise, which is exact for k = 0.
  const auto group_cost = [&](int size) {
    return static_cast<double>(BuildAdditions(builder, size)) +
           static_cast<double>(outputs) * (1 + k * (HalfEntries(size) - 1));
  };
  int best = 1;
  for (int size = 2; size <= largest; ++size) {
    if (group_cost(size) * best < group_cost(best) * size) best = size;
  }
  return best;
}

std::vector<SwitchPoint> SwitchPoints(double k, int64_t limit, Builder builder) {
  std::vector<SwitchPoint> points;
  for (int64_t outputs = 1; outputs <= limit; ++outputs) {
    const int size = BestGroup(outputs, k, builder);
    if (points.empty() || points.back().size != size) points.push_back({outputs, size});
  }
  return points;
}

}  // namespace kiln::binary
