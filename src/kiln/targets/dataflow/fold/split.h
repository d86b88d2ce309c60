// Splits a pipeline over several devices, or over several passes of one device, together with the
// choice of folds.
//
// A split cuts the topological order of the layers (TopologicalOrder) into consecutive parts, one
// for each device or pass; parts may be empty.
//
// Devices work at the same time. A link from each device to the next carries, for each frame, the
// outputs of all layers before the cut that layers after the cut read, each output once; streams
// that go further pass through all links between. A link counts as a stage: it takes
// ceil(bits / bits_per_cycle) cycles per frame. The period of the split is the greatest number of
// cycles of a layer or a link. The FIFO of an edge is on the consumer's device; links add no
// latency.
//
// Passes take turns on one device. What crosses a cut goes through memory, so the parts are
// independent pipelines: no coupling and no FIFO across a cut. A frame takes the sum of the passes'
// periods.
#ifndef KILN_TARGETS_DATAFLOW_FOLD_SPLIT_H_
#define KILN_TARGETS_DATAFLOW_FOLD_SPLIT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/targets/dataflow/fold/objective.h"

namespace kiln::dataflow {

// Several devices in a row. The limits of the problem itself do not count.
struct DeviceRow {
  std::vector<Resources> limits;        // per device, in order
  std::vector<int64_t> bits_per_cycle;  // of the link after each device but the last; kUnlimited
  bool links_convert = true;            // an edge over a link needs no coupling of lanes
};

struct SplitOptions {
  int64_t target_cycles = kUnlimited;  // of the period
  int64_t most_work = 20000000;        // labels for each period; about five million take a second
};

// What one device of a row holds.
struct DevicePart {
  std::vector<int> layers;  // in topological order
  Resources used{};         // layers and FIFOs
  int64_t link_bits = 0;    // per frame, to the next device
  int64_t link_cycles = 0;  // per frame
};

struct DeviceSplit {
  std::optional<Fold> fold;  // absent if there is no split, or none was found
  std::vector<DevicePart> parts;
  int64_t period = 0;        // cycles per frame
  int64_t idle = 0;          // sum over the layers of period - cycles
  bool optimal = false;      // no split has a smaller period, and none of the same period has a
                             // smaller idle time
  int64_t period_bound = 0;  // no split has a smaller period
  int64_t work = 0;
  std::string infeasible;  // in one line, if there is no valid split
};

// Finds the split and the fold of least period, then least idle time, by dynamic programming over
// layers, devices and open lanes. Errors: CheckProblem's; no device; more than 16 devices; wrong
// number of links; a negative limit or a link without bits.
StatusOr<DeviceSplit> SplitOverDevices(const FoldProblem& problem, const DeviceRow& row,
                                       const SplitOptions& options = {});

// Returns the measures of a fold with a device for each layer. Returns an empty optional if the
// layers are not assigned to the devices in order, two neighbours do not couple, a FIFO has no
// memory, or a device's limit is exceeded.
std::optional<DeviceSplit> EvaluateSplit(const FoldProblem& problem, const DeviceRow& row,
                                         const Fold& fold, const std::vector<int>& device);

struct PassOptions {
  int most_passes = 64;
  int64_t reload_cycles = 0;                   // between two passes, for each frame
  int64_t memory_bits_per_cycle = kUnlimited;  // of one memory port, for both directions together
  int64_t most_work = 20000000;                // labels for each pass; see exact.h
};

// One pass: a pipeline of its own.
struct PassPart {
  std::vector<int> layers;
  FoldMetrics metrics;
  int64_t memory_bits = 0;  // per frame, read and written
  int64_t cycles = 0;       // the greater of L_max and the cycles of the memory
};

struct PassSplit {
  std::optional<Fold> fold;  // of the whole problem
  std::vector<PassPart> parts;
  int64_t cycles = 0;    // per frame: of all passes and the reloads between them
  bool optimal = false;  // no split takes fewer cycles; among those, none fewer passes
  int64_t work = 0;
  std::string infeasible;
};

// Finds the passes and the folds of least cycles per frame, then of fewest passes, with the limits
// of the problem for each pass. Errors: CheckProblem's; an option out of range.
StatusOr<PassSplit> SplitOverPasses(const FoldProblem& problem, const PassOptions& options = {});

// Returns the bits per frame that cross the cut before position `cut` of the order.
int64_t BitsAcross(const FoldProblem& problem, const std::vector<int>& order, size_t cut);

// Returns an error's text if even the smallest fold of a layer exceeds a limit: "layer conv: even
// its smallest fold needs 9 DSP, the device has 4", with `device` for "the device"; "" if none
// does.
std::string LayerBeyond(const FoldProblem& problem, const Resources& limits,
                        std::string_view device);
// Returns the least amount of a resource among the folds of a layer.
int64_t LeastAmountOf(const Layer& layer, size_t kind);

// Returns ceil(bits / bits_per_cycle).
int64_t LinkCycles(int64_t bits, int64_t bits_per_cycle);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_FOLD_SPLIT_H_
