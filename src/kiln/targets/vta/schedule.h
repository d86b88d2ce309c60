// How a matrix layer is cut into tiles: search and certificate.
//
// With two or more virtual threads, chunks and tiles take turns in parts of the buffers, so that loads, GEMM, ALU and
// stores of neighbours overlap; with one, each waits for the one before.
#ifndef KILN_TARGETS_VTA_SCHEDULE_H_
#define KILN_TARGETS_VTA_SCHEDULE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "kiln/targets/interface/program.h"
#include "kiln/targets/vta/layers.h"
#include "kiln/targets/vta/tiles.h"

namespace kiln::vta {

MatrixShape ShapeOf(const MatrixLayer& layer, const Network& network);

// Cycles from the first instruction to the last store, by a recurrence over chunks and tiles (docs/vta-machine.md's
// times, roughly). Nothing: the tiling does not fit.
std::optional<int64_t> EstimateCycles(const MatrixShape& shape, const MatrixTiling& tiling,
                                      const Config& config);

// A bound of what EstimateCycles says of a tiling without ramp and drain, in a fraction of its time: the first load,
// the GEMM's steps, and the last tile's result; or the ALU's work.
int64_t LeastEstimate(const MatrixShape& shape, const MatrixTiling& tiling, const Config& config);

struct RankedTiling {
  MatrixTiling tiling;
  int64_t cycles = 0;  // estimated
  size_t number = 0;   // by which those alike are told apart
};
// Elements of a tile, in powers of two.
int SizeClassOf(const MatrixTiling& tiling);

// The best tilings, some of each size of tiles, and what can be made of their begins and ends (MatrixTiling::ramp,
// drain), with so many virtual threads (1 to kMaxThreads; 0: whichever is better), best first; none: nothing fits. How
// many micro-ops they need is not known here: where none of these has room for its own, kEvery ranks also those that
// were left out because by LeastEstimate they cannot be among the best. `effort`: how many tilings are looked at, as a
// share of what gives about the best, up to 1.
enum class Ranked : uint8_t { kBest, kEvery };
std::vector<RankedTiling> RankTilings(const MatrixShape& shape, const Config& config, int threads,
                                      Ranked which = Ranked::kBest, double effort = 1);
// Tilings that differ from one in a single choice and fit on chip, with as many virtual threads.
std::vector<MatrixTiling> NeighboursOf(const MatrixShape& shape, const MatrixTiling& tiling,
                                       const Config& config);
Certificate CertificateOf(const MatrixShape& shape, const Config& config, int64_t cycles);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_SCHEDULE_H_
