// Thresholds of prediction, trained on data: a threshold for each output channel, so that at most a
// given share of its outputs is wrong, as in SnaPEA (Akhlaghi et al., ISCA 2018).
#ifndef KILN_TARGETS_BINARY_TRAIN_THRESHOLDS_H_
#define KILN_TARGETS_BINARY_TRAIN_THRESHOLDS_H_

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/binary/compile/trained_thresholds.h"
#include "kiln/targets/binary/run_network.h"

namespace kiln::binary {

class ThresholdTrainer {
 public:
  // Runs the images without prediction and keeps the sums of outputs at their tests. The program
  // must have tests, so be compiled with a prediction.
  //   errors  the errors of RunNetwork
  static StatusOr<ThresholdTrainer> Collect(NetworkProgram* program, const Batch& images,
                                            const RunOptions& options);

  // Sets all thresholds of the program that was observed: each the greatest with which, on the
  // images, at most the share `budget` of the channel's outputs is wrongly decided, divided equally
  // among the tests of a stage, and not every output above the low bound. A channel without outputs
  // above the low bound has the limit of its results (StageProgram::limits).
  void SetThresholds(double budget, NetworkProgram* program) const;

 private:
  // Of a channel of a launch's stage at a test: the sums of outputs above the low bound, ascending,
  // and the number of all outputs.
  struct Sums {
    std::vector<int64_t> above;
    int64_t outputs = 0;
  };
  using Key = std::tuple<size_t, size_t, int, int, int64_t>;  // as NetworkObserver has them
  std::map<Key, Sums> sums_;
};

// Returns the thresholds of a program's tests, as a model carries them. Where the strips of a map
// have thresholds of their own, the least one, which decides the least.
TrainedThresholds ThresholdsIn(const NetworkProgram& program);

// Sets all thresholds of a program to a value that decides nothing.
void DisableThresholds(NetworkProgram* program);

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_TRAIN_THRESHOLDS_H_
