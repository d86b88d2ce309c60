// Areas of the modules in rtl/ as functions of their parameters.
//
// The area of a module is a sum of features. A feature is a count that follows from the module's
// source (register bits, pairs of multiplied bits, shifter bits) times an area. A family defines
// the features of its modules in its area_model.cc. The areas are fitted (area_fit.h) to modules
// synthesised over a grid of sizes with OSU's 0.18 um cells (technology/osu018), and are listed
// with their errors in the family's area_coefficients.inc.
#ifndef KILN_HARDWARE_AREA_MODEL_H_
#define KILN_HARDWARE_AREA_MODEL_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/numerics/format.h"
#include "kiln/support/status.h"

namespace kiln::hardware {

inline constexpr int kAreaNode = 180;    // nm, node of the library that areas are fitted with
inline constexpr double kGateArea = 24;  // um2, its two-input NAND gate, NAND2X1
inline constexpr const char* kAreaSource =
    "areas fitted to Yosys with OSU 0.18 um cells, without wires";

// The parameters of a module in rtl/, by their SystemVerilog names. Values are integers or formats.
class ModuleParameters {
 public:
  // Parses "ARRAY_ROWS=4 INPUT_FORMAT=int8", the notation of the grid. Errors: not of that form,
  // unknown format.
  static StatusOr<ModuleParameters> Parse(std::string_view text);

  // Set a parameter, replacing an earlier value.
  ModuleParameters& Set(const std::string& name, int64_t value);
  ModuleParameters& Set(const std::string& name, const Format& format);
  // Return the value, or the module's default (`otherwise`) if the parameter is not set.
  int64_t Number(const std::string& name, int64_t otherwise) const;
  const Format& FormatOf(const std::string& name, std::string_view otherwise = "int8") const;

 private:
  std::map<std::string, int64_t> numbers_;
  std::map<std::string, Format> formats_;
};

// A quantity of a module to which a part of its area is proportional.
struct Feature {
  const char* name;  // description, for area_coefficients.inc
  double count;
};

struct FittedModel;

// The area model of a module, or of a variant of it.
struct ModuleModel {
  const char* name;     // "processing element, integer sums"
  const char* module;   // in rtl/
  const char* without;  // blank-separated inner modules with models of their own, not counted here
  bool (*applies)(const ModuleParameters& parameters);  // whether the model covers these parameters
  // Returns the features in a fixed order. `fitted` holds the fits of the models before this one.
  std::vector<Feature> (*features)(const ModuleParameters& parameters,
                                   const std::vector<FittedModel>& fitted);
};
// The relative error of a model against synthesis, over a set of points.
struct FitError {
  int points = 0;
  double mean = 0, worst = 0;  // of the magnitudes of the errors
};

// The result of fitting a model.
struct FittedModel {
  std::string name;                  // ModuleModel::name
  std::vector<double> coefficients;  // um2 per unit of each feature
  FitError fit;                      // error on the points of the fit
  FitError check;                    // error on the points that were kept out of the fit
};

// The models of a family, each of which uses only models before it, and their fits. Holds
// references to both.
struct AreaModels {
  const std::vector<ModuleModel>& models;
  const std::vector<FittedModel>& fitted;
};

// Returns the model of a module with these parameters, or null.
const ModuleModel* FindModuleModel(const std::vector<ModuleModel>& models, std::string_view module,
                                   const ModuleParameters& parameters);
// Returns the fit of a model, or null if the grid had no points for it.
const FittedModel* FindFit(const ModuleModel& model, const std::vector<FittedModel>& fitted);

// Returns the area of the module's cells in um2 at kAreaNode, without memories and without the
// modules in ModuleModel::without. The module must have a model and a fit.
double ModuleArea(const AreaModels& models, std::string_view module,
                  const ModuleParameters& parameters);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_AREA_MODEL_H_
