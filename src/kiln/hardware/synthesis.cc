#include "kiln/hardware/synthesis.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "fmt/format.h"
#include "kiln/hardware/synthesis_boundaries.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"

namespace kiln::hardware {
namespace {

namespace fs = std::filesystem;

// The module of rtl/ that all memories are instances of.
constexpr std::string_view kMemoryModule = "kiln_ram_1w";

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
    SynthesisResult result;
    result.top = sources_.top;
    if (for_cells()) KILN_RETURN_IF_ERROR(ReadLibrary());
    KILN_RETURN_IF_ERROR(Elaborate());
    KILN_RETURN_IF_ERROR(Map());
    const auto resources_of = [this](const std::string& cell) { return ResourcesOf(cell); };
    KILN_ASSIGN_OR_RETURN(result.design, SumUnits(mapped_, sources_.top, options_.depth, resources_of));
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
    inverter_ = library_.MiddleInverter();
    if (inverter_.empty()) {
      return ErrorAt(options_.liberty.string(), "", "has no inverter", "give a library of standard cells");
    }
    return WriteFile(work_ / "ports.constr",
                     fmt::format("set_driving_cell {}\nset_load {} [all_outputs]\n", inverter_, OutputLoad()));
  }
  // A fan-out of four.
  double OutputLoad() const { return 4 * library_.cells.at(inverter_).input_capacitance; }

  Status Yosys(const std::string& name, const std::string& script) const {
    const fs::path file = work_ / (name + ".ys"), log = work_ / (name + ".log");
    KILN_RETURN_IF_ERROR(WriteFile(file, script));
    const Status status = RunProgram({"yosys", "-q", "-s", file.string()}, log);
    if (status.ok()) return OkStatus();
    const auto text = ReadFile(log);
    const std::string fault = text.ok() ? YosysError(*text) : "";
    return fault.empty() ? status : ErrorAt("yosys", "module " + sources_.top, fault, "");
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
    script +=
        fmt::format(" -top {0}\nrename -top {0}\nproc\nopt_clean\ntee -q -o {1} stat -width -json\nwrite_rtlil {2}\n",
                    sources_.top, Path("elaborated.json"), Path("elaborated.il"));
    KILN_RETURN_IF_ERROR(Yosys("elaborate", script));
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
    Boundaries boundaries = FindBoundaries(elaborated_, sources_.top);
    for (auto* modules : {&boundaries.kept, &boundaries.large}) {
      std::erase_if(*modules, [this](const std::string& module) { return memories_.contains(module); });
    }
    std::string script = fmt::format("read_rtlil {}\n", Path("elaborated.il"));
    for (const std::string& module : memories_) script += fmt::format("blackbox {}\n", module);
    for (const std::string& module : boundaries.kept) {
      script += fmt::format("setattr -mod -set keep_hierarchy 1 {}\n", module);
    }
    script += for_cells() ? CellScript(boundaries.large) : FpgaScript(boundaries.large);
    script += fmt::format("clean -purge\ntee -q -o {} stat -json\nwrite_verilog -noattr {}\n", Path("mapped.json"),
                          Path("netlist.v"));
    KILN_RETURN_IF_ERROR(Yosys("map", script));
    KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(Path("mapped.json")));
    KILN_ASSIGN_OR_RETURN(mapped_, ParseStatistics(text));
    return OkStatus();
  }

  // Yosys' `share` is left out: it searches for exclusive conditions with a SAT solver, found nothing to share in any
  // processing element, and does not end on what has several rounders.
  std::string CellScript(const std::vector<std::string>& large) const {
    const std::string mapping = fmt::format("abc -liberty {} -constr {} -D {}", Path("cells.lib"), Path("ports.constr"),
                                            static_cast<int64_t>(period_ns() * 1e3));
    return fmt::format("synth -flatten -noshare -top {}\ndfflibmap -liberty {}\n", sources_.top, Path("cells.lib")) +
           Abc(mapping, "strash;dc2;&get,-n;&nf,{D};&put;buffer;upsize,{D};dnsize,{D}", large);
  }
  // What synth_xilinx does, but for `share`, and with ABC as below.
  std::string FpgaScript(const std::vector<std::string>& large) const {
    const std::string synthesis =
        fmt::format("synth_xilinx -family {} -flatten -top {} -run ", options_.fpga, sources_.top);
    return synthesis + "begin:coarse\n" +
           "techmap -map +/cmp2lut.v -map +/cmp2lcu.v -D LUT_WIDTH=6\nalumacc\nopt\nmemory -nomap\nopt_clean\n" +
           synthesis + "map_memory:map_luts\nopt_expr -mux_undef -noclkinv\n" +
           Abc("abc -luts 2:2,3,6:5,10,20", "strash;dc2;strash;if", large) +
           "clean\ntechmap -map +/xilinx/ff_map.v\nxilinx_srl -fixed -minlen 3\n"
           "techmap -map +/xilinx/lut_map.v -map +/xilinx/cells_map.v -D LUT_WIDTH=6\nxilinx_dffopt\n"
           "opt_lut_ins -tech xilinx\n" +
           synthesis + "finalize:edif\n";
  }
  // ABC's usual script looks for equivalent nodes with a SAT solver, which on large arithmetic takes hours: there
  // `quick` is run in its place.
  static std::string Abc(const std::string& command, const std::string& quick, const std::vector<std::string>& large) {
    if (large.empty()) return command + "\n";
    std::string script = "select -set large";
    for (const std::string& module : large) script += " " + module;
    return script + fmt::format("\n{0} * @large %d\n{0} -script +{1} @large\n", command, quick);
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
    const std::string script = fmt::format(
        R"(read_liberty {0}
set_cmd_units -time ns
read_verilog {1}
link_design {2}
set ports [get_ports -quiet {3}]
if {{$ports == ""}} {{ create_clock -name clock -period {4} }} else {{ create_clock -name clock -period {4} $ports }}
set_input_delay 0 -clock clock [all_inputs]
set_output_delay 0 -clock clock [all_outputs]
set_driving_cell -lib_cell {5} [all_inputs]
set_load {6} [all_outputs]
set path [lindex [find_timing_paths -path_delay max] 0]
if {{$path == ""}} {{ puts "kiln_no_path"; exit }}
puts "kiln_slack [get_property $path slack]"
foreach end {{startpoint endpoint}} {{
  set pin [get_property $path $end]
  puts "kiln_$end [get_full_name $pin]"
  foreach cell [get_cells -quiet -of_objects $pin] {{
    set pins [$cell pin_iterator]
    while {{[$pins has_next]}} {{
      set pin [$pins next]
      if {{[$pin is_driver] && [$pin net] != "NULL"}} {{ puts "kiln_net_$end [get_full_name [$pin net]]" }}
    }}
    $pins finish
  }}
}}
exit
)",
        Path("cells.lib"), Path("netlist.v"), sources_.top, options_.clock, period_ns(), inverter_, OutputLoad());
    KILN_RETURN_IF_ERROR(WriteFile(work_ / "time.tcl", script));
    KILN_RETURN_IF_ERROR(RunProgram({"sta", "-no_splash", "-exit", Path("time.tcl")}, work_ / "time.log"));
    KILN_ASSIGN_OR_RETURN(const std::string log, ReadFile(work_ / "time.log"));
    return ParseTiming(log, period_ns());
  }

  const DesignSources& sources_;
  const SynthesisOptions& options_;
  fs::path work_;
  LibertyLibrary library_;
  std::string inverter_;
  NetlistStatistics elaborated_, mapped_;
  std::set<std::string> memories_;
};

}  // namespace

StatusOr<SynthesisResult> Synthesise(const DesignSources& sources, const SynthesisOptions& options,
                                     const fs::path& work) {
  return Run(sources, options, work).Do();
}

}  // namespace kiln::hardware
