// Writes tables, JSON and the picture of settings of the prediction.

#include "kiln/targets/binary/command/prediction_report.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "fmt/format.h"
#include "kiln/report/text.h"
#include "kiln/targets/binary/cost/cost.h"
#include "kiln/targets/binary/cost/events.h"
#include "nlohmann/json.hpp"

namespace kiln::binary {
namespace {

// A panel of the picture: a curve of points (saved look-ups, y).
struct Panel {
  std::string title;
  double low = 0, high = 1;
  std::function<std::optional<double>(const PredictionRow&)> y;
};

std::string PanelSvg(const Panel& panel, const std::vector<PredictionRow>& rows, double most_saved,
                     double top) {
  constexpr double kLeft = 70, kWidth = 470, kHeight = 170;
  const auto x_of = [&](double saved) { return kLeft + kWidth * saved / most_saved; };
  const auto y_of = [&](double y) {
    return top + kHeight * (1 - (y - panel.low) / (panel.high - panel.low));
  };
  std::string svg = fmt::format(
      "<text x='{}' y='{:.0f}' class='title'>{}</text>\n"
      "<rect x='{}' y='{:.0f}' width='{}' height='{}' class='frame'/>\n",
      kLeft, top - 8, panel.title, kLeft, top, kWidth, kHeight);
  for (int i = 0; i <= 4; ++i) {
    const double y = panel.low + (panel.high - panel.low) * i / 4, x = most_saved * i / 4;
    svg += fmt::format("<text x='{}' y='{:.1f}' class='y'>{}</text>\n", kLeft - 6, y_of(y) + 4,
                       ThreeDigits(y));
    svg += fmt::format("<text x='{:.1f}' y='{:.0f}' class='x'>{:.0f} %</text>\n", x_of(x),
                       top + kHeight + 16, 100 * x);
  }
  std::string line;
  for (const PredictionRow& row : rows) {
    const auto y = panel.y(row);
    if (!y.has_value()) continue;
    const double at_x = x_of(row.saved()), at_y = y_of(std::clamp(*y, panel.low, panel.high));
    if (row.budget.has_value()) line += fmt::format("{:.1f},{:.1f} ", at_x, at_y);
    svg += fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='4' class='{}'/>\n", at_x, at_y,
                       row.budget ? "trained" : "other");
    svg += fmt::format("<text x='{:.1f}' y='{:.1f}' class='name'>{}</text>\n", at_x + 7, at_y - 5,
                       EscapeHtml(row.name));
  }
  return svg + fmt::format("<polyline points='{}' class='line'/>\n", line);
}

// Appends the cells about the network's outputs.
void AppendQuality(const PredictionRow& row, bool labelled, std::vector<std::string>* cells) {
  cells->push_back(row.decibels && std::isfinite(*row.decibels)
                       ? fmt::format("{:.1f} dB", *row.decibels)
                       : "the same");
  if (labelled) cells->push_back(fmt::format("{}/{}", row.right, row.labelled));
}

void AddQuality(const PredictionRow& row, nlohmann::ordered_json* json) {
  if (row.decibels && std::isfinite(*row.decibels)) (*json)["sqnr_db"] = *row.decibels;
  if (row.labelled == 0) return;
  (*json)["images"] = row.labelled;
  (*json)["right"] = row.right;
}

}  // namespace

void PredictionRow::Add(const NetworkProgram& program, const NetworkCounts& run) {
  for (size_t k = 0; k < run.size(); ++k) {
    for (size_t i = 0; i < run[k].size(); ++i) {
      counts += run[k][i];
      const StageProgram& stage = program.launches()[k][0].program.stages[i];
      steps += run[k][i].outputs * std::ssize(stage.steps);
    }
  }
}

StatusOr<double> OnChipPicojoules(const NetworkProgram& program, const NetworkCounts& counts,
                                  int node_nm) {
  std::vector<const BlockProgram*> launches;
  std::vector<LookUpShares> shares;
  for (size_t k = 0; k < program.launches().size(); ++k) {
    for (const Launch& launch : program.launches()[k]) {
      launches.push_back(&launch.program);
      const std::vector<int64_t> channels = program.ChannelsOf(k, launch);
      LookUpShares& share = shares.emplace_back();
      for (size_t i = 0; i < launch.program.stages.size(); ++i) {
        const StageCounts& stage = counts[k][i];
        const StageProgram& s = launch.program.stages[i];
        // Channels that complete a list are not counted, and always looked up.
        const int64_t all = s.channels(program.config(), static_cast<int>(i));
        const int64_t real = channels[i];
        const double done =
            PredictionRow::Share(stage.looked_up, stage.outputs * std::ssize(s.steps));
        share[i] = (done * static_cast<double>(real) + static_cast<double>(all - real)) /
                   static_cast<double>(all);
      }
    }
  }
  KILN_ASSIGN_OR_RETURN(const Energy energy, EnergyOf(launches, program.config(), node_nm, shares));
  double picojoules = 0;
  for (const EnergyPart& part : energy.parts)
    picojoules += part.unit == kOuterMemoryUnit ? 0 : part.picojoules();
  return picojoules;
}

std::string PredictionText(const std::vector<PredictionRow>& rows,
                           const std::vector<PredictionRow>& pools) {
  const bool labelled = rows[0].labelled > 0;
  Table table;
  table.Column("prediction").Right("at the low bound").Right("decided").Right("wrong");
  table.Right("look-ups saved").Right("cycles").Right("uJ");
  table.Right("outputs");
  if (labelled) table.Right("right");
  for (const PredictionRow& row : rows) {
    std::vector<std::string> cells = {row.name,
                                      Percent(row.low()),
                                      Percent(row.decided()),
                                      Percent(row.wrong(), 3),
                                      Percent(row.saved()),
                                      Thousands(row.cycles),
                                      fmt::format("{:.3f}", row.picojoules / 1e6)};
    AppendQuality(row, labelled, &cells);
    table.Row(std::move(cells));
  }
  std::string text =
      table.ToString() +
      "at the low bound: 0 behind a ReLU; wrong: decided and not at the low bound; cycles: of one "
      "image; uJ: of an image on the chip, on average; outputs: signal to noise against no "
      "prediction\n";
  if (pools.empty()) return text;
  Table of_pools;
  of_pools.Column("lead").Right("pools").Right("skipped").Right("wrong").Right("look-ups saved");
  of_pools.Right("outputs");
  if (labelled) of_pools.Right("right");
  for (const PredictionRow& row : pools) {
    const PoolCounts& counts = row.pools;
    std::vector<std::string> cells = {
        fmt::format("{}", row.lead), Thousands(counts.pools),
        Percent(PredictionRow::Share(counts.skipped, counts.candidates)),
        Percent(PredictionRow::Share(counts.wrong, counts.pools), 3),
        Percent(PredictionRow::Share(counts.steps - counts.looked_up, counts.steps))};
    AppendQuality(row, labelled, &cells);
    of_pools.Row(std::move(cells));
  }
  return text + "\n" + of_pools.ToString() +
         "lead: of the exact lead, behind which a candidate of a pool is not finished; skipped: "
         "candidates that are not; wrong: pools with a lower maximum; look-ups saved: in the "
         "layers "
         "before pools\n";
}

std::string PredictionJson(const std::vector<PredictionRow>& rows,
                           const std::vector<PredictionRow>& pools) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const PredictionRow& row : rows) {
    nlohmann::ordered_json one = {
        {"prediction", row.name},      {"outputs", row.counts.outputs},
        {"low", row.counts.low},       {"decided", row.counts.decided},
        {"wrong", row.counts.wrong},   {"looked_up", row.counts.looked_up},
        {"steps", row.steps},          {"cycles", row.cycles},
        {"picojoules", row.picojoules}};
    if (row.budget) one["budget"] = *row.budget;
    AddQuality(row, &one);
    json.push_back(std::move(one));
  }
  for (const PredictionRow& row : pools) {
    nlohmann::ordered_json one = {{"prediction", row.name},
                                  {"lead", row.lead},
                                  {"pools", row.pools.pools},
                                  {"wrong", row.pools.wrong},
                                  {"candidates", row.pools.candidates},
                                  {"skipped", row.pools.skipped},
                                  {"looked_up", row.pools.looked_up},
                                  {"steps", row.pools.steps}};
    AddQuality(row, &one);
    json.push_back(std::move(one));
  }
  return json.dump(2) + '\n';
}

std::string PredictionSvg(const std::vector<PredictionRow>& rows) {
  double most_saved = 0.01, most_wrong = 0.001, most_decibels = 1;
  for (const PredictionRow& row : rows) {
    most_saved = std::max(most_saved, row.saved() * 1.15);
    most_wrong = std::max(most_wrong, row.wrong() * 1.1);
    if (row.decibels && std::isfinite(*row.decibels))
      most_decibels = std::max(most_decibels, *row.decibels * 1.1);
  }
  const Panel wrong = {"wrong outputs [%] by look-ups saved", 0, 100 * most_wrong,
                       [](const PredictionRow& row) { return 100 * row.wrong(); }};
  Panel quality = {"outputs against no prediction [dB]", 0, most_decibels,
                   [](const PredictionRow& row) -> std::optional<double> {
                     if (!row.decibels || !std::isfinite(*row.decibels)) return std::nullopt;
                     return row.decibels;
                   }};
  if (rows[0].labelled > 0) {
    const auto share = [](const PredictionRow& row) {
      return 100 * static_cast<double>(row.right) / static_cast<double>(row.labelled);
    };
    double low = 100, high = 0;
    for (const PredictionRow& row : rows) {
      low = std::min(low, share(row));
      high = std::max(high, share(row));
    }
    quality = {"images with the right class [%]", std::floor(low - 0.5), std::ceil(high + 0.5),
               [share](const PredictionRow& row) { return std::optional(share(row)); }};
  }
  return "<svg xmlns='http://www.w3.org/2000/svg' width='640' height='480' "
         "font-family='sans-serif' "
         "font-size='12'>\n<style>.frame{fill:none;stroke:#999}.title{font-weight:bold}"
         ".y{text-anchor:end;fill:#555}.x{text-anchor:middle;fill:#555}.name{font-size:11px}"
         ".trained{fill:#1f77b4}.other{fill:#d62728}.line{fill:none;stroke:#1f77b4}</style>\n"
         "<rect width='640' height='480' fill='white'/>\n" +
         PanelSvg(wrong, rows, most_saved, 40) + PanelSvg(quality, rows, most_saved, 270) +
         "</svg>\n";
}

}  // namespace kiln::binary
