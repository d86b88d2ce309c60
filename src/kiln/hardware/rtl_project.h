// A self-contained folder with a SystemVerilog design: the modules of rtl/ that it needs, its own
// top, memory images, a testbench, and a Makefile with the targets lint, sim and synth.
#ifndef KILN_HARDWARE_RTL_PROJECT_H_
#define KILN_HARDWARE_RTL_PROJECT_H_

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kiln/hardware/axi_signals.h"
#include "kiln/hardware/design_guide.h"
#include "kiln/hardware/netlist_kind.h"
#include "kiln/hardware/register_map.h"
#include "kiln/hardware/simulation_cache.h"
#include "kiln/hardware/top_module.h"
#include "kiln/support/status.h"

namespace kiln::hardware {

// The folder in a project for the contents of memories that its modules read with $readmemh.
inline constexpr char kContentsFolder[] = "memory";

// The content of a project.
struct RtlProject {
  std::string top;       // name of the top module
  std::string top_text;  // its SystemVerilog; the names in it determine the modules of rtl/
  // Modules between the top and the library that are written for this design: name and
  // SystemVerilog. The names in them count, too.
  std::vector<std::pair<std::string, std::string>> modules;
  // Files of rtl/testbench for the simulation: a main program, then its headers.
  std::vector<std::string> testbench;
  // Files of rtl/driver, for the folder driver/ (driver_folder.h).
  std::vector<std::string> driver = {};
  // Whether the testbench writes the addresses of its memory to registers, so that the memory may
  // have any address in a simulation (MEMORY_BASE) without a parameter of the top.
  bool places_memory = false;
  std::string simulation_arguments;                         // arguments of `make sim`
  std::vector<std::pair<std::string, std::string>> others;  // name and text: images, headers
  std::optional<TopModule> description;                     // of the top, for the files below
  std::optional<RegisterMap> registers;                     // of its first AXI4-Lite bus
  std::optional<RegisterMap> more_registers = {};           // of the second one
  // README.md is written from this guide and, if the top has a description, the files for other
  // tools (design_package.h). A project without a guide has none of them.
  std::optional<DesignGuide> guide;
  // The same machine behind memory (stream_memory.h), a project of its own in the folder soc/.
  std::shared_ptr<const RtlProject> soc = nullptr;
};

// Sets the top of a project, with its text and its description. Its AXI4 masters get PROT and
// CACHE.
void SetTop(TopModule top, RtlProject* project);

// Adds the sample to a project and sets the arguments of `make sim`: `--sample sample`, behind the
// arguments `before`. Does nothing if the sample is empty.
void AddSample(const SampleRun& sample, const std::string& before, RtlProject* project);

// Returns the folder of the SystemVerilog library: $KILN_RTL, or rtl in the data folder of Kiln
// (support/installation.h). Error: there is no library.
StatusOr<std::filesystem::path> RtlLibrary();

// Checks the path of a project's folder. Errors: it contains a blank or a control character, with
// which make and Verilator cannot build. All other characters are allowed, because Makefile and
// scripts name files relative to the folder. The folder can be moved.
Status CheckRtlPath(const std::filesystem::path& folder);
// Checks that a project may be written to a folder. Errors: those of CheckRtlPath; the folder
// contains files but no project of WriteRtlProject and no folder of WriteFolderOfProjects.
Status CheckRtlFolder(const std::filesystem::path& folder);

// Writes the project, creating `folder`. Reads all inputs first, so that a missing input leaves the
// folder unchanged.
//
// Files of the same names from an earlier project are overwritten, and other files that it wrote
// (listed in emitted.txt) are removed. Everything else is kept, including the results of make in
// build/. Never writes or removes anything through a link below `folder`. Errors: those of
// CheckRtlFolder; a path of the project exists and is not a regular file.
//
// The files: TOP.sv, filelist.f, Makefile (rtl/testbench/Makefile), design.mk, synth.ys
// (synthesis_flow.h), waivers.vlt, rtl/ (flat), testbench/, README.md, those of design_package.h,
// and `others`.
Status WriteRtlProject(const RtlProject& project, const std::filesystem::path& folder);

// The list of a network's kernels in an emitted folder (DesignGuide::kernels).
inline constexpr char kKernels[] = "kernels.txt";

// Writes several projects, each to the folder of its name below `folder`, and `pages`, texts with
// their file names, beside them. Files of an earlier emission are treated as by WriteRtlProject.
// Errors: those of WriteRtlProject.
Status WriteFolderOfProjects(const std::vector<std::pair<std::string, RtlProject>>& projects,
                             const std::vector<std::pair<std::string, std::string>>& pages,
                             const std::filesystem::path& folder);

// The kind of a simulation.
struct SimulationKind {
  bool trace = false;  // whether it can record waveforms
  // The netlist of standard cells that is simulated in place of the sources (gate_level.h).
  NetlistKind netlist = NetlistKind::kNone;
};
// Returns the program of a project's simulation from the cache, building it if necessary. Errors:
// those of SimulationCache::ProgramOf and, with `netlist`, of GateLevel.
StatusOr<std::filesystem::path> BuildSimulation(const RtlProject& project,
                                                const SimulationKind& kind = {},
                                                SimulationCache& cache = SimulationCache::Shared());

// Returns the folders of the projects that this process has written to `folder`: the folder itself,
// or those of WriteFolderOfProjects, by name.
std::vector<std::filesystem::path> ProjectsIn(const std::filesystem::path& folder);

// Does the same for a project that this process has written to `folder`. Other files in the folder
// are ignored, and no program in it is run. The log of make and a copy of the program are written
// to build/ below it, so that `make sim` does not build the program again; a program of a netlist
// is not copied, because `make sim` builds from the sources. Further error: something below build/
// is neither a regular file nor a folder.
StatusOr<std::filesystem::path> BuildSimulation(const std::filesystem::path& folder,
                                                const SimulationKind& kind = {},
                                                SimulationCache& cache = SimulationCache::Shared());

// Returns the packages of the library as paths relative to it, each after those it uses: those of
// its packages.f, then those of each folder with a packages.f of its own, in the order of the
// folders' names. Errors: the errors of ParseFileList.
StatusOr<std::vector<std::string>> LibraryPackages(const std::filesystem::path& library);

// Returns the modules and packages of the library that `text` needs directly or indirectly, as
// paths relative to the library: packages first, as in LibraryPackages, then modules by name.
StatusOr<std::vector<std::string>> NeededFiles(const std::filesystem::path& library,
                                               const std::string& text);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_RTL_PROJECT_H_
