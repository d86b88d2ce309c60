// Collects sums, and picks thresholds from them.

#include "kiln/targets/binary/train_thresholds.h"

#include <algorithm>
#include <cmath>

namespace kiln::binary {
namespace {

int64_t Lowest(const NetworkProgram& program) {
  return -((int64_t{1} << (program.config().accumulator_bits - 1)) - 1);
}

}  // namespace

void DisableThresholds(NetworkProgram* program) {
  for (size_t k = 0; k < program->launches().size(); ++k) {
    for (size_t l = 0; l < program->launches()[k].size(); ++l) {
      const BlockProgram& block = program->launches()[k][l].program;
      for (size_t i = 0; i < block.stages.size(); ++i) {
        program->SetThresholds(
            k, l, i, std::vector<int64_t>(block.stages[i].thresholds.size(), Lowest(*program)));
      }
    }
  }
}

StatusOr<ThresholdTrainer> ThresholdTrainer::Collect(NetworkProgram* program, const Batch& images,
                                                     const RunOptions& options) {
  ThresholdTrainer trainer;
  DisableThresholds(program);
  NetworkCounts counts;
  KILN_RETURN_IF_ERROR(RunAndCount(*program, images, options, &counts,
                                   [&trainer](size_t kernel, size_t launch, int stage, int test,
                                              int64_t channel, int64_t sum, bool above) {
                                     Sums& sums =
                                         trainer.sums_[{kernel, launch, stage, test, channel}];
                                     ++sums.outputs;
                                     if (above) sums.above.push_back(sum);
                                   })
                           .status());
  for (auto& [key, sums] : trainer.sums_) std::ranges::sort(sums.above);
  return trainer;
}

void ThresholdTrainer::SetThresholds(double budget, NetworkProgram* program) const {
  DisableThresholds(program);
  for (const auto& [key, sums] : sums_) {
    const auto& [k, l, stage, test, channel] = key;
    const StageProgram& s = program->launches()[k][l].program.stages[static_cast<size_t>(stage)];
    const auto may_be_wrong = static_cast<size_t>(
        std::floor(budget * static_cast<double>(sums.outputs) / std::max(1, s.tests())));
    // Sums below the threshold are decided: at most `may_be_wrong` outputs that are not low.
    int64_t threshold = s.limits[static_cast<size_t>(channel)];
    if (may_be_wrong < sums.above.size()) threshold = sums.above[may_be_wrong];
    std::vector<int64_t> thresholds = s.thresholds;
    const int64_t channels = s.channels(program->launches()[k][l].program.config, stage);
    thresholds[static_cast<size_t>(test * channels + channel)] = threshold;
    program->SetThresholds(k, l, static_cast<size_t>(stage), std::move(thresholds));
  }
}

}  // namespace kiln::binary
