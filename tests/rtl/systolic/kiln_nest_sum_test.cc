// Compares kiln_nest_sum with the sum of index * step.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "Vnest_sum.h"
#include "kiln/support/random.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

TEST(NestSum, IsTheSumOfIndicesTimesSteps) {
  constexpr size_t kLevels = 4;
  constexpr int kBits = 16;
  Random random(3);
  Simulation<Vnest_sum> nest(7);
  nest->restart = 0;
  nest->rewind = 0;
  nest->advance = 0;
  nest.Reset();
  std::array<uint64_t, kLevels> index{}, steps{};
  for (int cycle = 0; cycle < 20000; ++cycle) {
    // Steps change with the instruction only: they stand until a restart.
    const bool restart = cycle == 0 || random.Below(50) == 0;
    uint64_t sum = 0, packed = 0;
    for (size_t k = 0; k < kLevels; ++k) {
      sum += index[k] * steps[k];
      packed |= steps[k] << (kBits * k);
    }
    const uint64_t level = random.Below(kLevels + 2);  // kLevels: none; the next one: rewind
    nest->steps = packed;
    nest->restart = restart;
    nest->advance = static_cast<uint8_t>(level < kLevels ? 1u << level : 0u);
    nest->rewind = level > kLevels;
    nest.Settle();
    ASSERT_EQ(nest->sum, sum & 0xffff) << "cycle " << cycle;
    nest.Step();
    if (restart) {
      index.fill(0);
      for (uint64_t& step : steps) step = random.Below(5) == 0 ? 0 : random() & 0xffff;
    } else if (level < kLevels) {
      ++index[level];
      for (size_t k = 0; k < level; ++k) index[k] = 0;
    } else if (level > kLevels) {
      for (size_t k = 0; k + 1 < kLevels; ++k) index[k] = 0;
    }
  }
}

}  // namespace
}  // namespace kiln::rtl
