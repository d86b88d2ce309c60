// The time of a launch: its cycles and the counters of counters.def. The cycle level and the
// hardware fill them in.
#ifndef KILN_TARGETS_VTA_ISA_COUNTERS_H_
#define KILN_TARGETS_VTA_ISA_COUNTERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace kiln::vta {

// The counters, numbered as the machine's registers.
enum class Counter : uint8_t {
#define KILN_VTA_COUNTER(id, unit, name, what) k##id,
#include "kiln/targets/vta/isa/counters.def"
#undef KILN_VTA_COUNTER
};

// The unit that a counter belongs to, its name, and a description.
struct CounterInfo {
  std::string_view unit, name, what;
};
// Returns one row per counter, in the order of Counter.
std::span<const CounterInfo> CounterTable();

inline constexpr size_t kCounters = 0
#define KILN_VTA_COUNTER(id, unit, name, what) +1
#include "kiln/targets/vta/isa/counters.def"
#undef KILN_VTA_COUNTER
    ;

// One value per counter: cycles, events or bytes, as counters.def says.
class Counters {
 public:
  uint64_t& operator[](Counter counter) { return values_[static_cast<size_t>(counter)]; }
  uint64_t operator[](Counter counter) const { return values_[static_cast<size_t>(counter)]; }
  const std::array<uint64_t, kCounters>& values() const { return values_; }
  // Returns the accumulator elements written by the GEMM and ALU units, one per step: register
  // 0x24.
  uint64_t accumulator_writes() const {
    return (*this)[Counter::kGemmSteps] + (*this)[Counter::kAluSteps] +
           (*this)[Counter::kResetSteps];
  }
  Counters& operator+=(const Counters& other) {
    for (size_t i = 0; i < kCounters; ++i) values_[i] += other.values_[i];
    return *this;
  }
  bool operator==(const Counters&) const = default;

 private:
  std::array<uint64_t, kCounters> values_{};
};

// The time of a launch that has ended without a fault.
struct RunTime {
  uint64_t cycles = 0;  // from the first cycle after launch to FINISH's retirement, both included
  Counters counters;
  bool operator==(const RunTime&) const = default;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_ISA_COUNTERS_H_
