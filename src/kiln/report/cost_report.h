// What a design point costs in area and a network on it in energy, as people and programs read it.
#ifndef KILN_REPORT_COST_REPORT_H_
#define KILN_REPORT_COST_REPORT_H_

#include <optional>
#include <string>
#include <vector>

#include "kiln/targets/interface/cost.h"

namespace kiln {

// One unit with its area and its energy; either may be without the other.
struct CostRow {
  std::string unit;
  double area = 0, memory = 0;  // square micrometres; memory: of the area
  double picojoules = 0;
};
// In the order of Cost::units, then those that only energy has.
std::vector<CostRow> CostRows(const Cost& cost, const std::optional<Energy>& energy);

std::string SquareMillimetres(double square_micrometres);  // "1.234 mm²"
std::string Joules(double picojoules);                     // "1.23 uJ"

// "3.21 mm² at 45 nm, ..." in a line; empty where there is no area (no energy).
std::string AreaLine(const Cost& cost);
std::string EnergyLine(const Energy& energy);
// A table of units, and below it what the figures are based on. Empty where there is neither area nor energy.
std::string CostTable(const Cost& cost, const std::optional<Energy>& energy);

}  // namespace kiln

#endif  // KILN_REPORT_COST_REPORT_H_
