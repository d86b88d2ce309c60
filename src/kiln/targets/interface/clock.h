// The modelled clock of a design point: the slowest of the modules that its units consist of, each
// timed by itself after synthesis with OSU's 0.18 um cells (hardware/clock_model.h).
#ifndef KILN_TARGETS_INTERFACE_CLOCK_H_
#define KILN_TARGETS_INTERFACE_CLOCK_H_

#include <string>
#include <vector>

namespace kiln {

// A module of rtl/ that bounds the machine's clock.
struct TimedModule {
  std::string unit;        // of the machine, as in Cost::units
  std::string module;      // in rtl/
  std::string parameters;  // as for `kiln synth --parameters`: "ARRAY_ROWS=4,INPUT_FORMAT=int8"
  // Why the module has no measurement that could be looked up; empty if the table may have one.
  std::string unmeasurable;
  double period_ns = -1;  // the least period at MachineClock::node_nm; negative: not measured
};

// The clock of a machine.
struct MachineClock {
  int node_nm = 0;
  std::vector<TimedModule> modules;  // empty: the family has no clock model
  std::string source;                // where the figures come from

  // Returns the module with the longest period, or null if any is not known.
  const TimedModule* slowest() const;
  // Returns whether the machine was timed as a whole. Otherwise paths from one unit through another
  // were not timed, and mhz() is an upper bound.
  bool whole_machine() const { return modules.size() == 1; }
  // Returns the fastest clock in MHz, or a negative number if the period of any module is unknown.
  double mhz() const;
  // Returns why the clock is unknown: "the family has no clock model" or the modules without a
  // measurement; empty if it is known.
  std::string unknown() const;
};

// Looks the periods of the modules up and scales them to a node of hardware/technology.h, which
// must exist.
MachineClock ClockAt(std::vector<TimedModule> modules, int node_nm);

}  // namespace kiln

#endif  // KILN_TARGETS_INTERFACE_CLOCK_H_
