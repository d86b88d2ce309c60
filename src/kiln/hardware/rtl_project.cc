// Writes projects, keeps track of the files that an emission wrote, and builds simulations.

#include "kiln/hardware/rtl_project.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <system_error>

#include "fmt/format.h"
#include "kiln/hardware/design_package.h"
#include "kiln/hardware/file_list.h"
#include "kiln/hardware/filled_folder.h"
#include "kiln/hardware/folder_lock.h"
#include "kiln/hardware/gate_level.h"
#include "kiln/hardware/sample_run.h"
#include "kiln/hardware/stream_memory.h"
#include "kiln/hardware/synthesis_flow.h"
#include "kiln/hardware/tool_names.h"
#include "kiln/hardware/verilog_text.h"
#include "kiln/support/budgets.h"
#include "kiln/support/file.h"
#include "kiln/support/installation.h"

namespace kiln::hardware {
namespace {

namespace fs = std::filesystem;

// Returns the names in SystemVerilog text that begin with kiln_: candidates for library modules.
std::set<std::string> LibraryNames(const std::string& text) {
  std::set<std::string> names = NamesIn(WithoutComments(text));
  std::erase_if(names, [](const std::string& name) { return !name.starts_with("kiln_"); });
  return names;
}

// Returns the library's files by module name, as paths relative to the library.
std::map<std::string, std::string> FilesOf(const fs::path& library) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(library)) {
    if (entry.path().extension() != ".sv") continue;
    files[entry.path().stem().string()] = fs::relative(entry.path(), library).generic_string();
  }
  return files;
}

// The list of a folder's packages.
constexpr char kPackages[] = "packages.f";

// Returns the last component of a path.
std::string FileName(const std::string& path) { return fs::path(path).filename().string(); }

// The file that rtl/testbench/Makefile includes. The first line names the top module, and the last
// one holds the arguments of `make sim`.
constexpr char kSettings[] = "design.mk";
constexpr char kTop[] = "TOP := ";
constexpr char kArguments[] = "ARGUMENTS ?= ";
std::string SettingsOf(const RtlProject& project) {
  std::string base;
  // Of 0 bits: the top has no such parameter, but the testbench a memory that has an address.
  if (project.places_memory) base = fmt::format("{}_BITS := 0\n", kMemoryBase);
  if (project.description.has_value()) {
    for (const TopParameter& parameter : ParametersOf(*project.description)) {
      if (parameter.name == kMemoryBase)
        base = fmt::format("{}_BITS := {}\n", kMemoryBase, parameter.bits);
    }
  }
  return fmt::format("{}{}\nMAIN := {}\n{}{}{}\n", kTop, project.top,
                     project.testbench.empty() ? "" : "testbench/" + project.testbench[0], base,
                     kArguments, project.simulation_arguments);
}

// The list of the files that an emission wrote, one path per line. The next emission to the same
// folder removes those that it does not write itself.
constexpr char kEmitted[] = "emitted.txt";
constexpr char kReadme[] = "README.md";
// The Yosys script of `make synth`.
constexpr char kScript[] = "synth.ys";

// Returns the files of the list. If it contains a line that no emission writes, the list is not
// Kiln's, and the result is empty.
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

// The first line of the list.
constexpr char kEmittedTitle[] =
    "# What Kiln has written here, for the next emission to this folder.\n";

// Writes the list of emitted files.
Status ListEmitted(const fs::path& folder, const std::set<std::string>& files) {
  std::string text = kEmittedTitle;
  for (const std::string& file : files) text += file + '\n';
  return WriteBelow(folder, kEmitted, text);
}

// The folder of build results, below a project's folder.
constexpr char kBuild[] = "build";

// A project's files by their name below its folder.
using ProjectFiles = std::vector<std::pair<std::string, std::string>>;

// Returns whether a project's Makefile or the compilers read the file. A netlist also depends on
// the contents of memories, which the simulation of the sources reads when it runs.
bool IsSource(const std::string& file, const SimulationKind& kind) {
  if (kind.netlist != NetlistKind::kNone && file.starts_with(fmt::format("{}/", kContentsFolder)))
    return true;
  if (file.starts_with("driver/")) return false;  // compiled by a Makefile of its own
  static const std::set<fs::path> kExtensions = {".sv", ".h", ".cc", ".vlt", ".f", ".mk"};
  return file == "Makefile" || kExtensions.contains(fs::path(file).extension());
}

// Returns the sources of the simulation. The arguments of `make sim` in design.mk are left out,
// because the program does not depend on them.
SimulationSources SourcesOfSimulation(const ProjectFiles& files, const SimulationKind& kind) {
  SimulationSources sources;
  for (const auto& [file, text] : files) {
    if (IsSource(file, kind))
      sources[file] = file == kSettings ? text.substr(0, text.find(kArguments)) : text;
  }
  return sources;
}

// Returns the synthesis of a simulation of a netlist, and nothing for other simulations.
StatusOr<std::optional<Preparation>> PreparationOf(const SimulationKind& kind) {
  if (kind.netlist == NetlistKind::kNone) return std::nullopt;
  KILN_ASSIGN_OR_RETURN(Preparation gates, GateLevel(kind.netlist));
  return gates;
}

// Copies a simulation to the place where make would build it in the project's folder, so that make
// does not build it again. Kiln itself runs the program in the cache.
Status CopyProgram(const fs::path& program, const std::string& top, const fs::path& build,
                   bool trace) {
  const std::string suffix = trace ? "_trace" : "";
  const fs::path model = build / ("model" + suffix), copy = build / ("simulate" + suffix);
  KILN_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(program));
  const auto before = ReadFile(copy);
  if (before.ok() && *before == bytes) return OkStatus();
  std::error_code error;
  for (const fs::path& old : {model, copy}) fs::remove_all(old, error);
  fs::create_directories(model, error);
  // build/simulate is written last, so that make considers it newer than the file that it is copied
  // from.
  for (const fs::path& file : {model / ("V" + top), copy}) {
    if (!error) fs::copy_file(program, file, error);
  }
  if (!error) return OkStatus();
  return ErrorAt(build.string(), "", "cannot be written: " + error.message(), "name a new folder");
}

// Removes the files of an earlier emission that this one does not write.
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
    // Folders that are empty now.
    for (fs::path part = fs::path(file).parent_path(); !part.empty(); part = part.parent_path()) {
      if (!fs::remove(folder / part, error)) break;
    }
  }
  return OkStatus();
}

}  // namespace

void SetTop(TopModule top, RtlProject* project) {
  for (Bus& bus : top.buses) AddAttributes(&bus);
  project->top = top.name;
  project->top_text += SystemVerilogOf(top);
  project->description = std::move(top);
}

void AddSample(const SampleRun& sample, const std::string& before, RtlProject* project) {
  if (sample.empty()) return;
  for (auto& file : sample.Files()) project->others.push_back(std::move(file));
  project->simulation_arguments =
      before + (before.empty() ? "" : " ") + fmt::format("--sample {}", kSampleFolder);
}

StatusOr<fs::path> RtlLibrary() {
  const char* named = std::getenv("KILN_RTL");
  const std::optional<fs::path> data = named == nullptr ? DataFolder() : std::nullopt;
  fs::path library = named != nullptr ? fs::path(named) : data.value_or("share/kiln") / "rtl";
  std::error_code error;
  if (fs::exists(library / kPackages, error)) return library;
  return NotFoundAt(
      library.string(), "", "the SystemVerilog library is not there",
      named != nullptr
          ? "KILN_RTL has to name the folder that holds packages.f"
          : "`cmake --install` puts it beside the program; KILN_RTL names another folder");
}

StatusOr<std::vector<std::string>> LibraryPackages(const fs::path& library) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(library, error)) {
    if (fs::exists(entry.path() / kPackages, error)) folders.push_back(entry.path().filename());
  }
  std::ranges::sort(folders);
  folders.insert(folders.begin(), fs::path());
  std::vector<std::string> packages;
  for (const fs::path& folder : folders) {
    const fs::path list = library / folder / kPackages;
    KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(list, budgets::kFileListBytes));
    KILN_ASSIGN_OR_RETURN(const std::vector<ListedFile> listed, ParseFileList(text, list.string()));
    for (const ListedFile& file : listed) packages.push_back((folder / file.path).generic_string());
  }
  return packages;
}

StatusOr<std::vector<std::string>> NeededFiles(const fs::path& library, const std::string& text) {
  const std::map<std::string, std::string> files = FilesOf(library);
  std::set<std::string> needed;
  std::vector<std::string> open = {text};
  // Follows names from file to file. A name that is not a library file is ignored.
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
  KILN_ASSIGN_OR_RETURN(const std::vector<std::string> packages, LibraryPackages(library));
  std::vector<std::string> ordered;
  for (const std::string& package : packages) {
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
  const auto begins = [&](const char* file, std::string_view with) {
    const auto text = ReadFile(folder / file, budgets::kFileListBytes);
    return text.ok() && text->starts_with(with);
  };
  if (begins(kSettings, kTop) || begins(kEmitted, kEmittedTitle)) return OkStatus();
  return ErrorAt(folder.string(), "", "holds files that are not of an earlier emission",
                 "name a new folder, or an empty one");
}

namespace {

// Returns the description of a project for other tools.
//   top       the description of the project's top
//   sources   its SystemVerilog in order
DesignPackage PackageOf(const RtlProject& project, const TopModule& top,
                        const std::vector<std::string>& sources) {
  const DesignGuide& guide = *project.guide;
  // A long name is cut before the part, which tells the folders of one emission apart.
  std::string name = guide.design_point;
  if (!guide.network.empty()) name += '_' + guide.network;
  name = PlainName(name);
  if (!guide.part.empty()) {
    const std::string part = '_' + PlainName(guide.part);
    name = name.substr(0, kMostPlainName - std::min(part.size(), kMostPlainName));
    name += part;
  }
  DesignPackage package;
  package.name = IsIdentifier(name) ? name : "design_" + name;
  package.title = fmt::format(
      "{} of the family {}{}{}", SampleName(guide.design_point), guide.family,
      guide.network.empty() ? "" : fmt::format(" with the network {}", SampleName(guide.network)),
      guide.part.empty() ? "" : ", " + guide.part);
  package.top = top;
  package.sources = sources;
  package.simulation_arguments = project.simulation_arguments;
  const std::optional<RegisterMap>* map = &project.registers;
  for (const Bus& bus : top.buses) {
    if (BusKindOf(bus) != BusKind::kAxiLite) continue;
    if (map->has_value()) package.registers.emplace_back(bus.name, **map);
    map = &project.more_registers;
  }
  package.clock_mhz = guide.clock_mhz;
  for (const std::string& file : project.testbench) {
    (file.ends_with(".h") ? package.headers : package.programs).push_back("testbench/" + file);
  }
  const auto below = [](const std::string& file, const char* folder) {
    return file.starts_with(fmt::format("{}/", folder));
  };
  for (const auto& [file, text] : project.others) {
    const std::string ending = fs::path(file).extension().string();
    if (below(file, "driver")) continue;
    if (ending == ".h") package.headers.push_back(file);
    if (below(file, kContentsFolder)) {
      package.contents.push_back(file);
    } else if (below(file, kSampleFolder) || ending == ".bin" || ending == ".hex") {
      package.data.push_back(file);
    }
  }
  return package;
}

// Returns all files of a project except the list of emitted files.
StatusOr<ProjectFiles> FilesOf(const RtlProject& project) {
  KILN_ASSIGN_OR_RETURN(const fs::path library, RtlLibrary());
  std::string texts = project.top_text;
  for (const auto& [name, text] : project.modules) texts += '\n' + text;
  KILN_ASSIGN_OR_RETURN(const std::vector<std::string> modules, NeededFiles(library, texts));
  ProjectFiles files;
  std::vector<std::string> sources;
  const auto copy = [&](const fs::path& from, const std::string& name) -> Status {
    KILN_ASSIGN_OR_RETURN(std::string text, ReadFile(library / from));
    files.emplace_back(name, std::move(text));
    return OkStatus();
  };
  for (const std::string& module : modules) {
    sources.push_back("rtl/" + FileName(module));
    KILN_RETURN_IF_ERROR(copy(module, sources.back()));
  }
  for (const auto& [name, text] : project.modules) {
    sources.push_back(name + ".sv");
    files.emplace_back(sources.back(), text);
  }
  sources.push_back(project.top + ".sv");
  std::string list;
  for (const std::string& source : sources) list += source + '\n';
  for (const std::string& file : project.testbench) {
    KILN_RETURN_IF_ERROR(copy(fs::path("testbench") / file, "testbench/" + file));
  }
  for (const std::string& file : project.driver) {
    KILN_RETURN_IF_ERROR(copy(fs::path("driver") / file, "driver/" + file));
  }
  KILN_RETURN_IF_ERROR(copy(kWaivers, kWaivers));
  files.emplace_back(project.top + ".sv", project.top_text);
  files.emplace_back(kFileList, list);
  KILN_RETURN_IF_ERROR(copy("testbench/Makefile", "Makefile"));
  files.emplace_back(kSettings, SettingsOf(project));
  files.insert(files.end(), project.others.begin(), project.others.end());
  files.emplace_back(kScript, ProjectScript(sources, project.top));
  if (!project.guide.has_value()) return files;
  std::string core;
  if (project.description.has_value()) {
    const DesignPackage described = PackageOf(project, *project.description, sources);
    core = CoreNameOf(described);
    KILN_ASSIGN_OR_RETURN(ProjectFiles package, PackageFiles(described));
    files.insert(files.end(), std::make_move_iterator(package.begin()),
                 std::make_move_iterator(package.end()));
  }
  if (HasTensorHeader(*project.guide)) {
    files.emplace_back(kTensorHeader, TensorHeader(*project.guide));
  }
  if (!project.guide->kernels.empty()) files.emplace_back(kKernels, project.guide->kernels);
  std::vector<std::string> names = {kReadme, kEmitted};
  for (const auto& [name, text] : files) names.push_back(name);
  if (project.soc != nullptr) names.push_back(fmt::format("{}/", kSocFolder));
  const TopModule* const top = project.description.has_value() ? &*project.description : nullptr;
  files.emplace_back(kReadme, ReadmeOf(*project.guide, project.top, top, core, names));
  return files;
}

}  // namespace

namespace {

// Writes files to a folder, and removes those of an earlier emission that it does not write.
//   kept   further files of the list of emitted files, which other calls write
Status WriteFiles(const ProjectFiles& texts, const std::set<std::string>& kept,
                  const fs::path& folder) {
  for (const auto& [name, text] : texts) KILN_RETURN_IF_ERROR(CheckNoLink(folder, name));
  KILN_RETURN_IF_ERROR(CheckNoLink(folder, kEmitted));
  std::set<fs::path> parts = {""};
  for (const auto& [name, text] : texts) parts.insert(fs::path(name).parent_path());
  for (const fs::path& part : parts) KILN_RETURN_IF_ERROR(CheckNoLink(folder, part.string()));
  std::set<std::string> names = kept;
  for (const auto& [name, text] : texts) names.insert(name);
  KILN_RETURN_IF_ERROR(RemoveOthers(folder, names));
  std::error_code error;
  for (const fs::path& part : parts) {
    fs::create_directories(folder / part, error);
    if (error)
      return ErrorAt(folder.string(), "", "cannot be made: " + error.message(),
                     "name a folder to write to");
  }
  // The list is written before the files, so that an interrupted emission can be cleaned up.
  KILN_RETURN_IF_ERROR(ListEmitted(folder, names));
  for (const auto& [name, text] : texts) KILN_RETURN_IF_ERROR(WriteBelow(folder, name, text));
  return OkStatus();
}

// Removes the machine behind memory that an earlier emission wrote, but nothing else there.
Status RemoveSoc(const fs::path& folder) {
  const fs::path soc = folder / kSocFolder;
  if (!CheckRtlFolder(soc).ok()) return OkStatus();
  KILN_RETURN_IF_ERROR(CheckNoLink(soc, kEmitted));
  KILN_RETURN_IF_ERROR(RemoveOthers(soc, {}));
  std::error_code error;
  fs::remove(soc / kEmitted, error);
  fs::remove(soc, error);  // if it is empty now
  return OkStatus();
}

// The files of a project, and of its machine behind memory if it has one.
struct ProjectTexts {
  ProjectFiles files;
  std::optional<ProjectFiles> soc;
};

// Checks the folder that a project goes to (CheckRtlFolder), and reads all of its inputs.
StatusOr<ProjectTexts> TextsOf(const RtlProject& project, const fs::path& folder) {
  KILN_RETURN_IF_ERROR(CheckRtlFolder(folder));
  KILN_RETURN_IF_ERROR(CheckNoLink(folder, kSocFolder));
  ProjectTexts texts;
  KILN_ASSIGN_OR_RETURN(texts.files, FilesOf(project));
  if (project.soc == nullptr) return texts;
  KILN_RETURN_IF_ERROR(CheckRtlFolder(folder / kSocFolder));
  KILN_ASSIGN_OR_RETURN(texts.soc, FilesOf(*project.soc));
  return texts;
}

Status WriteTexts(const ProjectTexts& texts, const fs::path& folder) {
  KILN_RETURN_IF_ERROR(WriteFiles(texts.files, {}, folder));
  return texts.soc.has_value() ? WriteFiles(*texts.soc, {}, folder / kSocFolder)
                               : RemoveSoc(folder);
}

}  // namespace

Status WriteRtlProject(const RtlProject& project, const fs::path& folder) {
  // Reads all inputs before it writes the first file.
  KILN_ASSIGN_OR_RETURN(const ProjectTexts texts, TextsOf(project, folder));
  // make and Verilator look into these, whether or not the project has files there.
  for (const char* const part : {"rtl", "testbench"})
    KILN_RETURN_IF_ERROR(CheckNoLink(folder, part));
  return WriteTexts(texts, folder);
}

Status WriteFolderOfProjects(const std::vector<std::pair<std::string, RtlProject>>& projects,
                             const std::vector<std::pair<std::string, std::string>>& pages,
                             const fs::path& folder) {
  KILN_RETURN_IF_ERROR(CheckRtlFolder(folder));
  KILN_RETURN_IF_ERROR(CheckNoLink(folder, kSocFolder));
  std::vector<ProjectTexts> texts;
  // The list of the folder names the files of all projects, so that an emission of fewer projects
  // removes the others.
  std::set<std::string> names;
  const auto list = [&](const ProjectFiles& files, const std::string& below) {
    names.insert(fmt::format("{}/{}", below, kEmitted));
    for (const auto& [file, text] : files) names.insert(fmt::format("{}/{}", below, file));
  };
  for (const auto& [name, project] : projects) {
    KILN_RETURN_IF_ERROR(CheckNoLink(folder, name));
    KILN_ASSIGN_OR_RETURN(ProjectTexts of_project, TextsOf(project, folder / name));
    list(of_project.files, name);
    if (of_project.soc.has_value()) list(*of_project.soc, fmt::format("{}/{}", name, kSocFolder));
    texts.push_back(std::move(of_project));
  }
  KILN_RETURN_IF_ERROR(RemoveSoc(folder));
  KILN_RETURN_IF_ERROR(WriteFiles(pages, names, folder));
  for (size_t i = 0; i < projects.size(); ++i)
    KILN_RETURN_IF_ERROR(WriteTexts(texts[i], folder / projects[i].first));
  return OkStatus();
}

std::vector<fs::path> ProjectsIn(const fs::path& folder) {
  const std::string settings = fmt::format("/{}", kSettings);
  std::vector<fs::path> folders;
  for (const std::string& file : EmittedFiles(folder)) {
    if (file == kSettings) return {folder};
    if (file.ends_with(settings)) folders.push_back((folder / file).parent_path());
  }
  return folders;
}

StatusOr<fs::path> BuildSimulation(const RtlProject& project, const SimulationKind& kind,
                                   SimulationCache& cache) {
  KILN_ASSIGN_OR_RETURN(const ProjectFiles files, FilesOf(project));
  KILN_ASSIGN_OR_RETURN(const std::optional<Preparation> prepare, PreparationOf(kind));
  return cache.ProgramOf(SourcesOfSimulation(files, kind), kind.trace, {}, prepare);
}

StatusOr<fs::path> BuildSimulation(const fs::path& folder, const SimulationKind& kind,
                                   SimulationCache& cache) {
  const fs::path build = folder / kBuild;
  KILN_RETURN_IF_ERROR(CheckNoLink(folder, kBuild));
  KILN_RETURN_IF_ERROR(CheckOnlyFiles(build));
  ProjectFiles files;
  std::string top;
  for (const std::string& file : EmittedFiles(folder)) {
    if (!IsSource(file, kind)) continue;
    KILN_RETURN_IF_ERROR(CheckNoLink(folder, file));
    KILN_ASSIGN_OR_RETURN(std::string text, ReadFile(folder / file));
    if (file == kSettings) top = text.substr(0, text.find('\n')).substr(sizeof kTop - 1);
    files.emplace_back(file, std::move(text));
  }
  std::error_code error;
  fs::create_directories(build, error);
  if (error)
    return ErrorAt(folder.string(), "", "cannot be written: " + error.message(),
                   "name a new folder");
  KILN_ASSIGN_OR_RETURN(const std::optional<Preparation> prepare, PreparationOf(kind));
  KILN_ASSIGN_OR_RETURN(
      fs::path program,
      cache.ProgramOf(SourcesOfSimulation(files, kind), kind.trace, build / "build.log", prepare));
  if (kind.netlist != NetlistKind::kNone) return program;
  KILN_ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::Take(build));
  KILN_RETURN_IF_ERROR(CopyProgram(program, top, build, kind.trace));
  return program;
}

}  // namespace kiln::hardware
