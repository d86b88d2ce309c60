// Exports a trace for the viewers chrome://tracing and ui.perfetto.dev (`kiln run --trace`).
#ifndef KILN_REPORT_CHROME_TRACE_H_
#define KILN_REPORT_CHROME_TRACE_H_

#include <string>
#include <vector>

#include "kiln/targets/interface/program.h"
#include "kiln/targets/interface/trace.h"

namespace kiln {

// Formats a trace in the Trace Event Format, JSON object form. Each unit becomes a thread with one
// slice per span; kernels become asynchronous events. One cycle is displayed as one microsecond.
std::string ToChromeTrace(const Trace& trace, const std::vector<KernelInfo>& kernels);

}  // namespace kiln

#endif  // KILN_REPORT_CHROME_TRACE_H_
