// The part of a network whose shapes depend on the data, which a program leaves to the host:
// NonMaxSuppression, NonZero, and all nodes that read their results. No machine has memory of a
// fixed size for it, so the host runs it after the machine's last kernel
// (targets/run/host_tail.h).
#ifndef KILN_TARGETS_INTERFACE_HOST_TAIL_H_
#define KILN_TARGETS_INTERFACE_HOST_TAIL_H_

#include <cstddef>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/targets/interface/program.h"

namespace kiln {

struct HostTail {
  // Where a value of the network is found once the tail has run: among the inputs of the network,
  // the outputs of the machine's part, or the outputs of `graph`.
  enum class Place { kInput, kHead, kTail };
  struct Source {
    Place place;
    size_t index;
  };
  Graph graph;                   // as CopyForHost (targets/run/host_graph.h) makes it
  std::vector<Source> operands;  // of each input of `graph`
  std::vector<Source> outputs;   // of each output of the network
  KernelInfo kernel;             // for reports
};

}  // namespace kiln

#endif  // KILN_TARGETS_INTERFACE_HOST_TAIL_H_
