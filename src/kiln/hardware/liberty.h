// The facts about a standard cell library that synthesis needs, read from its Liberty file: areas,
// flip-flops, an inverter that models the environment of a design, and the cells that gate a clock.
// Timing itself is read by OpenSTA.
#ifndef KILN_HARDWARE_LIBERTY_H_
#define KILN_HARDWARE_LIBERTY_H_

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "kiln/support/status.h"

namespace kiln::hardware {

// A standard cell.
struct LibertyCell {
  double area = 0;  // in the library's units, usually um2
  bool is_flip_flop = false;
  bool is_latch = false;
  bool is_inverter = false;      // one input, and one output that is its complement
  double input_capacitance = 0;  // the largest of its inputs, in the library's units
};

// The cells that gate a register's clock: a rising edge of the clock passes if an enable is true
// before it. A latch that is transparent while the clock is low holds the enable, and an AND passes
// the clock; or one cell of the library does both.
struct ClockGate {
  // The cell whose output is the gated clock, and its pins.
  std::string gate, gate_clock, gate_enable, gate_output;
  std::string gate_test;  // an input that is tied low; "" if there is none
  // The latch in front of `gate`, and its pins; all "" if `gate` holds the enable itself.
  std::string latch, latch_data, latch_enable, latch_output;
  bool latch_is_transparent_low = false;  // while latch_enable is low rather than high
};

// A library: its name and its cells by name.
struct LibertyLibrary {
  std::string name;
  std::map<std::string, LibertyCell> cells;

  // Returns the inverter of median area (the larger of two), which models the drivers of inputs and
  // the loads of outputs. Returns "" if there is none.
  std::string MiddleInverter() const;
  // The cells with the least area that gate a clock, an integrated one before a latch with an AND.
  // They have names of letters, digits and _, no further inputs, and no attribute `dont_use`.
  // Absent if the library has neither.
  std::optional<ClockGate> clock_gate = {};
};

// Parses a library; `file` is its name in errors: no `library` group, no cells, an unterminated
// group, no flip-flop.
StatusOr<LibertyLibrary> ParseLiberty(std::string_view text, const std::string& file);

// The area of the cell LATCH of OSU's library in um2: 5.6 by 10 um in its LEF file. The Liberty
// file says 0.
inline constexpr std::string_view kOsuLibrary = "osu018_stdcells";
inline constexpr double kOsuLatchArea = 56;

// Returns the path of the library in Debian's package qflow-tech-osu018 (OSU, 0.18 um).
std::filesystem::path DefaultLiberty();

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_LIBERTY_H_
