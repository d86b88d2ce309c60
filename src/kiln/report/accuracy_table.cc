// Formats accuracy tables; most of the code draws the plot of the HTML page as SVG.
#include "kiln/report/accuracy_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "kiln/report/confusion_table.h"
#include "kiln/report/html_parts.h"
#include "kiln/report/layer_table.h"
#include "kiln/report/text.h"
#include "kiln/support/json_text.h"

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
                                    "uJ/image",        "images/s",
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
      fmt::format("{:.4g}", row.picojoules * 1e-6),
      row.images_per_second > 0 ? fmt::format("{:.4g}", row.images_per_second) : "-",
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

// A point of the plot.
struct Point {
  double bits, merit;
  std::string name;
};

// Places names beside their points and moves them up or down until they cover neither another name
// nor a point.
class Labels {
 public:
  // Reserves the area of a point.
  void Block(double x, double y) { taken_.push_back({x - 5, x + 5, y}); }
  // Returns the height nearest to y that is free for a name of that width starting at x.
  double Place(double x, double width, double y, double top, double bottom) {
    for (int step = 0; step < 40; ++step) {
      const int lines = (step + 1) / 2;  // 0, 1 up, 1 down, 2 up, ...
      const double at = y + (step % 2 == 0 ? lines : -lines) * kLine;
      if (at < top || at > bottom || Covered(x, x + width, at)) continue;
      y = at;
      break;
    }
    taken_.push_back({x, x + width, y});
    return y;
  }

 private:
  struct Box {
    double left, right, y;
  };
  static constexpr double kLine = 12;
  bool Covered(double left, double right, double y) const {
    return std::any_of(taken_.begin(), taken_.end(), [&](const Box& box) {
      return left < box.right && right > box.left && std::fabs(y - box.y) < kLine - 0.5;
    });
  }
  std::vector<Box> taken_;
};

// Figures far below the best would squeeze all others into one line. A figure that is lower by more
// than this (points or decibels) is drawn at the lower edge with its value beside it.
constexpr double kDepth = 40;

// Returns the points of all rows with a finite figure, sorted by bits. Bits are held to 1 to 32,
// the range of the abscissa.
std::vector<Point> PointsOf(const AccuracyTable& table) {
  std::vector<Point> points;
  for (const Row& row : table.rows) {
    const std::optional<double> merit = MeritOf(row);
    if (merit && std::isfinite(*merit))
      points.push_back({std::clamp(row.bits(), 1.0, 32.0), *merit, row.label()});
  }
  double most = 0;
  for (const Point& point : points) most = std::max(most, point.merit);
  for (Point& point : points) {
    if (point.merit >= most - kDepth) continue;
    point.name += fmt::format(" ({:.1f})", point.merit);
    point.merit = most - kDepth;
  }
  std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) {
    return a.bits != b.bits ? a.bits < b.bits : a.merit > b.merit;
  });
  return points;
}

// The size of the plot and its margins, in SVG units.
constexpr double kWidth = 1072, kHeight = 420, kLeft = 64, kRight = 24, kTop = 16, kBottom = 44;

// Draws tick marks, grid lines and the title of the abscissa.
std::string Scales(const Axis& x, const Axis& y) {
  std::string out;
  for (double mark = y.low; mark <= y.high + 1e-9; mark += MarkStep(y.high - y.low)) {
    out += fmt::format(R"(<line class="axis" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>)", kLeft,
                       kWidth - kRight, y.At(mark), y.At(mark));
    out += fmt::format(R"(<text class="faint" x="{}" y="{:.1f}" text-anchor="end">{:g}</text>)",
                       kLeft - 8, y.At(mark) + 4, mark);
  }
  for (const int bits : {1, 2, 4, 8, 16, 32}) {
    out += fmt::format(R"(<text class="faint" x="{:.1f}" y="{}" text-anchor="middle">{}</text>)",
                       x.At(std::log2(bits)), kHeight - kBottom + 20, bits);
  }
  return out + fmt::format(R"(<text class="faint" x="{}" y="{}" text-anchor="middle">)"
                           R"(bits of an operand, mean of activations and weights</text>)",
                           (kLeft + kWidth - kRight) / 2, kHeight - 6);
}

// Draws the plot; empty for fewer than two points.
std::string Picture(const AccuracyTable& table) {
  const std::vector<Point> points = PointsOf(table);
  if (points.size() < 2) return "";
  const auto by_merit = [](const Point& a, const Point& b) { return a.merit < b.merit; };
  // The ordinate covers the measured figures, the abscissa always 1 to 32 bits.
  const auto [least, most] = std::minmax_element(points.begin(), points.end(), by_merit);
  const Axis x{0, 5, kLeft, kWidth - kRight};  // log2 of 1 to 32 bits
  const Axis y = Spread(least->merit, most->merit, kHeight - kBottom, kTop);
  std::string out = fmt::format(
      R"(<svg viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img">)", kWidth, kHeight);
  out += Scales(x, y);
  Labels labels;
  for (const Point& point : points) labels.Block(x.At(std::log2(point.bits)), y.At(point.merit));
  for (const Point& point : points) {
    const double px = x.At(std::log2(point.bits)), py = y.At(point.merit);
    const double width = 6.5 * static_cast<double>(Width(point.name));
    const double begin = px + 12 + width > kWidth ? px - 12 - width : px + 12;
    const double label = labels.Place(begin, width, py, kTop, kHeight - kBottom);
    if (label != py) {
      out += fmt::format(R"(<line class="axis" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>)",
                         px, py, begin < px ? begin + width : begin, label);
    }
    out += fmt::format(R"(<circle class="u0" cx="{:.1f}" cy="{:.1f}" r="4"><title>{}: {:g} bits, )"
                       R"({:.2f}</title></circle>)",
                       px, py, EscapeHtml(point.name), point.bits, point.merit);
    out += fmt::format(R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", begin, label + 4,
                       EscapeHtml(point.name));
  }
  return out + "</svg>";
}

// Formats the rows as an HTML table; faults span all columns.
std::string HtmlTable(const AccuracyTable& table) {
  std::string out = R"(<div class="scroll"><table><thead><tr>)";
  const std::vector<std::string> heads = Heads(table);
  for (size_t i = 0; i < heads.size(); ++i) {
    out += fmt::format(R"(<th class="{}">{}</th>)", i == 0 ? "" : "n", EscapeHtml(heads[i]));
  }
  out += "</tr></thead><tbody>";
  for (const Row& row : table.rows) {
    out += "<tr>";
    if (!row.fault.empty()) {
      out += fmt::format(R"(<td>{}</td><td colspan="{}">{}</td></tr>)", EscapeHtml(row.format),
                         heads.size() - 1, EscapeHtml(row.fault));
      continue;
    }
    const std::vector<std::string> cells = Cells(table, row);
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
  for (const Row& row : table.rows) {
    if (row.fault.empty()) text.Row(Cells(table, row));
  }
  out += text.ToString();
  out +=
      "\nenergy: of the multiplications, an estimate at 45 nm; images/s: of the bit-accurate run "
      "on this machine\n";
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
      "<p>Energy: of the multiplications, an estimate at 45 nm. Images a second: of the "
      "bit-accurate run.</p>";
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
