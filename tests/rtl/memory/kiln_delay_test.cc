// Compares kiln_delay and kiln_pulse_delay with the history of their inputs.
#include "Vdelay_0.h"
#include "Vdelay_1.h"
#include "Vdelay_5.h"
#include "Vpulse_delay_0.h"
#include "Vpulse_delay_1.h"
#include "Vpulse_delay_5.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

template <typename Model>
void DelaysBy(size_t cycles) {
  Simulation<Model> delay;
  Random random(cycles + 1);
  std::vector<uint16_t> history;
  for (size_t t = 0; t < 500; ++t) {
    history.push_back(static_cast<uint16_t>(random.Below(1 << 13)));
    delay->in = history.back();
    delay.Settle();
    if (t >= cycles) {
      ASSERT_EQ(delay->out, history[t - cycles]);
    }
    delay.Step();
  }
}

TEST(Delay, IsTheInputSoManyCyclesBefore) {
  DelaysBy<Vdelay_0>(0);
  DelaysBy<Vdelay_1>(1);
  DelaysBy<Vdelay_5>(5);
}

// Pulses that are in the line when a reset comes must not come out behind it.
template <typename Model>
void DelaysPulsesBy(size_t cycles) {
  Simulation<Model> delay;
  Random random(cycles + 1);
  for (int round = 0; round < 20; ++round) {
    delay->in = cycles == 0 ? 0 : 1;
    delay.Reset();
    std::vector<bool> history;
    for (size_t t = 0; t < 40; ++t) {
      history.push_back(random.Below(2) == 1);
      delay->in = history.back();
      delay.Settle();
      ASSERT_EQ(delay->out, t >= cycles && history[t - cycles]) << cycles << " cycles, at " << t;
      delay.Step();
    }
  }
}

TEST(PulseDelay, ForgetsWhatWasBeforeTheReset) {
  DelaysPulsesBy<Vpulse_delay_0>(0);
  DelaysPulsesBy<Vpulse_delay_1>(1);
  DelaysPulsesBy<Vpulse_delay_5>(5);
}

}  // namespace
}  // namespace kiln::rtl
