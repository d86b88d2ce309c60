// The clocks of machines as measured by synthesis with OSU's 0.18 um cells: a table, not a fit. A
// machine that the table lacks has no clock.
//
// bench/machine_grid synthesises the whole machines of design points in accelerators/ and writes
// technology/osu018/machines.csv together with machine_table.inc, the same rows for the program.
// Memories have the access times of hardware/technology.h; wires are not timed.
#ifndef KILN_HARDWARE_CLOCK_MODEL_H_
#define KILN_HARDWARE_CLOCK_MODEL_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::hardware {

inline constexpr int kClockNode = 180;  // nm, node of the library
inline constexpr const char* kClockSource =
    "clock of the whole machine by OpenSTA with OSU 0.18 um cells and modelled memories, without "
    "wires";

// A row of the table.
struct MeasuredMachine {
  const char* top;   // the machine's top module in rtl/
  const char* keys;  // KeyTable::HardwareKeys of its design point
  double mhz;        // the fastest clock at kClockNode
};

// Returns all rows.
const std::vector<MeasuredMachine>& MeasuredMachines();

// What the table says of a machine.
struct MeasuredClock {
  double mhz = 0;  // the fastest clock at kClockNode
  // The two values of `memory_latency` that were measured in place of the machine's; else empty.
  std::vector<int> latencies = {};
};

// Returns the clock of a machine, or nullopt if `rows` do not tell it. The key `memory_latency`
// sets how many requests are in flight, by the depth of queues and the width of counters. Between
// rows that differ from it in this key alone, a machine is taken to be as slow as the slower one of
// the two nearest.
std::optional<MeasuredClock> FindClock(std::span<const MeasuredMachine> rows, std::string_view top,
                                       std::string_view keys);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_CLOCK_MODEL_H_
