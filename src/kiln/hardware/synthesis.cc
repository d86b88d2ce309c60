// Runs the steps of a synthesis: elaborate the sources, divide the design into parts, map each
// part, sum up the results, and time the netlist. Each step leaves its files in the work folder and
// is skipped if they are up to date.

#include "kiln/hardware/synthesis.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

#include "fmt/format.h"
#include "kiln/hardware/filled_folder.h"
#include "kiln/hardware/netlist_models.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/hardware/synthesis_boundaries.h"
#include "kiln/hardware/synthesis_flow.h"
#include "kiln/hardware/synthesis_mapping.h"
#include "kiln/hardware/synthesis_parts.h"
#include "kiln/hardware/synthesis_timing.h"
#include "kiln/hardware/technology.h"
#include "kiln/hardware/tool_names.h"
#include "kiln/hardware/verilog_text.h"
#include "kiln/support/budgets.h"
#include "kiln/support/file.h"
#include "kiln/support/hash.h"
#include "kiln/support/process.h"

namespace kiln::hardware {
namespace {

namespace fs = std::filesystem;

// The file that every run writes first; it identifies a work folder of an earlier run.
constexpr char kVersionLog[] = "version.log";

// The file with the cells of Xilinx' FPGAs.
constexpr char kFpgaCells[] = "fpga_cells.il";

// The library of the memories that are timed.
constexpr char kMemoryLibrary[] = "memories.lib";

// The loads and drivers of a part's ports, for a small area and for speed. A part does not know
// what its outputs drive, which may be a net to all parts of a machine: for speed, it is made ready
// to drive several times as much.
constexpr const char *kConstraints = "ports.constr", *kSpeedConstraints = "ports_for_speed.constr";
constexpr double kSpeedLoad = 4;
// How often parts that are too slow are sought.
constexpr int kSpeedRounds = 3;

// One synthesis in a work folder.
class Run {
 public:
  Run(const DesignSources& sources, const SynthesisOptions& options, const fs::path& work)
      : sources_(sources), options_(options), work_(RealPath(work)) {}

  // Runs all steps. Names and paths are checked before any tool is started.
  StatusOr<SynthesisResult> Do() {
    const auto start = std::chrono::steady_clock::now();
    KILN_RETURN_IF_ERROR(CheckToolPath(work_, ""));
    // The tools overwrite existing names: special files must be ruled out first.
    KILN_RETURN_IF_ERROR(CheckOnlyFiles(work_, kSourcesLink));
    std::error_code error;
    KILN_RETURN_IF_ERROR(CheckToolPath(fs::temp_directory_path(error), "TMPDIR"));
    KILN_RETURN_IF_ERROR(CheckNames());
    SynthesisResult result;
    result.top = sources_.top;
    KILN_RETURN_IF_ERROR(ReadVersion());
    if (for_cells()) KILN_RETURN_IF_ERROR(ReadLibrary());
    RemoveResults();
    KILN_RETURN_IF_ERROR(LinkSources());
    KILN_RETURN_IF_ERROR(CopyContents());
    KILN_RETURN_IF_ERROR(Elaborate());
    KILN_RETURN_IF_ERROR(Map());
    if (for_cells() && options_.timing) {
      KILN_RETURN_IF_ERROR(WriteMemoryLibrary());
      KILN_ASSIGN_OR_RETURN(result.timing, CloseTiming());
    }
    if (for_cells() && options_.models) KILN_RETURN_IF_ERROR(WriteModels());
    const auto resources_of = [this](const std::string& cell) { return ResourcesOf(cell); };
    KILN_ASSIGN_OR_RETURN(result.design,
                          SumUnits(mapped_.statistics, sources_.top, options_.depth, resources_of));
    if (for_cells()) result.library = library_.name;
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
  }

 private:
  // Returns a path without links: ABC queries the system for its working folder.
  static fs::path RealPath(const fs::path& path) {
    std::error_code error;
    fs::path real = fs::canonical(path, error);
    return error ? fs::absolute(path, error) : real;
  }
  // Returns whether the target is standard cells rather than an FPGA.
  bool for_cells() const { return options_.fpga.empty(); }
  std::string Path(const char* name) const { return (work_ / name).string(); }
  double period_ns() const { return 1e3 / options_.clock_mhz; }
  const ClockGate* clock_gate() const {
    return options_.clock_gating ? &*library_.clock_gate : nullptr;
  }

  // Reads the library, copies it into the work folder, and determines the driver and the load of
  // the design's ports.
  Status ReadLibrary() {
    std::error_code error;
    if (!fs::exists(options_.liberty, error)) {
      return NotFoundAt(options_.liberty.string(), "", "there is no such Liberty file",
                        "install qflow-tech-osu018, or give another library with --liberty");
    }
    KILN_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(options_.liberty, budgets::kLibertyBytes));
    KILN_ASSIGN_OR_RETURN(library_, ParseLiberty(text, options_.liberty.string()));
    if (const auto latch = library_.cells.find("LATCH");
        library_.name == kOsuLibrary && latch != library_.cells.end() && latch->second.area == 0) {
      latch->second.area = kOsuLatchArea;
    }
    if (options_.clock_gating && !library_.clock_gate.has_value()) {
      return ErrorAt(options_.liberty.string(), "",
                     "has no cells to gate a clock with: neither a clock_gating_integrated_cell "
                     "latch_posedge nor a latch and an AND of two inputs, with names of letters, "
                     "digits and _",
                     "leave --clock-gating out, or give another library with --liberty");
    }
    KILN_RETURN_IF_ERROR(WriteFile(work_ / kCellLibrary, text));
    tools_ += fmt::format("# cells {:016x}\n", StableHash(text));
    inverter_ = library_.MiddleInverter();
    if (inverter_.empty()) {
      return ErrorAt(options_.liberty.string(), "", "has no inverter",
                     "give a library of standard cells");
    }
    // The name becomes part of OpenSTA and ABC scripts.
    if (!IsIdentifier(inverter_)) {
      return ErrorAt(options_.liberty.string(), "",
                     fmt::format("its inverter is named '{}'", inverter_),
                     "give a library whose cells have names of letters, digits and _");
    }
    const auto write_constraints = [this](const char* file, double load) {
      return WriteFile(work_ / file, fmt::format("set_driving_cell {}\nset_load {} [all_outputs]\n",
                                                 inverter_, load));
    };
    KILN_RETURN_IF_ERROR(write_constraints(kConstraints, OutputLoad()));
    return write_constraints(kSpeedConstraints, kSpeedLoad * OutputLoad());
  }
  // Writes the cells that gate clocks and the map of the registers to them, on which the mapping of
  // parts depends from then on.
  Status WriteClockGate() {
    const ClockGateFiles files = FilesOf(*library_.clock_gate);
    mapping_.tools += fmt::format("# clock gate {:016x}\n", StableHash(files.cells + files.map));
    mapping_.suffix = ".gated";
    KILN_RETURN_IF_ERROR(WriteFile(work_ / kClockGateCells, files.cells));
    return WriteFile(work_ / kClockGateMap, files.map);
  }
  // Returns the load of output ports: a fan-out of four inverters.
  double OutputLoad() const { return 4 * library_.cells.at(inverter_).input_capacitance; }

  // Checks the names of the top and of its parameters in the sources themselves; Yosys would need
  // seconds to find the same errors.
  Status CheckNames() const {
    for (const std::string& name_of_file : sources_.files) {
      const fs::path file = sources_.folder / name_of_file;
      KILN_ASSIGN_OR_RETURN(const std::string source, ReadFile(file));
      const std::string text = WithoutComments(source);
      const std::optional<std::string_view> module = ModuleIn(text, sources_.top);
      if (!module.has_value()) continue;
      const std::set<std::string> names = NamesIn(*module);
      for (const auto& [name, value] : options_.parameters) {
        if (names.contains(name)) continue;
        return ErrorAt("", "--parameters",
                       fmt::format("module '{}' has no parameter '{}'", sources_.top, name),
                       file.string() + " has its parameters");
      }
      return OkStatus();
    }
    return NotFoundAt("", "--top",
                      fmt::format("there is no module '{}' in the design", sources_.top),
                      "give a module of one of the files that its filelist.f names");
  }
  // Creates the link through which scripts access the sources, so that their folder may have any
  // name.
  Status LinkSources() const {
    const fs::path link = work_ / kSourcesLink;
    std::error_code error;
    if (fs::is_symlink(fs::symlink_status(link, error))) fs::remove(link, error);
    const fs::path folder = fs::canonical(sources_.folder, error);
    if (!error) fs::create_directory_symlink(folder, link, error);
    if (!error) return OkStatus();
    return ErrorAt(link.string(), "", "cannot be made a link to the sources: " + error.message(),
                   "name another folder to work in");
  }
  // Copies the contents of memories to where the sources open them: the tools run in the work
  // folder.
  Status CopyContents() const {
    std::error_code error;
    fs::remove_all(work_ / kContentsFolder, error);
    fs::create_directory(work_ / kContentsFolder, error);
    if (error) {
      return ErrorAt((work_ / kContentsFolder).string(), "", "cannot be made: " + error.message(),
                     "name another folder to work in");
    }
    for (const std::string& file : sources_.contents) {
      KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(sources_.folder / file));
      KILN_RETURN_IF_ERROR(WriteBelow(work_, file, text));
    }
    return OkStatus();
  }
  // Removes the results of an earlier design. All other files are reusable and carry hashes.
  void RemoveResults() const {
    std::error_code error;
    for (const char* file : {kNetlist, "timed.v", "time.tcl", "time.log", kMemoryModels,
                             kMemoryLibrary, kClockGateCells, kClockGateMap}) {
      fs::remove(work_ / file, error);
    }
  }

  // Reads the version of Yosys. It becomes a comment of every script, since results depend on it.
  Status ReadVersion() {
    KILN_RETURN_IF_ERROR(RunProgram({"yosys", "-V"}, work_ / kVersionLog));
    KILN_ASSIGN_OR_RETURN(const std::string version, ReadFile(work_ / kVersionLog));
    tools_ = fmt::format("# {}", version.substr(0, version.find('\n') + 1));
    return OkStatus();
  }
  // Returns a comment with a hash of all files that elaboration may read.
  StatusOr<std::string> HashOfSources() const {
    std::vector<std::string> files = sources_.files;
    files.insert(files.end(), sources_.contents.begin(), sources_.contents.end());
    std::error_code error;
    for (const std::string& folder : sources_.folders) {
      for (const auto& entry : fs::directory_iterator(sources_.folder / folder, error)) {
        if (entry.path().extension() == ".sv")
          files.push_back(folder + '/' + entry.path().filename().string());
      }
    }
    std::sort(files.begin(), files.end());
    uint64_t hash = StableHash("");
    for (const std::string& file : files) {
      KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(sources_.folder / file));
      hash = StableHash(text, StableHash(file, hash));
    }
    return fmt::format("# sources {:016x}\n", hash);
  }
  // Runs a script for which this run's tools and `inputs` are recorded.
  Status Yosys(const char* name, const std::string& script, const std::string& inputs,
               std::vector<std::string> outputs) const {
    return RunYosys({.work = work_,
                     .name = name,
                     .script = script,
                     .inputs = tools_ + inputs,
                     .outputs = std::move(outputs),
                     .design = sources_.top,
                     .sources = sources_.folder});
  }
  // Reports the start of a step.
  void Progress(const char* step, const std::string& module, int64_t done, int64_t total) const {
    if (options_.progress)
      options_.progress({.step = step, .module = module, .done = done, .total = total});
  }

  // Elaborates the sources to registers and operators, and counts the cells of each module.
  Status Elaborate() {
    constexpr const char *kDesign = "elaborated.il", *kCounts = "elaborated.json";
    const auto in_sources = [](std::vector<std::string> paths) {
      for (std::string& path : paths) path = fmt::format("{}/{}", kSourcesLink, path);
      return paths;
    };
    std::string script = ElaborateCommands({.files = in_sources(sources_.files),
                                            .folders = in_sources(sources_.folders),
                                            .parameters = options_.parameters,
                                            .top = sources_.top});
    // The counts exclude logic that constants make superfluous: the decoder of one format has a
    // hundredth of the logic in the source for all formats.
    script += fmt::format(
        "write_rtlil {}\nopt_expr\nopt_muxtree\nopt_clean\ntee -q -o {} stat -width -json\n",
        kDesign, kCounts);
    KILN_ASSIGN_OR_RETURN(const std::string sources, HashOfSources());
    Progress("elaborate", sources_.top, 0, 1);
    KILN_RETURN_IF_ERROR(Yosys("elaborate", script, sources, {kCounts, kDesign}));
    KILN_ASSIGN_OR_RETURN(const std::string log,
                          ReadFile(Path("elaborate.log"), budgets::kNetlistBytes));
    if (const std::string port = ResizedPort(log); !port.empty()) {
      return ErrorAt("yosys", "module " + sources_.top,
                     fmt::format("the width of a connection changed at port {}", port),
                     "connect as many bits as the port has; Yosys ignores the cast of a "
                     "structure's member within a concatenation");
    }
    KILN_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(Path("elaborated.json"), budgets::kNetlistBytes));
    KILN_ASSIGN_OR_RETURN(elaborated_, ParseStatistics(text));
    if (!for_cells() || options_.memories == Memories::kRegisters) return OkStatus();
    for (const auto& [module, counts] : elaborated_) {
      if (SourceName(module) == kMemoryModule && module != sources_.top) memories_.insert(module);
    }
    return OkStatus();
  }

  // Maps every module that keeps its boundary by itself, and merges the netlists.
  Status Map() {
    if (!for_cells())
      KILN_RETURN_IF_ERROR(Yosys("fpga_cells", FpgaCells(kFpgaCells), "", {kFpgaCells}));
    mapping_.work = work_;
    mapping_.tools = tools_;
    if (options_.clock_gating) KILN_RETURN_IF_ERROR(WriteClockGate());
    mapping_.top = sources_.top;
    mapping_.jobs = options_.jobs;
    std::error_code error;
    fs::create_directories(work_ / kPartsFolder, error);
    if (error)
      return ErrorAt((work_ / kPartsFolder).string(), "", "cannot be made: " + error.message(), "");
    mapping_.commands = [this](const MappingPart& part, bool for_speed) {
      if (!for_cells()) {
        return FpgaCommands({options_.fpga, kFpgaCells}, part.large, part.name == sources_.top);
      }
      const char* constraints = for_speed ? kSpeedConstraints : kConstraints;
      return CellCommands({kCellLibrary, constraints, period_ns(), for_speed, clock_gate()},
                          part.large);
    };
    if (!for_cells()) mapping_.shared_commands = FpgaCommands({options_.fpga, kFpgaCells});
    mapping_.started = [this](const MappingPart& part, int64_t done, int64_t total) {
      Progress("map", SourceName(part.name), done, total);
    };
    KILN_ASSIGN_OR_RETURN(parts_, Parts());
    return MapForSpeed({});
  }
  // Maps all parts, those of `names` for speed, and merges the netlists.
  Status MapForSpeed(const std::set<std::string>& names) {
    mapping_.for_speed = names;
    KILN_ASSIGN_OR_RETURN(mapped_, MapParts(parts_, mapping_));
    return MergeNetlists();
  }
  // Divides the design into parts, and keeps the modules of its memories. Modules with doubtful
  // estimates are mapped first to measure them.
  StatusOr<std::vector<MappingPart>> Parts() {
    KILN_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(Path("elaborated.il"), budgets::kNetlistBytes));
    KILN_ASSIGN_OR_RETURN(const RtlilDesign design, ParseRtlil(text));
    for (const std::string& memory : memories_) memory_modules_[memory] = design.at(memory);
    const auto cut = [&](const Boundaries& boundaries) {
      return CutIntoParts(design, boundaries, memories_, sources_.top, options_.clock);
    };
    const Boundaries estimated = FindBoundaries(elaborated_, sources_.top);
    KILN_ASSIGN_OR_RETURN(std::vector<MappingPart> parts, cut(estimated));
    if (estimated.doubtful.empty()) return parts;
    const std::set<std::string> doubtful(estimated.doubtful.begin(), estimated.doubtful.end());
    std::erase_if(
        parts, [&](const MappingPart& part) { return !doubtful.contains(part.modules.front()); });
    KILN_ASSIGN_OR_RETURN(const NetlistStatistics counted, MapWhole(parts, mapping_));
    std::map<std::string, int64_t> measured;
    for (const MappingPart& part : parts) {
      KILN_ASSIGN_OR_RETURN(const SynthesisedUnit unit,
                            SumUnits(counted, part.name, 0,
                                     [](const std::string&) { return Resources{.cells = 1}; }));
      for (const std::string& module : part.modules) measured[module] = unit.resources.cells;
    }
    return cut(FindBoundaries(elaborated_, sources_.top, measured));
  }
  // Writes the netlist of the whole design.
  Status MergeNetlists() const {
    std::string netlist;
    for (const std::string& part : mapped_.names) {
      KILN_ASSIGN_OR_RETURN(const std::string text, NetlistOf(mapped_, part, work_));
      netlist += text;
    }
    return WriteFile(Path(kNetlist), netlist);
  }

  // Writes the library of the memories that are timed, and sets memory_access_ns_ to the slowest.
  Status WriteMemoryLibrary() {
    const bool known = options_.liberty == DefaultLiberty();  // the model's process
    if (memories_.empty() || (!options_.memory_access_ns && !known)) return OkStatus();
    std::vector<MemoryMacro> macros;
    for (const auto& [memory, module] : memory_modules_) {
      const double access =
          options_.memory_access_ns.value_or(MemoryAccessNs(elaborated_.at(memory).memory_bits));
      macros.push_back({.name = memory, .module = &module, .access_ns = access});
      memory_access_ns_ = std::max(memory_access_ns_, access);
    }
    return WriteFile(Path(kMemoryLibrary), MemoryLibrary(macros));
  }

  // Writes the models of the netlist's cells and memories.
  Status WriteModels() const {
    KILN_RETURN_IF_ERROR(
        Yosys("cell_models", CellModelCommands(kCellLibrary, kCellModels), "", {kCellModels}));
    std::string models;
    for (const auto& [memory, module] : memory_modules_) models += MemoryModel(module, memory);
    return WriteFile(Path(kMemoryModels), models);
  }

  // Returns the resources of a cell or black box.
  StatusOr<Resources> ResourcesOf(const std::string& type) const {
    if (memories_.contains(type)) {
      Resources memory;
      memory.memory_bits = elaborated_.at(type).memory_bits;
      return memory;
    }
    if (!for_cells()) return XilinxResources(type);
    const auto cell = library_.cells.find(type);
    if (cell == library_.cells.end()) {
      return UnsupportedAt(options_.liberty.string(), "",
                           fmt::format("has no cell for the design's {}", type),
                           "give another library with --liberty");
    }
    Resources resources;
    resources.area = cell->second.area;
    resources.cells = 1;
    resources.flip_flops = cell->second.is_flip_flop ? 1 : 0;
    // A design has no latches of its own.
    if (const ClockGate* gate = clock_gate(); gate != nullptr)
      resources.clock_gates = type == (gate->latch.empty() ? gate->gate : gate->latch) ? 1 : 0;
    return resources;
  }

  // Times the netlist, and maps parts with paths that are too long for speed, and then those of the
  // paths that are still too long. Keeps the mapping with the greatest slack.
  StatusOr<Timing> CloseTiming() {
    KILN_ASSIGN_OR_RETURN(Timing best, Time());
    std::set<std::string> for_speed, best_for_speed, late = best.late;
    for (int round = 0; best.slack_ns < 0 && round < kSpeedRounds; ++round) {
      const size_t before = for_speed.size();
      for_speed.insert(late.begin(), late.end());
      if (for_speed.size() == before) break;
      KILN_RETURN_IF_ERROR(MapForSpeed(for_speed));
      KILN_ASSIGN_OR_RETURN(Timing timing, Time());
      late = timing.late;
      if (timing.slack_ns <= best.slack_ns) continue;
      best = std::move(timing);
      best_for_speed = for_speed;
    }
    if (for_speed != best_for_speed) KILN_RETURN_IF_ERROR(MapForSpeed(best_for_speed));
    best.mapped_for_speed = std::ssize(best_for_speed);
    return best;
  }

  // Times the netlist. Large designs are timed without some instances (synthesis_timing.h).
  StatusOr<Timing> Time() const {
    Progress("time", sources_.top, 0, 1);
    std::map<std::string, std::set<std::string>> left_out;
    for (const auto& [around, module] : ModulesLeftOut(mapped_.statistics, sources_.top))
      left_out[around].insert(module);
    TimingSetup setup;
    setup.work = work_;
    setup.netlist = kNetlist;
    int64_t instances = 0;
    if (!left_out.empty()) {
      setup.netlist = "timed.v";
      std::string netlist;
      for (const auto& [module, counts] : mapped_.statistics) {
        KILN_ASSIGN_OR_RETURN(const std::string text, NetlistOf(mapped_, module, work_));
        netlist += LeaveInstancesOut(text, left_out[module], &instances);
      }
      KILN_RETURN_IF_ERROR(WriteFile(work_ / setup.netlist, netlist));
    }
    setup.liberty = kCellLibrary;
    if (memory_access_ns_ > 0) setup.memories = kMemoryLibrary;
    setup.top = sources_.top;
    setup.clock = options_.clock;
    setup.period_ns = period_ns();
    setup.driver = inverter_;
    setup.load = OutputLoad();
    setup.clock_gate = clock_gate();
    KILN_ASSIGN_OR_RETURN(Timing timing, FindWorstPath(setup));
    timing.instances_left_out = instances;
    timing.memory_access_ns = memory_access_ns_;
    return timing;
  }

  const DesignSources& sources_;
  const SynthesisOptions& options_;
  fs::path work_;
  LibertyLibrary library_;
  std::string inverter_, tools_;  // the cell that models ports; comments with versions and hashes
  NetlistStatistics elaborated_;  // before mapping
  MappedParts mapped_;
  std::vector<MappingPart> parts_;
  PartsMapping mapping_;
  std::set<std::string> memories_;  // modules whose bits are counted and that are not mapped
  RtlilDesign memory_modules_;      // these modules
  double memory_access_ns_ = 0;     // of the slowest memory; 0 if none is timed
};

}  // namespace

Status CheckSynthesisFolder(const fs::path& work) {
  std::error_code error;
  if (!fs::exists(work, error)) return OkStatus();
  if (!fs::is_directory(work, error))
    return ErrorAt(work.string(), "", "is a file", "name a folder");
  if (fs::is_empty(work, error) && !error) return OkStatus();
  const auto version = ReadFile(work / kVersionLog, 1 << 16);
  if (version.ok() && version->starts_with("Yosys ")) return CheckOnlyFiles(work, kSourcesLink);
  return ErrorAt(work.string(), "", "holds files that are not of an earlier synthesis",
                 "name a new folder, or an empty one");
}

StatusOr<SynthesisResult> Synthesise(const DesignSources& sources, const SynthesisOptions& options,
                                     const fs::path& work) {
  return Run(sources, options, work).Do();
}

}  // namespace kiln::hardware
