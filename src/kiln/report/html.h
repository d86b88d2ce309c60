// Formats a run as one HTML page: figures, kernel table, timeline, stalls, host kernels, costs.
//
// The page has no scripts and fetches nothing. It is well-formed XML, adapts to light and dark
// displays, and prints well.
#ifndef KILN_REPORT_HTML_H_
#define KILN_REPORT_HTML_H_

#include <string>

#include "kiln/report/run_report.h"

namespace kiln {

// Returns the page. Absent parts of the report leave out their sections.
std::string ToHtml(const RunReport& report);

}  // namespace kiln

#endif  // KILN_REPORT_HTML_H_
