// What synthesis needs to know of a standard cell library in Liberty format.
#ifndef KILN_HARDWARE_LIBERTY_H_
#define KILN_HARDWARE_LIBERTY_H_

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "kiln/support/status.h"

namespace kiln::hardware {

struct LibertyCell {
  double area = 0;  // in the library's units, um2 as a rule
  bool is_flip_flop = false;
  bool is_latch = false;
  bool is_inverter = false;      // one input, one output, which is its complement
  double input_capacitance = 0;  // of the input that has most, in the library's units
};

struct LibertyLibrary {
  std::string name;
  std::map<std::string, LibertyCell> cells;

  // The inverter that stands for what drives inputs and takes outputs: the middle one by area, the larger of two.
  // Empty: none.
  std::string MiddleInverter() const;
};

// `file` names the text in errors: no `library` group, no cells, a group that does not end, a flip-flop-less library.
StatusOr<LibertyLibrary> ParseLiberty(std::string_view text, const std::string& file);

// Where Debian's package qflow-tech-osu018 puts its library (OSU, 0.18 um).
std::filesystem::path DefaultLiberty();

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_LIBERTY_H_
