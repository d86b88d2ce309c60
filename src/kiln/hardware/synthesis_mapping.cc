#include "kiln/hardware/synthesis_mapping.h"

#include <atomic>
#include <system_error>
#include <thread>

#include "fmt/format.h"
#include "kiln/hardware/synthesis.h"
#include "kiln/support/file.h"
#include "kiln/support/hash.h"
#include "kiln/support/process.h"

namespace kiln::hardware {
namespace {

namespace fs = std::filesystem;

// ABC's usual script looks for equivalent nodes with a SAT solver, which on large arithmetic takes hours: there `quick`
// is run in its place.
std::string Abc(const std::string& command, const std::string& quick, bool large) {
  return large ? fmt::format("{} -script +{}\n", command, quick) : command + "\n";
}

bool IsDone(const fs::path& mark, const std::string& recipe, const std::vector<fs::path>& outputs) {
  std::error_code ignored;
  for (const fs::path& output : outputs) {
    if (!fs::exists(output, ignored)) return false;
  }
  if (!fs::exists(mark, ignored)) return false;
  const auto before = ReadFile(mark);
  return before.ok() && *before == recipe;
}

// One part: its files are named after it.
StatusOr<ModuleStatistics> MapPart(const MappingPart& part, const PartsMapping& mapping) {
  const auto file = [&](const char* extension) { return mapping.folder / (part.name + extension); };
  const fs::path input = file(".il"), counts = file(".json"), netlist = file(".v");
  YosysRun run;
  run.folder = mapping.folder;
  run.name = part.name;
  run.inputs = fmt::format("{}# design {:016x}\n", mapping.tools, StableHash(part.design));
  run.outputs = {counts, netlist};
  run.design = mapping.top;
  run.script = fmt::format(
      "read_rtlil {}\n{}clean -purge\nrename {} {}\ntee -q -o {} stat -json\nwrite_verilog -noattr -simple-lhs {}\n",
      input.string(), mapping.commands(part), kPartModule, part.name, counts.string(), netlist.string());
  KILN_RETURN_IF_ERROR(WriteFile(input, part.design));
  KILN_RETURN_IF_ERROR(RunYosys(run));
  KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(counts));
  KILN_ASSIGN_OR_RETURN(NetlistStatistics statistics, ParseStatistics(text));
  const auto found = statistics.find(part.name);
  if (found == statistics.end()) return absl::InternalError("Yosys' statistics have no module " + part.name);
  return std::move(found->second);
}

}  // namespace

Status RunYosys(const YosysRun& run) {
  const auto file = [&run](const char* extension) { return run.folder / (run.name + extension); };
  const std::string recipe = run.inputs + run.script;
  if (IsDone(file(".done"), recipe, run.outputs)) return OkStatus();
  std::error_code ignored;
  fs::remove(file(".done"), ignored);
  KILN_RETURN_IF_ERROR(WriteFile(file(".ys"), run.script));
  const Status status = RunProgram({"yosys", "-q", "-s", file(".ys").string()}, file(".log"));
  if (status.ok()) return WriteFile(file(".done"), recipe);
  const auto text = ReadFile(file(".log"));
  const std::string fault = text.ok() ? YosysError(*text) : "";
  return fault.empty() ? status : ErrorAt("yosys", "module " + run.design, fault, "");
}

// Left to itself Yosys makes one carry-save sum of products and what is added to them, all partial products of which it
// extends to the sum's width: with an int8 product in an int32 sum that is 40 % more area than the product and an
// adder.
constexpr const char* kProductsApart = "flatten\nopt_expr\nopt_clean\nwreduce t:$mul\nalumacc t:$mul\n";

// Yosys' `share` is left out: it searches for exclusive conditions with a SAT solver, found nothing to share in any
// processing element, and does not end on what has several rounders.
std::string CellCommands(const CellMapping& mapping, bool large) {
  const std::string abc = fmt::format("abc -liberty {} -constr {} -D {}", mapping.liberty, mapping.constraints,
                                      static_cast<int64_t>(mapping.period_ns * 1e3));
  return fmt::format("hierarchy -check -top {0}\n{1}synth -flatten -noshare -top {0}\ndfflibmap -liberty {2}\n",
                     kPartModule, kProductsApart, mapping.liberty) +
         Abc(abc, "strash;dc2;&get,-n;&nf,{D};&put;buffer;upsize,{D};dnsize,{D}", large);
}

std::string FpgaCells(const std::string& file) {
  return fmt::format(
      "read_verilog -lib -specify +/xilinx/cells_sim.v\nread_verilog -lib +/xilinx/cells_xtra.v\nwrite_rtlil {}\n",
      file);
}

// What synth_xilinx does, but for `share`, and with ABC as above.
std::string FpgaCommands(const FpgaMapping& mapping, bool large, bool is_top) {
  const std::string synthesis = fmt::format("synth_xilinx -family {} -flatten {}-top {} -run ", mapping.family,
                                            is_top ? "" : "-noiopad -noclkbuf ", kPartModule);
  return fmt::format("read_rtlil {}\nhierarchy -check -top {}\n", mapping.cells, kPartModule) + synthesis +
         "prepare:coarse\n"
         "techmap -map +/cmp2lut.v -map +/cmp2lcu.v -D LUT_WIDTH=6\nalumacc\nopt\nmemory -nomap\nopt_clean\n" +
         synthesis + "map_memory:map_luts\nopt_expr -mux_undef -noclkinv\n" +
         Abc("abc -luts 2:2,3,6:5,10,20", "strash;dc2;strash;if", large) +
         "clean\ntechmap -map +/xilinx/ff_map.v\nxilinx_srl -fixed -minlen 3\n"
         "techmap -map +/xilinx/lut_map.v -map +/xilinx/cells_map.v -D LUT_WIDTH=6\nxilinx_dffopt\n"
         "opt_lut_ins -tech xilinx\n" +
         synthesis + "finalize:edif\n";
}

StatusOr<NetlistStatistics> MapParts(const std::vector<MappingPart>& parts, const PartsMapping& mapping) {
  std::vector<StatusOr<ModuleStatistics>> found(parts.size(), ModuleStatistics());
  std::atomic<size_t> next = 0;
  std::atomic<int64_t> done = 0;
  std::atomic<bool> failed = false;
  // Begun in order: where one fails, those before it have been begun, and the first failure is always the same one.
  const auto work = [&] {
    while (!failed) {
      const size_t i = next++;
      if (i >= parts.size()) return;
      if (mapping.started) mapping.started(parts[i], done);
      found[i] = MapPart(parts[i], mapping);
      if (!found[i].ok()) failed = true;
      ++done;
    }
  };
  {
    std::vector<std::jthread> others;
    for (int job = 1; job < mapping.jobs; ++job) others.emplace_back(work);
    work();
  }
  NetlistStatistics statistics;
  for (size_t i = 0; i < parts.size(); ++i) {
    KILN_RETURN_IF_ERROR(found[i].status());
    statistics[parts[i].name] = *std::move(found[i]);
  }
  return statistics;
}

}  // namespace kiln::hardware
