// What the processor can do at most, to measure kernels against.
#ifndef BENCH_PEAK_H_
#define BENCH_PEAK_H_

#include "kiln/support/cpu.h"

namespace kiln::bench {

// A loop of independent multiply-accumulates on registers, and how many of them one call does on one thread. `run` is
// null for processor levels without vector code here.
struct Peak {
  void (*run)() = nullptr;
  double macs = 0;
};
Peak Int16Peak(CpuLevel level);  // vpmaddwd and vpaddd: two products of int16 in each lane of int32
Peak Fp32Peak(CpuLevel level);   // vfmadd231ps

}  // namespace kiln::bench

#endif  // BENCH_PEAK_H_
