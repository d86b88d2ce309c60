// Executes a mapped graph with loads, stores and several flows, many threads in flight. The stream
// machine (cycle.h) does not run these, because they need memory interfaces.
#ifndef KILN_TARGETS_CGRA_SIMULATE_CYCLE_FLOWS_H_
#define KILN_TARGETS_CGRA_SIMULATE_CYCLE_FLOWS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/config/config.h"
#include "kiln/targets/cgra/graph/graph.h"
#include "kiln/targets/cgra/graph/mapping.h"
#include "kiln/targets/cgra/graph/store_record.h"

namespace kiln::cgra {

struct FlowOptions {
  int threads = 1;
  int lanes = 16;
  // Returns what a load reads at an address. Loads do not see stores.
  std::function<int32_t(int32_t address)> memory;
};

struct FlowResult {
  std::vector<std::vector<std::vector<int32_t>>> outputs;  // by thread, output and lane
  std::vector<StoreRecord> stores;                         // by thread, then in the order of nodes
  int64_t cycles = 0;         // from the first issue to the last result
  int threads_in_flight = 0;  // the most at a time
  // By node: how many cycles later than the mapping says it issued, over all threads.
  std::vector<int64_t> held_cycles;
};

// Executes threads of a graph that VerifyAndSort accepted with a mapping of it. Thread k issues an
// instruction in cycle issue + k * II or, if a value that it needs comes later, in the first cycle
// after that with its slot, and in the order of threads. Values take the pipeline and hops; over
// the asynchronous fabric the pipeline and Config::async_latency; so what follows a late value is
// held back by whole periods. `inputs` has, by thread and input in the order of nodes, a vector of
// lanes. Errors: a mapping that is not one of this graph.
StatusOr<FlowResult> RunFlows(const ComputationGraph& graph, const Mapping& mapping,
                              const Config& config,
                              std::span<const std::vector<std::vector<int32_t>>> inputs,
                              const FlowOptions& options);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_SIMULATE_CYCLE_FLOWS_H_
