// A design point of the binary family: stages of look-up tables behind one stream in and one out.
// The default is the binary-weight hourglass accelerator (B-HN, Cheng et al., Aerospace Shanghai,
// 2021): three stages, whose tables and columns are 128, 32 and 16 of its processing elements.
//
// A stage holds the tables of `channels` input channels at `steps` groups of window positions. Each
// table has the signed sums of `group` activation digits. In every cycle each of the stage's
// `columns` looks up one output channel in all tables and adds what it finds.
#ifndef KILN_TARGETS_BINARY_CONFIG_CONFIG_H_
#define KILN_TARGETS_BINARY_CONFIG_CONFIG_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "kiln/support/status.h"
#include "kiln/targets/binary/tables/planes.h"

namespace kiln::binary {

inline constexpr int kMostStages = 3;
// Products of a processing element in a cycle: 9 tables of 3 weights in the paper.
inline constexpr int kElementProducts = 27;

// What decides before its last look-up that a result is at its lower bound, which is 0 behind a
// ReLU: nothing; a bound of what is still to come, which changes no result; or the sum so far, as
// if nothing were to come.
enum class Prediction { kNone, kExact, kPredicted };

struct Config {
  std::string name;
  int stages = 3;                                         // convolutions in flight
  int channels_0 = 48, channels_1 = 24, channels_2 = 12;  // input channels of a stage's tables
  int columns_0 = 8, columns_1 = 4, columns_2 = 4;        // output channels looked up at a time
  int columns_per_requantiser = 2;  // columns whose sums one requantiser takes in turn
  int group = 3;                    // activations of a table, 1 to 6
  int steps = 3;                    // groups that the tables of a channel hold at the same time
  int activation_bits = 8;          // of a stored activation: 4, 8 or 16
  int accumulator_bits = 28;        // of a sum
  int column_depth = 16;            // output channels of a column
  int row_words = 192;              // words of each of the `group` row memories of a stage
  int weight_words = 32;            // words of the weight memory of a column
  int skip_beats = 640;             // beats of the queue for what is added to a stage's result
  int beat_bytes = 16;              // of both streams
  Prediction prediction = Prediction::kExact;
  double clock_mhz = 0;  // 0: not stated

  int channels(int stage) const {
    return stage == 0 ? channels_0 : stage == 1 ? channels_1 : channels_2;
  }
  int columns(int stage) const {
    return stage == 0 ? columns_0 : stage == 1 ? columns_1 : columns_2;
  }
  // Columns of a stage's requantiser, and with it the cycles between two reads of its sums.
  int requantiser_share(int stage) const {
    return std::min(columns_per_requantiser, columns(stage));
  }
  int digits() const { return activation_bits / kDigitBits; }
  // Tables of a stage, each looked up by every column in every cycle.
  int tables(int stage) const { return channels(stage) * steps; }
  // Products of all stages in a cycle, each with one bit of a weight and one digit.
  int64_t products_per_cycle() const {
    int64_t products = 0;
    for (int i = 0; i < stages; ++i) products += int64_t{tables(i)} * group * columns(i);
    return products;
  }
  // Activations of a beat.
  int beat_codes() const { return 8 * beat_bytes / activation_bits; }
};

// Reads a design point from YAML text. Errors name the key; `source` is the file's name.
StatusOr<Config> ParseConfig(std::string_view yaml, std::string_view source);
// Returns YAML that is read as the same design point.
std::string PrintConfig(const Config& config);

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_CONFIG_CONFIG_H_
