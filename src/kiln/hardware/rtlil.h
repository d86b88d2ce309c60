// Yosys' text form of a design (RTLIL, what `write_rtlil` writes), as far as it takes to cut a design into modules.
#ifndef KILN_HARDWARE_RTLIL_H_
#define KILN_HARDWARE_RTLIL_H_

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kiln/support/status.h"

namespace kiln::hardware {

// A module in a form that says nothing of how it came about, so that two specialisations with the same contents have
// the same text: without places in the source, and names that Yosys made up ($add$file.sv:7$12) numbered as they come.
struct RtlilModule {
  struct Instance {
    size_t at = 0;       // where in the body its module's name begins, as the text has it
    std::string module;  // as in RtlilDesign
  };
  std::string attributes;           // lines before the module
  std::vector<std::string> ports;   // lines of the wires that are ports: "wire width 8 input 1 \a"
  std::string body;                 // lines, those of ports included
  std::vector<Instance> instances;  // of modules of the design
};
// By name, without the backslash of names that come from the source (as in NetlistStatistics).
using RtlilDesign = std::map<std::string, RtlilModule>;

// `text`: of a design without processes (after `proc`). Error: not such a text.
StatusOr<RtlilDesign> ParseRtlil(const std::string& text);

// The module as text under another name. `name_of` gives the names of the modules that it has instances of.
std::string ToRtlil(const RtlilModule& module, const std::string& name,
                    const std::function<std::string(const std::string& module)>& name_of);
// Its ports alone, as a black box; `clock`: an input that clock buffers are wanted for.
std::string BlackBox(const RtlilModule& module, const std::string& name, const std::string& clock);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_RTLIL_H_
