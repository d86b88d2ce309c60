// Finds the first layer in which the emitted hardware differs from the cycle level, and records the
// hardware's signals while that layer works. Implements Accelerator::RecordDifference for the
// family.
#ifndef KILN_TARGETS_DATAFLOW_WAVEFORM_H_
#define KILN_TARGETS_DATAFLOW_WAVEFORM_H_

#include <filesystem>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/dataflow/compile/program.h"
#include "kiln/targets/dataflow/isa/pipeline.h"
#include "kiln/targets/interface/accelerator.h"

namespace kiln::dataflow {

// A pipeline in which sinks receive the results of all layers, too. It computes the same codes in
// other cycles.
struct WatchedPipeline {
  Pipeline pipeline;
  // By sink, in order: the stage of the original pipeline whose result it receives.
  std::vector<int> stages;
};

// Returns the pipeline with a fork and a sink behind every stage of a layer that has none. Every
// channel keeps its depth. A new channel has the depth of the channel that its words come from.
WatchedPipeline Watch(const Pipeline& pipeline);

// Implements Accelerator::RecordDifference. `timed` says whether cycles are comparable.
StatusOr<Waveform> RecordDifference(const DataflowProgram& program, const Batch& batch,
                                    const RtlOptions& options, bool timed,
                                    const std::filesystem::path& file);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_WAVEFORM_H_
