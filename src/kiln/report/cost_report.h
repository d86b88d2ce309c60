// Formats the area of a design point and the energy of a network on it. The text and HTML reports
// of runs and of `kiln compile` use these functions.
#ifndef KILN_REPORT_COST_REPORT_H_
#define KILN_REPORT_COST_REPORT_H_

#include <optional>
#include <string>
#include <vector>

#include "kiln/targets/interface/cost.h"

namespace kiln {

// The area and energy of one unit. Either is 0 if it is not known.
struct CostRow {
  std::string unit;
  double area = 0, memory = 0;  // square micrometres; `memory` is part of `area`
  double picojoules = 0;
};
// Returns one row per unit, in the order of Cost::units, followed by the units that only have an
// energy.
std::vector<CostRow> CostRows(const Cost& cost, const std::optional<Energy>& energy);

std::string SquareMillimetres(double square_micrometres);  // formats "1.234 mm²"
std::string Joules(double picojoules);                     // formats "1.23 uJ"

// Format area and energy in one line, such as "3.21 mm² at 45 nm, ..."; empty without an area.
std::string AreaLine(const Cost& cost);
std::string EnergyLine(const Energy& energy);
// Formats a table of units, followed by the basis of the figures. Empty if neither area nor energy
// is known.
std::string CostTable(const Cost& cost, const std::optional<Energy>& energy);

}  // namespace kiln

#endif  // KILN_REPORT_COST_REPORT_H_
