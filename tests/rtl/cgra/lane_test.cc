// Compares a lane with plain C++ arithmetic: all operations on all pairs of corner values, and on
// random ones; its registers on random stalls.
#include <bit>
#include <cmath>

#include "Vcgra_lane.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

constexpr uint32_t kCorners[] = {0,          1,          2,          3,          31,
                                 32,         33,         0x7fff,     0x8000,     0xffff,
                                 0x10000,    0x55555555, 0xaaaaaaaa, 0x7ffffffe, 0x7fffffff,
                                 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff};

struct LaneInput {
  int multiply = 0, logic = 0;
  bool gated = false;
  uint32_t in1 = 0, in2 = 0, in3 = 0;
};

uint32_t Multiply(const LaneInput& in) {
  const uint32_t shift = in.in2 % 32;
  switch (in.multiply) {
    case 1:
      return static_cast<uint32_t>(uint64_t{in.in1} * in.in2);
    case 2:
      return static_cast<uint32_t>(uint64_t{in.in1} << shift);
    case 3:
      return in.in1 >> shift;
    case 4:
      return static_cast<uint32_t>(int64_t{static_cast<int32_t>(in.in1)} >> shift);
    default:
      return in.in1;
  }
}

uint32_t Expected(const LaneInput& in) {
  const uint32_t m = Multiply(in), c = in.in3;
  const int64_t a = static_cast<int32_t>(m), b = static_cast<int32_t>(c);
  if (in.gated && in.in2 == 0) return 0;
  switch (in.logic) {
    case 1:
      return static_cast<uint32_t>(a + b);
    case 2:
      return static_cast<uint32_t>(a - b);
    case 3:
      return static_cast<uint32_t>(b - a);
    case 4:
      return m & c;
    case 5:
      return m | c;
    case 6:
      return m ^ c;
    case 7:
      return static_cast<uint32_t>(std::min(a, b));
    case 8:
      return static_cast<uint32_t>(std::max(a, b));
    case 9:
      return a < b ? 1 : 0;
    case 10:
      return b < a ? 1 : 0;
    case 11:
      return a == b ? 1 : 0;
    case 12:
      return m != 0 ? in.in2 : c;
    case 16:
      return c != 0 ? m : 0;
    default:
      return m;
  }
}

// Sends operands every cycle that is not stalled and compares the results two fabric cycles later.
class LaneDriver {
 public:
  explicit LaneDriver(uint64_t seed, double stall) : sim_(seed), stalls_(seed, stall) {}

  void Send(const LaneInput& in) {
    while (stalls_.Next()) {
      Drive(LaneInput{.multiply = 1, .in1 = 77, .in2 = 99, .in3 = 5}, false);
    }
    Drive(in, true);
  }
  void Flush() {
    for (int i = 0; i < 3; ++i) Send(LaneInput{});
  }

 private:
  void Drive(const LaneInput& in, bool advance) {
    sim_->advance = advance;
    sim_->multiply = static_cast<uint8_t>(in.multiply);
    sim_->in1 = in.in1;
    sim_->in2 = in.in2;
    sim_->in3 = in.in3;
    sim_->logic_operation = static_cast<uint8_t>(second_.logic);
    sim_->gated = second_.gated;
    sim_.Settle();
    if (sent_ >= 2) {
      ASSERT_EQ(sim_->result, Expected(third_))
          << third_.multiply << " " << third_.logic << " " << third_.gated << " " << std::hex
          << third_.in1 << " " << third_.in2 << " " << third_.in3;
    }
    if (sent_ >= 1) {
      ASSERT_EQ(sim_->next, Expected(second_));
    }
    sim_.Step();
    if (!advance) return;
    third_ = second_;
    second_ = in;
    ++sent_;
  }

  Simulation<Vcgra_lane> sim_;
  Stalls stalls_;
  LaneInput second_, third_;
  int sent_ = 0;
};

TEST(CgraLane, ComputesAllOperationsOnCornerValues) {
  LaneDriver driver(1, 0);
  Random random(7);
  for (int multiply = 0; multiply < 8; ++multiply) {
    for (const uint32_t in1 : kCorners) {
      for (const uint32_t in2 : kCorners) {
        driver.Send({.multiply = multiply,
                     .logic = static_cast<int>(random.Below(17)),
                     .in1 = in1,
                     .in2 = in2,
                     .in3 = kCorners[random.Below(std::size(kCorners))]});
        driver.Send({.multiply = multiply, .in1 = in1, .in2 = in2});
      }
    }
  }
  for (int logic = 0; logic < 32; ++logic) {
    for (const uint32_t m : kCorners) {
      for (const uint32_t in3 : kCorners) {
        for (const uint32_t in2 : {0U, 1U, 0x80000000U}) {
          for (const bool gated : {false, true}) {
            driver.Send({.logic = logic, .gated = gated, .in1 = m, .in2 = in2, .in3 = in3});
          }
        }
      }
    }
  }
  driver.Flush();
}

TEST(CgraLane, ShiftsByEveryDistance) {
  LaneDriver driver(2, 0);
  for (int multiply = 2; multiply <= 4; ++multiply) {
    for (uint32_t distance = 0; distance < 64; ++distance) {
      for (const uint32_t in1 : kCorners)
        driver.Send({.multiply = multiply, .in1 = in1, .in2 = distance});
    }
  }
  driver.Flush();
}

TEST(CgraLane, KeepsValuesInStalls) {
  LaneDriver driver(3, 0.3);
  Random random(11);
  for (int i = 0; i < 20000; ++i) {
    driver.Send({.multiply = static_cast<int>(random.Below(8)),
                 .logic = static_cast<int>(random.Below(32)),
                 .gated = random.Below(4) == 0,
                 .in1 = static_cast<uint32_t>(random()),
                 .in2 = random.Below(3) == 0 ? 0 : static_cast<uint32_t>(random()),
                 .in3 = random.Below(3) == 0 ? 0 : static_cast<uint32_t>(random())});
  }
  driver.Flush();
}

}  // namespace
}  // namespace kiln::rtl
