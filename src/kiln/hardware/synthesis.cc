#include "kiln/hardware/synthesis.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

#include "fmt/format.h"
#include "kiln/hardware/synthesis_boundaries.h"
#include "kiln/hardware/synthesis_mapping.h"
#include "kiln/hardware/synthesis_parts.h"
#include "kiln/hardware/synthesis_timing.h"
#include "kiln/hardware/verilog_text.h"
#include "kiln/support/file.h"
#include "kiln/support/hash.h"
#include "kiln/support/process.h"

namespace kiln::hardware {
namespace {

namespace fs = std::filesystem;

// The module of rtl/ that all memories are instances of.
constexpr std::string_view kMemoryModule = "kiln_ram_1w";

// What every run writes first.
constexpr char kVersionLog[] = "version.log";

// One run of the tools: its files are named here.
class Run {
 public:
  Run(const DesignSources& sources, const SynthesisOptions& options, const fs::path& work)
      : sources_(sources), options_(options), work_(fs::absolute(work)) {}

  StatusOr<SynthesisResult> Do() {
    const auto start = std::chrono::steady_clock::now();
    if (work_.string().find_first_of(" \t\n\"") != std::string::npos) {
      return ErrorAt(work_.string(), "", "the tools take no blanks and quotes in paths", "name another folder");
    }
    KILN_RETURN_IF_ERROR(CheckNames());
    SynthesisResult result;
    result.top = sources_.top;
    KILN_RETURN_IF_ERROR(ReadVersion());
    if (for_cells()) KILN_RETURN_IF_ERROR(ReadLibrary());
    RemoveResults();
    KILN_RETURN_IF_ERROR(Elaborate());
    KILN_RETURN_IF_ERROR(Map());
    const auto resources_of = [this](const std::string& cell) { return ResourcesOf(cell); };
    KILN_ASSIGN_OR_RETURN(result.design, SumUnits(mapped_.statistics, sources_.top, options_.depth, resources_of));
    if (for_cells()) {
      result.library = library_.name;
      if (options_.timing) {
        KILN_ASSIGN_OR_RETURN(result.timing, Time());
      }
    }
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
  }

 private:
  bool for_cells() const { return options_.fpga.empty(); }
  std::string Path(const char* name) const { return (work_ / name).string(); }
  double period_ns() const { return 1e3 / options_.clock_mhz; }

  // The library, a copy of it where the tools read it, and what drives and loads the design's ports.
  Status ReadLibrary() {
    std::error_code error;
    if (!fs::exists(options_.liberty, error)) {
      return NotFoundAt(options_.liberty.string(), "", "there is no such Liberty file",
                        "install qflow-tech-osu018, or give another library with --liberty");
    }
    KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(options_.liberty, uint64_t{1} << 30));
    KILN_ASSIGN_OR_RETURN(library_, ParseLiberty(text, options_.liberty.string()));
    KILN_RETURN_IF_ERROR(WriteFile(work_ / "cells.lib", text));
    tools_ += fmt::format("# cells {:016x}\n", StableHash(text));
    inverter_ = library_.MiddleInverter();
    if (inverter_.empty()) {
      return ErrorAt(options_.liberty.string(), "", "has no inverter", "give a library of standard cells");
    }
    return WriteFile(work_ / "ports.constr",
                     fmt::format("set_driving_cell {}\nset_load {} [all_outputs]\n", inverter_, OutputLoad()));
  }
  // A fan-out of four.
  double OutputLoad() const { return 4 * library_.cells.at(inverter_).input_capacitance; }

  // The top and its parameters are in the sources, which Yosys takes seconds to read.
  Status CheckNames() const {
    for (const fs::path& file : sources_.files) {
      KILN_ASSIGN_OR_RETURN(const std::string source, ReadFile(file));
      const std::string text = WithoutComments(source);
      const std::optional<std::string_view> module = ModuleIn(text, sources_.top);
      if (!module.has_value()) continue;
      const std::set<std::string> names = NamesIn(*module);
      for (const auto& [name, value] : options_.parameters) {
        if (names.contains(name)) continue;
        return ErrorAt("", "--parameters", fmt::format("module '{}' has no parameter '{}'", sources_.top, name),
                       file.string() + " has its parameters");
      }
      return OkStatus();
    }
    return NotFoundAt("", "--top", fmt::format("there is no module '{}' in the design", sources_.top),
                      "give a module of one of the files that its filelist.f names");
  }
  // What is of this run's design alone; the rest serves others, too.
  void RemoveResults() const {
    std::error_code error;
    for (const char* file : {"netlist.v", "timed.v", "time.tcl", "time.log"}) fs::remove(work_ / file, error);
  }

  // What results depend on beside sources and commands, as a comment of their scripts: versions of tools and cells.
  Status ReadVersion() {
    KILN_RETURN_IF_ERROR(RunProgram({"yosys", "-V"}, work_ / kVersionLog));
    KILN_ASSIGN_OR_RETURN(const std::string version, ReadFile(work_ / kVersionLog));
    tools_ = fmt::format("# {}", version.substr(0, version.find('\n') + 1));
    return OkStatus();
  }
  // The contents of all files that the elaboration can come to read, as a comment.
  StatusOr<std::string> HashOfSources() const {
    std::vector<fs::path> files = sources_.files;
    std::error_code error;
    for (const fs::path& folder : sources_.folders) {
      for (const auto& entry : fs::directory_iterator(folder, error)) {
        if (entry.path().extension() == ".sv") files.push_back(entry.path());
      }
    }
    std::sort(files.begin(), files.end());
    uint64_t hash = StableHash("");
    for (const fs::path& file : files) {
      KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
      hash = StableHash(text, StableHash(file.string(), hash));
    }
    return fmt::format("# sources {:016x}\n", hash);
  }
  Status Yosys(const char* name, const std::string& script, const std::string& inputs,
               std::vector<fs::path> outputs) const {
    return RunYosys({work_, name, script, tools_ + inputs, std::move(outputs), sources_.top});
  }
  void Progress(const char* step, const std::string& module, int64_t done, int64_t total) const {
    if (options_.progress) options_.progress({.step = step, .module = module, .done = done, .total = total});
  }

  // From sources to registers and operators; which modules are there.
  Status Elaborate() {
    std::string script;
    for (const fs::path& file : sources_.files) script += fmt::format("read_verilog -sv \"{}\"\n", file.string());
    if (!options_.parameters.empty()) {
      script += "chparam";
      for (const auto& [name, value] : options_.parameters) script += fmt::format(" -set {} {}", name, value);
      script += " " + sources_.top + "\n";
    }
    script += "hierarchy -check";
    for (const fs::path& folder : sources_.folders) script += fmt::format(" -libdir {}", folder.string());
    // What is counted is what constants leave: a decoder of one format is a hundredth of the text that takes them all.
    script += fmt::format(
        " -top {0}\nrename -top {0}\nproc\nopt_clean\nwrite_rtlil {1}\n"
        "opt_expr\nopt_muxtree\nopt_clean\ntee -q -o {2} stat -width -json\n",
        sources_.top, Path("elaborated.il"), Path("elaborated.json"));
    KILN_ASSIGN_OR_RETURN(const std::string sources, HashOfSources());
    Progress("elaborate", sources_.top, 0, 1);
    KILN_RETURN_IF_ERROR(Yosys("elaborate", script, sources, {Path("elaborated.json"), Path("elaborated.il")}));
    KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(Path("elaborated.json")));
    KILN_ASSIGN_OR_RETURN(elaborated_, ParseStatistics(text));
    if (!for_cells() || options_.memories == Memories::kRegisters) return OkStatus();
    for (const auto& [module, counts] : elaborated_) {
      if (SourceName(module) == kMemoryModule && module != sources_.top) memories_.insert(module);
    }
    return OkStatus();
  }

  // Every module that keeps its boundary on its own, to the cells' netlist.
  Status Map() {
    const std::string fpga_cells = Path("fpga_cells.il");
    if (!for_cells()) KILN_RETURN_IF_ERROR(Yosys("fpga_cells", FpgaCells(fpga_cells), "", {fpga_cells}));
    PartsMapping mapping;
    mapping.folder = work_ / "parts";
    mapping.tools = tools_;
    mapping.top = sources_.top;
    mapping.jobs = options_.jobs;
    std::error_code error;
    fs::create_directories(mapping.folder, error);
    if (error) return ErrorAt(mapping.folder.string(), "", "cannot be made: " + error.message(), "");
    mapping.commands = [&](const MappingPart& part) {
      if (!for_cells()) {
        return FpgaCommands({options_.fpga, fpga_cells}, part.large, part.name == sources_.top);
      }
      return CellCommands({Path("cells.lib"), Path("ports.constr"), period_ns()}, part.large);
    };
    mapping.started = [&](const MappingPart& part, int64_t done, int64_t total) {
      Progress("map", SourceName(part.name), done, total);
    };
    KILN_ASSIGN_OR_RETURN(const std::vector<MappingPart> parts, Parts(mapping));
    KILN_ASSIGN_OR_RETURN(mapped_, MapParts(parts, mapping));
    return MergeNetlists();
  }
  // Modules whose estimates are in doubt are mapped to see what they come to.
  StatusOr<std::vector<MappingPart>> Parts(const PartsMapping& mapping) const {
    KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(Path("elaborated.il")));
    KILN_ASSIGN_OR_RETURN(const RtlilDesign design, ParseRtlil(text));
    const auto cut = [&](const Boundaries& boundaries) {
      return CutIntoParts(design, boundaries, memories_, sources_.top, options_.clock);
    };
    const Boundaries estimated = FindBoundaries(elaborated_, sources_.top);
    KILN_ASSIGN_OR_RETURN(std::vector<MappingPart> parts, cut(estimated));
    if (estimated.doubtful.empty()) return parts;
    const std::set<std::string> doubtful(estimated.doubtful.begin(), estimated.doubtful.end());
    std::erase_if(parts, [&](const MappingPart& part) { return !doubtful.contains(part.modules.front()); });
    KILN_ASSIGN_OR_RETURN(const NetlistStatistics counted, MapWhole(parts, mapping));
    std::map<std::string, int64_t> measured;
    for (const MappingPart& part : parts) {
      KILN_ASSIGN_OR_RETURN(const SynthesisedUnit unit,
                            SumUnits(counted, part.name, 0, [](const std::string&) { return Resources{.cells = 1}; }));
      for (const std::string& module : part.modules) measured[module] = unit.resources.cells;
    }
    return cut(FindBoundaries(elaborated_, sources_.top, measured));
  }
  Status MergeNetlists() const {
    std::string netlist;
    for (const std::string& part : mapped_.names) {
      KILN_ASSIGN_OR_RETURN(const std::string text, NetlistOf(mapped_, part, work_ / "parts"));
      netlist += text;
    }
    return WriteFile(Path("netlist.v"), netlist);
  }

  StatusOr<Resources> ResourcesOf(const std::string& type) const {
    if (memories_.contains(type)) {
      Resources memory;
      memory.memory_bits = elaborated_.at(type).memory_bits;
      return memory;
    }
    if (!for_cells()) return XilinxResources(type);
    const auto cell = library_.cells.find(type);
    if (cell == library_.cells.end()) {
      return UnsupportedAt(options_.liberty.string(), "", fmt::format("has no cell for the design's {}", type),
                           "give another library with --liberty");
    }
    Resources resources;
    resources.area = cell->second.area;
    resources.cells = 1;
    resources.flip_flops = cell->second.is_flip_flop ? 1 : 0;
    return resources;
  }

  StatusOr<Timing> Time() const {
    Progress("time", sources_.top, 0, 1);
    std::map<std::string, std::set<std::string>> left_out;
    for (const auto& [around, module] : ModulesLeftOut(mapped_.statistics, sources_.top))
      left_out[around].insert(module);
    TimingSetup setup;
    setup.work = work_;
    setup.netlist = Path("netlist.v");
    int64_t instances = 0;
    if (!left_out.empty()) {
      setup.netlist = Path("timed.v");
      std::string netlist;
      for (const auto& [module, counts] : mapped_.statistics) {
        KILN_ASSIGN_OR_RETURN(const std::string text, NetlistOf(mapped_, module, work_ / "parts"));
        netlist += LeaveInstancesOut(text, left_out[module], &instances);
      }
      KILN_RETURN_IF_ERROR(WriteFile(setup.netlist, netlist));
    }
    setup.liberty = Path("cells.lib");
    setup.top = sources_.top;
    setup.clock = options_.clock;
    setup.period_ns = period_ns();
    setup.driver = inverter_;
    setup.load = OutputLoad();
    KILN_ASSIGN_OR_RETURN(Timing timing, FindWorstPath(setup));
    timing.instances_left_out = instances;
    return timing;
  }

  const DesignSources& sources_;
  const SynthesisOptions& options_;
  fs::path work_;
  LibertyLibrary library_;
  std::string inverter_, tools_;
  NetlistStatistics elaborated_;
  MappedParts mapped_;
  std::set<std::string> memories_;
};

}  // namespace

Status CheckSynthesisFolder(const fs::path& work) {
  std::error_code error;
  if (!fs::exists(work, error)) return OkStatus();
  if (!fs::is_directory(work, error)) return ErrorAt(work.string(), "", "is a file", "name a folder");
  if (fs::is_empty(work, error) && !error) return OkStatus();
  const auto version = ReadFile(work / kVersionLog, 1 << 16);
  if (version.ok() && version->starts_with("Yosys ")) return OkStatus();
  return ErrorAt(work.string(), "", "holds files that are not of an earlier synthesis",
                 "name a new folder, or an empty one");
}

StatusOr<SynthesisResult> Synthesise(const DesignSources& sources, const SynthesisOptions& options,
                                     const fs::path& work) {
  return Run(sources, options, work).Do();
}

}  // namespace kiln::hardware
