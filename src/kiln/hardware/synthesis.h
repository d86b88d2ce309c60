// Synthesis of SystemVerilog with open tools: Yosys for standard cells and FPGAs, OpenSTA for
// timing. This is the interface behind `kiln synth`; the synthesis_*.h files are its parts.
#ifndef KILN_HARDWARE_SYNTHESIS_H_
#define KILN_HARDWARE_SYNTHESIS_H_

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/hardware/fpga_devices.h"
#include "kiln/hardware/liberty.h"
#include "kiln/hardware/netlist_statistics.h"
#include "kiln/support/status.h"

namespace kiln::hardware {

// The sources of a design. Paths are relative to `folder` and plain (IsPlainPath,
// hardware/tool_names.h); the folder itself may have any name.
struct DesignSources {
  std::filesystem::path folder;
  std::vector<std::string> files;    // packages first
  std::vector<std::string> folders;  // searched for other modules, as <module>.sv
  // Files with contents of memories, in kContentsFolder. Sources open them ($readmemh) by this
  // path, relative to the working folder of the tool.
  std::vector<std::string> contents;
  std::string top;  // name of the top module
};

// Returns the sources in a folder that `kiln compile --emit` wrote, or in any folder with a
// filelist.f (hardware/file_list.h). An empty `top` means the TOP of its design.mk. Errors name the
// folder: no filelist.f, a listed file that is missing or outside the folder, no top.
StatusOr<DesignSources> SourcesOfFolder(const std::filesystem::path& folder,
                                        const std::string& top);
// Returns the sources of one module of the SystemVerilog library (RtlLibrary,
// hardware/rtl_project.h) with everything that it needs.
StatusOr<DesignSources> SourcesOfModule(const std::string& module);

// Parameter names and their values in Yosys' notation.
using ParameterValues = std::vector<std::pair<std::string, std::string>>;
// Parses "ROWS=4,INPUT_FORMAT=e4m3" into names and values for Yosys. A value is an integer of 32
// bits, a Verilog constant (8'h2a), the name of a number format, which becomes its descriptor, or
// quire(A*B) for two formats. Errors: not of that form, unknown format.
StatusOr<ParameterValues> ParseParameters(const std::string& text);
// Checks that no parameter that the top's file declares as `int unsigned` is negative. (As a large
// number it would make Yosys elaborate without an end.)
Status CheckParameters(const DesignSources& sources, const ParameterValues& parameters);

// The treatment of memories in a synthesis for standard cells.
enum class Memories : uint8_t {
  kCount,      // memories (kiln_ram_1w) are counted in bits and are black boxes in the netlist
  kRegisters,  // memories become flip-flops; only for small ones
};

// A progress report: a step begins on a module.
struct SynthesisProgress {
  std::string step;             // elaborate, map or time
  std::string module;           // its name in the source
  int64_t done = 0, total = 1;  // modules of this step
};

// The settings of a synthesis.
struct SynthesisOptions {
  ParameterValues parameters;  // of the top
  std::string fpga;            // a family of synth_xilinx, "xc7" or "xcup"; "" for standard cells
  std::filesystem::path liberty = DefaultLiberty();
  double clock_mhz = 100;
  // The clock port of the top. If it has none of that name, paths from inputs to outputs are timed.
  std::string clock = "clock";
  bool timing = true;  // standard cells only
  // Whether the models with which the netlist is simulated are written, too (netlist_models.h);
  // standard cells only.
  bool models = false;
  // Whether the clock of a register of kLeastGatedBits (synthesis_flow.h) or more bits with an
  // enable is gated, in place of a multiplexer for each bit; standard cells only.
  bool clock_gating = false;
  Memories memories = Memories::kCount;  // standard cells only; FPGAs map memories to their own
  // Kept memories: the time from the clock to their data, in nanoseconds. Without: of each memory
  // what MemoryAccessNs states at 180 nm (technology.h) if `liberty` is the default one, else paths
  // to and from memories are not timed.
  std::optional<double> memory_access_ns = {};
  int depth = 1;  // levels of units below the top
  int jobs = 1;   // number of modules that are mapped concurrently; does not affect results
  // Called when a step begins, from any thread; may be empty.
  std::function<void(const SynthesisProgress&)> progress;
  // A device of the family `fpga`, with which reports compare the design; null: none.
  const FpgaDevice* device = nullptr;
};

// The worst path of a design.
struct Timing {
  double slack_ns = 0;     // negative if the clock is too fast
  double fastest_mhz = 0;  // the clock frequency with slack 0; 0 if nothing depends on the clock
  std::string from, to;    // the ends of the path as OpenSTA names them: cells and ports
  std::string from_net, to_net;  // the nets that the registers at its ends drive; else empty
  bool to_clock_gate = false;    // whether the path ends at the clock gate of `to_net`
  // Number of instances that were not timed, of modules with many instances (synthesis_timing.h).
  int64_t instances_left_out = 0;
  // The modules with a cell on a path that is too long (synthesis_timing.h).
  std::set<std::string> late = {};
  // The greatest time from the clock to the data of a memory; 0 if none was timed.
  double memory_access_ns = 0;
  // Number of modules that were mapped for speed, because they had been too slow.
  int64_t mapped_for_speed = 0;
};

// The result of a synthesis.
struct SynthesisResult {
  std::string top;
  SynthesisedUnit design;
  std::string library;           // name of the cell library; empty for FPGAs
  std::optional<Timing> timing;  // absent for FPGAs and without SynthesisOptions::timing
  double seconds = 0;            // elapsed time
};

// Checks whether a user's folder may become the work folder of Synthesise. Errors: it contains
// files but none of an earlier run (Yosys' version.log); something in it other than the link to the
// sources is neither a regular file nor a folder.
Status CheckSynthesisFolder(const std::filesystem::path& work);

// Runs the tools in `work`, an existing folder with a path that CheckToolPath
// (hardware/tool_names.h) accepts. Scripts, logs and the netlist (netlist.v) remain there, and
// with SynthesisOptions::models the models of its cells and memories (cells.v, memories.v).
//
// Module boundaries are kept where FindBoundaries decides so, which yields areas per unit. Each
// kept module is mapped by its own run of Yosys, and modules with the same contents only once; all
// other modules become part of the module that uses them. Results in `work` from an earlier run
// with the same contents, commands and tools are reused.
//
// Modules are mapped for a small area first. With SynthesisOptions::timing, those with a cell on a
// path that is too long for the clock are mapped again for speed, and so on with the paths that are
// then too long, three times at most. The mapping with the greatest slack counts.
//
// Errors: an unknown top or parameter, before any tool is run; errors of the sources (in Yosys'
// words) and of the Liberty file; a library that lacks a required cell; a tool that is not
// installed; a port of another width than its connection, because Yosys 0.23 ignores some casts and
// the netlist would then compute something else; with SynthesisOptions::clock_gating a library that
// has no cells to gate a clock with.
StatusOr<SynthesisResult> Synthesise(const DesignSources& sources, const SynthesisOptions& options,
                                     const std::filesystem::path& work);

// Returns the resources of a cell of Xilinx' libraries; a cell of an unknown kind counts as one
// cell.
Resources XilinxResources(std::string_view cell);

// Parses the lines that the timing script prints; `period_ns` is the clock period. Errors: those of
// OpenSTA, or no such lines.
StatusOr<Timing> ParseTiming(const std::string& log, double period_ns);

// Returns the first error in Yosys' log, with file and line if Yosys names them; "" if there is
// none.
std::string YosysError(const std::string& log);

// Returns the first port whose connection Yosys cut or extended to the port's width, with both
// widths ("unit.instance.port from 8 bits to 4 bits"); "" if there is none.
std::string ResizedPort(const std::string& log);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_SYNTHESIS_H_
