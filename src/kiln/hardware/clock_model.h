// The clocks of modules in rtl/ as measured by synthesis with OSU's 0.18 um cells: a table, not a
// fit. A module or parameters that the table lacks have no clock.
//
// bench/clock_grid measures the modules of the design points in accelerators/ and writes
// technology/osu018/clocks.csv together with clock_table.inc, the same rows for the program.
// Each module is timed by itself: paths within it, from its inputs and to its outputs. Wires, paths
// to and from memories, and paths through several modules that no row spans are not timed.
#ifndef KILN_HARDWARE_CLOCK_MODEL_H_
#define KILN_HARDWARE_CLOCK_MODEL_H_

#include <optional>
#include <string_view>
#include <vector>

namespace kiln::hardware {

inline constexpr int kClockNode = 180;  // nm, node of the library that modules are timed with
inline constexpr const char* kClockSource =
    "clocks of single modules by OpenSTA with OSU 0.18 um cells, without wires and memories";

// A row of the table.
struct MeasuredClock {
  const char* module;
  const char* parameters;  // as for `kiln synth --parameters`
  double mhz;              // the fastest clock at kClockNode
};

// Returns all rows.
const std::vector<MeasuredClock>& MeasuredClocks();

// Returns the fastest clock of a module in MHz at kClockNode; nullopt if exactly these parameters
// have not been measured.
std::optional<double> MeasuredMhz(std::string_view module, std::string_view parameters);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_CLOCK_MODEL_H_
