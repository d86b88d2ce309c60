// The netlists that can be simulated in place of the sources of a design (gate_level.h).
#ifndef KILN_HARDWARE_NETLIST_KIND_H_
#define KILN_HARDWARE_NETLIST_KIND_H_

#include <cstdint>

namespace kiln::hardware {

// What is simulated.
enum class NetlistKind : uint8_t {
  kNone,   // the design's sources
  kPlain,  // the standard cells that `kiln synth` maps
  kGated,  // those of `kiln synth --clock-gating`
};

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_NETLIST_KIND_H_
