// Chooses the tiling of matrix and depthwise instructions.
//
// The space: both packings and orders; tile heights and widths that cut the image into different numbers of tiles, each
// as even as can be; column blocks likewise; groups and weight tiles a bank from one to as many as fit, by doubling,
// plus the even cuts. Every point is first given a lower bound in closed form; points are then timed exactly
// (timing.h) in order of their bounds until no bound is below the best time. So the result is the optimum of the space,
// unless the work limit is met; the certificate says which.
#ifndef KILN_TARGETS_SYSTOLIC_SCHEDULE_H_
#define KILN_TARGETS_SYSTOLIC_SCHEDULE_H_

#include <map>
#include <string>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/interface/program.h"
#include "kiln/targets/systolic/config.h"
#include "kiln/targets/systolic/isa.h"

namespace kiln::systolic {

struct Schedule {
  Tiling tiling;
  Certificate certificate;
};

// Whether the buffers hold what one output position needs, so that there is a tiling at all.
bool HasTiling(const Instruction& instruction, const Config& config);

// All tilings of the space that the machine accepts, in a fixed order.
std::vector<Tiling> TilingsOf(const Instruction& instruction, const Config& config);

// The packings that the space holds.
std::vector<Packing> PackingsOf(const Instruction& instruction, const Config& config);

// Cycles that the instruction cannot go below, whatever its tiling or, kVector, its order of loops: the work of its
// busiest unit, latencies left out. `bound_from` says which:
//   "multiply-accumulates"  all of them at the peak rate
//   "array passes"          the same with the rows and columns that the shape leaves idle
//   "depthwise unit"        likewise of the depthwise unit
//   "weight load"           each weight tile once into the shadow registers
//   "vector passes"         every element once through a lane for each pass of the vector program
//   "memory traffic"        what must pass a port at least once: inputs, weights, operands or outputs
// Another instruction may hide a part of it: a kernel that runs behind others can cost less of a network's time.
double LowerBound(const Instruction& instruction, const Config& config, std::string* bound_from);

// A lower bound on EstimateCycles of a matrix or depthwise instruction with one tiling, in closed form: the search
// times tilings in the order of this bound and skips those that it excludes.
int64_t TilingBound(const Instruction& instruction, const Config& config, const Tiling& tiling);

// What is proved of a vector instruction as it stands. `orders_timed`: whoever made it has timed all orders of its
// loops. Without that it is optimal only where it meets its bound but for latencies, which every order pays.
Certificate CertifyVector(const Instruction& instruction, const Config& config, bool orders_timed);

// The instruction with neutral scales, zero points, immediates and bounds of codes: numbers that no time depends on.
Instruction WithoutNumbers(Instruction instruction);

// Schedules instructions; those that are alike without their numbers are searched once.
class Scheduler {
 public:
  explicit Scheduler(const Config& config) : config_(config) {}
  // The instruction's tiling and addresses are not looked at. Unimplemented: no tiling fits the machine's buffers.
  StatusOr<Schedule> Find(const Instruction& instruction);
  int64_t timed() const { return timed_; }  // tilings timed exactly so far

 private:
  const Config& config_;
  std::map<std::string, Schedule> known_;  // by the bits of the instruction
  int64_t timed_ = 0;
};

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_SCHEDULE_H_
