// Drives a unit's command port in tests of one unit with random stimuli: which commands are
// offered, and how often either side stalls.
#ifndef KILN_TESTS_RTL_SYSTOLIC_COMMAND_PORT_H_
#define KILN_TESTS_RTL_SYSTOLIC_COMMAND_PORT_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tests/rtl/support.h"

namespace kiln::rtl {

// Offers one command after the other, each after a stall, and holds it until it is accepted.
class CommandPort {
 public:
  CommandPort(size_t count, Stalls stalls) : count_(count), stalls_(std::move(stalls)) {}
  // Decides whether a command is offered in this cycle.
  bool Offers() {
    const bool stall = stalls_.Next();
    offered_ = next_ < count_ && (offered_ || !stall);
    return offered_;
  }
  // Returns the command that is offered now or next.
  size_t next() const { return next_; }
  void Take() {
    ++next_;
    offered_ = false;
  }

 private:
  size_t count_, next_ = 0;
  Stalls stalls_;
  bool offered_ = false;
};

// Returns the stalls of handshake `which` in round `seed`: no, some, or most cycles stall.
inline Stalls StallsOf(uint64_t seed, uint64_t which) {
  constexpr double kProbabilities[] = {0.0, 0.3, 0.85};
  return Stalls(16 * seed + which, kProbabilities[seed % 3],
                which % 2 == 0 ? Stalls::Kind::kBursts : Stalls::Kind::kSingle);
}

}  // namespace kiln::rtl

#endif  // KILN_TESTS_RTL_SYSTOLIC_COMMAND_PORT_H_
