// The rows of the table of design-point keys.

#include "kiln/targets/binary/config/keys.h"

namespace kiln::binary {

using hardware::Integer;
using hardware::KeyTable;
using hardware::KeyType;
using hardware::PowerOfTwo;
using hardware::Real;
using hardware::Text;

namespace {

constexpr std::string_view kPredictions[] = {"none", "exact", "predicted"};

KeyType<Config> PredictionKey() {
  return {.name = "choice",
          .values = "none, exact, predicted",
          .read =
              [](const YamlMap& map, std::string_view key, Config* c) {
                map.Choice(key, &c->prediction,
                           {{kPredictions[0], Prediction::kNone},
                            {kPredictions[1], Prediction::kExact},
                            {kPredictions[2], Prediction::kPredicted}});
                return true;
              },
          .print =
              [](const Config& c) {
                return std::string(kPredictions[static_cast<size_t>(c.prediction)]);
              },
          .rtl = nullptr};
}

}  // namespace

const KeyTable<Config>& Keys() {
  static const KeyTable<Config> table(
      "binary",
      {
          {.name = "name",
           .type = Text(&Config::name),
           .required = true,
           .rtl = {},
           .help = "the name of the design point in reports"},
          {.name = "stages",
           .type = Integer(&Config::stages, 1, kMostStages),
           .unit = "stages",
           .rtl = {{"STAGES"}},
           .help = "convolutions of a block that are in flight at the same time"},
          {.name = "channels_0",
           .type = Integer(&Config::channels_0, 1, 256),
           .unit = "channels",
           .rtl = {{"CHANNELS_0"}},
           .help = "input channels of the tables of the first stage; whole beats"},
          {.name = "channels_1",
           .type = Integer(&Config::channels_1, 1, 256),
           .unit = "channels",
           .rtl = {{"CHANNELS_1"}},
           .help = "input channels of the tables of the second stage; a multiple of `columns_0`"},
          {.name = "channels_2",
           .type = Integer(&Config::channels_2, 1, 256),
           .unit = "channels",
           .rtl = {{"CHANNELS_2"}},
           .help = "input channels of the tables of the third stage; a multiple of `columns_1`"},
          {.name = "columns_0",
           .type = PowerOfTwo(&Config::columns_0, 1, 32),
           .unit = "columns",
           .rtl = {{"COLUMNS_0"}},
           .help = "output channels that the first stage looks up in a cycle; at most half of the "
                   "activations of a beat"},
          {.name = "columns_1",
           .type = PowerOfTwo(&Config::columns_1, 1, 32),
           .unit = "columns",
           .rtl = {{"COLUMNS_1"}},
           .help = "output channels that the second stage looks up in a cycle; at most half of the "
                   "activations of a beat"},
          {.name = "columns_2",
           .type = PowerOfTwo(&Config::columns_2, 1, 32),
           .unit = "columns",
           .rtl = {{"COLUMNS_2"}},
           .help = "output channels that the third stage looks up in a cycle; at most half of the "
                   "activations of a beat"},
          {.name = "columns_per_requantiser",
           .type = PowerOfTwo(&Config::columns_per_requantiser, 1, 32),
           .unit = "columns",
           .rtl = {{"COLUMNS_PER_REQUANTISER"}},
           .help = "columns of a stage that share a requantiser, which takes one sum a cycle; all "
                   "columns of a stage that has fewer"},
          {.name = "group",
           .type = Integer(&Config::group, 1, 6),
           .unit = "activations",
           .rtl = {{"GROUP"}},
           .help = "activations of a table, which has 2^(group - 1) entries"},
          {.name = "steps",
           .type = Integer(&Config::steps, 1, 16),
           .unit = "groups",
           .rtl = {{"STEPS"}},
           .help = "groups of a channel that the tables hold at the same time"},
          {.name = "activation_bits",
           .type = PowerOfTwo(&Config::activation_bits, 4, 16),
           .unit = "bits",
           .rtl = {{"ACTIVATION_BITS"}},
           .help = "bits of a stored activation, looked up by digits of 4"},
          {.name = "accumulator_bits",
           .type = Integer(&Config::accumulator_bits, 16, 48),
           .unit = "bits",
           .rtl = {{"ACCUMULATOR_BITS"}},
           .help = "bits of a sum; layers whose sums could exceed them run on the host"},
          {.name = "column_depth",
           .type = PowerOfTwo(&Config::column_depth, 2, 64),
           .unit = "channels",
           .rtl = {{"COLUMN_DEPTH"}},
           .help = "output channels of a column"},
          {.name = "row_words",
           .type = Integer(&Config::row_words, 8, 65536),
           .unit = "words",
           .rtl = {{"ROW_WORDS"}},
           .help = "words of each of the `group` row memories of a stage, as wide as its channels"},
          {.name = "weight_words",
           .type = Integer(&Config::weight_words, 2, 65536),
           .unit = "words",
           .rtl = {{"WEIGHT_WORDS"}},
           .help = "words of the weight memory of a column; each has a bit for every activation of "
                   "the tables"},
          {.name = "skip_beats",
           .type = Integer(&Config::skip_beats, 4, 65536),
           .unit = "beats",
           .rtl = {{"SKIP_BEATS"}},
           .help = "beats of the queue of what is added to a stage's result"},
          {.name = "beat_bytes",
           .type = PowerOfTwo(&Config::beat_bytes, 8, 64),
           .unit = "bytes",
           .rtl = {{"BEAT_BYTES"}},
           .help = "bytes of a beat of both streams"},
          {.name = "prediction",
           .type = PredictionKey(),
           .rtl = {},
           .help = "what decides early that a result is at its lower bound, 0 behind a ReLU: none; "
                   "exact: a bound of the digits that are still to come; predicted: the sum so "
                   "far, which can be wrong"},
          {.name = "clock_mhz",
           .type = Real(&Config::clock_mhz, 0, 1e5),
           .unit = "MHz",
           .rtl = {},
           .help = "turns cycles into seconds; 0: not stated"},
      });
  return table;
}

}  // namespace kiln::binary
