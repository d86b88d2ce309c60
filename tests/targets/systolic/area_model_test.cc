#include "kiln/targets/systolic/area_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string_view>

#include "kiln/hardware/area_fit.h"
#include "kiln/support/file.h"

namespace kiln::systolic {
namespace {

using hardware::FitError;
using hardware::GridPoint;

const ModuleModel* FindModel(const GridPoint& point) {
  return FindModuleModel(ModuleModels(), point.module, point.parameters);
}

constexpr const char* kGrid = "technology/osu018/systolic_grid.csv";

const std::vector<GridPoint>& Grid() {
  static const std::vector<GridPoint> grid = [] {
    const auto text = ReadFile(kGrid, uint64_t{1} << 24);
    EXPECT_TRUE(text.ok()) << text.status();
    auto points = hardware::ParseGrid(text.value_or(""), kGrid);
    EXPECT_TRUE(points.ok()) << points.status();
    return points.ok() ? *points : std::vector<GridPoint>();
  }();
  return grid;
}

double Element(const char* input, const char* weight, const char* psum) {
  ModuleParameters p;
  p.Set("INPUT_FORMAT", *FindFormat(input)).Set("WEIGHT_FORMAT", *FindFormat(weight));
  return ModuleArea("kiln_processing_element", p.Set("PSUM_FORMAT", *FindFormat(psum)));
}

// The committed coefficients are those of the committed grid.
TEST(AreaModel, FittingAgainGivesTheSameCoefficients) {
  const std::vector<FittedModel> fitted = FitModels(ModuleModels(), Grid());
  ASSERT_EQ(fitted.size(), FittedModels().size());
  for (size_t i = 0; i < fitted.size(); ++i) {
    const FittedModel &again = fitted[i], &committed = FittedModels()[i];
    ASSERT_EQ(again.name, committed.name);
    ASSERT_EQ(again.coefficients.size(), committed.coefficients.size()) << again.name;
    for (size_t k = 0; k < again.coefficients.size(); ++k) {
      EXPECT_NEAR(again.coefficients[k], committed.coefficients[k], 1e-3 + 1e-6 * committed.coefficients[k])
          << again.name;
    }
  }
}

// The errors that reports state are those of the model on the grid.
TEST(AreaModel, StatedErrorsAreThoseOnTheGrid) {
  for (const FittedModel& fitted : FittedModels()) {
    FitError fit, check;
    for (const GridPoint& point : Grid()) {
      if (fitted.name != FindModel(point)->name) continue;
      const double error = std::abs(RelativeError(point, FamilyAreaModels()));
      FitError& sum = point.check ? check : fit;
      ++sum.points;
      sum.mean += error;
      sum.worst = std::max(sum.worst, error);
    }
    for (const auto& [found, stated] : {std::pair{fit, fitted.fit}, std::pair{check, fitted.check}}) {
      EXPECT_EQ(found.points, stated.points) << fitted.name;
      EXPECT_NEAR(found.mean / std::max(found.points, 1), stated.mean, 1e-4) << fitted.name;
      EXPECT_NEAR(found.worst, stated.worst, 1e-4) << fitted.name;
    }
  }
}

TEST(AreaModel, ErrorsAreSmall) {
  int unchecked = 0;
  for (const FittedModel& fitted : FittedModels()) {
    EXPECT_GE(fitted.fit.points, 1) << fitted.name;
    unchecked += fitted.check.points == 0 ? 1 : 0;  // which reports name
    EXPECT_LT(fitted.fit.mean, 0.08) << fitted.name;
    EXPECT_LT(fitted.check.mean, 0.12) << fitted.name;
  }
  EXPECT_LE(unchecked, 16);
}

TEST(AreaModel, EveryPointHasAModel) {
  EXPECT_GT(Grid().size(), 100u);
  for (const GridPoint& point : Grid()) {
    const ModuleModel* model = FindModel(point);
    ASSERT_NE(model, nullptr) << point.module;
    EXPECT_EQ(point.without, model->without) << point.module;
  }
}

TEST(AreaModel, WiderIsLarger) {
  EXPECT_LT(Element("int4", "int4", "int16"), Element("int8", "int4", "int16"));
  EXPECT_LT(Element("int8", "int4", "int32"), Element("int8", "int8", "int32"));
  EXPECT_LT(Element("int8", "int8", "int24"), Element("int8", "int8", "int32"));
  EXPECT_LT(Element("e2m1", "e2m1", "bf16"), Element("e4m3", "e4m3", "bf16"));
  EXPECT_LT(Element("e4m3", "e4m3", "bf16"), Element("e4m3", "e4m3", "fp32"));
  EXPECT_LT(Element("bf16", "bf16", "fp32"), Element("fp32", "fp32", "fp32"));
  EXPECT_LT(Element("posit6_1", "posit6_1", "bf16"), Element("posit8_1", "posit8_1", "bf16"));
}

// No coefficient is negative, and so no module shrinks where a count grows.
TEST(AreaModel, GrowsWithEverySize) {
  for (const FittedModel& fitted : FittedModels()) {
    for (const double c : fitted.coefficients) EXPECT_GE(c, 0) << fitted.name;
  }
  const char* const sizes[] = {"ARRAY_ROWS",
                               "ARRAY_COLUMNS",
                               "LANES",
                               "LATENCY",
                               "DATA_BYTES",
                               "MAX_BYTES",
                               "OUTSTANDING",
                               "VECTOR_STAGES",
                               "COMMAND_QUEUE_DEPTH",
                               "DEPTHWISE_MULTIPLIERS",
                               "SLOTS"};
  for (const GridPoint& point : Grid()) {
    if (FindFit(*FindModel(point), FittedModels()) == nullptr) continue;
    const double area = ModuleArea(point.module, point.parameters);
    for (const char* size : sizes) {
      const int64_t value = point.parameters.Number(size, 0);
      if (value == 0) continue;
      // Its rows and columns share their places in a square one, which is smaller than a longish one.
      if (point.module == "kiln_weight_buffer" && std::string_view(size).starts_with("ARRAY_")) continue;
      // Wider words that wait are fewer.
      if (point.module == "kiln_vector_blocks" && std::string_view(size) == "LANES") continue;
      ModuleParameters larger = point.parameters;
      larger.Set(size, 2 * value);
      EXPECT_GE(ModuleArea(point.module, larger) * (1 + 1e-9), area)
          << point.module << " " << point.text << ": " << size;
    }
  }
}

}  // namespace
}  // namespace kiln::systolic
