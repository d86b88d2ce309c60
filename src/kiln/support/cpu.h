// The vector instruction sets of the processor, detected at run time.
//
// Kernels that have one body per level (portable, AVX2, AVX-512) call GetCpuLevel to choose the
// body.
#ifndef KILN_SUPPORT_CPU_H_
#define KILN_SUPPORT_CPU_H_

#include <string_view>

#include "kiln/support/status.h"

namespace kiln {

// A set of vector instructions. Each level includes the instructions of all lower levels.
//   kPortable    plain C++; the only level of processors other than x86-64
//   kAvx2        AVX2 and FMA
//   kAvx512Vnni  AVX-512 F, BW, VL, DQ and VNNI
//   kAvx512Bf16  AVX-512 BF16
enum class CpuLevel { kPortable, kAvx2, kAvx512Vnni, kAvx512Bf16 };
// All levels in ascending order.
inline constexpr CpuLevel kCpuLevels[] = {CpuLevel::kPortable, CpuLevel::kAvx2,
                                          CpuLevel::kAvx512Vnni, CpuLevel::kAvx512Bf16};
inline constexpr CpuLevel kHighestCpuLevel = CpuLevel::kAvx512Bf16;

// Returns the highest level that the processor supports, or a lower one if the environment variable
// KILN_CPU (portable, avx2, avx512vnni, avx512bf16) or LimitCpuLevel requests it. All levels
// compute bit-identical results. A KILN_CPU that CheckCpuEnvironment rejects is ignored.
CpuLevel GetCpuLevel();
// Checks the environment. Errors: KILN_CPU is set but does not name a level. Programs call this
// before any other work.
Status CheckCpuEnvironment();
// Limits the level that GetCpuLevel returns; kHighestCpuLevel removes the limit. For tests.
void LimitCpuLevel(CpuLevel highest);
// Returns the name of a level as KILN_CPU spells it.
std::string_view NameOf(CpuLevel level);

}  // namespace kiln

#endif  // KILN_SUPPORT_CPU_H_
