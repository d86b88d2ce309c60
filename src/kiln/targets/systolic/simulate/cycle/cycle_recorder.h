// Records what the units of the cycle level did and why they waited: counters and spans of a Trace.
#ifndef KILN_TARGETS_SYSTOLIC_SIMULATE_CYCLE_CYCLE_RECORDER_H_
#define KILN_TARGETS_SYSTOLIC_SIMULATE_CYCLE_CYCLE_RECORDER_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kiln/hardware/event_kernel.h"
#include "kiln/targets/interface/trace.h"
#include "kiln/targets/systolic/isa/isa.h"
#include "kiln/targets/systolic/isa/units.h"

namespace kiln::systolic {

// The recorder of one run.
class Recorder {
 public:
  Recorder(hardware::Simulator& simulator, std::span<const Instruction> instructions);

  // Records that the unit waited for `cause` from cycle `since` to the current cycle.
  void Stall(Unit unit, const char* cause, int64_t since);
  // Records that the unit works for `cycles` cycles on instruction `index`, starting in the current
  // cycle.
  void Busy(Unit unit, size_t index, int64_t cycles) {
    Busy(unit, index, simulator_.now(), simulator_.now() + cycles);
  }
  // Records work from cycle `begin` to `end`, past or future. A unit's times must be reported in
  // order.
  void Busy(Unit unit, size_t index, int64_t begin, int64_t end);
  // Records that in `cycles` of its recorded work on instruction `index` the unit waited for a
  // simulated memory. They stay busy cycles of the unit, but are not counted by BusyOf.
  void Waited(Unit unit, size_t index, int64_t cycles) {
    busy_[index * kUnits + unit] -= std::max<int64_t>(cycles, 0);
  }
  UnitTrace& unit(Unit unit) { return units_[unit]; }

  // To be called at the end of the run.
  std::vector<UnitTrace> TakeUnits() { return std::move(units_); }
  // Returns the cycles in which each unit worked on an instruction.
  std::vector<int64_t> BusyOf(size_t index) const {
    const auto first = busy_.begin() + static_cast<ptrdiff_t>(index * kUnits);
    return {first, first + kUnits};
  }
  void TakeSpans(Trace& trace) const;

 private:
  bool Joins(const Span& last, int kernel, int64_t begin) const;
  void Coarsen();  // doubles the resolution until a quarter of the spans is free again

  static constexpr size_t kMaxSpans = size_t{1} << 16;
  static constexpr int64_t kCoarsest = int64_t{1}
                                       << 40;  // at this resolution each unit has one span per run
                                               // of equal kernels
  hardware::Simulator& simulator_;
  std::span<const Instruction> instructions_;
  std::vector<UnitTrace> units_;
  std::vector<int64_t> busy_;  // cycles by instruction and unit
  std::vector<Span> spans_[kUnits];
  size_t count_ = 0;
  int64_t resolution_ = 0;
};

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_SIMULATE_CYCLE_CYCLE_RECORDER_H_
