// The modelled clock of a design point: what synthesis of the whole machine with OSU's 0.18 um
// cells found (hardware/clock_model.h), scaled to a node.
#ifndef KILN_TARGETS_INTERFACE_CLOCK_H_
#define KILN_TARGETS_INTERFACE_CLOCK_H_

#include <string>

namespace kiln {

// What identifies a machine in the table of synthesised machines.
struct MachineIdentity {
  std::string top;   // the top module in rtl/
  std::string keys;  // KeyTable::HardwareKeys of the design point
};

// The clock of a machine.
struct MachineClock {
  MachineIdentity machine;                  // without a clock model, `top` is empty
  std::string no_model = "no clock model";  // the reason for an empty `top`
  double mhz = -1;                          // the fastest clock; negative: not known
  std::string source = {};                  // where it comes from
  // Names what was synthesised in place of the machine: "with memory_latency 16 and 256". Empty if
  // the machine itself was.
  std::string in_place = {};

  bool known() const { return mhz > 0; }
  // Returns why the clock is unknown; empty if it is known.
  std::string unknown() const;
};

// Looks up a machine and scales its clock to a node of hardware/technology.h, which must exist.
MachineClock ClockAt(MachineIdentity machine, int node_nm);

}  // namespace kiln

#endif  // KILN_TARGETS_INTERFACE_CLOCK_H_
