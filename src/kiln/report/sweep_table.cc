// Ranks design points, and formats tables of them.
#include "kiln/report/sweep_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "kiln/report/comparison.h"
#include "kiln/report/cost_report.h"
#include "kiln/report/html_parts.h"
#include "kiln/report/performance.h"
#include "kiln/report/text.h"
#include "kiln/support/json_text.h"
#include "kiln/support/stable_sort.h"

namespace kiln {
namespace {

using Standing = SweepTable::Standing;
using SweptRow = SweepTable::Row;

std::optional<double> EnergyTimesTime(const SavedRun& run) {
  if (!run.picojoules.has_value() || !run.latency.has_value()) return std::nullopt;
  return *run.picojoules * *run.latency;
}

// Returns the seconds between images.
std::optional<double> SecondsBetween(const SavedRun& run) {
  if (run.images_per_second.value_or(0) <= 0) return std::nullopt;
  return 1 / *run.images_per_second;
}

// What design points are ranked by: a figure that is the least at the best of them.
struct RankInfo {
  SweepRank rank;
  const char* name;
  const char* phrase;
  std::optional<double> (*figure)(const SavedRun&);
};
constexpr RankInfo kRanks[] = {
    {SweepRank::kEnergy, "energy", "least energy", [](const SavedRun& r) { return r.picojoules; }},
    {SweepRank::kTime, "time", "least time", [](const SavedRun& r) { return r.latency; }},
    {SweepRank::kEdp, "edp", "least energy times time", EnergyTimesTime},
    {SweepRank::kArea, "area", "least area", [](const SavedRun& r) { return r.area_um2; }},
    {SweepRank::kRate, "rate", "most images a second", SecondsBetween}};

const RankInfo& InfoOf(SweepRank rank) { return *std::ranges::find(kRanks, rank, &RankInfo::rank); }

// The names of standings in JSON and in tables.
struct StandingInfo {
  Standing standing;
  const char* key;
  const char* text;
};
constexpr StandingInfo kStandings[] = {{Standing::kRanked, "ranked", ""},
                                       {Standing::kTooSlow, "too_slow", "too slow"},
                                       {Standing::kMoreOnHost, "more_on_host", "not ranked"},
                                       {Standing::kUnknown, "unknown", "figure not known"},
                                       {Standing::kFailed, "failed", "does not run"}};

const StandingInfo& InfoOf(Standing standing) {
  return *std::ranges::find(kStandings, standing, &StandingInfo::standing);
}

// What an efficient design point trades against each other; the less, the better.
constexpr std::optional<double> SavedRun::* kTradedFigures[] = {
    &SavedRun::latency, &SavedRun::picojoules, &SavedRun::area_um2};

// Returns whether a run is at least as good as another in time, energy and area, and better in one
// of them. A figure that is not known is worse than any other.
bool IsBetter(const SavedRun& run, const SavedRun& other) {
  bool better = false;
  for (const auto figure : kTradedFigures) {
    const double mine = (run.*figure).value_or(HUGE_VAL),
                 theirs = (other.*figure).value_or(HUGE_VAL);
    if (mine > theirs) return false;
    better = better || mine < theirs;
  }
  return better;
}

size_t RankedRows(const SweepTable& table) {
  return static_cast<size_t>(
      std::ranges::count(table.rows, Standing::kRanked, &SweptRow::standing));
}

// Returns "least energy under 1.00 ms".
std::string QuestionOf(const SweepTable& table) {
  std::string text = InfoOf(table.rank).phrase;
  if (table.limit_seconds.has_value()) text += " under " + Milliseconds(*table.limit_seconds);
  return text;
}

// Returns the answer: the best design point with its figures, or the fastest of those that miss the
// limit.
std::string AnswerOf(const SweepTable& table) {
  const auto figures = [](const SavedRun& run) {
    std::vector<std::string> texts;
    if (run.latency.has_value()) texts.push_back(Milliseconds(*run.latency));
    if (run.picojoules.has_value()) texts.push_back(Joules(*run.picojoules));
    if (run.area_um2.has_value()) texts.push_back(SquareMillimetres(*run.area_um2));
    return fmt::format("{}", fmt::join(texts, ", "));
  };
  if (RankedRows(table) > 0) {
    const SweptRow& best = table.rows[0];
    return fmt::format("{}: {}", CleanUtf8(best.design_point), figures(*best.run));
  }
  const SweptRow* fastest = nullptr;
  for (const SweptRow& row : table.rows) {
    if (row.standing != Standing::kTooSlow) continue;
    if (fastest == nullptr || *row.run->latency < *fastest->run->latency) fastest = &row;
  }
  return fastest == nullptr ? "no design point"
                            : fmt::format("no design point; the fastest is {}: {}",
                                          CleanUtf8(fastest->design_point), figures(*fastest->run));
}

// Returns what a row says beside its figures: its standing, and remarks about the figures.
std::string SweptRemarks(const SweptRow& row) {
  std::vector<std::string> remarks;
  if (row.standing != Standing::kRanked) remarks.emplace_back(InfoOf(row.standing).text);
  if (row.run.has_value()) {
    if (row.run->host_share > kSameHostShare)
      remarks.push_back(Percent(row.run->host_share, 2) + " on the host");
    if (row.run->latency.has_value() && !row.run->clock_confirmed)
      remarks.emplace_back("clock not confirmed");
    if (row.run->area_incomplete) remarks.emplace_back("area INCOMPLETE");
  }
  return fmt::format("{}", fmt::join(remarks, ", "));
}

// The columns of figures of a row that has run.
struct SweptColumn {
  const char* title;
  std::string (*text)(const SavedRun&);
};

template <typename Format>
std::string OrDash(const std::optional<double>& value, const Format& format) {
  return value.has_value() ? format(*value) : std::string("-");
}

constexpr SweptColumn kColumns[] = {
    {"time", [](const SavedRun& r) { return OrDash(r.latency, Milliseconds); }},
    {"images/s", [](const SavedRun& r) { return OrDash(r.images_per_second, ImagesPerSecond); }},
    {"energy", [](const SavedRun& r) { return OrDash(r.picojoules, Joules); }},
    {"area", [](const SavedRun& r) { return OrDash(r.area_um2, SquareMillimetres); }},
    {"clock",
     [](const SavedRun& r) {
       return OrDash(r.mhz, [](double mhz) { return fmt::format("{:.5g} MHz", mhz); });
     }},
    {"accuracy",
     [](const SavedRun& r) { return OrDash(r.accuracy, [](double a) { return Percent(a, 2); }); }}};

// Returns the columns in which at least one row has a figure.
std::vector<const SweptColumn*> ColumnsOf(const SweepTable& table) {
  std::vector<const SweptColumn*> columns;
  for (const SweptColumn& column : kColumns) {
    const bool any = std::ranges::any_of(table.rows, [&](const SweptRow& row) {
      return row.run.has_value() && column.text(*row.run) != "-";
    });
    if (any) columns.push_back(&column);
  }
  return columns;
}

// Returns the place of a ranked row, with a star if it is efficient; empty for other rows.
std::string PlaceOf(const SweepTable& table, const SweptRow& row) {
  if (row.standing != Standing::kRanked) return "";
  return fmt::format("{}{}", &row - table.rows.data() + 1, row.efficient ? "*" : "");
}

std::string MemoryLine(const SweepTable& table) {
  return table.memory.empty() ? "ideal: each port has its full bandwidth" : table.memory;
}

std::string FigureLine(const SweepTable& table) {
  return fmt::format("schedules for least {}, areas and energies at {} nm", table.objective,
                     table.node_nm);
}

constexpr char kEfficientMeans[] =
    "* no other ranked design point is at least as good in time, energy and area and better in one";

}  // namespace

StatusOr<SweepRank> FindSweepRank(std::string_view name) {
  std::vector<std::string_view> names;
  for (const RankInfo& info : kRanks) {
    if (info.name == name) return info.rank;
    names.emplace_back(info.name);
  }
  return ErrorAt("", "", fmt::format("unknown rank '{}'", name),
                 fmt::format("one of: {}", fmt::join(names, ", ")));
}

void SweepTable::Rank() {
  const RankInfo& info = InfoOf(rank);
  double least_on_host = 1;
  for (const SweptRow& row : rows) {
    if (row.run.has_value()) least_on_host = std::min(least_on_host, row.run->host_share);
  }
  for (SweptRow& row : rows) {
    if (!row.run.has_value()) {
      row.standing = Standing::kFailed;
    } else if (!any_host && row.run->host_share > least_on_host + kSameHostShare) {
      row.standing = Standing::kMoreOnHost;
    } else if (!info.figure(*row.run).has_value() ||
               (limit_seconds.has_value() && !row.run->latency.has_value())) {
      row.standing = Standing::kUnknown;
    } else if (limit_seconds.has_value() && *row.run->latency > *limit_seconds) {
      row.standing = Standing::kTooSlow;
    } else {
      row.standing = Standing::kRanked;
    }
  }
  for (SweptRow& row : rows) {
    row.efficient = row.standing == Standing::kRanked &&
                    std::ranges::none_of(rows, [&row](const SweptRow& other) {
                      return other.standing == Standing::kRanked && IsBetter(*other.run, *row.run);
                    });
  }
  // Equal figures are told apart by the others.
  const auto order = [&info](const SweptRow& row) {
    std::vector<double> figures = {static_cast<double>(row.standing)};
    const auto add = [&figures](const std::optional<double>& figure) {
      figures.push_back(figure.value_or(HUGE_VAL));
    };
    if (!row.run.has_value()) return figures;
    add(info.figure(*row.run));
    for (const auto figure : kTradedFigures) add(*row.run.*figure);
    return figures;
  };
  StableSort(&rows, [&order](const SweptRow& a, const SweptRow& b) { return order(a) < order(b); });
}

namespace {

// Returns each note of single rows once, behind the names of the design points that it is about.
std::vector<std::string> NotesByRow(const SweepTable& table) {
  std::vector<std::pair<std::string, std::vector<std::string>>> found;
  for (const SweptRow& row : table.rows) {
    for (const std::string& note : row.notes) {
      auto at = std::ranges::find(found, note, [](const auto& pair) { return pair.first; });
      if (at == found.end()) at = found.insert(at, {note, {}});
      at->second.push_back(row.design_point);
    }
  }
  constexpr size_t kNamed = 3;
  std::vector<std::string> texts;
  for (auto& [note, names] : found) {
    std::string more;
    if (names.size() > kNamed) {
      more = fmt::format(" and {}",
                         Counted(std::ssize(names) - static_cast<int64_t>(kNamed), "other"));
      names.resize(kNamed);
    }
    texts.push_back(fmt::format("{}{}: {}", fmt::join(names, ", "), more, note));
  }
  return texts;
}

}  // namespace

std::string ToText(const SweepTable& table) {
  constexpr size_t kNameWidth = 64, kFaultWidth = 400;
  std::string out =
      fmt::format("network  {}\ndata     {}\nmemory   {}\nfigures  {}\n", CleanUtf8(table.model),
                  CleanUtf8(table.data), CleanUtf8(MemoryLine(table)), FigureLine(table));
  for (const std::string& note : table.notes) out += "note: " + CleanUtf8(note) + '\n';
  out += '\n';
  Table text;
  text.Right("").Column("design point");
  const std::vector<const SweptColumn*> columns = ColumnsOf(table);
  for (const SweptColumn* column : columns) text.Right(column->title);
  text.Column("");
  std::vector<std::string> names;
  for (const SweptRow& row : table.rows) names.push_back(row.design_point);
  names = ShortenApart(names, kNameWidth);
  for (size_t r = 0; r < table.rows.size(); ++r) {
    const SweptRow& row = table.rows[r];
    if (!row.run.has_value()) continue;
    std::vector<std::string> cells = {PlaceOf(table, row), names[r]};
    for (const SweptColumn* column : columns) cells.push_back(column->text(*row.run));
    cells.push_back(SweptRemarks(row));
    text.Row(std::move(cells));
  }
  out += text.ToString();
  if (RankedRows(table) > 0) out += fmt::format("{}\n", kEfficientMeans);
  for (const SweptRow& row : table.rows) {
    if (row.run.has_value()) continue;
    out += fmt::format("{}: {}\n", CleanUtf8(row.design_point), Shorten(row.fault, kFaultWidth));
  }
  for (const std::string& note : NotesByRow(table))
    out += fmt::format("note: {}\n", CleanUtf8(note));
  return out + fmt::format("\n{}: {}\n", QuestionOf(table), AnswerOf(table));
}

std::string ToJson(const SweepTable& table) {
  using Json = nlohmann::ordered_json;
  const auto or_null = [](const std::optional<double>& value) {
    return value.has_value() ? Json(*value) : Json(nullptr);
  };
  Json json;
  json["kiln_sweep"] = 1;
  json["model"] = table.model;
  json["data"] = table.data;
  json["memory"] = table.memory.empty() ? Json(nullptr) : Json(table.memory);
  json["optimise"] = table.objective;
  json["node_nm"] = table.node_nm;
  json["any_host"] = table.any_host;
  json["rank"] = InfoOf(table.rank).name;
  json["limit_seconds"] = or_null(table.limit_seconds);
  json["rows"] = Json::array();
  for (const SweptRow& row : table.rows) {
    Json figures = {{"design_point", row.design_point},
                    {"source", row.source},
                    {"varied", Json::object()},
                    {"standing", InfoOf(row.standing).key},
                    {"efficient", row.efficient},
                    {"fault", row.fault.empty() ? Json(nullptr) : Json(row.fault)}};
    for (const auto& [key, value] : row.varied) figures["varied"][key] = value;
    if (row.run.has_value()) {
      const SavedRun& run = *row.run;
      figures["format"] = run.format;
      figures["latency_seconds"] = or_null(run.latency);
      figures["seconds"] = or_null(run.seconds);
      figures["images_per_second"] = or_null(run.images_per_second);
      figures["cycles"] = or_null(run.cycles);
      figures["picojoules"] = or_null(run.picojoules);
      figures["area_um2"] = or_null(run.area_um2);
      figures["area_incomplete"] = run.area_incomplete;
      figures["mhz"] = or_null(run.mhz);
      figures["clock_confirmed"] = run.clock_confirmed;
      figures["accuracy"] = or_null(run.accuracy);
      figures["host_share"] = run.host_share;
    }
    figures["notes"] = row.notes;
    json["rows"].push_back(std::move(figures));
  }
  json["notes"] = table.notes;
  return JsonText(json);
}

namespace {

// Sizes in SVG units: the picture, and the plot area within it.
constexpr double kSweepWidth = 1072, kSweepHeight = 420, kSweepLeft = 74, kSweepRight = 1040,
                 kSweepTop = 20, kSweepBottom = 368;

// Returns the CSS class of a row's point.
std::string_view PointClass(const SweptRow& row) {
  if (row.efficient) return "u0";
  return row.standing == Standing::kRanked ? "u4" : "host";
}

// Draws energy over time, both logarithmic, one circle for each design point, whose area grows with
// the machine's. Efficient design points have the number of their row. Empty if no row has both.
std::string Picture(const SweepTable& table) {
  std::vector<const SweptRow*> shown;
  std::vector<double> times, energies;
  double largest = 0;
  for (const SweptRow& row : table.rows) {
    if (!row.run.has_value() || row.standing == Standing::kMoreOnHost) continue;
    const SavedRun& run = *row.run;
    if (run.latency.value_or(0) <= 0 || run.picojoules.value_or(0) <= 0) continue;
    shown.push_back(&row);
    times.push_back(*run.latency * 1e3);
    energies.push_back(*run.picojoules * 1e-6);
    largest = std::max(largest, run.area_um2.value_or(0));
  }
  if (shown.empty()) return "";
  if (table.limit_seconds.has_value()) times.push_back(*table.limit_seconds * 1e3);
  const html::LogAxis x = html::LogAxisFor(times, kSweepLeft, kSweepRight),
                      y = html::LogAxisFor(energies, kSweepBottom, kSweepTop);
  std::string out = fmt::format(R"(<svg viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" )"
                                R"(height="{1:.0f}" role="img">)",
                                kSweepWidth, kSweepHeight);
  out += html::LogGrid(x, y, "time of an image, ms", "energy of an image, uJ");
  if (table.limit_seconds.has_value()) {
    const double at = x.At(*table.limit_seconds * 1e3);
    out += html::Line("roof", at, kSweepTop, at, kSweepBottom);
    out += fmt::format(R"(<text class="faint" x="{:.1f}" y="{:.0f}">limit</text>)", at + 4,
                       kSweepTop + 12);
  }
  // Efficient points are drawn last, so that no other covers them.
  StableSort(&shown,
             [](const SweptRow* a, const SweptRow* b) { return a->efficient < b->efficient; });
  bool right = false;
  for (const SweptRow* row : shown) {
    const SavedRun& run = *row->run;
    const double at_x = x.At(*run.latency * 1e3), at_y = y.At(*run.picojoules * 1e-6);
    const double radius =
        largest > 0 && run.area_um2.has_value() ? 3 + 9 * std::sqrt(*run.area_um2 / largest) : 5;
    out += fmt::format(
        R"(<circle class="point {}" cx="{:.1f}" cy="{:.1f}" r="{:.1f}"><title>{}: {}, {}, {})"
        R"(</title></circle>)",
        PointClass(*row), at_x, at_y, radius, EscapeHtml(row->design_point),
        Milliseconds(*run.latency), Joules(*run.picojoules),
        OrDash(run.area_um2, SquareMillimetres));
    if (!row->efficient) continue;
    // Numbers of near points are on both sides, so that they do not cover each other.
    right = !right;
    out += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)",
                       right ? at_x + radius + 2 : at_x - radius - 2, at_y + 4,
                       right ? "start" : "end", row - table.rows.data() + 1);
  }
  return out + fmt::format(R"(</svg><div class="legend"><span>{}efficient, with the number of its )"
                           R"(row</span><span>{}ranked</span><span>{}not ranked</span>)"
                           R"(<span>larger circles: larger machines</span></div>)",
                           html::Swatch("u0"), html::Swatch("u4"), html::Swatch("host"));
}

std::string RowsTable(const SweepTable& table) {
  const std::vector<const SweptColumn*> columns = ColumnsOf(table);
  std::string out =
      R"(<div class="scroll"><table><thead><tr><th class="n"></th><th>design point</th>)";
  for (const SweptColumn* column : columns)
    out += fmt::format(R"(<th class="n">{}</th>)", column->title);
  out += "<th>remarks</th></tr></thead><tbody>";
  for (const SweptRow& row : table.rows) {
    out += fmt::format(R"(<tr{}><td class="n">{}</td><td class="name">{}</td>)",
                       row.standing == Standing::kRanked ? "" : R"( class="host")",
                       PlaceOf(table, row), EscapeHtml(row.design_point));
    for (const SweptColumn* column : columns) {
      out += fmt::format(R"(<td class="n">{}</td>)",
                         row.run.has_value() ? EscapeHtml(column->text(*row.run)) : "");
    }
    std::string remarks = SweptRemarks(row);
    if (!row.fault.empty()) remarks += ": " + row.fault;
    out += fmt::format(R"(<td class="name">{}</td></tr>)", EscapeHtml(remarks));
  }
  return out + "</tbody></table></div>";
}

}  // namespace

std::string ToHtml(const SweepTable& table) {
  const std::string title =
      fmt::format("{} on {}", table.model, Counted(std::ssize(table.rows), "design point"));
  std::string out = html::PageHead(title, EscapeHtml(title));
  out +=
      fmt::format("<p>{}: {}.</p>\n", EscapeHtml(QuestionOf(table)), EscapeHtml(AnswerOf(table)));
  out += fmt::format(R"(<p class="note">Data: {}. Memory: {}. Figures: {}.</p>)",
                     EscapeHtml(table.data), EscapeHtml(MemoryLine(table)),
                     EscapeHtml(FigureLine(table)));
  for (const std::string& note : table.notes)
    out += fmt::format(R"(<p class="note">Note: {}.</p>)", EscapeHtml(note));
  if (const std::string picture = Picture(table); !picture.empty())
    out += "<h2>Energy over time</h2>\n" + picture + "\n";
  out += "<h2>Design points</h2>\n" + RowsTable(table) + "\n";
  out += fmt::format(R"(<p class="note">{}.</p>)", kEfficientMeans);
  for (const std::string& note : NotesByRow(table))
    out += fmt::format(R"(<p class="note">Note: {}.</p>)", EscapeHtml(note));
  return out + "<footer>Written by kiln sweep.</footer></main></body></html>\n";
}

}  // namespace kiln
