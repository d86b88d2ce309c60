// Collects the input of a synthesis: the files of a folder or library module, and the parameters of
// the command line.
#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <sstream>

#include "fmt/format.h"
#include "kiln/hardware/file_list.h"
#include "kiln/hardware/rtl_format.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/hardware/synthesis.h"
#include "kiln/hardware/tool_names.h"
#include "kiln/numerics/format.h"
#include "kiln/numerics/quire.h"
#include "kiln/support/budgets.h"
#include "kiln/support/file.h"

namespace kiln::hardware {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kQuires = "quire(A*B), of the names of two formats";
constexpr std::string_view kNames = "a letter, then letters, digits and _";

// Returns an integer of 32 bits, signed or unsigned, in Yosys' notation; nullopt for other texts.
std::optional<std::string> WholeNumber(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<uint32_t>::max())
    return std::nullopt;
  return value < 0 ? fmt::format("32'd{}", static_cast<uint32_t>(value)) : text;
}

// Returns whether a text is a Verilog constant (8'h2a, 4'b0101, 32'd7) with digits that fit its
// base.
bool IsVerilogConstant(const std::string& text) {
  const size_t quote = text.find('\'');
  if (quote == std::string::npos || quote == 0 || quote + 2 >= text.size()) return false;
  if (text.find_first_not_of(kDigits) != quote || quote > 6) return false;
  const std::string digits = text.substr(quote + 2);
  switch (text[quote + 1]) {
    case 'b':
      return digits.find_first_not_of("01_") == std::string::npos;
    case 'd':
      return digits.find_first_not_of("0123456789_") == std::string::npos;
    case 'h':
      return digits.find_first_not_of("0123456789abcdefABCDEF_") == std::string::npos;
    default:
      return false;
  }
}

// Returns the descriptor for quire(e4m3*e4m3), the exact sums of such products; nullopt for other
// texts.
std::optional<StatusOr<std::string>> QuireValue(const std::string& text,
                                                const std::string& parameter) {
  constexpr std::string_view kBefore = "quire(";
  const size_t product = text.find('*');
  if (!text.starts_with(kBefore) || !text.ends_with(')') || product == std::string::npos)
    return std::nullopt;
  const auto input = FindFormat(text.substr(kBefore.size(), product - kBefore.size()));
  const auto weight = FindFormat(text.substr(product + 1, text.size() - product - 2));
  for (const auto* format : {&input, &weight}) {
    if (!format->ok())
      return ErrorAt("--parameters", parameter, std::string(format->status().message()), kQuires);
  }
  if (!Quire::Fits(*input, *weight)) {
    return ErrorAt(
        "--parameters", parameter,
        fmt::format("products of {} and {} reach beyond a quire's bits", input->name, weight->name),
        "name formats of less range");
  }
  return QuireDescriptor(*input, *weight);
}

// Returns a parameter's value in Yosys' notation.
StatusOr<std::string> ValueOf(const std::string& text, const std::string& parameter) {
  if (const auto number = WholeNumber(text)) return *number;
  if (IsVerilogConstant(text)) return text;
  if (const auto quire = QuireValue(text, parameter)) return *quire;
  const auto format = FindFormat(text);
  if (!format.ok()) {
    return ErrorAt(
        "--parameters", parameter,
        fmt::format("'{}' is no number of 32 bits, Verilog constant or format", text),
        "write ROWS=4, MASK=8'h2a, INPUT_FORMAT=e4m3; `kiln list formats` lists formats");
  }
  return FormatDescriptor(*format);
}

// Returns the name in the first line "TOP := NAME", or "" if there is none.
std::string TopOf(std::string_view settings) {
  constexpr std::string_view kBlanks = " \t\r";
  while (!settings.empty()) {
    const size_t end = std::min(settings.find('\n'), settings.size());
    std::string_view line = settings.substr(0, end);
    settings.remove_prefix(std::min(end + 1, settings.size()));
    const auto word = [&] {
      line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
      const std::string_view first = line.substr(0, line.find_first_of(kBlanks));
      line.remove_prefix(first.size());
      return first;
    };
    if (word() == "TOP" && !word().empty()) return std::string(word());
  }
  return "";
}

// Returns the files with contents of memories in a design's folder, sorted. Errors: something other
// than regular files with plain names.
StatusOr<std::vector<std::string>> ContentsIn(const fs::path& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder / kContentsFolder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string path =
        fmt::format("{}/{}", kContentsFolder, entry->path().filename().string());
    if (!IsPlainPath(path) || !fs::is_regular_file(entry->symlink_status(error))) {
      return ErrorAt(folder.string(), "",
                     fmt::format("'{}' is no file that the tools can be given", path),
                     "write the design anew");
    }
    files.push_back(path);
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

StatusOr<DesignSources> SourcesOfFolder(const fs::path& folder, const std::string& top) {
  const fs::path list = folder / kFileList;
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return NotFoundAt(folder.string(), "",
                      fs::exists(folder, error) ? "is no folder" : "there is no such folder",
                      "give a folder that `kiln compile --emit` wrote, or --module");
  }
  if (!fs::exists(list, error)) {
    return NotFoundAt(folder.string(), "", "there is no filelist.f in it",
                      "give a folder that `kiln compile --emit` wrote, or --module");
  }
  KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(list, budgets::kFileListBytes));
  KILN_ASSIGN_OR_RETURN(const std::vector<ListedFile> files, ParseFileList(text, list.string()));
  DesignSources sources{.folder = folder, .files = {}, .folders = {}, .contents = {}, .top = top};
  for (const ListedFile& file : files) {
    KILN_RETURN_IF_ERROR(CheckListedFile(folder, file, list.string()));
    sources.files.push_back(file.path);
  }
  KILN_ASSIGN_OR_RETURN(sources.contents, ContentsIn(folder));
  if (sources.top.empty() && fs::exists(folder / "design.mk", error)) {
    KILN_ASSIGN_OR_RETURN(const std::string settings,
                          ReadFile(folder / "design.mk", budgets::kFileListBytes));
    sources.top = TopOf(settings);
  }
  if (sources.top.empty())
    return ErrorAt(folder.string(), "", "which module is the top is not known", "give --top");
  if (!IsIdentifier(sources.top))
    return ErrorAt("", "--top", fmt::format("'{}' is no module name", sources.top), kNames);
  return sources;
}

StatusOr<DesignSources> SourcesOfModule(const std::string& module) {
  if (!IsIdentifier(module))
    return ErrorAt("", "--module", fmt::format("'{}' is no module name", module), kNames);
  KILN_ASSIGN_OR_RETURN(const fs::path library, RtlLibrary());
  DesignSources sources{
      .folder = library, .files = {}, .folders = {}, .contents = {}, .top = module};
  KILN_ASSIGN_OR_RETURN(sources.files, LibraryPackages(library));
  const size_t number_of_packages = sources.files.size();
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(library, error)) {
    const std::string path = fs::relative(entry.path(), library, error).generic_string();
    const bool is_folder = entry.is_directory(error),
               is_module = entry.path().filename() == module + ".sv";
    if (!is_folder && !is_module) continue;
    if (!IsPlainPath(path)) {
      return ErrorAt(library.string(), "",
                     fmt::format("'{}' is no path that the tools can be given", path),
                     std::string(kPlainPath));
    }
    (is_folder ? sources.folders : sources.files).push_back(path);
  }
  std::sort(sources.folders.begin(), sources.folders.end());
  if (sources.files.size() == number_of_packages) {
    return NotFoundAt("", "--module",
                      fmt::format("there is no module '{}' in {}", module, library.string()),
                      "give the name of one of its .sv files");
  }
  return sources;
}

StatusOr<ParameterValues> ParseParameters(const std::string& text) {
  ParameterValues parameters;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t equals = part.find('=');
    const std::string name = part.substr(0, equals);
    if (equals == std::string::npos || !IsIdentifier(name)) {
      return ErrorAt("", "--parameters", fmt::format("'{}' is not NAME=VALUE", part),
                     "write ROWS=4,COLUMNS=4");
    }
    if (std::ranges::any_of(parameters, [&](const auto& p) { return p.first == name; })) {
      return ErrorAt("", "--parameters", fmt::format("'{}' is given twice", name),
                     "give each parameter once");
    }
    KILN_ASSIGN_OR_RETURN(std::string value, ValueOf(part.substr(equals + 1), name));
    parameters.emplace_back(name, std::move(value));
  }
  return parameters;
}

Status CheckParameters(const DesignSources& sources, const ParameterValues& parameters) {
  const auto file = std::ranges::find_if(
      sources.files, [&](const std::string& f) { return fs::path(f).stem() == sources.top; });
  if (parameters.empty() || file == sources.files.end()) return OkStatus();
  KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(sources.folder / *file));
  for (const auto& [name, value] : parameters) {
    // WholeNumber writes -1 as 32'd4294967295.
    constexpr std::string_view kBits = "32'd";
    uint32_t bits = 0;
    if (value.starts_with(kBits))
      std::from_chars(value.data() + kBits.size(), value.data() + value.size(), bits);
    if (bits >> 31 != 0 &&
        text.find(fmt::format("parameter int unsigned {} ", name)) != text.npos) {
      return ErrorAt("--parameters", name, "is negative, and the parameter is an unsigned integer",
                     "a number of at least 0");
    }
  }
  return OkStatus();
}

}  // namespace kiln::hardware
