// What the units of the cycle level did, and why they waited: counters and spans of a Trace.
#ifndef KILN_TARGETS_SYSTOLIC_CYCLE_RECORDER_H_
#define KILN_TARGETS_SYSTOLIC_CYCLE_RECORDER_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kiln/hardware/event_kernel.h"
#include "kiln/targets/interface/trace.h"
#include "kiln/targets/systolic/isa.h"
#include "kiln/targets/systolic/units.h"

namespace kiln::systolic {

class Recorder {
 public:
  Recorder(hardware::Simulator& simulator, std::span<const Instruction> instructions);

  // The unit was waiting for `cause` since `since`.
  void Stall(Unit unit, const char* cause, int64_t since);
  // The unit starts to work for `cycles` on instruction `index`.
  void Busy(Unit unit, size_t index, int64_t cycles) {
    Busy(unit, index, simulator_.now(), simulator_.now() + cycles);
  }
  // It works, or has worked, from `begin` to `end`. A unit's times come in their order.
  void Busy(Unit unit, size_t index, int64_t begin, int64_t end);
  UnitTrace& unit(Unit unit) { return units_[unit]; }

  // At the end.
  std::vector<UnitTrace> TakeUnits() { return std::move(units_); }
  void TakeSpans(Trace& trace) const;

 private:
  bool Joins(const Span& last, int kernel, int64_t begin) const;
  void Coarsen();  // doubles the resolution until a quarter of the room is free again

  static constexpr size_t kMaxSpans = size_t{1} << 16;
  static constexpr int64_t kCoarsest = int64_t{1}
                                       << 40;  // one span a kernel and unit is as coarse as it gets
  hardware::Simulator& simulator_;
  std::span<const Instruction> instructions_;
  std::vector<UnitTrace> units_;
  std::vector<Span> spans_[kUnits];
  size_t count_ = 0;
  int64_t resolution_ = 0;
};

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_CYCLE_RECORDER_H_
