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

// The pipeline under construction. A channel without a consumer is the result of a stage that a
// later call uses; each channel is used once.
class PipelineBuilder {
 public:
  // Adds a source or a stage, and returns the channel of its result. `stage` has no channels yet;
  // those of `inputs` become its inputs. The name gets a number if it is taken.
  int Source(std::string_view name, const MapShape& map, const CodeType& type, int64_t lanes);
  int Add(Stage stage, const std::vector<int>& inputs, const MapShape& map, const CodeType& type,
          int64_t lanes);
  // Returns `count` channels with the words of a channel, through a fork if there are several.
  std::vector<int> Fork(int channel, int64_t count, std::string_view name);
  // Returns a channel with the same elements in words of `lanes`: through converters if the lanes
  // differ. Where neither divides the other, words become narrow first: of their greatest common
  // divisor.
  int WithLanes(int channel, int64_t lanes, std::string_view name);
  void Sink(int channel, std::string_view name);

  const Channel& channel(int index) const { return pipeline_.channels[static_cast<size_t>(index)]; }
  const Pipeline& pipeline() const { return pipeline_; }
  Pipeline Take() { return std::move(pipeline_); }

 private:
  std::string UniqueName(std::string_view name);
  int NewChannel(int from, const MapShape& map, const CodeType& type, int64_t lanes);

  Pipeline pipeline_;
};

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_ISA_BUILDER_H_
