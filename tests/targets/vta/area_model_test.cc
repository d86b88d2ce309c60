#include "kiln/targets/vta/cost/area_model.h"

#include "tests/targets/area_model_checks.h"

namespace kiln::vta {
namespace {

using hardware::FittedModel;
using hardware::GridPoint;

const std::vector<GridPoint>& Grid() {
  static const std::vector<GridPoint> grid = hardware::ReadGrid("technology/osu018/vta_grid.csv");
  return grid;
}

TEST(VtaAreaModel, StatedErrorsAreThoseOnTheGrid) {
  hardware::ExpectStatedErrorsAreThoseOnTheGrid(FamilyAreaModels(), Grid());
}

TEST(VtaAreaModel, EveryPointHasAModel) {
  EXPECT_GT(Grid().size(), 30u);
  hardware::ExpectEveryPointHasAModel(FamilyAreaModels(), Grid());
}

TEST(VtaAreaModel, EveryModelIsFittedWithSmallErrors) {
  const hardware::AreaModels models = FamilyAreaModels();
  EXPECT_EQ(models.fitted.size(), models.models.size());
  for (const FittedModel& fitted : models.fitted) {
    EXPECT_GE(fitted.fit.points, 2) << fitted.name;
    EXPECT_GE(fitted.check.points, 1) << fitted.name;
    EXPECT_LT(fitted.fit.mean, 0.08) << fitted.name;
    EXPECT_LT(fitted.check.mean, 0.12) << fitted.name;
  }
}

TEST(VtaAreaModel, GrowsWithEverySize) {
  const char* const sizes[] = {
      "BATCH",         "BLOCK_IN",          "BLOCK_OUT", "NUMBERS",     "ACCUMULATOR_BANKS",
      "BANKS",         "MEMORY_PORT_BYTES", "MAX_BYTES", "OUTSTANDING", "DATA_BYTES",
      "MEMORY_LATENCY"};
  hardware::ExpectGrowth(FamilyAreaModels(), Grid(), sizes);
}

}  // namespace
}  // namespace kiln::vta
