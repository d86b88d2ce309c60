// The facts about a standard cell library that synthesis needs, read from its Liberty file: areas,
// flip-flops, and an inverter that models the environment of a design. Timing itself is read by
// OpenSTA.
#ifndef KILN_HARDWARE_LIBERTY_H_
#define KILN_HARDWARE_LIBERTY_H_

#include <filesystem>
#include <map>
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

// A library: its name and its cells by name.
struct LibertyLibrary {
  std::string name;
  std::map<std::string, LibertyCell> cells;

  // Returns the inverter of median area (the larger of two), which models the drivers of inputs and
  // the loads of outputs. Returns "" if there is none.
  std::string MiddleInverter() const;
};

// Parses a library; `file` is its name in errors: no `library` group, no cells, an unterminated
// group, no flip-flop.
StatusOr<LibertyLibrary> ParseLiberty(std::string_view text, const std::string& file);

// Returns the path of the library in Debian's package qflow-tech-osu018 (OSU, 0.18 um).
std::filesystem::path DefaultLiberty();

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_LIBERTY_H_
