// What holds of every family's models of area and the grid that they were fitted to.
#ifndef TESTS_TARGETS_AREA_MODEL_CHECKS_H_
#define TESTS_TARGETS_AREA_MODEL_CHECKS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kiln/hardware/area_fit.h"
#include "kiln/support/file.h"

namespace kiln::hardware {

inline std::vector<GridPoint> ReadGrid(const std::string& file) {
  const auto text = ReadFile(file, uint64_t{1} << 24);
  EXPECT_TRUE(text.ok()) << text.status();
  auto points = ParseGrid(text.value_or(""), file);
  EXPECT_TRUE(points.ok()) << points.status();
  return points.ok() ? *std::move(points) : std::vector<GridPoint>();
}

inline const ModuleModel* ModelOf(const AreaModels& models, const GridPoint& point) {
  return FindModuleModel(models.models, point.module, point.parameters);
}

// The committed coefficients are those of the committed grid.
inline void ExpectFittingAgainGivesTheSame(const AreaModels& models,
                                           const std::vector<GridPoint>& grid) {
  const std::vector<FittedModel> fitted = FitModels(models.models, grid);
  ASSERT_EQ(fitted.size(), models.fitted.size());
  for (size_t i = 0; i < fitted.size(); ++i) {
    const FittedModel &again = fitted[i], &committed = models.fitted[i];
    ASSERT_EQ(again.name, committed.name);
    ASSERT_EQ(again.coefficients.size(), committed.coefficients.size()) << again.name;
    for (size_t k = 0; k < again.coefficients.size(); ++k) {
      EXPECT_NEAR(again.coefficients[k], committed.coefficients[k],
                  1e-3 + 1e-6 * committed.coefficients[k])
          << again.name;
    }
  }
}

// The errors that reports state are those of the models on the grid.
inline void ExpectStatedErrorsAreThoseOnTheGrid(const AreaModels& models,
                                                const std::vector<GridPoint>& grid) {
  for (const FittedModel& fitted : models.fitted) {
    FitError fit, check;
    for (const GridPoint& point : grid) {
      if (fitted.name != ModelOf(models, point)->name) continue;
      const double error = std::abs(RelativeError(point, models));
      FitError& sum = point.check ? check : fit;
      ++sum.points;
      sum.mean += error;
      sum.worst = std::max(sum.worst, error);
    }
    for (const auto& [found, stated] :
         {std::pair{fit, fitted.fit}, std::pair{check, fitted.check}}) {
      EXPECT_EQ(found.points, stated.points) << fitted.name;
      EXPECT_NEAR(found.mean / std::max(found.points, 1), stated.mean, 1e-4) << fitted.name;
      EXPECT_NEAR(found.worst, stated.worst, 1e-4) << fitted.name;
    }
  }
}

inline void ExpectEveryPointHasAModel(const AreaModels& models,
                                      const std::vector<GridPoint>& grid) {
  for (const GridPoint& point : grid) {
    const ModuleModel* model = ModelOf(models, point);
    ASSERT_NE(model, nullptr) << point.module;
    EXPECT_EQ(point.without, model->without) << point.module;
  }
}

// No coefficient is negative, and so no module shrinks where one of these parameters is doubled,
// but for what `excepted` names: pairs of a module and a parameter.
inline void ExpectGrowth(const AreaModels& models, const std::vector<GridPoint>& grid,
                         std::span<const char* const> sizes,
                         const std::set<std::pair<std::string, std::string>>& excepted = {}) {
  for (const FittedModel& fitted : models.fitted) {
    for (const double c : fitted.coefficients) EXPECT_GE(c, 0) << fitted.name;
  }
  for (const GridPoint& point : grid) {
    if (FindFit(*ModelOf(models, point), models.fitted) == nullptr) continue;
    const double area = ModuleArea(models, point.module, point.parameters);
    for (const char* size : sizes) {
      const int64_t value = point.parameters.Number(size, 0);
      if (value == 0 || excepted.contains({point.module, size})) continue;
      ModuleParameters larger = point.parameters;
      larger.Set(size, 2 * value);
      EXPECT_GE(ModuleArea(models, point.module, larger) * (1 + 1e-9), area)
          << point.module << " " << point.text << ": " << size;
    }
  }
}

}  // namespace kiln::hardware

#endif  // TESTS_TARGETS_AREA_MODEL_CHECKS_H_
