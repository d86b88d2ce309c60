// The events of stages that consume energy, counted from a pipeline for one image. They depend
// neither on data nor on time, so the network need not run at any level.
#ifndef KILN_TARGETS_DATAFLOW_COST_EVENTS_H_
#define KILN_TARGETS_DATAFLOW_COST_EVENTS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/dataflow/isa/pipeline.h"
#include "kiln/targets/interface/cost.h"
#include "kiln/targets/interface/traffic.h"

namespace kiln::dataflow {

// What a stage does for an image.
struct StageEvents {
  int64_t steps = 0;       // cycles in which it acts
  int64_t computing = 0;   // steps that multiply or compare the elements of a window
  int64_t insertions = 0;  // words of columns that enter a window, empty ones included
  int64_t words = 0;       // that it pops, of its first input
  int64_t results = 0;     // words that it pushes, of one output
};
// Returns the events of a stage for one image.
StageEvents EventsOf(const Pipeline& pipeline, const Stage& stage);

// A stage that reads or writes outer memory: a source, a sink or a stream of weights.
struct StageTraffic {
  MemoryPort port;  // has the stage's name
  int layer = -1;   // that reads the words first, or that computes them; -1: none
  int64_t bytes = 0;
};
// Returns these stages of a pipeline with their bytes for one image. Each word has whole bytes.
std::vector<StageTraffic> TrafficOf(const Pipeline& pipeline);

// Returns the energy of one image by unit (parts.h). Error: no such node.
//   ultrascale   as in UnitsOf
StatusOr<Energy> EnergyOf(std::span<const Pipeline* const> pipelines, bool ultrascale, int node_nm);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_COST_EVENTS_H_
