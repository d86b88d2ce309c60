// Dependency tokens between neighbouring stages, with the progress that each token proves. The
// functional level and the linter use them.
//
// Every stage executes its instructions in program order, so the k-th token taken from a link is
// the k-th that was given: which instruction waits for which does not depend on the speed of the
// stages. Each token therefore carries the progress that all stages are known to have made when it
// is given.
#ifndef KILN_TARGETS_VTA_ISA_TOKENS_H_
#define KILN_TARGETS_VTA_ISA_TOKENS_H_

#include <array>
#include <cstddef>
#include <deque>

#include "kiln/targets/vta/isa/isa.h"

namespace kiln::vta {

// The number of instructions of each stage that are known to be done.
using Progress = std::array<size_t, kStages>;

// The four links between neighbouring stages and the tokens on them.
class Tokens {
 public:
  // Returns whether the tokens that an instruction waits for are available.
  bool Ready(const Instruction& instruction) const;
  // Takes the tokens that the instruction waits for, counts it as done, and gives its tokens.
  // Returns the progress known before it began, in which all earlier instructions of its own stage
  // are done.
  Progress Pass(const Instruction& instruction);

  // Begins a launch. Tokens left over from earlier launches remain, but prove nothing about this
  // one.
  void BeginLaunch();
  bool none_left() const;
  size_t most_in_flight() const { return most_in_flight_; }  // on one link, so far

 private:
  // Links in order: load to compute, compute to load, compute to store, store to compute.
  using Link = std::deque<Progress>;
  static size_t LinkBetween(Stage from, Stage to);
  static Stage Previous(Stage stage) { return static_cast<Stage>(static_cast<int>(stage) - 1); }
  static Stage Next(Stage stage) { return static_cast<Stage>(static_cast<int>(stage) + 1); }

  std::array<Link, 4> links_;
  size_t most_in_flight_ = 0;
  std::array<Progress, kStages> known_{};  // by stage: what it knows
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_ISA_TOKENS_H_
