// Compares schedules by the objective of a compilation: cycles, energy, their product, or traffic.
// Energy and traffic are those of the family's reports (cost/events.h, cost/cost.h).
#ifndef KILN_TARGETS_SYSTOLIC_COMPILE_RANKING_H_
#define KILN_TARGETS_SYSTOLIC_COMPILE_RANKING_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/systolic/config/config.h"
#include "kiln/targets/systolic/cost/events.h"
#include "kiln/targets/systolic/isa/isa.h"

namespace kiln::systolic {

// What instructions take that run one after the other.
struct Expense {
  int64_t cycles = 0;
  double picojoules = 0;  // 0 if the objective does not weigh energy
  int64_t bytes = 0;      // of the outer memory; 0 if the objective is cycles

  Expense& operator+=(const Expense& other);
  // Returns the expense of `times` equal instructions.
  Expense Times(int64_t times) const;
};

// The order of schedules under an objective.
class Ranking {
 public:
  // By cycles.
  explicit Ranking(const Config& config) : Ranking(config, CompileOptions()) {}
  // By options.objective, with energies at options.node_nm, one of hardware::TechnologyNodes.
  Ranking(const Config& config, const CompileOptions& options)
      : config_(config), objective_(options.objective), node_nm_(options.node_nm) {
    if (objective_ == Objective::kCycles || objective_ == Objective::kEdp)
      memory_bytes_per_cycle_ = options.memory_bytes_per_cycle;
  }

  Objective objective() const { return objective_; }
  // Returns whether only cycles count, with a memory that serves every port at its full rate.
  bool by_cycles() const { return objective_ == Objective::kCycles && !has_memory(); }
  // Returns whether the bandwidth of the memory behind all ports counts.
  bool has_memory() const { return memory_bytes_per_cycle_ > 0; }
  // Returns the time of an instruction that takes `cycles` on ports of their own and moves `bytes`:
  // the cycles, or with a memory behind all ports an estimate that never falls when either grows.
  double Time(int64_t cycles, int64_t bytes) const;
  // Returns cycles with which Time is at least `time`.
  double CyclesFor(double time, int64_t bytes) const;
  bool weighs_energy() const {
    return objective_ == Objective::kEnergy || objective_ == Objective::kEdp;
  }
  // Returns the energy of these events in picojoules.
  double Picojoules(const Events& events) const;
  // Returns the expense of an instruction, tiling included, that takes `cycles`.
  Expense ExpenseOf(const Instruction& instruction, int64_t cycles) const;
  // Returns what the objective minimises: time, picojoules, picojoules times time, or bytes.
  double Measure(const Expense& expense) const;
  // Returns whether `a` has the smaller measure or, if they are equal, fewer cycles.
  bool IsBetter(const Expense& a, const Expense& b) const;

 private:
  const Config& config_;
  Objective objective_;
  int node_nm_;
  double memory_bytes_per_cycle_ = 0;  // 0: every port has its full rate
};

// The expenses of one matrix or depthwise instruction under each tiling of a list, in closed form:
// tilings differ only in how often inputs, weights and parameters are fetched, and weights loaded
// into the array.
class TilingExpenses {
 public:
  TilingExpenses(const Instruction& instruction, const Config& config, const Ranking& ranking,
                 std::span<const Tiling> tilings);
  // Returns picojoules and bytes with a tiling of the list's packings; cycles are left 0.
  Expense Of(const Tiling& tiling);

 private:
  // The expense of a packing, less what tilings differ in.
  struct Rest {
    Packing packing;
    Expense expense;
  };
  double PicojoulesOf(const Events& fetches) const;

  Instruction instruction_;  // with the tiling that was asked for last
  const Config& config_;
  int64_t taps_inside_ = 0;  // positions inside the image under all taps of all outputs
  // Picojoules of a bit of each buffer, of a weight that is loaded, of a byte of the outer memory.
  double input_bit_ = 0, weight_bit_ = 0, parameter_bit_ = 0, depthwise_input_bit_ = 0,
         depthwise_weight_bit_ = 0, loaded_weight_ = 0, byte_ = 0;
  std::vector<Rest> rests_;
};

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_COMPILE_RANKING_H_
