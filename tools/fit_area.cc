// Prints src/kiln/targets/systolic/area_coefficients.inc, or with --errors how far the models are from every point of
// the grid. Run it after a change to the grid or to the models' features:
//   ninja -C build fit_area
//   build/fit_area technology/osu018/systolic_grid.csv > src/kiln/targets/systolic/area_coefficients.inc
#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "kiln/support/file.h"
#include "kiln/targets/systolic/area_fit.h"

namespace kiln::systolic {
namespace {

Status Fit(const std::string& file, bool errors) {
  KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(file, uint64_t{1} << 24));
  KILN_ASSIGN_OR_RETURN(const std::vector<GridPoint> grid, ParseGrid(text, file));
  const std::vector<FittedModel> fitted = FitModels(grid);
  if (!errors) {
    std::fputs(PrintCoefficients(fitted).c_str(), stdout);
    return OkStatus();
  }
  for (const GridPoint& point : grid) {
    const ModuleModel* model = FindModuleModel(point.module, point.parameters);
    if (model == nullptr || FindFit(*model, fitted) == nullptr) continue;  // too few points
    fmt::print("{:+6.1f} %  {:>12.0f} um2  {}{} {}\n", 100 * RelativeError(point, fitted), point.area, point.module,
               point.check ? " (check)" : "", point.text);
  }
  for (const FittedModel& model : fitted) {
    fmt::print("{:<36} fit {:>3}: {:5.1f} % mean, {:5.1f} % worst;  check {:>3}: {:5.1f} % mean, {:5.1f} % worst\n",
               model.name, model.fit.points, 100 * model.fit.mean, 100 * model.fit.worst, model.check.points,
               100 * model.check.mean, 100 * model.check.worst);
  }
  return OkStatus();
}

}  // namespace
}  // namespace kiln::systolic

int main(int count, char** arguments) {
  const bool errors = count == 3 && std::string(arguments[1]) == "--errors";
  if (count != 2 && !errors) {
    std::fputs("fit_area [--errors] GRID.csv\n", stderr);
    return 2;
  }
  const kiln::Status status = kiln::systolic::Fit(arguments[count - 1], errors);
  if (!status.ok()) fmt::print(stderr, "fit_area: {}\n", std::string(status.message()));
  return status.ok() ? 0 : 1;
}
