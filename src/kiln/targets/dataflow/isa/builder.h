// Builds pipelines stage by stage: connects stages by channels and inserts converters where the
// lanes of words differ.
#ifndef KILN_TARGETS_DATAFLOW_ISA_BUILDER_H_
#define KILN_TARGETS_DATAFLOW_ISA_BUILDER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/targets/dataflow/isa/pipeline.h"

namespace kiln::dataflow {

// The AXI4 port through which a convolution gets its weights.
struct WeightPort {
  int64_t bytes = 16;    // of a beat
  int64_t latency = 64;  // cycles from an address to its first beat
};

// The pipeline under construction. A channel without a consumer is the result of a stage that a
// later call uses; each channel is used once.
class PipelineBuilder {
 public:
  // Adds a source or a stage, and returns the channel of its result. `stage` has no channels yet;
  // `inputs` become its inputs. The name gets a number if it is taken.
  int Source(std::string_view name, const MapShape& map, const CodeType& type, int64_t lanes);
  int Add(Stage stage, const std::vector<int>& inputs, const MapShape& map, const CodeType& type,
          int64_t lanes);
  // Adds a convolution whose weights come from a weight stream, which it adds, too. The words of
  // all weight streams follow one another in memory, each from a multiple of 4 KiB on.
  int AddStreaming(Stage convolution, int input, const MapShape& map, const CodeType& type,
                   int64_t lanes, const WeightPort& port);
  // Returns `count` channels with the words of a channel, through a fork if there are several.
  std::vector<int> Fork(int channel, int64_t count, std::string_view name);
  // Returns a channel with the same elements in words of `lanes`: through converters if the lanes
  // differ. Where neither divides the other, words become narrow first: of their greatest common
  // divisor.
  int WithLanes(int channel, int64_t lanes, std::string_view name);
  // Adds a sink that takes a channel's words.
  void Sink(int channel, std::string_view name);

  const Channel& channel(int index) const { return pipeline_.channels[static_cast<size_t>(index)]; }
  const Pipeline& pipeline() const { return pipeline_; }
  Pipeline Take() { return std::move(pipeline_); }

 private:
  std::string UniqueName(std::string_view name);
  int NewChannel(int from, const MapShape& map, const CodeType& type, int64_t lanes);

  Pipeline pipeline_;
  int64_t weights_end_ = 0;  // bytes of streamed weights
};

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_ISA_BUILDER_H_
