// Records when the units of a machine work that is simulated cycle by cycle, for its trace.
#ifndef KILN_TARGETS_RUN_UNIT_SPANS_H_
#define KILN_TARGETS_RUN_UNIT_SPANS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kiln/targets/interface/trace.h"

namespace kiln {

class UnitSpans {
 public:
  explicit UnitSpans(size_t units) : last_(units, kNone) {}

  // Records that a unit works in the cycles [from, to). `from` of a unit never decreases.
  void Work(int unit, int64_t from, int64_t to);
  // Returns the spans in trace->spans, at most kMostSpans, all of kernel 0: cycle `begin` is 0 in
  // them, and they end at trace->cycles. Sets trace->span_resolution.
  void MoveTo(int64_t begin, Trace* trace);

 private:
  static constexpr int64_t kNone = -1;
  Trace spans_;                // its spans and their resolution alone
  std::vector<int64_t> last_;  // by unit: the place of its last span, or kNone
};

}  // namespace kiln

#endif  // KILN_TARGETS_RUN_UNIT_SPANS_H_
