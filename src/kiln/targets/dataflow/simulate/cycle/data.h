// The data of the cycle level: every stage works on the stream of its words as the hardware does,
// with window contexts into which columns are inserted, sums that grow word by word, and thresholds
// by binary search. Independent of the functional level.
#ifndef KILN_TARGETS_DATAFLOW_SIMULATE_CYCLE_DATA_H_
#define KILN_TARGETS_DATAFLOW_SIMULATE_CYCLE_DATA_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kiln/targets/dataflow/isa/pipeline.h"

namespace kiln::dataflow {

// The codes of an image in the order in which a channel carries them.
using CodeStream = std::vector<int64_t>;

// Runs one image: a stream for each source, in order; returns one for each sink.
std::vector<CodeStream> StreamData(const Pipeline& pipeline, std::span<const CodeStream> inputs);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_SIMULATE_CYCLE_DATA_H_
