// Compares kiln_depthwise_cluster (buffers, depthwise unit) with the cycle level: random depthwise
// instructions back to back, with fills, drains and commands that take random times. A model
// repeats Depthwise() of cycle.cc with these times, on DepthwiseStep. The RTL is then driven with
// the same times, and every token, every busy and stalled cycle and every sum sent to the
// accumulators must agree, in the same cycle.
#include <set>

#include "Vdepthwise_cluster_2x4.h"
#include "Vdepthwise_cluster_4x9.h"
#include "Vdepthwise_cluster_8x1.h"
#include "Vdepthwise_cluster_8x1_netlist.h"
#include "Vdepthwise_cluster_e4m3.h"
#include "Vdepthwise_cluster_posit.h"
#include "kiln/targets/systolic/config/user_unit.h"
#include "kiln/targets/systolic/isa/timing.h"
#include "tests/rtl/support.h"
#include "tests/rtl/systolic/commands.h"
#include "tests/rtl/systolic/unit_model.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln::rtl {
namespace {

using hardware::Counter;
using hardware::Process;
using hardware::Queue;
using hardware::Simulator;
using systolic::Config;

struct InputWrite {
  int bank;
  int64_t address, words;
  std::vector<uint8_t> data;
};
struct WeightWrite {
  int bank;
  bool first;
  std::vector<uint8_t> data;
};
struct Accumulation {
  int bank;
  int64_t address;
  std::vector<uint32_t> sums;  // BitsOf
};

struct Script {
  std::map<int64_t, InputWrite> input_writes;
  std::map<int64_t, WeightWrite> weight_writes;
  std::map<int64_t, Accumulation> accumulations;  // by the cycle of their psums
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
        longest_(longest),
        script_(*script),
        inputs_(simulator_, 2),
        weights_(simulator_, 2),
        done_(simulator_, static_cast<size_t>(config.accumulation_buffer_banks)),
        inputs_released_(simulator_),
        weights_released_(simulator_),
        accumulation_released_(simulator_) {}

  void Run() {
    simulator_.Spawn("input fetch", InputFetch());
    simulator_.Spawn("weight fetch", WeightFetch());
    simulator_.Spawn("depthwise", Depthwise());
    simulator_.Spawn("drain", Drain());
    ASSERT_TRUE(simulator_.Run(1 << 24));
    ASSERT_TRUE(simulator_.unfinished().empty());
    script_.end = simulator_.now() + 2;
  }

 private:
  int64_t Pause() { return random_.Below(2) == 0 ? 0 : random_.Between(0, longest_); }
  void Stalled(const char* port, int64_t since) {
    script_.expected.Level(port, since, simulator_.now());
  }
  // The lanes of a word.
  std::vector<uint32_t> Codes(const Format& format, const std::vector<int16_t>& words,
                              const std::vector<float>& values, size_t word) const {
    std::vector<uint32_t> codes(static_cast<size_t>(config_.array_columns));
    for (size_t i = 0; i < codes.size(); ++i) {
      codes[i] = CodeAt(format, numbers_.whole, words, values, word * codes.size() + i);
    }
    return codes;
  }

  // The words of a bank in the order of their places, so many in a write as may be and follow one
  // another.
  void WriteInputs(const TestInstruction& t, const systolic::Visit& visit, int32_t tiles, int64_t k,
                   int64_t* at) {
    const systolic::InputBank& bank = input_banks_[k & 1];
    const int64_t pitch = t.instruction.tiling.groups_per_bank;
    const int64_t row_pitch = t.geometry.x.Places(t.instruction.tiling.tile_width) * pitch;
    const int64_t places_y = t.geometry.y.Places(visit.height),
                  places_x = t.geometry.x.Places(visit.width);
    InputWrite write{};
    std::vector<uint32_t> codes;
    const auto finish = [&] {
      if (codes.empty()) return;
      *at += random_.Below(4) == 0 ? Pause() / 4 : 0;
      codes.resize(static_cast<size_t>(config_.depthwise_words_per_cycle * config_.array_columns));
      write.data = PackLanes(codes, config_.input_format.bits);
      script_.input_writes[(*at)++] = write;
      codes.clear();
    };
    for (int64_t py = 0; py < places_y; ++py) {
      for (int64_t px = 0; px < places_x; ++px) {
        for (int64_t tile = 0; tile < tiles; ++tile) {
          const int64_t address = py * row_pitch + px * pitch + tile;
          const bool follows = address == write.address + write.words &&
                               write.words < config_.depthwise_words_per_cycle;
          if (!follows || random_.Below(8) == 0) finish();
          if (codes.empty()) write = {static_cast<int>(k & 1), address, 0, {}};
          const auto word = static_cast<size_t>((tile * places_y + py) * places_x + px);
          for (const uint32_t code : Codes(config_.input_format, bank.words, bank.values, word))
            codes.push_back(code);
          ++write.words;
        }
      }
    }
    finish();
  }

  Process InputFetch() {
    int64_t next_fill = 0;
    for (TestInstruction& t : instructions_) {
      for (const systolic::Visit& visit : t.visits) {
        if (!visit.fetch_inputs) continue;
        const int64_t k = next_fill++;
        co_await inputs_released_.AtLeast(k - 1);
        systolic::OuterMemory outer(t.memory);
        const int32_t tiles = std::min(t.instruction.tiling.groups_per_bank,
                                       t.geometry.column_tiles - visit.first_column);
        FillInputs(t.instruction, config_, numbers_, t.geometry, visit, visit.first_column,
                   visit.first_column + tiles, outer, input_banks_[k & 1]);
        int64_t at = simulator_.now();
        WriteInputs(t, visit, tiles, k, &at);
        co_await simulator_.Delay(at + Pause() - simulator_.now());
        script_.input_filled.insert(simulator_.now() - 1);
        co_await inputs_.Push(k);
      }
    }
  }

  Process WeightFetch() {
    int64_t next_fill = 0;
    for (TestInstruction& t : instructions_) {
      for (const systolic::Visit& visit : t.visits) {
        const int64_t k = next_fill++;
        co_await weights_released_.AtLeast(k - 1);
        systolic::WeightBank& bank = weight_banks_[k & 1];
        systolic::OuterMemory outer(t.memory);
        FetchDepthwiseWeights(t.instruction, config_, numbers_, visit, outer, bank);
        int64_t at = simulator_.now();
        for (int32_t tap = 0; tap < t.instruction.convolution.taps(); ++tap) {
          at += random_.Below(4) == 0 ? Pause() / 4 : 0;
          script_.weight_writes[at++] = {static_cast<int>(k & 1), tap == 0,
                                         PackLanes(Codes(config_.weight_format, bank.words,
                                                         bank.values, static_cast<size_t>(tap)),
                                                   config_.weight_format.bits)};
        }
        co_await simulator_.Delay(at + Pause() - simulator_.now());
        script_.weights_filled.insert(simulator_.now() - 1);
        co_await weights_.Push(k);
      }
    }
  }

  // As Depthwise() of cycle.cc.
  Process Depthwise() {
    int64_t fill = -1;
    for (TestInstruction& t : instructions_) {
      co_await simulator_.WaitUntil(t.array_at);
      int64_t block = t.first_block;
      for (const systolic::Visit& visit : t.visits) {
        int64_t since = simulator_.now();
        if (visit.fetch_inputs) fill = co_await inputs_.Pop();
        Stalled("stalled_input", since);
        since = simulator_.now();
        const int64_t weights = co_await weights_.Pop();
        Stalled("stalled_weights", since);
        since = simulator_.now();
        co_await accumulation_released_.AtLeast(block - config_.accumulation_buffer_banks + 1);
        Stalled("stalled_accumulation", since);
        systolic::AccumulationBank bank;
        DepthwiseStep(t.instruction, config_, numbers_, t.geometry, visit,
                      weight_banks_[weights & 1], input_banks_[fill & 1], bank);
        const int64_t cycles = systolic::DepthwiseCycles(t.instruction, config_, visit);
        Accumulations(t, visit, bank, static_cast<int>(block % config_.accumulation_buffer_banks),
                      cycles);
        script_.expected.Level("busy", simulator_.now(), simulator_.now() + cycles);
        co_await simulator_.Delay(cycles);
        script_.expected.Pulse("weights_released", simulator_.now() - 1);
        weights_released_.Add();
        if (visit.last_of_inputs) {
          script_.expected.Pulse("input_released", simulator_.now() - 1);
          inputs_released_.Add();
        }
        const int64_t settle = systolic::SettleCycles(t.instruction, config_);
        script_.expected.Pulse("block_done", simulator_.now() + settle - 1);
        co_await done_.Push(block++, settle);
      }
    }
  }

  // Each pixel's sums come DepthwiseLatency cycles after its last step.
  void Accumulations(const TestInstruction& t, const systolic::Visit& visit,
                     const systolic::AccumulationBank& bank, int number, int64_t cycles) {
    const int64_t each = cycles / visit.pixels();
    const int64_t begin = simulator_.now() - 1 + systolic::DepthwiseLatency(config_);
    const int64_t stride = systolic::ArrayWeights(2, config_.array_columns).columns;
    for (int32_t pixel = 0; pixel < visit.pixels(); ++pixel) {
      const int64_t at = begin + (pixel + 1) * each;
      std::vector<uint32_t> sums;
      for (size_t i = static_cast<size_t>(pixel * stride);
           sums.size() < static_cast<size_t>(config_.array_columns); ++i) {
        sums.push_back(numbers_.whole_accumulation ? static_cast<uint32_t>(bank.sums[i])
                                                   : BitsOf(bank.values[i]));
      }
      const int64_t address =
          pixel / visit.width * t.instruction.tiling.tile_width + pixel % visit.width;
      script_.accumulations[at] = {number, address, std::move(sums)};
      script_.expected.Pulse("accumulate_valid", at - 1);
    }
  }

  Process Drain() {
    size_t blocks = 0;
    for (TestInstruction& t : instructions_) blocks += t.visits.size();
    for (; blocks > 0; --blocks) {
      co_await done_.Pop();
      co_await simulator_.Delay(1 + Pause());
      script_.accumulation_released.insert(simulator_.now() - 1);
      accumulation_released_.Add();
    }
  }

  const Config& config_;
  const systolic::ArrayNumbers numbers_;
  std::vector<TestInstruction>& instructions_;
  Random random_;
  int64_t longest_;
  Script& script_;
  Simulator simulator_;
  Queue<int64_t> inputs_, weights_, done_;
  Counter inputs_released_, weights_released_, accumulation_released_;
  systolic::InputBank input_banks_[2];
  systolic::WeightBank weight_banks_[2];
};

template <typename Rtl>
void Drive(const Config& config, const std::vector<TestInstruction>& instructions,
           const Script& script, uint64_t seed) {
  Simulation<Rtl> rtl(seed);
  rtl->command_valid = rtl->input_write_enable = rtl->weight_write_enable = 0;
  rtl->input_filled = rtl->weights_filled = rtl->accumulation_released = 0;
  rtl.Reset();
  size_t next = 0;
  const Accumulation* adding = nullptr;
  for (int64_t cycle = 0; cycle < script.end && !testing::Test::HasFailure(); ++cycle) {
    rtl->command_valid = next < instructions.size() && instructions[next].array_at <= cycle;
    if (rtl->command_valid) {
      SetBytes(rtl->command,
               CommandBytes(instructions[next].encoded,
                            {next, static_cast<uint64_t>(instructions[next].first_block)},
                            {Tag::kHeader, Tag::kTiling, Tag::kReduction, Tag::kRegion}));
    }
    rtl->input_filled = script.input_filled.count(cycle) > 0;
    rtl->weights_filled = script.weights_filled.count(cycle) > 0;
    rtl->accumulation_released = script.accumulation_released.count(cycle) > 0;
    const auto input = script.input_writes.find(cycle);
    rtl->input_write_enable = input != script.input_writes.end();
    if (rtl->input_write_enable) {
      rtl->input_write_bank = static_cast<uint8_t>(input->second.bank);
      rtl->input_write_address = static_cast<uint8_t>(input->second.address);
      rtl->input_write_words = static_cast<uint8_t>(input->second.words - 1);
      SetBytes(rtl->input_write_data, input->second.data);
    }
    const auto weight = script.weight_writes.find(cycle);
    rtl->weight_write_enable = weight != script.weight_writes.end();
    if (rtl->weight_write_enable) {
      rtl->weight_write_bank = static_cast<uint8_t>(weight->second.bank);
      rtl->weight_write_first = weight->second.first;
      SetBytes(rtl->weight_write_data, weight->second.data);
    }
    rtl.Settle();

    if (adding != nullptr) {
      const Format& format = config.psum_format;
      const size_t lanes = static_cast<size_t>(config.array_columns);
      const size_t port_bytes = (lanes * static_cast<size_t>(format.bits) + 7) / 8;
      std::vector<uint32_t> sums =
          UnpackLanes(GetBytes(rtl->accumulate_psums, port_bytes), format.bits, lanes);
      for (uint32_t& sum : sums) {
        sum = BitsOf(format, sum);
        if (sum == 0x80000000 && !format.is_integer()) sum = 0;  // what an accumulation of 0 - 0 is
      }
      EXPECT_EQ(sums, adding->sums) << "word " << adding->address << ", cycle " << cycle;
    }
    const auto following = script.accumulations.find(cycle + 1);
    adding = following != script.accumulations.end() ? &following->second : nullptr;
    const auto check = [&](const char* port, bool value) {
      script.expected.Check(port, cycle, value);
    };
    check("accumulate_valid", rtl->accumulate_valid);
    if (adding != nullptr) {
      EXPECT_EQ(rtl->accumulate_bank, adding->bank);
      EXPECT_EQ(rtl->accumulate_address, adding->address);
    }
    check("busy", rtl->busy);
    check("stalled_input", rtl->stalled_input);
    check("stalled_weights", rtl->stalled_weights);
    check("stalled_accumulation", rtl->stalled_accumulation);
    check("input_released", rtl->input_released);
    check("weights_released", rtl->weights_released);
    check("block_done", rtl->block_done);
    next += rtl->command_valid && rtl->command_ready ? 1 : 0;
    rtl.Step();
  }
  EXPECT_EQ(next, instructions.size());
}

std::vector<TestInstruction> RandomInstructions(const Config& config, int count, int64_t longest,
                                                Random& random) {
  std::vector<TestInstruction> instructions;
  int64_t blocks = 0, at = 0;
  for (int i = 0; i < count; ++i) {
    TestInstruction t;
    systolic::RandomCase random_case =
        RandomInstruction(random, config, systolic::Opcode::kDepthwise);
    t.instruction = std::move(random_case.instruction);
    t.memory = std::move(random_case.memory);
    t.encoded = systolic::Encode(t.instruction, config);
    t.geometry = GeometryOf(t.instruction, config);
    t.visits = VisitsOf(t.instruction, config);
    t.first_block = blocks;
    blocks += static_cast<int64_t>(t.visits.size());
    t.array_at = at += random.Between(0, longest);
    instructions.push_back(std::move(t));
  }
  return instructions;
}

template <typename Rtl>
void FollowsTheCycleLevel(int columns, int multipliers, int words, int banks, uint64_t seed,
                          Config config = {}) {
  config.array_rows = 4;
  config.array_columns = columns;
  config.depthwise_multipliers = multipliers;
  config.depthwise_words_per_cycle = words;
  config.accumulation_buffer_banks = banks;
  config.depthwise_buffer_words = 250;
  config.weight_buffer_words = 20;
  config.accumulation_buffer_words = 60;
  Random random(seed);
  const int64_t longest = seed % 3 == 0 ? 0 : seed % 3 == 1 ? 6 : 200;
  std::vector<TestInstruction> instructions = RandomInstructions(config, 6, longest, random);
  Script script;
  Model(config, instructions, seed, longest, &script).Run();
  Drive<Rtl>(config, instructions, script, seed);
}

TEST(DepthwiseCluster, FollowsTheCycleLevel) {
  for (uint64_t seed = 1; seed <= 30 && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Config with_user_unit;
    with_user_unit.user_unit = systolic::FindUserUnit("maximum");
    FollowsTheCycleLevel<Vdepthwise_cluster_4x9>(4, 9, 4, 2, seed, with_user_unit);
    FollowsTheCycleLevel<Vdepthwise_cluster_2x4>(2, 4, 1, 1, seed, with_user_unit);
    FollowsTheCycleLevel<Vdepthwise_cluster_8x1>(8, 1, 2, 2, seed);
  }
}

TEST(DepthwiseCluster, FollowsTheCycleLevelAsYosysReadsIt) {
  for (uint64_t seed = 1; seed <= 3 && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    FollowsTheCycleLevel<Vdepthwise_cluster_8x1_netlist>(8, 1, 2, 2, seed);
  }
}

TEST(DepthwiseCluster, FollowsTheCycleLevelInRoundedSums) {
  Config config;
  config.input_format = *FindFormat("e4m3");
  config.weight_format = *FindFormat("posit8_1");
  config.psum_format = *FindFormat("bf16");
  config.accumulation_format = *FindFormat("fp32");
  config.accumulation_latency = 3;
  config.depthwise_sum_latency = 2;
  for (uint64_t seed = 1; seed <= 20 && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    FollowsTheCycleLevel<Vdepthwise_cluster_e4m3>(4, 3, 1, 2, seed, config);
  }
  config.input_format = *FindFormat("posit8_1");
  config.depthwise_sum_latency = 1;
  for (uint64_t seed = 1; seed <= 20 && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    FollowsTheCycleLevel<Vdepthwise_cluster_posit>(2, 2, 2, 2, seed, config);
  }
}

}  // namespace
}  // namespace kiln::rtl
