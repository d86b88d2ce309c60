// Formats the results of synthesis (`kiln synth`) as text and JSON.
#ifndef KILN_REPORT_SYNTHESIS_REPORT_H_
#define KILN_REPORT_SYNTHESIS_REPORT_H_

#include <string>

#include "kiln/hardware/synthesis.h"

namespace kiln {

// Formats a table of units, the parts of each unit indented below it, followed by the shares that
// the design takes of SynthesisOptions::device, or by the worst timing path.
std::string ToText(const hardware::SynthesisResult& result,
                   const hardware::SynthesisOptions& options);
// Formats the same as JSON: areas in square micrometres, or FPGA resources by kind.
std::string ToJson(const hardware::SynthesisResult& result,
                   const hardware::SynthesisOptions& options);

}  // namespace kiln

#endif  // KILN_REPORT_SYNTHESIS_REPORT_H_
