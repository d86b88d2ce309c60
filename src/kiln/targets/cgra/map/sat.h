// A second opinion: the mapping problem as a formula for the SAT solver CryptoMiniSat. Tiles are
// one-hot and, on machines of one row, order-encoded, too. Issue cycles are order-encoded: a
// variable says t(v) <= k.
#ifndef KILN_TARGETS_CGRA_MAP_SAT_H_
#define KILN_TARGETS_CGRA_MAP_SAT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "kiln/targets/cgra/map/decide.h"
#include "kiln/targets/cgra/map/mapper.h"

namespace kiln::cgra {

// Decides by the solver, with one thread and a fixed seed; it ignores `seed`. The formula of an
// interval serves latencies up to two cycles lower, as assumptions. A step is a conflict.
std::unique_ptr<Decider> MakeSatDecider(const Problem& problem, uint64_t seed);

// Least initiation interval, then least latency, by the solver.
std::unique_ptr<Mapper> MakeSatMapper();

// Returns the version of CryptoMiniSat that the program is linked with.
std::string SatSolverVersion();

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_MAP_SAT_H_
