#include "kiln/hardware/rtl_project.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>

#include "fmt/format.h"
#include "kiln/hardware/file_list.h"
#include "kiln/hardware/filled_folder.h"
#include "kiln/hardware/synthesis_flow.h"
#include "kiln/hardware/verilog_text.h"
#include "kiln/support/budgets.h"
#include "kiln/support/file.h"
#include "kiln/support/hash.h"
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

// Whatever became of the list: where it has a line that no emission wrote, it is somebody else's, and names nothing.
std::set<std::string> EmittedFiles(const fs::path& folder) {
  std::set<std::string> files;
  const auto list = ReadFile(folder / kEmitted, budgets::kFileListBytes);
  if (!list.ok()) return files;
  const auto listed = ParseFileList(*list, kEmitted);
  if (!listed.ok()) return files;
  for (const ListedFile& file : *listed)
    files.insert(fs::path(file.path).lexically_normal().generic_string());
  return files;
}

Status ListEmitted(const fs::path& folder, const std::set<std::string>& files) {
  std::string text = "# What Kiln has written here, for the next emission to this folder.\n";
  for (const std::string& file : files) text += file + '\n';
  return WriteBelow(folder, kEmitted, text);
}

// Where make builds, below a project's folder.
constexpr char kBuild[] = "build";

// What a simulation is built of: text by name below the folder.
using BuildSources = std::map<std::string, std::string>;

// The files among an emission's that its Makefile and the compilers read.
StatusOr<BuildSources> SourcesOfSimulation(const fs::path& folder) {
  static const std::set<fs::path> kExtensions = {".sv", ".h", ".cc", ".vlt", ".f", ".mk"};
  BuildSources sources;
  for (const std::string& file : EmittedFiles(folder)) {
    if (file != "Makefile" && !kExtensions.contains(fs::path(file).extension())) continue;
    KILN_RETURN_IF_ERROR(CheckNoLink(folder, file));
    KILN_ASSIGN_OR_RETURN(sources[file], ReadFile(folder / file));
  }
  return sources;
}

// The simulations that this process has built. Another program in a folder, whatever its time, may be anybody's.
class Builds {
 public:
  static Builds& OfThisProcess() {
    static Builds builds;
    return builds;
  }
  bool Have(const fs::path& program, const BuildSources& sources) {
    const StatusOr<Build> now = Of(program, sources);
    const std::scoped_lock lock(mutex_);
    const auto before = builds_.find(fs::absolute(program));
    return now.ok() && before != builds_.end() && before->second == *now;
  }
  Status Add(const fs::path& program, const BuildSources& sources) {
    KILN_ASSIGN_OR_RETURN(const Build build, Of(program, sources));
    const std::scoped_lock lock(mutex_);
    builds_[fs::absolute(program)] = build;
    return OkStatus();
  }

 private:
  // Hashes of the sources and of the program.
  using Build = std::pair<uint64_t, uint64_t>;
  static StatusOr<Build> Of(const fs::path& program, const BuildSources& sources) {
    KILN_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(program));
    uint64_t hash = StableHash("");
    for (const auto& [file, text] : sources) hash = StableHash(text, StableHash(file, hash));
    return Build(hash, StableHash(bytes));
  }

  std::mutex mutex_;
  std::map<fs::path, Build> builds_;  // by the program's path
};

// Takes away what an earlier emission has written and this one does not.
Status RemoveOthers(const fs::path& folder, const std::set<std::string>& files) {
  for (const std::string& file : EmittedFiles(folder)) {
    if (files.contains(file) || !LinkIn(folder, file).empty()) continue;
    std::error_code error;
    if (fs::is_regular_file(fs::symlink_status(folder / file, error)))
      fs::remove(folder / file, error);
    if (error && error != std::errc::no_such_file_or_directory) {
      return ErrorAt((folder / file).string(), "",
                     "of an earlier emission, cannot be removed: " + error.message(),
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
  return NotFoundAt(
      library.string(), "", "the SystemVerilog library is not there",
      named != nullptr
          ? "KILN_RTL has to name the folder that holds packages.f"
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
  const fs::path packages = library / "packages.f";
  KILN_ASSIGN_OR_RETURN(const std::string list, ReadFile(packages, budgets::kFileListBytes));
  KILN_ASSIGN_OR_RETURN(const std::vector<ListedFile> listed,
                        ParseFileList(list, packages.string()));
  std::vector<std::string> ordered;
  for (const ListedFile& package : listed) {
    if (needed.erase(fs::path(package.path).stem().string()) > 0) ordered.push_back(package.path);
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
    return ErrorAt(folder.string(), "", "its path has a control character",
                   "name a folder without any in its path");
  }
  const std::string whole = path == folder.string() ? "" : ", and this is " + path;
  return ErrorAt(folder.string(), "", "make and Verilator take no blanks in paths" + whole,
                 "name a folder without any in its path");
}

Status CheckRtlFolder(const fs::path& folder) {
  KILN_RETURN_IF_ERROR(CheckRtlPath(folder));
  std::error_code error;
  if (!fs::exists(folder, error)) return OkStatus();
  if (!fs::is_directory(folder, error))
    return ErrorAt(folder.string(), "", "is a file", "name a folder");
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
  KILN_ASSIGN_OR_RETURN(const std::vector<std::string> files,
                        NeededFiles(library, project.top_text));
  // Everything is read before anything is written.
  std::vector<std::pair<fs::path, std::string>> texts;
  std::vector<std::string> sources;
  for (const std::string& file : files) {
    KILN_ASSIGN_OR_RETURN(std::string text, ReadFile(library / file));
    sources.push_back("rtl/" + FileName(file));
    texts.emplace_back(fs::path("rtl") / FileName(file), std::move(text));
  }
  sources.push_back(project.top + ".sv");
  std::string list;
  for (const std::string& source : sources) list += source + '\n';
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
  texts.emplace_back(kScript, ProjectScript(sources, project.top));

  for (const auto& [name, text] : texts) KILN_RETURN_IF_ERROR(CheckNoLink(folder, name));
  for (const char* other : {kEmitted, "rtl", "testbench"})
    KILN_RETURN_IF_ERROR(CheckNoLink(folder, other));
  std::error_code error;
  for (const char* part : {"rtl", "testbench"}) {
    fs::create_directories(folder / part, error);
    if (error)
      return ErrorAt(folder.string(), "", "cannot be made: " + error.message(),
                     "name a folder to write to");
  }
  std::set<std::string> names;
  for (const auto& [name, text] : texts) names.insert(name.generic_string());
  KILN_RETURN_IF_ERROR(RemoveOthers(folder, names));
  KILN_RETURN_IF_ERROR(ListEmitted(folder, names));
  for (const auto& [name, text] : texts) KILN_RETURN_IF_ERROR(WriteBelow(folder, name, text));
  return OkStatus();
}

Status AddToRtlProject(const fs::path& folder, const std::string& name, const std::string& text) {
  KILN_RETURN_IF_ERROR(CheckNoLink(folder, name));
  KILN_RETURN_IF_ERROR(CheckNoLink(folder, kEmitted));
  std::set<std::string> files = EmittedFiles(folder);
  files.insert(name);
  KILN_RETURN_IF_ERROR(ListEmitted(folder, files));
  return WriteBelow(folder, name, text);
}

StatusOr<fs::path> BuildSimulation(const fs::path& folder, bool trace) {
  const std::string name = trace ? "simulate_trace" : "simulate",
                    model = trace ? "model_trace" : "model";
  const fs::path build = folder / kBuild;
  fs::path program = build / name;
  KILN_RETURN_IF_ERROR(CheckNoLink(folder, kBuild));
  KILN_RETURN_IF_ERROR(CheckOnlyFiles(build));
  KILN_ASSIGN_OR_RETURN(const BuildSources sources, SourcesOfSimulation(folder));
  if (Builds::OfThisProcess().Have(program, sources)) return program;

  KILN_ASSIGN_OR_RETURN(const TemporaryFolder apart, TemporaryFolder::Create("kiln-build"));
  KILN_RETURN_IF_ERROR(CheckRtlPath(apart.path()));
  std::error_code error;
  for (const auto& [file, text] : sources) {
    fs::create_directories((apart.path() / file).parent_path(), error);
    KILN_RETURN_IF_ERROR(WriteFile(apart.path() / file, text));
  }
  fs::create_directories(build, error);
  for (const std::string& old : {model, name}) fs::remove_all(build / old, error);
  if (error)
    return ErrorAt(folder.string(), "", "cannot be written: " + error.message(),
                   "name a new folder");
  const std::string target = std::string(kBuild) + '/' + name;
  std::vector<std::string> arguments = {"make", "-s",       "-C",  apart.path().string(),
                                        "-f",   "Makefile", target};
  if (trace) arguments.push_back("TRACE=1");
  KILN_RETURN_IF_ERROR(RunProgram(arguments, build / "build.log"));
  // The program last, so that make takes it for newer than what it is linked of.
  for (const std::string& made : {model, name}) {
    fs::copy(apart.path() / kBuild / made, build / made, fs::copy_options::recursive, error);
    if (error)
      return ErrorAt((build / made).string(), "", "cannot be written: " + error.message(), "");
  }
  KILN_RETURN_IF_ERROR(Builds::OfThisProcess().Add(program, sources));
  return program;
}

}  // namespace kiln::hardware
