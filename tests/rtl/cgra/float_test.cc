// Compares a lane with pipelined binary32 units with C++ arithmetic.
#include <bit>
#include <cmath>

#include "Vcgra_float_lane.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

constexpr uint32_t kNan = 0x7fc00000;
constexpr uint32_t kSpecial[] = {
    0x00000000, 0x00000001, 0x00000002, 0x007fffff, 0x00800000, 0x00800001, 0x00ffffff, 0x34000000,
    0x33800000, 0x33800001, 0x3f7fffff, 0x3f800000, 0x3f800001, 0x3fc00000, 0x4b000000, 0x4b7fffff,
    0x4b800000, 0x7e800000, 0x7f000000, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fc00000, 0x7fffffff};

uint32_t Bits(float value) { return std::isnan(value) ? kNan : std::bit_cast<uint32_t>(value); }
float Float(uint32_t bits) { return std::bit_cast<float>(bits); }

struct FloatInput {
  int multiply = 5, logic = 0;
  bool gated = false;
  uint32_t in1 = 0, in2 = 0, in3 = 0;
};

uint32_t Expected(const FloatInput& in) {
  const uint32_t m = in.multiply == 5   ? Bits(Float(in.in1) * Float(in.in2))
                     : in.multiply == 1 ? in.in1 * in.in2
                                        : in.in1;
  if (in.gated && in.in2 == 0) return 0;
  switch (in.logic) {
    case 1:
      return m + in.in3;
    case 12:
      return m != 0 ? in.in2 : in.in3;
    case 13:
      return Bits(Float(m) + Float(in.in3));
    case 14:
      return Bits(Float(m) - Float(in.in3));
    case 15:
      return Bits(Float(in.in3) - Float(m));
    case 16:
      return in.in3 == 0 ? 0 : m;
    default:
      return m;
  }
}

class FloatDriver {
 public:
  FloatDriver(uint64_t seed, double stall) : sim_(seed), stalls_(seed, stall) {}
  void Send(const FloatInput& in) {
    while (stalls_.Next()) Drive(FloatInput{}, false);
    Drive(in, true);
  }

 private:
  // Operands enter now, the operation of the second unit is that of two cycles ago, the result that
  // of four cycles ago.
  void Drive(const FloatInput& in, bool advance) {
    sim_->advance = advance;
    sim_->multiply = static_cast<uint8_t>(in.multiply);
    sim_->in1 = in.in1;
    sim_->in2 = in.in2;
    sim_->in3 = in.in3;
    sim_->logic_operation = static_cast<uint8_t>(sent_[1].logic);
    sim_->gated = sent_[1].gated;
    sim_.Settle();
    if (count_ >= 4) {
      ASSERT_EQ(sim_->result, Expected(sent_[3]))
          << sent_[3].multiply << " " << sent_[3].logic << std::hex << " " << sent_[3].in1 << " "
          << sent_[3].in2 << " " << sent_[3].in3;
    }
    sim_.Step();
    if (!advance) return;
    sent_.push_front(in);
    sent_.pop_back();
    ++count_;
  }

  Simulation<Vcgra_float_lane> sim_;
  Stalls stalls_;
  std::deque<FloatInput> sent_ = std::deque<FloatInput>(4);
  int count_ = 0;
};

TEST(CgraFloatLane, MultipliesAndAddsSpecialValues) {
  FloatDriver driver(1, 0);
  for (const uint32_t a : kSpecial) {
    for (const uint32_t b : kSpecial) {
      for (uint32_t signs = 0; signs < 4; ++signs) {
        const uint32_t x = a | signs << 31, y = b | (signs >> 1) << 31;
        driver.Send({.in1 = x, .in2 = y});
        driver.Send({.multiply = 0, .logic = 13, .in1 = x, .in3 = y});
        driver.Send({.multiply = 0, .logic = 14, .in1 = x, .in3 = y});
        driver.Send({.multiply = 0, .logic = 15, .in1 = x, .in3 = y});
      }
    }
  }
  for (int i = 0; i < 4; ++i) driver.Send({});
}

TEST(CgraFloatLane, ComputesRandomValuesBehindStalls) {
  FloatDriver driver(2, 0.2);
  Random random(2);
  constexpr int kMultiply[] = {0, 1, 5, 5}, kLogic[] = {0, 1, 12, 13, 13, 14, 15, 16};
  for (int i = 0; i < 60000; ++i) {
    // Half of the numbers have close exponents, so that sums cancel.
    const auto number = [&] {
      const auto bits = static_cast<uint32_t>(random());
      return random.Below(2) == 0 ? bits : (bits & 0x81ffffff) | 0x3e000000;
    };
    driver.Send({.multiply = kMultiply[random.Below(4)],
                 .logic = kLogic[random.Below(8)],
                 .gated = random.Below(8) == 0,
                 .in1 = number(),
                 .in2 = random.Below(8) == 0 ? 0 : number(),
                 .in3 = random.Below(8) == 0 ? 0 : number()});
  }
  for (int i = 0; i < 4; ++i) driver.Send({});
}

}  // namespace
}  // namespace kiln::rtl
