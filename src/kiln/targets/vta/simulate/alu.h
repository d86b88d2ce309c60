// One operation of VTA's ALU on one accumulator, shared by the functional and the cycle level.
#ifndef KILN_TARGETS_VTA_SIMULATE_ALU_H_
#define KILN_TARGETS_VTA_SIMULATE_ALU_H_

#include <algorithm>
#include <cstdint>

#include "kiln/targets/vta/isa/instruction.h"

namespace kiln::vta {

// The greatest shift distance. Shifts by more are undefined in the original; here they shift by
// this distance.
inline constexpr int32_t kMaxShift = 31;

// Returns `x op y` modulo 2^32. kShiftRight shifts arithmetically, and by a negative amount to the
// left.
inline int32_t Calculate(AluOp op, int32_t x, int32_t y) {
  const auto ux = static_cast<uint32_t>(x), uy = static_cast<uint32_t>(y);
  switch (op) {
    case AluOp::kMin:
      return std::min(x, y);
    case AluOp::kMax:
      return std::max(x, y);
    case AluOp::kAdd:
      return static_cast<int32_t>(ux + uy);
    case AluOp::kShiftRight: {
      const int32_t amount = std::clamp(y, -kMaxShift, kMaxShift);
      return amount >= 0 ? x >> amount : static_cast<int32_t>(ux << -amount);
    }
    case AluOp::kMultiply:
      return static_cast<int32_t>(ux * uy);
  }
  return x;
}

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_SIMULATE_ALU_H_
