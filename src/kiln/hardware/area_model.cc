// Evaluates area models: finds the model of a module, computes its features, and adds their areas.

#include "kiln/hardware/area_model.h"

#include <algorithm>
#include <charconv>

#include "kiln/support/check.h"

namespace kiln::hardware {

StatusOr<ModuleParameters> ModuleParameters::Parse(std::string_view text) {
  ModuleParameters parameters;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t equals = one.find('=');
    if (equals == std::string_view::npos)
      return ErrorAt("", std::string(one), "is no parameter", "NAME=VALUE");
    const std::string name(one.substr(0, equals));
    const std::string_view value = one.substr(equals + 1);
    int64_t number = 0;
    const auto [last, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    // Values are integers or names of formats.
    if (error == std::errc() && last == value.data() + value.size()) {
      parameters.Set(name, number);
      continue;
    }
    KILN_ASSIGN_OR_RETURN(const Format format, FindFormat(value));
    parameters.Set(name, format);
  }
  return parameters;
}

ModuleParameters& ModuleParameters::Set(const std::string& name, int64_t value) {
  numbers_[name] = value;
  return *this;
}

ModuleParameters& ModuleParameters::Set(const std::string& name, const Format& format) {
  formats_[name] = format;
  return *this;
}

int64_t ModuleParameters::Number(const std::string& name, int64_t otherwise) const {
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? otherwise : found->second;
}

const Format& ModuleParameters::FormatOf(const std::string& name,
                                         std::string_view otherwise) const {
  const auto found = formats_.find(name);
  if (found != formats_.end()) return found->second;
  for (const Format& format : AllFormats()) {
    if (format.name == otherwise) return format;
  }
  KILN_CHECK(false);
  return AllFormats().front();
}

const ModuleModel* FindModuleModel(const std::vector<ModuleModel>& models, std::string_view module,
                                   const ModuleParameters& parameters) {
  for (const ModuleModel& model : models) {
    if (module == model.module && model.applies(parameters)) return &model;
  }
  return nullptr;
}

const FittedModel* FindFit(const ModuleModel& model, const std::vector<FittedModel>& fitted) {
  const auto found = std::find_if(fitted.begin(), fitted.end(),
                                  [&model](const FittedModel& f) { return f.name == model.name; });
  return found == fitted.end() ? nullptr : &*found;
}

// A missing model or fit is a programming error: families test that their models are complete.
double ModuleArea(const AreaModels& models, std::string_view module,
                  const ModuleParameters& parameters) {
  const ModuleModel* model = FindModuleModel(models.models, module, parameters);
  KILN_CHECK(model != nullptr);
  const FittedModel* fit = FindFit(*model, models.fitted);
  KILN_CHECK(fit != nullptr);
  const std::vector<Feature> features = model->features(parameters, models.fitted);
  KILN_CHECK(features.size() == fit->coefficients.size());
  double area = 0;
  for (size_t i = 0; i < features.size(); ++i) area += features[i].count * fit->coefficients[i];
  return area;
}

}  // namespace kiln::hardware
