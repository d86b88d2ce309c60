#include "kiln/targets/registry.h"

#include <algorithm>
#include <iterator>

#include "kiln/support/budgets.h"
#include "kiln/support/file.h"
#include "kiln/support/yaml.h"
#include "kiln/targets/interface/family.h"

namespace kiln {

// Each family defines kiln::<family>::ParseDesignPoint in its config folder (targets/interface/family.h).
#define KILN_FAMILY(family)      \
  namespace family {             \
  FamilyParser ParseDesignPoint; \
  }
#include "kiln/targets/families.def"
#undef KILN_FAMILY

namespace {

struct Row {
  std::string_view name;
  FamilyParser* parse;
};

constexpr Row kFamilies[] = {
#define KILN_FAMILY(family) {#family, &family::ParseDesignPoint},
#include "kiln/targets/families.def"
#undef KILN_FAMILY
};

// Configurations of other projects, which name no family: known by the file's ending.
struct ForeignForm {
  std::string_view ending, family;
};
constexpr ForeignForm kForeignForms[] = {{".json", "vta"}};  // the original's vta_config.json

const Row* FindFamily(std::string_view name) {
  const auto at = std::find_if(std::begin(kFamilies), std::end(kFamilies),
                               [&](const Row& r) { return r.name == name; });
  return at == std::end(kFamilies) ? nullptr : at;
}

}  // namespace

std::vector<std::string> FamilyNames() {
  std::vector<std::string> names;
  for (const Row& row : kFamilies) names.emplace_back(row.name);
  return names;
}

StatusOr<std::unique_ptr<Accelerator>> ParseAccelerator(std::string_view yaml,
                                                        std::string_view source) {
  for (const ForeignForm& form : kForeignForms) {
    const Row* const family = source.ends_with(form.ending) ? FindFamily(form.family) : nullptr;
    if (family != nullptr) return family->parse(yaml, source);
  }
  std::string known;
  for (const Row& row : kFamilies) known += (known.empty() ? "" : ", ") + std::string(row.name);
  KILN_ASSIGN_OR_RETURN(const YamlFile file, YamlFile::Parse(yaml, source));
  std::string family;
  file.root().String("family", &family);
  if (family.empty()) return ErrorAt(source, "key 'family'", "is missing", "name one of: " + known);
  if (const Row* const row = FindFamily(family)) return row->parse(yaml, source);
  return ErrorAt(source, "key 'family'", "unknown family '" + family + "'",
                 "name one of: " + known);
}

StatusOr<std::unique_ptr<Accelerator>> LoadAccelerator(const std::filesystem::path& path) {
  KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, budgets::kYamlBytes));
  return ParseAccelerator(text, path.string());
}

}  // namespace kiln
