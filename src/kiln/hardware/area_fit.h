// Fits the area models (area_model.h) to synthesised modules.
#ifndef KILN_HARDWARE_AREA_FIT_H_
#define KILN_HARDWARE_AREA_FIT_H_

#include <string>
#include <vector>

#include "kiln/hardware/area_model.h"
#include "kiln/support/status.h"

namespace kiln::hardware {

// A row of the grid.
struct GridPoint {
  std::string module, without;
  ModuleParameters parameters;
  std::string text;    // the parameters as they stand there
  bool check = false;  // kept out of the fit
  double area = 0;     // um2
};

// Reads a grid of technology/osu018, whose columns bench/area_grid explains. `file` names it in errors.
StatusOr<std::vector<GridPoint>> ParseGrid(const std::string& text, const std::string& file);

// The coefficients of every model of a family: none is less than 0, and the squares of the relative errors on the
// points that are not for checking have the least sum. Models without a point to fit are left out.
std::vector<FittedModel> FitModels(const std::vector<ModuleModel>& models,
                                   const std::vector<GridPoint>& grid);

// How far the models are from a point, as a share of its area; positive: the model's area is larger.
double RelativeError(const GridPoint& point, const AreaModels& models);

// The text of a family's area_coefficients.inc, found from the grid in `file`.
std::string PrintCoefficients(const AreaModels& models, const std::string& file);

// The x that makes |A x - b| least under x >= 0: the active-set method of Lawson and Hanson, "Solving Least Squares
// Problems", 1974, chapter 23. `rows` are A's.
std::vector<double> SolveNonNegative(const std::vector<std::vector<double>>& rows,
                                     const std::vector<double>& b);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_AREA_FIT_H_
