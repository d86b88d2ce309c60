// Keeps built simulations in a folder, each under a digest of its sources, options and tools.

#include "kiln/hardware/simulation_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "fmt/format.h"
#include "kiln/hardware/folder_lock.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/support/file.h"
#include "kiln/support/hex.h"
#include "kiln/support/sha256.h"

namespace kiln::hardware {
namespace {

namespace fs = std::filesystem;

// Returns the path, size and modification time of a tool in PATH, which identify its version; empty
// if there is no such tool.
std::string VersionOf(const char* tool) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    struct stat found = {};
    const fs::path file = fs::path(folder) / tool;
    if (::stat(file.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) continue;
    return fmt::format("{} {} {}.{}", file.string(), found.st_size, found.st_mtim.tv_sec,
                       found.st_mtim.tv_nsec);
  }
  return "";
}

// Returns the name of an entry: a digest of everything that the program depends on.
std::string KeyOf(const SimulationSources& sources, bool trace,
                  const std::optional<Preparation>& prepare) {
  std::string all;
  const auto add = [&](std::string_view text) {
    all += std::to_string(text.size());
    all += ' ';
    all += text;
  };
  const char* quick = std::getenv("KILN_QUICK_BUILD");
  for (const std::string_view option :
       {std::string_view(trace ? "trace" : ""), std::string_view(quick != nullptr ? quick : "")}) {
    add(option);
  }
  for (const char* tool : {"verilator", "clang++-19"}) add(VersionOf(tool));
  if (prepare) {
    add(prepare->name);
    add(VersionOf("yosys"));
  }
  for (const auto& [file, text] : sources) {
    add(file);
    add(text);
  }
  return HexOf(Sha256Of({reinterpret_cast<const uint8_t*>(all.data()), all.size()}));
}

// Checks that only this user can have written the file or folder at `path`.
Status CheckOwn(const fs::path& path) {
  struct stat found = {};
  if (::lstat(path.c_str(), &found) != 0) {
    return ErrorAt(path.string(), "", std::strerror(errno), "name another folder");
  }
  if (found.st_uid == ::geteuid() && !S_ISLNK(found.st_mode) && (found.st_mode & 022) == 0) {
    return OkStatus();
  }
  return ErrorAt(path.string(), "",
                 "programs in it would be run, and somebody else may have put them there",
                 "name a folder of your own that others cannot write to");
}

// Builds the program in a temporary folder and then moves it to `program` in one step, so that
// `program` is never incomplete.
Status Build(const SimulationSources& sources, bool trace, const fs::path& log,
             const fs::path& program) {
  KILN_ASSIGN_OR_RETURN(const TemporaryFolder apart, TemporaryFolder::Create("kiln-build"));
  KILN_RETURN_IF_ERROR(CheckRtlPath(apart.path()));
  std::error_code error;
  for (const auto& [file, text] : sources) {
    fs::create_directories((apart.path() / file).parent_path(), error);
    KILN_RETURN_IF_ERROR(WriteFile(apart.path() / file, text));
  }
  const std::string target = trace ? "build/simulate_trace" : "build/simulate";
  std::vector<std::string> arguments = {"make", "-s",       "-C",  apart.path().string(),
                                        "-f",   "Makefile", target};
  if (trace) arguments.push_back("TRACE=1");
  KILN_RETURN_IF_ERROR(RunProgram(arguments, log));
  const fs::path whole = program.parent_path() / "copy";
  fs::copy_file(apart.path() / target, whole, fs::copy_options::overwrite_existing, error);
  if (!error) fs::rename(whole, program, error);
  if (error) return ErrorAt(program.string(), "", "cannot be written: " + error.message(), "");
  return OkStatus();
}

}  // namespace

SimulationCache& SimulationCache::Shared() {
  static const char* const named = std::getenv("KILN_SIMULATION_CACHE");
  static SimulationCache cache(named != nullptr ? named : "");
  return cache;
}

StatusOr<fs::path> SimulationCache::Folder() {
  const std::scoped_lock lock(mutex_);
  if (folder_.empty()) {
    KILN_ASSIGN_OR_RETURN(TemporaryFolder made, TemporaryFolder::Create("kiln-simulations"));
    folder_ = made.path();
    temporary_.emplace(std::move(made));
  }
  std::error_code error;
  fs::create_directories(folder_.parent_path(), error);
  ::mkdir(folder_.c_str(), 0700);
  KILN_RETURN_IF_ERROR(CheckOwn(folder_));
  return fs::absolute(folder_);
}

StatusOr<fs::path> SimulationCache::ProgramOf(const SimulationSources& sources, bool trace,
                                              const fs::path& log,
                                              const std::optional<Preparation>& prepare) {
  KILN_ASSIGN_OR_RETURN(const fs::path folder, Folder());
  const fs::path entry = folder / KeyOf(sources, trace, prepare);
  fs::path program = entry / "simulate";
  ::mkdir(entry.c_str(), 0700);
  KILN_RETURN_IF_ERROR(CheckOwn(entry));
  KILN_ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::Take(entry));
  if (::access(program.c_str(), X_OK) != 0) {
    SimulationSources prepared;
    if (prepare) {
      KILN_ASSIGN_OR_RETURN(prepared, prepare->run(sources));
    }
    KILN_RETURN_IF_ERROR(Build(prepare ? prepared : sources, trace,
                               log.empty() ? entry / "build.log" : log, program));
  }
  return program;
}

}  // namespace kiln::hardware
