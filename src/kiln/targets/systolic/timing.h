// Cycles of the machine's steps (docs/systolic.md, "Time"), and the closed form for one instruction alone. What goes
// through a memory port takes its beats at the addresses that the instruction names (hardware/axi_port.h).
//
// The event-driven cycle level takes the durations of single steps from here and finds the waiting by simulation;
// EstimateCycles finds the same total by a recurrence over the steps. A test holds the two equal.
#ifndef KILN_TARGETS_SYSTOLIC_TIMING_H_
#define KILN_TARGETS_SYSTOLIC_TIMING_H_

#include <cstdint>

#include "kiln/targets/systolic/config.h"
#include "kiln/targets/systolic/isa.h"
#include "kiln/targets/systolic/walk.h"

namespace kiln::systolic {

// Beats of a stream for one word of `elements` valid elements, the first at `address`, through a port of `port_bytes`;
// with block scales as many at least as the word has blocks, one scale a beat.
int64_t StreamBeats(const Stream& stream, const Config& config, uint64_t address, int64_t elements,
                    int64_t port_bytes);

// Column tiles that leave an accumulation bank together, pixel by pixel: those that an output's scale block spans.
int32_t DrainColumns(const VectorProgram& program, const Config& config);

// Fetch cycles of row group `group` of a pixel tile (matrix), or of the fill that begins with column tile `group`
// (depthwise).
int64_t GroupFetchCycles(const Instruction& instruction, const Config& config,
                         const Geometry& geometry, const Visit& visit, int32_t group);
// Fetch cycles of one weight tile of batch `batch`; depthwise: of the taps of one column tile.
int64_t WeightFetchCycles(const Instruction& instruction, const Config& config, int32_t batch,
                          int32_t row_tile, int32_t column_tile);
// Cycles that a weight tile takes into the shadow registers.
int64_t WeightLoadCycles(const Config& config);
// Fetch cycles of the channel parameters of a block.
int64_t ParameterFetchCycles(const Instruction& instruction, const Config& config,
                             const Visit& visit);
// Beats of the last request of such a fetch (1 where it asks for nothing): a fetch unit is through with an instruction
// in the first of them.
int64_t LastGroupBeats(const Instruction& instruction, const Config& config,
                       const Geometry& geometry, const Visit& visit, int32_t group);
int64_t LastWeightBeats(const Instruction& instruction, const Config& config, int32_t batch,
                        int32_t row_tile, int32_t column_tile);
int64_t LastParameterBeats(const Instruction& instruction, const Config& config,
                           const Visit& visit);
// Cycles of the depthwise unit for one pixel tile.
int64_t DepthwiseCycles(const Instruction& instruction, const Config& config, const Visit& visit);
// Cycles from the end of the last pass (or of the depthwise step) until the last accumulator stands in its bank.
int64_t SettleCycles(const Instruction& instruction, const Config& config);

// Vector unit. Cycles of the pipeline from operand to output; with block scales, from a block's last word to its
// output.
int64_t PipelineDepth(const VectorProgram& program, const Config& config);
// The same without what block scales add.
int64_t LaneDepth(const VectorProgram& program, const Config& config);
// Whether pass `pass` reads memory operand `operand` for every word.
bool PassReads(const VectorProgram& program, size_t pass, size_t operand);
// Whether any stage or pass reads a memory operand.
bool ReadsMemory(const VectorProgram& program);
// Places of one axis of a pooling window that lie inside the image, for output index `output`.
int64_t WindowPlaces(int64_t output, int32_t window, int32_t stride, int32_t dilation, int32_t pad,
                     int32_t limit);
// How many rows of a program with several passes go through a pass together: as many as the row buffer and the design
// point allow.
int64_t RowsInFlight(const VectorProgram& program, const Config& config);
// What such a group of rows waits after pass `pass` for its results (0 for single-pass programs).
int64_t PassGap(const VectorProgram& program, const Config& config, int pass);

// The time of a sequence of vector words from the moment it may begin.
struct VectorTime {
  int64_t busy = 0;      // until the unit is free again
  int64_t finished = 0;  // until the last byte that it wrote is in memory
};
// The drain of a block.
VectorTime DrainTime(const Instruction& instruction, const Config& config, const Visit& visit);
// A whole vector instruction.
VectorTime VectorInstructionTime(const VectorProgram& program, const Config& config);

// The same at addresses of which nothing is known: no address makes it less.
int64_t LeastPackedWordBeats(const Instruction& instruction, const Config& config,
                             int32_t row_tile);
int64_t LeastWeightFetchCycles(const Instruction& instruction, const Config& config,
                               int32_t row_tile, int32_t column_tile);
// Of a word with `elements` valid elements in pass `pass`, without a window.
int64_t LeastWordCycles(const VectorProgram& program, const Config& config, int pass,
                        int64_t elements);

// Cycles of one instruction alone on an idle machine, from the moment its units receive it until its last byte is in
// memory. Exactly what the cycle level counts for it.
int64_t EstimateCycles(const Instruction& instruction, const Config& config);

inline constexpr int kInstructionWordBytes = 16;
// Cycles from one word of the program to the next, however many wait: the beats that one has, so that time does not
// depend on how far ahead they have been read.
int64_t WordCycles(const Config& config);
// Cycles that the command processor takes for an instruction of so many encoded bytes: its words and one cycle to hand
// it on.
int64_t DispatchCycles(const Config& config, int64_t encoded_bytes);
// Cycles of a program of this instruction alone: what the cycle level counts for it.
int64_t ProgramCycles(const Instruction& instruction, const Config& config);
// From the cycle in which a unit is through with an instruction to the one in which the next stands in its place.
inline constexpr int64_t kCommandRoomCycles = 1;
// Instructions whose stages the vector unit can hold: so many may have been decoded and not be finished.
inline int64_t StageMemories(const Config& config) {
  return int64_t{config.command_queue_depth} + 8;
}

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_TIMING_H_
