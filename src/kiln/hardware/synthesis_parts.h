// The parts of a design that are mapped one by one: the text of each part is cut out of the
// elaborated design (rtlil.h) along the module boundaries that were chosen
// (synthesis_boundaries.h).
#ifndef KILN_HARDWARE_SYNTHESIS_PARTS_H_
#define KILN_HARDWARE_SYNTHESIS_PARTS_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "kiln/hardware/rtlil.h"
#include "kiln/hardware/synthesis_boundaries.h"
#include "kiln/support/status.h"

namespace kiln::hardware {

// The unit of one Yosys run: a module that keeps its boundary, with all modules that become part of
// it.
struct MappingPart {
  // Its name in the netlist: the top's own name, or the source name (PlainName), '$' and a hash of
  // `design`. The name depends on the contents alone.
  std::string name;
  // RTLIL: the module as kPartModule, the modules that become part of it, and the modules below as
  // black boxes.
  std::string design;
  std::vector<std::string> modules;  // the modules of the design that it represents
  std::vector<std::string> ports;    // as RtlilModule::ports
  bool large = false;                // Boundaries::large
  bool stateless = false;            // Boundaries::stateless
  std::set<std::string> below;       // the parts that it instantiates
};
inline constexpr const char* kPartModule = "part";
// A Yosys selection of all modules that become part of it.
inline constexpr const char* kInsideModules = "inside$* whole";

// Returns the parts of a design, each before those that instantiate it. Modules with the same
// contents become one part.
//   black_boxes  modules that are not mapped; they keep their names
//   clock        the input of black boxes that FPGA clock buffers must drive
// Errors: the boundaries belong to another design.
StatusOr<std::vector<MappingPart>> CutIntoParts(const RtlilDesign& design,
                                                const Boundaries& boundaries,
                                                const std::set<std::string>& black_boxes,
                                                const std::string& top, const std::string& clock);

// Returns the variant of a part for instances with these constant inputs; the variant contains the
// constants and has the same ports. `inputs` holds the bits of ports by name, MSB first: 0, 1, or x
// for a bit that is not constant.
MappingPart WithConstants(const MappingPart& part,
                          const std::map<std::string, std::string>& inputs);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_SYNTHESIS_PARTS_H_
