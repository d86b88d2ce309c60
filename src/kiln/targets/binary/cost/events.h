// The events of launches that consume energy, counted from their programs: nothing need run.
//
// What tests decide is not looked up again, which depends on data; the counts have no test decide
// anything and are upper bounds of look-ups. For given images, the functional level counts what is
// looked up (StageCounts of simulate/functional/functional.h), from which LookUpShares follow.
#ifndef KILN_TARGETS_BINARY_COST_EVENTS_H_
#define KILN_TARGETS_BINARY_COST_EVENTS_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/binary/config/config.h"
#include "kiln/targets/binary/isa/program.h"
#include "kiln/targets/interface/cost.h"

namespace kiln::binary {

// The events of a stage in a launch, loading included.
struct StageEvents {
  int64_t words_written = 0, words_read = 0;  // of the row memories, each with its sums
  int64_t tables = 0;           // built; also the tables of groups that complete a round
  int64_t look_ups = 0;         // of an output channel in all tables of the stage
  int64_t weights_written = 0;  // words of a column
  int64_t results = 0;          // that are requantised
  int64_t forwarded = 0;        // words of results, of all columns, to the next stage
  int64_t emitted = 0;          // the same, to the stream out
  int64_t skips = 0;            // beats that wait for the sum with a result
  friend bool operator==(const StageEvents&, const StageEvents&) = default;
};
struct LaunchEvents {
  std::array<StageEvents, kMostStages> stages;  // by number; zero where the program has no stage
  int64_t beats_in = 0, beats_out = 0;
};
// Returns the events of a launch: the program is loaded and runs once.
LaunchEvents EventsOf(const BlockProgram& program);

// Returns the energy of one event of each kind on a design point, stage by stage, in picojoules at
// a node (hardware/energy.h has the sources).
std::vector<EventEnergy> EventsOf(const Config& config, int node_nm);

// The share of a launch's look-ups that were done, by number of the stage.
using LookUpShares = std::array<double, kMostStages>;
// Returns the energy of launches by unit (cost.h), in picojoules. `shares` has an element for each
// launch, or none if all look-ups are done. Error: no such node.
StatusOr<Energy> EnergyOf(std::span<const BlockProgram* const> launches, const Config& config,
                          int node_nm, std::span<const LookUpShares> shares = {});

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_COST_EVENTS_H_
