// Yosys' text representation of a design (RTLIL, as `write_rtlil` prints it), parsed as far as
// needed to divide a design into modules.
#ifndef KILN_HARDWARE_RTLIL_H_
#define KILN_HARDWARE_RTLIL_H_

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kiln/support/status.h"

namespace kiln::hardware {

// A module in a canonical form, so that two specialisations with the same contents have the same
// text: source positions are removed, and names that Yosys made up ($add$file.sv:7$12) are numbered
// in order of occurrence.
struct RtlilModule {
  // An instance of another module of the design.
  struct Instance {
    size_t at = 0;       // offset in the body of the module's name, in the notation of the text
    std::string module;  // its key in RtlilDesign
  };
  std::string attributes;          // lines before the module
  std::vector<std::string> ports;  // the lines of port wires: "wire width 8 input 1 \a"
  // The parameters that the module was specialised for: names and values in RTLIL's notation, "8"
  // or "4'0110". The body does not depend on them any more.
  std::vector<std::pair<std::string, std::string>> parameters;
  std::string body;                 // all lines, including those of ports
  std::vector<Instance> instances;  // in order of their offsets
};
// A port of a module.
struct RtlilPort {
  std::string name;  // without its backslash
  bool input = false;
  int width = 1;  // bits
};
// Returns the port of one of RtlilModule::ports.
RtlilPort PortOf(const std::string& line);

// Modules by name. Names from the source have no backslash (as in NetlistStatistics).
using RtlilDesign = std::map<std::string, RtlilModule>;

// Parses a design without processes (after `proc`). Error: text that is not such a design.
StatusOr<RtlilDesign> ParseRtlil(const std::string& text);

// Returns the module as text under another name. `name_of` returns the new names of the modules
// that it instantiates.
std::string ToRtlil(const RtlilModule& module, const std::string& name,
                    const std::function<std::string(const std::string& module)>& name_of);
// Returns a black box with the module's ports, under another name. `clock` is the input that clock
// buffers must drive.
std::string BlackBox(const RtlilModule& module, const std::string& name, const std::string& clock);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_RTLIL_H_
