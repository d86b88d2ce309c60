// Prints the area_coefficients.inc of a family, or with --errors how far its models are from every point of the grid.
// Run it after a change to the grid or to the models' features:
//   ninja -C build fit_area
//   build/fit_area systolic technology/osu018/systolic_grid.csv > src/kiln/targets/systolic/area_coefficients.inc
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "kiln/hardware/area_fit.h"
#include "kiln/support/file.h"
#include "kiln/targets/systolic/area_model.h"
#include "kiln/targets/vta/area_model.h"

namespace kiln::hardware {
namespace {

struct Family {
  std::string_view name;
  const std::vector<ModuleModel>& models;
};
const Family kFamilies[] = {{"systolic", systolic::ModuleModels()},
                            {"vta", vta::FamilyAreaModels().models}};

StatusOr<Family> FindFamily(const std::string& name) {
  for (const Family& family : kFamilies) {
    if (family.name == name) return family;
  }
  return NotFoundAt("", name, "is no family with models of area", "systolic or vta");
}

Status Fit(const std::string& name, const std::string& file, bool errors) {
  KILN_ASSIGN_OR_RETURN(const Family family, FindFamily(name));
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
