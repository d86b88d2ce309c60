// From lowered kernels to a program: tilings, constants in the layout that the machine reads, the memory plan.
#ifndef KILN_TARGETS_SYSTOLIC_CODEGEN_H_
#define KILN_TARGETS_SYSTOLIC_CODEGEN_H_

#include <memory>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/systolic/lower.h"
#include "kiln/targets/systolic/program.h"

namespace kiln::systolic {

// Codes in the order in which the machine fetches them (WeightLayout::kTiled, or depthwise words), for the tiling that
// stands in `instruction`: [batch][column tile][row tile][row][column]; depthwise [column tile][tap][lane].
std::vector<uint8_t> TileWeights(const WeightCodes& weights, const Instruction& instruction,
                                 const Config& config);

// Their block scales: [batch][column tile][row tile][lane].
std::vector<uint8_t> TileScales(const WeightCodes& weights, const Instruction& instruction,
                                const Config& config);

// A stretch of memory that is in use from step `first` to step `last`.
struct Lifetime {
  int64_t bytes = 0;
  int first = 0, last = 0;
};
// Addresses, `alignment` apart from `base` on, such that no two stretches alive at once overlap. Best fit, in order of
// falling size.
std::vector<uint64_t> PlanMemory(const std::vector<Lifetime>& lifetimes, uint64_t base,
                                 uint64_t alignment);

// Errors: what the memory of the design point cannot hold, by name.
StatusOr<std::unique_ptr<SystolicProgram>> Generate(Lowered lowered, const Graph& graph,
                                                    const Config& config);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_CODEGEN_H_
