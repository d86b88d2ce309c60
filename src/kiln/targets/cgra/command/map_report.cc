// Writes mappings and comparisons of mappers as text, JSON and SVG.

#include "kiln/targets/cgra/command/map_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "kiln/report/text.h"
#include "kiln/support/stable_sort.h"

namespace kiln::cli {
namespace {

using cgra::ComputationGraph;
using cgra::Config;
using cgra::Mapping;
using cgra::MapResult;
using cgra::Place;

// Returns how a space differs from all mappings: " without additional pass-throughs", or "".
std::string AmongText(std::string_view space) {
  if (space.starts_with(cgra::kAllMappings)) space.remove_prefix(cgra::kAllMappings.size());
  return std::string(space);
}

// Returns what a result says of its interval or its latency: "3 cycles, the least: ...". `among` is
// the AmongText of the result's space.
std::string BoundText(int value, int bound, bool proved, const std::string& among,
                      const std::string& why) {
  if (proved) return fmt::format("{}, the least{}: {}", Counted(value, "cycle"), among, why);
  return fmt::format("{}, at least {}{}: {}", Counted(value, "cycle"), bound, among, why);
}

std::string TimeText(const MapResult& result) {
  return fmt::format("{} in {} s", Counted(result.steps, "step"), ThreeDigits(result.seconds));
}

// Returns what is known of a result in its space.
std::string StateText(const MapResult& result) {
  if (result.impossible) return "impossible";
  if (!result.mapping) return "no mapping found";
  if (result.optimal) return "optimal";
  return "valid";
}

// Returns the same for a reader who does not see the space: "optimal without additional
// pass-throughs".
std::string StateWithSpace(const MapResult& result) {
  const bool proves = result.optimal || result.impossible;
  return StateText(result) + (proves ? AmongText(result.space) : "");
}

struct Row {
  std::string name, op;
  Place place;
};

std::vector<Row> RowsOf(const ComputationGraph& graph, const Mapping& mapping) {
  std::vector<Row> rows;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (mapping.places[n].tile < 0) continue;
    std::string op(RowOf(graph.nodes[n].op).name);
    if (mapping.fused_into[n] >= 0) {
      const auto with = static_cast<size_t>(mapping.fused_into[n]);
      op +=
          fmt::format(", in the instruction of {}", Shorten(CleanUtf8(graph.nodes[with].name), 24));
    }
    rows.push_back({Shorten(CleanUtf8(graph.nodes[n].name), 36), op, mapping.places[n]});
  }
  for (const cgra::PassThrough& pass : mapping.passes) {
    const auto node = static_cast<size_t>(pass.node);
    rows.push_back({Shorten(CleanUtf8(graph.nodes[node].name), 36), "pass-through", pass.place});
  }
  StableSort(&rows, [](const Row& a, const Row& b) { return a.place.issue < b.place.issue; });
  return rows;
}

nlohmann::ordered_json ResultJson(const MapperRun& run) {
  const MapResult& result = run.result;
  nlohmann::ordered_json json = {{"mapper", run.mapper},
                                 {"state", StateText(result)},
                                 {"optimal", result.optimal},
                                 {"impossible", result.impossible}};
  json["initiation_interval"] = nullptr;
  json["latency_cycles"] = nullptr;
  if (result.mapping) {
    json["initiation_interval"] = result.mapping->initiation_interval;
    json["latency_cycles"] = result.latency;
  }
  json["interval_bound"] = result.interval_bound;
  json["interval_why"] = result.interval_why;
  json["latency_bound"] = result.latency_bound;
  json["latency_why"] = result.latency_why;
  json["space"] = result.space;
  json["steps"] = result.steps;
  json["seconds"] = result.seconds;
  json["progress"] = nlohmann::json::array();
  for (const cgra::MapProgress& progress : result.progress) {
    json["progress"].push_back({{"seconds", progress.seconds},
                                {"steps", progress.steps},
                                {"initiation_interval", progress.initiation_interval},
                                {"latency_cycles", progress.latency}});
  }
  return json;
}

// Colours of mappers in pictures, in the order of the runs.
constexpr const char* kColours[] = {"#2f6fa7", "#c0392b", "#27813e", "#8e5bb0",
                                    "#d08a1d", "#4a4a4a", "#17a2a2", "#b0447c"};
const char* ColourOf(size_t run) { return kColours[run % std::size(kColours)]; }

// One plot of the picture.
class Plot {
 public:
  static constexpr int kWidth = 430, kHeight = 250;
  Plot(const Comparison& comparison, int x, int y) : comparison_(comparison), x_(x), y_(y) {
    for (const MapperRun& run : comparison.runs) {
      if (!run.result.mapping) continue;
      const int interval = run.result.mapping->initiation_interval;
      interval_ = interval_ == 0 ? interval : std::min(interval_, interval);
      longest_ = std::max(longest_, run.result.seconds);
    }
    for (const MapperRun& run : comparison.runs) {
      for (const cgra::MapProgress& progress : Shown(run)) {
        least_ = std::min(least_, progress.latency);
        most_ = std::max(most_, progress.latency);
      }
      if (run.result.mapping && run.result.mapping->initiation_interval == interval_) {
        bound_ = std::max(bound_, run.result.latency_bound);
      }
    }
    if (bound_ > 0) least_ = std::min(least_, bound_);
    most_ = std::max(most_, least_ + 1);
  }

  std::string Draw() const {
    std::string out = fmt::format(
        "<text x=\"{}\" y=\"{}\" fill=\"#333333\">{}</text>\n", x_ + kLeft, y_ + 16,
        EscapeHtml(interval_ == 0
                       ? fmt::format("{}: no mapping", Shorten(comparison_.graph, 30))
                       : fmt::format("{}, {}, II {}: latency over log(seconds)",
                                     Shorten(comparison_.graph, 24),
                                     Counted(comparison_.instructions, "instruction"), interval_)));
    if (interval_ == 0) return out;
    out += fmt::format("<path d=\"M{0} {1}V{2}H{3}\" fill=\"none\" stroke=\"#999999\"/>\n",
                       x_ + kLeft, y_ + kTop, y_ + kHeight - kBottom, x_ + kWidth - kRight);
    for (const int latency : {least_, most_}) {
      out += fmt::format(
          "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\" fill=\"#555555\">{}"
          "</text>\n",
          x_ + kLeft - 4, Y(latency) + 4, latency);
    }
    for (const double seconds : {kFirst, longest_}) {
      out += fmt::format(
          "<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"{}\" fill=\"#555555\">{}"
          "</text>\n",
          X(seconds), y_ + kHeight - kBottom + 15, seconds == longest_ ? "end" : "start",
          ThreeDigits(seconds));
    }
    if (bound_ > 0) {
      out += fmt::format(
          "<path d=\"M{} {:.1f}H{}\" stroke=\"#999999\" stroke-dasharray=\"4 3\"/>"
          "\n",
          x_ + kLeft, Y(bound_), x_ + kWidth - kRight);
    }
    for (size_t r = 0; r < comparison_.runs.size(); ++r) out += Curve(r);
    return out;
  }

 private:
  static constexpr int kLeft = 40, kRight = 12, kTop = 28, kBottom = 28;
  static constexpr double kFirst = 1e-4;  // seconds at the left end

  // Returns the steps of a run at the plot's interval.
  std::vector<cgra::MapProgress> Shown(const MapperRun& run) const {
    std::vector<cgra::MapProgress> shown;
    for (const cgra::MapProgress& progress : run.result.progress) {
      if (progress.initiation_interval == interval_) shown.push_back(progress);
    }
    return shown;
  }
  double X(double seconds) const {
    const double last = std::max(longest_, 10 * kFirst);
    const double share = std::log(std::max(seconds, kFirst) / kFirst) / std::log(last / kFirst);
    return x_ + kLeft + share * (kWidth - kLeft - kRight);
  }
  double Y(int latency) const {
    const double share = static_cast<double>(latency - least_) / (most_ - least_);
    return y_ + kHeight - kBottom - share * (kHeight - kTop - kBottom);
  }
  std::string Curve(size_t r) const {
    const std::vector<cgra::MapProgress> shown = Shown(comparison_.runs[r]);
    if (shown.empty()) return "";
    std::string path;
    for (const cgra::MapProgress& progress : shown) {
      path += path.empty()
                  ? fmt::format("M{:.1f} {:.1f}", X(progress.seconds), Y(progress.latency))
                  : fmt::format("H{:.1f}V{:.1f}", X(progress.seconds), Y(progress.latency));
    }
    path += fmt::format("H{:.1f}", X(comparison_.runs[r].result.seconds));
    return fmt::format(
        "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\">"
        "<title>{}</title></path>\n",
        path, ColourOf(r), EscapeHtml(comparison_.runs[r].mapper));
  }

  const Comparison& comparison_;
  const int x_, y_;
  int interval_ = 0, bound_ = 0, least_ = 1 << 30, most_ = 0;
  double longest_ = 0;
};

}  // namespace

std::string MapText(const ComputationGraph& graph, const Config& config, const MapperRun& run) {
  const MapResult& result = run.result;
  std::string text;
  const auto line = [&](std::string_view what, const std::string& says) {
    text += fmt::format("{:<10}  {}\n", what, says);
  };
  line("graph", fmt::format("{}, {} on {}", Shorten(CleanUtf8(graph.name), 40),
                            Counted(std::ssize(graph.nodes), "node"), config.name));
  line("mapper", fmt::format("{}, {}", run.mapper, TimeText(result)));
  if (!result.mapping) {
    line("result", fmt::format("{}: {}", StateWithSpace(result), result.interval_why));
    return text;
  }
  const Mapping& mapping = *result.mapping;
  const bool least = mapping.initiation_interval == result.interval_bound;
  const std::string among = AmongText(result.space);
  line("interval",
       run.asked_interval
           ? fmt::format("{}, as asked for", Counted(mapping.initiation_interval, "cycle"))
           : BoundText(mapping.initiation_interval, result.interval_bound, least, among,
                       result.interval_why));
  line("latency", BoundText(result.latency, result.latency_bound,
                            result.latency == result.latency_bound, among, result.latency_why));
  line("proof", fmt::format("{} among {}", StateText(result), result.space));
  if (!run.configuration_fault.empty()) {
    line("hardware", "cannot be configured so: " + run.configuration_fault);
  }
  Table table;
  table.Column("node").Column("operator").Right("tile").Right("slot").Right("issue").Right("ready");
  const int period = SlotsOf(config, mapping.initiation_interval);
  for (const Row& row : RowsOf(graph, mapping)) {
    table.Row({row.name, row.op, fmt::format("{}", row.place.tile),
               fmt::format("{}", row.place.issue % period), fmt::format("{}", row.place.issue),
               fmt::format("{}", row.place.issue + config.pipeline_latency)});
  }
  return text + '\n' + table.ToString();
}

Status NoMapping(const ComputationGraph& graph, const Config& config, const std::string& mapper,
                 const MapOptions& options, const MapResult& result) {
  const std::string place = fmt::format("graph '{}'", Shorten(CleanUtf8(graph.name), 60));
  if (result.impossible) {
    const int asked = options.initiation_interval;
    const std::string at =
        asked > 0 ? fmt::format(" at an interval of {}", Counted(asked, "cycle")) : "";
    const bool all = result.space == cgra::kAllMappings;
    const std::string among = all ? "" : fmt::format(" among {}", result.space);
    return ErrorAt(
        graph.source, place,
        fmt::format("has no mapping on {}{}{}: {}", config.name, at, among, result.interval_why),
        fmt::format("{}{}a larger machine, or one with fewer rules (kiln list keys cgra)",
                    asked > 0 ? "a longer --ii, " : "",
                    all ? "" : "more --steps for mappings with more pass-throughs, "));
  }
  std::string known = "which proves nothing";
  if (!result.none_without_passes.empty()) {
    known = fmt::format("and without additional pass-throughs there is none: {}",
                        result.none_without_passes);
  }
  return ErrorAt(
      graph.source, place,
      fmt::format("the mapper {} finds no mapping on {}, {}", mapper, config.name, known),
      mapper == "exact" ? "more --steps or --seconds"
                        : "more --steps or --seconds, or --mapper exact");
}

nlohmann::ordered_json MapJson(const ComputationGraph& graph, const Config& config,
                               const MapperRun& run) {
  nlohmann::ordered_json json = {{"graph", CleanUtf8(graph.name)}, {"accelerator", config.name}};
  json.update(ResultJson(run));
  json["configuration_fault"] = run.configuration_fault;
  json["instructions"] = nlohmann::json::array();
  if (!run.result.mapping) return json;
  for (const Row& row : RowsOf(graph, *run.result.mapping)) {
    json["instructions"].push_back({{"node", row.name},
                                    {"operator", row.op},
                                    {"tile", row.place.tile},
                                    {"issue", row.place.issue}});
  }
  return json;
}

std::string CompareText(const std::vector<Comparison>& comparisons) {
  Table table;
  table.Column("graph").Right("instructions").Column("mapper").Right("II").Right("latency");
  table.Right("II bound")
      .Right("latency bound")
      .Right("steps")
      .Right("found after s")
      .Right("ended after s")
      .Column("state");
  for (const Comparison& comparison : comparisons) {
    for (const MapperRun& run : comparison.runs) {
      const MapResult& result = run.result;
      const bool mapped = result.mapping.has_value();
      // The seconds until the best mapping was found.
      const double found =
          result.progress.empty() ? result.seconds : result.progress.back().seconds;
      table.Row({Shorten(CleanUtf8(comparison.graph), 24), Thousands(comparison.instructions),
                 run.mapper, mapped ? fmt::format("{}", result.mapping->initiation_interval) : "-",
                 mapped ? fmt::format("{}", result.latency) : "-",
                 fmt::format("{}", result.interval_bound), fmt::format("{}", result.latency_bound),
                 Thousands(result.steps), mapped ? ThreeDigits(found) : "-",
                 ThreeDigits(result.seconds), StateWithSpace(result)});
    }
  }
  return table.ToString();
}

nlohmann::ordered_json CompareJson(const std::vector<Comparison>& comparisons) {
  nlohmann::ordered_json json = nlohmann::json::array();
  for (const Comparison& comparison : comparisons) {
    nlohmann::ordered_json one = {{"graph", CleanUtf8(comparison.graph)},
                                  {"instructions", comparison.instructions},
                                  {"runs", nlohmann::json::array()}};
    for (const MapperRun& run : comparison.runs) one["runs"].push_back(ResultJson(run));
    json.push_back(std::move(one));
  }
  return json;
}

std::string ComparePicture(const std::vector<Comparison>& comparisons) {
  constexpr int kColumns = 2, kLegend = 28;
  const auto count = static_cast<int>(comparisons.size());
  const int rows = (count + kColumns - 1) / kColumns;
  const int width = Plot::kWidth * std::min(kColumns, std::max(count, 1));
  const int height = kLegend + Plot::kHeight * rows;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
      width, height);
  if (!comparisons.empty()) {
    int x = 12;
    for (size_t r = 0; r < comparisons[0].runs.size(); ++r) {
      const std::string& name = comparisons[0].runs[r].mapper;
      out += fmt::format(
          "<rect x=\"{}\" y=\"10\" width=\"14\" height=\"4\" fill=\"{}\"/>\n"
          "<text x=\"{}\" y=\"17\" fill=\"#333333\">{}</text>\n",
          x, ColourOf(r), x + 18, EscapeHtml(name));
      x += 34 + 7 * static_cast<int>(name.size());
    }
  }
  for (int i = 0; i < count; ++i) {
    out += Plot(comparisons[static_cast<size_t>(i)], i % kColumns * Plot::kWidth,
                kLegend + i / kColumns * Plot::kHeight)
               .Draw();
  }
  return out + "</svg>\n";
}

}  // namespace kiln::cli
