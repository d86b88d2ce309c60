// The peak loops, in assembly.
#include "bench/peak.h"

namespace kiln::bench {

#if defined(__x86_64__)
namespace {

// Twelve independent sums, in assembly so that no compiler notices that all products are equal.
constexpr int kRepeats = 100000;
#define KILN_TWELVE(PAIR) \
  PAIR(0) PAIR(1) PAIR(2) PAIR(3) PAIR(4) PAIR(5) PAIR(6) PAIR(7) PAIR(8) PAIR(9) PAIR(10) PAIR(11)
#define KILN_CLOBBERS                                                                      \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
      "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"
#define KILN_LOOP(name, target_name, PAIR)                                                      \
  __attribute__((target(target_name))) void name() {                                            \
    for (int i = 0; i < kRepeats; ++i) __asm__ volatile(KILN_TWELVE(PAIR) : : : KILN_CLOBBERS); \
  }
#define KILN_MADD_YMM(n) \
  "vpmaddwd %%ymm14, %%ymm15, %%ymm12\n\tvpaddd %%ymm12, %%ymm" #n ", %%ymm" #n "\n\t"
#define KILN_MADD_ZMM(n) \
  "vpmaddwd %%zmm14, %%zmm15, %%zmm12\n\tvpaddd %%zmm12, %%zmm" #n ", %%zmm" #n "\n\t"
#define KILN_FMA_YMM(n) "vfmadd231ps %%ymm14, %%ymm15, %%ymm" #n "\n\t"
#define KILN_FMA_ZMM(n) "vfmadd231ps %%zmm14, %%zmm15, %%zmm" #n "\n\t"
KILN_LOOP(Int16PeakYmm, "avx2", KILN_MADD_YMM)
KILN_LOOP(Int16PeakZmm, "avx512bw", KILN_MADD_ZMM)
KILN_LOOP(Fp32PeakYmm, "avx2,fma", KILN_FMA_YMM)
KILN_LOOP(Fp32PeakZmm, "avx512f", KILN_FMA_ZMM)

constexpr double kSums = 12.0 * kRepeats;

}  // namespace

Peak Int16Peak(CpuLevel level) {
  if (level >= CpuLevel::kAvx512Vnni) return {Int16PeakZmm, 32 * kSums};
  return level == CpuLevel::kAvx2 ? Peak{Int16PeakYmm, 16 * kSums} : Peak{};
}

Peak Fp32Peak(CpuLevel level) {
  if (level >= CpuLevel::kAvx512Vnni) return {Fp32PeakZmm, 16 * kSums};
  return level == CpuLevel::kAvx2 ? Peak{Fp32PeakYmm, 8 * kSums} : Peak{};
}
#else
Peak Int16Peak(CpuLevel) { return {}; }
Peak Fp32Peak(CpuLevel) { return {}; }
#endif

}  // namespace kiln::bench
