// Every family's models of areas: which families have some, and where their grids are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "kiln/targets/registry.h"
#include "tests/targets/area_model_checks.h"
#include "tests/targets/conformance/conformance.h"

namespace kiln {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

// A family with models has the points and the measured grid that they are fitted to, and fitting
// them again gives the coefficients that the family was built with.
TEST(Areas, EveryFamilyWithModelsHasItsGrid) {
  int families = 0;
  for (const std::string& name : FamilyNames()) {
    SCOPED_TRACE(name);
    const auto models = FindAreaModels(name);
    EXPECT_EQ(fs::exists("bench/" + name + "_area_points.py"), models.ok());
    if (!models.ok()) {
      EXPECT_EQ(models.status().code(), StatusCode::kUnimplemented);
      EXPECT_THAT(MessageOf(models.status()), HasSubstr("'" + name + "': has no models of areas"));
      continue;
    }
    ++families;
    const std::string grid = "technology/osu018/" + name + "_grid.csv";
    hardware::ExpectFittingAgainGivesTheSame(*models, hardware::ReadGrid(grid));
  }
  EXPECT_GE(families, 3);
}

TEST(Areas, AFamilyThatDoesNotExistIsNamed) {
  const auto models = FindAreaModels("abacus");
  EXPECT_EQ(MessageOf(models.status()).find("family 'abacus': is unknown"), 0u)
      << MessageOf(models.status());
}

// Hardware that is the same for every network costs the same with every program on it.
TEST(Areas, FixedHardwareCostsTheSameWithEveryProgram) {
  int machines = 0;
  for (const std::string& path : conformance::SomeDesignPoints()) {
    SCOPED_TRACE(path);
    const auto machine = LoadAccelerator(path);
    ASSERT_TRUE(machine.ok()) << machine.status();
    const auto own = (*machine)->EstimateCost(45);
    // Hardware that depends on the network has no area without one.
    if (!own.ok() || own->area_square_micrometres <= 0) continue;
    ++machines;
    const auto program = (*machine)->Compile(Graph("empty"), {});
    ASSERT_TRUE(program.ok()) << program.status();
    const auto with = (*machine)->EstimateProgramCost(**program, 45);
    ASSERT_TRUE(with.ok()) << with.status();
    EXPECT_EQ(with->area_square_micrometres, own->area_square_micrometres);
    EXPECT_EQ(with->on_chip_memory_bits, own->on_chip_memory_bits);
  }
  EXPECT_GE(machines, 4);
}

}  // namespace
}  // namespace kiln
