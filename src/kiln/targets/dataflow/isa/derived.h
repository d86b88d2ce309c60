// Sizes and times that follow from a stage: latencies, steps, bits of sums. The simulators, the
// cost model and the emitter use these functions; `rtl/dataflow` computes the same numbers as
// localparams, and the tests that compare the levels cycle by cycle hold the two to each other.
#ifndef KILN_TARGETS_DATAFLOW_ISA_DERIVED_H_
#define KILN_TARGETS_DATAFLOW_ISA_DERIVED_H_

#include <cstdint>

#include "kiln/targets/dataflow/isa/pipeline.h"

namespace kiln::dataflow {

// The numbers of a window stage's loops (docs/dataflow-machine.md, "Window"). CG, G, OG, IG, R, n
// and I are the names of that document.
struct WindowLoops {
  int64_t words_per_pixel = 1;    // CG
  int64_t groups = 1;             // G
  int64_t passes = 1;             // OG
  int64_t words_per_group = 1;    // IG
  int64_t results_per_pixel = 1;  // that reserve their words
  int64_t reserve = 1;            // R, words of a result
  int64_t first_insertions = 1;   // n of the first pixel of a frame
  int64_t row_insertions = 1;     // n of the first pixel of the other rows
  int64_t insertions = 1;         // I, of a frame
};
WindowLoops LoopsOf(const Pipeline& pipeline, const Stage& stage);

// Returns whether the columns of a window are stored in a memory, not in registers.
bool HasDeepColumns(const WindowLoops& loops);

// The words of a stage's weights. They are stored in the order of the multiplying steps of a pixel.
struct WeightWords {
  int64_t weights = 0;  // of a word: the products of a step
  int64_t words = 0;
};
WeightWords WeightWordsOf(const Pipeline& pipeline, const Stage& stage);

// Returns the words of a channel that its producer reserves at a time.
int64_t ReserveOf(const Pipeline& pipeline, const Channel& channel);

// Returns the rows that the row buffer needs beyond the window's, so that the stage takes
// CyclesPerImage cycles for an image if its input never waits: 0 for layers that keep the size of
// their map, and for strides up to 2.
int64_t ExtraRowsOf(const Window& window, const MapShape& map);

// Returns the cycles that the stage needs for an image if nothing waits: its largest number of
// steps. For a fork, a concat and other stages that only move words, the number of words that they
// move.
int64_t CyclesPerImage(const Pipeline& pipeline, const Stage& stage);

// Returns the channel of the weight words that a convolution would read from a weight stream: for
// each output pixel, each pass and each word of the input, one word with the weights of the step.
// Its depth lets the stream ask for words without a pause, `latency` cycles before they arrive on
// beats of `port_bytes`.
Channel WeightChannelOf(const Pipeline& pipeline, const Stage& convolution, int64_t port_bytes = 16,
                        int64_t latency = 1);

// Returns the most requests that a weight stream has in flight, one per weight word: the memory's
// latency in cycles plus 2, and at most the depth of its channel.
int64_t OutstandingOf(const Pipeline& pipeline, const Stage& weight_stream);

// Returns the bytes of memory of a word of weights.
int64_t BytesOfWeightWord(const Channel& weights);
// Returns the beats that word `index` of a pass touches (docs/dataflow-machine.md, "Streamed
// weights"), and all words of an image.
int64_t BeatsOfWord(const Stage& weight_stream, const Channel& weights, int64_t index);
int64_t BeatsOfImage(const Stage& weight_stream, const Channel& weights);
// Returns the bytes of memory of all streamed weights (weights.bin), up to the end of their last
// beat; 0: none are streamed.
int64_t BytesOfWeightMemory(const Pipeline& pipeline);

// Returns the bytes of a beat of a stream: a word in whole bytes.
int64_t BytesOfBeat(const Channel& channel);

// Returns D: the cycles from the action that completes a result to the push of its first word.
int LatencyOf(const Pipeline& pipeline, const Stage& stage);

// Returns whether products of these widths are built of LUTs: a DSP slice would be wasted on them,
// and synthesis uses one only for products of at least 9 bits.
bool UsesLutProducts(const CodeType& operand, int weight_bits, int64_t pack);

// Returns the bits of the longer operand of a DSP slice: of UltraScale, or of the 7 series. Wider
// sums are cut into two operands.
constexpr int MultiplierBitsOf(bool ultrascale) { return ultrascale ? 27 : 25; }

// Returns the levels of the adder tree over `terms` terms: ceil(log2(terms)).
int AdderLevels(int64_t terms);

// The least and greatest value of a sum.
struct SumRange {
  int64_t low = 0, high = 0;
};
// Returns the range of a stage's sums over all channels and all codes of its input.
SumRange RangeOfSums(const Pipeline& pipeline, const Stage& stage);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_ISA_DERIVED_H_
