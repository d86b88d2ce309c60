// Compares kiln_array_cluster (buffers, weight loader, sequencer, array, accumulators) with the
// cycle level: random matrix instructions back to back, with fills, drains and commands that take
// random times. A model repeats the coroutines of cycle.cc with these times, on the functions of
// cycle_data.h. The RTL is then driven with the same times, and every token, every busy and stalled
// cycle and every accumulator must agree.
#include <functional>
#include <set>
#include <span>

#include "Varray_cluster_4x4.h"
#include "Varray_cluster_4x4_one_bank.h"
#include "Varray_cluster_8x4.h"
#include "Varray_cluster_8x4_netlist.h"
#include "Varray_cluster_e4m3.h"
#include "Varray_cluster_latencies.h"
#include "Varray_cluster_scaled.h"
#include "kiln/targets/systolic/isa/timing.h"
#include "tests/rtl/support.h"
#include "tests/rtl/systolic/commands.h"
#include "tests/rtl/systolic/unit_model.h"
#include "tests/targets/systolic/fp32_machine.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln::rtl {
namespace {

using hardware::Counter;
using hardware::Process;
using hardware::Queue;
using hardware::Simulator;
using systolic::Config;

// Cycles of an event, from a distribution that is often as short as can be.
struct Delays {
  Random random;
  int64_t longest;
  int64_t operator()() { return random.Below(2) == 0 ? 0 : random.Between(0, longest); }
};

struct InputWrite {
  int bank;
  int64_t address;
  std::vector<uint8_t> data;
  bool scaled, one;
  uint32_t scale;
};
struct WeightScaleWrite {
  int bank, tile, column;
  uint32_t code;
};
struct WeightWrite {
  int bank, tile, index;
  bool transposed;
  std::vector<uint8_t> data;
};
struct AccumulatorRead {
  int bank;
  int64_t address;
  std::vector<uint32_t> sums;  // BitsOf
};

// What happens in which cycle.
struct Script {
  std::map<int64_t, InputWrite> input_writes;
  std::map<int64_t, WeightWrite> weight_writes;
  std::map<int64_t, WeightScaleWrite> weight_scale_writes;
  std::map<int64_t, AccumulatorRead> reads;
  std::set<int64_t> input_filled, weights_filled, accumulation_released;
  Expected expected;
  int64_t end = 0;
};

class Model {
 public:
  Model(const Config& config, std::vector<TestInstruction>& instructions, uint64_t seed,
        int64_t longest, Script* script)
      : config_(config),
        numbers_(config),
        instructions_(instructions),
        random_(seed),
        delays_{Random(seed + 1), longest},
        script_(*script),
        inputs_(simulator_, 2),
        weights_(simulator_, 2),
        shadow_(simulator_, 1),
        done_(simulator_, static_cast<size_t>(config.accumulation_buffer_banks)),
        inputs_released_(simulator_),
        weights_released_(simulator_),
        passes_started_(simulator_),
        accumulation_released_(simulator_),
        accumulation_(static_cast<size_t>(config.accumulation_buffer_banks)),
        array_weights_(config),
        shadow_weights_(config) {}

  void Run() {
    simulator_.Spawn("input fetch", InputFetch());
    simulator_.Spawn("weight fetch", WeightFetch());
    simulator_.Spawn("weight load", WeightLoad());
    simulator_.Spawn("array", Array());
    simulator_.Spawn("drain", Drain());
    ASSERT_TRUE(simulator_.Run(1 << 24));
    ASSERT_TRUE(simulator_.unfinished().empty());
    script_.end = simulator_.now() + 2;
  }

 private:
  struct Block {
    const TestInstruction* instruction;
    const systolic::Visit* visit;
    int64_t number;
  };

  void Stalled(const char* port, int64_t since) {
    script_.expected.Level(port, since, simulator_.now());
  }
  systolic::AccumulationBank& BankOf(int64_t block) {
    return accumulation_[static_cast<size_t>(block % config_.accumulation_buffer_banks)];
  }
  std::vector<uint32_t> Noise(size_t count) {
    std::vector<uint32_t> noise(count);
    for (uint32_t& code : noise) code = static_cast<uint32_t>(random_());
    return noise;
  }

  Process InputFetch() {
    int64_t next_fill = 0;
    for (TestInstruction& t : instructions_) {
      for (const systolic::Visit& visit : t.visits) {
        if (!visit.fetch_inputs) continue;
        for (int32_t f = 0; f < t.geometry.fills; ++f) {
          const int32_t first = f * t.instruction.tiling.groups_per_bank;
          const int32_t end =
              std::min(t.geometry.groups, first + t.instruction.tiling.groups_per_bank);
          const int64_t k = next_fill++;
          co_await inputs_released_.AtLeast(k - 1);
          systolic::InputBank& bank = input_banks_[k & 1];
          systolic::OuterMemory outer(t.memory);
          FillInputs(t.instruction, config_, numbers_, t.geometry, visit, first, end, outer, bank);
          const int64_t cycles = WriteInputs(t, visit, first, end, bank, static_cast<int>(k & 1));
          co_await simulator_.Delay(cycles);
          script_.input_filled.insert(simulator_.now() - 1);
          co_await inputs_.Push(k);
        }
      }
    }
  }

  // The words of a bank in the cycles from now on; how many cycles that takes.
  int64_t WriteInputs(const TestInstruction& t, const systolic::Visit& visit, int32_t first,
                      int32_t end, const systolic::InputBank& bank, int number) {
    const systolic::Tiling& tiling = t.instruction.tiling;
    const bool packed = tiling.packing == systolic::Packing::kTaps;
    const int64_t places_y = packed ? visit.height : t.geometry.y.Places(visit.height);
    const int64_t places_x = packed ? visit.width : t.geometry.x.Places(visit.width);
    const int64_t row_pitch = packed ? tiling.tile_width : t.geometry.x.Places(tiling.tile_width);
    const int64_t group_pitch =
        row_pitch * (packed ? tiling.tile_height : t.geometry.y.Places(tiling.tile_height));
    const size_t lanes = static_cast<size_t>(config_.array_rows), stride = (lanes + 1) / 2 * 2;
    int64_t at = simulator_.now();
    size_t word = 0;
    for (int32_t group = first; group < end; ++group) {
      const int32_t row_tile = group * t.geometry.rows_per_group;
      const size_t valid = static_cast<size_t>(ValidRows(t.instruction, config_, row_tile));
      for (int64_t py = 0; py < places_y; ++py) {
        for (int64_t px = 0; px < places_x; ++px, ++word) {
          std::vector<uint32_t> codes = Noise(lanes);
          for (size_t i = 0; i < valid; ++i) {
            codes[i] = CodeAt(config_.input_format, numbers_.whole, bank.words, bank.values,
                              word * stride + i);
          }
          at += random_.Below(4) == 0 ? delays_() / 4 : 0;
          const int64_t address = (group - first) * group_pitch + py * row_pitch + px;
          InputWrite write{number, address, PackLanes(codes, config_.input_format.bits),
                           false,  false,   0};
          if (!bank.scales.empty()) {
            write.scaled = true;
            write.scale = EncodeFloat(config_.scale_format, bank.scales[word]);
            if (bank.scales[word] == 1.0f && random_.Below(2) == 0) {
              write.one = true;
              write.scale = static_cast<uint32_t>(random_());
            }
          }
          script_.input_writes[at++] = std::move(write);
        }
      }
    }
    return at + delays_() - simulator_.now();
  }

  Process WeightFetch() {
    int64_t next_fill = 0;
    for (TestInstruction& t : instructions_) {
      for (const systolic::Visit& visit : t.visits) {
        if (!visit.fetch_weights) continue;
        const int64_t tiles = int64_t{t.geometry.row_tiles()} * visit.columns;
        const int64_t per_fill = t.instruction.tiling.weight_tiles_per_bank;
        for (int64_t first = 0; first < tiles; first += per_fill) {
          const int64_t k = next_fill++;
          co_await weights_released_.AtLeast(k - 1);
          systolic::WeightBank& bank = weight_banks_[k & 1];
          bank = {};
          int64_t at = simulator_.now();
          for (int64_t tile = first; tile < std::min(tiles, first + per_fill); ++tile) {
            WriteTile(t, visit, tile, static_cast<int>(tile - first), static_cast<int>(k & 1), bank,
                      &at);
          }
          co_await simulator_.Delay(at + delays_() - simulator_.now());
          script_.weights_filled.insert(simulator_.now() - 1);
          co_await weights_.Push(k);
        }
      }
    }
  }

  // By rows or by columns, whatever the layout in memory; only what counts.
  void WriteTile(TestInstruction& t, const systolic::Visit& visit, int64_t tile, int tile_in_bank,
                 int number, systolic::WeightBank& bank, int64_t* at) {
    const int64_t per_group = int64_t{visit.columns} * t.geometry.rows_per_group;
    const int64_t group = tile / per_group, rest = tile % per_group;
    const auto row_tile =
        static_cast<int32_t>(group * t.geometry.rows_per_group + rest % t.geometry.rows_per_group);
    const auto column = static_cast<int32_t>(rest / t.geometry.rows_per_group);
    systolic::OuterMemory outer(t.memory);
    const size_t begin = numbers_.whole ? bank.words.size() : bank.values.size(),
                 scale_begin = bank.scales.size();
    FetchWeightTile(t.instruction, config_, numbers_, t.geometry, visit, row_tile,
                    visit.first_column + column, outer, bank);
    const int rows = ValidRows(t.instruction, config_, row_tile);
    const int columns = ValidColumns(t.instruction, config_, visit.first_column + column);
    int64_t scales_at = *at;
    for (int c = 0; c < columns && !bank.scales.empty(); ++c) {
      const float scale = bank.scales[scale_begin + static_cast<size_t>(c)];
      script_.weight_scale_writes[scales_at++] = {number, tile_in_bank, c,
                                                  EncodeFloat(config_.scale_format, scale)};
    }
    const bool transposed = random_.Below(2) == 0;
    for (int index = 0; index < (transposed ? columns : rows); ++index) {
      std::vector<uint32_t> codes =
          Noise(static_cast<size_t>(std::max(config_.array_rows, config_.array_columns)));
      for (int lane = 0; lane < (transposed ? rows : columns); ++lane) {
        const int r = transposed ? lane : index, c = transposed ? index : lane;
        const size_t place = begin + static_cast<size_t>(r * config_.array_columns + c);
        codes[static_cast<size_t>(lane)] =
            CodeAt(config_.weight_format, numbers_.whole, bank.words, bank.values, place);
      }
      *at += random_.Below(4) == 0 ? delays_() / 4 : 0;
      script_.weight_writes[(*at)++] = {number, tile_in_bank, index, transposed,
                                        PackLanes(codes, config_.weight_format.bits)};
    }
    *at = std::max(*at, scales_at);
  }

  // As WeightLoad() of cycle.cc.
  Process WeightLoad() {
    int64_t loads = 0, fill = -1;
    for (TestInstruction& t : instructions_) {
      co_await simulator_.WaitUntil(t.load_at);
      for (const systolic::Visit& visit : t.visits) {
        const int64_t tiles = int64_t{t.geometry.row_tiles()} * visit.columns;
        for (int64_t tile = 0; tile < tiles; ++tile) {
          const int64_t in_fill = tile % t.instruction.tiling.weight_tiles_per_bank;
          int64_t since = simulator_.now();
          if (in_fill == 0 && visit.fetch_weights) fill = co_await weights_.Pop();
          Stalled("load_stalled_empty", since);
          since = simulator_.now();
          co_await passes_started_.AtLeast(loads++);
          Stalled("load_stalled_full", since);
          LoadWeights(config_, numbers_, weight_banks_[fill & 1], in_fill, shadow_weights_);
          const int64_t cycles = systolic::WeightLoadCycles(config_);
          script_.expected.Level("load_busy", simulator_.now(), simulator_.now() + cycles);
          co_await simulator_.Delay(cycles);
          const bool last =
              tile + 1 == tiles || in_fill + 1 == t.instruction.tiling.weight_tiles_per_bank;
          if (last && visit.last_of_weights) {
            script_.expected.Pulse("weights_released", simulator_.now() - 1);
            weights_released_.Add();
          }
          co_await shadow_.Push(0);
        }
      }
    }
  }

  // As Array() of cycle.cc.
  Process Array() {
    int64_t fill = -1;
    for (TestInstruction& t : instructions_) {
      co_await simulator_.WaitUntil(t.array_at);
      int64_t block = t.first_block;
      for (const systolic::Visit& visit : t.visits) {
        bool first_pass = true;
        for (int32_t f = 0; f < t.geometry.fills; ++f) {
          int64_t since = simulator_.now();
          if (visit.fetch_inputs) fill = co_await inputs_.Pop();
          Stalled("array_stalled_input", since);
          const int32_t first = f * t.instruction.tiling.groups_per_bank;
          const int32_t end =
              std::min(t.geometry.groups, first + t.instruction.tiling.groups_per_bank);
          for (int32_t g = first; g < end; ++g) {
            for (int32_t c = 0; c < visit.columns; ++c) {
              for (int32_t r = 0; r < t.geometry.rows_per_group; ++r) {
                since = simulator_.now();
                co_await shadow_.Pop();
                Stalled("array_stalled_weights", since);
                since = simulator_.now();
                if (first_pass)
                  co_await accumulation_released_.AtLeast(block -
                                                          config_.accumulation_buffer_banks + 1);
                Stalled("array_stalled_accumulation", since);
                first_pass = false;
                std::swap(array_weights_, shadow_weights_);
                passes_started_.Add();
                ArrayPass(t.instruction, config_, numbers_, t.geometry, visit, array_weights_,
                          input_banks_[fill & 1], {g, g - first, r, c, g == 0 && r == 0},
                          BankOf(block));
                script_.expected.Level("array_busy", simulator_.now(),
                                       simulator_.now() + visit.pixels());
                co_await simulator_.Delay(visit.pixels());
              }
            }
          }
          if (visit.last_of_inputs) {
            script_.expected.Pulse("input_released", simulator_.now() - 1);
            inputs_released_.Add();
          }
        }
        const int64_t settle = systolic::SettleCycles(t.instruction, config_);
        script_.expected.Pulse("block_done", simulator_.now() + settle - 1);
        co_await done_.Push({&t, &visit, block++}, settle);
      }
    }
  }

  // Reads every accumulator of a block, from the first cycle on in which it may, and gives the bank
  // back.
  Process Drain() {
    size_t blocks = 0;
    for (TestInstruction& t : instructions_) blocks += t.visits.size();
    for (; blocks > 0; --blocks) {
      const Block block = co_await done_.Pop();
      const systolic::Visit& visit = *block.visit;
      const systolic::Tiling& tiling = block.instruction->instruction.tiling;
      const systolic::AccumulationBank& bank = BankOf(block.number);
      const size_t stride =
          static_cast<size_t>(systolic::ArrayWeights(2, config_.array_columns).columns);
      std::vector<AccumulatorRead> reads;
      size_t at = 0;
      for (int32_t c = 0; c < visit.columns; ++c) {
        for (int32_t y = 0; y < visit.height; ++y) {
          for (int32_t x = 0; x < visit.width; ++x, at += stride) {
            const int64_t address = (int64_t{c} * tiling.tile_height + y) * tiling.tile_width + x;
            const int valid =
                ValidColumns(block.instruction->instruction, config_, visit.first_column + c);
            AccumulatorRead read{
                static_cast<int>(block.number % config_.accumulation_buffer_banks), address, {}};
            for (size_t i = at; i < at + static_cast<size_t>(valid); ++i) {
              read.sums.push_back(numbers_.whole_accumulation ? static_cast<uint32_t>(bank.sums[i])
                                                              : BitsOf(bank.values[i]));
            }
            reads.push_back(std::move(read));
          }
        }
      }
      // The last word is the youngest.
      if (random_.Below(2) == 0) std::reverse(reads.begin(), reads.end());
      int64_t cycle = simulator_.now();
      for (AccumulatorRead& read : reads) script_.reads[cycle++] = std::move(read);
      co_await simulator_.Delay(cycle + delays_() - simulator_.now());
      script_.accumulation_released.insert(simulator_.now() - 1);
      accumulation_released_.Add();
    }
  }

  const Config& config_;
  const systolic::ArrayNumbers numbers_;
  std::vector<TestInstruction>& instructions_;
  Random random_;
  Delays delays_;
  Script& script_;
  Simulator simulator_;
  Queue<int64_t> inputs_, weights_, shadow_;
  Queue<Block> done_;
  Counter inputs_released_, weights_released_, passes_started_, accumulation_released_;
  systolic::InputBank input_banks_[2];
  systolic::WeightBank weight_banks_[2];
  std::vector<systolic::AccumulationBank> accumulation_;
  systolic::StandingWeights array_weights_, shadow_weights_;
};

// One command port: commands in order, each there from its cycle on.
struct Commands {
  std::vector<std::pair<int64_t, std::vector<uint8_t>>> commands;
  size_t next = 0;
  bool Valid(int64_t cycle) const {
    return next < commands.size() && commands[next].first <= cycle;
  }
};

template <typename Rtl>
void Drive(const Config& config, const std::vector<TestInstruction>& instructions,
           const Script& script, uint64_t seed) {
  Simulation<Rtl> rtl(seed);
  rtl->load_command_valid = rtl->array_command_valid = 0;
  rtl->input_write_enable = rtl->weight_write_enable = rtl->accumulation_read_enable = 0;
  rtl->input_filled = rtl->weights_filled = rtl->accumulation_released = rtl->depthwise_valid = 0;
  rtl->input_scale_write_enable = rtl->weight_scale_write_enable = 0;
  rtl.Reset();
  Commands loads, passes;
  uint64_t number = 0;
  for (const TestInstruction& t : instructions) {
    loads.commands.emplace_back(
        t.load_at,
        CommandBytes(t.encoded, {number}, {Tag::kHeader, Tag::kTiling, Tag::kReduction}));
    passes.commands.emplace_back(
        t.array_at, CommandBytes(t.encoded, {number, static_cast<uint64_t>(t.first_block)},
                                 {Tag::kHeader, Tag::kTiling, Tag::kReduction, Tag::kRegion}));
    ++number;
  }
  const AccumulatorRead* reading = nullptr;
  for (int64_t cycle = 0; cycle < script.end && !testing::Test::HasFailure(); ++cycle) {
    rtl->load_command_valid = loads.Valid(cycle);
    if (rtl->load_command_valid) SetBytes(rtl->load_command, loads.commands[loads.next].second);
    rtl->array_command_valid = passes.Valid(cycle);
    if (rtl->array_command_valid) SetBytes(rtl->array_command, passes.commands[passes.next].second);
    rtl->input_filled = script.input_filled.count(cycle) > 0;
    rtl->weights_filled = script.weights_filled.count(cycle) > 0;
    rtl->accumulation_released = script.accumulation_released.count(cycle) > 0;
    const auto input = script.input_writes.find(cycle);
    rtl->input_write_enable = input != script.input_writes.end();
    if (rtl->input_write_enable) {
      rtl->input_write_bank = static_cast<uint8_t>(input->second.bank);
      rtl->input_write_address = static_cast<uint8_t>(input->second.address);
      SetBytes(rtl->input_write_data, input->second.data);
    }
    rtl->input_scale_write_enable = rtl->input_write_enable && input->second.scaled;
    if (rtl->input_scale_write_enable) {
      rtl->input_scale_write_bank = static_cast<uint8_t>(input->second.bank);
      rtl->input_scale_write_address = static_cast<uint8_t>(input->second.address);
      rtl->input_scale_write_one = input->second.one;
      rtl->input_scale_write_data = static_cast<uint8_t>(input->second.scale);
    }
    const auto weight_scale = script.weight_scale_writes.find(cycle);
    rtl->weight_scale_write_enable = weight_scale != script.weight_scale_writes.end();
    if (rtl->weight_scale_write_enable) {
      rtl->weight_scale_write_bank = static_cast<uint8_t>(weight_scale->second.bank);
      rtl->weight_scale_write_tile = static_cast<uint8_t>(weight_scale->second.tile);
      rtl->weight_scale_write_column = static_cast<uint8_t>(weight_scale->second.column);
      rtl->weight_scale_write_data = static_cast<uint8_t>(weight_scale->second.code);
    }
    const auto weight = script.weight_writes.find(cycle);
    rtl->weight_write_enable = weight != script.weight_writes.end();
    if (rtl->weight_write_enable) {
      rtl->weight_write_bank = static_cast<uint8_t>(weight->second.bank);
      rtl->weight_write_tile = static_cast<uint8_t>(weight->second.tile);
      rtl->weight_write_index = static_cast<uint8_t>(weight->second.index);
      rtl->weight_write_transposed = weight->second.transposed;
      SetBytes(rtl->weight_write_data, weight->second.data);
    }
    const auto read = script.reads.find(cycle);
    rtl->accumulation_read_enable = read != script.reads.end();
    if (rtl->accumulation_read_enable) {
      rtl->accumulation_read_bank = static_cast<uint8_t>(read->second.bank);
      rtl->accumulation_read_address = static_cast<uint8_t>(read->second.address);
    }
    rtl.Settle();

    if (reading != nullptr) {
      const Format& format = config.accumulation_format;
      const size_t lanes = static_cast<size_t>(config.array_columns);
      const size_t port_bytes = (lanes * static_cast<size_t>(format.bits) + 7) / 8;
      std::vector<uint32_t> sums =
          UnpackLanes(GetBytes(rtl->accumulation_read_data, port_bytes), format.bits, lanes);
      sums.resize(reading->sums.size());
      for (uint32_t& sum : sums) sum = BitsOf(format, sum);
      EXPECT_EQ(sums, reading->sums)
          << "bank " << reading->bank << ", word " << reading->address << ", cycle " << cycle;
    }
    reading = read != script.reads.end() ? &read->second : nullptr;

    const auto check = [&](const char* port, bool value) {
      script.expected.Check(port, cycle, value);
    };
    check("load_busy", rtl->load_busy);
    check("load_stalled_empty", rtl->load_stalled_empty);
    check("load_stalled_full", rtl->load_stalled_full);
    check("array_busy", rtl->array_busy);
    check("array_stalled_input", rtl->array_stalled_input);
    check("array_stalled_weights", rtl->array_stalled_weights);
    check("array_stalled_accumulation", rtl->array_stalled_accumulation);
    check("input_released", rtl->input_released);
    check("weights_released", rtl->weights_released);
    check("block_done", rtl->block_done);
    loads.next += rtl->load_command_valid && rtl->load_command_ready ? 1 : 0;
    passes.next += rtl->array_command_valid && rtl->array_command_ready ? 1 : 0;
    rtl.Step();
  }
  EXPECT_EQ(loads.next, instructions.size());
  EXPECT_EQ(passes.next, instructions.size());
}

std::vector<TestInstruction> RandomInstructions(const Config& config, int count, int64_t longest,
                                                Random& random) {
  std::vector<TestInstruction> instructions;
  int64_t blocks = 0, load_at = 0, array_at = 0;
  for (int i = 0; i < count; ++i) {
    TestInstruction t;
    systolic::RandomCase random_case = RandomInstruction(random, config, systolic::Opcode::kMatrix);
    t.instruction = std::move(random_case.instruction);
    t.memory = std::move(random_case.memory);
    t.encoded = systolic::Encode(t.instruction, config);
    t.geometry = GeometryOf(t.instruction, config);
    t.visits = VisitsOf(t.instruction, config);
    t.first_block = blocks;
    blocks += static_cast<int64_t>(t.visits.size());
    t.load_at = load_at += random.Between(0, longest);
    t.array_at = array_at += random.Between(0, longest);
    instructions.push_back(std::move(t));
  }
  return instructions;
}

template <typename Rtl>
void FollowsTheCycleLevel(Config config, uint64_t seed) {
  config.input_buffer_words = 250;
  config.weight_buffer_words = 5 * config.array_rows;
  config.accumulation_buffer_words = 60;
  Random random(seed);
  const int64_t longest = seed % 3 == 0 ? 0 : seed % 3 == 1 ? 6 : 200;
  std::vector<TestInstruction> instructions = RandomInstructions(config, 6, longest, random);
  Script script;
  Model(config, instructions, seed, longest, &script).Run();
  Drive<Rtl>(config, instructions, script, seed);
}

Config Sides(int rows, int columns, int rows_per_cycle, int banks) {
  Config config = systolic::Fp32Machine();
  config.array_rows = rows;
  config.array_columns = columns;
  config.weight_rows_per_cycle = rows_per_cycle;
  config.accumulation_buffer_banks = banks;
  return config;
}

TEST(ArrayCluster, FollowsTheCycleLevel) {
  for (uint64_t seed = 1; seed <= 30 && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    FollowsTheCycleLevel<Varray_cluster_4x4>(Sides(4, 4, 1, 2), seed);
    FollowsTheCycleLevel<Varray_cluster_4x4_one_bank>(Sides(4, 4, 4, 1), seed);
    FollowsTheCycleLevel<Varray_cluster_8x4>(Sides(8, 4, 2, 2), seed);
  }
}

TEST(ArrayCluster, FollowsTheCycleLevelAsYosysReadsIt) {
  for (uint64_t seed = 1; seed <= 3 && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    FollowsTheCycleLevel<Varray_cluster_8x4_netlist>(Sides(8, 4, 2, 2), seed);
  }
}

TEST(ArrayCluster, FollowsTheCycleLevelInRoundedSums) {
  Config config = Sides(4, 4, 1, 2);
  config.input_format = *FindFormat("e4m3");
  config.weight_format = *FindFormat("posit8_1");
  config.psum_format = *FindFormat("bf16");
  config.accumulation_format = *FindFormat("fp32");
  for (uint64_t seed = 1; seed <= 12 && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    FollowsTheCycleLevel<Varray_cluster_e4m3>(config, seed);
  }
}

TEST(ArrayCluster, FollowsTheCycleLevelWithLatencies) {
  Config config = Sides(4, 4, 1, 2);
  config.input_format = *FindFormat("e4m3");
  config.weight_format = *FindFormat("posit8_1");
  config.psum_format = *FindFormat("bf16");
  config.accumulation_format = *FindFormat("fp32");
  config.block_size = 8;
  systolic::SetDefaultArrayLatencies(&config);
  ASSERT_EQ(config.array_product_latency, 1);
  ASSERT_EQ(config.array_sum_latency, 2);
  ASSERT_EQ(config.accumulation_latency, 3);
  for (uint64_t seed = 1; seed <= 12 && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    FollowsTheCycleLevel<Varray_cluster_latencies>(config, seed);
  }
}

TEST(ArrayCluster, FollowsTheCycleLevelUnderBlockScales) {
  Config config = Sides(4, 4, 2, 2);
  config.input_format = *FindFormat("int8");
  config.weight_format = *FindFormat("int4");
  config.accumulation_format = *FindFormat("fp32");
  config.block_size = 8;
  config.accumulation_latency = 2;  // the cycles from pass to pass
  for (uint64_t seed = 1; seed <= 10 && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    FollowsTheCycleLevel<Varray_cluster_scaled>(config, seed);
  }
}

}  // namespace
}  // namespace kiln::rtl
