// Cycles of the machine's steps (docs/systolic.md, "Time"), and the closed form for a single
// instruction. Memory accesses take the beats that they have at the instruction's addresses
// (hardware/axi_port.h).
//
// The event-driven cycle level takes the durations of steps from here and finds stalls by
// simulation; EstimateCycles computes the same total by a recurrence over the steps. A test checks
// that the two are equal.
#ifndef KILN_TARGETS_SYSTOLIC_ISA_TIMING_H_
#define KILN_TARGETS_SYSTOLIC_ISA_TIMING_H_

#include <cstdint>

#include "kiln/targets/systolic/config/config.h"
#include "kiln/targets/systolic/isa/isa.h"
#include "kiln/targets/systolic/isa/walk.h"

namespace kiln::systolic {

// Returns the address at a signed distance from `base`.
inline uint64_t Offset(uint64_t base, int64_t offset) {
  return base + static_cast<uint64_t>(offset);
}

// Returns the beats of a stream for one word of `elements` valid elements, the first at `address`,
// through a port of `port_bytes`. With block scales, a word has at least one beat for each of its
// scale blocks, because one beat brings one scale.
int64_t StreamBeats(const Stream& stream, const Config& config, uint64_t address, int64_t elements,
                    int64_t port_bytes);

// Returns the column tiles that leave an accumulation bank together, pixel by pixel: those that a
// scale block of the output spans.
int32_t DrainColumns(const VectorProgram& program, const Config& config);

// Returns the fetch cycles of row group `group` of a pixel tile (matrix), or of the fill that
// begins with column tile `group` (depthwise).
int64_t GroupFetchCycles(const Instruction& instruction, const Config& config,
                         const Geometry& geometry, const Visit& visit, int32_t group);
// Returns the fetch cycles of one weight tile of batch `batch`; depthwise: of the taps of one
// column tile.
int64_t WeightFetchCycles(const Instruction& instruction, const Config& config, int32_t batch,
                          int32_t row_tile, int32_t column_tile);
// Returns the cycles to load a weight tile into the shadow registers.
int64_t WeightLoadCycles(const Config& config);
// Returns the fetch cycles of the channel parameters of a block.
int64_t ParameterFetchCycles(const Instruction& instruction, const Config& config,
                             const Visit& visit);
// Return the beats of the last request of such a fetch (1 if it requests nothing). A fetch unit
// finishes an instruction in the first of these beats.
int64_t LastGroupBeats(const Instruction& instruction, const Config& config,
                       const Geometry& geometry, const Visit& visit, int32_t group);
int64_t LastWeightBeats(const Instruction& instruction, const Config& config, int32_t batch,
                        int32_t row_tile, int32_t column_tile);
int64_t LastParameterBeats(const Instruction& instruction, const Config& config,
                           const Visit& visit);
// Returns the cycles from the first beat of a weight tile's last request to the end of
// WeightFetchCycles: the request's beats, or more where block scales take longer than the weights.
int64_t CyclesFromLastWeights(const Instruction& instruction, const Config& config, int32_t batch,
                              int32_t row_tile, int32_t column_tile);
// Returns the cycles of the depthwise unit for one pixel tile. A pixel takes
// DepthwisePixelCycles: a cycle for each step of its `taps`, and with rounded sums the next step
// waits for the sum of the step before.
int64_t DepthwiseCycles(const Instruction& instruction, const Config& config, const Visit& visit);
int64_t DepthwisePixelCycles(const Config& config, int64_t taps);
// Returns the cycles from a step of the depthwise unit to its sums at the accumulation buffer: the
// columns of the array, or with rounded sums an addition after the other.
int64_t DepthwiseLatency(const Config& config);
// Returns the cycles from the end of the last pass (or of the depthwise step) until the last
// accumulator is stored in its bank.
int64_t SettleCycles(const Instruction& instruction, const Config& config);

// Vector unit. Returns the cycles of the pipeline from operand to output; with block scales, from a
// scale block's last word to its output.
int64_t PipelineDepth(const VectorProgram& program, const Config& config);
// Returns the same depth without the part that block scales add.
int64_t LaneDepth(const VectorProgram& program, const Config& config);
// Returns whether pass `pass` reads memory operand `operand` for every word.
bool PassReads(const VectorProgram& program, size_t pass, size_t operand);
// Returns whether any stage or pass reads a memory operand.
bool ReadsMemory(const VectorProgram& program);
// Returns the number of positions inside the image along one axis of a pooling window, for output
// index `output`.
int64_t WindowPlaces(int64_t output, int32_t window, int32_t stride, int32_t dilation, int32_t pad,
                     int32_t limit);
// Returns how many rows of a program with several passes go through a pass together: as many as the
// row buffer and the design point allow.
int64_t RowsInFlight(const VectorProgram& program, const Config& config);
// Returns the cycles that such a set of rows waits for its results after pass `pass` (0 for
// programs with one pass).
int64_t PassGap(const VectorProgram& program, const Config& config, int pass);

// The time of a sequence of vector words, in cycles from the cycle in which it may begin.
struct VectorTime {
  int64_t busy = 0;      // until the unit is free again
  int64_t finished = 0;  // until the last byte written is in memory
};
// Returns the time of the drain of a block.
VectorTime DrainTime(const Instruction& instruction, const Config& config, const Visit& visit);
// Returns the time of a whole vector instruction.
VectorTime VectorInstructionTime(const VectorProgram& program, const Config& config);

// Return lower bounds of the same quantities over all addresses.
int64_t LeastPackedWordBeats(const Instruction& instruction, const Config& config,
                             int32_t row_tile);
int64_t LeastWeightFetchCycles(const Instruction& instruction, const Config& config,
                               int32_t row_tile, int32_t column_tile);
// Returns the lower bound for a word with `elements` valid elements in pass `pass`, without a
// window.
int64_t LeastWordCycles(const VectorProgram& program, const Config& config, int pass,
                        int64_t elements);

// Returns the cycles of one instruction alone on an idle machine, from the cycle in which its units
// receive it until its last byte is in memory. Equals the count of the cycle level. If the result
// is at least `enough`, it may be any number of at least `enough`: a search that already has an
// instruction of `enough` cycles need not know how much longer this one is.
int64_t EstimateCycles(const Instruction& instruction, const Config& config,
                       int64_t enough = INT64_MAX);

inline constexpr int kInstructionWordBytes = 16;
// Returns the cycles from one instruction word of the program to the next, even if more have been
// prefetched: the beats of one word. Time therefore does not depend on how far ahead the command
// processor has read.
int64_t WordCycles(const Config& config);
// Returns the cycles that the command processor takes for an instruction of `encoded_bytes` bytes:
// its instruction words, and one cycle to hand it on.
int64_t DispatchCycles(const Config& config, int64_t encoded_bytes);
// Returns the cycles of a program that consists of this instruction: the count of the cycle level.
int64_t ProgramCycles(const Instruction& instruction, const Config& config);
// Cycles from the cycle in which a unit finishes an instruction to the one in which the next
// instruction is in the freed queue entry.
inline constexpr int64_t kCommandRoomCycles = 1;
// Cycles from the one in which an instruction is available to input fetch to its first request:
// addresses are added and cut to the image.
inline constexpr int64_t kInputRequestCycles = 2;
// Cycles from the one in which an instruction is available to the vector unit to the first slot:
// the first word is listed.
inline constexpr int64_t kFirstSlotCycles = 1;

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_ISA_TIMING_H_
