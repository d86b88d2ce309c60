// Compares kiln_user_unit and kiln_user_maximum with the C++ model of the unit (user_maximum.cc):
// every pair of codes, then random windows with steps at random times.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "Vuser_unit.h"
#include "kiln/support/random.h"
#include "kiln/targets/systolic/config/user_unit.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

constexpr size_t kLanes = 3, kTaps = 4;

// One cycle's inputs.
struct Step {
  bool valid = false, first = false;
  uint32_t present = 0;
  std::array<std::array<int8_t, kLanes>, kTaps> inputs{}, weights{};
  std::array<int8_t, kLanes> narrow{};  // of five bits
};

class UserUnits {
 public:
  explicit UserUnits(uint64_t seed) : bench_(seed) {
    const systolic::UserUnitEntry* entry = systolic::FindUserUnit("maximum");
    EXPECT_NE(entry, nullptr);
    EXPECT_EQ(entry->number, 1);
    unit_ = entry->unit;
    bench_->valid = 0;
  }

  // A cycle: what stands at the outputs, then this step.
  void Cycle(const Step& step) {
    bench_->valid = step.valid;
    bench_->first = step.first;
    bench_->present = static_cast<uint8_t>(step.present);
    std::vector<uint8_t> inputs, weights;
    for (size_t tap = 0; tap < kTaps; ++tap) {
      for (const int8_t code : step.inputs[tap]) inputs.push_back(static_cast<uint8_t>(code));
      for (const int8_t code : step.weights[tap]) weights.push_back(static_cast<uint8_t>(code));
    }
    SetBytes(bench_->inputs, inputs);
    SetBytes(bench_->weights, weights);
    uint32_t narrow = 0;
    for (size_t lane = 0; lane < kLanes; ++lane) narrow |= (step.narrow[lane] & 31u) << (5 * lane);
    bench_->narrow_inputs = static_cast<uint16_t>(narrow);
    bench_.Settle();
    for (size_t lane = 0; lane < kLanes; ++lane) {
      if (now_.has_value()) {  // without a register
        ASSERT_EQ(static_cast<int32_t>(bench_->maximum_sums[lane]), now_->wide[lane])
            << "lane " << lane;
      }
      if (later_.has_value()) {
        ASSERT_EQ(static_cast<int32_t>(bench_->slot_sums[lane]), later_->wide[lane])
            << "lane " << lane;
        const auto got = static_cast<int16_t>(bench_->narrow_sums >> (16 * lane));
        ASSERT_EQ(got, later_->narrow[lane]) << "lane " << lane;
      }
    }
    later_ = now_;
    if (step.valid) {
      if (step.first) now_ = Begin();
      if (now_.has_value()) Fold(step);
    }
    bench_.Step();
  }

 private:
  struct Sums {
    std::array<int32_t, kLanes> wide, narrow;
  };
  std::optional<Sums> Begin() const {
    Sums sums;
    sums.wide.fill(unit_->Begin());
    sums.narrow.fill(unit_->Begin());
    return sums;
  }
  void Fold(const Step& step) {
    for (size_t tap = 0; tap < kTaps; ++tap) {
      if ((step.present >> tap & 1) == 0) continue;
      unit_->Fold(step.inputs[tap].data(), step.weights[tap].data(), now_->wide);
      if (tap == 0) unit_->Fold(step.narrow.data(), step.weights[tap].data(), now_->narrow);
    }
  }

  Simulation<Vuser_unit> bench_;
  const systolic::UserUnit* unit_ = nullptr;
  std::optional<Sums> now_, later_;  // sums of the steps so far, and of those before the last cycle
};

TEST(UserUnit, EveryPairOfCodes) {
  UserUnits units(1);
  for (int x = -128; x < 128; ++x) {
    for (int y = -128; y < 128 && !testing::Test::HasFatalFailure(); ++y) {
      // In one step; in lane 1 the other way round, in lane 2 the second one in a step of its own.
      const auto a = static_cast<int8_t>(x), b = static_cast<int8_t>(y);
      const std::array<int8_t, kLanes> narrow = {static_cast<int8_t>(x >> 3),
                                                 static_cast<int8_t>(y >> 3), 0};
      units.Cycle({.valid = true,
                   .first = true,
                   .present = 0b1001,
                   .inputs = {{{a, b, a}, {}, {}, {b, a, -128}}},
                   .narrow = narrow});
      units.Cycle({.valid = true, .present = 0b0010, .inputs = {{{}, {-128, -128, b}}}});
    }
  }
  units.Cycle({});
  units.Cycle({});
}

TEST(UserUnit, RandomWindowsWithStalls) {
  for (const double stall : {0.0, 0.5}) {
    UserUnits units(2);
    Random random(3);
    Stalls steps(4, stall);
    for (int window = 0; window < 10'000 && !testing::Test::HasFatalFailure(); ++window) {
      const auto count = static_cast<int>(random.Between(1, 5));
      for (int i = 0; i < count;) {
        Step step;
        step.valid = !steps.Next();
        step.first = i == 0;
        step.present = static_cast<uint32_t>(random.Below(1 << kTaps));
        for (auto* taps : {&step.inputs, &step.weights}) {
          for (auto& tap : *taps) {
            for (int8_t& code : tap) code = static_cast<int8_t>(random());
          }
        }
        for (int8_t& code : step.narrow) code = static_cast<int8_t>(random.Between(-16, 15));
        units.Cycle(step);
        i += step.valid ? 1 : 0;
      }
    }
    units.Cycle({});
    units.Cycle({});
  }
}

}  // namespace
}  // namespace kiln::rtl
