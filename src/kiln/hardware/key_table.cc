// Prints the documentation page of a family's keys.

#include "kiln/hardware/key_table.h"

#include "kiln/support/markdown.h"

namespace kiln::hardware {
namespace {

std::string Code(std::string_view name) { return fmt::format("`{}`", name); }

// Returns the text of a key's list item: "**`rows`** (integer, rows: 1 to 4; default 2): the rows."
// and the other names of the key.
std::string ItemText(const KeyDescription& key) {
  std::string out = fmt::format("**{}** ({}", Code(key.name), key.type);
  if (!key.unit.empty()) out += ", " + key.unit;
  const std::string before = key.by_default == "required" ? "" : "default ";
  out += fmt::format(": {}; {}{}): {}.", key.values, before, key.by_default, key.help);
  if (!key.original.empty()) out += fmt::format(" The original's key: {}.", Code(key.original));
  std::vector<std::string> parameters;
  for (const std::string& parameter : key.rtl_parameters) parameters.push_back(Code(parameter));
  if (!parameters.empty()) {
    out += fmt::format(" RTL parameter{}: {}.", parameters.size() == 1 ? "" : "s",
                       fmt::join(parameters, ", "));
  }
  return out;
}

}  // namespace

std::string MarkdownPage(const FamilyKeys& family) {
  std::string out = fmt::format(
      "# Design points of the {0} family\n\n"
      "A design point is a YAML file with the keys below, each at most once and in any order. The\n"
      "files of the family in `accelerators` are examples. `kiln run net.onnx --on mine.yaml "
      "--random 1`\n"
      "tries a design point, and `kiln compile ... --json -` prints all its keys with their "
      "values\n"
      "(`accelerator.description`). An absent key has its default. An unknown key, a wrong type "
      "and\n"
      "a value out of range are errors that name the line.\n\n"
      "{1}\n\n"
      "This page is generated: `kiln list keys {0} --markdown` prints it. The type of a key, its\n"
      "unit if it has one, its values and its default are in brackets.\n\n",
      family.family, family.introduction);
  for (const KeyDescription& key : family.keys) out += MarkdownItem(ItemText(key));
  return out;
}

}  // namespace kiln::hardware
