// Draws logarithmic axes and their grid as SVG.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kiln/report/html_parts.h"
#include "kiln/report/text.h"

namespace kiln::html {
namespace {

// Returns the text of a tick mark at 10^decade.
std::string Decade(int decade) {
  return decade >= 0 && decade < 7 ? Thousands(std::llround(std::pow(10.0, decade)))
                                   : fmt::format("{:g}", std::pow(10.0, decade));
}

}  // namespace

double LogAxis::At(double value) const {
  return begin + (std::log10(value) - first) / (last - first) * (end - begin);
}

double LogAxis::least() const { return std::pow(10.0, first); }
double LogAxis::most() const { return std::pow(10.0, last); }

LogAxis LogAxisFor(const std::vector<double>& values, double begin, double end) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  LogAxis axis{.first = static_cast<int>(std::floor(std::log10(*least))),
               .last = static_cast<int>(std::ceil(std::log10(*most))),
               .begin = begin,
               .end = end};
  axis.last = std::max(axis.last, axis.first + 1);
  return axis;
}

std::string Line(std::string_view css_class, double x1, double y1, double x2, double y2) {
  return fmt::format(R"(<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>)",
                     css_class, x1, y1, x2, y2);
}

std::string LogGrid(const LogAxis& x, const LogAxis& y, std::string_view x_name,
                    std::string_view y_name) {
  const double left = x.begin, right = x.end, bottom = y.begin, top = y.end;
  std::string out;
  for (int decade = x.first; decade <= x.last; ++decade) {
    const double at = x.At(std::pow(10.0, decade));
    out += Line("axis", at, top, at, bottom);
    out +=
        fmt::format(R"(<text class="faint" x="{:.1f}" y="{:.0f}" text-anchor="middle">{}</text>)",
                    at, bottom + 16, Decade(decade));
  }
  for (int decade = y.first; decade <= y.last; ++decade) {
    const double at = y.At(std::pow(10.0, decade));
    out += Line("axis", left, at, right, at);
    out += fmt::format(R"(<text class="faint" x="{:.0f}" y="{:.1f}" text-anchor="end">{}</text>)",
                       left - 8, at + 4, Decade(decade));
  }
  return out + fmt::format(R"(<text class="faint" x="{:.0f}" y="{:.0f}" text-anchor="middle">)"
                           R"({}</text><text class="faint" x="{:.0f}" y="12">{}</text>)",
                           (left + right) / 2, bottom + 36, EscapeHtml(x_name), left,
                           EscapeHtml(y_name));
}

}  // namespace kiln::html
