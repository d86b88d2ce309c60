// The plan of a compiled network's run: its pieces of work, their dependencies and their order.
// NetworkRun (network_run.h) executes it.
//
// The device executes its pieces one after the other in the plan's order. The host executes its own
// as soon as their inputs are available, in parallel with the device. A branch of the network on
// the host therefore overlaps with launches of another branch.
#ifndef KILN_TARGETS_VTA_COMPILE_RUN_PLAN_H_
#define KILN_TARGETS_VTA_COMPILE_RUN_PLAN_H_

#include <cstddef>
#include <span>
#include <vector>

#include "kiln/targets/vta/compile/layers.h"
#include "kiln/targets/vta/config/config.h"

namespace kiln::vta {

// The inputs, outputs and estimated time of one step.
struct PlannedStep {
  std::span<const Transfer> transfers;  // executed before the step
  const HostLayer* host = nullptr;      // null: the step is a launch
  std::vector<int> reads, writes;       // maps of a launch
  double microseconds = 0;  // of the launch or operator; affects the order but never results
};

// One piece of work of the host or the device.
struct Piece {
  enum class Kind {
    kPack,     // host: converts a slot's numbers to a map's bytes
    kWrite,    // device: writes these bytes to memory
    kLaunch,   // device: runs a launch
    kRead,     // device: reads a map's bytes
    kUnpack,   // host: converts these bytes to a slot's numbers
    kOperator  // host: runs an operator
  } kind = Kind::kLaunch;
  size_t step = 0;            // the piece's step, or the number of steps for the network's outputs
  size_t transfer = 0;        // index in the step's transfers; unused for kLaunch and kOperator
  std::vector<size_t> after;  // the pieces that it waits for, all of them earlier in the plan
  bool on_device() const {
    return kind == Kind::kWrite || kind == Kind::kLaunch || kind == Kind::kRead;
  }
};

// The plan of a run.
struct RunPlan {
  std::vector<Piece> pieces;
  // For each piece of the host, the pieces of the device that may run at the same time, because
  // neither waits for the other. Empty for pieces of the device.
  std::vector<std::vector<size_t>> beside;
  bool overlaps() const;
};

// Plans a run. `steps` must be in an order in which they could run one by one. The resulting pieces
// are sorted by the time at which they would start if each took its estimated time. Among pieces
// that can start at the same time, launches come last, and pieces with a longer remaining path come
// earlier.
RunPlan PlanRun(std::span<const PlannedStep> steps, std::span<const Transfer> outputs,
                std::span<const FeatureMap> maps, const Config& config);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_COMPILE_RUN_PLAN_H_
