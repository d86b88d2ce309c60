#include "kiln/hardware/rtl_project.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>

#include "fmt/format.h"
#include "kiln/hardware/synthesis_flow.h"
#include "kiln/hardware/tool_names.h"
#include "kiln/hardware/verilog_text.h"
#include "kiln/support/budgets.h"
#include "kiln/support/file.h"
#include "kiln/support/installation.h"
#include "kiln/support/process.h"

namespace kiln::hardware {
namespace {

namespace fs = std::filesystem;

// The names that begin with kiln_ in SystemVerilog text.
std::set<std::string> LibraryNames(const std::string& text) {
  std::set<std::string> names = NamesIn(WithoutComments(text));
  std::erase_if(names, [](const std::string& name) { return !name.starts_with("kiln_"); });
  return names;
}

// The library's files by module name, as paths relative to it.
std::map<std::string, std::string> FilesOf(const fs::path& library) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(library)) {
    if (entry.path().extension() != ".sv") continue;
    files[entry.path().stem().string()] = fs::relative(entry.path(), library).generic_string();
  }
  return files;
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (end > at && text[at] != '#') lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// What stands there already keeps its time, so that make builds anew only what differs.
Status WriteIfDifferent(const fs::path& file, const std::string& text) {
  std::error_code error;
  if (fs::exists(file, error)) {
    const StatusOr<std::string> before = ReadFile(file);
    if (before.ok() && *before == text) return OkStatus();
  }
  return WriteFile(file, text);
}

std::string FileName(const std::string& path) { return fs::path(path).filename().string(); }

// What rtl/testbench/Makefile includes.
std::string SettingsOf(const RtlProject& project) {
  return fmt::format("TOP := {}\nMAIN := {}\nARGUMENTS ?= {}\n", project.top,
                     project.testbench.empty() ? "" : "testbench/" + project.testbench[0],
                     project.simulation_arguments);
}

// The list of what an emission has written, so that the next one leaves nothing of it behind: a path below the folder a
// line.
constexpr char kEmitted[] = "emitted.txt";
// What `make synth` runs.
constexpr char kScript[] = "synth.ys";

std::set<std::string> EmittedFiles(const fs::path& folder) {
  std::set<std::string> files;
  const auto list = ReadFile(folder / kEmitted, budgets::kFileListBytes);
  if (!list.ok()) return files;
  for (const std::string& line : LinesOf(*list)) {
    // Whatever became of the list, nothing outside of the folder is an emission's.
    if (IsPlainPath(line)) files.insert(fs::path(line).lexically_normal().generic_string());
  }
  return files;
}

// The first part of the path `file` below `folder` that is a link; empty: none is, so that the file, if it is there, is
// inside of the folder.
std::string LinkIn(const fs::path& folder, const fs::path& file) {
  fs::path part;
  std::error_code error;
  for (const fs::path& name : file) {
    part /= name;
    if (fs::is_symlink(fs::symlink_status(folder / part, error))) return part.generic_string();
  }
  return "";
}

// Links may lead anywhere, and what they lead to is somebody's.
Status CheckNoLink(const fs::path& folder, const fs::path& file) {
  const std::string link = LinkIn(folder, file);
  if (link.empty()) return OkStatus();
  return ErrorAt((folder / link).string(), "", "is a link, and a design is written to its folder alone",
                 "remove the link or name a new folder");
}

Status ListEmitted(const fs::path& folder, const std::set<std::string>& files) {
  std::string text = "# What Kiln has written here, for the next emission to this folder.\n";
  for (const std::string& file : files) text += file + '\n';
  return WriteIfDifferent(folder / kEmitted, text);
}

// Takes away what an earlier emission has written and this one does not.
Status RemoveOthers(const fs::path& folder, const std::set<std::string>& files) {
  for (const std::string& file : EmittedFiles(folder)) {
    if (files.contains(file) || !LinkIn(folder, file).empty()) continue;
    std::error_code error;
    if (fs::is_regular_file(fs::symlink_status(folder / file, error))) fs::remove(folder / file, error);
    if (error && error != std::errc::no_such_file_or_directory) {
      return ErrorAt((folder / file).string(), "", "of an earlier emission, cannot be removed: " + error.message(),
                     "name a new folder");
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<fs::path> RtlLibrary() {
  const char* named = std::getenv("KILN_RTL");
  const std::optional<fs::path> data = named == nullptr ? DataFolder() : std::nullopt;
  fs::path library = named != nullptr ? fs::path(named) : data.value_or("share/kiln") / "rtl";
  std::error_code error;
  if (fs::exists(library / "packages.f", error)) return library;
  return NotFoundAt(library.string(), "", "the SystemVerilog library is not there",
                    named != nullptr ? "KILN_RTL has to name the folder that holds packages.f"
                                     : "`cmake --install` puts it beside the program; KILN_RTL names another folder");
}

StatusOr<std::vector<std::string>> NeededFiles(const fs::path& library, const std::string& text) {
  const std::map<std::string, std::string> files = FilesOf(library);
  std::set<std::string> needed;
  std::vector<std::string> open = {text};
  while (!open.empty()) {
    const std::set<std::string> names = LibraryNames(open.back());
    open.pop_back();
    for (const std::string& name : names) {
      const auto file = files.find(name);
      if (file == files.end() || !needed.insert(name).second) continue;
      KILN_ASSIGN_OR_RETURN(std::string source, ReadFile(library / file->second));
      open.push_back(std::move(source));
    }
  }
  KILN_ASSIGN_OR_RETURN(const std::string packages, ReadFile(library / "packages.f"));
  std::vector<std::string> ordered;
  for (const std::string& package : LinesOf(packages)) {
    if (needed.erase(fs::path(package).stem().string()) > 0) ordered.push_back(package);
  }
  for (const std::string& name : needed) ordered.push_back(files.at(name));
  return ordered;
}

Status CheckRtlPath(const fs::path& folder) {
  std::error_code error;
  const std::string path = fs::absolute(folder, error).string();
  const auto wrong = std::ranges::find_if(path, [](char c) {
    const auto code = static_cast<unsigned char>(c);
    return code <= 0x20 || code == 0x7f;
  });
  if (wrong == path.end()) return OkStatus();
  if (*wrong != ' ' && *wrong != '\t' && *wrong != '\n') {
    return ErrorAt(folder.string(), "", "its path has a control character", "name a folder without any in its path");
  }
  const std::string whole = path == folder.string() ? "" : ", and this is " + path;
  return ErrorAt(folder.string(), "", "make and Verilator take no blanks in paths" + whole,
                 "name a folder without any in its path");
}

Status CheckRtlFolder(const fs::path& folder) {
  KILN_RETURN_IF_ERROR(CheckRtlPath(folder));
  std::error_code error;
  if (!fs::exists(folder, error)) return OkStatus();
  if (!fs::is_directory(folder, error)) return ErrorAt(folder.string(), "", "is a file", "name a folder");
  if (fs::is_empty(folder, error) && !error) return OkStatus();
  const auto settings = ReadFile(folder / "design.mk", budgets::kFileListBytes);
  if (settings.ok() && settings->starts_with("TOP := ")) return OkStatus();
  return ErrorAt(folder.string(), "", "holds files that are not of an earlier emission",
                 "name a new folder, or an empty one");
}

Status CheckRtlFolders(const fs::path& folder) {
  Status whole = CheckRtlFolder(folder);
  if (whole.ok() || !CheckRtlPath(folder).ok()) return whole;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (!entry.is_directory() || !CheckRtlFolder(entry.path()).ok()) return whole;
  }
  return error ? whole : OkStatus();
}

Status WriteRtlProject(const RtlProject& project, const fs::path& folder) {
  KILN_RETURN_IF_ERROR(CheckRtlFolder(folder));
  KILN_ASSIGN_OR_RETURN(const fs::path library, RtlLibrary());
  KILN_ASSIGN_OR_RETURN(const std::vector<std::string> files, NeededFiles(library, project.top_text));
  // Everything is read before anything is written.
  std::vector<std::pair<fs::path, std::string>> texts;
  std::string list;
  for (const std::string& file : files) {
    KILN_ASSIGN_OR_RETURN(std::string text, ReadFile(library / file));
    list += "rtl/" + FileName(file) + "\n";
    texts.emplace_back(fs::path("rtl") / FileName(file), std::move(text));
  }
  list += project.top + ".sv\n";
  for (const std::string& file : project.testbench) {
    KILN_ASSIGN_OR_RETURN(std::string text, ReadFile(library / "testbench" / file));
    texts.emplace_back(fs::path("testbench") / file, std::move(text));
  }
  KILN_ASSIGN_OR_RETURN(std::string waivers, ReadFile(library / "waivers.vlt"));
  texts.emplace_back("waivers.vlt", std::move(waivers));
  texts.emplace_back(project.top + ".sv", project.top_text);
  texts.emplace_back("filelist.f", list);
  KILN_ASSIGN_OR_RETURN(std::string makefile, ReadFile(library / "testbench" / "Makefile"));
  texts.emplace_back("Makefile", std::move(makefile));
  texts.emplace_back("design.mk", SettingsOf(project));
  for (const auto& [name, text] : project.others) texts.emplace_back(name, text);

  texts.emplace_back(kScript, ProjectScript(LinesOf(list), project.top));

  for (const auto& [name, text] : texts) KILN_RETURN_IF_ERROR(CheckNoLink(folder, name));
  for (const char* other : {kEmitted, "rtl", "testbench"}) KILN_RETURN_IF_ERROR(CheckNoLink(folder, other));
  std::error_code error;
  for (const char* part : {"rtl", "testbench"}) {
    fs::create_directories(folder / part, error);
    if (error) return ErrorAt(folder.string(), "", "cannot be made: " + error.message(), "name a folder to write to");
  }
  std::set<std::string> names;
  for (const auto& [name, text] : texts) names.insert(name.generic_string());
  KILN_RETURN_IF_ERROR(RemoveOthers(folder, names));
  KILN_RETURN_IF_ERROR(ListEmitted(folder, names));
  for (const auto& [name, text] : texts) KILN_RETURN_IF_ERROR(WriteIfDifferent(folder / name, text));
  return OkStatus();
}

Status AddToRtlProject(const fs::path& folder, const std::string& name, const std::string& text) {
  KILN_RETURN_IF_ERROR(CheckNoLink(folder, name));
  KILN_RETURN_IF_ERROR(CheckNoLink(folder, kEmitted));
  std::set<std::string> files = EmittedFiles(folder);
  files.insert(name);
  KILN_RETURN_IF_ERROR(ListEmitted(folder, files));
  return WriteIfDifferent(folder / name, text);
}

StatusOr<fs::path> BuildSimulation(const fs::path& folder, bool trace) {
  const std::string program = trace ? "simulate_trace" : "simulate";
  for (const std::string& file : {std::string("build.log"), program}) {
    KILN_RETURN_IF_ERROR(CheckNoLink(folder, fs::path("build") / file));
  }
  std::error_code error;
  fs::create_directories(folder / "build", error);
  if (error) return ErrorAt(folder.string(), "", "cannot be written: " + error.message(), "");
  std::vector<std::string> arguments = {"make", "-s", "-C", folder.string(), "build/" + program};
  if (trace) arguments.push_back("TRACE=1");
  KILN_RETURN_IF_ERROR(RunProgram(arguments, folder / "build" / "build.log"));
  return folder / "build" / program;
}

}  // namespace kiln::hardware
