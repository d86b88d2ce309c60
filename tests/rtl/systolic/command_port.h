// A unit's command port in tests that drive one unit by random: who offers commands, and how often anything holds back.
#ifndef KILN_TESTS_RTL_SYSTOLIC_COMMAND_PORT_H_
#define KILN_TESTS_RTL_SYSTOLIC_COMMAND_PORT_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tests/rtl/support.h"

namespace kiln::rtl {

// One command after the other, each offered after a stall and held until it is taken.
class CommandPort {
 public:
  CommandPort(size_t count, Stalls stalls) : count_(count), stalls_(std::move(stalls)) {}
  // Decides about a cycle.
  bool Offers() {
    const bool stall = stalls_.Next();
    offered_ = next_ < count_ && (offered_ || !stall);
    return offered_;
  }
  // The command that is or will be offered.
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

// Of round `seed` and handshake `which`: none, some, or most cycles stall.
inline Stalls StallsOf(uint64_t seed, uint64_t which) {
  constexpr double kProbabilities[] = {0.0, 0.3, 0.85};
  return Stalls(16 * seed + which, kProbabilities[seed % 3],
                which % 2 == 0 ? Stalls::Kind::kBursts : Stalls::Kind::kSingle);
}

}  // namespace kiln::rtl

#endif  // KILN_TESTS_RTL_SYSTOLIC_COMMAND_PORT_H_
