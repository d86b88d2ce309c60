// The cycle level: the units of docs/systolic.md as processes that exchange buffer banks. It
// computes both the bits and the time.
//
// Data take the machine's own path: bytes are fetched from memory into banks, weights are shifted
// into the array, partial sums grow in accumulation banks pass by pass, and the vector unit reads
// them word by word. The only code shared with the functional level is the arithmetic of single
// numbers (arithmetic.h).
// single numbers (arithmetic.h).
#ifndef KILN_TARGETS_SYSTOLIC_SIMULATE_CYCLE_CYCLE_H_
#define KILN_TARGETS_SYSTOLIC_SIMULATE_CYCLE_CYCLE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kiln/hardware/axi_port_model.h"
#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/systolic/config/config.h"
#include "kiln/targets/systolic/isa/isa.h"
#include "kiln/targets/systolic/isa/program.h"

namespace kiln::systolic {

// Runs instructions (without kEnd, which is implied) on `memory`, addresses [0, memory.size()), and
// returns their trace. Trace::kernels holds one entry per instruction in program order; entries are
// contiguous and cover the whole time. `rtl` describes the memory behind the ports, whose stalls
// are not followed. The encoded instructions are at `address`, which matters behind a DRAM.
// Errors: an instruction that CheckInstruction refuses; an access outside `memory`.
StatusOr<Trace> RunInstructions(const Config& config, std::span<const Instruction> instructions,
                                std::span<uint8_t> memory, const RtlOptions& rtl = {},
                                uint64_t address = 0);
// Does the same behind a simulated memory of this timing, without its stalls.
StatusOr<Trace> RunInstructionsBehind(const hardware::AxiTiming& timing, const Config& config,
                                      std::span<const Instruction> instructions, uint64_t address,
                                      std::span<uint8_t> memory);

// Runs a program on every image of the batch (Accelerator::Run at Level::kCycle). Host steps take
// no cycles.
StatusOr<RunResult> RunCycle(const SystolicProgram& program, const Batch& batch,
                             const RunOptions& options);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_SIMULATE_CYCLE_CYCLE_H_
