// The features of each module's area model as functions of its parameters, and the models fitted
// to them (area_coefficients.inc).

#include "kiln/targets/binary/cost/area_model.h"

#include <algorithm>
#include <vector>

#include "kiln/hardware/area_features.h"
#include "kiln/targets/binary/cost/cost.h"
#include "kiln/targets/binary/isa/derived.h"

namespace kiln::binary {
namespace {

using hardware::Always;
using hardware::Features;
using hardware::Fits;
using hardware::Real;
using hardware::RealIf;
using Parameters = hardware::ModuleParameters;

constexpr int64_t kRoundBits = 38;   // what describes a round, and the buffer of its sums
constexpr int64_t kFactorBits = 17;  // of a multiplier

Features SumTreeFeatures(const Parameters& p, const Fits&) {
  int64_t added = 0, stored = 0;
  ForTreeLevels(p.Number("TERMS", 4), p.Number("BITS", 8), [&](const TreeLevel& level) {
    added += level.adders * level.bits;
    if (level.registers) stored += level.sums * level.bits;
  });
  return {{"added bits", Real(added)}, {"stored bits", Real(stored)}};
}

// Words and their places on the way to the row memories; the places wait for the sums of digits.
Features WriterFeatures(const Parameters& p, const Fits&) {
  const int64_t channels = p.Number("CHANNELS", 6);
  const int64_t address = CeilLog2(p.Number("ROW_WORDS", 16));
  const int64_t delayed = address + p.Number("GROUP", 3) + 2;
  return {{"word bits", Real(channels * p.Number("ACTIVATION_BITS", 8))},
          {"delayed bits", Real(TreeCycles(channels) * delayed)},
          {"writers", 1}};
}

Features WalkFeatures(const Parameters& p, const Fits&) {
  const int64_t group = p.Number("GROUP", 3);
  return {{"walks", 1},
          {"phases", RealIf(group > 1, 1)},
          {"place bits", Real(CeilLog2(p.Number("STEPS", 3)))}};
}

// Two rounds of tables in registers. Each lane of a group chooses its word among all row memories,
// then a digit of each code.
Features TablesFeatures(const Parameters& p, const Fits&) {
  const int64_t channels = p.Number("CHANNELS", 6), group = p.Number("GROUP", 3);
  const int64_t bits = p.Number("ACTIVATION_BITS", 8), digits = bits / 4;
  const int64_t entries = EntriesOf(group), entry = EntryBits(group);
  const int64_t words = channels * bits + digits * WordSumBits(channels);
  return {{"bits of tables", Real(channels * p.Number("STEPS", 3) * entries * entry)},
          {"added bits", Real(channels * 2 * (entries - 1) * entry)},
          {"chosen bits", Real(group * (group - 1) * words + group * channels * 4 * digits)},
          {"bits of sums of windows", Real(digits * (group + 1) * WindowSumBits(channels))},
          {"bits of addresses", Real(group * CeilLog2(p.Number("ROW_WORDS", 16)))},
          {"units", 1}};
}

// An entry of each table is chosen and given its sign; the tree of adders is another module. Yosys
// makes shifters of the choice among eight entries and more. Each output channel has bits that say
// what became of it.
Features ColumnFeatures(const Parameters& p, const Fits&) {
  const int64_t tables = p.Number("TABLES", 9), group = p.Number("GROUP", 3);
  const int64_t entry = EntryBits(group), chosen = tables * (EntriesOf(group) - 1) * entry;
  return {{"bits that are chosen from", RealIf(group <= 3, chosen)},
          {"bits that shifters choose from", RealIf(group > 3, chosen)},
          {"bits of entries", Real(tables * entry)},
          {"accumulator bits", Real(p.Number("ACCUMULATOR_BITS", 28))},
          {"output channels", Real(p.Number("COLUMN_DEPTH", 4))}};
}

Features RequantiseFeatures(const Parameters& p, const Fits&) {
  const int64_t bits = p.Number("ACTIVATION_BITS", 8);
  return {{"pairs of multiplied bits",
           Real(kFactorBits * (p.Number("ACCUMULATOR_BITS", 28) + 2 * (bits + 1)))},
          {"activation bits", Real(bits)},
          {"units", 1}};
}

// The rounds under way, which the columns' look-ups take SHIFT, ADD and WRITE cycles for; queues of
// results, and the choice of the word of a beat that is added. Where columns share a requantiser, a
// choice among their sums, parameters and codes, and results that wait for others of their word.
Features StageFeatures(const Parameters& p, const Fits&) {
  const int64_t bits = p.Number("ACTIVATION_BITS", 8);
  const int64_t sum = p.Number("ACCUMULATOR_BITS", 28);
  const int64_t tables = p.Number("CHANNELS", 6) * p.Number("STEPS", 3);
  const int64_t cycles = 4 + TreeCycles(tables);
  const int64_t columns = p.Number("COLUMNS", 2);
  const int64_t share = std::min(columns, p.Number("COLUMNS_PER_REQUANTISER", 1));
  const int64_t others = columns - columns / share;  // columns behind the first of a requantiser
  return {{"bits of rounds", Real(cycles * (kRoundBits + 2 * sum))},
          {"bits of queues", Real(kResultQueueWords * (2 * columns * bits + 1))},
          {"bits that requantisers choose", Real(others * (sum + kParameterBits + bits))},
          {"bits that wait for a word", Real(share > 1 ? columns * bits + 2 * others * bits : 0)},
          {"bits of a beat", Real(p.Number("BEAT_BITS", 64))}};
}

Features PackFeatures(const Parameters& p, const Fits&) {
  return {{"word bits", Real(p.Number("WIDTH", 16) * p.Number("RATIO", 3))}, {"packs", 1}};
}

Features DeepFifoFeatures(const Parameters& p, const Fits&) {
  return {{"word bits", Real(p.Number("WIDTH", 8))},
          {"place bits", Real(CeilLog2(p.Number("DEPTH", 512)))},
          {"queues", 1}};
}

// Two beats, each with a bit for every byte, and one for the last beat.
Features StreamFeatures(const Parameters& p, const Fits&) {
  return {{"bits of a beat", Real(9 * p.Number("DATA_BYTES", 8) + 1)}, {"registers", 1}};
}

// A word of weights, of one beat or of several that each go to their place.
Features DispatchFeatures(const Parameters& p, const Fits&) {
  const int64_t codes = p.Number("CODE_BITS", 54);
  return {{"code bits", Real(codes)},
          {"words of several beats", RealIf(codes > p.Number("BEAT_BITS", 64), 1)},
          {"dispatches", 1}};
}

// The choice among the stages' results.
Features MachineFeatures(const Parameters& p, const Fits&) {
  const int64_t stages = p.Number("STAGES", 1);
  return {{"chosen bits", Real((stages - 1) * 8 * p.Number("BEAT_BYTES", 8))},
          {"stages", Real(stages)}};
}

const std::vector<hardware::ModuleModel>& ModuleModels() {
  static const std::vector<hardware::ModuleModel> models = {
      {"tree of adders", "kiln_sum_tree", "", Always, SumTreeFeatures},
      {"writer", "kiln_binary_writer", "kiln_sum_tree", Always, WriterFeatures},
      {"walk", "kiln_binary_walk", "", Always, WalkFeatures},
      {"tables", "kiln_binary_tables", "", Always, TablesFeatures},
      {"column", "kiln_binary_column", "kiln_sum_tree", Always, ColumnFeatures},
      {"requantisation", "kiln_binary_requantise", "", Always, RequantiseFeatures},
      {"rounds and results", "kiln_binary_stage",
       "kiln_binary_writer kiln_binary_walk kiln_binary_tables kiln_binary_column "
       "kiln_binary_requantise",
       Always, StageFeatures},
      {"pack", "kiln_binary_pack", "", Always, PackFeatures},
      {"deep queue", "kiln_deep_fifo", "", Always, DeepFifoFeatures},
      {"stream register", "kiln_axi_stream_register", "", Always, StreamFeatures},
      {"dispatch", "kiln_binary_dispatch", "", Always, DispatchFeatures},
      {"choice of results", "kiln_binary",
       "kiln_axi_stream_register kiln_binary_dispatch kiln_binary_pack kiln_deep_fifo "
       "kiln_binary_stage",
       Always, MachineFeatures},
  };
  return models;
}

const Fits& FittedModels() {
  static const Fits fitted = {
#include "kiln/targets/binary/cost/area_coefficients.inc"
  };
  return fitted;
}

}  // namespace

hardware::AreaModels FamilyAreaModels() { return {ModuleModels(), FittedModels()}; }

}  // namespace kiln::binary
