// Interprets the output of the synthesis tools: cells of Xilinx, timing reports and Yosys errors.
#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "kiln/hardware/netlist_statistics.h"
#include "kiln/hardware/synthesis.h"

namespace kiln::hardware {
namespace {

// A row of xilinx_cells.def.
struct XilinxCell {
  std::string_view prefix;
  Resources resources;
};

const XilinxCell kXilinxCells[] = {
#define KILN_XILINX_CELL(name, member, count) {name, {.member = (count)}},
#include "kiln/hardware/xilinx_cells.def"
#undef KILN_XILINX_CELL
};

}  // namespace

Resources XilinxResources(std::string_view cell) {
  Resources resources;
  for (const XilinxCell& row : kXilinxCells) {
    if (!cell.starts_with(row.prefix)) continue;
    resources = row.resources;
    break;
  }
  resources.cells = 1;
  if (resources.luts == 1) {  // INV, or LUT and the number of its inputs
    const size_t inputs = cell.starts_with("LUT") ? static_cast<size_t>(cell[3] - '0') : 1;
    if (inputs >= 1 && inputs <= resources.narrow_luts.size()) ++resources.narrow_luts[inputs - 1];
  }
  return resources;
}

StatusOr<Timing> ParseTiming(const std::string& log, double period_ns) {
  Timing timing;
  bool found = false;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Error:")) return ErrorAt("", "sta", line.substr(line.find(':') + 2), "");
    if (line.find("unclocked register/latch pin") != std::string::npos) {
      return ErrorAt("", "sta",
                     "registers behind clock gates have no clock: the library's cells to gate a "
                     "clock with have no timing from the clock to the output",
                     "give another library with --liberty, or leave --clock-gating out");
    }
    const size_t blank = line.find(' ');
    const std::string key = line.substr(0, blank);
    const std::string value = blank == std::string::npos ? "" : line.substr(blank + 1);
    if (key == "kiln_no_path") return timing;
    if (key == "kiln_slack") {
      timing.slack_ns = std::strtod(value.c_str(), nullptr);
      found = true;
    }
    if (key == "kiln_startpoint") timing.from = value;
    if (key == "kiln_endpoint") timing.to = value;
    if (key == "kiln_net_startpoint") timing.from_net = value;
    if (key == "kiln_net_endpoint") timing.to_net = value;
    if (key == "kiln_gate_endpoint") timing.to_clock_gate = true;
    if (key == "kiln_late") timing.late.insert(value);
  }
  if (!found) return absl::InternalError("sta: it printed no slack");
  timing.fastest_mhz = timing.slack_ns < period_ns ? 1e3 / (period_ns - timing.slack_ns) : 0;
  return timing;
}

std::string YosysError(const std::string& log) {
  constexpr std::string_view kMark = "ERROR: ";
  const size_t at = log.find(kMark);
  if (at == std::string::npos) return "";
  const size_t newline = at == 0 ? std::string::npos : log.rfind('\n', at);
  const size_t begin = newline == std::string::npos ? 0 : newline + 1;
  const size_t end = std::min(log.find('\n', at), log.size());
  return log.substr(begin, at - begin) + log.substr(at + kMark.size(), end - at - kMark.size());
}

std::string ResizedPort(const std::string& log) {
  constexpr std::string_view kMark = "Warning: Resizing cell port ";
  const size_t mark = log.find(kMark);
  if (mark == std::string::npos) return "";
  // "$paramod$0123\\kiln_unit.instance.port from 8 bits to 4 bits."
  const size_t begin = mark + kMark.size(), end = std::min(log.find('\n', begin), log.size());
  std::string text = log.substr(begin, end - begin);
  if (text.ends_with('.')) text.pop_back();
  const size_t dot = text.find('.');
  if (dot == std::string::npos) return text;
  return SourceName(text.substr(0, dot)) + text.substr(dot);
}

}  // namespace kiln::hardware
