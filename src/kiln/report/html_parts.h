// Pictures and style sheet of the HTML reports. Private to the room.
#ifndef KILN_REPORT_HTML_PARTS_H_
#define KILN_REPORT_HTML_PARTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "kiln/report/kernel_loads.h"
#include "kiln/report/run_report.h"

namespace kiln::html {

// Returns the style sheet.
std::string_view Style();
// Returns the beginning of a page, up to its heading. `title` is text, `heading` is HTML.
std::string PageHead(std::string_view title, std::string_view heading);

// Draws the timeline as SVG: one row per unit, one rectangle per stretch of work on one kernel.
// Stretches less than a pixel apart are joined.
std::string Timeline(const RunReport& report);
// Draws one bar per unit as SVG, split into busy, waiting by cause, and idle, with a legend.
std::string Stalls(const Trace& trace);
// Draws the units in the order of the data as SVG: the share of cycles in which each works, its
// connections, and how far the queues in front of it were filled.
std::string Flow(const Trace& trace);
// Draws a roofline as SVG: each kernel's operations a cycle over its operations a byte of the port
// that needs the most cycles for it, both axes logarithmic, below the machine's peak and the
// bandwidths of these ports. Empty if no kernel has operations, bytes and cycles.
std::string Roofline(const RunReport& report, const std::vector<KernelLoad>& loads);
// Draws the coloured square of a legend entry as SVG.
std::string Swatch(std::string_view css_class);
// Draws a horizontal bar for a share of 0 to 1 as SVG, for table cells.
std::string ShareBar(double share, std::string_view css_class);

// A logarithmic axis of whole decades, from 10^first to 10^last.
struct LogAxis {
  int first = 0, last = 1;
  double begin = 0, end = 1;  // SVG units

  double At(double value) const;  // returns where a positive value is, in SVG units
  double least() const;
  double most() const;
};
// Returns an axis that holds all values. `values` has at least one, and all are positive.
LogAxis LogAxisFor(const std::vector<double>& values, double begin, double end);
// Draws a line as SVG.
std::string Line(std::string_view css_class, double x1, double y1, double x2, double y2);
// Draws the decades of two axes as lines with their numbers, and the names of the axes, as SVG. `y`
// begins at the bottom.
std::string LogGrid(const LogAxis& x, const LogAxis& y, std::string_view x_name,
                    std::string_view y_name);

// Returns the CSS class of a unit's colour: "u0" to "u15", in order of first appearance among the
// kernels, or "host" for the host.
std::string UnitClass(const RunReport& report, std::string_view unit);

}  // namespace kiln::html

#endif  // KILN_REPORT_HTML_PARTS_H_
