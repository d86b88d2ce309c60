// Contents of the memories of a stage, as files for $readmemh.
#ifndef KILN_TARGETS_DATAFLOW_EMIT_IMAGES_H_
#define KILN_TARGETS_DATAFLOW_EMIT_IMAGES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kiln/targets/dataflow/isa/pipeline.h"

namespace kiln::dataflow {

// A file: name below the project's folder, and text.
using ImageFile = std::pair<std::string, std::string>;

// Returns the files that a stage reads: weights, constants of requantisation, its table. Their
// names begin with ImagePrefix.
std::vector<ImageFile> ImagesOf(const Pipeline& pipeline, const Stage& stage);

// Returns the weights of a convolution as codes, in the order of its words (WeightWordsOf) and of
// the weights within a word. The weights -1 and +1 of 1 bit become 0 and 1.
std::vector<int64_t> WeightCodesOf(const Pipeline& pipeline, const Stage& convolution);

// Return the names by which the hardware finds them, as its parameters give them.
std::string WeightsFile(const Stage& stage);
std::string ConstantsFile(const Stage& stage);  // of thresholds: the beginning of names
std::string TableFile(const Stage& stage);

// Returns the bits of two's complement that hold all addends of a requantisation, at least 2; 1 if
// it has no addends.
int AddendBits(const Requantise& requantise);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_EMIT_IMAGES_H_
