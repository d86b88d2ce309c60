// Formats the errors of layers; half of the code draws them as SVG.
#include "kiln/report/layer_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "kiln/report/text.h"

namespace kiln {
namespace {

std::string DecibelText(double db) {
  const std::string text = fmt::format("{:.1f} dB", db);
  return text == "-0.0 dB" ? "0.0 dB" : text;
}

// Returns a ratio in decibels; "exact" without noise, "-" if it is not known.
std::string Decibels(const NoisePower& power) {
  if (const std::optional<double> db = power.sqnr_db()) return DecibelText(*db);
  return power.noise == 0 && power.signal > 0 ? "exact" : "-";
}

// Returns the least ratio of a network's outputs in the same form.
std::string Decibels(const OutputQuality& quality) {
  if (const std::optional<double> db = quality.sqnr_db()) return DecibelText(*db);
  const bool exact = std::any_of(quality.outputs.begin(), quality.outputs.end(),
                                 [](const NoisePower& o) { return o.noise == 0 && o.signal > 0; });
  return exact ? "exact" : "-";
}

std::string PointsText(const LayerErrors& errors, const OutputQuality& quality) {
  const std::optional<double> points = errors.PointsLost(quality);
  return points ? fmt::format("{:.2f}", *points) : "-";
}

// Returns the name of a layer for people. A fused node joins names by '+'. The first one names the
// node that multiplies, and a recipe selects the layer by it.
std::string ShortName(const LayerError& layer) {
  return layer.name.substr(0, layer.name.find('+', 1));
}

constexpr const char* kLayerHeads[] = {"layer", "operator", "value", "type",
                                       "own",   "so far",   "alone", "points lost"};
constexpr size_t kNameWidth = 40;        // characters of a name in text
constexpr size_t kFirstLayerNumber = 4;  // the columns from this one on are numbers

// Returns one row of cells for each value. Only the first value of a layer names it and its
// sensitivity.
std::vector<std::vector<std::string>> LayerRows(const LayerErrors& errors) {
  std::vector<std::vector<std::string>> rows;
  for (const LayerError& layer : errors.layers) {
    for (const ValueError& value : layer.values) {
      const bool first = &value == &layer.values.front();
      rows.push_back(
          {first ? ShortName(layer) : "", first ? layer.operation : "", value.value, value.type,
           Decibels(value.own), value.so_far.has_value() ? Decibels(*value.so_far) : "",
           first ? Decibels(layer.alone) : "", first ? PointsText(errors, layer.alone) : ""});
    }
  }
  return rows;
}

// Returns a sentence with the result of the whole network and the layers that it loses most by.
std::string LayerSummary(const LayerErrors& errors) {
  const std::string ratio = Decibels(errors.all);
  std::string text = fmt::format("With all layers quantised the result {} {}",
                                 ratio == "exact" ? "is" : "has", ratio);
  if (const std::optional<double> points = errors.PointsLost(errors.all)) {
    text += fmt::format(" and {} {:.2f} points of accuracy", *points < 0 ? "gains" : "loses",
                        std::abs(*points));
  }
  std::vector<std::string> names;
  for (const size_t i : errors.MostSensitive(3)) {
    names.push_back(
        fmt::format("{} ({})", ShortName(errors.layers[i]), Decibels(errors.layers[i].alone)));
  }
  if (names.empty()) return text + ".";
  return text + fmt::format("; alone, {} {} it most.", fmt::join(names, ", "),
                            names.size() == 1 ? "costs" : "cost");
}

constexpr char kLayerLegend[] =
    "SQNR against fp32, simulated. own: of this rounding alone; so far: of all roundings up to "
    "here; alone: of the result if only this layer is quantised, with the percentage points that "
    "it loses.";

// The picture: a row for each value, and a mark for each of its figures.
constexpr double kLayerWidth = 1072, kNames = 350, kRow = 18, kTopOfLayers = 26;

// Maps decibels to the abscissa; figures outside are drawn at the ends.
struct DecibelAxis {
  double low, high;
  double At(double db) const {
    const double share = (std::clamp(db, low, high) - low) / (high - low);
    return kNames + 12 + share * (kLayerWidth - kNames - 36);
  }
};

// Returns an axis over all figures, in steps of 10 dB; nullopt without figures.
std::optional<DecibelAxis> AxisOf(const LayerErrors& errors) {
  std::vector<double> all;
  const auto add = [&all](const std::optional<double>& db) {
    if (db.has_value()) all.push_back(*db);
  };
  for (const LayerError& layer : errors.layers) {
    add(layer.alone.sqnr_db());
    for (const ValueError& value : layer.values) {
      add(value.own.sqnr_db());
      if (value.so_far.has_value()) add(value.so_far->sqnr_db());
    }
  }
  if (all.empty()) return std::nullopt;
  const auto [least, most] = std::minmax_element(all.begin(), all.end());
  const double low = 10 * std::floor(*least / 10);
  return DecibelAxis{low, std::max(10 * std::ceil(*most / 10), low + 10)};
}

// Draws a mark of one figure; nothing without it.
std::string Mark(const DecibelAxis& axis, const std::optional<double>& db, double y,
                 std::string_view css_class, bool is_square) {
  if (!db.has_value()) return "";
  const double x = axis.At(*db);
  if (is_square) {
    return fmt::format(R"(<rect class="{}" x="{:.1f}" y="{:.1f}" width="8" height="8"/>)",
                       css_class, x - 4, y - 4);
  }
  return fmt::format(R"(<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="4"/>)", css_class, x, y);
}

// Returns the name of a row of the picture: the layer's, and which of its values the row is about.
std::string RowName(const LayerError& layer, const ValueError& value) {
  constexpr size_t kLongest = 44;
  const std::string name = Shorten(ShortName(layer), kLongest);
  if (value.is_constant) return name + " weights";
  return layer.operation == "input" ? name : name + " result";
}

std::string LayerPicture(const LayerErrors& errors) {
  const std::optional<DecibelAxis> axis = AxisOf(errors);
  if (!axis.has_value()) return "";
  size_t rows = 0;
  for (const LayerError& layer : errors.layers) rows += layer.values.size();
  const double bottom = kTopOfLayers + kRow * static_cast<double>(rows);
  std::string out =
      fmt::format(R"(<svg viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img">)", kLayerWidth,
                  bottom + 6);
  const double step = axis->high - axis->low > 100 ? 20 : 10;
  for (double mark = axis->low; mark <= axis->high; mark += step) {
    const double x = axis->At(mark);
    out += fmt::format(
        R"(<line class="axis" x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"/>)"
        R"(<text class="faint" x="{0:.1f}" y="14" text-anchor="middle">{3:g} dB</text>)",
        x, kTopOfLayers - 6, bottom, mark);
  }
  double y = kTopOfLayers + kRow / 2;
  for (const LayerError& layer : errors.layers) {
    for (const ValueError& value : layer.values) {
      const bool first = &value == &layer.values.front();
      out += fmt::format(R"(<text x="0" y="{:.1f}"><title>{}</title>{}</text>)", y + 4,
                         EscapeHtml(value.value), EscapeHtml(RowName(layer, value)));
      out += Mark(*axis, value.own.sqnr_db(), y, "u0", false);
      if (value.so_far.has_value()) out += Mark(*axis, value.so_far->sqnr_db(), y, "u2", false);
      if (first) out += Mark(*axis, layer.alone.sqnr_db(), y, "u3", true);
      y += kRow;
    }
  }
  out += "</svg>";
  const auto entry = [](std::string_view css_class, std::string_view text) {
    return fmt::format(R"(<span><svg width="10" height="10"><rect class="{}" width="10" )"
                       R"(height="10"/></svg>{}</span>)",
                       css_class, text);
  };
  return out + R"(<div class="legend">)" + entry("u0", "own rounding") +
         entry("u2", "all roundings so far") +
         entry("u3", "the result, if only this layer is quantised") + "</div>";
}

}  // namespace

std::string LayersText(const LayerErrors& errors, std::string_view format) {
  std::string out = fmt::format("\n{}: error by layer on {}\n\n", CleanUtf8(format),
                                Counted(errors.images, "image"));
  Table table;
  for (size_t i = 0; i < std::size(kLayerHeads); ++i) {
    table.Column(kLayerHeads[i],
                 i < kFirstLayerNumber ? Table::Align::kLeft : Table::Align::kRight);
  }
  std::vector<std::vector<std::string>> rows = LayerRows(errors);
  for (const size_t name : {size_t{0}, size_t{2}}) {
    std::vector<std::string> names;
    for (const std::vector<std::string>& row : rows) names.push_back(row[name]);
    names = ShortenApart(names, kNameWidth);
    for (size_t r = 0; r < rows.size(); ++r) rows[r][name] = std::move(names[r]);
  }
  for (std::vector<std::string>& row : rows) table.Row(std::move(row));
  return out + table.ToString() + CleanUtf8(LayerSummary(errors)) + "\n" + kLayerLegend + "\n";
}

nlohmann::ordered_json LayersJson(const LayerErrors& errors) {
  using Json = nlohmann::ordered_json;
  const auto number = [](const std::optional<double>& value) {
    return value.has_value() ? Json(*value) : Json(nullptr);
  };
  const auto quality = [&](const OutputQuality& q) {
    return Json{{"output_sqnr_db", number(q.sqnr_db())},
                {"correct", q.scores ? Json(q.scores->correct) : Json(nullptr)},
                {"points_lost", number(errors.PointsLost(q))}};
  };
  Json layers = Json::array();
  for (const LayerError& layer : errors.layers) {
    Json values = Json::array();
    for (const ValueError& value : layer.values) {
      values.push_back(
          {{"name", value.value},
           {"constant", value.is_constant},
           {"type", value.type},
           {"own_sqnr_db", number(value.own.sqnr_db())},
           {"so_far_sqnr_db",
            value.so_far.has_value() ? number(value.so_far->sqnr_db()) : Json(nullptr)}});
    }
    layers.push_back({{"name", layer.name},
                      {"operator", layer.operation},
                      {"alone", quality(layer.alone)},
                      {"values", std::move(values)}});
  }
  return {{"images", errors.images},
          {"fp32_correct", errors.exact ? Json(errors.exact->correct) : Json(nullptr)},
          {"all", quality(errors.all)},
          {"layers", std::move(layers)}};
}

std::string LayersHtml(const LayerErrors& errors, std::string_view format) {
  std::string out = fmt::format("<h2>{}: error by layer</h2><p>{}</p>", EscapeHtml(format),
                                EscapeHtml(LayerSummary(errors)));
  out += LayerPicture(errors);
  out += R"(<div class="scroll"><table><thead><tr>)";
  for (size_t i = 0; i < std::size(kLayerHeads); ++i) {
    out +=
        fmt::format(R"(<th class="{}">{}</th>)", i < kFirstLayerNumber ? "" : "n", kLayerHeads[i]);
  }
  out += "</tr></thead><tbody>";
  for (const std::vector<std::string>& row : LayerRows(errors)) {
    out += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) {
      out += fmt::format(R"(<td class="{}">{}</td>)",
                         i >= kFirstLayerNumber ? "n" : (i == 0 || i == 2 ? "name" : ""),
                         EscapeHtml(row[i]));
    }
    out += "</tr>";
  }
  return out + fmt::format(R"(</tbody></table></div><p class="note">On {}. {}</p>)",
                           Counted(errors.images, "image"), kLayerLegend);
}

}  // namespace kiln
