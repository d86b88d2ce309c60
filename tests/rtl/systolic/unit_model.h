// What tests of the array side have in common: random instructions, the times that the cycle level's rules give when
// tokens come at random, and the check of what the RTL did against them.
#ifndef KILN_TESTS_RTL_SYSTOLIC_UNIT_MODEL_H_
#define KILN_TESTS_RTL_SYSTOLIC_UNIT_MODEL_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kiln/hardware/event_kernel.h"
#include "kiln/support/random.h"
#include "kiln/targets/systolic/config.h"
#include "kiln/targets/systolic/cycle_data.h"
#include "kiln/targets/systolic/isa.h"
#include "kiln/targets/systolic/walk.h"

namespace kiln::rtl {

// An instruction of a test with what follows from it, and the cycles in which each unit gets to see it.
struct TestInstruction {
  systolic::Instruction instruction;
  std::vector<uint8_t> memory, encoded;
  systolic::Geometry geometry;
  std::vector<systolic::Visit> visits;
  int64_t first_block = 0;
  int64_t load_at = 0, array_at = 0;
};

// Levels that the RTL must show in exactly these cycles.
class Expected {
 public:
  void Pulse(const std::string& port, int64_t cycle) { ++cycles_[port][cycle]; }
  void Level(const std::string& port, int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) Pulse(port, t);
  }
  // Complains unless the port is 1 exactly if expected.
  void Check(const std::string& port, int64_t cycle, bool value) const {
    const auto found = cycles_.find(port);
    const bool expected = found != cycles_.end() && found->second.count(cycle) > 0;
    EXPECT_EQ(value, expected) << port << " in cycle " << cycle;
  }

 private:
  std::map<std::string, std::map<int64_t, int>> cycles_;
};

}  // namespace kiln::rtl

#endif  // KILN_TESTS_RTL_SYSTOLIC_UNIT_MODEL_H_
