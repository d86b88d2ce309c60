// Formats counts of labels and answers.
#include "kiln/report/confusion_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "kiln/report/text.h"

namespace kiln {
namespace {

constexpr size_t kListedPairs = 12;
// Beyond these numbers of classes, the heat map has no numbers in its cells, or is left out.
constexpr int64_t kClassesWithNumbers = 20, kClassesInPicture = 40;

std::string AnswerName(int64_t answer) {
  return answer == Confusion::kNoClass ? "NaN" : fmt::format("{}", answer);
}

// Returns the cells of one row of the table of confusions.
std::vector<std::string> ConfusionCells(const Confusion::Pair& pair) {
  return {fmt::format("{}", pair.label), AnswerName(pair.answer), Thousands(pair.count),
          Percent(static_cast<double>(pair.count) / static_cast<double>(pair.of_label))};
}

// Draws the heat map. The colour of a cell is the share of its label's places.
std::string HeatMap(const Confusion& confusion) {
  const int64_t classes = confusion.classes();
  if (classes < 2 || classes > kClassesInPicture) return "";
  const bool numbers = classes <= kClassesWithNumbers;
  const double cell = numbers ? 38 : 18, left = 64, top = 44;
  const double width = left + cell * static_cast<double>(classes) + 8;
  const double height = top + cell * static_cast<double>(classes) + 8;
  const std::map<int64_t, int64_t> of_label = confusion.OfLabels();
  std::string out = fmt::format(
      R"(<svg viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img">)", width, height);
  out += fmt::format(R"(<text class="faint" x="{}" y="14">given class</text>)", left);
  out += fmt::format(R"(<text class="faint" x="0" y="{}">label</text>)", top + 14);
  for (int64_t c = 0; c < classes; ++c) {
    const double at = cell * (static_cast<double>(c) + 0.5);
    out += fmt::format(R"(<text class="faint" x="{:.1f}" y="{}" text-anchor="middle">{}</text>)",
                       left + at, top - 6, c);
    out += fmt::format(R"(<text class="faint" x="{}" y="{:.1f}" text-anchor="end">{}</text>)",
                       left - 6, top + at + 4, c);
  }
  for (const auto& [key, count] : confusion.counts) {
    const auto [label, answer] = key;
    if (answer < 0) continue;
    const double share = static_cast<double>(count) / static_cast<double>(of_label.at(label));
    const double x = left + cell * static_cast<double>(answer);
    const double y = top + cell * static_cast<double>(label);
    out +=
        fmt::format(R"(<rect class="{}" fill-opacity="{:.3f}" x="{:.1f}" y="{:.1f}" )"
                    R"(width="{}" height="{}"><title>label {}, given class {}: {}</title></rect>)",
                    label == answer ? "u1" : "u5", 0.15 + 0.6 * share, x, y, cell - 1, cell - 1,
                    label, answer, Thousands(count));
    if (numbers) {
      out += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)",
                         x + cell / 2, y + cell / 2 + 4, count);
    }
  }
  return out + "</svg>";
}

// Returns how many confusions the table leaves out: "and 13 others (--json has all)", or "".
std::string OtherPairs(const Confusion& confusion) {
  const auto pairs = std::ssize(confusion.MostFrequent(confusion.counts.size()));
  const auto listed = static_cast<int64_t>(kListedPairs);
  if (pairs <= listed) return "";
  return fmt::format("and {} (--json has all)", Counted(pairs - listed, "other"));
}

}  // namespace

std::string ConfusionText(const Confusion& confusion) {
  Table table;
  table.Right("label").Right("taken for").Right("times").Right("of the label");
  for (const Confusion::Pair& pair : confusion.MostFrequent(kListedPairs))
    table.Row(ConfusionCells(pair));
  if (table.empty()) return "no label was taken for another class\n";
  const std::string others = OtherPairs(confusion);
  return table.ToString() + (others.empty() ? "" : others + '\n');
}

nlohmann::ordered_json ConfusionJson(const Confusion& confusion) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const auto& [key, count] : confusion.counts) {
    nlohmann::ordered_json row = {{"label", key.first}, {"answer", key.second}, {"count", count}};
    if (key.second == Confusion::kNoClass) row["answer"] = nullptr;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string ConfusionHtml(const Confusion& confusion) {
  std::string out = HeatMap(confusion);
  const std::vector<Confusion::Pair> pairs = confusion.MostFrequent(kListedPairs);
  if (pairs.empty()) return out + "<p>No label was taken for another class.</p>";
  out += R"(<div class="scroll"><table><thead><tr><th class="n">label</th>)"
         R"(<th class="n">taken for</th><th class="n">times</th>)"
         R"(<th class="n">of the label</th></tr></thead><tbody>)";
  for (const Confusion::Pair& pair : pairs) {
    out += "<tr>";
    for (const std::string& text : ConfusionCells(pair))
      out += fmt::format(R"(<td class="n">{}</td>)", text);
    out += "</tr>";
  }
  out += "</tbody></table></div>";
  const std::string others = OtherPairs(confusion);
  return others.empty() ? out : fmt::format("{}<p>{}.</p>", out, others);
}

}  // namespace kiln
