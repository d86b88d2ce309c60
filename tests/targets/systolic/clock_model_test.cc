// Tests of the modules that bound the clock of systolic machines.
#include "kiln/targets/systolic/cost/clock_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "kiln/hardware/clock_model.h"
#include "kiln/hardware/technology.h"
#include "kiln/support/check.h"
#include "kiln/support/file.h"
#include "kiln/targets/registry.h"
#include "kiln/targets/systolic/accelerator.h"
#include "kiln/targets/systolic/config/config.h"

namespace kiln::systolic {
namespace {

using testing::HasSubstr;

Config ConfigOf(const std::string& name) {
  const auto machine = LoadAccelerator("accelerators/" + name + ".yaml");
  KILN_CHECK(machine.ok());
  return dynamic_cast<const SystolicAccelerator&>(**machine).config();
}

// Every module exists in rtl/systolic, and has the parameters that it is timed with.
TEST(SystolicClock, ModulesAndParametersAreThoseOfTheRtl) {
  for (const char* name : {"systolic-int8-16x16", "systolic-int8-16x16-fp32", "systolic-mxint8-8x8",
                           "systolic-e4m3-8x8"}) {
    for (const TimedModule& module : TimedModulesOf(ConfigOf(name))) {
      std::string file = fmt::format("rtl/systolic/{}.sv", module.module);
      if (!std::filesystem::exists(file))
        file = fmt::format("rtl/systolic/vector/{}.sv", module.module);
      const StatusOr<std::string> text = ReadFile(file);
      ASSERT_TRUE(text.ok()) << text.status();
      const std::string header = text->substr(0, text->find("\n) ("));
      for (size_t at = 0; at < module.parameters.size();) {
        const size_t equals = module.parameters.find('=', at);
        EXPECT_THAT(header, HasSubstr(" " + module.parameters.substr(at, equals - at) + " "))
            << module.module;
        at = std::min(module.parameters.find(',', equals), module.parameters.size() - 1) + 1;
      }
    }
  }
}

// The slowest module, which this test finds in the table, has the machine's clock.
TEST(SystolicClock, IsThatOfTheSlowestModule) {
  const std::vector<TimedModule> modules = TimedModulesOf(ConfigOf("systolic-int8-16x16"));
  double least = 1e9;
  for (const TimedModule& module : modules) {
    const auto mhz = hardware::MeasuredMhz(module.module, module.parameters);
    ASSERT_TRUE(mhz.has_value()) << module.module << " " << module.parameters
                                 << ": bench/clock_grid measures it";
    least = std::min(least, *mhz);
  }
  EXPECT_NEAR(ClockAt(modules, 180).mhz(), least, 1e-9 * least);
  EXPECT_NEAR(ClockAt(modules, 45).mhz(), least / hardware::DelayScale(180, 45), 1e-6 * least);
  EXPECT_EQ(ClockAt(modules, 45).unknown(), "");
}

TEST(SystolicClock, IsUnknownWithoutAMeasurement) {
  Config config = ConfigOf("systolic-int8-16x16");
  config.input_buffer_words = 2048;
  MachineClock clock = ClockAt(TimedModulesOf(config), 45);
  EXPECT_LT(clock.mhz(), 0);
  EXPECT_THAT(clock.unknown(), HasSubstr("no measurement of kiln_array_sequencer"));
  clock = ClockAt(TimedModulesOf(ConfigOf("systolic-posit8_1-quire-16x16")), 45);
  EXPECT_THAT(clock.unknown(), HasSubstr("kiln_systolic_array (quire)"));
  clock = ClockAt(TimedModulesOf(ConfigOf("systolic-int8-e4m3-8x8")), 45);
  EXPECT_THAT(clock.unknown(), HasSubstr("kiln_systolic_array (several precisions)"));
}

}  // namespace
}  // namespace kiln::systolic
