// Random programs on random design points, of every family: the levels agree on them.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kiln/support/random.h"
#include "tests/targets/conformance/conformance.h"

namespace kiln::conformance {
namespace {

// Seeds of these programs, apart from those of the families' own tests.
constexpr uint64_t kFirstSeed = 700'000;
constexpr uint64_t kPrograms = 150;
// Programs in hardware: on so many design points, so many on each.
constexpr uint64_t kPoints = 2, kRuns = 9;

class EveryFamilysRandomPrograms : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    for (const Family& family : Families()) {
      if (family.name == GetParam()) random_ = family.random;
    }
  }

  RandomPrograms random_;
};

TEST_P(EveryFamilysRandomPrograms, HaveTheBitsOfTheFunctionalLevel) {
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + kPrograms; ++seed) {
    const auto difference = random_.levels(seed);
    ASSERT_FALSE(difference.has_value()) << "seed " << seed << ": " << *difference;
  }
}

// Every third run stalls. Registers begin with other contents in every run.
TEST_P(EveryFamilysRandomPrograms, HaveTheBitsAndCyclesOfTheCycleLevelInHardware) {
  for (uint64_t point = 1; point <= kPoints; ++point) {
    std::vector<RandomRun> runs;
    for (uint64_t i = 0; i < kRuns; ++i) {
      const uint64_t seed = kFirstSeed + point * kRuns + i;
      runs.push_back({seed, i % 3 == 2 ? Random(seed).Uniform(0.1, 0.6) : 0});
    }
    const auto difference = random_.hardware(point, runs);
    ASSERT_FALSE(difference.has_value()) << "design point " << point << ": " << *difference;
  }
}

std::vector<std::string> NamesOfFamilies() {
  std::vector<std::string> names;
  for (const Family& family : Families()) names.push_back(family.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Conformance, EveryFamilysRandomPrograms,
                         testing::ValuesIn(NamesOfFamilies()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace kiln::conformance
