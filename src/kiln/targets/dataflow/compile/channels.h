// The depths of channels, by exact counting of words.
//
// The pipeline is simulated without limits on its channels while the sources offer their words
// evenly, an image per interval of the slowest stage. The most words that each channel has to hold
// in the steady state become its depth. Then the schedule of that run is admissible with these
// depths, and a pipeline in which every stage acts as early as it can is never later than an
// admissible schedule: the order in which each stage takes and gives words is fixed, so that acting
// early never delays anything. The pipeline therefore has no deadlock, even if sources and sinks
// wait, and keeps the interval if they do not.
#ifndef KILN_TARGETS_DATAFLOW_COMPILE_CHANNELS_H_
#define KILN_TARGETS_DATAFLOW_COMPILE_CHANNELS_H_

#include <cstdint>
#include <span>
#include <string>

#include "kiln/support/status.h"
#include "kiln/targets/dataflow/isa/pipeline.h"

namespace kiln::dataflow {

// The time of a pipeline whose channels have their depths.
struct PipelinePace {
  int64_t interval = 0;  // cycles between images in the steady state
  int64_t latency = 0;   // cycles of an image alone
  int64_t words = 0;     // of all channels
  int64_t bits = 0;
};

// Limits of a channel's depth for designs that state one.
struct ChannelLimits {
  int64_t most_bits = 0;   // of one channel; 0: none
  bool has_ultra = false;  // the device has ultra RAM
  // Names of layers for errors, by Stage::layer; without them errors name stages.
  std::span<const std::string> layers = {};
};

// Sets depth and memory of every channel. Errors: a channel needs more bits than the limit: names
// the layer behind the channel, what it needs and the limit; the simulation takes too long.
StatusOr<PipelinePace> SetDepths(const ChannelLimits& limits, Pipeline* pipeline);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_COMPILE_CHANNELS_H_
