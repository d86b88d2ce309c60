// The plain model of a convolution stage, and networks of it, for tests, benchmarks and as an
// example of how to state a folding problem.
//
// A convolution of Ci to Co channels with a K x K window and an output map of H x W pixels may read
// a channels per word and write b, for all divisors a of Ci and b of Co. It takes
// H * W * (Ci/a) * (Co/b) cycles per frame and K * K * a * b DSP slices. The next layer's a must be
// a multiple of b. Memory, LUTs and latency do not count.
//
// Source: the constraints and the objective of A. Pradels et al., "Origami: L'art du pliage
// applique a l'acceleration des CNNs sur FPGA"; the model itself is Kiln's reading of that paper.
#ifndef KILN_TARGETS_DATAFLOW_FOLD_PLAIN_MODEL_H_
#define KILN_TARGETS_DATAFLOW_FOLD_PLAIN_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kiln/targets/dataflow/fold/problem.h"

namespace kiln::dataflow {

// A convolution; height and width are of the output map.
struct PlainLayer {
  std::string name;
  int64_t height = 1, width = 1;
  int in_channels = 1, out_channels = 1;
  int kernel = 1;
};

// Returns the divisors of a positive number, ascending.
std::vector<int> DivisorsOf(int number);

// Returns the folds of a convolution in the plain model, ordered by a, then b.
Layer PlainFolds(const PlainLayer& layer);

// Returns the problem of a chain of convolutions with the coupling kNextMultiple and a DSP limit.
FoldProblem PlainChain(const std::vector<PlainLayer>& layers, int64_t dsp_limit);

// Returns the layers of VDSR with `layers` convolutions (at least 2): 3 to 64 channels, 64 to 64,
// 64 to 3, all with 3 x 3 windows and size x size pixels.
std::vector<PlainLayer> VdsrLayers(int layers, int64_t size);

// Returns the nineteen 3 x 3 convolutions of ResNet-20 (CIFAR-10) as a chain.
std::vector<PlainLayer> ResNet20Layers();

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_FOLD_PLAIN_MODEL_H_
