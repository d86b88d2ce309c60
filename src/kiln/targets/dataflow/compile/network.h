// A network as layers of stages that are not folded yet, which lowering makes of a graph.
//
// A network runs as segments: each is a pipeline of its own with sources and sinks. The host runs
// between them what the machine cannot run.
#ifndef KILN_TARGETS_DATAFLOW_COMPILE_NETWORK_H_
#define KILN_TARGETS_DATAFLOW_COMPILE_NETWORK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/targets/dataflow/isa/pipeline.h"
#include "kiln/targets/interface/program.h"
#include "kiln/targets/lower/channel_line.h"
#include "kiln/targets/lower/strided_view.h"
#include "kiln/targets/run/host_graph.h"
#include "kiln/targets/run/tensor_machine.h"

namespace kiln::dataflow {

// A map that a stage produces, or that the host sends.
struct NetworkMap {
  std::string name;
  MapShape shape;
  CodeType type;
  int layer = -1;    // that produces it; -1: the host
  int segment = -1;  // in which it is produced, or to which the host sends it
  // The map of an earlier segment that this source carries on; -1: the host sends it.
  int copied_from = -1;
};

// A layer: one stage without its fold. `stage.kind` and what follows from the network are set.
struct NetworkLayer {
  Stage stage;
  std::vector<int> inputs;  // maps
  int output = -1;
  int segment = 0;
  KernelInfo info;
};

// How values of the graph are located in a map's codes. Position i of the view of the row-major
// tensor is the number of the element in the map's order (NHWC).
struct MapView {
  int map = -1;
  StridedView view;
};

// A tensor that the host sends to a source, or that it reads from a sink.
struct HostTensor {
  MapView place;
  const Value* value = nullptr;  // of the graph
  // The values of sums, by channel of the map; codes become values by the annotation instead.
  std::optional<ChannelLine> line;
};

// A kernel of the host, or a segment of the machine.
struct NetworkStep {
  std::optional<HostGraph> host;
  int kernel = -1;                   // of the host; index into Lowered::host_kernels
  int segment = -1;                  // of the machine
  std::vector<HostTensor> sends;     // to the segment's sources, in their order
  std::vector<HostTensor> receives;  // from its sinks; several may read one sink
};

struct Lowered {
  Graph graph;                        // the network, which owns the values
  std::vector<DerivedValue> aliases;  // views of other values' tensors on the host
  std::vector<NetworkMap> maps;
  std::vector<NetworkLayer> layers;  // in topological order
  int segments = 0;
  std::vector<int> segment_parts;  // by segment: its device or pass (cut.h); empty: not cut
  std::vector<NetworkStep> steps;  // in the order in which they run
  std::vector<KernelInfo> host_kernels;
  std::vector<std::string> notes;
};

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_COMPILE_NETWORK_H_
