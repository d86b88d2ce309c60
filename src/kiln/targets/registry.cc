// The list of families, to which each family's library and tests add theirs.
#include "kiln/targets/registry.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/support/budgets.h"
#include "kiln/support/file.h"
#include "kiln/support/yaml.h"
#include "kiln/targets/interface/family.h"

namespace kiln {

// Each family defines its Entry (targets/interface/family.h).
#define KILN_FAMILY(family) \
  namespace family {        \
  FamilyEntry Entry();      \
  }
#include "kiln/targets/families.def"
#undef KILN_FAMILY

namespace {

// The families of the build, then those that AddFamily brings.
std::vector<FamilyEntry>& Families() {
  static auto* families = new std::vector<FamilyEntry>{
#define KILN_FAMILY(family) family::Entry(),
#include "kiln/targets/families.def"
#undef KILN_FAMILY
  };
  return *families;
}

const FamilyEntry* FindFamily(std::string_view name) {
  const auto at = std::ranges::find(Families(), name, &FamilyEntry::name);
  return at == Families().end() ? nullptr : &*at;
}

Status UnknownFamily(std::string_view family) {
  return ErrorAt("", fmt::format("family '{}'", family), "is unknown",
                 fmt::format("one of: {}", fmt::join(FamilyNames(), ", ")));
}

}  // namespace

void AddFamily(const FamilyEntry& family) { Families().push_back(family); }

std::vector<std::string> FamilyNames() {
  std::vector<std::string> names;
  for (const FamilyEntry& row : Families()) names.emplace_back(row.name);
  return names;
}

StatusOr<hardware::FamilyKeys> DescribeKeys(std::string_view family) {
  if (const FamilyEntry* const row = FindFamily(family)) return row->describe();
  return UnknownFamily(family);
}

StatusOr<hardware::AreaModels> FindAreaModels(std::string_view family) {
  const FamilyEntry* const row = FindFamily(family);
  if (row == nullptr) return UnknownFamily(family);
  if (row->areas != nullptr) return row->areas();
  std::vector<std::string_view> names;
  for (const FamilyEntry& each : Families()) {
    if (each.areas != nullptr) names.push_back(each.name);
  }
  return UnsupportedAt("", fmt::format("family '{}'", family), "has no models of areas",
                       fmt::format("one of: {}", fmt::join(names, ", ")));
}

std::vector<LinkedLibrary> LibrariesOfFamilies() {
  std::vector<LinkedLibrary> libraries;
  for (const FamilyEntry& family : Families()) {
    if (family.libraries == nullptr) continue;
    for (LinkedLibrary& library : family.libraries()) libraries.push_back(std::move(library));
  }
  return libraries;
}

StatusOr<std::unique_ptr<Accelerator>> ParseAccelerator(std::string_view yaml,
                                                        std::string_view source) {
  for (const FamilyEntry& family : Families()) {
    if (!family.file_ending.empty() && source.ends_with(family.file_ending)) {
      return family.parse(yaml, source);
    }
  }
  std::string known;
  for (const FamilyEntry& row : Families())
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  KILN_ASSIGN_OR_RETURN(const YamlFile file, YamlFile::Parse(yaml, source));
  std::string family;
  file.root().String("family", &family);
  if (family.empty())
    return ErrorAt(source, "", "key 'family' is missing", "name one of: " + known);
  if (const FamilyEntry* const row = FindFamily(family)) return row->parse(yaml, source);
  return ErrorAt(source, "key 'family'", "unknown family '" + family + "'",
                 "name one of: " + known);
}

StatusOr<std::unique_ptr<Accelerator>> LoadAccelerator(const std::filesystem::path& path) {
  KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, budgets::kYamlBytes));
  return ParseAccelerator(text, path.string());
}

}  // namespace kiln
