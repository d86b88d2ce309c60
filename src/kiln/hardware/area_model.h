// Areas of modules of rtl/ as formulas of their parameters: a sum of features, each a count that the module's text
// explains (register bits, pairs of bits that are multiplied, places of a shifter) times an area. A family says what
// the features of its modules are (its area_model.cc); the areas are fitted (area_fit.h) to modules synthesised over a
// grid of sizes with OSU's 0.18 um cells (technology/osu018), and stand with their errors in its
// area_coefficients.inc.
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

inline constexpr int kAreaNode = 180;    // nm, of the library that areas were fitted with
inline constexpr double kGateArea = 24;  // um2 of its NAND gate with two inputs, NAND2X1
inline constexpr const char* kAreaSource =
    "areas fitted to Yosys with OSU 0.18 um cells, without wires";

// Parameters of a module of rtl/, by their names there.
class ModuleParameters {
 public:
  // "ARRAY_ROWS=4 INPUT_FORMAT=int8", as in the grid. Error: not of that form, no such format.
  static StatusOr<ModuleParameters> Parse(std::string_view text);

  ModuleParameters& Set(const std::string& name, int64_t value);
  ModuleParameters& Set(const std::string& name, const Format& format);
  // The value, or what the module has where it is not named.
  int64_t Number(const std::string& name, int64_t otherwise) const;
  const Format& FormatOf(const std::string& name, std::string_view otherwise = "int8") const;

 private:
  std::map<std::string, int64_t> numbers_;
  std::map<std::string, Format> formats_;
};

struct Feature {
  const char* name;  // what is counted, for area_coefficients.inc
  double count;
};

struct FittedModel;

struct ModuleModel {
  const char* name;    // "processing element, integer sums"
  const char* module;  // of rtl/
  const char*
      without;  // modules inside it that have models of their own and do not count, with blanks between them
  bool (*applies)(const ModuleParameters& parameters);
  // `fitted` holds the models before this one.
  std::vector<Feature> (*features)(const ModuleParameters& parameters,
                                   const std::vector<FittedModel>& fitted);
};
// How far a model is from what synthesis found, as a share of it.
struct FitError {
  int points = 0;
  double mean = 0, worst = 0;  // of the magnitudes
};

// What the fit made of a model.
struct FittedModel {
  std::string name;                  // ModuleModel::name
  std::vector<double> coefficients;  // um2 for one of each feature
  FitError fit;                      // on the points it was fitted to
  FitError check;                    // on points kept out of the fit
};

// A family's models, in an order in which each uses only models before it, and what the fit made of them. Refers to
// both.
struct AreaModels {
  const std::vector<ModuleModel>& models;
  const std::vector<FittedModel>& fitted;
};

// The model of a module with these parameters; null where there is none.
const ModuleModel* FindModuleModel(const std::vector<ModuleModel>& models, std::string_view module,
                                   const ModuleParameters& parameters);
// The fit of a model; null where the grid had no points for it.
const FittedModel* FindFit(const ModuleModel& model, const std::vector<FittedModel>& fitted);

// Area of the module's cells in um2 at kAreaNode, memories and ModuleModel::without left out. There must be a model and
// a fit.
double ModuleArea(const AreaModels& models, std::string_view module,
                  const ModuleParameters& parameters);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_AREA_MODEL_H_
