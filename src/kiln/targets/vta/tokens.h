// Dependency tokens between neighbouring stages, and what each one proves.
//
// Every stage works in the order of the program, so the k-th token taken from a link is the k-th that was given: which
// instruction waits for which does not depend on how fast the stages are. A token therefore carries how far each stage
// is known to be when it was given.
#ifndef KILN_TARGETS_VTA_TOKENS_H_
#define KILN_TARGETS_VTA_TOKENS_H_

#include <array>
#include <cstddef>
#include <deque>

#include "kiln/targets/vta/isa.h"

namespace kiln::vta {

// How many instructions of each stage are known to be done.
using Progress = std::array<size_t, kStages>;

class Tokens {
 public:
  // Whether the tokens that an instruction waits for are there.
  bool Ready(const Instruction& instruction) const;
  // Takes them, counts the instruction as done, gives its own; returns what was known before it began: of its own stage
  // that all earlier instructions are done.
  Progress Pass(const Instruction& instruction);

  // Tokens that are left over stay for the next launch, and prove nothing of it.
  void BeginLaunch();
  bool none_left() const;
  size_t most_in_flight() const { return most_in_flight_; }  // on one link, so far

 private:
  // Links by giver and direction: load to compute, compute to load, compute to store, store to compute.
  using Link = std::deque<Progress>;
  static size_t LinkBetween(Stage from, Stage to);
  static Stage Previous(Stage stage) { return static_cast<Stage>(static_cast<int>(stage) - 1); }
  static Stage Next(Stage stage) { return static_cast<Stage>(static_cast<int>(stage) + 1); }

  std::array<Link, 4> links_;
  size_t most_in_flight_ = 0;
  std::array<Progress, kStages> known_{};  // by each stage
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_TOKENS_H_
