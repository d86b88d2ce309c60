// Formats areas and energies. Negative figures of Cost mean "not known".
#include "kiln/report/cost_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "kiln/report/text.h"

namespace kiln {
namespace {

double Share(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

std::vector<CostRow> CostRows(const Cost& cost, const std::optional<Energy>& energy) {
  std::vector<CostRow> rows;
  for (const UnitArea& unit : cost.units) rows.push_back({unit.unit, unit.total(), unit.memory, 0});
  if (!energy.has_value()) return rows;
  for (const EnergyPart& part : energy->parts) {
    auto row = std::find_if(rows.begin(), rows.end(),
                            [&](const CostRow& r) { return r.unit == part.unit; });
    if (row == rows.end()) row = rows.insert(rows.end(), CostRow{.unit = part.unit});
    row->picojoules += part.picojoules();
  }
  return rows;
}

std::string SquareMillimetres(double square_micrometres) {
  const double value = square_micrometres * 1e-6;
  return value < 0.1 ? fmt::format("{:.4f} mm²", value) : fmt::format("{:.3f} mm²", value);
}

std::string Joules(double picojoules) {
  constexpr std::pair<double, const char*> kSteps[] = {
      {1e12, "J"}, {1e9, "mJ"}, {1e6, "uJ"}, {1e3, "nJ"}};
  for (const auto& [size, unit] : kSteps) {
    if (picojoules >= size) return fmt::format("{} {}", ThreeDigits(picojoules / size), unit);
  }
  return fmt::format("{} pJ", ThreeDigits(picojoules));
}

std::string AreaLine(const Cost& cost) {
  if (cost.area_square_micrometres < 0) return "";
  std::string line = fmt::format(
      "{} at {} nm: {} and {} of memory", SquareMillimetres(cost.area_square_micrometres),
      cost.node_nm, Metric(cost.gate_equivalents, "gates"), Bytes(cost.on_chip_memory_bits / 8));
  if (!cost.missing.empty())
    line += fmt::format("; INCOMPLETE, without {}", fmt::join(cost.missing, ", "));
  if (cost.area_error < 0) return line;
  if (cost.area_checked_share <= 0) return line + "; logic by models that were never checked";
  // A remainder that rounds to 0.0 % is not worth a distinction.
  const bool all = cost.area_checked_share > 0.9995;
  line += fmt::format(
      "; {} off by {} on average (worst model {}: {})",
      all ? "logic" : fmt::format("checked {} of the logic", Percent(cost.area_checked_share)),
      Percent(cost.area_error), Percent(cost.area_error_worst), cost.area_error_worst_model);
  return line;
}

std::string EnergyLine(const Energy& energy) {
  if (energy.picojoules() <= 0) return "none is modelled: no kernel runs on the accelerator";
  return fmt::format("{} per image at {} nm", Joules(energy.picojoules()), energy.node_nm);
}

std::string CostTable(const Cost& cost, const std::optional<Energy>& energy) {
  const bool area = cost.area_square_micrometres >= 0;
  const std::vector<CostRow> rows = CostRows(cost, energy);
  if (rows.empty()) return "";
  Table table;
  table.Column("unit");
  if (area) table.Right("area").Right("share").Right("of it memory");
  if (energy.has_value()) table.Right("energy/image").Right("share");
  for (const CostRow& row : rows) {
    std::vector<std::string> cells = {Shorten(row.unit, 40)};
    if (area) {
      const bool has = row.area > 0;
      cells.push_back(has ? SquareMillimetres(row.area) : "-");
      cells.push_back(has ? Percent(Share(row.area, cost.area_square_micrometres)) : "-");
      cells.push_back(row.memory > 0 ? Percent(Share(row.memory, row.area)) : "-");
    }
    if (energy.has_value()) {
      cells.push_back(row.picojoules > 0 ? Joules(row.picojoules) : "-");
      cells.push_back(row.picojoules > 0 ? Percent(Share(row.picojoules, energy->picojoules()))
                                         : "-");
    }
    table.Row(std::move(cells));
  }
  std::string text =
      table.ToString() + (cost.source.empty() ? "" : "based on: " + cost.source + "\n");
  for (const std::string& note : cost.notes) text += "note: " + note + "\n";
  return text;
}

}  // namespace kiln
