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
// A map that a later segment reads becomes a sink of its own segment and a source (`copied_from`) of
// the other.
void CutNetwork(const std::vector<int>& parts, Lowered* network);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_COMPILE_CUT_H_
