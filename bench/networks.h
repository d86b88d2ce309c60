// Large networks for benchmarks, built in code with random weights: speed and cycles do not depend on their values.
#ifndef KILN_BENCH_NETWORKS_H_
#define KILN_BENCH_NETWORKS_H_

#include <string>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/support/status.h"

namespace kiln::bench {

// "resnet18", "resnet50" (He et al., arXiv 1512.03385; the stride of a bottleneck in its 3x3 convolution, as
// torchvision has it) and "mobilenet_v2" (Sandler et al., arXiv 1801.04381), 1x3x224x224 to 1x1000, batch normalisation
// folded, weights uniform with He's variance. Error: another name.
StatusOr<Graph> MakeNetwork(const std::string& name);
std::vector<std::string> NetworkNames();

}  // namespace kiln::bench

#endif  // KILN_BENCH_NETWORKS_H_
