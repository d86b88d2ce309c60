// Synthesis of SystemVerilog with open tools: Yosys for standard cells and FPGAs, OpenSTA for timing.
#ifndef KILN_HARDWARE_SYNTHESIS_H_
#define KILN_HARDWARE_SYNTHESIS_H_

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/hardware/liberty.h"
#include "kiln/hardware/netlist_statistics.h"
#include "kiln/support/status.h"

namespace kiln::hardware {

// Paths are relative to `folder` and plain (IsPlainPath, hardware/tool_names.h); the folder itself may have any name.
struct DesignSources {
  std::filesystem::path folder;
  std::vector<std::string> files;    // packages first
  std::vector<std::string> folders;  // where modules are that `files` do not have, <module>.sv
  std::string top;                   // a module
};

// Of a folder that `kiln compile --emit` wrote, or any with a filelist.f (hardware/file_list.h). `top` "": the TOP of
// its design.mk. Errors name the folder: no filelist.f, a file in it that is not there or not in the folder, no top.
StatusOr<DesignSources> SourcesOfFolder(const std::filesystem::path& folder,
                                        const std::string& top);
// One module of the SystemVerilog library with all that it needs. The library is in $KILN_RTL, else in the source
// folder that this program was built from.
StatusOr<DesignSources> SourcesOfModule(const std::string& module);

// "ROWS=4,INPUT_FORMAT=e4m3": names and values for Yosys. A value is a whole number, a Verilog constant (8'h2a), or a
// number format's name, which becomes its descriptor. Errors: not of that form, no such format.
using ParameterValues = std::vector<std::pair<std::string, std::string>>;
StatusOr<ParameterValues> ParseParameters(const std::string& text);

enum class Memories : uint8_t {
  kCount,      // memories (kiln_ram_1w) are counted in bits and are black boxes in the netlist
  kRegisters,  // they become flip-flops, too; only for small ones
};

struct SynthesisProgress {
  std::string step;             // elaborate, map, time
  std::string module;           // its name in the source
  int64_t done = 0, total = 1;  // modules of this step
};

struct SynthesisOptions {
  ParameterValues parameters;  // of the top
  std::string fpga;            // a family of synth_xilinx, "xc7" or "xcup"; "" for standard cells
  std::filesystem::path liberty = DefaultLiberty();
  double clock_mhz = 100;
  std::string clock =
      "clock";  // port of the top; without one of that name, paths from inputs to outputs are timed
  bool timing = true;                    // standard cells only
  Memories memories = Memories::kCount;  // standard cells only; FPGAs have memories of their own
  int depth = 1;                         // levels of units below the top
  int jobs = 1;  // modules that are mapped at once; results do not depend on it
  std::function<void(const SynthesisProgress&)>
      progress;  // told what begins, from any thread; may be empty
};

struct Timing {
  double slack_ns = 0;     // the worst; less than 0: the clock is too fast
  double fastest_mhz = 0;  // the clock at which it would be 0; 0: nothing depends on the clock
  std::string from, to;    // the path's ends as OpenSTA names them: cells and ports
  std::string from_net,
      to_net;  // the registers by the names of what they hold; of memories and ports empty
  int64_t instances_left_out =
      0;  // of modules that stand often in a large design (synthesis_timing.h)
};

struct SynthesisResult {
  std::string top;
  SynthesisedUnit design;
  std::string library;  // of the cells; empty for an FPGA
  std::optional<Timing> timing;
  double seconds = 0;
};

// Whether a user's folder may be one that Synthesise works in. Errors: it holds files, and none of an earlier run
// (Yosys' version.log); something in it, other than the link to the sources, is neither a regular file nor a folder.
Status CheckSynthesisFolder(const std::filesystem::path& work);

// Runs the tools in `work`, a folder that is there and whose path CheckToolPath (hardware/tool_names.h) takes; scripts,
// logs and the netlist (netlist.v) stay there. The hierarchy is kept where FindBoundaries says, so that areas are known
// by unit; each such module is mapped by a run of Yosys of its own, modules with the same contents once, other modules
// as part of the module that uses them. What `work` has from an earlier run, of the same contents with the same
// commands and tools, is not done again. Errors: no such top, or none of its parameters, before any tool is run; of the
// sources (in Yosys' words), of the Liberty file, a library without a cell that the
// design needs, a tool that is not installed.
StatusOr<SynthesisResult> Synthesise(const DesignSources& sources, const SynthesisOptions& options,
                                     const std::filesystem::path& work);

// What a cell of Xilinx' libraries counts for; none of the kinds that are counted: one cell.
Resources XilinxResources(std::string_view cell);

// Of the lines that the timing script prints; `period_ns` is the clock's. Error: OpenSTA's own, or none of these lines.
StatusOr<Timing> ParseTiming(const std::string& log, double period_ns);

// Yosys' first error in its log, with file and line where it names them; empty: none.
std::string YosysError(const std::string& log);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_SYNTHESIS_H_
