#include "kiln/targets/binary/cost/area_model.h"

#include <gtest/gtest.h>

#include "tests/targets/area_model_checks.h"

namespace kiln::binary {
namespace {

using hardware::FittedModel;
using hardware::GridPoint;

const std::vector<GridPoint>& Grid() {
  static const std::vector<GridPoint> grid =
      hardware::ReadGrid("technology/osu018/binary_grid.csv");
  return grid;
}

TEST(BinaryAreaModel, StatedErrorsAreThoseOnTheGrid) {
  hardware::ExpectStatedErrorsAreThoseOnTheGrid(FamilyAreaModels(), Grid());
}

TEST(BinaryAreaModel, EveryPointHasAModel) {
  EXPECT_GT(Grid().size(), 70u);
  hardware::ExpectEveryPointHasAModel(FamilyAreaModels(), Grid());
}

TEST(BinaryAreaModel, EveryModelIsFittedWithSmallErrors) {
  const hardware::AreaModels models = FamilyAreaModels();
  EXPECT_EQ(models.fitted.size(), models.models.size());
  for (const FittedModel& fitted : models.fitted) {
    EXPECT_GE(fitted.fit.points, 2) << fitted.name;
    EXPECT_GE(fitted.check.points, 1) << fitted.name;
    EXPECT_LT(fitted.fit.mean, 0.05) << fitted.name;
    EXPECT_LT(fitted.check.mean, 0.1) << fitted.name;
  }
}

// Of wider beats, fewer make a word of weights: the dispatch of one-beat words is smaller.
TEST(BinaryAreaModel, GrowsWithEverySize) {
  const char* const sizes[] = {"TERMS",     "BITS",         "CHANNELS",  "COLUMNS",
                               "GROUP",     "STEPS",        "TABLES",    "ACTIVATION_BITS",
                               "ROW_WORDS", "COLUMN_DEPTH", "BEAT_BITS", "ACCUMULATOR_BITS",
                               "WIDTH",     "DEPTH",        "RATIO",     "DATA_BYTES",
                               "CODE_BITS", "STAGES",       "BEAT_BYTES"};
  hardware::ExpectGrowth(FamilyAreaModels(), Grid(), sizes,
                         {{"kiln_binary_dispatch", "BEAT_BITS"}});
}

}  // namespace
}  // namespace kiln::binary
