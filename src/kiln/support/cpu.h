// Which vector instructions this processor has; kernels with several bodies ask here at run time.
#ifndef KILN_SUPPORT_CPU_H_
#define KILN_SUPPORT_CPU_H_

#include <string_view>

namespace kiln {

enum class CpuLevel { kPortable, kAvx2, kAvx512Vnni };

// The best level of this processor, or the lower one that the environment variable KILN_CPU (portable, avx2,
// avx512vnni) or LimitCpuLevel asks for. Every level gives the same bits.
CpuLevel GetCpuLevel();
void LimitCpuLevel(CpuLevel highest);  // for tests; calling it with the top level lifts the limit
std::string_view NameOf(CpuLevel level);

}  // namespace kiln

#endif  // KILN_SUPPORT_CPU_H_
