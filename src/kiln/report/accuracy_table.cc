// Formats accuracy tables; most of the code draws the plot of the HTML page as SVG.
#include "kiln/report/accuracy_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "kiln/report/confusion_table.h"
#include "kiln/report/html_parts.h"
#include "kiln/report/layer_table.h"
#include "kiln/report/performance.h"
#include "kiln/report/text.h"
#include "kiln/support/json_text.h"
#include "kiln/support/stable_sort.h"

namespace kiln {
namespace {

using Row = AccuracyTable::Row;

// Returns the first figure of a row, which the plot shows: per cent correct, else per cent equal to
// the reference, else decibels.
std::optional<double> MeritOf(const Row& row) {
  if (row.accuracy) return 100 * row.accuracy->top1();
  if (row.agreement) return 100 * row.agreement->top1();
  return row.output_sqnr_db();
}

// Returns the column title of that figure.
std::string_view MeritName(const AccuracyTable& table) {
  for (const Row& row : table.rows) {
    if (row.accuracy) return "accuracy";
    if (row.agreement) return table.rows[0].format == "fp32" ? "as fp32" : "as reference";
    if (row.output_sqnr_db()) return row.outputs.size() == 1 ? "SQNR" : "least SQNR";
  }
  return "accuracy";
}

// Returns the first figure of a row as text; "-" if it is unknown.
std::string MeritText(const Row& row) {
  if (row.accuracy) return Percent(row.accuracy->top1(), 2);
  if (row.agreement) return Percent(row.agreement->top1(), 2);
  return row.output_sqnr_db() ? fmt::format("{:.1f} dB", *row.output_sqnr_db()) : "-";
}

// Returns the percentage points that a row loses against the first row; nullopt without accuracy.
std::optional<double> DropOf(const AccuracyTable& table, const Row& row) {
  if (!row.accuracy || !table.rows[0].accuracy) return std::nullopt;
  return 100 * (table.rows[0].accuracy->top1() - row.accuracy->top1());
}

// Returns k if rows have a figure for the k highest scores, else 1.
int TopOf(const AccuracyTable& table) {
  int k = 1;
  for (const Row& row : table.rows) k = std::max(k, row.accuracy ? row.accuracy->top_k : 1);
  return k;
}

// Returns the column titles; Cells returns a row's cells in the same order.
std::vector<std::string> Heads(const AccuracyTable& table) {
  std::vector<std::string> heads = {"format",          std::string(MeritName(table)),
                                    "correct",         "drop",
                                    "bits/activation", "bits/weight",
                                    "multiply uJ",     "images/s",
                                    "on the host"};
  if (const int k = TopOf(table); k > 1) heads.insert(heads.begin() + 2, fmt::format("top-{}", k));
  return heads;
}

std::vector<std::string> Cells(const AccuracyTable& table, const Row& row) {
  const std::optional<double> drop = DropOf(table, row);
  const auto& counted = row.accuracy ? row.accuracy : row.agreement;
  std::vector<std::string> cells = {
      row.label(),
      MeritText(row),
      counted ? fmt::format("{}/{}", Thousands(counted->correct), Thousands(counted->compared()))
              : "-",
      drop ? fmt::format("{:.2f}", *drop) : "-",
      fmt::format("{:.2f}", row.activation_bits),
      fmt::format("{:.2f}", row.weight_bits),
      ThreeDigits(row.picojoules * 1e-6),
      row.images_per_second > 0 ? ImagesPerSecond(row.images_per_second) : "-",
      row.host_share > 0 ? Percent(row.host_share) : "-"};
  if (TopOf(table) > 1)
    cells.insert(cells.begin() + 2, row.accuracy ? Percent(row.accuracy->top(), 2) : "-");
  return cells;
}

// Returns a readable distance between tick marks (1, 2 or 5 times a power of ten), for about five
// marks over `span`.
double MarkStep(double span) {
  const double raw = std::max(span, 1e-9) / 5, power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) return factor * power;
  }
  return 10 * power;
}

// One axis of the plot: maps the values low to high to the SVG coordinates from to to.
struct Axis {
  double low, high, from, to;
  double At(double value) const { return from + (value - low) / (high - low) * (to - from); }
};

// Returns an axis with ends widened to whole tick marks.
Axis Spread(double low, double high, double from, double to) {
  const double step = MarkStep(high - low);
  low = std::floor(low / step) * step;
  high = std::ceil(high / step) * step;
  return {low, high > low ? high : low + step, from, to};
}

// Returns the rows' labels, shortened so that columns of them stay narrow.
std::vector<std::string> NamesOf(const AccuracyTable& table) {
  constexpr size_t kNameWidth = 40;
  std::vector<std::string> names;
  for (const Row& row : table.rows) names.push_back(row.label());
  return ShortenApart(names, kNameWidth);
}

// A line of the plot.
struct Point {
  double bits, merit;
  std::string name, value;
  bool is_below = false;  // the figure is lower than where it is drawn
};

// Figures far below the best would squeeze all others into one column. A figure that is lower by
// more than this (points or decibels) is drawn as a triangle that points to the left, at that
// distance.
constexpr double kDepth = 40;

// Returns a point for each row with a finite figure, from the most bits to the fewest; of those
// with the same bits, the best comes first.
std::vector<Point> PointsOf(const AccuracyTable& table) {
  const std::vector<std::string> names = NamesOf(table);
  std::vector<Point> points;
  double most = 0;
  for (size_t r = 0; r < table.rows.size(); ++r) {
    const Row& row = table.rows[r];
    const std::optional<double> merit = MeritOf(row);
    if (!merit || !std::isfinite(*merit)) continue;
    points.push_back({row.bits(), *merit, names[r], MeritText(row)});
    most = std::max(most, *merit);
  }
  for (Point& point : points) {
    point.is_below = point.merit < most - kDepth;
    point.merit = std::max(point.merit, most - kDepth);
  }
  StableSort(&points, [](const Point& a, const Point& b) {
    return a.bits != b.bits ? a.bits > b.bits : a.merit > b.merit;
  });
  return points;
}

// The size of the plot in SVG units: a line for each format between margins. Names end at kNamesEnd
// and bits at kBitsEnd; figures end at the right edge.
constexpr double kWidth = 1072, kLine = 20, kTop = 28, kBottom = 28, kNamesEnd = 270,
                 kBitsEnd = 320, kLeft = 340, kRight = 90;

// Draws the plot; empty for fewer than two points.
std::string Picture(const AccuracyTable& table) {
  const std::vector<Point> points = PointsOf(table);
  if (points.size() < 2) return "";
  const auto by_merit = [](const Point& a, const Point& b) { return a.merit < b.merit; };
  const auto [least, most] = std::minmax_element(points.begin(), points.end(), by_merit);
  const Axis x = Spread(least->merit, most->merit, kLeft, kWidth - kRight);
  const double end = kTop + kLine * static_cast<double>(points.size()), height = end + kBottom;
  std::string out = fmt::format(
      R"(<svg viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img">)", kWidth, height);
  const auto text = [&](const char* type, double at, double y, const char* anchor,
                        std::string_view words) {
    out += fmt::format(R"(<text{} x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)", type, at, y,
                       anchor, EscapeHtml(words));
  };
  constexpr const char* kFaint = R"( class="faint")";
  text(kFaint, kNamesEnd, kTop - 12, "end", "format");
  text(kFaint, kBitsEnd, kTop - 12, "end", "bits");
  text(kFaint, kWidth - 8, kTop - 12, "end", MeritName(table));
  for (double mark = x.low; mark <= x.high + 1e-9; mark += MarkStep(x.high - x.low)) {
    out += fmt::format(R"(<line class="axis" x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"/>)",
                       x.At(mark), kTop, end);
    text(kFaint, x.At(mark), end + 18, "middle", fmt::format("{:g}", mark));
  }
  for (size_t i = 0; i < points.size(); ++i) {
    const Point& point = points[i];
    const double y = kTop + kLine * (static_cast<double>(i) + 0.5);
    out += fmt::format(R"(<line class="axis" x1="{}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>)", kLeft,
                       x.At(point.merit), y, y);
    const double at = x.At(point.merit);
    const std::string mark =
        point.is_below ? fmt::format(R"(path class="u0" d="M{:.1f} {:.1f}l9 -5v10z")", at - 5, y)
                       : fmt::format(R"(circle class="u0" cx="{:.1f}" cy="{:.1f}" r="4")", at, y);
    out += fmt::format("<{}><title>{}: {:.3g} bits, {}</title></{}>", mark, EscapeHtml(point.name),
                       point.bits, EscapeHtml(point.value), mark.substr(0, mark.find(' ')));
    text("", kNamesEnd, y + 4, "end", point.name);
    text(kFaint, kBitsEnd, y + 4, "end", fmt::format("{:.3g}", point.bits));
    text("", kWidth - 8, y + 4, "end", point.value);
  }
  out +=
      "</svg><p class=\"note\">Bits: of an operand, the mean of activations and weights. The "
      "axis does not begin at 0";
  if (std::ranges::any_of(points, &Point::is_below))
    out += "; triangles are of figures that are lower than it goes";
  return out + ".</p>";
}

// Formats the rows as an HTML table; faults span all columns.
std::string HtmlTable(const AccuracyTable& table) {
  std::string out = R"(<div class="scroll"><table><thead><tr>)";
  const std::vector<std::string> heads = Heads(table);
  for (size_t i = 0; i < heads.size(); ++i) {
    out += fmt::format(R"(<th class="{}">{}</th>)", i == 0 ? "" : "n", EscapeHtml(heads[i]));
  }
  out += "</tr></thead><tbody>";
  const std::vector<std::string> names = NamesOf(table);
  for (size_t r = 0; r < table.rows.size(); ++r) {
    const Row& row = table.rows[r];
    out += "<tr>";
    if (!row.fault.empty()) {
      out += fmt::format(R"(<td>{}</td><td colspan="{}">{}</td></tr>)", EscapeHtml(row.format),
                         heads.size() - 1, EscapeHtml(row.fault));
      continue;
    }
    std::vector<std::string> cells = Cells(table, row);
    cells[0] = names[r];
    for (size_t i = 0; i < cells.size(); ++i) {
      out += fmt::format(R"(<td class="{}">{}</td>)", i == 0 ? "" : "n", EscapeHtml(cells[i]));
    }
    out += "</tr>";
  }
  return out + "</tbody></table></div>";
}

// Returns whether a row has counts of labels and answers.
bool HasConfusion(const Row& row) {
  return row.accuracy.has_value() && row.accuracy->confusion.has_value();
}

// Returns the line about data, accelerator and calibration.
std::string Subtitle(const AccuracyTable& table) {
  return fmt::format("{} of {}; on {}; calibrated on {}", Counted(table.images, "image"),
                     table.data, table.accelerator, table.calibration);
}

}  // namespace

std::vector<std::string> AccuracyTable::AllNotes() const {
  std::vector<std::string> all = notes;
  if (!no_accuracy.empty()) all.push_back("no accuracy: " + no_accuracy);
  for (const Row& row : rows) {
    if (row.host_share <= 0) continue;
    const bool is_variant = !row.machine.empty() && row.machine != accelerator;
    all.push_back(fmt::format(
        "{}: {} of the operations on the host{}{}", row.format, Percent(row.host_share, 2),
        Because(row.host_reason, row.host_share),
        is_variant ? fmt::format("; beside the variant '{}'", row.machine) : std::string()));
  }
  return all;
}

std::string AccuracyTable::Row::label() const { return keeps_own ? BesideOwn(format) : format; }

std::string BesideOwn(std::string_view format) {
  return fmt::format("own, {} for the rest", format);
}

std::string ToText(const AccuracyTable& table) {
  std::string out = fmt::format("{}: {}\n\n", CleanUtf8(table.model), CleanUtf8(Subtitle(table)));
  Table text;
  const std::vector<std::string> heads = Heads(table);
  text.Column(heads[0]);
  for (size_t i = 1; i < heads.size(); ++i) text.Right(heads[i]);
  const std::vector<std::string> names = NamesOf(table);
  for (size_t r = 0; r < table.rows.size(); ++r) {
    if (!table.rows[r].fault.empty()) continue;
    std::vector<std::string> cells = Cells(table, table.rows[r]);
    cells[0] = names[r];
    text.Row(std::move(cells));
  }
  out += text.ToString();
  out +=
      "\nmultiply uJ: the energy of an image's multiplications alone, an estimate at 45 nm (`kiln "
      "run` estimates the machine's); images/s: of the bit-accurate run on this machine\n";
  for (const Row& row : table.rows) {
    if (!row.fault.empty())
      out += fmt::format("{}: not run: {}\n", row.format, CleanUtf8(row.fault));
  }
  for (const std::string& note : table.AllNotes())
    out += fmt::format("note: {}\n", CleanUtf8(note));
  for (const Row& row : table.rows) {
    if (HasConfusion(row)) {
      out += fmt::format("\n{}: most frequent confusions\n\n{}", CleanUtf8(row.format),
                         ConfusionText(*row.accuracy->confusion));
    }
    if (row.layers.has_value()) out += LayersText(*row.layers, row.format);
  }
  return out;
}

std::optional<double> AccuracyTable::Row::output_sqnr_db() const {
  std::optional<double> least;
  for (const OutputFidelity& output : outputs) {
    if (output.sqnr_db.has_value())
      least = std::min(least.value_or(*output.sqnr_db), *output.sqnr_db);
  }
  return least;
}

std::string ToJson(const AccuracyTable& table) {
  using Json = nlohmann::ordered_json;
  const auto counted = [](const std::optional<AccuracyReport>& a) {
    if (!a) return Json(nullptr);
    Json json = {{"images", a->images}, {"correct", a->correct}, {"top1", a->top1()}};
    if (a->labels > 0) json["labels"] = a->labels;
    if (a->top_k > 1)
      json["top_k"] = {{"k", a->top_k}, {"correct", a->correct_top_k}, {"share", a->top()}};
    return json;
  };
  Json rows = Json::array();
  for (const Row& row : table.rows) {
    Json json = {{"format", row.format}, {"keeps_own_parameters", row.keeps_own}};
    if (!row.fault.empty()) {
      json["fault"] = row.fault;
      rows.push_back(std::move(json));
      continue;
    }
    const std::optional<double> drop = DropOf(table, row);
    json["machine"] = row.machine;
    json["accuracy"] = counted(row.accuracy);
    json["agreement"] = counted(row.agreement);
    json["drop_points"] = drop ? Json(*drop) : Json(nullptr);
    const auto decibels = [](const std::optional<double>& value) {
      return value ? Json(*value) : Json(nullptr);
    };
    json["output_sqnr_db"] = decibels(row.output_sqnr_db());
    json["outputs"] = Json::array();
    for (const OutputFidelity& output : row.outputs) {
      json["outputs"].push_back({{"name", output.name},
                                 {"sqnr_db", decibels(output.sqnr_db)},
                                 {"equal_share", output.equal_share}});
    }
    json["activation_bits"] = row.activation_bits;
    json["weight_bits"] = row.weight_bits;
    json["multiply_picojoules_per_image"] = row.picojoules;
    json["host_share"] = row.host_share;
    json["host_reason"] = row.host_reason ? Json(row.host_reason->reason) : Json(nullptr);
    json["images_per_second"] = row.images_per_second;
    if (HasConfusion(row)) json["confusion"] = ConfusionJson(*row.accuracy->confusion);
    if (row.layers.has_value()) json["by_layer"] = LayersJson(*row.layers);
    rows.push_back(std::move(json));
  }
  const Json all = {
      {"model", table.model},
      {"data", table.data},
      {"accelerator", table.accelerator},
      {"calibration", table.calibration},
      {"images", table.images},
      {"no_accuracy", table.no_accuracy.empty() ? Json(nullptr) : Json(table.no_accuracy)},
      {"rows", std::move(rows)},
      {"notes", table.AllNotes()}};
  return JsonText(all);
}

std::string ToHtml(const AccuracyTable& table) {
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta "
      "charset=\"utf-8\"/><title>{}</title><style>{}</style></head><body>"
      "<main><h1>{} in {} formats</h1><p>{}</p>",
      EscapeHtml(table.model), html::Style(), EscapeHtml(table.model), table.rows.size(),
      EscapeHtml(Subtitle(table)));
  out += Picture(table);
  out += HtmlTable(table);
  out +=
      "<p>multiply uJ: the energy of an image's multiplications alone, an estimate at 45 nm. "
      "Memories and the rest of the machine take more: <code>kiln run</code> estimates them. "
      "images/s: the "
      "speed of the bit-accurate run.</p>";
  for (const std::string& note : table.AllNotes())
    out += fmt::format("<p>{}</p>", EscapeHtml(note));
  for (const Row& row : table.rows) {
    if (HasConfusion(row)) {
      out += fmt::format("<h2>{}: confusion of classes</h2>{}", EscapeHtml(row.format),
                         ConfusionHtml(*row.accuracy->confusion));
    }
    if (row.layers.has_value()) out += LayersHtml(*row.layers, row.format);
  }
  return out + "</main></body></html>\n";
}

}  // namespace kiln
