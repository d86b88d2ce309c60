// Tests that the clocks that the shipped design points state are confirmed, and which keys of a
// design point decide what its clock is.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "kiln/support/resources.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/registry.h"

namespace kiln {
namespace {

// FPGAs and a grid for mapping alone, for which Kiln has no clock model.
const std::set<std::string> kNoClockModel = {"cgra-grid-4x4",    "dataflow-pynq",
                                             "dataflow-small",   "dataflow-u250",
                                             "dataflow-ultra96", "dataflow-zcu104"};
TEST(Clocks, OfShippedDesignPointsAreConfirmed) {
  int confirmed = 0;
  for (const std::filesystem::path& file : ListResources("accelerators")) {
    SCOPED_TRACE(file.string());
    const auto machine = LoadAccelerator(file);
    ASSERT_TRUE(machine.ok()) << machine.status();
    const auto cost = (*machine)->EstimateCost(kDefaultNode);
    ASSERT_TRUE(cost.ok()) << cost.status();
    const MachineClock& clock = cost->clock;
    EXPECT_EQ(clock.machine.top.empty(), kNoClockModel.contains(file.stem().string()));
    if (clock.machine.top.empty()) continue;
    EXPECT_TRUE(clock.known()) << "bench/machine_grid measures it; after a new key whose default "
                                  "changes no hardware, add key=DEFAULT to the rows of "
                                  "technology/osu018/machines.csv and run it with --table";
    EXPECT_GE(clock.mhz, (*machine)->ClockMhz());
    ++confirmed;
  }
  EXPECT_GE(confirmed, 35);
}

// Returns the clock of a shipped design point with more keys.
MachineClock ClockWith(const std::string& name, const std::string& keys) {
  const StatusOr<std::string> text = ReadFile("accelerators/" + name + ".yaml");
  EXPECT_TRUE(text.ok()) << text.status();
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-clock-test");
  const std::filesystem::path file = folder.path() / "point.yaml";
  EXPECT_TRUE(WriteFile(file, *text + keys).ok());
  const auto machine = LoadAccelerator(file);
  EXPECT_TRUE(machine.ok()) << machine.status();
  return machine.ok() ? (*machine)->EstimateCost(kDefaultNode)->clock : MachineClock();
}

TEST(Clocks, FollowFromTheKeysThatDetermineTheHardware) {
  const MachineClock shipped = ClockWith("vta-pynq", "");
  ASSERT_TRUE(shipped.known());
  EXPECT_EQ(shipped.unknown(), "");
  // No comment, and no key that is not of the hardware.
  EXPECT_EQ(ClockWith("vta-pynq", "# a comment\n").machine.keys, shipped.machine.keys);
  EXPECT_EQ(shipped.machine.keys.find("clock_mhz"), std::string::npos);
  EXPECT_EQ(shipped.machine.keys.find("name="), std::string::npos);
  // A latency between those that were synthesised, and one beyond them.
  EXPECT_TRUE(ClockWith("vta-pynq", "memory_latency: 100\n").known());
  EXPECT_EQ(ClockWith("vta-pynq", "memory_latency: 100\n").in_place,
            "with memory_latency 32 and 256");
  EXPECT_EQ(shipped.in_place, "");
  EXPECT_FALSE(ClockWith("vta-pynq", "memory_latency: 257\n").known());
  const MachineClock banks = ClockWith("vta-pynq", "accumulator_banks: 2\n");
  EXPECT_FALSE(banks.known());
  EXPECT_EQ(banks.unknown(), "this machine has not been synthesised; `kiln synth` finds its clock");
}

}  // namespace
}  // namespace kiln
