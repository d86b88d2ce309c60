// The simulation of a pipeline's hardware in Verilator: sends the words of images and receives
// results, with the times at which words entered channels.
#ifndef KILN_TARGETS_DATAFLOW_SIMULATE_RTL_SEGMENT_SIMULATION_H_
#define KILN_TARGETS_DATAFLOW_SIMULATE_RTL_SEGMENT_SIMULATION_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kiln/hardware/rtl_project.h"
#include "kiln/support/process.h"
#include "kiln/support/status.h"
#include "kiln/targets/dataflow/emit/emit.h"
#include "kiln/targets/dataflow/isa/pipeline.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/run/recorded_cycles.h"

namespace kiln::dataflow {

// What the hardware of a pipeline did with some images.
struct SimulatedImages {
  // By sink: the codes of all images, one after the other.
  std::vector<std::vector<int64_t>> outputs;
  int64_t cycles = 0;             // as PipelineTiming::cycles
  std::vector<int64_t> finished;  // by image
  struct ChannelEvents {
    int64_t words = 0, highest = 0;  // pushed words, greatest level
    // Cycles of the first and the last push. Behind memory, words of weights that enter before the
    // run do not count.
    int64_t first = 0, last = 0;
  };
  std::vector<ChannelEvents> channels;
};

class SegmentSimulation {
 public:
  // Builds the simulation of a pipeline, in `folder` or, if that is empty, in a temporary folder.
  // With `behind_memory` it is the simulation of the pipeline behind memory
  // (hardware/stream_memory.h), which weight streams read, too. The pipeline must outlive this
  // object. Errors: the errors of hardware::WriteRtlProject and BuildSimulation; Verilator or
  // clang++-19 is missing or fails.
  static StatusOr<std::unique_ptr<SegmentSimulation>> Build(
      const Pipeline& pipeline, const EmitOptions& emit, const std::filesystem::path& folder,
      const hardware::SimulationKind& kind = {}, bool behind_memory = false);

  // Sends images back to back: for each source the codes of all images. Registers begin with random
  // contents, and both ends, or the channels of the memory, stall with the probability in
  // `options`. Behind memory, all images are one run, and SimulatedImages::finished is empty.
  // Errors: the simulation fails, or takes longer than options.most_cycles.
  StatusOr<SimulatedImages> Run(std::span<const std::vector<int64_t>> inputs, int64_t images,
                                const RtlOptions& options, const RecordedCycles& wave = {}) const;

 private:
  explicit SegmentSimulation(const Pipeline& pipeline) : pipeline_(pipeline) {}
  StatusOr<SimulatedImages> RunWithMemory(std::span<const std::vector<int64_t>> inputs,
                                          int64_t images, const RtlOptions& options,
                                          const RecordedCycles& wave) const;

  const Pipeline& pipeline_;
  bool behind_memory_ = false;
  std::vector<uint8_t> weights_;  // of weight streams, behind memory
  std::optional<TemporaryFolder> temporary_;
  std::filesystem::path folder_;  // with the contents of memories
  std::filesystem::path program_;
};

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_SIMULATE_RTL_SEGMENT_SIMULATION_H_
