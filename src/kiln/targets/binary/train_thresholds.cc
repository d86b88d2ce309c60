// Collects sums, and picks thresholds from them.

#include "kiln/targets/binary/train_thresholds.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

TrainedThresholds ThresholdsIn(const NetworkProgram& program) {
  // Launches of a layer may have different tests; channels without one are never decided by it.
  constexpr double kNoTest = std::numeric_limits<double>::max();
  TrainedThresholds trained;
  for (size_t k = 0; k < program.launches().size(); ++k) {
    for (const Launch& launch : program.launches()[k]) {
      const BlockProgram& block = launch.program;
      for (size_t i = 0; i < block.stages.size(); ++i) {
        const StageProgram& stage = block.stages[i];
        const NetworkProgram::LayerScale& layer = program.layers()[k][i];
        const int64_t channels = stage.channels(block.config, static_cast<int>(i));
        // Several launches have parts of the only layer's channels each.
        const int64_t first = block.stages.size() == 1 ? launch.results[0].first_channel : 0;
        int64_t test = 0;
        for (size_t step = 0; step < stage.steps.size(); ++step) {
          if (!stage.steps[step].test) continue;
          std::vector<double>& values =
              trained[layer.result]
                  .try_emplace(static_cast<int>(step) + 1, layer.sums.size(), kNoTest)
                  .first->second;
          for (int64_t n = 0; n < channels && first + n < std::ssize(layer.sums); ++n) {
            const SumScale& scale = layer.sums[static_cast<size_t>(first + n)];
            const int64_t sum = stage.thresholds[static_cast<size_t>(test * channels + n)];
            // Half a sum below the threshold, so that rounding does not matter.
            const double value = (static_cast<double>(sum) - 0.5) * scale.factor + scale.offset;
            double& least = values[static_cast<size_t>(first + n)];
            least = std::min(least, value);
          }
          ++test;
        }
      }
    }
  }
  for (auto& [layer, tests] : trained) {
    for (auto& [steps, values] : tests) std::ranges::replace(values, kNoTest, -kNoTest);
  }
  return trained;
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
    // Sums below the threshold are decided: at most `may_be_wrong` outputs that are not low, and
    // never all of them.
    int64_t threshold = s.limits[static_cast<size_t>(channel)];
    if (!sums.above.empty()) threshold = sums.above[std::min(may_be_wrong, sums.above.size() - 1)];
    std::vector<int64_t> thresholds = s.thresholds;
    const int64_t channels = s.channels(program->launches()[k][l].program.config, stage);
    thresholds[static_cast<size_t>(test * channels + channel)] = threshold;
    program->SetThresholds(k, l, static_cast<size_t>(stage), std::move(thresholds));
  }
}

}  // namespace kiln::binary
