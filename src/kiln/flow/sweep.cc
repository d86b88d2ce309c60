// Finds the design points of a sweep, writes variants of them, and runs a network on each.
#include "kiln/flow/sweep.h"

#include <absl/strings/str_split.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>
#include <glob.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "kiln/report/saved_run.h"
#include "kiln/support/budgets.h"
#include "kiln/support/characters.h"
#include "kiln/support/excerpt.h"
#include "kiln/support/file.h"
#include "kiln/support/nearest_name.h"
#include "kiln/support/resources.h"
#include "kiln/support/yaml.h"
#include "kiln/targets/registry.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

// Returns the files whose paths fit a pattern, sorted by name.
std::vector<fs::path> FilesLike(const std::string& pattern) {
  glob_t found;
  std::vector<fs::path> files;
  if (::glob(pattern.c_str(), GLOB_NOESCAPE, nullptr, &found) == 0)
    files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return files;
}

Status CheckPointCount(size_t count, std::string_view option) {
  if (count <= static_cast<size_t>(budgets::kSweptPoints)) return OkStatus();
  return ErrorAt("", option, fmt::format("{} design points are too many", count),
                 fmt::format("at most {}", budgets::kSweptPoints));
}

// Adds a point, unless its file is already there. Error: another file of the same name.
Status AddPoint(const fs::path& file, std::vector<SweepPoint>* points) {
  SweepPoint point{.name = file.stem().string(), .file = file.lexically_normal()};
  const auto at = std::ranges::find(*points, point.name, &SweepPoint::name);
  if (at == points->end()) {
    points->push_back(std::move(point));
  } else if (at->file != point.file) {
    return ErrorAt(point.file.string(), "",
                   fmt::format("has the same name as {}, and results are told apart by names",
                               at->file.string()),
                   "rename one of the files");
  }
  return OkStatus();
}

// Returns the text of a design point with `value` for the key, which is at the root. A key that the
// text lacks is added at its end.
std::string WithKey(std::string_view text, const std::string& key, const std::string& value) {
  std::vector<std::string> lines;
  bool found = false, in_value = false;
  for (const auto piece : absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    const std::string line(piece);
    // The value of the key may go on in lines that are indented, or that are items of a list.
    if (in_value && (line.starts_with(' ') || line.starts_with('-'))) continue;
    in_value = !found && line.starts_with(key + ":");
    found = found || in_value;
    lines.push_back(in_value ? fmt::format("{}: {}", key, value) : line);
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  if (!found) lines.push_back(fmt::format("{}: {}", key, value));
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

// Returns an error if design points of the family of `text` do not have one of the keys. A family
// that is not in the build is found when the file is loaded.
Status CheckKeys(const std::vector<VariedKey>& keys, std::string_view text,
                 const std::string& source) {
  KILN_ASSIGN_OR_RETURN(const YamlFile file, YamlFile::Parse(text, source));
  std::string family;
  file.root().String("family", &family);
  const StatusOr<hardware::FamilyKeys> known = DescribeKeys(family);
  if (!known.ok()) return OkStatus();
  std::vector<std::string> names;
  for (const hardware::KeyDescription& key : known->keys) names.push_back(key.name);
  for (const VariedKey& varied : keys) {
    if (std::ranges::find(names, varied.key) != names.end()) continue;
    const std::string meant = NearestName(varied.key, names);
    return ErrorAt(source, "--vary", fmt::format("its family has no key '{}'", varied.key),
                   meant.empty() ? fmt::format("see kiln list keys {}", family)
                                 : fmt::format("did you mean '{}'?", meant));
  }
  return OkStatus();
}

// Returns a message about a design point without the name of its file and, if it is a variant,
// without lines, because tables name the design point, and users may not see the variant's file.
std::string WithoutPlace(std::string_view message, const SweepPoint& point) {
  const std::string begin = point.file.string() + ": ";
  if (message.starts_with(begin)) message.remove_prefix(begin.size());
  std::string text(message);
  if (point.base.empty()) return text;
  constexpr std::string_view kLine = "line ";
  for (size_t at = 0; (at = text.find(kLine, at)) != std::string::npos;) {
    size_t end = at + kLine.size();
    while (end < text.size() && IsDigit(text[end])) ++end;
    const bool is_place = end > at + kLine.size() && text.compare(end, 2, ", ") == 0;
    if (is_place) {
      text.erase(at, end + 2 - at);
    } else {
      at = end;
    }
  }
  return text;
}

// Returns the keys of a design point, sorted. Error: the text is not a YAML mapping.
StatusOr<std::vector<std::string>> KeysOf(std::string_view text, const std::string& source) {
  KILN_ASSIGN_OR_RETURN(const YamlFile file, YamlFile::Parse(text, source));
  std::vector<std::string> keys = file.root().Keys();
  std::ranges::sort(keys);
  return keys;
}

// Returns the text of `base` with the variant's keys and name. Error: the file is not written so
// that a key can be replaced.
StatusOr<std::string> VariantText(std::string_view base, const SweepPoint& variant) {
  const std::string source = variant.base.string();
  KILN_ASSIGN_OR_RETURN(std::vector<std::string> expected, KeysOf(base, source));
  std::string text(base);
  std::vector<std::pair<std::string, std::string>> keys = variant.varied;
  keys.emplace_back("name", YamlText(variant.name));
  for (const auto& [key, value] : keys) {
    text = WithKey(text, key, value);
    if (std::ranges::find(expected, key) == expected.end()) expected.push_back(key);
  }
  std::ranges::sort(expected);
  const StatusOr<std::vector<std::string>> found = KeysOf(text, source);
  if (found.ok() && *found == expected) return text;
  return ErrorAt(
      source, "--vary", "its keys cannot be replaced line by line",
      "write each key at the start of a line, without quotes, and comments within a list "
      "indented");
}

// Moves the notes that all runs have from the rows to the table.
void ShareNotes(SweepTable* table) {
  std::vector<SweepTable::Row*> runs;
  for (SweepTable::Row& row : table->rows) {
    if (row.run.has_value()) runs.push_back(&row);
  }
  for (const std::string& note : std::vector<std::string>(runs[0]->notes)) {
    const bool shared = std::ranges::all_of(runs, [&note](const SweepTable::Row* row) {
      return std::ranges::find(row->notes, note) != row->notes.end();
    });
    if (!shared) continue;
    table->notes.push_back(note);
    for (SweepTable::Row* row : runs) std::erase(row->notes, note);
  }
}

}  // namespace

StatusOr<VariedKey> ParseVariedKey(std::string_view text) {
  const auto fail = [&](const std::string& fault) {
    return ErrorAt("", "--vary", QuotedExcerpt(text) + ' ' + fault,
                   "write it as input_port_bytes=16,32");
  };
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) return fail("names no values");
  VariedKey varied{.key = std::string(text.substr(0, equals)), .values = {}};
  if (varied.key.empty() || !std::ranges::all_of(varied.key, IsNameCharacter))
    return fail("begins with no key");
  if (varied.key == "name" || varied.key == "family")
    return fail("varies a key that says which design point it is");
  const std::string_view values = text.substr(equals + 1);
  for (const auto piece : absl::StrSplit(absl::string_view(values.data(), values.size()), ',')) {
    std::string value(piece);
    const bool plain = std::ranges::all_of(
        value, [](char c) { return IsNameCharacter(c) || c == '.' || c == '+' || c == '-'; });
    if (!plain || std::ranges::none_of(value, [](char c) { return IsLetter(c) || IsDigit(c); }))
      return fail("has a value that is neither a number nor a name");
    if (std::ranges::find(varied.values, value) != varied.values.end())
      return fail(fmt::format("has the value {} twice", value));
    varied.values.push_back(std::move(value));
  }
  return varied;
}

StatusOr<std::vector<SweepPoint>> FindSweepPoints(const std::vector<std::string>& patterns) {
  constexpr char kKind[] = "accelerators";
  std::vector<SweepPoint> points;
  const std::vector<fs::path> listed = ListResources(kKind);
  for (const std::string& pattern : patterns.empty() ? std::vector<std::string>{"*"} : patterns) {
    if (pattern.find_first_of("*?[") == std::string::npos) {
      const StatusOr<fs::path> file = FindResource(kKind, pattern);
      if (!file.ok()) return WithContext("--on", file.status());
      KILN_RETURN_IF_ERROR(AddPoint(*file, &points));
      continue;
    }
    std::vector<fs::path> fitting;
    if (pattern.find('/') != std::string::npos) {
      fitting = FilesLike(pattern);
    } else {
      std::ranges::copy_if(listed, std::back_inserter(fitting), [&pattern](const fs::path& file) {
        return ::fnmatch(pattern.c_str(), file.stem().c_str(), FNM_NOESCAPE) == 0;
      });
    }
    for (const fs::path& file : fitting) KILN_RETURN_IF_ERROR(AddPoint(file, &points));
    if (fitting.empty()) {
      return ErrorAt("", "--on",
                     fmt::format("no design point is called {}", QuotedExcerpt(pattern)),
                     "see kiln list accelerators");
    }
  }
  KILN_RETURN_IF_ERROR(CheckPointCount(points.size(), "--on"));
  return points;
}

StatusOr<std::vector<SweepPoint>> VariantsOf(const std::vector<SweepPoint>& points,
                                             const std::vector<VariedKey>& keys,
                                             const fs::path& folder) {
  size_t count = points.size();
  for (const VariedKey& varied : keys) {
    count *= varied.values.size();
    KILN_RETURN_IF_ERROR(CheckPointCount(count, "--vary"));
  }
  std::vector<SweepPoint> variants;
  std::set<std::string> names;
  for (const SweepPoint& point : points) {
    KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(point.file));
    KILN_RETURN_IF_ERROR(CheckKeys(keys, text, point.file.string()));
    const size_t combinations = count / points.size();
    for (size_t n = 0; n < combinations; ++n) {
      SweepPoint variant{.name = point.name, .file = {}, .base = point.file};
      size_t below = combinations;  // of the values of later keys, which change first
      for (const VariedKey& varied : keys) {
        below /= varied.values.size();
        const std::string& value = varied.values[n / below % varied.values.size()];
        variant.name += fmt::format("-{}-{}", varied.key, value);
        variant.varied.emplace_back(varied.key, value);
      }
      variant.file = folder / (variant.name + ".yaml");
      KILN_ASSIGN_OR_RETURN(variant.text, VariantText(text, variant));
      if (!names.insert(variant.name).second) {
        return ErrorAt(point.file.string(), "--vary",
                       fmt::format("two variants are called '{}'", variant.name),
                       "rename a file, or vary the keys one by one");
      }
      variants.push_back(std::move(variant));
    }
  }
  return variants;
}

Status WriteVariants(const std::vector<SweepPoint>& variants) {
  std::error_code error;
  for (const SweepPoint& variant : variants) {
    if (!fs::exists(variant.file, error)) continue;
    if (const auto text = ReadFile(variant.file); text.ok() && *text == variant.text) continue;
    return ErrorAt(variant.file.string(), "", "exists with another text",
                   "name another folder, or remove it");
  }
  for (const SweepPoint& variant : variants)
    KILN_RETURN_IF_ERROR(WriteFile(variant.file, variant.text));
  return OkStatus();
}

namespace {

// Returns an error if the model, the data or the recipe is faulty. No design point causes it.
Status CheckInputs(const FlowOptions& flow) {
  std::vector<std::string> notes;
  KILN_ASSIGN_OR_RETURN(const Graph network, LoadNetworkToRun(flow.model, flow.shapes, &notes));
  KILN_RETURN_IF_ERROR(OpenImages(flow.images, network).status());
  if (flow.calibration.given())
    KILN_RETURN_IF_ERROR(OpenImages(flow.calibration, network).status());
  return flow.recipe.empty() ? OkStatus() : FindRecipe(flow.recipe).status();
}

// Runs the network on a design point. A machine that works on several images at once gets as many
// made-up samples.
StatusOr<RunReport> RunOn(const SweepPoint& point, const FlowOptions& options) {
  FlowOptions flow = options;
  flow.accelerator = point.file;
  StatusOr<RunReport> report = RunFlow(flow);
  if (!report.ok()) return report;
  if (HostRunsAll(report->kernels)) {
    const std::optional<HostReason> reason = LargestHostReason(*report);
    return UnsupportedAt("", "", "the host runs the whole network",
                         reason.has_value() ? reason->reason : "it has no kernel");
  }
  if (flow.images.random == 0 || report->images_at_once <= flow.evaluate.limit) return report;
  flow.evaluate.limit = report->images_at_once;
  flow.images.random = std::max(flow.images.random, report->images_at_once);
  return RunFlow(flow);
}

}  // namespace

StatusOr<SweepTable> Sweep(const SweepOptions& options, const FlowProgress& progress) {
  SweepTable table;
  table.rank = options.rank;
  table.limit_seconds = options.limit_seconds;
  table.any_host = options.any_host;
  table.node_nm = options.flow.compile.node_nm;
  table.memory = options.flow.memory.has_value() ? options.flow.memory->text : "";
  table.model = options.flow.model.stem().string();
  KILN_RETURN_IF_ERROR(CheckInputs(options.flow));
  Status first_fault;
  for (size_t p = 0; p < options.points.size(); ++p) {
    const SweepPoint& point = options.points[p];
    if (progress) progress("design points", static_cast<int64_t>(p), std::ssize(options.points));
    SweepTable::Row row;
    row.design_point = point.name;
    row.source = (point.base.empty() ? point.file : point.base).string();
    row.varied = point.varied;
    const StatusOr<RunReport> report = RunOn(point, options.flow);
    if (!report.ok()) {
      row.fault = WithoutPlace(MessageOf(report.status()), point);
      if (first_fault.ok())
        first_fault = Status(report.status().code(), fmt::format("{}: {}", point.name, row.fault));
      table.rows.push_back(std::move(row));
      continue;
    }
    if (report->different_images > 0) {
      return absl::InternalError(
          fmt::format("the cycle level and the functional level differ on {}; this is a fault of "
                      "Kiln",
                      point.name));
    }
    if (options.save) KILN_RETURN_IF_ERROR(options.save(point, *report));
    // The figures are those that `kiln compare` reads from the run's file.
    KILN_ASSIGN_OR_RETURN(row.run, ParseSavedRun(ToJson(*report), point.name));
    row.notes = report->notes;
    const std::vector<std::string>& of_cost = report->machine->cost.notes;
    row.notes.insert(row.notes.end(), of_cost.begin(), of_cost.end());
    table.data = report->data.source;
    table.objective = report->objective;
    table.rows.push_back(std::move(row));
  }
  const bool any = std::ranges::any_of(
      table.rows, [](const SweepTable::Row& row) { return row.run.has_value(); });
  if (!any) return first_fault;
  ShareNotes(&table);
  table.Rank();
  return table;
}

}  // namespace kiln
