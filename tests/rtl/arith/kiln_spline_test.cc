// Compares kiln_spline with Approximate, bit for bit: every function, with corner values, with
// every knot and its neighbours, and with random numbers.
#include <bit>
#include <cstdint>

#include "Varith_spline.h"
#include "gtest/gtest.h"
#include "kiln/numerics/nonlinear.h"
#include "tests/rtl/arith/fp32_values.h"

namespace kiln::rtl {
namespace {

class SplineUnit : public testing::TestWithParam<int> {
 protected:
  void Check(uint32_t bits) {
    const auto function = static_cast<NonlinearFunction>(GetParam());
    const auto x = std::bit_cast<float>(bits);
    model_.select = static_cast<uint8_t>(GetParam());
    model_.x = bits;
    model_.eval();
    Expect("fp32", model_.fp32, Approximate(*fp32_, function, x));
    Expect("bf16", model_.bf16, Approximate(*bf16_, function, x));
    Expect("tanh", model_.tanh, Approximate(*fp32_, NonlinearFunction::kTanh, x));
  }
  void CheckNear(uint32_t bits) {
    for (uint32_t distance = 0; distance < 9; ++distance) {
      for (const uint32_t sign : {0x00000000u, 0x80000000u}) Check((bits + distance - 4) ^ sign);
    }
  }
  bool TooMany() const { return failures_ > 10; }

  const SplineTables* const fp32_ = *SplineTablesFor(*FindFormat("fp32"));
  const SplineTables* const bf16_ = *SplineTablesFor(*FindFormat("bf16"));

 private:
  void Expect(const char* unit, uint32_t actual, float expected) {
    if (actual == std::bit_cast<uint32_t>(expected) || TooMany()) return;
    ++failures_;
    ADD_FAILURE() << unit << ": " << NameOf(static_cast<NonlinearFunction>(GetParam())) << " of "
                  << std::hex << model_.x << ": " << actual << ", not "
                  << std::bit_cast<uint32_t>(expected);
  }

  VerilatedContext context_;
  Varith_spline model_{&context_};
  int failures_ = 0;
};

TEST_P(SplineUnit, CornersAndKnots) {
  for (const uint32_t corner : kFp32Corners) CheckNear(corner);
  for (const SplineTables* tables : {fp32_, bf16_}) {
    for (const Spline& spline : tables->splines) {
      for (const float knot : spline.knots) CheckNear(std::bit_cast<uint32_t>(knot));
    }
  }
  for (const float x :
       {-105.0f, 90.0f, 88.72284f, -87.33655f, -103.97208f, 3.0f, 6.0f, 0.75f, 1.5f}) {
    CheckNear(std::bit_cast<uint32_t>(x));
  }
  // Every exponent.
  for (uint32_t field = 0; field < 256; ++field) {
    for (const uint32_t fraction : {0x000000u, 0x000001u, 0x3fffffu, 0x400000u, 0x7fffffu}) {
      Check(field << 23 | fraction);
      Check(1u << 31 | field << 23 | fraction);
    }
  }
}

TEST_P(SplineUnit, RandomNumbers) {
  Random random(static_cast<uint64_t>(GetParam()));
  for (int i = 0; i < 100000 && !TooMany(); ++i) Check(RandomFp32(random));
  // Where functions do most of their work.
  for (int i = 0; i < 100000 && !TooMany(); ++i) {
    const auto bits = static_cast<uint32_t>(random());
    Check((bits & 0x80000000u) | ((118 + (bits >> 23) % 16) << 23) | (bits & 0x007fffffu));
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, SplineUnit, testing::Range(0, kNonlinearFunctions),
                         [](const auto& info) {
                           return std::string(NameOf(static_cast<NonlinearFunction>(info.param)));
                         });

}  // namespace
}  // namespace kiln::rtl
