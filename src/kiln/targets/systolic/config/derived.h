// Sizes of the machine that follow from the keys of a design point. The RTL computes the same sizes
// from its parameters; the names in capitals are those in rtl/systolic. A test compares the two.
#ifndef KILN_TARGETS_SYSTOLIC_CONFIG_DERIVED_H_
#define KILN_TARGETS_SYSTOLIC_CONFIG_DERIVED_H_

#include <algorithm>
#include <cstdint>

#include "kiln/numerics/function_unit.h"
#include "kiln/numerics/microscaling.h"
#include "kiln/support/integer.h"
#include "kiln/targets/systolic/config/config.h"

namespace kiln::systolic {

// Constants of kiln_systolic_pkg.
inline constexpr int kAddressBits = 32;    // ADDRESS_BITS
inline constexpr int kScalePortBytes = 8;  // SCALE_PORT_BYTES: width of the ports for block scales
// Constants of kiln_control_pkg: the memory of the performance counters.
inline constexpr int kCounterWords = 64;  // 1 << TURN_BITS
inline constexpr int kCounterBits = 48;   // COUNTER_BITS
// Constants of kiln_vector_pkg: the descriptions of a word before and in the lanes, and the tags of
// the vector unit's requests.
inline constexpr int kWordBits = 125;           // WORD_T_BITS
inline constexpr int kDepartureBits = 80;       // DEPARTURE_BITS
inline constexpr int kMarkBits = 34;            // MARK_BITS
inline constexpr int kOperandTagBits = 23;      // OPERAND_TAG_BITS
inline constexpr int kOperandScaleTagBits = 9;  // SCALE_TAG_BITS

// Returns the words of the program that the command processor requests ahead: PREFETCH_WORDS.
inline int64_t PrefetchWords(const Config& c) { return int64_t{c.memory_latency} + 16; }
// Returns the requests that a port can have in flight: OUTSTANDING.
inline int64_t OutstandingRequests(const Config& c) { return int64_t{c.memory_latency} + 4; }
// Returns the vector programs whose stages the vector unit can hold until they finish: SLOTS.
inline int64_t ProgramSlots(const Config& c) { return int64_t{c.command_queue_depth} + 8; }
// The bits of a stage's configuration besides its two immediates, which have the bits of numbers.
inline constexpr int kStageControlBits = 16;
// Returns the words of the operand buffer: those that wait, and those whose operands are still read
// in the lanes (ENTRIES).
inline int OperandEntries(const Config& c) {
  return c.operand_buffer_words + c.vector_convert_latency + c.vector_stage_latency;
}
// Returns the words that the lanes can hold: WORDS_IN_LANES.
inline int64_t WordsInLanes(const Config& c) {
  return int64_t{c.vector_stages + 2} * c.vector_stage_latency +
         int64_t{c.vector_stages} * c.vector_function_latency + c.vector_convert_latency + 1;
}
// Returns the lanes that share a copy of what all lanes read: lanes_of_copy.
inline int64_t LanesOfCopy(const Config& c) { return c.lanes() > 16 ? 8 : c.lanes(); }
// Return the scales of a word, and the words that share a scale: scales_of_word, words_of_block.
// One of the two is 1.
inline int64_t ScalesOfWord(int64_t block_size, int64_t lanes) {
  return std::max<int64_t>(1, lanes / block_size);
}
inline int64_t WordsOfBlock(int64_t block_size, int64_t lanes) {
  return std::max<int64_t>(1, block_size / lanes);
}
// Returns the words that may arrive while a scale block waits for earlier ones: WAITING of
// kiln_vector_blocks.
inline int64_t WordsBehindBlock(int64_t block_size, int64_t lanes, int64_t code_bytes,
                                int64_t port_bytes) {
  const int64_t beats = CeilDivide(lanes * code_bytes, port_bytes) + 1;
  return (WordsOfBlock(block_size, lanes) - 1) * std::max(beats, ScalesOfWord(block_size, lanes)) +
         2;
}
// Returns the words that wait for the scale of their scale block: WORDS of kiln_vector_blocks.
inline int64_t WaitingWords(const Config& c) {
  const int64_t lanes = c.lanes(), block_size = c.block_size;
  const int64_t levels = CeilLog2(lanes / ScalesOfWord(block_size, lanes));
  return WordsOfBlock(block_size, lanes) + c.vector_stage_latency * (levels + 1) +
         WordsBehindBlock(block_size, lanes, c.input_format.bytes(), c.output_port_bytes);
}
// Returns the bits of what is kept of an output stream besides the inverse scale: target_bits.
inline int64_t TargetBits(const Config& c) {
  constexpr int kIntegerBits = 3 * 32;  // zero point and bounds
  return 6 + (c.integer_elements ? kIntegerBits : 0);
}
// Returns the bits of one of these words, whose numbers have `number_bits` bits.
inline int64_t WaitingWordBits(const Config& c, int64_t number_bits) {
  return 1 + c.lanes() * number_bits + CeilLog2(c.lanes() + 1) + 2 * kAddressBits +
         IndexBits(ProgramSlots(c)) + TargetBits(c);
}
// Returns the bits of a scale's inverse: inverse_bits. In a short float an inverse has the
// `number_bits` of a number, unless block scales have inverses with more bits.
inline int64_t InverseBits(const Config& c, int64_t number_bits) {
  constexpr int64_t kFp32Bits = 32;
  const bool is_power = IsPowerOfTwoScale(c.scale_format) && c.scale_format.bias <= 127;
  return IsShortFloat(c.vector_format) && (c.block_size == 0 || is_power) ? number_bits : kFp32Bits;
}
// Returns the set of present stages that have functions or have none, and a divider or none.
inline uint32_t StagesWith(const Config& c, bool functions, bool divider) {
  return c.present_stages((functions ? c.vector_function_stages : ~c.vector_function_stages) &
                          (divider ? c.vector_divide_stages : ~c.vector_divide_stages));
}
// Returns the cycles from an address to its first beat of an ideal memory behind the ports.
inline int AnswerCycles(const Config& c) { return c.memory_latency - c.port_latency(); }

// Returns the bits of a request in flight in a read port: PENDING of kiln_axi_read_port.
inline int64_t RequestBits(int64_t port_bytes, int64_t word_bytes, int64_t tag_bits) {
  const int64_t most_beats = (word_bytes + 2 * port_bytes - 2) / port_bytes;
  return 1 + CeilLog2(port_bytes) + CeilLog2(most_beats + 1) + tag_bits;
}
// Returns the weight tiles that a bank of the weight buffer holds: TILES.
inline int64_t WeightTiles(const Config& c) { return c.weight_buffer_words / c.array_rows; }

// Return the lanes of the longest request: for a word of the array (LONGEST), and for the input
// port, which may fetch several words of the depthwise unit at once (INPUT_LANES).
inline int64_t LongestLanes(const Config& c) { return std::max(c.array_rows, c.array_columns); }
inline int64_t InputLanes(const Config& c) {
  return std::max(c.array_rows, c.array_columns * c.depthwise_words_per_cycle);
}

// Return the bytes of the longest request of a port: MAX_BYTES.
inline int64_t InputRequestBytes(const Config& c) { return InputLanes(c) * c.input_format.bytes(); }
inline int64_t WeightRequestBytes(const Config& c) {
  return LongestLanes(c) * c.weight_format.bytes();
}
// Returns the bytes of a word of operands or results of the vector unit: fp32 in every lane.
inline int64_t VectorWordBytes(const Config& c) { return int64_t{4} * c.array_columns; }

// Return the bits of the tag of a port's requests: TAG_BITS.
inline int InputTagBits(const Config& c) {
  const int words = std::max(c.input_buffer_words, c.depthwise_buffer_words);
  return (c.block_size > 0 ? 4 : 3) + IndexBits(words) + 2 * CeilLog2(InputLanes(c) + 1) +
         c.input_bits();
}
inline int WeightTagBits(const Config& c) {
  const int64_t lanes = LongestLanes(c);
  return (c.packed_weights ? 3 : 0) + (c.block_size > 0 ? 5 : 4) + IndexBits(WeightTiles(c)) +
         IndexBits(lanes) + CeilLog2(lanes + 1);
}
// The operand port also fetches channel parameters; one more bit distinguishes the two.
inline int OperandPortTagBits(const Config& c) {
  return 1 + std::max(3 + IndexBits(c.parameter_buffer_words), kOperandTagBits);
}
inline int InputScaleTagBits(const Config& c) { return 3 + IndexBits(c.input_buffer_words); }
inline int WeightScaleTagBits(const Config& c) {
  return 2 + IndexBits(WeightTiles(c)) + IndexBits(c.array_columns);
}

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_CONFIG_DERIVED_H_
