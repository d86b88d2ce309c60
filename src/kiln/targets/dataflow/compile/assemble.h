// Assembles the pipeline of a segment: folds its layers, connects them by channels, and inserts
// forks and width converters.
#ifndef KILN_TARGETS_DATAFLOW_COMPILE_ASSEMBLE_H_
#define KILN_TARGETS_DATAFLOW_COMPILE_ASSEMBLE_H_

#include <cstdint>
#include <vector>

#include "kiln/targets/dataflow/compile/network.h"
#include "kiln/targets/dataflow/isa/builder.h"
#include "kiln/targets/dataflow/isa/pipeline.h"

namespace kiln::dataflow {

// How a layer is folded. Lanes divide the channels of the maps.
struct LayerFold {
  int64_t in_lanes = 1;
  int64_t elements = 1;   // processing elements of a convolution; for others equal to in_lanes
  int64_t out_lanes = 1;  // of the words that it sends
  int64_t pack = 1;       // products per multiplier
  MemoryKind weight_memory = MemoryKind::kLut;
  MemoryKind row_memory = MemoryKind::kLut;
  bool streams = false;  // the weights of a convolution come from memory
  int64_t padded = 0;    // output channels that a convolution computes and drops
};

// Returns the pipeline of a segment. `folds` has one entry for each layer of the network; the
// sinks receive the maps of SinkMaps. SetDepths (channels.h) sets the depths of its channels.
//   port  of the memory from which streamed weights come
Pipeline Assemble(const Lowered& network, int segment, const std::vector<LayerFold>& folds,
                  const WeightPort& port);

// Returns the maps that the host and later segments read of a segment, in the order of its sinks.
std::vector<int> SinkMaps(const Lowered& network, int segment);
// Returns the maps that the host and earlier segments send to a segment, in the order of its
// sources.
std::vector<int> SourceMaps(const Lowered& network, int segment);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_COMPILE_ASSEMBLE_H_
