// Operations of the multiply/shift and the arithmetic/logic unit as loops that compilers vectorise.

#include "kiln/targets/cgra/simulate/functional/lanes.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace kiln::cgra {
namespace {

constexpr int32_t kNan = 0x7fc00000;

template <typename Function>
void ForLanes(const int32_t* a, const int32_t* b, size_t count, int32_t* result,
              const Function& function) {
  for (size_t i = 0; i < count; ++i) result[i] = function(a[i], b[i]);
}

uint32_t AsBits(int32_t x) { return static_cast<uint32_t>(x); }
int32_t AsSigned(uint32_t x) { return static_cast<int32_t>(x); }
float AsFloat(int32_t x) { return std::bit_cast<float>(x); }
int32_t FromFloat(float x) { return std::isnan(x) ? kNan : std::bit_cast<int32_t>(x); }

void Multiply(MultiplyOp op, const int32_t* a, const int32_t* b, size_t n, int32_t* m) {
  switch (op) {
    case MultiplyOp::kPass:
      std::copy(a, a + n, m);
      return;
    case MultiplyOp::kMultiply:
      ForLanes(a, b, n, m, [](int32_t x, int32_t y) { return AsSigned(AsBits(x) * AsBits(y)); });
      return;
    case MultiplyOp::kShiftLeft:
      ForLanes(a, b, n, m, [](int32_t x, int32_t y) { return AsSigned(AsBits(x) << (y & 31)); });
      return;
    case MultiplyOp::kShiftRight:
      ForLanes(a, b, n, m, [](int32_t x, int32_t y) { return AsSigned(AsBits(x) >> (y & 31)); });
      return;
    case MultiplyOp::kShiftArithmetic:
      ForLanes(a, b, n, m, [](int32_t x, int32_t y) { return x >> (y & 31); });
      return;
    case MultiplyOp::kFloatMultiply:
      ForLanes(a, b, n, m, [](int32_t x, int32_t y) { return FromFloat(AsFloat(x) * AsFloat(y)); });
      return;
  }
}

int32_t Add(int32_t x, int32_t y) { return AsSigned(AsBits(x) + AsBits(y)); }
int32_t Subtract(int32_t x, int32_t y) { return AsSigned(AsBits(x) - AsBits(y)); }
int32_t FloatAdd(int32_t x, int32_t y) { return FromFloat(AsFloat(x) + AsFloat(y)); }
int32_t FloatSubtract(int32_t x, int32_t y) { return FromFloat(AsFloat(x) - AsFloat(y)); }

// Replaces m by g(m, in3).
void Logic(LogicOp op, const std::array<const int32_t*, 3>& in, size_t n, int32_t* m) {
  const int32_t* c = in[2];
  switch (op) {
    case LogicOp::kPass:
      return;
    case LogicOp::kAdd:
      return ForLanes(m, c, n, m, Add);
    case LogicOp::kSubtract:
      return ForLanes(m, c, n, m, Subtract);
    case LogicOp::kReverseSubtract:
      return ForLanes(c, m, n, m, Subtract);
    case LogicOp::kAnd:
      return ForLanes(m, c, n, m, [](int32_t x, int32_t y) { return x & y; });
    case LogicOp::kOr:
      return ForLanes(m, c, n, m, [](int32_t x, int32_t y) { return x | y; });
    case LogicOp::kXor:
      return ForLanes(m, c, n, m, [](int32_t x, int32_t y) { return x ^ y; });
    case LogicOp::kLeast:
      return ForLanes(m, c, n, m, [](int32_t x, int32_t y) { return x < y ? x : y; });
    case LogicOp::kGreatest:
      return ForLanes(m, c, n, m, [](int32_t x, int32_t y) { return x < y ? y : x; });
    case LogicOp::kLess:
      return ForLanes(m, c, n, m, [](int32_t x, int32_t y) { return x < y ? 1 : 0; });
    case LogicOp::kGreater:
      return ForLanes(m, c, n, m, [](int32_t x, int32_t y) { return y < x ? 1 : 0; });
    case LogicOp::kEqual:
      return ForLanes(m, c, n, m, [](int32_t x, int32_t y) { return x == y ? 1 : 0; });
    case LogicOp::kSelect:
      for (size_t i = 0; i < n; ++i) m[i] = m[i] != 0 ? in[1][i] : c[i];
      return;
    case LogicOp::kFloatAdd:
      return ForLanes(m, c, n, m, FloatAdd);
    case LogicOp::kFloatSubtract:
      return ForLanes(m, c, n, m, FloatSubtract);
    case LogicOp::kFloatReverseSubtract:
      return ForLanes(c, m, n, m, FloatSubtract);
    case LogicOp::kGate:
      return ForLanes(m, c, n, m, [](int32_t x, int32_t y) { return y != 0 ? x : 0; });
  }
}

}  // namespace

void ComputeLanes(const InstructionEntry& entry, const std::array<const int32_t*, 3>& in,
                  size_t count, int32_t* result) {
  Multiply(entry.multiply, in[0], in[1], count, result);
  Logic(entry.logic, in, count, result);
  if (!entry.gated) return;
  for (size_t i = 0; i < count; ++i) result[i] = in[1][i] != 0 ? result[i] : 0;
}

}  // namespace kiln::cgra
