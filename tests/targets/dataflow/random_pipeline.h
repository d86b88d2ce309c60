// Random pipelines for tests: stages of all kinds with random sizes, codes, folds, weights and
// constants, forks that join again, and channels deep enough for any order.
#ifndef KILN_TESTS_TARGETS_DATAFLOW_RANDOM_PIPELINE_H_
#define KILN_TESTS_TARGETS_DATAFLOW_RANDOM_PIPELINE_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "kiln/targets/dataflow/isa/pipeline.h"

namespace kiln::dataflow {

struct RandomPipelineOptions {
  int most_stages = 8;
  int64_t most_elements = 2000;  // of a map
  // The most bits, of codes and weights 16 and of thresholds 8 at most. Affine stages have codes of
  // up to two bits more.
  int code_bits = 8, weight_bits = 6, threshold_bits = 4;
  bool wide_sums = false;   // sums of more than 16 bits may leave the pipeline
  int64_t merged_map = 64;  // most elements of a map that a convolution reads as one pixel
  // Some convolutions get their weights from memory, and some drop channels of their results.
  bool streams = true;
};

// Returns a pipeline that passes CheckPipeline. A pure function of seed and options.
Pipeline RandomPipeline(uint64_t seed, const RandomPipelineOptions& options = {});

// Returns the pipeline that numbers from elsewhere give: below(bound) is in [0, bound). Unlikely
// numbers can give a pipeline that CheckPipeline refuses.
Pipeline MakePipeline(const std::function<uint64_t(uint64_t bound)>& below,
                      const RandomPipelineOptions& options);

// Returns random codes of an image for every source.
std::vector<std::vector<int64_t>> RandomImage(const Pipeline& pipeline, uint64_t seed);

// Returns the pipelines as one, without a channel between them, in their order. The names of stages
// begin with the number of their pipeline.
Pipeline SideBySide(std::span<const Pipeline> pipelines);

}  // namespace kiln::dataflow

#endif  // KILN_TESTS_TARGETS_DATAFLOW_RANDOM_PIPELINE_H_
