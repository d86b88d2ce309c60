// A run as one HTML page without scripts or anything fetched: figures, kernel table, timeline, stalls, host kernels.
// Well-formed XML, light and dark, readable on paper.
#ifndef KILN_REPORT_HTML_H_
#define KILN_REPORT_HTML_H_

#include <string>

#include "kiln/report/run_report.h"

namespace kiln {

std::string ToHtml(const RunReport& report);

}  // namespace kiln

#endif  // KILN_REPORT_HTML_H_
