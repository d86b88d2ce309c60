// The command `kiln list`: prints tables of accelerators, recipes, formats, operators and so on.
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/App.hpp>
#include <nlohmann/json.hpp>

#include "kiln/cli/commands.h"
#include "kiln/command/command.h"
#include "kiln/command/result_files.h"
#include "kiln/frontend/data_set.h"
#include "kiln/hardware/key_table.h"
#include "kiln/ir/op.h"
#include "kiln/numerics/codec.h"
#include "kiln/numerics/format.h"
#include "kiln/numerics/nonlinear.h"
#include "kiln/passes/pass.h"
#include "kiln/quantise/recipe_keys.h"
#include "kiln/report/text.h"
#include "kiln/support/check.h"
#include "kiln/support/file.h"
#include "kiln/support/json_text.h"
#include "kiln/support/resources.h"
#include "kiln/targets/registry.h"

namespace kiln::cli {
namespace {

// Returns the first clause of the comment that a file begins with; empty if there is none.
std::string PurposeOf(const std::filesystem::path& path) {
  const auto text = ReadFile(path);
  if (!text.ok()) return "";
  std::istringstream lines(*text);
  std::string comment;
  for (std::string line; std::getline(lines, line) && line.starts_with("# ");)
    comment += line.substr(1);
  for (const char* end : {". ", ": ", ", "}) comment = comment.substr(0, comment.find(end));
  const size_t bracket = comment.rfind('(');
  if (bracket != std::string::npos && comment.find(')', bracket) == std::string::npos)
    comment.resize(bracket);
  const size_t first = comment.find_first_not_of(' '), last = comment.find_last_not_of(" .");
  return first == std::string::npos ? "" : comment.substr(first, last + 1 - first);
}

// Lists name, family, peak and purpose of each design point; if a file cannot be read, the reason.
std::string Accelerators() {
  constexpr size_t kPurposeColumns = 64;
  Table table;
  table.Column("accelerator").Column("family").Right("MACs").Column("purpose");
  std::filesystem::path folder;
  for (const std::filesystem::path& path : ListResources("accelerators")) {
    folder = path.parent_path();
    const auto accelerator = LoadAccelerator(path);
    if (accelerator.ok()) {
      table.Row({path.stem().string(), std::string((*accelerator)->family()),
                 WithoutExponent((*accelerator)->PeakMacsPerCycle()),
                 Shorten(PurposeOf(path), kPurposeColumns)});
    } else {
      table.Row({path.stem().string(), "-", "-", MessageOf(accelerator.status())});
    }
  }
  return table.ToString() +
         fmt::format("\nMACs: multiply-accumulates a cycle. Files, which say more: {}\n",
                     (folder / "*.yaml").string());
}

// Lists the ready-made recipes with their files.
std::string Recipes() {
  Table table;
  table.Column("recipe").Column("file");
  for (const std::filesystem::path& path : ListResources("recipes"))
    table.Row({path.stem().string(), path.string()});
  return table.ToString();
}

std::string Families() {
  std::string out;
  for (const std::string& name : FamilyNames()) out += name + '\n';
  return out;
}

// Describes the rule of a format in words.
std::string KindOf(const Format& format) {
  switch (format.kind) {
    case FormatKind::kInteger:
      return fmt::format("{} {}", format.is_signed ? "signed" : "unsigned",
                         format.is_whole()
                             ? "integer"
                             : fmt::format("fixed point, {} binary places", format.fraction_bits));
    case FormatKind::kFloat:
      return fmt::format("{}float, {} exponent and {} fraction bits",
                         format.is_signed ? "" : "unsigned ", format.exponent_bits,
                         format.fraction_bits);
    case FormatKind::kPosit:
      return fmt::format("posit, {} exponent bits", format.exponent_bits);
    case FormatKind::kCodebook:
      return fmt::format("codebook of {} values", format.codebook->values.size());
  }
  return "?";
}

// Returns the special values of a format: "infinity, NaN", "NaN", "NaR" or nothing.
std::string SpecialsOf(const Format& format) {
  if (format.kind == FormatKind::kPosit) return "NaR";
  if (format.kind != FormatKind::kFloat || format.specials == Specials::kNone) return "";
  return format.specials == Specials::kIeee ? "infinity, NaN" : "NaN";
}

// Lists the types with block scales that recipes name like a format.
std::string MicroscalingTable() {
  Table table;
  table.Column("with block scales").Column("elements").Right("in a block").Column("scales");
  for (const std::string_view name : MicroscalingTypes()) {
    const StatusOr<QuantType> type = FindQuantType(name);
    KILN_CHECK(type.ok());
    table.Row({std::string(name), type->format.name, fmt::format("{}", type->block_size),
               type->scale_format.name});
  }
  return table.ToString();
}

// Lists the named formats with their ranges, followed by the rules for other names and by the types
// with block scales.
std::string Formats() {
  Table table;
  table.Column("format")
      .Right("bits")
      .Column("kind")
      .Right("least")
      .Right("greatest")
      .Right("least positive")
      .Column("specials");
  for (const Format& format : AllFormats()) {
    table.Row({format.name, fmt::format("{}", format.bits), KindOf(format),
               fmt::format("{:.6g}", ToDouble(LeastValue(format))),
               fmt::format("{:.6g}", ToDouble(GreatestValue(format))),
               fmt::format("{:.3g}", ToDouble(LeastPositive(format))), SpecialsOf(format)});
  }
  return table.ToString() +
         "\nand int<N>, uint<N> up to 32 bits, fixed<N>_<F>, ufixed<N>_<F>, posit<N>_<es>, "
         "e<E>m<M>, a codebook's "
         ".yaml;\n"
         "after a dot: nearest_even, nearest_away, toward_zero, down, stochastic; saturate, wrap, "
         "infinity; "
         "finite, nan_only, fnuz; flush\n\n" +
         MicroscalingTable();
}

// Lists the vector unit's approximate functions and the bounds of their errors.
std::string Functions() {
  Table table;
  table.Column("function")
      .Column("vector format")
      .Right("largest error")
      .Right("at")
      .Right("in ulps")
      .Right("at");
  for (int i = 0; i < kNonlinearFunctions; ++i) {
    const auto function = static_cast<NonlinearFunction>(i);
    for (const char* format : {"fp32", "bf16", "fp16"}) {
      const NonlinearError* error = StatedError(function, format);
      table.Row({std::string(NameOf(function)), format, fmt::format("{:.3g}", error->absolute),
                 fmt::format("{:.6g}", error->absolute_at), fmt::format("{:.3g}", error->ulps),
                 fmt::format("{:.6g}", error->ulps_at)});
    }
  }
  return table.ToString();
}

// Lists the operators of the IR with their ONNX names and kinds.
std::string Operators() {
  Table table;
  table.Column("operator").Column("in IR text").Column("ONNX domain").Column("kind");
  for (const OpInfo& op : AllOps()) {
    std::string kind;
    const auto add = [&](OpTraits trait, std::string_view name) {
      if (op.Has(trait)) kind += (kind.empty() ? "" : ", ") + std::string(name);
    };
    add(kMacs, "multiply-accumulates");
    add(kElementwise, "element-wise");
    add(kReduces, "reduces");
    add(kMovesData, "moves data");
    add(kQuantises, "quantised");
    table.Row({std::string(op.onnx_name), std::string(op.text),
               op.onnx_domain.empty() ? "ai.onnx" : std::string(op.onnx_domain), kind});
  }
  return table.ToString();
}

std::string Passes() {
  Table table;
  table.Column("pass").Column("what it does");
  for (const PassInfo& pass : AllPasses())
    table.Row({std::string(pass.name), std::string(pass.summary)});
  return table.ToString();
}

std::string DataFormats() {
  Table table;
  table.Column("data format").Column("what");
  for (const DataFormatInfo& row : AllDataFormats())
    table.Row({std::string(row.name), std::string(row.what)});
  return table.ToString();
}

std::string Commands() {
  Table table;
  table.Column("command").Column("what it does");
  for (const CommandRow& row : AllCommands()) table.Row({row.name, row.what});
  return table.ToString();
}

// Returns a text as indented lines of at most 100 columns. A longer word has a line of its own.
std::string IndentedLines(const std::string& text) {
  constexpr size_t kWidth = 100;
  constexpr std::string_view kIndent = "    ";
  std::string lines, line;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!line.empty() && kIndent.size() + line.size() + 1 + word.size() > kWidth) {
      lines += fmt::format("{}{}\n", kIndent, line);
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line.empty() ? lines : lines + fmt::format("{}{}\n", kIndent, line);
}

// Lists the keys of a family's design points, with a few lines for each.
std::string KeysText(const hardware::FamilyKeys& family) {
  std::string text;
  for (const hardware::KeyDescription& key : family.keys) {
    const std::string unit = key.unit.empty() ? "" : " in " + key.unit;
    const std::string by_default =
        key.by_default == "required" ? key.by_default : "default " + key.by_default;
    text += (text.empty() ? "" : "\n") + key.name + "\n";
    text += IndentedLines(fmt::format("{}{}: {}; {}", key.type, unit, key.values, by_default));
    text += IndentedLines(key.help);
    if (!key.rtl_parameters.empty())
      text += IndentedLines(fmt::format("RTL: {}", fmt::join(key.rtl_parameters, ", ")));
  }
  return text;
}

std::string KeysJson(const hardware::FamilyKeys& family) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const hardware::KeyDescription& key : family.keys) {
    nlohmann::ordered_json row = {{"name", key.name},          {"type", key.type},
                                  {"unit", key.unit},          {"values", key.values},
                                  {"default", key.by_default}, {"rtl", key.rtl_parameters},
                                  {"help", key.help}};
    if (!key.original.empty()) row["original"] = key.original;
    rows.push_back(std::move(row));
  }
  return JsonText(nlohmann::ordered_json{{"family", family.family}, {"keys", rows}});
}

// Lists the keys of recipes.
std::string RecipeKeysText() {
  Table table;
  table.Column("key").Column("type").Column("values").Column("default").Column("what it is");
  for (const RecipeKey& key : AllRecipeKeys())
    table.Row({key.name, key.type, key.values, key.by_default, key.help});
  return table.ToString();
}

std::string RecipeKeysJson() {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const RecipeKey& key : AllRecipeKeys()) {
    rows.push_back({{"name", key.name},
                    {"type", key.type},
                    {"values", key.values},
                    {"default", key.by_default},
                    {"help", key.help}});
  }
  return JsonText(nlohmann::ordered_json{{"keys", rows}});
}

// The accepted arguments and their tables, except for `keys` and `recipe-keys`.
struct Row {
  const char* name;
  std::string (*print)();
};
constexpr Row kRows[] = {{"accelerators", Accelerators},
                         {"families", Families},
                         {"recipes", Recipes},
                         {"formats", Formats},
                         {"functions", Functions},
                         {"operators", Operators},
                         {"passes", Passes},
                         {"data-formats", DataFormats},
                         {"commands", Commands}};
constexpr const char* kKeys = "keys";               // of a family's design points
constexpr const char* kRecipeKeys = "recipe-keys";  // of recipes

// Prints one of the tables.
class ListCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    std::vector<std::string> names;
    for (const Row& row : kRows) names.emplace_back(row.name);
    names.emplace_back(kKeys);
    names.emplace_back(kRecipeKeys);
    app.add_option("topic", what_, "What to list")
        ->required()
        ->check(CLI::IsMember(names))
        ->type_name(" ");
    app.add_option("family", family_, "With keys: the family whose design points have them")
        ->check(CLI::IsMember(FamilyNames()))
        ->type_name("FAMILY");
    app.add_option("--json", json_,
                   "With keys and recipe-keys: as JSON; - is standard output, as is no FILE")
        ->expected(0, 1)
        ->default_str("-")
        ->type_name("FILE");
    app.add_flag("--markdown", markdown_, "With keys and recipe-keys: as the page in docs/")
        ->excludes(app.get_option("--json"));
    app.footer(
        "Example:\n  kiln list accelerators\n  kiln list keys systolic\n  kiln list recipe-keys");
  }

  Status Run(Context& context) override {
    if (what_ == kKeys) return ListKeys(context);
    if (what_ == kRecipeKeys) return ListRecipeKeys(context);
    if (!family_.empty() || !json_.empty() || markdown_) {
      return ErrorAt("", what_, "takes no family, --json or --markdown",
                     fmt::format("kiln list {}", what_));
    }
    for (const Row& row : kRows) {
      if (what_ == row.name) context.out << row.print();
    }
    return OkStatus();
  }

 private:
  Status ListKeys(Context& context) const {
    if (family_.empty()) {
      return ErrorAt("", kKeys, "no family is named",
                     fmt::format("name one of: {}", fmt::join(FamilyNames(), ", ")));
    }
    KILN_RETURN_IF_ERROR(CheckOutputs({json_}, {}));
    KILN_ASSIGN_OR_RETURN(const hardware::FamilyKeys keys, DescribeKeys(family_));
    return WriteResults(context.out, json_, markdown_ ? MarkdownPage(keys) : KeysText(keys),
                        KeysJson(keys));
  }

  Status ListRecipeKeys(Context& context) const {
    if (!family_.empty()) {
      return ErrorAt("", kRecipeKeys, "takes no family", fmt::format("kiln list {}", kRecipeKeys));
    }
    KILN_RETURN_IF_ERROR(CheckOutputs({json_}, {}));
    return WriteResults(context.out, json_, markdown_ ? RecipeKeysPage() : RecipeKeysText(),
                        RecipeKeysJson());
  }

  std::string what_, family_, json_;
  bool markdown_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeListCommand() { return std::make_unique<ListCommand>(); }

}  // namespace kiln::cli
