// Tests the depthwise unit and its parts on their own: the unit with commands, banks and data at
// random times, against a model that predicts every cycle; its sums; its double buffer.
#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>

#include "Vdepthwise_bench.h"
#include "Vdepthwise_unit_2x4.h"
#include "Vdepthwise_unit_6x3.h"
#include "kiln/numerics/codec.h"
#include "kiln/numerics/mac.h"
#include "kiln/numerics/quire.h"
#include "kiln/targets/systolic/config/user_unit.h"
#include "tests/rtl/support.h"
#include "tests/rtl/systolic/command_port.h"
#include "tests/rtl/systolic/commands.h"
#include "tests/rtl/systolic/unit_model.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln::rtl {
namespace {

using systolic::Config;

std::vector<uint8_t> RandomBytes(Random& random, size_t count) {
  std::vector<uint8_t> bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

// ---- The unit.

// One cycle of work: taps of one pixel.
struct Step {
  int64_t block;
  bool begins_block, ends_block, begins_fill, ends_fill, ends_command;
  bool first, last, user;                    // of its pixel; on the user unit
  int64_t number;                            // of its pixel
  std::vector<std::optional<int64_t>> taps;  // words of the input bank
  int64_t word;                              // of the accumulation bank
};

std::vector<TestInstruction> DepthwiseInstructions(const Config& config, int count,
                                                   Random& random) {
  std::vector<TestInstruction> instructions;
  int64_t blocks = 0;
  for (int i = 0; i < count; ++i) {
    TestInstruction t;
    t.instruction = RandomInstruction(random, config, systolic::Opcode::kDepthwise).instruction;
    t.encoded = Encode(t.instruction, config);
    t.geometry = GeometryOf(t.instruction, config);
    t.visits = VisitsOf(t.instruction, config);
    blocks += random.Between(0, 2);  // of the array
    t.first_block = blocks;
    blocks += static_cast<int64_t>(t.visits.size());
    instructions.push_back(std::move(t));
  }
  return instructions;
}

std::vector<Step> StepsOf(const Config& config, const std::vector<TestInstruction>& instructions) {
  std::vector<Step> steps;
  const int64_t multipliers = config.depthwise_multipliers;
  for (const TestInstruction& t : instructions) {
    const systolic::Tiling& tiling = t.instruction.tiling;
    const systolic::Geometry& g = t.geometry;
    const int64_t taps = t.instruction.convolution.taps(),
                  kernel_x = t.instruction.convolution.kernel_x;
    const int64_t pitch = tiling.groups_per_bank, row_pitch = g.x.Places(tiling.tile_width) * pitch;
    int64_t block = t.first_block;
    for (const systolic::Visit& visit : t.visits) {
      const size_t first_of_block = steps.size();
      for (int32_t y = 0; y < visit.height; ++y) {
        for (int32_t x = 0; x < visit.width; ++x) {
          for (int64_t begin = 0; begin < taps; begin += multipliers) {
            Step step{};
            step.block = block;
            step.first = begin == 0;
            step.last = begin + multipliers >= taps;
            step.user = t.instruction.user_unit;
            step.number = begin / multipliers;
            step.word = int64_t{y} * tiling.tile_width + x;
            for (int64_t tap = begin; tap < begin + multipliers; ++tap) {
              if (tap >= taps) {
                step.taps.push_back(std::nullopt);
                continue;
              }
              const int64_t py = g.y.Place(y, static_cast<int32_t>(tap / kernel_x));
              const int64_t px = g.x.Place(x, static_cast<int32_t>(tap % kernel_x));
              step.taps.push_back(py * row_pitch + px * pitch +
                                  visit.first_column % tiling.groups_per_bank);
            }
            steps.push_back(std::move(step));
          }
        }
      }
      steps[first_of_block].begins_block = true;
      steps[first_of_block].begins_fill = visit.fetch_inputs;
      steps.back().ends_block = true;
      steps.back().ends_fill = visit.last_of_inputs;
      ++block;
    }
    steps.back().ends_command = true;
  }
  return steps;
}

struct UnitStalls {
  int input = 0, weights = 0, accumulation = 0, user = 0;
};

template <typename Model>
void CheckDepthwiseUnit(const Config& config, uint64_t seed, UnitStalls* seen) {
  const int64_t banks = config.accumulation_buffer_banks;
  const auto lanes = static_cast<size_t>(config.array_columns);
  const auto multipliers = static_cast<size_t>(config.depthwise_multipliers);
  const uint64_t latency = lanes, read_wait = lanes >= 3 ? 1 : 0;
  const int place_bits = std::bit_width(static_cast<uint64_t>(config.depthwise_buffer_words) - 1);
  Random random(seed);
  const std::vector<TestInstruction> instructions = DepthwiseInstructions(config, 5, random);
  const std::vector<Step> steps = StepsOf(config, instructions);
  int64_t fills = 0;
  std::vector<int64_t> blocks;
  for (const Step& step : steps) {
    fills += step.begins_fill;
    if (step.begins_block) blocks.push_back(step.block);
  }
  const auto weight_fills = static_cast<int64_t>(blocks.size());

  Simulation<Model> unit(seed);
  CommandPort port(instructions.size(), StallsOf(seed, 0));
  Stalls fetch = StallsOf(seed, 1), weight_fetch = StallsOf(seed, 2), drain = StallsOf(seed, 3);
  int64_t filled = 0, released = 0, waiting = 0,
          begun = 0;  // input fills, as in array_units_test.cc
  int64_t weights_filled = 0, weights_released = 0, weights_waiting = 0, weights_begun = 0;
  size_t done = 0;
  int64_t drained = 0;
  size_t at = 0;
  bool running = false;
  struct Read {
    const Step* step;
    int64_t bank, weight_bank;
    uint64_t issued;
  };
  std::map<uint64_t, Read> reads;  // by cycle
  std::map<uint64_t, const Step*> words;
  std::map<uint64_t, std::vector<uint32_t>> psums;
  std::map<uint64_t, bool> dones;
  std::vector<int32_t> sums(lanes);
  std::vector<uint8_t> inputs(multipliers * lanes),
      weights(multipliers * lanes);  // of the next cycle
  unit->command_valid = unit->input_filled = unit->weights_filled = unit->accumulation_released = 0;
  unit.Reset();
  for (uint64_t behind = 0; behind < latency + 3; behind += at == steps.size()) {
    const uint64_t cycle = unit.Cycle();
    ASSERT_LT(cycle, 1'000'000u);
    const bool valid = port.Offers();
    const bool fill = !fetch.Next() && filled < fills && filled - released < 2;
    const bool weight_fill = !weight_fetch.Next() && weights_filled < weight_fills &&
                             weights_filled - weights_released < 2;
    // Blocks of the array are done as soon as those before them are.
    const int64_t finished = done < blocks.size() ? blocks[done] : blocks.back() + 1;
    const bool drains = !drain.Next() && drained < finished;
    unit->command_valid = valid;
    if (valid) {
      const TestInstruction& t = instructions[port.next()];
      SetBytes(unit->command,
               CommandBytes(t.encoded, {port.next(), static_cast<uint64_t>(t.first_block)},
                            {Tag::kHeader, Tag::kTiling, Tag::kReduction, Tag::kRegion}));
    }
    unit->input_filled = fill;
    unit->weights_filled = weight_fill;
    unit->accumulation_released = drains;
    SetBytes(unit->input_read_data, inputs);
    SetBytes(unit->weight_read_data, weights);
    unit.Settle();

    const Step* step = at < steps.size() ? &steps[at] : nullptr;
    const bool idle = valid && !running;
    const bool has_inputs = step == nullptr || !step->begins_fill || waiting > 0,
               has_weights = weights_waiting > 0;
    const bool room = step == nullptr || drained >= step->block - banks + 1;
    const bool start = idle && has_inputs && has_weights && room, busy = start || running;
    const bool ends = busy && step->ends_block;
    ASSERT_EQ(unit->busy, busy) << "cycle " << cycle;
    ASSERT_EQ(unit->stalled_input, idle && !has_inputs);
    ASSERT_EQ(unit->stalled_weights, idle && has_inputs && !has_weights);
    ASSERT_EQ(unit->stalled_accumulation, idle && has_inputs && has_weights && !room);
    seen->input += idle && !has_inputs;
    seen->weights += idle && has_inputs && !has_weights;
    seen->accumulation += idle && has_inputs && has_weights && !room;
    ASSERT_EQ(unit->command_ready, ends && step->ends_command);
    ASSERT_EQ(unit->weights_released, ends);
    ASSERT_EQ(unit->input_released, ends && step->ends_fill);
    begun += start && step->begins_fill;
    weights_begun += start;
    if (busy) {
      reads[cycle + read_wait] = {step, (begun - 1) & 1, (weights_begun - 1) & 1, cycle};
      seen->user += step->user;
      if (step->last) words[cycle + latency - 1] = step;
      if (ends) dones[cycle + latency] = true;
    }

    // What it reads comes a cycle later; where it reads nothing, anything.
    inputs = RandomBytes(random, inputs.size());
    weights = RandomBytes(random, weights.size());
    const auto read = reads.find(cycle);
    ASSERT_EQ(unit->weight_read_enable, read != reads.end());
    uint32_t enables = 0;
    if (read != reads.end()) {
      const Step& now = *read->second.step;
      ASSERT_EQ(unit->input_read_bank, read->second.bank);
      ASSERT_EQ(unit->weight_read_bank, read->second.weight_bank);
      ASSERT_EQ(unit->weight_read_step, now.number);
      const std::vector<uint32_t> places =
          UnpackLanes(GetBytes(unit->input_read_address,
                               (multipliers * static_cast<size_t>(place_bits) + 7) / 8),
                      place_bits, multipliers);
      if (now.first) std::fill(sums.begin(), sums.end(), now.user ? -128 : 0);
      for (size_t tap = 0; tap < multipliers; ++tap) {
        if (!now.taps[tap].has_value()) continue;
        enables |= 1u << tap;
        ASSERT_EQ(places[tap], *now.taps[tap]) << "tap " << tap;
        for (size_t lane = 0; lane < lanes; ++lane) {
          const auto x = static_cast<int8_t>(inputs[tap * lanes + lane]);
          const auto w = static_cast<int8_t>(weights[tap * lanes + lane]);
          sums[lane] = now.user ? std::max<int32_t>(sums[lane], x) : sums[lane] + x * w;
        }
      }
      if (now.last)
        psums[read->second.issued + latency] = std::vector<uint32_t>(sums.begin(), sums.end());
    }
    ASSERT_EQ(unit->input_read_enable, enables);
    const auto word = words.find(cycle);
    ASSERT_EQ(unit->accumulate_valid, word != words.end());
    if (word != words.end()) {
      ASSERT_EQ(unit->accumulate_bank, word->second->block % banks);
      ASSERT_EQ(unit->accumulate_address, word->second->word);
    }
    const auto sum = psums.find(cycle);
    if (sum != psums.end()) {
      ASSERT_EQ(UnpackLanes(GetBytes(unit->accumulate_psums, 4 * lanes), 32, lanes), sum->second)
          << "cycle " << cycle;
    }
    ASSERT_EQ(unit->block_done, dones.count(cycle));

    done += dones.count(cycle);
    waiting += fill - (start && step->begins_fill);
    filled += fill;
    released += ends && step->ends_fill;
    weights_waiting += weight_fill - start;
    weights_filled += weight_fill;
    weights_released += ends;
    drained += drains;
    if (ends && step->ends_command) port.Take();
    at += busy;
    running = busy && !ends;
    unit.Step();
  }
  EXPECT_EQ(port.next(), instructions.size());
  EXPECT_EQ(filled, released);
  EXPECT_EQ(done, blocks.size());
}

TEST(DepthwiseUnits, Unit) {
  Config config;
  config.array_rows = 4;
  config.depthwise_buffer_words = 250;
  config.weight_buffer_words = 20;
  config.accumulation_buffer_words = 60;
  config.user_unit = systolic::FindUserUnit("maximum");
  UnitStalls seen;
  for (uint64_t seed = 1; seed <= 12 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    config.array_columns = 6;
    config.depthwise_multipliers = 3;
    config.accumulation_buffer_banks = 2;
    CheckDepthwiseUnit<Vdepthwise_unit_6x3>(config, seed, &seen);
    config.array_columns = 2;
    config.depthwise_multipliers = 4;
    config.accumulation_buffer_banks = 1;
    CheckDepthwiseUnit<Vdepthwise_unit_2x4>(config, seed, &seen);
  }
  EXPECT_GT(seen.input, 100);
  EXPECT_GT(seen.weights, 100);
  EXPECT_GT(seen.accumulation, 100);
  EXPECT_GT(seen.user, 100);
}

// ---- Its sums.

constexpr size_t kLanes = 2, kMultipliers = 3;

using Codes = std::array<uint32_t, kLanes>;

// The running sums of one instance with rounded sums, by the definition: a step's psum begins at 0,
// and so does the total of the steps' psums.
struct RoundedSums {
  Codes total;
  void Step(const MacRule& rule, bool first, uint32_t present, const std::vector<uint8_t>& inputs,
            const std::vector<uint8_t>& weights) {
    if (first) total.fill(MacZero(rule.psum));
    for (size_t lane = 0; lane < kLanes; ++lane) {
      uint32_t psum = MacZero(rule.psum);
      for (size_t tap = 0; tap < kMultipliers; ++tap) {
        if ((present >> tap & 1) == 0) continue;
        psum = PsumStep(rule, psum, inputs[tap * kLanes + lane], weights[tap * kLanes + lane]);
      }
      total[lane] = AccumulationStep(rule, total[lane], psum, 1.0f);
    }
  }
};

// What the sums are after each cycle, from the first step on.
struct Sums {
  Codes whole{};
  RoundedSums bf16_1{}, bf16_2{};
  std::array<Quire, kLanes> quires{};
};

TEST(DepthwiseUnits, SumsOfLanes) {
  const MacRule rule{.input = *FindFormat("e4m3"),
                     .weight = *FindFormat("posit8_1"),
                     .psum = *FindFormat("bf16"),
                     .accumulation = *FindFormat("bf16")};
  const Format e4m3 = *FindFormat("e4m3"), fp32 = *FindFormat("fp32");
  Simulation<Vdepthwise_bench> bench;
  Random random(1);
  Stalls stalls(2, 0.4, Stalls::Kind::kBursts);
  std::optional<Sums> running;
  // The sums after each of the last cycles, those of the latest in front.
  std::deque<std::optional<Sums>> history(kMultipliers * 2 + 4);
  bench->write_enable = bench->read_enable = 0;
  bool valid_before = false;
  for (int i = 0; i < 30'000; ++i) {
    const bool valid = !stalls.Next();
    const bool first = !running.has_value() || random.Below(4) == 0;
    const bool first_apart = first || valid_before;
    const auto present = static_cast<uint32_t>(random.Below(1 << kMultipliers));
    // Often the extremes, whose products are the largest.
    std::vector<uint8_t> inputs = RandomBytes(random, kMultipliers * kLanes);
    std::vector<uint8_t> weights = RandomBytes(random, kMultipliers * kLanes);
    for (uint8_t& code : inputs) code = random.Below(8) == 0 ? 0x80 : code;
    for (uint8_t& code : weights) code = random.Below(8) == 0 ? 0x80 : code;
    bench->valid = valid;
    bench->first = first;
    bench->first_apart = first_apart;
    bench->present = static_cast<uint8_t>(present);
    SetBytes(bench->inputs, inputs);
    SetBytes(bench->weights, weights);
    bench.Settle();
    const auto lanes_of = [](const auto& output, int bits) {
      return UnpackLanes(GetBytes(output, kLanes * static_cast<size_t>(bits) / 8), bits, kLanes);
    };
    // Returns what the steps up to `cycles` before this cycle add up to.
    const auto after = [&](size_t cycles) { return history[cycles - 1]; };
    const auto now = after(1), later = after(2);
    const auto rounded_1 = after(kMultipliers + 2), rounded_2 = after(2 * kMultipliers + 3);
    for (size_t lane = 0; lane < kLanes; ++lane) {
      if (now.has_value()) {
        ASSERT_EQ(lanes_of(bench->sums_now, 32)[lane], now->whole[lane]) << "cycle " << i;
      }
      if (later.has_value()) {
        ASSERT_EQ(lanes_of(bench->sums_later, 32)[lane], later->whole[lane]) << "cycle " << i;
        ASSERT_EQ(BitsOf(fp32, lanes_of(bench->sums_quire, 32)[lane]),
                  BitsOf(fp32, Encode(fp32, later->quires[lane].Value())))
            << "cycle " << i;
      }
      if (rounded_1.has_value()) {
        ASSERT_EQ(BitsOf(rule.psum, lanes_of(bench->sums_bf16_1, 16)[lane]),
                  BitsOf(rule.psum, rounded_1->bf16_1.total[lane]))
            << "cycle " << i;
      }
      if (rounded_2.has_value()) {
        ASSERT_EQ(BitsOf(rule.psum, lanes_of(bench->sums_bf16_2, 16)[lane]),
                  BitsOf(rule.psum, rounded_2->bf16_2.total[lane]))
            << "cycle " << i;
      }
    }
    if (valid) {
      if (!running.has_value()) running = Sums{};
      if (first) running->whole.fill(0);
      if (first) running->quires.fill(Quire());
      for (size_t tap = 0; tap < kMultipliers; ++tap) {
        if ((present >> tap & 1) == 0) continue;
        for (size_t lane = 0; lane < kLanes; ++lane) {
          const auto x = static_cast<int8_t>(inputs[tap * kLanes + lane]);
          const auto w = static_cast<int8_t>(weights[tap * kLanes + lane]);
          running->whole[lane] += static_cast<uint32_t>(x * w);
          running->quires[lane].AddProduct(Decode(e4m3, static_cast<uint8_t>(x)),
                                           Decode(e4m3, static_cast<uint8_t>(w)));
        }
      }
      running->bf16_1.Step(rule, first, present, inputs, weights);
      running->bf16_2.Step(rule, first_apart, present, inputs, weights);
    }
    valid_before = valid;
    history.push_front(running);
    history.pop_back();
    bench.Step();
  }
}

// ---- Its buffer.

TEST(DepthwiseUnits, InputBufferOfSeveralWrites) {
  constexpr size_t kWords = 11, kWordBytes = kLanes, kReads = kMultipliers;
  using Word = std::vector<uint8_t>;
  using Bank = std::array<std::optional<Word>, kWords>;
  Simulation<Vdepthwise_bench> bench;
  Random random(3);
  constexpr std::array<size_t, 3> kWrites = {1, 2, 4};
  std::array<std::array<Bank, 2>, 3> banks;                       // of each buffer
  std::array<std::array<std::optional<Word>, kReads>, 3> stands;  // at its ports
  bench->valid = 0;
  for (int i = 0; i < 20'000; ++i) {
    const size_t write_bank = random.Below(2), read_bank = random.Below(2);
    const size_t words = 1 + random.Below(4), write = random.Below(kWords - words + 1);
    const std::vector<uint8_t> data = RandomBytes(random, 4 * kWordBytes);
    const bool writes = random.Below(2) == 0;
    uint32_t enables = 0, addresses = 0;
    std::array<size_t, kReads> reads{};
    for (size_t r = 0; r < kReads; ++r) {
      reads[r] = random.Below(kWords);
      enables |= random.Below(3) != 0 ? 1u << r : 0;
      addresses |= static_cast<uint32_t>(reads[r]) << (4 * r);
    }
    bench->write_enable = writes;
    bench->write_bank = static_cast<uint8_t>(write_bank);
    bench->write_address = static_cast<uint8_t>(write);
    bench->write_words = static_cast<uint8_t>(words - 1);
    SetBytes(bench->write_data, data);
    bench->read_enable = static_cast<uint8_t>(enables);
    bench->read_bank = static_cast<uint8_t>(read_bank);
    bench->read_address = static_cast<uint16_t>(addresses);
    bench.Settle();
    const std::array<std::vector<uint8_t>, 3> read_data = {
        GetBytes(bench->read_data_1, kReads * kWordBytes),
        GetBytes(bench->read_data_2, kReads * kWordBytes),
        GetBytes(bench->read_data_4, kReads * kWordBytes)};
    for (size_t b = 0; b < kWrites.size(); ++b) {
      for (size_t r = 0; r < kReads; ++r) {
        if (stands[b][r].has_value()) {
          const auto from = read_data[b].begin() + static_cast<std::ptrdiff_t>(r * kWordBytes);
          ASSERT_EQ(Word(from, from + kWordBytes), *stands[b][r])
              << "cycle " << i << ", writes of " << kWrites[b];
        }
        if ((enables >> r & 1) != 0) stands[b][r] = banks[b][read_bank][reads[r]];
      }
      for (size_t w = 0; writes && w < (words - 1) % kWrites[b] + 1; ++w) {
        const auto from = data.begin() + static_cast<std::ptrdiff_t>(w * kWordBytes);
        banks[b][write_bank][write + w] = Word(from, from + kWordBytes);
      }
    }
    bench.Step();
  }
}

}  // namespace
}  // namespace kiln::rtl
