// The two units of a lane.

#include "kiln/targets/cgra/simulate/cycle/units.h"

#include <bit>

namespace kiln::cgra {
namespace {

int64_t SignedOf(uint32_t x) {
  return x < 0x80000000U ? int64_t{x} : int64_t{x} - (int64_t{1} << 32);
}

// Returns a binary32 number as binary64, which holds it exactly.
double DoubleOf(uint32_t x) { return static_cast<double>(std::bit_cast<float>(x)); }

// Rounds to binary32. Products of two binary32 numbers are exact in binary64, and sums lose nothing
// that matters by being rounded twice (53 bits are at least 2 * 24 + 2).
uint32_t RoundedBits(double x) {
  constexpr uint32_t kQuietNan = 0x7fc00000U;
  return x == x ? std::bit_cast<uint32_t>(static_cast<float>(x)) : kQuietNan;
}

}  // namespace

uint32_t MultiplyUnit(MultiplyOp op, uint32_t in1, uint32_t in2) {
  const uint32_t distance = in2 % 32;
  switch (op) {
    case MultiplyOp::kPass:
      return in1;
    case MultiplyOp::kMultiply:
      return static_cast<uint32_t>(uint64_t{in1} * in2);
    case MultiplyOp::kShiftLeft:
      return static_cast<uint32_t>(uint64_t{in1} << distance);
    case MultiplyOp::kShiftRight:
      return static_cast<uint32_t>(uint64_t{in1} >> distance);
    case MultiplyOp::kShiftArithmetic: {
      // The sign in the upper half of 64 bits.
      const uint64_t extended = (in1 >> 31 != 0 ? uint64_t{0xffffffff} << 32 : 0) | in1;
      return static_cast<uint32_t>(extended >> distance);
    }
    case MultiplyOp::kFloatMultiply:
      return RoundedBits(DoubleOf(in1) * DoubleOf(in2));
  }
  return 0;
}

uint32_t LogicUnit(LogicOp op, uint32_t m, uint32_t in2, uint32_t in3) {
  switch (op) {
    case LogicOp::kPass:
      return m;
    case LogicOp::kAdd:
      return static_cast<uint32_t>(uint64_t{m} + in3);
    case LogicOp::kSubtract:
      return static_cast<uint32_t>(uint64_t{m} - in3);
    case LogicOp::kReverseSubtract:
      return static_cast<uint32_t>(uint64_t{in3} - m);
    case LogicOp::kAnd:
      return m & in3;
    case LogicOp::kOr:
      return m | in3;
    case LogicOp::kXor:
      return m ^ in3;
    case LogicOp::kLeast:
      return SignedOf(m) <= SignedOf(in3) ? m : in3;
    case LogicOp::kGreatest:
      return SignedOf(m) >= SignedOf(in3) ? m : in3;
    case LogicOp::kLess:
      return SignedOf(m) < SignedOf(in3) ? 1 : 0;
    case LogicOp::kGreater:
      return SignedOf(m) > SignedOf(in3) ? 1 : 0;
    case LogicOp::kEqual:
      return m == in3 ? 1 : 0;
    case LogicOp::kSelect:
      return m != 0 ? in2 : in3;
    case LogicOp::kFloatAdd:
      return RoundedBits(DoubleOf(m) + DoubleOf(in3));
    case LogicOp::kFloatSubtract:
      return RoundedBits(DoubleOf(m) - DoubleOf(in3));
    case LogicOp::kFloatReverseSubtract:
      return RoundedBits(DoubleOf(in3) - DoubleOf(m));
    case LogicOp::kGate:
      return in3 != 0 ? m : 0;
  }
  return 0;
}

}  // namespace kiln::cgra
