// Large networks for benchmarks, built in code. Their weights are random, because speed and cycles
// do not depend on weights.
#ifndef KILN_BENCH_NETWORKS_H_
#define KILN_BENCH_NETWORKS_H_

#include <string>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/support/status.h"

namespace kiln::bench {

// Builds a network of input 1x3x224x224 and output 1x1000, with folded batch normalisation and
// uniform weights of He's variance.
//   name    "resnet18", "resnet50" (He et al., arXiv 1512.03385; the stride of a bottleneck is in
//           its 3x3 convolution, as in torchvision) or "mobilenet_v2" (Sandler et al., arXiv
//           1801.04381)
//   errors  another name
StatusOr<Graph> MakeNetwork(const std::string& name);
std::vector<std::string> NetworkNames();

}  // namespace kiln::bench

#endif  // KILN_BENCH_NETWORKS_H_
