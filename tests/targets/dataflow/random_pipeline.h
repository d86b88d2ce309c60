// Random pipelines for tests: stages of all kinds with random sizes, codes, folds, weights and
// constants, forks that join again, and channels deep enough for any order.
#ifndef KILN_TESTS_TARGETS_DATAFLOW_RANDOM_PIPELINE_H_
#define KILN_TESTS_TARGETS_DATAFLOW_RANDOM_PIPELINE_H_

#include <cstdint>
#include <vector>

#include "kiln/targets/dataflow/isa/pipeline.h"

namespace kiln::dataflow {

struct RandomPipelineOptions {
  int most_stages = 8;
  int64_t most_elements = 2000;  // of a map
  // Some convolutions get their weights from memory, and some drop channels of their results.
  bool streams = true;
};

// Returns a pipeline that passes CheckPipeline. A pure function of seed and options.
Pipeline RandomPipeline(uint64_t seed, const RandomPipelineOptions& options = {});

// Returns random codes of an image for every source.
std::vector<std::vector<int64_t>> RandomImage(const Pipeline& pipeline, uint64_t seed);

}  // namespace kiln::dataflow

#endif  // KILN_TESTS_TARGETS_DATAFLOW_RANDOM_PIPELINE_H_
