// What a run of a compiled network does, piece by piece, what each piece waits for, and in which order.
//
// The device does its pieces one after the other in the plan's order; the host does its own as soon as what they read
// is there, beside them. So a branch of the network on the host takes its time while launches of another branch run.
#ifndef KILN_TARGETS_VTA_RUN_PLAN_H_
#define KILN_TARGETS_VTA_RUN_PLAN_H_

#include <cstddef>
#include <span>
#include <vector>

#include "kiln/targets/vta/config.h"
#include "kiln/targets/vta/layers.h"

namespace kiln::vta {

// What one layer reads and writes, and how long it may take.
struct PlannedStep {
  std::span<const Transfer> transfers;  // before it
  const HostLayer* host = nullptr;      // else a launch
  std::vector<int> reads, writes;       // maps of a launch
  double microseconds = 0;  // of the launch or the operator: decides about order, not about results
};

struct Piece {
  enum class Kind {
    kPack,     // host: a slot's numbers as a map's bytes
    kWrite,    // device: these to memory
    kLaunch,   // device
    kRead,     // device: a map's bytes
    kUnpack,   // host: these as a slot's numbers
    kOperator  // host
  } kind = Kind::kLaunch;
  size_t step = 0;            // whose it is; the number of steps: the network's outputs'
  size_t transfer = 0;        // of the step's: all but kLaunch and kOperator
  std::vector<size_t> after;  // pieces that it waits for, all before it
  bool on_device() const {
    return kind == Kind::kWrite || kind == Kind::kLaunch || kind == Kind::kRead;
  }
};

struct RunPlan {
  std::vector<Piece> pieces;
  // For each piece of the host, the pieces of the device that neither wait for it nor does it wait for: what may run
  // beside it. Empty for pieces of the device.
  std::vector<std::vector<size_t>> beside;
  bool overlaps() const;
};

// Steps in an order in which they could run one by one. Pieces come out in the order in which they would start, had
// each the time that is given: of those that can start first a copy, else the one with most to come behind it.
RunPlan PlanRun(std::span<const PlannedStep> steps, std::span<const Transfer> outputs,
                std::span<const FeatureMap> maps, const Config& config);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_RUN_PLAN_H_
