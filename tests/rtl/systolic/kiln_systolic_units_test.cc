// Tests small modules of the systolic machine on their own: buffers and queues, counters, the guard
// in front of a port, the walk along an axis, the writer of outputs, the array's element.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "Vaccumulation_buffer_1.h"
#include "Vaccumulation_buffer_2.h"
#include "Vaccumulation_buffer_bf16.h"
#include "Vaccumulation_buffer_e8m0.h"
#include "Vaccumulation_buffer_int32.h"
#include "Vaccumulation_buffer_posit.h"
#include "Vaddress_guard.h"
#include "Vaddress_guard_4_gib.h"
#include "Vcommand_queue.h"
#include "Vdepthwise_weight_buffer.h"
#include "Vinput_buffer.h"
#include "Voutput_writer.h"
#include "Vperformance_counters.h"
#include "Vprocessing_element.h"
#include "Vregion_axis.h"
#include "Vsection_register.h"
#include "Vvector_delay_0.h"
#include "Vvector_delay_3.h"
#include "kiln/numerics/codec.h"
#include "kiln/numerics/mac.h"
#include "kiln/numerics/microscaling.h"
#include "kiln/support/random.h"
#include "tests/rtl/arith/power_value.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

std::vector<uint8_t> RandomBytes(Random& random, size_t count) {
  std::vector<uint8_t> bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

// ---- Input buffer: two banks, all read ports in one of them.

TEST(SystolicUnits, InputBufferKeepsTwoBanks) {
  constexpr size_t kWords = 7, kReads = 2, kWordBytes = 3;  // 3 lanes of 8 bits
  Simulation<Vinput_buffer> buffer;
  Random random(1);
  std::array<std::array<std::optional<std::vector<uint8_t>>, kWords>, 2> banks;
  std::array<std::optional<std::vector<uint8_t>>, kReads> stands;  // at the ports
  for (int i = 0; i < 20'000; ++i) {
    const size_t read_bank = random.Below(2), write_bank = random.Below(2),
                 write = random.Below(kWords);
    const std::vector<uint8_t> data = RandomBytes(random, kWordBytes);
    std::array<size_t, kReads> reads{};
    uint32_t enables = 0, addresses = 0;
    for (size_t r = 0; r < kReads; ++r) {
      reads[r] = random.Below(kWords);
      enables |= random.Below(2) == 0 ? 1u << r : 0;
      addresses |= static_cast<uint32_t>(reads[r]) << (3 * r);
    }
    buffer->write_enable = random.Below(2) == 0;
    buffer->write_bank = static_cast<uint8_t>(write_bank);
    buffer->write_address = static_cast<uint8_t>(write);
    SetBytes(buffer->write_data, data);
    buffer->read_enable = static_cast<uint8_t>(enables);
    buffer->read_bank = static_cast<uint8_t>(read_bank);
    buffer->read_address = static_cast<uint8_t>(addresses);
    buffer.Settle();
    const std::vector<uint8_t> read = GetBytes(buffer->read_data, kReads * kWordBytes);
    for (size_t r = 0; r < kReads; ++r) {
      if (stands[r].has_value()) {
        const auto at = read.begin() + static_cast<std::ptrdiff_t>(r * kWordBytes);
        ASSERT_EQ(std::vector<uint8_t>(at, at + kWordBytes), *stands[r]);
      }
      if ((enables >> r & 1) != 0) stands[r] = banks[read_bank][reads[r]];
    }
    if (buffer->write_enable != 0) banks[write_bank][write] = data;
    buffer.Step();
  }
}

// ---- Accumulation buffer of words of two columns. Array, depthwise unit and reader are in
// different banks. The array adds to a word again as soon as it may.

struct Accumulators {
  size_t banks;
  const char *psum, *accumulation;
  const char* scale;  // format of the block scales, or null
  int64_t latency;
};

template <typename Model>
void CheckAccumulation(const Accumulators& shape, uint64_t seed) {
  constexpr size_t kWords = 5;
  using Word = std::array<uint32_t, 2>;
  const size_t banks = shape.banks;
  MacRule rule;
  rule.psum = *FindFormat(shape.psum);
  rule.input = rule.weight = *FindFormat(rule.psum.is_integer() ? "int8" : "bf16");
  rule.accumulation = *FindFormat(shape.accumulation);
  ASSERT_FALSE(FindMacFault(rule).has_value());
  MacRule scaled = rule;
  scaled.scaled = shape.scale != nullptr;
  Simulation<Model> buffer(seed);
  Random random(seed);
  const auto code_of = [&](const Format& format) {
    const uint32_t bits = static_cast<uint32_t>(random()) >> random.Below(32);
    if (format.is_integer()) return static_cast<uint32_t>(SignedCode(format, bits));
    if (random.Below(8) == 0) return bits & CodeMask(format);  // specials, too
    if (random.Below(8) == 0) return 1u << (format.bits - 1);  // -0 of a float
    const double number = std::ldexp(random.Between(-255, 255), -static_cast<int>(random.Below(9)));
    return Encode(format, Exact::FromFloat(static_cast<float>(number)));
  };
  const auto scale_factor = [&] {
    const Format format = *FindFormat(shape.scale);
    const auto middle = static_cast<uint32_t>(CodeMask(format) / 2);
    const uint32_t code = random.Below(8) == 0
                              ? static_cast<uint32_t>(random()) & CodeMask(format)
                              : middle + static_cast<uint32_t>(random.Below(9)) - 4;
    return ToFloat(Decode(format, code));
  };
  // Returns the sums of a word with psums under scales.
  const auto sums = [](const MacRule& rule, const Word& word, const Word& psums,
                       const std::array<float, 2>& scales) {
    Word result;
    for (size_t c = 0; c < 2; ++c) {
      result[c] =
          AccumulationStep(rule, word[c], psums[c], scales[c]) & CodeMask(rule.accumulation);
    }
    return result;
  };
  const auto pack = [](const Word& word, int bits) {
    const uint64_t mask = (uint64_t{1} << bits) - 1;
    const uint64_t packed = (word[0] & mask) | (word[1] & mask) << bits;
    std::vector<uint8_t> bytes(static_cast<size_t>(bits) / 4);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(packed >> 8 * i);
    return bytes;
  };

  struct Place {
    std::optional<Word> word;
    int64_t added = -100, stored = -100;  // the last cycles in which its address came
  };
  struct Access {
    size_t bank, address;
    bool overwrite;
  };
  struct Write {
    int64_t cycle;
    size_t bank, address;
    Word word;
  };
  std::vector<std::array<Place, kWords>> contents(banks);
  std::optional<Access> adds, stores;  // of the cycle before: their psums come now
  std::deque<Write> writes;
  std::optional<Word> stands;
  std::array<int, 3> additions{};  // LATENCY, LATENCY + 1 and LATENCY + 2 cycles after the last
  buffer->array_valid = buffer->depthwise_valid = buffer->read_enable = 0;
  std::memset(&buffer->array_scales, 0, sizeof buffer->array_scales);
  buffer.Reset();
  for (int64_t cycle = 0; cycle < 20'000; ++cycle) {
    const Word psums{code_of(rule.psum), code_of(rule.psum)},
        depthwise_psums{code_of(rule.psum), code_of(rule.psum)};
    std::array<float, 2> scales{1, 1};
    if (scaled.scaled) {
      for (float& scale : scales) scale = scale_factor() * scale_factor();
    }
    SetBytes(buffer->array_psums, pack(psums, rule.psum.bits));
    SetBytes(buffer->depthwise_psums, pack(depthwise_psums, rule.psum.bits));
    // Scales that are powers of two come in a form of their own.
    const bool powers = scaled.scaled && IsPowerOfTwoScale(*FindFormat(shape.scale));
    const auto scale_bits = [powers](float scale) {
      return powers ? PowerBits(scale) : std::bit_cast<uint32_t>(scale);
    };
    SetBytes(buffer->array_scales,
             pack({scale_bits(scales[0]), scale_bits(scales[1])}, powers ? kPowerBits : 32));
    // Who is where in this cycle: with one bank one of them alone, with two, two of them.
    const size_t apart = random.Below(3), bank = random.Below(banks);
    const bool array = apart != 0,
               depthwise = banks == 2 ? apart != 1 : apart == 0 && random.Below(2) == 0;
    const bool reads = banks == 2 ? apart != 2 : apart == 0 && !depthwise;
    const size_t other = banks - 1 - bank;
    const size_t depthwise_bank = array ? other : bank,
                 read_bank = array || depthwise
                                 ? (banks == 2 ? 1 - (array ? bank : depthwise_bank) : 0)
                                 : bank;
    const bool array_now = array && random.Below(4) != 0;
    const bool depthwise_now = depthwise && random.Below(4) != 0;
    buffer->array_valid = array_now;
    buffer->array_bank = static_cast<uint8_t>(bank);
    const size_t array_address = random.Below(kWords), depthwise_address = random.Below(kWords);
    Place& place = contents[bank][array_address];
    const int64_t distance = cycle - place.added;
    // A word that the depthwise unit is just writing is read from the next cycle on.
    const bool may_add = (place.word.has_value() || distance == shape.latency) &&
                         distance >= shape.latency && cycle - place.stored > shape.latency;
    const bool overwrite = !may_add || random.Below(4) == 0;
    buffer->array_address = static_cast<uint8_t>(array_address);
    buffer->array_overwrite = overwrite;
    buffer->depthwise_valid = depthwise_now;
    buffer->depthwise_bank = static_cast<uint8_t>(depthwise_bank);
    buffer->depthwise_address = static_cast<uint8_t>(depthwise_address);
    const bool reads_now = reads && !(banks == 1 && array_now);
    const size_t read_address = random.Below(kWords);
    buffer->read_enable = reads_now;
    buffer->read_bank = static_cast<uint8_t>(read_bank);
    buffer->read_address = static_cast<uint8_t>(read_address);
    buffer.Settle();
    if (stands.has_value()) {
      const std::vector<uint8_t> expected = pack(*stands, rule.accumulation.bits);
      ASSERT_EQ(GetBytes(buffer->read_data, expected.size()), expected)
          << "cycle " << buffer.Cycle();
    }
    // The word stands until its bank's port is used again, by whom ever.
    stands = reads_now ? contents[read_bank][read_address].word : std::nullopt;
    const int64_t written = cycle - 1 + shape.latency;
    if (adds.has_value()) {
      const Word before = adds->overwrite ? Word{} : *contents[adds->bank][adds->address].word;
      writes.push_back({written, adds->bank, adds->address, sums(scaled, before, psums, scales)});
    }
    if (stores.has_value()) {
      writes.push_back(
          {written, stores->bank, stores->address, sums(rule, {}, depthwise_psums, {1, 1})});
    }
    for (; !writes.empty() && writes.front().cycle == cycle; writes.pop_front()) {
      contents[writes.front().bank][writes.front().address].word = writes.front().word;
    }
    adds = array_now ? std::optional(Access{bank, array_address, overwrite}) : std::nullopt;
    stores = depthwise_now ? std::optional(Access{depthwise_bank, depthwise_address, true})
                           : std::nullopt;
    if (array_now) {
      const int64_t more = distance - shape.latency;
      if (!overwrite && more < std::ssize(additions)) ++additions[static_cast<size_t>(more)];
      place.added = cycle;
    }
    if (depthwise_now) contents[depthwise_bank][depthwise_address].stored = cycle;
    buffer.Step();
  }
  for (const int count : additions) EXPECT_GT(count, 50);
}
TEST(SystolicUnits, AccumulationBufferOfTwoBanks) {
  CheckAccumulation<Vaccumulation_buffer_2>({2, "int32", "int32", nullptr, 1}, 2);
}
TEST(SystolicUnits, AccumulationBufferOfOneBank) {
  CheckAccumulation<Vaccumulation_buffer_1>({1, "int32", "int32", nullptr, 1}, 3);
}
TEST(SystolicUnits, AccumulationBufferTakesTwoCyclesForASum) {
  CheckAccumulation<Vaccumulation_buffer_bf16>({1, "bf16", "bf16", nullptr, 2}, 4);
  CheckAccumulation<Vaccumulation_buffer_posit>({2, "fp32", "posit16_1", "ue5m3", 2}, 5);
}
TEST(SystolicUnits, AccumulationBufferTakesThreeCyclesForASum) {
  CheckAccumulation<Vaccumulation_buffer_e8m0>({2, "bf16", "fp32", "e8m0", 3}, 6);
  CheckAccumulation<Vaccumulation_buffer_int32>({1, "int32", "fp32", "ue5m3", 3}, 7);
}

// ---- Depthwise weights: taps come one by one, and leave so many at once.

TEST(SystolicUnits, DepthwiseWeightBufferDealsTapsOut) {
  constexpr size_t kTaps = 11, kMultipliers = 3, kWordBytes = 2, kSteps = 4;
  Simulation<Vdepthwise_weight_buffer> buffer;
  Random random(4);
  std::array<std::vector<std::vector<uint8_t>>, 2> banks;  // the last fill of each
  buffer->write_enable = buffer->read_enable = 0;
  for (int fill = 0; fill < 300; ++fill) {
    const size_t bank = random.Below(2), other = 1 - bank;
    const auto taps = static_cast<size_t>(random.Between(1, kTaps));
    banks[bank].clear();
    std::optional<size_t> step;  // that was read in the cycle before
    while (banks[bank].size() < taps || step.has_value()) {
      const bool writes = banks[bank].size() < taps && random.Below(3) != 0;
      const std::vector<uint8_t> data = RandomBytes(random, kWordBytes);
      const bool reads = !banks[other].empty() && random.Below(2) == 0;
      const size_t wanted = random.Below(kSteps);
      buffer->write_enable = writes;
      buffer->write_bank = static_cast<uint8_t>(bank);
      buffer->write_first = banks[bank].empty();
      SetBytes(buffer->write_data, data);
      buffer->read_enable = reads;
      buffer->read_bank = static_cast<uint8_t>(other);
      buffer->read_step = static_cast<uint8_t>(wanted);
      buffer.Settle();
      if (step.has_value()) {
        const std::vector<uint8_t> read = GetBytes(buffer->read_data, kMultipliers * kWordBytes);
        for (size_t i = 0; i < kMultipliers && *step * kMultipliers + i < banks[other].size();
             ++i) {
          const auto at = read.begin() + static_cast<std::ptrdiff_t>(i * kWordBytes);
          ASSERT_EQ(std::vector<uint8_t>(at, at + kWordBytes),
                    banks[other][*step * kMultipliers + i]);
        }
      }
      step = reads ? std::optional(wanted) : std::nullopt;
      if (writes) banks[bank].push_back(data);
      buffer.Step();
    }
  }
}

// ---- Commands with their scales.

TEST(SystolicUnits, CommandQueueKeepsScalesBesideCommands) {
  constexpr size_t kDepth = 3;
  Simulation<Vcommand_queue> queue;
  Random random(5);
  Stalls pushes(6, 0.4, Stalls::Kind::kBursts), takes(7, 0.4, Stalls::Kind::kBursts);
  std::deque<std::pair<uint32_t, uint32_t>> expected;
  queue->push = queue->command_ready = 0;
  queue.Reset();
  int full = 0;
  for (int i = 0; i < 20'000; ++i) {
    const bool room = expected.size() < kDepth, there = !expected.empty();
    queue->push = room && !pushes.Next();
    queue->push_command = static_cast<uint16_t>(random.Below(1 << 12));
    queue->push_scales = static_cast<uint8_t>(random.Below(1 << 5));
    queue->command_ready = !takes.Next();
    queue.Settle();
    ASSERT_EQ(queue->room, room);
    ASSERT_EQ(queue->command_valid, there);
    full += room ? 0 : 1;
    if (there) {
      ASSERT_EQ(queue->command, expected.front().first);
      ASSERT_EQ(queue->scales, expected.front().second);
      if (queue->command_ready != 0) expected.pop_front();
    }
    if (queue->push != 0) expected.emplace_back(queue->push_command, queue->push_scales);
    queue.Step();
  }
  EXPECT_GT(full, 1'000);
}

// ---- Performance counters.

TEST(SystolicUnits, CountersOfAllUnits) {
  constexpr size_t kUnits = 8, kCounters = 6, kBytesBits = 16;
  // The bits of each unit's activity that it can set: those of its counters in the manual
  // (docs/rtl.md), busy and the causes from bit 32 on, bytes below.
  constexpr uint64_t kTwoCauses = uint64_t{0b1011} << 32, kThreeCauses = uint64_t{0b1111} << 32,
                     kReads = 0xffff0000, kWrites = 0xffff;
  constexpr std::array<uint64_t, kUnits> kCounted = {kTwoCauses | kReads,
                                                     kTwoCauses | kReads,
                                                     kTwoCauses,
                                                     kThreeCauses,
                                                     kThreeCauses,
                                                     kTwoCauses | kReads,
                                                     kThreeCauses | kReads | kWrites,
                                                     kThreeCauses | kReads};
  Simulation<Vperformance_counters> counters;
  Random random(8);
  // What is counted up to a cycle: the values of the next cycle, and of the last three.
  std::array<std::array<uint64_t, kCounters>, kUnits> expected{};
  std::deque<decltype(expected)> former(3);
  counters->clear = counters->count = 0;
  counters.Reset();
  int compared = 0, waited = 0;
  constexpr int kTurn = 64;
  size_t unit = 0, counter = 0;
  for (int i = 0; i < 20'000; ++i) {
    const bool clear = random.Below(400) == 0, count = random.Below(3) != 0;
    std::array<uint64_t, kUnits> activities{};
    for (size_t u = 0; u < kUnits; ++u)
      activities[u] = random.Below(uint64_t{1} << (2 * kBytesBits + 4)) & kCounted[u];
    counters->clear = clear;
    counters->count = count;
    counters->activity_input_fetch = activities[0];
    counters->activity_weight_fetch = activities[1];
    counters->activity_weight_load = activities[2];
    counters->activity_array = activities[3];
    counters->activity_depthwise = activities[4];
    counters->activity_parameter_fetch = activities[5];
    counters->activity_vector = activities[6];
    counters->activity_command = activities[7];
    counters->read_unit = static_cast<uint8_t>(unit);
    counters->read_counter = static_cast<uint8_t>(counter);
    counters.Settle();
    ASSERT_LT(waited++, kTurn);
    if (counters->read_valid) {
      ASSERT_EQ(counters->read_value, counter < kCounters ? former.front()[unit][counter] : 0u)
          << unit << '.' << counter << " in cycle " << i;
      ++compared;
      waited = 0;
      unit = random.Below(kUnits);
      counter = random.Below(8);
    }
    former.push_back(expected);
    former.pop_front();
    for (size_t u = 0; u < kUnits; ++u) {
      // busy, stalled by cause 2 to 0, bytes read, bytes written: the highest bit first.
      const uint64_t a = activities[u];
      const std::array<uint64_t, kCounters> add = {a >> 35 & 1, a >> 32 & 1,      a >> 33 & 1,
                                                   a >> 34 & 1, a >> 16 & 0xffff, a & 0xffff};
      for (size_t k = 0; k < kCounters; ++k) {
        if (clear) {
          expected[u][k] = 0;
        } else if (count) {
          expected[u][k] += add[k];
        }
      }
    }
    counters.Step();
  }
  EXPECT_GT(compared, 400);
}

// ---- Sections of an instruction.

TEST(SystolicUnits, SectionsKeepTheirWords) {
  constexpr size_t kWords = 3, kBytes = 14;
  // The bits that are stored, from the highest: USED of the model. Byte 13 has the highest.
  constexpr std::array<size_t, kWords> kUsed = {112, 0, 61};
  const auto stored = [&kUsed](std::vector<uint8_t> payload, size_t word) {
    for (size_t bit = 0; bit < 8 * kBytes - kUsed[word]; ++bit)
      payload[bit / 8] &= static_cast<uint8_t>(~(1u << bit % 8));
    return payload;
  };
  Simulation<Vsection_register> section;
  Random random(9);
  std::array<std::vector<uint8_t>, kWords> expected;
  for (int i = 0; i < 5'000; ++i) {
    const bool fill = i == 0 || random.Below(30) == 0, write = random.Below(2) == 0;
    const size_t index = random.Below(16);
    const std::vector<uint8_t> payload = RandomBytes(random, kBytes);
    section->fill = fill;
    section->write = write;
    section->index = static_cast<uint8_t>(index);
    SetBytes(section->payload, payload);
    section.Settle();
    if (i > 0) {
      std::vector<uint8_t> bytes;  // word 0 on top
      for (size_t w = kWords; w-- > 0;)
        bytes.insert(bytes.end(), expected[w].begin(), expected[w].end());
      ASSERT_EQ(GetBytes(section->section, bytes.size()), bytes);
    }
    for (size_t w = 0; w < kWords; ++w) {
      if (fill || (write && index == w)) expected[w] = stored(payload, w);
    }
    section.Step();
  }
}

// ---- The guard in front of a port. Combinational.

template <typename Guard>
void CheckGuard(uint64_t memory_bytes) {
  VerilatedContext context;
  Guard guard(&context);
  Random random(10);
  int discarded = 0, passed = 0;
  for (int i = 0; i < 50'000; ++i) {
    const uint64_t last = (uint64_t{1} << 32) - 1;
    const uint64_t address = random.Below(4) == 0
                                 ? last - random.Below(20)
                                 : std::min(last, memory_bytes + 10 - random.Below(50));
    const uint64_t bytes = random.Below(32);
    guard.unit_valid = static_cast<uint8_t>(random.Below(2));
    guard.port_ready = static_cast<uint8_t>(random.Below(2));
    guard.address = address;
    guard.bytes = static_cast<uint8_t>(bytes);
    guard.eval();
    const bool outside = bytes > 0 && address + bytes > memory_bytes;
    ++(outside ? discarded : passed);
    ASSERT_EQ(guard.port_valid, guard.unit_valid && !outside) << address << " + " << bytes;
    ASSERT_EQ(guard.unit_ready, guard.port_ready);
    ASSERT_EQ(guard.fault, guard.unit_valid && outside);
  }
  EXPECT_GT(discarded, 5'000);
  EXPECT_GT(passed, 5'000);
  guard.final();
}

TEST(SystolicUnits, GuardKeepsRequestsInsideTheMemory) {
  CheckGuard<Vaddress_guard>(1'000);
  CheckGuard<Vaddress_guard_4_gib>(uint64_t{1} << 32);
}

// ---- Places along an axis.

TEST(SystolicUnits, RegionAxisWalksTilesPlacesAndTaps) {
  Simulation<Vregion_axis> axis;
  Random random(11);
  for (int round = 0; round < 200; ++round) {
    const auto field = [&](uint64_t bound) { return static_cast<uint32_t>(random.Below(bound)); };
    const bool compact = random.Below(2) == 0, pixels = random.Below(2) == 0;
    const uint32_t kernel = 1 + field(4), places = 1 + field(12), pad = field(4),
                   stride = 1 + field(4), dilation = 1 + field(3), tile_step = field(50);
    const uint64_t place_bytes = random.Below(1'000), stride_bytes = random.Below(1'000),
                   dilation_bytes = random.Below(uint64_t{1} << 32),
                   tile_bytes = random.Below(10'000);
    axis->compact = compact;
    axis->pixels = pixels;
    axis->kernel = kernel;
    axis->places = places;
    axis->pad = pad;
    axis->stride = stride;
    axis->dilation = dilation;
    axis->tile_step = tile_step;
    axis->place_bytes = place_bytes;
    axis->stride_bytes = stride_bytes;
    axis->dilation_bytes = dilation_bytes;
    axis->tile_bytes = tile_bytes;
    axis->advance = axis->rewind = axis->next_tile = axis->restart = 0;
    axis.Reset();
    uint32_t tile = 0, place = 0;
    const auto modulo = [](uint64_t bytes) { return bytes & ((uint64_t{1} << 32) - 1); };
    for (int i = 0; i < 200; ++i) {
      axis->advance = axis->rewind = axis->next_tile = axis->restart = 0;
      const bool last = place + 1 == places;
      const uint64_t what = random.Below(20);
      axis->advance = what < 15 && !last;
      axis->rewind = what == 15;
      axis->next_tile = what == 16 || (what < 15 && last && random.Below(2) == 0);
      axis->restart = what == 17;
      axis.Settle();
      // Place `place` of the tile: of a compact axis a pixel's tap, else a pixel, or a row or
      // column of the input.
      const uint32_t pixel = compact ? place / kernel : place, tap = compact ? place % kernel : 0;
      const uint32_t step = compact || pixels ? stride : 1;
      const uint64_t step_bytes = compact || pixels ? stride_bytes : place_bytes;
      ASSERT_EQ(axis->coordinate, tile * tile_step + pixel * step + tap * dilation - pad)
          << "place " << place;
      ASSERT_EQ(axis->offset,
                modulo(tile * tile_bytes + pixel * step_bytes + tap * dilation_bytes));
      ASSERT_EQ(axis->last, last);
      if (axis->advance != 0) ++place;
      if (axis->rewind != 0 || axis->next_tile != 0 || axis->restart != 0) place = 0;
      tile = axis->restart != 0 ? 0 : tile + axis->next_tile;
      axis.Step();
    }
  }
}

// ---- Outputs: a word to requests.

TEST(SystolicUnits, OutputWriterMakesRequestsOfWords) {
  constexpr size_t kLanes = 4;
  constexpr uint64_t kAddresses = uint64_t{1} << 32;
  enum Access : uint8_t { kDense, kBroadcast, kStrided };
  struct Request {
    uint64_t address, bytes;
    std::vector<uint8_t> data;
    bool last;
  };
  for (const double stall : {0.0, 0.5}) {
    Simulation<Voutput_writer> writer;
    Random random(12);
    Stalls words(13, stall, Stalls::Kind::kBursts), port(14, stall);
    std::deque<Request> expected;
    bool pending = false;
    writer->word_valid = writer->request_ready = 0;
    writer.Reset();
    for (int i = 0; i < 20'000; ++i) {
      ASSERT_EQ(writer->word_ready, !pending);
      // The word is taken when it is offered, so it is offered where there is room.
      const bool offers = !pending && !words.Next();
      const auto access = static_cast<uint8_t>(random.Below(3));
      const auto shift = static_cast<uint8_t>(random.Below(3));
      const auto lanes = static_cast<uint8_t>(random.Between(1, kLanes));
      const uint64_t address = random.Below(kAddresses), stride = random.Below(kAddresses);
      const std::vector<uint8_t> elements = RandomBytes(random, 4 * kLanes);
      writer->word_valid = offers;
      writer->word_access = access;
      writer->word_shift = shift;
      writer->word_lanes = lanes;
      writer->word_address = address;
      writer->word_stride = stride;
      SetBytes(writer->word_elements, elements);
      if (offers) {
        const uint64_t bytes = uint64_t{1} << shift;
        const auto element = [&](size_t lane) {
          return std::vector<uint8_t>(
              elements.begin() + static_cast<std::ptrdiff_t>(4 * lane),
              elements.begin() + static_cast<std::ptrdiff_t>(4 * lane + bytes));
        };
        if (access == kDense) {
          std::vector<uint8_t> data;
          for (size_t lane = 0; lane < lanes; ++lane) {
            const std::vector<uint8_t> one = element(lane);
            data.insert(data.end(), one.begin(), one.end());
          }
          expected.push_back({address, lanes * bytes, data, true});
        } else if (access == kBroadcast) {
          expected.push_back({address, bytes, element(lanes - 1u), true});
        } else {
          for (size_t lane = 0; lane < lanes; ++lane) {
            expected.push_back(
                {(address + lane * stride) % kAddresses, bytes, element(lane), lane + 1 == lanes});
          }
        }
      }
      writer->request_ready = !port.Next();
      writer.Settle();
      ASSERT_EQ(writer->request_valid, !expected.empty());
      if (!expected.empty()) {
        const Request& request = expected.front();
        ASSERT_EQ(writer->request_address, request.address);
        ASSERT_EQ(writer->request_bytes, request.bytes);
        ASSERT_EQ(GetBytes(writer->request_data, request.bytes), request.data);
        ASSERT_EQ(writer->request_tag, request.last);
        if (writer->request_ready != 0) expected.pop_front();
      }
      pending = !expected.empty();
      writer.Step();
    }
  }
}

// ---- Registers of the lanes: time is cycles with `advance`.

template <typename Model>
void CheckVectorDelay(size_t cycles) {
  Simulation<Model> delay;
  Random random(15);
  Stalls lanes(16, 0.4, Stalls::Kind::kBursts);
  std::deque<std::optional<uint32_t>> inside(cycles);
  delay->advance = delay->in_valid = 0;
  delay.Reset();
  for (int i = 0; i < 20'000; ++i) {
    const bool advance = !lanes.Next();
    const std::optional<uint32_t> in =
        random.Below(2) == 0 ? std::optional(static_cast<uint32_t>(random.Below(1 << 13)))
                             : std::nullopt;
    delay->advance = advance;
    delay->in_valid = in.has_value();
    delay->in_data = static_cast<uint16_t>(in.value_or(0x1555));
    delay.Settle();
    const std::optional<uint32_t> out = cycles == 0 ? in : inside.front();
    ASSERT_EQ(delay->out_valid, out.has_value());
    if (out.has_value()) {
      ASSERT_EQ(delay->out_data, *out);
    }
    if (advance && cycles > 0) {
      inside.pop_front();
      inside.push_back(in);
    }
    delay.Step();
  }
}
TEST(SystolicUnits, VectorDelayStandsWithTheLanes) { CheckVectorDelay<Vvector_delay_3>(3); }
TEST(SystolicUnits, VectorDelayOfNoCycles) { CheckVectorDelay<Vvector_delay_0>(0); }

// ---- An element of the array, int8 into int32.

TEST(SystolicUnits, ProcessingElementSwapsAndAdds) {
  Simulation<Vprocessing_element> element;
  Random random(17);
  const auto code = [&] { return static_cast<int8_t>(random()); };
  std::optional<int8_t> shadow, standing, activation;
  std::optional<uint32_t> psum;
  for (int i = 0; i < 20'000; ++i) {
    const bool active = random.Below(3) != 0, load = random.Below(4) == 0;
    const bool swap = active && shadow.has_value() && random.Below(5) == 0;
    const bool multiply = (standing.has_value() || swap) && random.Below(4) != 0;
    const int8_t in = code(), weight = code();
    const auto above = static_cast<uint32_t>(random());
    element->active = active;
    element->swap = swap;
    element->multiply = multiply;
    element->load = load;
    element->activation_in = static_cast<uint8_t>(in);
    element->weight = static_cast<uint8_t>(weight);
    element->psum_in = above;
    element.Settle();
    if (activation.has_value()) {
      ASSERT_EQ(static_cast<int8_t>(element->activation_out), *activation);
      ASSERT_EQ(element->psum_out, *psum);
    }
    if (active) {
      if (swap) standing = shadow;  // before what is loaded in this cycle
      activation = in;
      psum = above + (multiply ? static_cast<uint32_t>(int32_t{in} * *standing) : 0);
    }
    if (load) shadow = weight;
    element.Step();
  }
}

}  // namespace
}  // namespace kiln::rtl
