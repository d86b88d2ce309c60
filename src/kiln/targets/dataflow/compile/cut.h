// Cuts the segments of a network into parts: for several devices in a row, or for passes that one
// device makes one after the other.
#ifndef KILN_TARGETS_DATAFLOW_COMPILE_CUT_H_
#define KILN_TARGETS_DATAFLOW_COMPILE_CUT_H_

#include <vector>

#include "kiln/targets/dataflow/compile/network.h"

namespace kiln::dataflow {

// Replaces each segment by one segment for each part of its layers, and sets
// `network->segment_parts`.
//   parts  by layer; no layer is in an earlier part than the layers that it reads
// If a later segment reads a map, the map's own segment gets a sink for it, and the later segment a
// source (`copied_from`).
void CutNetwork(const std::vector<int>& parts, Lowered* network);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_COMPILE_CUT_H_
