// What the machine executes: a block of one to three convolutions that are in flight together, each
// on a stage of its own. docs/binary-machine.md is the contract.
//
// Activations are integer codes with zero point 0. A weight is a sum of planes of signs: a binary
// weight has one plane, a signed weight w of I bits has I planes of signs s_i with
//   2 w = (sum_i 2^i s_i) - 1,  s_i = 2 bit_i(w + 2^(I-1)) - 1,
// so that the sums of such a layer are twice as large (base: the sum of the window).
#ifndef KILN_TARGETS_BINARY_ISA_PROGRAM_H_
#define KILN_TARGETS_BINARY_ISA_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/binary/config/config.h"

namespace kiln::binary {

inline constexpr int kMostLookupSteps = 64;
inline constexpr int kMostTests = 4;  // of a stage
inline constexpr int kMostWindowWords = 4096;
inline constexpr int kMultiplierBits = 17, kAddendBits = 47, kMostShift = 47;
inline constexpr int kSkipFactorBits = 17, kSkipAddendBits = 40;

// One pass over the window: a plane of the weights with a digit of the activations.
struct LookupStep {
  int plane = 0;
  int digit = 0;      // 0 is the lowest
  bool test = false;  // outputs that the sums so far decide are not continued
  int shift() const { return plane + kDigitBits * digit; }
};

// Adds a part of the record of each pixel to a stage's result:
//   sum = clamp((result * result_factor + added * added_factor + addend) >> shift, low, high)
struct SkipSum {
  int first_code = 0;         // of the record: the code that is added to channel 0
  bool signed_codes = false;  // what is added
  int64_t result_factor = 1, added_factor = 1, addend = 0;
  int shift = 0;
  int64_t low = 0, high = 0;
};

// A convolution on a stage. Maps are HWC; `list` * columns output channels, numbered so that
// channel n is number n / columns of column n % columns. Channels beyond the layer's own have
// multiplier 0, addend 0 and any signs.
struct StageProgram {
  // Of the input map: the first stage's, without channels that complete a word and are 0; else all
  // channels of the stage before.
  int in_channels = 0, height = 0, width = 0;
  int kernel_height = 1, kernel_width = 1, stride = 1;
  int pad_top = 0, pad_left = 0;
  int out_height = 0, out_width = 0;
  int list = 0;                // output channels of a column
  bool signed_codes = false;   // of the input: the highest digit is signed
  int top_digit = 0;           // the highest digit of the input's codes
  bool subtract_base = false;  // from the sums: the sum of the window's activations
  bool bound_by_sum = false;   // tests use the remaining digits' sum (one plane only)
  std::vector<LookupStep> steps;
  // 1: the sign is +. [plane][output channel][ky][kx][input channel].
  std::vector<uint8_t> signs;
  // Of an output channel: result = clamp((sum * multiplier + addend) >> shift, low, high).
  std::vector<int64_t> multipliers, addends;
  int shift = 0;
  int64_t low = 0, high = 0;
  // A test after a step decides that the result is `low` if the sum so far is below the threshold
  // [test][output channel], or with bound_by_sum if it would be below the channel's limit even with
  // the largest rest. Limits are the least sums whose result is above `low`.
  std::vector<int64_t> thresholds, limits;
  bool forwards_sum = false;  // the next stage reads the sum with the skip, not the result
  bool emits = false;         // results, or sums with the skip, leave the machine
  bool has_skip = false;
  SkipSum skip;

  int planes() const;
  int tests() const;
  int64_t channels(const Config& config, int stage) const {
    return int64_t{list} * config.columns(stage);
  }
};

// A block: its stages in order, with the format of the record that is sent for each input pixel.
struct BlockProgram {
  Config config;
  std::vector<StageProgram> stages;
  // A pixel of the input stream: `input_beats` beats with the first stage's input, then others that
  // stages add to their results.
  int input_beats = 0, record_beats = 0;
};

// Numbers that follow from a stage's program and the design point.
struct StageLayout {
  int chunks = 0;             // words of a pixel
  int row_slots = 0;          // rows that the row memories hold, a multiple of `group`
  int outer = 0, inner = 0;   // loops of the walk over the window: outer, kernel_width, inner
  bool chunk_groups = false;  // a group has chunks of one position, not positions of one chunk
  int fetches = 0;            // groups of a window, by channel of a word
  int rounds = 0;             // of a step: ceil(fetches / steps)
  int row_pitch = 0;          // words of a row: width * chunks
};
// Returns the layout of stage `number` (from 0).
StageLayout LayoutOf(const StageProgram& stage, const Config& config, int number);

// Returns the largest magnitude that a sum of the stage can have at any time.
int64_t MostSum(const StageProgram& stage);

// Returns why the machine cannot run a program, in the words of docs/binary-machine.md.
Status Check(const BlockProgram& program);

// Returns the program as readable text, without weights.
std::string Print(const BlockProgram& program);

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_ISA_PROGRAM_H_
