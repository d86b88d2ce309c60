// Folds of convolutions in the plain model, VDSR and ResNet-20.
#include "kiln/targets/dataflow/fold/plain_model.h"

#include <algorithm>

#include <fmt/format.h>

namespace kiln::dataflow {

std::vector<int> DivisorsOf(int number) {
  std::vector<int> divisors;
  for (int d = 1; static_cast<int64_t>(d) * d <= number; ++d) {
    if (number % d != 0) continue;
    divisors.push_back(d);
    if (d != number / d) divisors.push_back(number / d);
  }
  std::sort(divisors.begin(), divisors.end());
  return divisors;
}

Layer PlainFolds(const PlainLayer& layer) {
  Layer folds;
  folds.name = layer.name;
  const int64_t pixels = layer.height * layer.width;
  folds.operations = static_cast<double>(pixels) * layer.in_channels * layer.out_channels *
                     layer.kernel * layer.kernel;
  for (const int a : DivisorsOf(layer.in_channels)) {
    for (const int b : DivisorsOf(layer.out_channels)) {
      Candidate candidate;
      candidate.in_lanes = a;
      candidate.out_lanes = b;
      candidate.cycles = pixels * (layer.in_channels / a) * (layer.out_channels / b);
      candidate.resources[kDsp] = int64_t{layer.kernel} * layer.kernel * a * b;
      folds.candidates.push_back(candidate);
    }
  }
  return folds;
}

FoldProblem PlainChain(const std::vector<PlainLayer>& layers, int64_t dsp_limit) {
  FoldProblem problem;
  problem.limits[kDsp] = dsp_limit;
  for (const PlainLayer& layer : layers) {
    const auto index = static_cast<int>(problem.layers.size());
    problem.layers.push_back(PlainFolds(layer));
    if (index == 0) continue;
    Edge& edge = problem.edges.emplace_back();
    edge.from = index - 1;
    edge.to = index;
  }
  return problem;
}

std::vector<PlainLayer> VdsrLayers(int layers, int64_t size) {
  std::vector<PlainLayer> network;
  for (int l = 0; l < layers; ++l) {
    network.push_back(
        {fmt::format("conv{}", l + 1), size, size, l == 0 ? 3 : 64, l == layers - 1 ? 3 : 64, 3});
  }
  return network;
}

std::vector<PlainLayer> ResNet20Layers() {
  std::vector<PlainLayer> network = {{"conv1", 32, 32, 3, 16, 3}};
  constexpr int kBlocksOfStage = 3;
  int channels = 16;
  for (int stage = 0; stage < 3; ++stage) {
    const int64_t size = 32 >> stage;
    for (int layer = 0; layer < 2 * kBlocksOfStage; ++layer) {
      const int wider = stage > 0 && layer == 0 ? 2 * channels : channels;
      network.push_back(
          {fmt::format("conv{}_{}", stage + 2, layer + 1), size, size, channels, wider, 3});
      channels = wider;
    }
  }
  return network;
}

}  // namespace kiln::dataflow
