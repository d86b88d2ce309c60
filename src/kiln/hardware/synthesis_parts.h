// A design cut into parts that are mapped one by one.
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

// What one run of Yosys maps: a module that keeps its boundary with all that becomes part of it.
struct MappingPart {
  // In the netlist: the top's own name, of others the name in the source (as PlainName has it), '$', and a hash of
  // `design`. It follows from the contents alone.
  std::string name;
  std::string
      design;  // RTLIL: the module as kPartModule, what becomes part of it, the modules below as black boxes
  std::vector<std::string> modules;  // of the design
  std::vector<std::string> ports;    // as in RtlilModule
  bool large = false;
  bool stateless = false;       // Boundaries::stateless
  std::set<std::string> below;  // parts that it has instances of
};
inline constexpr const char* kPartModule = "part";

// The parts of a design, each before those that have instances of it. Modules with the same contents are one part.
//   black_boxes   modules that are not mapped; they keep their names
//   clock         the input of black boxes that an FPGA's clock buffers are wanted for
// Error: the boundaries are of another design.
StatusOr<std::vector<MappingPart>> CutIntoParts(const RtlilDesign& design,
                                                const Boundaries& boundaries,
                                                const std::set<std::string>& black_boxes,
                                                const std::string& top, const std::string& clock);

// The part as instances need it of which some inputs are always the same bits: these are constants inside of it.
//   inputs   of ports by name: their bits, the highest first: 0, 1, or x for what is no constant
MappingPart WithConstants(const MappingPart& part,
                          const std::map<std::string, std::string>& inputs);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_SYNTHESIS_PARTS_H_
