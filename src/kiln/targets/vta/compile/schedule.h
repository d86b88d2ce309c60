// The schedule of a matrix layer: ranks its tilings by estimated time and computes its certificate.
//
// With two or more virtual threads, chunks and tiles alternate between parts of the buffers, so
// that loads, GEMM, ALU and stores of neighbouring tiles overlap. With one, each waits for the
// previous one.
#ifndef KILN_TARGETS_VTA_COMPILE_SCHEDULE_H_
#define KILN_TARGETS_VTA_COMPILE_SCHEDULE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "kiln/targets/interface/program.h"
#include "kiln/targets/vta/compile/layers.h"
#include "kiln/targets/vta/compile/tiles.h"

namespace kiln::vta {

// Returns the properties of a layer that its schedule depends on.
MatrixShape ShapeOf(const MatrixLayer& layer, const Network& network);

// Estimates the cycles from the first instruction to the last store, by a recurrence over chunks
// and tiles that approximates the timing of docs/vta-machine.md. Returns nullopt if the tiling does
// not fit on chip.
std::optional<int64_t> EstimateCycles(const MatrixShape& shape, const MatrixTiling& tiling,
                                      const Config& config);

// Returns a lower bound of EstimateCycles for a tiling without ramp and drain, in a fraction of its
// time: the first load, the GEMM's steps and the last tile's result, or the ALU's work.
int64_t LeastEstimate(const MatrixShape& shape, const MatrixTiling& tiling, const Config& config);

// A tiling with its estimate.
struct RankedTiling {
  MatrixTiling tiling;
  int64_t cycles = 0;  // estimated
  size_t number = 0;   // order of tilings with equal estimates
};
// Returns the size class of a tiling: the bit width of its tiles' number of elements.
int SizeClassOf(const MatrixTiling& tiling);

// Returns the best tilings, some of each size of tiles, and variants of the best with other ramps
// and drains (MatrixTiling::ramp, drain), sorted by estimate, best first; empty if nothing fits.
// `threads` is the number of virtual threads (1 to kMaxThreads; 0: whichever is better). The number
// of micro-ops is not considered. If those of no returned tiling fit, kEvery also ranks the tilings
// that were left out because LeastEstimate excludes them from the best. `effort` is the share of
// tilings that are examined, up to 1, which finds about the best.
enum class Ranked : uint8_t { kBest, kEvery };
std::vector<RankedTiling> RankTilings(const MatrixShape& shape, const Config& config, int threads,
                                      Ranked which = Ranked::kBest, double effort = 1);
// Returns the tilings that differ from `tiling` in a single choice and fit on chip, with the same
// number of virtual threads.
std::vector<MatrixTiling> NeighboursOf(const MatrixShape& shape, const MatrixTiling& tiling,
                                       const Config& config);
// Returns the certificate of a layer whose launch takes `cycles` cycles. Its bound is the greatest
// of the GEMM steps, the beats of data that must be read once, and the beats written.
Certificate CertificateOf(const MatrixShape& shape, const Config& config, int64_t cycles);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_COMPILE_SCHEDULE_H_
