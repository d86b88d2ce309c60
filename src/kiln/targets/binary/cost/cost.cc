// Counts modules and memories.

#include "kiln/targets/binary/cost/cost.h"

#include <algorithm>

#include "kiln/support/integer.h"
#include "kiln/targets/binary/config/keys.h"
#include "kiln/targets/binary/cost/area_model.h"
#include "kiln/targets/binary/cost/events.h"
#include "kiln/targets/binary/isa/derived.h"
#include "kiln/targets/binary/isa/program.h"

namespace kiln::binary {
namespace {

using hardware::ModuleParameters;

// The units, in the order in which they are reported.
struct Units {
  UnitParts tables{kTableUnit, {}, {}}, columns{kColumnUnit, {}, {}},
      requantisation{kRequantisationUnit, {}, {}}, rows{kRowUnit, {}, {}}, walk{kWalkUnit, {}, {}},
      results{kResultUnit, {}, {}}, dispatch{kDispatchUnit, {}, {}}, streams{kStreamUnit, {}, {}};
};

ModuleParameters TreeOf(int64_t terms, int64_t bits) {
  return ModuleParameters().Set("TERMS", terms).Set("BITS", bits);
}

// Rows: words come to the row memories and from there to the tables.
void AddRows(const Config& config, int stage, Units* units) {
  const int64_t channels = config.channels(stage), digits = config.digits();
  ModuleParameters writer, walk, tables;
  writer.Set("CHANNELS", channels)
      .Set("GROUP", config.group)
      .Set("ACTIVATION_BITS", config.activation_bits)
      .Set("ROW_WORDS", config.row_words);
  walk.Set("GROUP", config.group).Set("STEPS", config.steps);
  tables = writer;
  tables.Set("STEPS", config.steps);
  units->tables.modules.push_back({"kiln_binary_tables", tables});
  units->rows.memories.push_back(
      {config.group, config.row_words * channels * config.activation_bits});
  units->rows.memories.push_back({config.group, config.row_words * digits * WordSumBits(channels)});
  units->walk.modules.push_back({"kiln_binary_walk", walk});
  units->walk.modules.push_back({"kiln_binary_writer", writer});
  units->walk.modules.push_back({"kiln_sum_tree", TreeOf(channels, 5), digits});
  units->walk.memories.push_back({1, int64_t{kMostLookupSteps} * kStepBits});
}

// Columns, and what takes their sums.
void AddColumns(const Config& config, int stage, Units* units) {
  const int64_t columns = config.columns(stage), tables = config.tables(stage);
  const int64_t depth = config.column_depth, sum = config.accumulator_bits;
  ModuleParameters column, requantise;
  column.Set("TABLES", tables)
      .Set("GROUP", config.group)
      .Set("ACCUMULATOR_BITS", sum)
      .Set("COLUMN_DEPTH", depth)
      .Set("WEIGHT_WORDS", config.weight_words);
  requantise.Set("ACCUMULATOR_BITS", sum).Set("ACTIVATION_BITS", config.activation_bits);
  units->columns.modules.push_back({"kiln_binary_column", column, columns});
  units->columns.modules.push_back(
      {"kiln_sum_tree", TreeOf(tables, EntryBits(config.group)), columns});
  // Weights; sums, with two read ports; thresholds; limits; parameters.
  units->columns.memories.push_back({columns, config.weight_words * tables * config.group});
  units->columns.memories.push_back({2 * columns, kSumBuffers * depth * sum});
  units->columns.memories.push_back({columns, kMostTests * depth * sum});
  units->columns.memories.push_back({columns, depth * sum});
  units->columns.memories.push_back({columns, depth * kParameterBits});
  units->requantisation.modules.push_back(
      {"kiln_binary_requantise", requantise, columns / config.requantiser_share(stage)});
}

void AddResults(const Config& config, int stage, Units* units) {
  const int64_t beat = 8 * config.beat_bytes,
                word = config.channels(stage) * int64_t{config.activation_bits};
  const int64_t before =
      stage == 0 ? beat : config.columns(stage - 1) * int64_t{config.activation_bits};
  ModuleParameters rest, queue, pack;
  rest.Set("CHANNELS", config.channels(stage))
      .Set("COLUMNS", config.columns(stage))
      .Set("COLUMNS_PER_REQUANTISER", config.columns_per_requantiser)
      .Set("GROUP", config.group)
      .Set("STEPS", config.steps)
      .Set("ACTIVATION_BITS", config.activation_bits)
      .Set("ACCUMULATOR_BITS", config.accumulator_bits)
      .Set("COLUMN_DEPTH", config.column_depth)
      .Set("ROW_WORDS", config.row_words)
      .Set("WEIGHT_WORDS", config.weight_words)
      .Set("BEAT_BITS", beat);
  queue.Set("WIDTH", beat).Set("DEPTH", config.skip_beats);
  pack.Set("WIDTH", before).Set("RATIO", word / before);
  units->results.modules.push_back({"kiln_binary_stage", rest});
  units->results.modules.push_back({"kiln_deep_fifo", queue});
  units->results.memories.push_back({1, config.skip_beats * beat});
  // The first stage's words come from the stream, those of the others from results.
  UnitParts& unit = stage == 0 ? units->dispatch : units->results;
  unit.modules.push_back({"kiln_binary_pack", pack});
}

}  // namespace

std::vector<UnitParts> UnitsOf(const Config& config) {
  Units units;
  const int64_t beat = 8 * config.beat_bytes;
  int64_t most_codes = 1;
  ModuleParameters dispatch, stream, machine;
  for (int i = 0; i < kMostStages; ++i) {
    const int64_t codes = i < config.stages ? int64_t{config.tables(i)} * config.group : 1;
    most_codes = std::max(most_codes, codes);
    dispatch.Set("WORD_BEATS_" + std::to_string(i), CeilDivide(codes, beat));
    if (i >= config.stages) continue;
    AddRows(config, i, &units);
    AddColumns(config, i, &units);
    AddResults(config, i, &units);
  }
  dispatch.Set("STAGES", config.stages).Set("BEAT_BITS", beat).Set("CODE_BITS", most_codes);
  stream.Set("DATA_BYTES", config.beat_bytes);
  machine.Set("STAGES", config.stages).Set("BEAT_BYTES", config.beat_bytes);
  units.dispatch.modules.push_back({"kiln_binary_dispatch", dispatch});
  units.streams.modules.push_back({"kiln_axi_stream_register", stream, 2});
  units.streams.modules.push_back({"kiln_binary", machine});
  return {units.tables, units.columns, units.requantisation, units.rows,
          units.walk,   units.results, units.dispatch,       units.streams};
}

StatusOr<Cost> MachineCost(const Config& config, int node_nm) {
  KILN_ASSIGN_OR_RETURN(Cost cost, CostAt(node_nm));
  cost.multipliers = config.products_per_cycle();
  cost.notes.emplace_back("multipliers are products of a sign and a digit of 4 bits, looked up");
  const std::vector<UnitParts> units = UnitsOf(config);
  cost.on_chip_memory_bits = MemoryBitsOf(units);
  cost.events = EventsOf(config, node_nm);
  AddAreas(units, FamilyAreaModels(), &cost);
  cost.clock = ClockAt({"kiln_binary", Keys().HardwareKeys(config)}, node_nm);
  return cost;
}

}  // namespace kiln::binary
