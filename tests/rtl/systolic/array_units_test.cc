// Tests the modules around the array on their own: the loader of weight tiles, the sequencer of
// passes, the block scales. Each is compared with a model of a few lines that predicts every cycle;
// commands, banks and neighbours become available at random times.
#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <utility>

#include "Varray_sequencer_4x4.h"
#include "Varray_sequencer_8x2.h"
#include "Vblock_scales.h"
#include "Vblock_scales_1x1.h"
#include "Vweight_loader_4.h"
#include "Vweight_loader_8.h"
#include "tests/rtl/arith/power_value.h"
#include "tests/rtl/support.h"
#include "tests/rtl/systolic/command_port.h"
#include "tests/rtl/systolic/commands.h"
#include "tests/rtl/systolic/unit_model.h"
#include "tests/targets/systolic/fp32_machine.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln::rtl {
namespace {

using systolic::Config;

std::vector<TestInstruction> MatrixInstructions(const Config& config, int count, Random& random) {
  std::vector<TestInstruction> instructions;
  int64_t blocks = 0;
  for (int i = 0; i < count; ++i) {
    TestInstruction t;
    t.instruction = RandomInstruction(random, config, systolic::Opcode::kMatrix).instruction;
    t.encoded = Encode(t.instruction, config);
    t.geometry = GeometryOf(t.instruction, config);
    t.visits = VisitsOf(t.instruction, config);
    blocks += random.Between(0, 2);  // of the depthwise unit
    t.first_block = blocks;
    blocks += static_cast<int64_t>(t.visits.size());
    instructions.push_back(std::move(t));
  }
  return instructions;
}

Config SmallConfig(int rows, int columns) {
  Config config = systolic::Fp32Machine();
  config.array_rows = rows;
  config.array_columns = columns;
  config.input_buffer_words = 250;
  config.weight_buffer_words = 5 * rows;
  config.accumulation_buffer_words = 60;
  return config;
}

// ---- Weight loader.

// A tile that is to be loaded.
struct Tile {
  int64_t in_fill;
  bool begins_fill, ends_fill, ends_command;  // ends_fill: for the last time
};

std::vector<Tile> TilesOf(const std::vector<TestInstruction>& instructions) {
  std::vector<Tile> tiles;
  for (const TestInstruction& t : instructions) {
    const int64_t in_bank = t.instruction.tiling.weight_tiles_per_bank;
    for (const systolic::Visit& visit : t.visits) {
      const int64_t count = int64_t{t.geometry.row_tiles()} * visit.columns;
      for (int64_t i = 0; i < count; ++i) {
        const bool last = i + 1 == count || (i + 1) % in_bank == 0;
        tiles.push_back({i % in_bank, i % in_bank == 0 && visit.fetch_weights,
                         last && visit.last_of_weights, false});
      }
    }
    tiles.back().ends_command = true;
  }
  return tiles;
}

// How often each cause held the loader up.
struct LoaderStalls {
  int empty = 0, full = 0;
};

template <typename Model>
void CheckWeightLoader(int rows, int rows_per_cycle, uint64_t seed, LoaderStalls* seen) {
  const int64_t steps = rows / rows_per_cycle;
  Random random(seed);
  const std::vector<TestInstruction> instructions =
      MatrixInstructions(SmallConfig(rows, 4), 5, random);
  const std::vector<Tile> tiles = TilesOf(instructions);
  const auto fills =
      std::count_if(tiles.begin(), tiles.end(), [](const Tile& tile) { return tile.begins_fill; });

  Simulation<Model> loader(seed);
  CommandPort port(instructions.size(), StallsOf(seed, 0));
  Stalls fetch = StallsOf(seed, 1), array = StallsOf(seed, 2);
  int64_t filled = 0, released = 0, waiting = 0, begun = 0;  // fills: in all; not begun; begun
  int64_t step = 0;
  bool shadow_full = false;
  std::optional<int64_t> loading;  // the step that the array gets in this cycle
  size_t at = 0;
  loader->command_valid = loader->weights_filled = loader->pass_start = 0;
  loader.Reset();
  while (at < tiles.size() || shadow_full) {
    ASSERT_LT(loader.Cycle(), 1'000'000u);
    const bool valid = port.Offers();
    const bool fill = !fetch.Next() && filled < fills && filled - released < 2;
    const bool pass = shadow_full && !array.Next();
    loader->command_valid = valid;
    if (valid) {
      SetBytes(loader->command, CommandBytes(instructions[port.next()].encoded, {port.next()},
                                             {Tag::kHeader, Tag::kTiling, Tag::kReduction}));
    }
    loader->weights_filled = fill;
    loader->pass_start = pass;
    loader.Settle();

    const Tile tile = at < tiles.size() ? tiles[at] : Tile{};
    const bool idle = valid && step == 0;
    const bool there = !tile.begins_fill || waiting > 0, free = !shadow_full || pass;
    const bool start = idle && there && free, busy = start || step > 0;
    const bool ends = busy && step + 1 == steps;
    ASSERT_EQ(loader->busy, busy) << "cycle " << loader.Cycle();
    ASSERT_EQ(loader->load_start, start);
    ASSERT_EQ(loader->stalled_empty, idle && !there);
    ASSERT_EQ(loader->stalled_full, idle && there && !free);
    ASSERT_EQ(loader->shadow_full, shadow_full);
    ASSERT_EQ(loader->command_ready, ends && tile.ends_command);
    ASSERT_EQ(loader->weights_released, ends && tile.ends_fill);
    seen->empty += idle && !there;
    seen->full += idle && there && !free;
    ASSERT_EQ(loader->load, loading.has_value());
    if (loading.has_value()) {
      ASSERT_EQ(loader->load_step, *loading);
    }
    if (start && tile.begins_fill) ++begun;
    ASSERT_EQ(loader->read_enable, busy);
    if (busy) {
      ASSERT_EQ(loader->read_bank, (begun - 1) & 1);
      ASSERT_EQ(loader->read_tile, tile.in_fill);
      ASSERT_EQ(loader->read_step, step);
    }

    loading = busy ? std::optional(step) : std::nullopt;
    waiting += fill - (start && tile.begins_fill);
    filled += fill;
    released += ends && tile.ends_fill;
    if (ends || pass) shadow_full = ends;
    if (ends && tile.ends_command) port.Take();
    at += ends;
    step = ends ? 0 : step + busy;
    loader.Step();
  }
  EXPECT_EQ(port.next(), instructions.size());
  EXPECT_EQ(filled, released);
}

TEST(ArrayUnits, WeightLoader) {
  LoaderStalls seen;
  for (uint64_t seed = 1; seed <= 12 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    CheckWeightLoader<Vweight_loader_4>(4, 1, seed, &seen);
    CheckWeightLoader<Vweight_loader_8>(8, 8, seed, &seen);
  }
  EXPECT_GT(seen.empty, 100);
  EXPECT_GT(seen.full, 100);
}

// A fill that comes in cycle 3 is loaded from cycle 4 on; the second tile waits for the pass that
// starts in cycle 20, the third for that of cycle 30, which comes too late to hold it up.
TEST(ArrayUnits, WeightLoaderInItsCycles) {
  Random random(1);
  const Config config = SmallConfig(4, 4);
  std::vector<TestInstruction> instructions;
  std::vector<Tile> tiles;
  do {  // an instruction whose first fill has three tiles
    instructions = MatrixInstructions(config, 1, random);
    tiles = TilesOf(instructions);
  } while (tiles.size() < 3 || tiles[2].in_fill != 2);
  Simulation<Vweight_loader_4> loader;
  loader->command_valid = loader->weights_filled = loader->pass_start = 0;
  loader.Reset();
  loader->command_valid = 1;
  SetBytes(loader->command, CommandBytes(instructions[0].encoded, {0},
                                         {Tag::kHeader, Tag::kTiling, Tag::kReduction}));
  std::vector<uint64_t> starts, full;
  for (uint64_t cycle = 0; cycle < 40; ++cycle) {
    loader->weights_filled = cycle == 3;
    loader->pass_start = cycle == 20 || cycle == 30;
    loader.Settle();
    EXPECT_EQ(loader->stalled_empty, cycle < 4) << cycle;
    if (loader->load_start) starts.push_back(cycle);
    if (loader->shadow_full) full.push_back(cycle);
    loader.Step();
  }
  EXPECT_EQ(starts, (std::vector<uint64_t>{4, 20, 30}));
  // Full from the cycle behind a load to the pass that takes it, that cycle included.
  std::vector<uint64_t> expected;
  for (uint64_t cycle = 8; cycle < 40; ++cycle) {
    if (cycle <= 20 || (cycle >= 24 && cycle <= 30) || cycle >= 34) expected.push_back(cycle);
  }
  EXPECT_EQ(full, expected);
}

// ---- Array sequencer.

struct Pass {
  int64_t block;
  bool begins_fill, ends_fill;  // as with tiles
  bool begins_block, ends_block, ends_command;
  bool overwrite;
  uint32_t rows;  // those that count
  int precision;
  // The word in the input bank and the word in the accumulation bank of each pixel.
  std::vector<std::pair<int64_t, int64_t>> pixels;
};

std::vector<Pass> PassesOf(const Config& config, const std::vector<TestInstruction>& instructions) {
  std::vector<Pass> passes;
  for (const TestInstruction& t : instructions) {
    const systolic::Tiling& tiling = t.instruction.tiling;
    const systolic::Geometry& g = t.geometry;
    const bool packed = tiling.packing == systolic::Packing::kTaps;
    const int64_t row_pitch = packed ? tiling.tile_width : g.x.Places(tiling.tile_width);
    const int64_t group_pitch =
        row_pitch * (packed ? tiling.tile_height : g.y.Places(tiling.tile_height));
    int64_t block = t.first_block;
    for (const systolic::Visit& visit : t.visits) {
      const size_t first_of_block = passes.size();
      for (int32_t fill = 0; fill < g.fills; ++fill) {
        const size_t first_of_fill = passes.size();
        const int32_t first = fill * tiling.groups_per_bank,
                      end = std::min(g.groups, first + tiling.groups_per_bank);
        for (int32_t group = first; group < end; ++group) {
          for (int32_t column = 0; column < visit.columns; ++column) {
            for (int32_t tap = 0; tap < g.rows_per_group; ++tap) {
              Pass pass{};
              pass.block = block;
              pass.overwrite = group == 0 && tap == 0;
              pass.rows =
                  (1u << ValidRows(t.instruction, config, group * g.rows_per_group + tap)) - 1;
              pass.precision = t.instruction.precision;
              for (int32_t y = 0; y < visit.height; ++y) {
                for (int32_t x = 0; x < visit.width; ++x) {
                  const int32_t kernel_x = t.instruction.convolution.kernel_x;
                  const int64_t py = packed ? y : g.y.Place(y, tap / kernel_x);
                  const int64_t px = packed ? x : g.x.Place(x, tap % kernel_x);
                  pass.pixels.emplace_back(
                      (group - first) * group_pitch + py * row_pitch + px,
                      (int64_t{column} * tiling.tile_height + y) * tiling.tile_width + x);
                }
              }
              passes.push_back(std::move(pass));
            }
          }
        }
        passes[first_of_fill].begins_fill = visit.fetch_inputs;
        passes.back().ends_fill = visit.last_of_inputs;
      }
      passes[first_of_block].begins_block = true;
      passes.back().ends_block = true;
      ++block;
    }
    passes.back().ends_command = true;
  }
  return passes;
}

struct SequencerStalls {
  int input = 0, weights = 0, accumulation = 0;
};

template <typename Model>
void CheckArraySequencer(Config config, uint64_t seed, SequencerStalls* seen) {
  config.other_precisions.push_back({*FindFormat("int8"), *FindFormat("int8")});
  const int64_t banks = config.accumulation_buffer_banks;
  const auto latency = static_cast<size_t>(config.array_rows + config.array_columns - 1);
  Random random(seed);
  const std::vector<TestInstruction> instructions = MatrixInstructions(config, 5, random);
  const std::vector<Pass> passes = PassesOf(config, instructions);
  const auto fills = std::count_if(passes.begin(), passes.end(),
                                   [](const Pass& pass) { return pass.begins_fill; });

  Simulation<Model> sequencer(seed);
  CommandPort port(instructions.size(), StallsOf(seed, 0));
  Stalls fetch = StallsOf(seed, 1), loader = StallsOf(seed, 2), drain = StallsOf(seed, 3);
  int64_t filled = 0, released = 0, waiting = 0, begun = 0;
  std::vector<int64_t> blocks;  // the array's
  for (const Pass& pass : passes) {
    if (pass.begins_block) blocks.push_back(pass.block);
  }
  size_t done = 0;      // of those
  int64_t drained = 0;  // of all
  bool shadow_full = false;
  size_t at = 0, pixel = 0;
  struct Word {
    int64_t bank, address;
    bool overwrite;
  };
  std::optional<const Pass*> issued;  // in the cycle before; its first pixel or not
  bool issued_first = false;
  std::deque<std::optional<Word>> words(latency);
  std::deque<bool> dones(latency + 1);
  sequencer->command_valid = sequencer->input_filled = sequencer->shadow_full =
      sequencer->accumulation_released = 0;
  sequencer.Reset();
  for (uint64_t behind = 0; behind < latency + 2; behind += at == passes.size()) {
    ASSERT_LT(sequencer.Cycle(), 1'000'000u);
    const bool valid = port.Offers();
    const bool fill = !fetch.Next() && filled < fills && filled - released < 2;
    if (!shadow_full) shadow_full = !loader.Next();
    // Blocks of the depthwise unit are done as soon as those before them are.
    const int64_t finished = done < blocks.size() ? blocks[done] : blocks.back() + 1;
    const bool drains = !drain.Next() && drained < finished;
    sequencer->command_valid = valid;
    if (valid) {
      const TestInstruction& t = instructions[port.next()];
      SetBytes(sequencer->command,
               CommandBytes(t.encoded, {port.next(), static_cast<uint64_t>(t.first_block)},
                            {Tag::kHeader, Tag::kTiling, Tag::kReduction, Tag::kRegion}));
    }
    sequencer->input_filled = fill;
    sequencer->shadow_full = shadow_full;
    sequencer->accumulation_released = drains;
    sequencer.Settle();

    const Pass* pass = at < passes.size() ? &passes[at] : nullptr;
    const bool idle = valid && pixel == 0;
    const bool inputs = pass == nullptr || !pass->begins_fill || waiting > 0;
    const bool room = pass == nullptr || !pass->begins_block || drained >= pass->block - banks + 1;
    const bool start = idle && inputs && shadow_full && room, busy = start || pixel > 0;
    const bool ends = busy && pixel + 1 == pass->pixels.size();
    ASSERT_EQ(sequencer->busy, busy) << "cycle " << sequencer.Cycle();
    ASSERT_EQ(sequencer->pass_start, start);
    ASSERT_EQ(sequencer->stalled_input, idle && !inputs);
    ASSERT_EQ(sequencer->stalled_weights, idle && inputs && !shadow_full);
    ASSERT_EQ(sequencer->stalled_accumulation, idle && inputs && shadow_full && !room);
    seen->input += idle && !inputs;
    seen->weights += idle && inputs && !shadow_full;
    seen->accumulation += idle && inputs && shadow_full && !room;
    ASSERT_EQ(sequencer->command_ready, ends && pass->ends_command);
    ASSERT_EQ(sequencer->input_released, ends && pass->ends_fill);
    if (start && pass->begins_fill) ++begun;
    ASSERT_EQ(sequencer->read_enable, busy);
    if (busy) {
      ASSERT_EQ(sequencer->read_bank, (begun - 1) & 1);
      ASSERT_EQ(sequencer->read_address, pass->pixels[pixel].first)
          << "pass " << at << ", pixel " << pixel;
    }
    ASSERT_EQ(sequencer->array_active, issued.has_value());
    if (issued.has_value()) {
      ASSERT_EQ(sequencer->array_swap, issued_first);
      ASSERT_EQ(sequencer->array_multiply, (*issued)->rows);
      ASSERT_EQ(sequencer->array_precision, (*issued)->precision);
    }
    ASSERT_EQ(sequencer->accumulate_valid, words.front().has_value());
    if (words.front().has_value()) {
      ASSERT_EQ(sequencer->accumulate_bank, words.front()->bank);
      ASSERT_EQ(sequencer->accumulate_address, words.front()->address);
      ASSERT_EQ(sequencer->accumulate_overwrite, words.front()->overwrite);
    }
    ASSERT_EQ(sequencer->block_done, dones.front());

    done += dones.front();
    issued = busy ? std::optional(pass) : std::nullopt;
    issued_first = start;
    words.pop_front();
    words.push_back(
        busy ? std::optional(Word{pass->block % banks, pass->pixels[pixel].second, pass->overwrite})
             : std::nullopt);
    dones.pop_front();
    dones.push_back(ends && pass->ends_block);
    waiting += fill - (start && pass->begins_fill);
    filled += fill;
    released += ends && pass->ends_fill;
    drained += drains;
    if (start) shadow_full = false;
    if (ends && pass->ends_command) port.Take();
    at += ends;
    pixel = ends ? 0 : pixel + busy;
    sequencer.Step();
  }
  EXPECT_EQ(port.next(), instructions.size());
  EXPECT_EQ(filled, released);
}

TEST(ArrayUnits, ArraySequencer) {
  SequencerStalls seen;
  for (uint64_t seed = 1; seed <= 12 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    CheckArraySequencer<Varray_sequencer_4x4>(SmallConfig(4, 4), seed, &seen);
    Config config = SmallConfig(8, 2);
    config.accumulation_buffer_banks = 1;
    CheckArraySequencer<Varray_sequencer_8x2>(config, seed, &seen);
  }
  EXPECT_GT(seen.input, 100);
  EXPECT_GT(seen.weights, 100);
  EXPECT_GT(seen.accumulation, 100);
}

// With everything there a pass follows the other without a cycle between them, and each thing is
// missed for itself: the fill first, then the weights, then the bank.
TEST(ArrayUnits, ArraySequencerInItsCycles) {
  Random random(3);
  const Config config = SmallConfig(4, 4);
  std::vector<TestInstruction> instructions;
  std::vector<Pass> passes;
  int64_t cycles = 0;
  do {  // an instruction of one fill and one block, with several passes
    instructions = MatrixInstructions(config, 1, random);
    instructions[0].first_block = 2;  // a block before it is still in each bank
    passes = PassesOf(config, instructions);
    cycles = 0;
    for (const Pass& pass : passes) cycles += static_cast<int64_t>(pass.pixels.size());
  } while (passes.size() < 3 || !passes.back().ends_fill || instructions[0].geometry.fills != 1 ||
           instructions[0].visits.size() != 1);
  Simulation<Varray_sequencer_4x4> sequencer;
  sequencer->command_valid = sequencer->input_filled = sequencer->shadow_full =
      sequencer->accumulation_released = 0;
  sequencer.Reset();
  sequencer->command_valid = 1;
  SetBytes(sequencer->command,
           CommandBytes(instructions[0].encoded, {0, 2},
                        {Tag::kHeader, Tag::kTiling, Tag::kReduction, Tag::kRegion}));
  std::vector<int64_t> starts, dones, ready;
  for (int64_t cycle = 0; cycle < 30 + cycles; ++cycle) {
    sequencer->input_filled = cycle == 3;
    sequencer->shadow_full = cycle >= 7;
    sequencer->accumulation_released = cycle == 10;  // 2 - 2 + 1 are wanted
    sequencer.Settle();
    EXPECT_EQ(sequencer->stalled_input, cycle < 4) << cycle;
    EXPECT_EQ(sequencer->stalled_weights, cycle >= 4 && cycle < 7) << cycle;
    EXPECT_EQ(sequencer->stalled_accumulation, cycle >= 7 && cycle < 11) << cycle;
    if (sequencer->pass_start) starts.push_back(cycle);
    if (sequencer->block_done) dones.push_back(cycle);
    const bool taken = sequencer->command_ready;
    if (taken) ready.push_back(cycle);
    sequencer.Step();
    if (taken) sequencer->command_valid = 0;
  }
  std::vector<int64_t> expected;
  int64_t at = 11;
  for (const Pass& pass : passes) {
    expected.push_back(at);
    at += static_cast<int64_t>(pass.pixels.size());
  }
  EXPECT_EQ(starts, expected);
  EXPECT_EQ(ready, (std::vector<int64_t>{at - 1}));
  EXPECT_EQ(dones, (std::vector<int64_t>{at - 1 + 4 + 4}));
}

// ---- Block scales: E8M0.

// Returns a column's product.
float ProductOf(uint64_t products, size_t column) {
  return PowerValue(static_cast<uint32_t>(products >> column * kPowerBits) &
                    ((1u << kPowerBits) - 1));
}

// Drives scales of an array whose tiles are loaded in `kLoadCycles` cycles, at random.
template <typename Model, size_t kRows, size_t kColumns, int kLoadCycles>
void DriveBlockScales() {
  constexpr size_t kWords = 9, kTiles = 5;
  const Format format = *FindFormat("e8m0");
  struct InputScale {
    bool one;
    uint8_t code;
  };
  struct TileScales {
    bool blocks;
    std::array<uint8_t, kColumns> codes;
  };
  using Products = std::array<uint32_t, kColumns>;
  int products_seen = 0;
  for (uint64_t seed = 1; seed <= 6 && !testing::Test::HasFatalFailure(); ++seed) {
    Simulation<Model> scales(seed);
    Random random(seed);
    Stalls loads = StallsOf(seed, 1), passes = StallsOf(seed, 2);
    std::array<std::array<std::optional<InputScale>, kWords>, 2> inputs;
    std::array<std::array<std::array<std::optional<uint8_t>, kColumns>, kTiles>, 2> weights;
    std::optional<TileScales> shadow;  // loaded, or being loaded
    TileScales standing{};
    int loading = 0;      // cycles until the shadow registers are full
    uint64_t pixels = 0;  // of the pass, still to come
    bool pass_blocks = false, pass_bank = false;
    std::deque<std::optional<Products>> expected(kRows + kColumns);
    scales->input_write_enable = scales->weight_write_enable = scales->load_start =
        scales->read_enable = 0;
    scales.Reset();
    for (int cycle = 0; cycle < 8'000; ++cycle) {
      // A pass starts when its tile is there; pixels follow one another, of words that have been
      // written.
      const size_t word = random.Below(kWords);
      bool first = false;
      if (pixels == 0 && loading == 0 && shadow.has_value() && !passes.Next()) {
        first = true;
        pixels = 1 + random.Below(random.Below(2) == 0 ? 2 : 9);
        pass_blocks = random.Below(4) != 0;
        pass_bank = random.Below(2) == 0;
        standing = *shadow;
        shadow.reset();
      }
      const bool reads = pixels > 0 && inputs[pass_bank][word].has_value();
      if (pixels > 0 && !reads && first) {  // not yet: the tile stays in the shadow registers
        shadow = standing;
        pixels = 0;
        first = false;
      }
      scales->read_enable = reads;
      scales->read_bank = pass_bank;
      scales->read_address = static_cast<uint8_t>(word);
      scales->read_swap = first && reads;
      scales->read_blocks = pass_blocks;

      // A load begins when the shadow registers are free.
      const size_t tile = random.Below(kTiles), load_bank = random.Below(2);
      const auto& codes = weights[load_bank][tile];
      const bool written = std::all_of(codes.begin(), codes.end(),
                                       [](const auto& code) { return code.has_value(); });
      const bool load = loading == 0 && !shadow.has_value() && written && !loads.Next();
      const bool load_blocks = random.Below(4) != 0;
      scales->load_start = load;
      scales->load_bank = static_cast<uint8_t>(load_bank);
      scales->load_tile = static_cast<uint8_t>(tile);
      scales->load_blocks = load_blocks;

      // Fetches write where nothing is read just now.
      const size_t input_bank = random.Below(2), input_word = random.Below(kWords);
      const InputScale input{random.Below(5) == 0, static_cast<uint8_t>(random())};
      const bool writes_input =
          random.Below(3) == 0 && !(reads && input_bank == pass_bank && input_word == word);
      scales->input_write_enable = writes_input;
      scales->input_write_bank = static_cast<uint8_t>(input_bank);
      scales->input_write_address = static_cast<uint8_t>(input_word);
      scales->input_write_one = input.one;
      scales->input_write_data = input.code;
      const size_t weight_bank = random.Below(2), weight_tile = random.Below(kTiles),
                   column = random.Below(kColumns);
      const auto weight = static_cast<uint8_t>(random());
      const bool writes_weight =
          random.Below(3) == 0 && !(load && weight_bank == load_bank && weight_tile == tile);
      scales->weight_write_enable = writes_weight;
      scales->weight_write_bank = static_cast<uint8_t>(weight_bank);
      scales->weight_write_tile = static_cast<uint8_t>(weight_tile);
      scales->weight_write_column = static_cast<uint8_t>(column);
      scales->weight_write_data = weight;
      scales.Settle();

      if (expected.front().has_value()) {
        for (size_t c = 0; c < kColumns; ++c) {
          ASSERT_EQ(BitsOf(ProductOf(scales->products, c)), (*expected.front())[c])
              << "cycle " << cycle << ", column " << c;
        }
        ++products_seen;
      }
      expected.pop_front();
      if (reads) {
        const InputScale& scale = *inputs[pass_bank][word];
        const float x = pass_blocks && !scale.one ? DecodeFloat(format, scale.code) : 1.0f;
        Products products{};
        for (size_t c = 0; c < kColumns; ++c) {
          const float w = standing.blocks ? DecodeFloat(format, standing.codes[c]) : 1.0f;
          products[c] = BitsOf(x * w);
        }
        expected.emplace_back(products);
        --pixels;
      } else {
        expected.emplace_back(std::nullopt);
      }
      if (loading > 0) --loading;
      if (load) {
        loading = kLoadCycles;
        shadow = TileScales{load_blocks, {}};
        for (size_t c = 0; c < kColumns; ++c) shadow->codes[c] = *codes[c];
        --loading;
      }
      if (writes_input) inputs[input_bank][input_word] = input;
      if (writes_weight) weights[weight_bank][weight_tile][column] = weight;
      scales.Step();
    }
  }
  EXPECT_GT(products_seen, 5'000);
}

// An array of 4x4 that is loaded two rows a cycle.
TEST(ArrayUnits, BlockScales) { DriveBlockScales<Vblock_scales, 4, 4, 2>(); }

// The pass of a 1x1 array may begin when its tile has just been loaded.
TEST(ArrayUnits, BlockScalesOfOneElement) { DriveBlockScales<Vblock_scales_1x1, 1, 1, 1>(); }

}  // namespace
}  // namespace kiln::rtl
