// Which vector instructions this processor has; kernels with several bodies ask here at run time.
#ifndef KILN_SUPPORT_CPU_H_
#define KILN_SUPPORT_CPU_H_

#include <string_view>

#include "kiln/support/status.h"

namespace kiln {

enum class CpuLevel { kPortable, kAvx2, kAvx512Vnni, kAvx512Bf16 };
inline constexpr CpuLevel kCpuLevels[] = {
    CpuLevel::kPortable, CpuLevel::kAvx2, CpuLevel::kAvx512Vnni,
    CpuLevel::kAvx512Bf16};  // each has the instructions of those before it
inline constexpr CpuLevel kHighestCpuLevel = CpuLevel::kAvx512Bf16;

// The best level of this processor, or the lower one that the environment variable KILN_CPU (portable, avx2,
// avx512vnni, avx512bf16) or LimitCpuLevel asks for. Every level gives the same bits. A KILN_CPU that
// CheckCpuEnvironment refuses counts as absent.
CpuLevel GetCpuLevel();
// Errors: KILN_CPU is set and is not the name of a level. Programs call this before they do any work.
Status CheckCpuEnvironment();
void LimitCpuLevel(
    CpuLevel highest);  // for tests; calling it with kHighestCpuLevel lifts the limit
std::string_view NameOf(CpuLevel level);

}  // namespace kiln

#endif  // KILN_SUPPORT_CPU_H_
