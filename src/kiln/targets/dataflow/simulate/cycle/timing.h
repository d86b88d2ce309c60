// Counts the cycles of a pipeline: words as tokens, without their data. Cycles do not depend on
// data, because every stage consumes and produces its words in a fixed order
// (docs/dataflow-machine.md).
//
// The simulation goes from event to event: a stage that computes for many cycles without touching
// a channel costs one event. Stages act on the state at the start of a cycle, so that their order
// within a cycle does not matter.
#ifndef KILN_TARGETS_DATAFLOW_SIMULATE_CYCLE_TIMING_H_
#define KILN_TARGETS_DATAFLOW_SIMULATE_CYCLE_TIMING_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/hardware/axi_port_model.h"
#include "kiln/support/status.h"
#include "kiln/targets/dataflow/isa/pipeline.h"

namespace kiln::dataflow {

struct TimingOptions {
  int64_t images = 1;  // back to back
  // All channels have room for any number of words.
  bool unbounded = false;
  // 0: a word of each source is offered in every cycle. Otherwise word i of n of an image is
  // offered from cycle floor(i * interval / n) after the image's begin on, and images begin
  // `interval` cycles apart.
  int64_t interval = 0;
  // The work after which the simulation is given up; 0: none.
  int64_t most_events = 0;
  // The memory that the words of sources are read from and the words of sinks are stored in
  // (hardware/stream_memory_model.h), in one run for all images. Streams of weights read it through
  // ports of their own, and have read ahead when the run starts. `interval` is ignored.
  std::optional<hardware::AxiTiming> memory = std::nullopt;
};

// What happened at a channel. Behind memory, cycles count from the first one of the run; words of
// weights enter before it.
struct ChannelTiming {
  int64_t words = 0;    // pushed
  int64_t highest = 0;  // greatest level, in words (docs/dataflow-machine.md)
  // The least depth with which no reservation would have waited: space that is freed in a cycle is
  // reserved in the next one at the earliest.
  int64_t needed = 0;
  std::vector<int64_t> last_pushes;  // by image: the cycle of its last push
  std::vector<int64_t> first_pushes;
};

// What a stage did.
struct StageTiming {
  int64_t busy = 0;                       // cycles with a step
  std::map<std::string, int64_t> stalls;  // cause -> cycles, between its first and last step
  int64_t begin = 0, end = 0;             // first step, one past the last
};

struct PipelineTiming {
  // From the cycle of the first word into a source to the cycle of the last word out of a sink;
  // behind memory, from the start to the end of the run (register CYCLES, docs/driver.md).
  int64_t cycles = 0;
  // By image: the cycle in which its last word has entered the channel of a sink and can leave,
  // counted from the first word into a source. Without a memory, it leaves in this cycle.
  std::vector<int64_t> finished;
  std::vector<ChannelTiming> channels;
  std::vector<StageTiming> stages;
  int64_t events = 0;
};

// Simulates images that follow one another without a gap, behind sources and sinks that never wait
// unless `options` says otherwise.
//   errors  a deadlock: names the stages that wait for one another, and for what; more than
//           options.most_events
StatusOr<PipelineTiming> SimulateTiming(const Pipeline& pipeline, const TimingOptions& options);

// Simulates machines behind the memory of `options`, which they share: each has readers and writers
// of its own and a run of its own, and all runs start in the same cycle. The streams of all
// machines follow each other in memory. Returns the cycles until the last run has ended. Errors: as
// above.
StatusOr<int64_t> CyclesOfRunsTogether(std::span<const Pipeline* const> pipelines,
                                       const TimingOptions& options);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_SIMULATE_CYCLE_TIMING_H_
