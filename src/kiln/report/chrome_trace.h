// A trace for chrome://tracing and ui.perfetto.dev.
#ifndef KILN_REPORT_CHROME_TRACE_H_
#define KILN_REPORT_CHROME_TRACE_H_

#include <string>
#include <vector>

#include "kiln/targets/interface/program.h"
#include "kiln/targets/interface/trace.h"

namespace kiln {

// Trace Event Format, JSON object form: one thread a unit with a slice a span, and the kernels as asynchronous events.
// One cycle shows as one microsecond.
std::string ToChromeTrace(const Trace& trace, const std::vector<KernelInfo>& kernels);

}  // namespace kiln

#endif  // KILN_REPORT_CHROME_TRACE_H_
