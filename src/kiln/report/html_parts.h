// The pictures and the style of the HTML report. Private to the room.
#ifndef KILN_REPORT_HTML_PARTS_H_
#define KILN_REPORT_HTML_PARTS_H_

#include <string>
#include <string_view>

#include "kiln/report/run_report.h"

namespace kiln::html {

std::string_view Style();

// One line a unit, one rectangle a stretch of work on one kernel; stretches closer than a pixel are joined. SVG.
std::string Timeline(const RunReport& report);
// One bar a unit: busy, waiting by cause, idle. SVG and its legend.
std::string Stalls(const Trace& trace);
// A horizontal bar for a share of 0 to 1, for table cells. SVG.
std::string ShareBar(double share, std::string_view css_class);

// The CSS class of a unit's colour: "u0" ... "u7" in order of first appearance among the kernels, "host" for the host.
std::string UnitClass(const RunReport& report, std::string_view unit);

}  // namespace kiln::html

#endif  // KILN_REPORT_HTML_PARTS_H_
