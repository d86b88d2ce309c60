// What a synthesis found, as people and programs read it.
#ifndef KILN_REPORT_SYNTHESIS_REPORT_H_
#define KILN_REPORT_SYNTHESIS_REPORT_H_

#include <string>

#include "kiln/hardware/synthesis.h"

namespace kiln {

// A table of units, the parts of each indented below it, then the worst path.
std::string ToText(const hardware::SynthesisResult& result,
                   const hardware::SynthesisOptions& options);
std::string ToJson(const hardware::SynthesisResult& result,
                   const hardware::SynthesisOptions& options);

}  // namespace kiln

#endif  // KILN_REPORT_SYNTHESIS_REPORT_H_
