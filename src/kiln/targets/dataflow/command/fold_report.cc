// Writes folds as text, JSON and SVG.
#include "kiln/targets/dataflow/command/fold_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kiln/report/text.h"

namespace kiln::cli {

double ImagesPerSecond(const dataflow::Config& config, int64_t cycles) {
  return cycles > 0 ? config.clock_mhz * 1e6 / static_cast<double>(cycles) : 0;
}

namespace {

using dataflow::Candidate;
using dataflow::FoldProblem;
using dataflow::kResourceKinds;
using dataflow::kUnlimited;
using dataflow::Resources;

constexpr int kBarWidth = 20;  // characters of a layer's bar

// Returns the chosen candidate of a layer, and its fold.
const Candidate& ChosenOf(const FoldView& view, size_t layer) {
  return view.network.problem.layers[layer]
      .candidates[static_cast<size_t>(view.fold.choice[layer])];
}
const dataflow::LayerFold& FoldOf(const FoldView& view, size_t layer) {
  return view.network.folds[layer][static_cast<size_t>(view.fold.choice[layer])];
}

// Returns images per second as text: "12,204", "88.5".
std::string RateOf(const dataflow::Config& config, int64_t cycles) {
  const double rate = ImagesPerSecond(config, cycles);
  return rate >= 1000 ? Thousands(std::llround(rate)) : ThreeDigits(rate);
}

double ShareOf(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

// Returns a bar of filled and empty characters.
std::string BarOf(double share) {
  const int filled = std::clamp(static_cast<int>(std::lround(share * kBarWidth)), 0, kBarWidth);
  return std::string(static_cast<size_t>(filled), '#') +
         std::string(static_cast<size_t>(kBarWidth - filled), '.');
}

// Returns "1,296 of 1,728 (75.0 %)".
std::string UseText(int64_t used, int64_t limit) {
  if (limit == kUnlimited) return Thousands(used);
  return fmt::format("{} of {} ({})", Thousands(used), Thousands(limit),
                     Percent(ShareOf(used, limit)));
}

// Returns what the FIFOs in front of joins take: all resources less those of the layers.
Resources FifosOf(const FoldView& view) {
  Resources rest = view.metrics.resources;
  for (size_t i = 0; i < view.fold.choice.size(); ++i) {
    for (size_t k = 0; k < kResourceKinds; ++k) rest[k] -= ChosenOf(view, i).resources[k];
  }
  return rest;
}

std::string NextText(const dataflow::FoldProblem& problem, const dataflow::ParetoPoint& point) {
  const std::string all = Describe(problem, point);
  const size_t at = all.find("; ");
  return at == std::string::npos ? "" : all.substr(at + 2);
}

// Add the columns of the resources to a table, and their amounts to a row.
void AddResourceColumns(const dataflow::Config& config, Table& table) {
  for (size_t k = 0; k < ShownKinds(config); ++k)
    table.Right(std::string(dataflow::ResourceName(static_cast<int>(k))));
}
void AddResourceCells(const dataflow::Config& config, const Resources& resources,
                      std::vector<std::string>& cells) {
  for (size_t k = 0; k < ShownKinds(config); ++k) cells.push_back(Thousands(resources[k]));
}

}  // namespace

size_t ShownKinds(const dataflow::Config& config) {
  return kResourceKinds - (config.weight_ports > 0 ? 0 : 1);
}

std::string SpeedText(const dataflow::Config& config, int64_t cycles) {
  return fmt::format("{} images/s at {} MHz, an image every {} cycles", RateOf(config, cycles),
                     config.clock_mhz, Thousands(cycles));
}

std::string FoldTable(const FoldView& view) {
  Table table;
  table.Column("layer").Right("lanes").Right("elements").Right("cycles");
  table.Column("share of the interval");
  AddResourceColumns(view.config, table);
  const auto add = [&](const std::string& name, std::vector<std::string> fold,
                       const Resources& resources) {
    std::vector<std::string> cells = {name};
    std::ranges::move(fold, std::back_inserter(cells));
    AddResourceCells(view.config, resources, cells);
    table.Row(std::move(cells));
  };
  for (size_t i = 0; i < view.fold.choice.size(); ++i) {
    const Candidate& chosen = ChosenOf(view, i);
    add(Shorten(CleanUtf8(view.network.problem.layers[i].name), 36),
        {Thousands(FoldOf(view, i).in_lanes), Thousands(FoldOf(view, i).elements),
         Thousands(chosen.cycles), BarOf(ShareOf(chosen.cycles, view.metrics.l_max))},
        chosen.resources);
  }
  const Resources fifos = FifosOf(view);
  if (std::ranges::any_of(fifos, [](int64_t amount) { return amount > 0; }))
    add("queues of joins", {"", "", "", ""}, fifos);
  std::string text = table.ToString() + '\n';
  for (size_t k = 0; k < ShownKinds(view.config); ++k) {
    text += fmt::format("{:<11}  {}\n", dataflow::ResourceName(static_cast<int>(k)),
                        UseText(view.metrics.resources[k], view.network.problem.limits[k]));
  }
  text += fmt::format("{:<11}  {}\n", "speed", SpeedText(view.config, view.metrics.l_max));
  text +=
      fmt::format("{:<11}  {} cycles from the first input to the first word of the last output\n",
                  "latency", Thousands(view.metrics.latency));
  const auto layers = static_cast<int64_t>(view.fold.choice.size());
  text += fmt::format("{:<11}  {} cycles of all layers, {} of the time\n", "idle",
                      Thousands(view.metrics.l_sum),
                      Percent(ShareOf(view.metrics.l_sum, layers * view.metrics.l_max)));
  return text;
}

std::string FoldPicture(const FoldView& view) {
  constexpr int kRow = 20, kTop = 40, kLabel = 260, kPlot = 560, kSide = 180;
  const auto rows = static_cast<int>(view.fold.choice.size());
  const int width = kLabel + kPlot + kSide, height = kTop + rows * kRow + 16;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n"
      "<text x=\"{2}\" y=\"20\" fill=\"#333333\">{3}</text>\n",
      width, height, 12, EscapeHtml(SpeedText(view.config, view.metrics.l_max)));
  for (int row = 0; row < rows; ++row) {
    const auto i = static_cast<size_t>(row);
    const Candidate& chosen = ChosenOf(view, i);
    const double share = ShareOf(chosen.cycles, view.metrics.l_max);
    const int y = kTop + row * kRow;
    out += fmt::format(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"#333333\">{}</text>\n"
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#eeeeee\"/>\n"
        "<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\">"
        "<title>{} cycles, {} of the interval</title></rect>\n"
        "<text x=\"{}\" y=\"{}\" fill=\"#333333\">{} x {}, {} DSP</text>\n",
        kLabel - 8, y + 13, EscapeHtml(Shorten(view.network.problem.layers[i].name, 36)), kLabel,
        y + 3, kPlot, kRow - 6, kLabel, y + 3, share * kPlot, kRow - 6,
        chosen.cycles == view.metrics.l_max ? "#c0392b" : "#2f6fa7", Thousands(chosen.cycles),
        Percent(share), kLabel + kPlot + 8, y + 13, FoldOf(view, i).in_lanes,
        FoldOf(view, i).elements, Thousands(chosen.resources[dataflow::kDsp]));
  }
  return out + "</svg>\n";
}

nlohmann::ordered_json ResourcesJson(const Resources& resources) {
  nlohmann::ordered_json json;
  for (int kind = 0; kind < kResourceKinds; ++kind) {
    const int64_t amount = resources[static_cast<size_t>(kind)];
    nlohmann::ordered_json& place = json[std::string(dataflow::ResourceName(kind))];
    if (amount != kUnlimited) place = amount;
  }
  return json;
}

nlohmann::ordered_json CertificateJson(const dataflow::FoldProblem& problem,
                                       const dataflow::FoldCertificate& certificate) {
  nlohmann::ordered_json json = {
      {"optimal", certificate.optimal},         {"cycles_bound", certificate.cycles_bound},
      {"log10_folds", certificate.log10_folds}, {"work", certificate.work},
      {"text", Describe(problem, certificate)}, {"terms", nlohmann::json::array()}};
  for (const dataflow::TermBound& term : certificate.terms) {
    json["terms"].push_back(
        {{"name", std::string(term.name)}, {"value", term.value}, {"bound", term.bound}});
  }
  return json;
}

nlohmann::ordered_json FoldJson(const FoldView& view) {
  nlohmann::ordered_json json = {
      {"interval_cycles", view.metrics.l_max},
      {"images_per_second", ImagesPerSecond(view.config, view.metrics.l_max)},
      {"idle_cycles", view.metrics.l_sum},
      {"latency_cycles", view.metrics.latency},
      {"resources", ResourcesJson(view.metrics.resources)},
      {"limits", ResourcesJson(view.network.problem.limits)},
      {"layers", nlohmann::json::array()}};
  for (size_t i = 0; i < view.fold.choice.size(); ++i) {
    const Candidate& chosen = ChosenOf(view, i);
    const dataflow::LayerFold& fold = FoldOf(view, i);
    json["layers"].push_back({{"name", CleanUtf8(view.network.problem.layers[i].name)},
                              {"in_lanes", fold.in_lanes},
                              {"elements", fold.elements},
                              {"out_lanes", fold.out_lanes},
                              {"products_per_dsp", fold.pack},
                              {"cycles", chosen.cycles},
                              {"resources", ResourcesJson(chosen.resources)}});
  }
  return json;
}

Explanation Explain(const FoldView& view, const dataflow::FoldCertificate& certificate,
                    const std::vector<dataflow::ParetoFront>& fronts) {
  const FoldProblem& problem = view.network.problem;
  Explanation explanation;
  std::string& text = explanation.text;
  nlohmann::ordered_json& json = explanation.json;
  const auto line = [&](std::string_view what, std::string_view says) {
    text += fmt::format("{:<11}  {}\n", what, says);
  };
  json["interval_cycles"] = view.metrics.l_max;
  json["images_per_second"] = ImagesPerSecond(view.config, view.metrics.l_max);
  line("speed", SpeedText(view.config, view.metrics.l_max));
  json["slowest_layers"] = nlohmann::json::array();
  int64_t floor = 0;
  size_t floor_layer = 0;
  for (size_t i = 0; i < view.fold.choice.size(); ++i) {
    const std::string name = CleanUtf8(problem.layers[i].name);
    const auto fastest =
        std::ranges::min_element(problem.layers[i].candidates, {}, &Candidate::cycles);
    if (fastest->cycles > floor) {
      floor = fastest->cycles;
      floor_layer = i;
    }
    if (ChosenOf(view, i).cycles != view.metrics.l_max) continue;
    json["slowest_layers"].push_back(name);
    line(json["slowest_layers"].size() == 1 ? "slowest" : "",
         fmt::format("{}: {} lanes x {} elements, {} DSP", Shorten(name, 60),
                     FoldOf(view, i).in_lanes, FoldOf(view, i).elements,
                     Thousands(ChosenOf(view, i).resources[dataflow::kDsp])));
  }
  json["certificate"] = CertificateJson(problem, certificate);
  line("proof", Describe(problem, certificate));
  json["more"] = nlohmann::json::array();
  for (size_t k = 0; k < fronts.size(); ++k) {
    const std::string name(dataflow::ResourceName(static_cast<int>(k)));
    const std::string what = "more " + name;
    const auto& points = fronts[k].points;
    const int64_t cycles = points.empty() ? 0 : points[0].next.cycles;
    if (cycles == 0 || !points[0].next.needs[k].has_value()) {
      json["more"].push_back({{"resource", name}, {"buys", nullptr}});
      line(what, "buys nothing: no amount of it alone makes a faster fold possible");
      continue;
    }
    const int64_t needs = *points[0].next.needs[k];
    const double gain = static_cast<double>(view.metrics.l_max) / static_cast<double>(cycles) - 1;
    json["more"].push_back(
        {{"resource", name}, {"needs", needs}, {"interval_cycles", cycles}, {"gain", gain}});
    line(what, fmt::format("{} of it, where the device has {}, would buy {} images/s: an image "
                           "every {} cycles",
                           Thousands(needs), Thousands(problem.limits[k]), Percent(gain, 2),
                           Thousands(cycles)));
  }
  json["floor"] = {{"interval_cycles", floor},
                   {"layer", CleanUtf8(problem.layers[floor_layer].name)}};
  line("floor",
       fmt::format("no device is faster than an image every {} cycles: {} at its fastest",
                   Thousands(floor), Shorten(CleanUtf8(problem.layers[floor_layer].name), 60)));
  return explanation;
}

std::string FrontTable(const dataflow::Config& config, const dataflow::FoldProblem& problem,
                       const dataflow::ParetoFront& front) {
  Table table;
  table.Right("cycles").Right("images/s");
  AddResourceColumns(config, table);
  table.Column("what the next faster point needs");
  for (const dataflow::ParetoPoint& point : front.points) {
    std::vector<std::string> cells = {Thousands(point.metrics.l_max),
                                      RateOf(config, point.metrics.l_max)};
    AddResourceCells(config, point.metrics.resources, cells);
    cells.push_back(NextText(problem, point));
    table.Row(std::move(cells));
  }
  return table.ToString() + fmt::format("\n{}{}\n", Counted(std::ssize(front.points), "point"),
                                        front.complete
                                            ? ", each proved; the front is complete"
                                            : "; the search ended before the front was complete");
}

nlohmann::ordered_json FrontJson(const dataflow::Config& config,
                                 const dataflow::FoldProblem& problem,
                                 const dataflow::ParetoFront& front) {
  nlohmann::ordered_json json = {{"complete", front.complete}, {"points", nlohmann::json::array()}};
  for (const dataflow::ParetoPoint& point : front.points) {
    nlohmann::ordered_json next;
    if (point.next.cycles > 0) {
      next = {{"cycles", point.next.cycles}, {"beyond_device", point.next.beyond_device}};
      for (int kind = 0; kind < kResourceKinds; ++kind) {
        const auto& needs = point.next.needs[static_cast<size_t>(kind)];
        if (needs.has_value()) next["needs"][std::string(dataflow::ResourceName(kind))] = *needs;
      }
    }
    json["points"].push_back({{"interval_cycles", point.metrics.l_max},
                              {"images_per_second", ImagesPerSecond(config, point.metrics.l_max)},
                              {"resources", ResourcesJson(point.metrics.resources)},
                              {"next", next},
                              {"text", Describe(problem, point)}});
  }
  return json;
}

}  // namespace kiln::cli
