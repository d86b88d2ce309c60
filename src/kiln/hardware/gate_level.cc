// Synthesises the sources of a simulation and puts the netlist in their place.

#include "kiln/hardware/gate_level.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <thread>

#include "fmt/format.h"
#include "kiln/hardware/file_list.h"
#include "kiln/hardware/filled_folder.h"
#include "kiln/hardware/netlist_models.h"
#include "kiln/hardware/synthesis_flow.h"
#include "kiln/hardware/synthesis_mapping.h"
#include "kiln/support/budgets.h"
#include "kiln/support/file.h"
#include "kiln/support/hash.h"
#include "kiln/support/process.h"

namespace kiln::hardware {

namespace fs = std::filesystem;

StatusOr<SimulationSources> NetlistSources(const SimulationSources& sources, bool clock_gating,
                                           const fs::path& liberty) {
  KILN_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Create("kiln-netlist"));
  const fs::path design = folder.path() / "design", work = folder.path() / "synthesis";
  std::error_code error;
  fs::create_directory(work, error);
  for (const auto& [file, text] : sources) {
    fs::create_directories((design / file).parent_path(), error);
    KILN_RETURN_IF_ERROR(WriteFile(design / file, text));
  }
  KILN_ASSIGN_OR_RETURN(const DesignSources read, SourcesOfFolder(design, ""));
  SynthesisOptions options;
  options.liberty = liberty;
  options.timing = false;
  options.models = true;
  options.clock_gating = clock_gating;
  options.jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  KILN_RETURN_IF_ERROR(Synthesise(read, options, work).status());
  constexpr const char* kExpressions = "expressions.v";
  KILN_RETURN_IF_ERROR(RunYosys({.work = fs::canonical(work, error),
                                 .name = "expressions",
                                 .script = ExpressionCommands(kCellLibrary, read.top, kExpressions),
                                 .inputs = "",
                                 .outputs = {kExpressions},
                                 .design = read.top,
                                 .sources = read.folder}));

  SimulationSources result;
  // Verilator 5.006 folds trees of exclusive ors wrongly: of a netlist of a 32-bit product it
  // inverts the highest bit. Bits of a port of the top may depend on each other, which Verilator
  // would take for a loop. Larger files are compiled sooner, because each reads the declarations of
  // all nets; functions stay small.
  std::string list =
      "-fno-const-bit-op-tree\n-Wno-UNOPTFLAT\n--output-split 200000\n"
      "--output-split-cfuncs 20000\n";
  std::string waivers = sources.contains(kWaivers) ? sources.at(kWaivers) : "`verilator_config\n";
  for (const auto& [file, text] : sources) {
    const bool is_design = fs::path(file).extension() == ".sv";
    if (is_design && fs::path(file).stem() != kMemoryModule) continue;
    result[file] = text;
    if (is_design) list += file + '\n';
  }
  for (const char* file : {kMemoryModels, kExpressions}) {
    KILN_ASSIGN_OR_RETURN(result[file], ReadFile(work / file, budgets::kNetlistBytes));
    list += fmt::format("{}\n", file);
    // No person wrote them, and Verilator's rules of style are not for them.
    waivers += fmt::format("lint_off -file \"*{}\"\n", file);
  }
  result[kFileList] = list;
  result[kWaivers] = waivers;
  return result;
}

StatusOr<Preparation> GateLevel(NetlistKind kind) {
  const fs::path liberty = DefaultLiberty();
  std::error_code error;
  if (!fs::exists(liberty, error)) {
    return NotFoundAt(liberty.string(), "", "there is no such Liberty file",
                      "install qflow-tech-osu018");
  }
  KILN_ASSIGN_OR_RETURN(const std::string cells, ReadFile(liberty, budgets::kLibertyBytes));
  const bool gated = kind == NetlistKind::kGated;
  return Preparation{
      .name = fmt::format("netlist {:016x}{}", StableHash(cells), gated ? " gated" : ""),
      .run = [gated](const SimulationSources& sources) { return NetlistSources(sources, gated); }};
}

}  // namespace kiln::hardware
