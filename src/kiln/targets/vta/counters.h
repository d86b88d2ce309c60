// What a launch took: cycles, and the counters of counters.def.
#ifndef KILN_TARGETS_VTA_COUNTERS_H_
#define KILN_TARGETS_VTA_COUNTERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace kiln::vta {

// Numbers are those of the machine's registers.
enum class Counter : uint8_t {
#define KILN_VTA_COUNTER(id, unit, name, what) k##id,
#include "kiln/targets/vta/counters.def"
#undef KILN_VTA_COUNTER
};

struct CounterInfo {
  std::string_view unit, name, what;
};
// A row each, in order.
std::span<const CounterInfo> CounterTable();

inline constexpr size_t kCounters = 0
#define KILN_VTA_COUNTER(id, unit, name, what) +1
#include "kiln/targets/vta/counters.def"
#undef KILN_VTA_COUNTER
    ;

class Counters {
 public:
  uint64_t& operator[](Counter counter) { return values_[static_cast<size_t>(counter)]; }
  uint64_t operator[](Counter counter) const { return values_[static_cast<size_t>(counter)]; }
  const std::array<uint64_t, kCounters>& values() const { return values_; }
  // Accumulator elements written by the GEMM and ALU units, register 0x24: one a step.
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

// The time of a launch that came to its end.
struct RunTime {
  uint64_t cycles = 0;  // from the first cycle after launch to FINISH's retirement, both included
  Counters counters;
  bool operator==(const RunTime&) const = default;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_COUNTERS_H_
