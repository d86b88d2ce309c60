// Prints the documentation page of a family's keys.

#include "kiln/hardware/key_table.h"

namespace kiln::hardware {
namespace {

std::string Cell(std::string_view text) { return text.empty() ? "| " : fmt::format("| {} ", text); }

std::string Code(std::string_view name) { return fmt::format("`{}`", name); }

}  // namespace

std::string MarkdownPage(const FamilyKeys& family) {
  const bool has_originals =
      std::ranges::any_of(family.keys, [](const auto& key) { return !key.original.empty(); });
  std::string out = fmt::format(
      "# Design points of the {0} family\n\n"
      "A design point is a YAML file with the keys below, each at most once and in any order. The\n"
      "files `accelerators/{0}-*.yaml` are examples. `kiln run net.onnx --on mine.yaml --random "
      "1`\n"
      "tries a design point, and `kiln compile ... --json -` prints all its keys with their "
      "values\n"
      "(`accelerator.description`). An absent key has its default. An unknown key, a wrong type "
      "and\n"
      "a value out of range are errors that name the line.\n\n"
      "{1}\n\n"
      "This page is generated: `kiln list keys {0} --markdown` prints it.\n\n",
      family.family, family.introduction);
  std::vector<std::string_view> titles = {"key", "type", "unit", "values", "default"};
  if (has_originals) titles.emplace_back("the original's key");
  titles.insert(titles.end(), {"RTL parameter", "what it is"});
  for (const std::string_view title : titles) out += Cell(title);
  out += "|\n";
  for (size_t i = 0; i < titles.size(); ++i) out += "|---";
  out += "|\n";
  for (const KeyDescription& key : family.keys) {
    out += Cell(Code(key.name)) + Cell(key.type) + Cell(key.unit) + Cell(key.values) +
           Cell(key.by_default);
    if (has_originals) out += Cell(key.original.empty() ? "" : Code(key.original));
    std::vector<std::string> parameters;
    for (const std::string& parameter : key.rtl_parameters) parameters.push_back(Code(parameter));
    out += Cell(fmt::format("{}", fmt::join(parameters, ", "))) + Cell(key.help) + "|\n";
  }
  return out;
}

}  // namespace kiln::hardware
