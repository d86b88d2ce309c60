// Fits a family's area models to a grid of synthesised modules (bench/area_grid) and prints the
// family's area_coefficients.inc; with --errors, prints the models' errors at every grid point.
// Run it after a change to the grid or to the models' features:
//   ninja -C build fit_area
//   build/fit_area systolic technology/osu018/systolic_grid.csv >area_coefficients.inc
// and copy the output to src/kiln/targets/systolic/cost/area_coefficients.inc.
#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "kiln/hardware/area_fit.h"
#include "kiln/support/file.h"
#include "kiln/targets/registry.h"

namespace kiln::hardware {
namespace {

// Fits the models to the grid file and prints the coefficients or the errors.
Status Fit(const std::string& name, const std::string& file, bool errors) {
  KILN_ASSIGN_OR_RETURN(const AreaModels family, FindAreaModels(name));
  KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(file, uint64_t{1} << 24));
  KILN_ASSIGN_OR_RETURN(const std::vector<GridPoint> grid, ParseGrid(text, file));
  const std::vector<FittedModel> fitted = FitModels(family.models, grid);
  if (!errors) {
    std::fputs(PrintCoefficients({family.models, fitted}, file).c_str(), stdout);
    return OkStatus();
  }
  for (const GridPoint& point : grid) {
    const ModuleModel* model = FindModuleModel(family.models, point.module, point.parameters);
    if (model == nullptr || FindFit(*model, fitted) == nullptr) continue;  // too few points
    fmt::print("{:+6.1f} %  {:>12.0f} um2  {}{} {}\n",
               100 * RelativeError(point, {family.models, fitted}), point.area, point.module,
               point.check ? " (check)" : "", point.text);
  }
  for (const FittedModel& model : fitted) {
    fmt::print(
        "{:<36} fit {:>3}: {:5.1f} % mean, {:5.1f} % worst;  check {:>3}: {:5.1f} % mean, {:5.1f} "
        "% worst\n",
        model.name, model.fit.points, 100 * model.fit.mean, 100 * model.fit.worst,
        model.check.points, 100 * model.check.mean, 100 * model.check.worst);
  }
  return OkStatus();
}

}  // namespace
}  // namespace kiln::hardware

int main(int count, char** arguments) {
  const bool errors = count == 4 && std::string(arguments[1]) == "--errors";
  if (count != 3 && !errors) {
    std::fputs("fit_area [--errors] FAMILY GRID.csv\n", stderr);
    return 2;
  }
  const kiln::Status status =
      kiln::hardware::Fit(arguments[count - 2], arguments[count - 1], errors);
  if (!status.ok()) fmt::print(stderr, "fit_area: {}\n", std::string(status.message()));
  return status.ok() ? 0 : 1;
}
