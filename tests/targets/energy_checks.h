// What holds of every family's estimates of energy.
#ifndef TESTS_TARGETS_ENERGY_CHECKS_H_
#define TESTS_TARGETS_ENERGY_CHECKS_H_

#include <gtest/gtest.h>

#include "kiln/hardware/technology.h"
#include "kiln/support/status.h"
#include "kiln/targets/interface/cost.h"

namespace kiln {

// All but outer memory scales with the node; `energy_at` gives the same events' energy at one, an
// error at one without a scale.
template <typename EnergyAt>
void ExpectAllButOuterMemoryScalesByNode(const EnergyAt& energy_at) {
  const StatusOr<Energy> at45 = energy_at(45), at7 = energy_at(7);
  ASSERT_TRUE(at45.ok() && at7.ok());
  ASSERT_EQ(at45->parts.size(), at7->parts.size());
  bool outer_memory = false;
  for (size_t i = 0; i < at45->parts.size(); ++i) {
    const bool outside = at45->parts[i].unit == "outer memory";
    const double ratio = at7->parts[i].picojoules() / at45->parts[i].picojoules();
    EXPECT_NEAR(ratio, outside ? 1 : hardware::EnergyScale(45, 7), 1e-12) << at45->parts[i].unit;
    outer_memory = outer_memory || outside;
  }
  EXPECT_TRUE(outer_memory);
  EXPECT_GT(at45->parts.size(), 1u);
  EXPECT_FALSE(energy_at(22).ok());
}

}  // namespace kiln

#endif  // TESTS_TARGETS_ENERGY_CHECKS_H_
