// Chooses the tiling of matrix and depthwise instructions.
//
// The search space: both packings and orders; tile heights and widths that cut the image into
// different numbers of tiles, each as evenly as possible; column blocks likewise; groups and weight
// tiles per bank from one to as many as fit, by doubling, plus the even cuts. Every point first
// gets a lower bound of its cycles in closed form. Points are then timed exactly (timing.h) in
// order of their bounds until no bound is below the best. The result is therefore the optimum of
// the space, unless the work limit is met; the certificate says which.
//
// Energy and traffic do not depend on time and have a closed form (ranking.h), so every point gets
// its own. By energy or traffic, only the points with the least of it are timed, to find the
// fastest of them. By their product with cycles, bounds and times are multiplied by each point's
// energy. With a memory behind all ports, each point's time grows with its bytes (Ranking::Time),
// and so does its bound; certificates of cycles remain those of ports of their own.
#ifndef KILN_TARGETS_SYSTOLIC_COMPILE_SCHEDULE_H_
#define KILN_TARGETS_SYSTOLIC_COMPILE_SCHEDULE_H_

#include <map>
#include <string>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/interface/program.h"
#include "kiln/targets/systolic/compile/ranking.h"
#include "kiln/targets/systolic/config/config.h"
#include "kiln/targets/systolic/isa/isa.h"

namespace kiln::systolic {

// A tiling and what is known of it.
struct Schedule {
  Tiling tiling;
  Certificate certificate;  // of its cycles, whatever the objective
  Expense expense;          // of the instruction
  // Proved: no tiling of the space is better by the objective.
  bool best_of_space = false;
};

// Returns whether the buffers can hold the data of one output position, without which there is no
// tiling.
bool HasTiling(const Instruction& instruction, const Config& config);

// Returns all tilings of the space that the machine accepts, in a fixed order.
std::vector<Tiling> TilingsOf(const Instruction& instruction, const Config& config);

// Returns the packings of the space.
std::vector<Packing> PackingsOf(const Instruction& instruction, const Config& config);

// Returns the cycles that the instruction cannot go below with any tiling or, for kVector, any loop
// order: the work of its busiest unit, without latencies. `bound_from` is set to its name:
//   "multiply-accumulates"  all of them at the peak rate
//   "array passes"          the same, including the rows and columns that the shape leaves idle
//   "depthwise unit"        the same for the depthwise unit
//   "weight load"           each weight tile once into the shadow registers
//   "vector passes"         every element once through a lane for each pass of the vector program
//   "memory traffic"        the data that must pass a port at least once: inputs, weights, operands
//                           or outputs
// Another instruction may hide part of these cycles: a kernel that overlaps with others may add
// fewer cycles to a network's time.
double LowerBound(const Instruction& instruction, const Config& config, std::string* bound_from);

// Returns a lower bound on EstimateCycles of a matrix or depthwise instruction with one tiling, in
// closed form. The search times tilings in the order of this bound and skips those that it
// excludes.
int64_t TilingBound(const Instruction& instruction, const Config& config, const Tiling& tiling);

// Returns the certificate of a vector instruction with the given loops. `orders_timed` says that
// all orders of its loops have been timed. Otherwise the instruction is optimal only if it meets
// its bound, not counting latencies, which every order has.
Certificate CertifyVector(const Instruction& instruction, const Config& config, bool orders_timed);

// Returns the instruction with neutral scales, zero points, immediates and code limits: numbers on
// which no time depends.
Instruction WithoutNumbers(Instruction instruction);

// Schedules instructions. Instructions that differ only in their numbers (WithoutNumbers) are
// searched once.
class Scheduler {
 public:
  // Searches by cycles.
  explicit Scheduler(const Config& config) : Scheduler(config, Ranking(config)) {}
  Scheduler(const Config& config, const Ranking& ranking) : config_(config), ranking_(ranking) {}
  // Returns the schedule; ignores the instruction's tiling. Its addresses need not be final.
  // Unimplemented if no tiling fits the machine's buffers.
  StatusOr<Schedule> Find(const Instruction& instruction);
  int64_t timed() const { return timed_; }  // tilings timed exactly so far

 private:
  const Config& config_;
  Ranking ranking_;
  std::map<std::string, Schedule> known_;  // by the encoded instruction
  int64_t timed_ = 0;
};

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_COMPILE_SCHEDULE_H_
