// The processor's peak rates of multiply-accumulates, to compare kernels with.
#ifndef BENCH_PEAK_H_
#define BENCH_PEAK_H_

#include "kiln/support/cpu.h"

namespace kiln::bench {

// A loop of independent multiply-accumulates on registers, and the number that one call does on one
// thread. `run` is null on processors without vector code here.
struct Peak {
  void (*run)() = nullptr;
  double macs = 0;
};
Peak Int16Peak(CpuLevel level);  // vpmaddwd and vpaddd: two int16 products per int32 lane
Peak Fp32Peak(CpuLevel level);   // vfmadd231ps

}  // namespace kiln::bench

#endif  // BENCH_PEAK_H_
