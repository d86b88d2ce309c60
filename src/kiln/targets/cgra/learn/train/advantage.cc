// Generalised advantage estimation.

#include <ranges>

#include "kiln/targets/cgra/learn/train/learner.h"

namespace kiln::cgra {

void GeneralisedAdvantages(double discount, double lambda, std::span<Sample> episode) {
  double next_value = 0, advantage = 0;
  for (Sample& sample : std::views::reverse(episode)) {
    const double surprise = sample.reward + discount * next_value - sample.value;
    advantage = surprise + discount * lambda * advantage;
    sample.advantage = advantage;
    sample.target = advantage + sample.value;
    next_value = sample.value;
  }
}

}  // namespace kiln::cgra
