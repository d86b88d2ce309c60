// Detects the vector instructions of the processor once per process, with an override by KILN_CPU.

#include "kiln/support/cpu.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>

namespace kiln {
namespace {

// Returns the highest level that the processor supports, lowered to KILN_CPU if that is set.
CpuLevel Detect() {
  CpuLevel level = CpuLevel::kPortable;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) level = CpuLevel::kAvx2;
  if (level == CpuLevel::kAvx2 && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vnni")) {
    level = CpuLevel::kAvx512Vnni;
  }
  if (level == CpuLevel::kAvx512Vnni && __builtin_cpu_supports("avx512bf16"))
    level = CpuLevel::kAvx512Bf16;
#endif
  // KILN_CPU can only lower the level. CheckCpuEnvironment reports names that match no level.
  if (const char* wish = std::getenv("KILN_CPU")) {
    for (CpuLevel candidate : kCpuLevels) {
      if (wish == NameOf(candidate)) level = std::min(level, candidate);
    }
  }
  return level;
}

// The limit that LimitCpuLevel set. Relaxed ordering suffices: the value guards no other data.
std::atomic<CpuLevel> limit{kHighestCpuLevel};

}  // namespace

CpuLevel GetCpuLevel() {
  // The processor and KILN_CPU are queried once; only LimitCpuLevel changes the result afterwards.
  static const CpuLevel detected = Detect();
  return std::min(detected, limit.load(std::memory_order_relaxed));
}

// A wrong name must not be ignored silently: the user would measure another level than requested.
Status CheckCpuEnvironment() {
  const char* wish = std::getenv("KILN_CPU");
  if (wish == nullptr) return OkStatus();
  std::string names;
  for (const CpuLevel level : kCpuLevels) {
    if (wish == NameOf(level)) return OkStatus();
    names += (names.empty() ? "" : ", ") + std::string(NameOf(level));
  }
  return ErrorAt("", "KILN_CPU", "'" + std::string(wish) + "' is not a processor level",
                 "one of: " + names);
}

void LimitCpuLevel(CpuLevel highest) { limit.store(highest, std::memory_order_relaxed); }

std::string_view NameOf(CpuLevel level) {
  switch (level) {
    case CpuLevel::kPortable:
      return "portable";
    case CpuLevel::kAvx2:
      return "avx2";
    case CpuLevel::kAvx512Vnni:
      return "avx512vnni";
    case CpuLevel::kAvx512Bf16:
      return "avx512bf16";
  }
  return "?";
}

}  // namespace kiln
