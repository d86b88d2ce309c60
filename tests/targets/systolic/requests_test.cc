// Requests one by one against the closed forms of their sums (timing.h), on random instructions.
#include "kiln/targets/systolic/isa/requests.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "kiln/targets/systolic/isa/timing.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln::systolic {
namespace {

int64_t CyclesOf(const Requests& requests) {
  return std::accumulate(requests.begin(), requests.end(), int64_t{0},
                         [](int64_t sum, const Request& r) { return sum + std::max(r.beats, 1); });
}

// No two ports alike, so that one taken for another shows.
Config AnyConfig(Random& random) {
  Config config = RandomConfig(random);
  RandomFormats(random, &config);
  return config;
}
Config ConfigWithoutBlocks(Random& random) {
  Config config = AnyConfig(random);
  config.block_size = 0;
  return config;
}

int64_t ScalesOf(const Requests& requests) {
  return std::accumulate(requests.begin(), requests.end(), int64_t{0},
                         [](int64_t sum, const Request& r) { return sum + r.scales.count; });
}

TEST(Requests, FetchesTakeTheirCycles) {
  Random random(1);
  int fills = 0, padding = 0, joined = 0, scaled = 0;
  for (int round = 0; round < 2000; ++round) {
    const Config config = AnyConfig(random);
    const RandomCase c = RandomInstruction(
        random, config, random.Below(3) == 0 ? Opcode::kDepthwise : Opcode::kMatrix);
    const Instruction& in = c.instruction;
    const Geometry geometry = GeometryOf(in, config);
    const bool depthwise = in.opcode == Opcode::kDepthwise;
    joined += geometry.joined_rows ? 1 : 0;
    for (const Visit& visit : VisitsOf(in, config)) {
      if (visit.fetch_inputs) {
        const int32_t first = depthwise ? visit.first_column : 0;
        const int32_t all = depthwise ? geometry.column_tiles : geometry.groups;
        const int32_t end = std::min(all, first + in.tiling.groups_per_bank);
        const int32_t last = depthwise ? first : end - 1;  // a depthwise fill counts as one group
        int64_t cycles = 0;
        for (int32_t g = first; g <= last; ++g)
          cycles += GroupFetchCycles(in, config, geometry, visit, g);
        const Requests requests = InputFillRequests(in, config, geometry, visit, first, end);
        ASSERT_EQ(CyclesOf(requests), cycles) << Print(in, config);
        ASSERT_GT(std::ranges::max(requests, {}, &Request::beats).beats, 0)
            << "a fill that waits for no memory";
        ASSERT_EQ(std::max(requests.back().beats, 1),
                  LastGroupBeats(in, config, geometry, visit, last));
        ASSERT_EQ(ScalesOf(requests),
                  in.convolution.input_scales.present ? std::ssize(requests) : 0)
            << "a word is within one scale block";
        padding += std::ranges::count(requests, 0, &Request::beats) > 0 ? 1 : 0;
        ++fills;
      }
      const int32_t row_tile = depthwise ? 0 : geometry.row_tiles() - 1;
      const Requests weights =
          WeightTileRequests(in, config, visit.batch, row_tile, visit.first_column);
      // Each column of a tile has a scale, and one cycle requests one scale.
      ASSERT_EQ(std::max(CyclesOf(weights), ScalesOf(weights)),
                WeightFetchCycles(in, config, visit.batch, row_tile, visit.first_column));
      ASSERT_EQ(ScalesOf(weights), weights.front().scales.count);
      scaled += ScalesOf(weights) > 0 ? 1 : 0;
      ASSERT_EQ(weights.back().beats,
                LastWeightBeats(in, config, visit.batch, row_tile, visit.first_column));
      const Requests parameters = ParameterRequests(in, config, visit);
      ASSERT_EQ(CyclesOf(parameters), ParameterFetchCycles(in, config, visit));
      ASSERT_EQ(parameters.back().beats, LastParameterBeats(in, config, visit));
    }
  }
  EXPECT_GT(padding, 100);
  EXPECT_GT(fills - padding, 100);
  EXPECT_GT(joined, 10);
  EXPECT_GT(scaled, 100);
}

// The words of a port of its own: what docs/systolic.md says of slots, word by word.
VectorTime TimeOf(VectorWords words, const VectorProgram& program, const Config& config) {
  std::vector<int64_t> entered;
  int64_t slot_begin = 0, turn = 0, written = 0;
  for (VectorWord word; words.Next(&word);) {
    EXPECT_EQ(CyclesOf(words.WritesOf(word)), word.output);
    const size_t room = static_cast<size_t>(config.operand_buffer_words - 1);
    if (entered.size() >= room)
      slot_begin = std::max(slot_begin, entered[entered.size() - room] + 1);
    const int64_t asked = word.search + CyclesOf(word.operands);
    const int64_t slot = std::max({asked, word.output, int64_t{1}}) + word.gap;
    const int64_t enter =
        std::max(turn, slot_begin + asked + (word.operands.empty() ? 0 : config.memory_latency));
    entered.push_back(enter);
    slot_begin += slot;
    turn = enter + slot;
    if (word.to_memory) written = enter + word.output;
  }
  return {turn, std::max(turn, written + config.memory_latency) + PipelineDepth(program, config)};
}

TEST(Requests, WordsOfTheVectorUnitTakeTheirSlots) {
  Random random(2);
  for (int round = 0; round < 3000; ++round) {
    const Config config = ConfigWithoutBlocks(random);
    const auto opcode = static_cast<Opcode>(1 + random.Below(3));
    const RandomCase c = RandomInstruction(random, config, opcode);
    const Instruction& in = c.instruction;
    if (opcode == Opcode::kVector) {
      const VectorTime time = TimeOf(VectorWords(in, config), in.vector, config);
      const VectorTime expected = VectorInstructionTime(in.vector, config);
      ASSERT_EQ(time.busy, expected.busy) << Print(in, config);
      ASSERT_EQ(time.finished, expected.finished) << Print(in, config);
      continue;
    }
    for (const Visit& visit : VisitsOf(in, config)) {
      const VectorTime time = TimeOf(VectorWords(in, config, visit), in.vector, config);
      const VectorTime expected = DrainTime(in, config, visit);
      ASSERT_EQ(time.busy, expected.busy) << Print(in, config);
      ASSERT_EQ(time.finished, expected.finished) << Print(in, config);
    }
  }
}

}  // namespace
}  // namespace kiln::systolic
