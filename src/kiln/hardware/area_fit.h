// Fits the area models (area_model.h) to synthesised modules. Used by tools/fit_area and by the
// tests that compare the models with the grid.
#ifndef KILN_HARDWARE_AREA_FIT_H_
#define KILN_HARDWARE_AREA_FIT_H_

#include <string>
#include <vector>

#include "kiln/hardware/area_model.h"
#include "kiln/support/status.h"

namespace kiln::hardware {

// A row of the grid: one synthesised module with its parameters.
struct GridPoint {
  std::string module, without;  // as ModuleModel::module and ModuleModel::without
  ModuleParameters parameters;
  std::string text;    // the parameters as the file writes them
  bool check = false;  // kept out of the fit, to measure the error
  double area = 0;     // um2
};

// Parses a grid of technology/osu018; bench/area_grid explains the columns. `file` is its name in
// errors. Errors: a wrong number of cells, parameters that ModuleParameters::Parse rejects, a
// missing or non-positive area.
StatusOr<std::vector<GridPoint>> ParseGrid(const std::string& text, const std::string& file);

// Returns the coefficients of every model of a family. They are non-negative and minimise the sum
// of squared relative errors over the points that are not kept out for checking. Omits models
// without points.
std::vector<FittedModel> FitModels(const std::vector<ModuleModel>& models,
                                   const std::vector<GridPoint>& grid);

// Returns the relative error of the models at a point, as a fraction of its area; positive if the
// model's area is larger.
double RelativeError(const GridPoint& point, const AreaModels& models);

// Returns the text of a family's area_coefficients.inc, fitted to the grid in `file`.
std::string PrintCoefficients(const AreaModels& models, const std::string& file);

// Returns the x >= 0 that minimises |A x - b|, by the active-set method of Lawson and Hanson,
// "Solving Least Squares Problems", 1974, chapter 23. `rows` are the rows of A.
std::vector<double> SolveNonNegative(const std::vector<std::vector<double>>& rows,
                                     const std::vector<double>& b);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_AREA_FIT_H_
