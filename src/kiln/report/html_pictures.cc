// Draws the timeline, the stall bars and the share bars of the HTML report as SVG.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "kiln/report/html_parts.h"
#include "kiln/report/text.h"

namespace kiln::html {
namespace {

constexpr int kColours = 16;  // the classes u0 to u15 of the style sheet
// Widths in SVG units: a bar in a table cell, and the whole picture.
constexpr int kBarWidth = 84;
constexpr double kWidth = 1072;

// Returns a distance between tick marks, 1, 2 or 5 times a power of ten, for about `marks` marks up
// to `end`.
int64_t MarkStep(int64_t end, int marks) {
  int64_t step = 1;
  while (true) {
    for (int64_t factor : {1, 2, 5}) {
      if (end / (step * factor) <= marks) return step * factor;
    }
    step *= 10;
  }
}

// A stretch of work of one unit on one kernel, in cycles.
struct Stretch {
  int64_t begin = 0, end = 0;
  int kernel = 0;
};

// Returns the stretches of each unit. Neighbours on the same kernel are joined if at most `apart`
// cycles separate them.
std::vector<std::vector<Stretch>> StretchesOf(const Trace& trace, int64_t apart) {
  std::vector<std::vector<Stretch>> units(trace.units.size());
  for (const Span& span : trace.spans) {
    if (span.unit < 0 || static_cast<size_t>(span.unit) >= units.size()) continue;
    std::vector<Stretch>& unit = units[static_cast<size_t>(span.unit)];
    if (!unit.empty() && unit.back().kernel == span.kernel &&
        span.begin - unit.back().end <= apart) {
      unit.back().end = std::max(unit.back().end, span.end);
    } else {
      unit.push_back({span.begin, span.end, span.kernel});
    }
  }
  return units;
}

// The labels of the rows of units, on the left of the plot.
class RowLabels {
 public:
  explicit RowLabels(const Trace& trace) {
    constexpr size_t kCharacters = 20, kMostCharacters = 40;
    constexpr double kCharacter = 8, kLeast = 130;  // SVG units; a capital is the widest
    for (const UnitTrace& unit : trace.units) units_.push_back(unit.name);
    shown_ = ShortenApart(units_, kCharacters);
    size_t longest = 0;
    for (std::string& text : shown_) {
      text = Shorten(text, kMostCharacters);
      longest = std::max(longest, Width(text));
    }
    width_ = std::max(kLeast, kGap + kCharacter * static_cast<double>(longest));
  }

  // Return the width of the labels, where the plot begins, and the width of the plot.
  double width() const { return width_; }
  double plot() const { return kWidth - width_ - 8; }
  // Draws a text as the label of the row whose base line is at `y`.
  std::string Draw(int y, std::string_view shown, std::string_view title) const {
    return fmt::format(R"(<text x="{:.0f}" y="{}" text-anchor="end"><title>{}</title>{}</text>)",
                       width_ - kGap, y, EscapeHtml(title), EscapeHtml(shown));
  }
  std::string Draw(int y, std::string_view text) const { return Draw(y, text, text); }
  // Draws the name of a unit, with the whole name as its title.
  std::string DrawUnit(int y, size_t unit) const { return Draw(y, shown_[unit], units_[unit]); }

 private:
  static constexpr double kGap = 10;  // between a label and the plot
  std::vector<std::string> units_, shown_;
  double width_;
};

}  // namespace

std::string Swatch(std::string_view css_class) {
  return fmt::format(R"(<svg width="11" height="11" viewBox="0 0 11 11">)"
                     R"(<rect class="{}" width="11" height="11" rx="2"/></svg>)",
                     css_class);
}

std::string UnitClass(const RunReport& report, std::string_view unit) {
  std::vector<std::string_view> seen;
  for (const KernelInfo& kernel : report.kernels) {
    if (kernel.on_host()) {
      if (kernel.unit == unit) return "host";
      continue;
    }
    if (std::find(seen.begin(), seen.end(), kernel.unit) == seen.end()) seen.push_back(kernel.unit);
    if (kernel.unit == unit) break;
  }
  return fmt::format("u{}", (std::max<size_t>(seen.size(), 1) - 1) % kColours);
}

std::string ShareBar(double share, std::string_view css_class) {
  const double width = std::clamp(share, 0.0, 1.0) * kBarWidth;
  return fmt::format(R"(<svg width="{0}" height="10" viewBox="0 0 {0} 10">)"
                     R"(<rect class="idle" width="{0}" height="10" rx="2"/>)"
                     R"(<rect class="{1}" width="{2:.1f}" height="10" rx="2"/></svg>)",
                     kBarWidth, css_class, width);
}

std::string Timeline(const RunReport& report) {
  const Trace& trace = *report.trace;
  const double cycles = static_cast<double>(std::max<int64_t>(trace.cycles, 1));
  const RowLabels labels(trace);
  // Gaps narrower than one SVG unit are invisible.
  const double scale = labels.plot() / cycles;
  const auto units = StretchesOf(trace, static_cast<int64_t>(cycles / labels.plot()));
  constexpr int kRow = 26, kTop = 34;
  const int rows = static_cast<int>(units.size()) + 1;
  const int height = kTop + rows * kRow + 24;
  std::string out =
      fmt::format(R"(<svg viewBox="0 0 {:.0f} {}" width="{:.0f}" height="{}" role="img">)", kWidth,
                  height, kWidth, height);
  const int64_t step = MarkStep(trace.cycles, 8);
  for (int64_t at = 0; at <= trace.cycles; at += step) {
    const double x = labels.width() + static_cast<double>(at) * scale;
    out += fmt::format(R"(<line class="axis" x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"/>)", x,
                       kTop - 6, kTop + rows * kRow);
    // A mark in the middle of its line would leave the picture at both ends.
    constexpr double kHalfMark = 36;
    const char* const anchor = at == 0 ? "start" : x + kHalfMark > kWidth ? "end" : "middle";
    out += fmt::format(R"(<text class="faint" x="{:.1f}" y="{}" text-anchor="{}">{}</text>)", x,
                       kTop + rows * kRow + 15, anchor, Thousands(at));
  }
  // Alternating shades separate neighbouring kernels of the same unit.
  const auto kernel_class = [&](int kernel) {
    if (kernel < 0 || static_cast<size_t>(kernel) >= report.kernels.size())
      return std::string("idle");
    const std::string colour = UnitClass(report, report.kernels[static_cast<size_t>(kernel)].unit);
    return colour + (kernel % 2 == 1 ? " odd" : "");
  };
  const auto title = [&](int kernel, int64_t begin, int64_t end) {
    const bool known = kernel >= 0 && static_cast<size_t>(kernel) < report.kernels.size();
    return fmt::format("<title>{}: cycles {} to {} ({})</title>",
                       known ? EscapeHtml(report.kernels[static_cast<size_t>(kernel)].name) : "?",
                       Thousands(begin), Thousands(end), Thousands(end - begin));
  };
  const auto rectangle = [&](int row, int64_t begin, int64_t end, int kernel) {
    out +=
        fmt::format(R"(<rect class="{}" x="{:.2f}" y="{}" width="{:.2f}" height="{}">{}</rect>)",
                    kernel_class(kernel), labels.width() + static_cast<double>(begin) * scale,
                    kTop + row * kRow + 3, std::max(static_cast<double>(end - begin) * scale, 0.3),
                    kRow - 8, title(kernel, begin, end));
  };
  out += labels.Draw(kTop + 17, "kernels");
  int64_t front = 0;  // as in KernelRows: each rectangle is the time that the kernel adds
  for (const KernelTrace& kernel : trace.kernels) {
    if (kernel.end > front) rectangle(0, front, kernel.end, kernel.kernel);
    front = std::max(front, kernel.end);
  }
  for (size_t u = 0; u < units.size(); ++u) {
    out += labels.DrawUnit(kTop + (static_cast<int>(u) + 1) * kRow + 17, u);
    for (const Stretch& stretch : units[u]) {
      rectangle(static_cast<int>(u) + 1, stretch.begin, stretch.end, stretch.kernel);
    }
  }
  out += fmt::format(
      R"(<text class="faint" x="{:.0f}" y="18">cycles of one image, {} in all</text></svg>)",
      labels.width(), Thousands(trace.cycles));
  std::vector<std::string> seen;
  out += R"(<div class="legend">)";
  for (const KernelInfo& kernel : report.kernels) {
    if (kernel.on_host() || std::find(seen.begin(), seen.end(), kernel.unit) != seen.end())
      continue;
    seen.push_back(kernel.unit);
    out += fmt::format("<span>{}{} kernels</span>", Swatch(UnitClass(report, kernel.unit)),
                       EscapeHtml(kernel.unit));
  }
  return out + "</div>";
}

std::string Stalls(const Trace& trace) {
  const double cycles = static_cast<double>(std::max<int64_t>(trace.cycles, 1));
  std::map<std::string, int> causes;  // cause -> colour
  for (const UnitTrace& unit : trace.units) {
    for (const auto& [cause, count] : unit.stall_cycles) {
      if (count > 0) causes.emplace(cause, 0);
    }
  }
  int next = 0;
  // Busy has colour u0. A cause has the same colour for all units.
  for (auto& [cause, colour] : causes) colour = 1 + next++ % (kColours - 1);
  constexpr int kRow = 26;
  const RowLabels labels(trace);
  const int height = static_cast<int>(trace.units.size()) * kRow + 4;
  std::string out =
      fmt::format(R"(<svg viewBox="0 0 {:.0f} {}" width="{:.0f}" height="{}" role="img">)", kWidth,
                  height, kWidth, height);
  for (size_t u = 0; u < trace.units.size(); ++u) {
    const UnitTrace& unit = trace.units[u];
    const int y = static_cast<int>(u) * kRow;
    out += labels.DrawUnit(y + 17, u);
    out += fmt::format(R"(<rect class="idle" x="{:.0f}" y="{}" width="{:.1f}" height="{}"/>)",
                       labels.width(), y + 3, labels.plot(), kRow - 8);
    double x = labels.width();
    const auto part = [&](std::string_view what, int64_t count, int colour) {
      const double width = std::min(static_cast<double>(count) / cycles * labels.plot(),
                                    labels.width() + labels.plot() - x);
      if (count <= 0 || width <= 0) return;
      out += fmt::format(R"(<rect class="u{}" x="{:.2f}" y="{}" width="{:.2f}" height="{}">)"
                         R"(<title>{}: {} cycles, {}</title></rect>)",
                         colour, x, y + 3, width, kRow - 8, EscapeHtml(what), Thousands(count),
                         Percent(static_cast<double>(count) / cycles));
      x += width;
    };
    part("busy", unit.busy_cycles, 0);
    for (const auto& [cause, count] : unit.stall_cycles)
      part(cause, count, causes.contains(cause) ? causes[cause] : 0);
  }
  out += R"(</svg><div class="legend">)";
  out += fmt::format("<span>{}busy</span>", Swatch("u0"));
  for (const auto& [cause, colour] : causes) {
    out += fmt::format("<span>{}{}</span>", Swatch(fmt::format("u{}", colour)), EscapeHtml(cause));
  }
  return out + fmt::format("<span>{}idle</span></div>", Swatch("idle"));
}

std::string Flow(const Trace& trace) {
  constexpr int kRow = 28, kTop = 26, kBar = kRow - 10;
  // Columns: labels, units, connections that skip units, queues.
  constexpr double kUnit = 330, kSkips = 70;
  const RowLabels labels(trace);
  const double queues_at = labels.width() + kUnit + kSkips;
  const auto units = static_cast<int>(trace.units.size());
  const double cycles = static_cast<double>(std::max<int64_t>(trace.cycles, 1));
  const auto is_unit = [&](int unit) { return unit >= 0 && unit < units; };
  std::map<int, std::vector<const QueueTrace*>> queues;  // by row; outputs are the last row
  for (const QueueTrace& queue : trace.queues)
    queues[is_unit(queue.to) ? queue.to : units].push_back(&queue);
  const int rows = units + (queues.contains(units) ? 1 : 0);
  const int height = kTop + rows * kRow + 4;
  std::string out =
      fmt::format(R"(<svg viewBox="0 0 {:.0f} {}" width="{:.0f}" height="{}" role="img">)", kWidth,
                  height, kWidth, height);
  out += fmt::format(R"(<text class="faint" x="{:.0f}" y="14">share of {} cycles</text>)",
                     labels.width(), Thousands(trace.cycles));
  out += fmt::format(
      R"(<text class="faint" x="{:.0f}" y="14">most words in the queues in front, of their depth)"
      R"(</text>)",
      queues_at);
  const auto middle = [&](int row) { return kTop + row * kRow + 3 + kBar / 2; };
  for (const QueueTrace& queue : trace.queues) {
    const int to = is_unit(queue.to) ? queue.to : units;
    if (!is_unit(queue.from) || to <= queue.from + 1) continue;
    // A curve beside the units, wider the more units it skips.
    const double x = labels.width() + kUnit,
                 reach = x + std::min(kSkips - 6, 12.0 + 6.0 * (to - queue.from));
    out += fmt::format(
        R"(<path class="axis" fill="none" d="M{0:.0f} {2} C{1:.0f} {2} {1:.0f} {3} {0:.0f} {3}"/>)",
        x, reach, middle(queue.from), middle(to));
  }
  for (int row = 0; row < rows; ++row) {
    const int y = kTop + row * kRow + 3;
    const bool is_output = row == units;
    out += is_output ? labels.Draw(y + 13, "output")
                     : labels.DrawUnit(y + 13, static_cast<size_t>(row));
    if (row > 0) {
      out += fmt::format(R"(<line class="axis" x1="{0:.0f}" x2="{0:.0f}" y1="{1}" y2="{2}"/>)",
                         labels.width() + kUnit / 2, y - kRow + kBar, y);
    }
    if (!is_output) {
      const UnitTrace& unit = trace.units[static_cast<size_t>(row)];
      const double share = std::min(static_cast<double>(unit.busy_cycles) / cycles, 1.0);
      out += fmt::format(R"(<rect class="idle" x="{:.0f}" y="{}" width="{:.0f}" height="{}"/>)",
                         labels.width(), y, kUnit, kBar);
      out += fmt::format(R"(<rect class="u0" x="{:.0f}" y="{}" width="{:.2f}" height="{}">)"
                         R"(<title>{}: busy in {} cycles, {}</title></rect>)",
                         labels.width(), y, share * kUnit, kBar, EscapeHtml(unit.name),
                         Thousands(unit.busy_cycles), Percent(share));
      constexpr double kPercent = 52;  // the width of the text
      // Beside the bar at the right end, or at the bar's end if that leaves no room.
      const bool on_bar = (1 - share) * kUnit < kPercent;
      out += fmt::format(R"(<text class="{}" x="{:.0f}" y="{}" text-anchor="end">{}</text>)",
                         on_bar ? "on-bar" : "faint",
                         labels.width() + (on_bar ? share : 1) * kUnit - 6, y + 13, Percent(share));
    }
    const std::vector<const QueueTrace*>& here = queues[row];
    const double slot =
        (kWidth - queues_at - 8) / static_cast<double>(std::max<size_t>(here.size(), 1));
    for (size_t i = 0; i < here.size(); ++i) {
      const QueueTrace& queue = *here[i];
      const double x = queues_at + static_cast<double>(i) * slot, width = slot * 0.5;
      const double fill = std::min(static_cast<double>(queue.highest) /
                                       static_cast<double>(std::max<int64_t>(queue.depth, 1)),
                                   1.0);
      out += fmt::format(R"(<rect class="idle" x="{:.2f}" y="{}" width="{:.2f}" height="{}"/>)", x,
                         y, width, kBar);
      out += fmt::format(R"(<rect class="{}" x="{:.2f}" y="{}" width="{:.2f}" height="{}">)"
                         R"(<title>{}: {} of {} words</title></rect>)",
                         queue.highest >= queue.depth ? "u2" : "u1", x, y, width * fill, kBar,
                         EscapeHtml(queue.name), Thousands(queue.highest), Thousands(queue.depth));
      out += fmt::format(R"(<text class="faint" x="{:.2f}" y="{}">{} of {}</text>)", x + width + 5,
                         y + 13, Thousands(queue.highest), Thousands(queue.depth));
    }
  }
  return out + fmt::format(R"(</svg><div class="legend"><span>{}busy</span><span>{}words</span>)"
                           R"(<span>{}a queue that was full</span></div>)",
                           Swatch("u0"), Swatch("u1"), Swatch("u2"));
}

}  // namespace kiln::html
