// A cache of built simulations. Its keys are everything that a simulation is built from: the top
// module, the modules of the library that it needs, the testbench, the options and the tools.
#ifndef KILN_HARDWARE_SIMULATION_CACHE_H_
#define KILN_HARDWARE_SIMULATION_CACHE_H_

#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "kiln/support/process.h"
#include "kiln/support/status.h"

namespace kiln::hardware {

// The sources of a simulation: texts by their path below the folder in which it is built. They
// include a Makefile with the targets build/simulate and, with TRACE=1, build/simulate_trace.
using SimulationSources = std::map<std::string, std::string>;

// A step between the sources and what is built from them, such as synthesis. It runs only if the
// program is not in the cache.
struct Preparation {
  std::string name;  // everything but the sources and `yosys` that its result depends on
  std::function<StatusOr<SimulationSources>(const SimulationSources& sources)> run;
};

// A cache in a folder. Any number of threads and processes may use one folder at the same time: one
// of them builds an entry while the others that need it wait. An entry is complete or absent.
class SimulationCache {
 public:
  // Creates `folder` if it does not exist. An empty path means a temporary folder, which is removed
  // with this object.
  explicit SimulationCache(std::filesystem::path folder = {}) : folder_(std::move(folder)) {}

  // Returns the cache of this process. It is in the folder that the environment variable
  // KILN_SIMULATION_CACHE names, or else in a temporary folder.
  static SimulationCache& Shared();

  // Returns the program of the simulation; builds it if it is not in the cache. With `trace` it can
  // record waveforms. If this call builds the program, the output of make is written to the file
  // `log`, or, if that is empty, to a file of the cache. Errors: a folder that belongs to another
  // user or that others may write to, because programs in it are run; errors of make and of
  // `prepare`.
  StatusOr<std::filesystem::path> ProgramOf(const SimulationSources& sources, bool trace,
                                            const std::filesystem::path& log = {},
                                            const std::optional<Preparation>& prepare = {});

 private:
  // Returns the absolute path of the folder, which it creates and checks.
  StatusOr<std::filesystem::path> Folder();

  std::mutex mutex_;  // protects the members below
  std::filesystem::path folder_;
  std::optional<TemporaryFolder> temporary_;
};

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_SIMULATION_CACHE_H_
