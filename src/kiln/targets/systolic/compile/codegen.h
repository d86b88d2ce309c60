// Turns lowered kernels into a program: chooses tilings, lays out constants as the machine reads
// them, and plans the memory.
#ifndef KILN_TARGETS_SYSTOLIC_COMPILE_CODEGEN_H_
#define KILN_TARGETS_SYSTOLIC_COMPILE_CODEGEN_H_

#include <memory>
#include <vector>

#include "kiln/support/buffer.h"
#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/systolic/compile/lower.h"
#include "kiln/targets/systolic/isa/program.h"

namespace kiln::systolic {

// Returns Convolution::weight_bits for weights that an instruction of this precision reads: the
// fewest bits with which no row takes more beats of the port than it does in whole bytes.
uint8_t BitsOfPackedWeights(const WeightCodes& weights, const Config& config, int precision);

// Returns weight codes in the order in which the machine fetches them (WeightLayout::kTiled, or
// depthwise words), for the tiling in `instruction`: [batch][column tile][row tile][row][column];
// depthwise [column tile][tap][lane].
LargeBytes TileWeights(const WeightCodes& weights, const Instruction& instruction,
                       const Config& config);

// Returns the block scales of the weights: [batch][column tile][row tile][lane].
LargeBytes TileScales(const WeightCodes& weights, const Instruction& instruction,
                      const Config& config);

// A memory region that is in use from position `first` to position `last` of the program.
struct Lifetime {
  int64_t bytes = 0;
  int first = 0, last = 0;
};
// Returns an address for each region: multiples of `alignment` from `base` on, so that no two
// regions in use at the same time overlap. Best fit, in order of decreasing size.
std::vector<uint64_t> PlanMemory(const std::vector<Lifetime>& lifetimes, uint64_t base,
                                 uint64_t alignment);

// Generates the program, with tilings chosen by options.objective. Errors, with names: a layer whose
// tiling does not fit the buffers, and constants and activations that do not fit the memory of the
// design point.
StatusOr<std::unique_ptr<SystolicProgram>> Generate(Lowered lowered, const Graph& graph,
                                                    const Config& config,
                                                    const CompileOptions& options);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_COMPILE_CODEGEN_H_
