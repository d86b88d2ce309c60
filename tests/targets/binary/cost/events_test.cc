// Events against counts by hand and against streams and windows of random programs; energies
// against the published figures.
#include "kiln/targets/binary/cost/events.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kiln/hardware/energy.h"
#include "kiln/targets/binary/cost/cost.h"
#include "kiln/targets/binary/isa/stream.h"
#include "tests/targets/binary/simulate/random_program.h"
#include "tests/targets/energy_checks.h"

namespace kiln::binary {
namespace {

// A 3x3 convolution of ten channels with two steps, to whose result a beat of each record is
// added, and a 1x1 convolution behind it with one step.
BlockProgram TwoStages() {
  BlockProgram program;
  Config& config = program.config;
  config.stages = 2;
  config.channels_0 = 8;
  config.channels_1 = 4;
  config.columns_0 = config.columns_1 = 2;
  config.column_depth = 8;
  config.row_words = 128;
  config.weight_words = 64;
  config.skip_beats = 128;
  config.beat_bytes = 8;
  StageProgram s;
  s.height = s.out_height = 4;
  s.width = s.out_width = 5;
  s.list = 2;
  s.top_digit = 1;
  s.multipliers.assign(4, 3);
  s.addends.assign(4, 5);
  s.limits.assign(4, 0);
  s.high = 255;
  s.emits = true;
  StageProgram next = s;
  s.in_channels = 10;
  s.kernel_height = s.kernel_width = 3;
  s.pad_top = s.pad_left = 1;
  s.steps = {{0, 1, true}, {0, 0, false}};
  s.signs.assign(size_t{4} * 90, 1);
  s.thresholds.assign(4, -7);
  s.has_skip = true;
  s.skip.first_code = 16;
  s.skip.high = 255;
  next.in_channels = 4;
  next.steps = {{0, 0, false}};
  next.top_digit = 0;
  next.signs.assign(size_t{4} * 4, 1);
  program.stages = {s, next};
  program.input_beats = 2;
  program.record_beats = 3;
  return program;
}

TEST(Events, CountWhatStagesDo) {
  const BlockProgram program = TwoStages();
  ASSERT_TRUE(Check(program).ok()) << Check(program);
  const LaunchEvents events = EventsOf(program);
  // Two words of a pixel. Windows have 2, 3, 3, 2 rows and 2, 3, 3, 3, 2 columns in the map. Six
  // groups of a window are two rounds of 24 tables, for four output channels.
  const StageEvents first = {.words_written = 40,
                             .words_read = 2 * 2 * 10 * 13,
                             .tables = 20 * 2 * 2 * 24,
                             .look_ups = 20 * 2 * 2 * 4,
                             .weights_written = 2 * 4,
                             .results = 80,
                             .forwarded = 40,
                             .emitted = 40,
                             .skips = 20};
  EXPECT_EQ(events.stages[0], first);
  const StageEvents second = {.words_written = 20,
                              .words_read = 20,
                              .tables = 20 * 12,
                              .look_ups = 20 * 4,
                              .weights_written = 4,
                              .results = 80,
                              .forwarded = 0,
                              .emitted = 40,
                              .skips = 0};
  EXPECT_EQ(events.stages[1], second);
  EXPECT_EQ(events.stages[2], StageEvents());
  EXPECT_EQ(events.beats_out, 80);
}

// Beats against the streams that simulations read, words against the places of every window.
TEST(Events, OfRandomProgramsAreThoseOfTheirStreamsAndWindows) {
  Random random(3);
  for (int i = 0; i < 50; ++i) {
    const Config config = RandomConfig(random);
    const RandomBlock block = MakeRandomBlock(config, random);
    const BlockProgram& program = block.program;
    const LaunchEvents events = EventsOf(program);
    std::vector<uint8_t> stream;
    AppendLoad(program, &stream);
    AppendRun(program, block.records, &stream);
    EXPECT_EQ(events.beats_in * config.beat_bytes, std::ssize(stream));
    for (size_t n = 0; n < program.stages.size(); ++n) {
      const StageProgram& s = program.stages[n];
      const StageLayout layout = LayoutOf(s, config, static_cast<int>(n));
      int64_t words = 0;
      for (int pixel = 0; pixel < s.out_height * s.out_width; ++pixel) {
        for (int fetch = 0; fetch < layout.fetches; ++fetch) {
          for (int lane = 0; lane < config.group; ++lane) {
            const WindowPlace place =
                PlaceOf(s, layout, config, static_cast<int>(n), fetch, lane, 0);
            const int y = pixel / s.out_width * s.stride - s.pad_top + place.ky;
            const int x = pixel % s.out_width * s.stride - s.pad_left + place.kx;
            const bool inside = y >= 0 && y < s.height && x >= 0 && x < s.width;
            words += place.exists() && inside ? 1 : 0;
          }
        }
      }
      EXPECT_EQ(events.stages[n].words_read, words * std::ssize(s.steps));
    }
  }
}

const EnergyPart& Find(const Energy& energy, const std::string& event) {
  for (const EnergyPart& part : energy.parts) {
    if (part.event == event) return part;
  }
  ADD_FAILURE() << "no event " << event;
  return energy.parts.front();
}

TEST(Energy, IsTheCountsTimesPublishedFigures) {
  const BlockProgram program = TwoStages();
  const std::vector<const BlockProgram*> launches = {&program, &program};
  const auto energy = EnergyOf(launches, program.config, 45);
  ASSERT_TRUE(energy.ok()) << energy.status();
  // 64 bits of 1 KiB and, of both sums, 16 bits of 256 bytes; 8 KiB take 10 pJ for 64 bits, and the
  // energy goes with the root of the size.
  const EnergyPart& word = Find(*energy, "stage 0: word read from a row memory");
  EXPECT_EQ(word.count, 2 * 520);
  EXPECT_NEAR(word.picojoules_each, 10 * (std::sqrt(1 / 8.0) + 0.25 * std::sqrt(1 / 32.0)), 1e-6);
  // Six additions of 7 bits, between 0.03 pJ for 8 bits and 0.1 pJ for 32; 4 entries of 7 bits are
  // stored twice, and three digits of 5 bits.
  const EnergyPart& table = Find(*energy, "stage 1: table of 4 entries built");
  EXPECT_EQ(table.count, 2 * 240);
  EXPECT_NEAR(table.picojoules_each, 6 * (0.03 - 0.07 / 24) + 71 * hardware::RegisterEnergyPerBit(),
              1e-6);
  const EnergyPart& entry = Find(*energy, "stage 0: entry looked up and added");
  EXPECT_EQ(entry.count, 2 * 320 * 24);
  const EnergyPart& beat = Find(*energy, "beat of a stream");
  EXPECT_DOUBLE_EQ(beat.picojoules_each, 1300);
}

TEST(Energy, AllButOuterMemoryScalesWithTheNode) {
  const BlockProgram program = TwoStages();
  const std::vector<const BlockProgram*> launches = {&program};
  ExpectAllButOuterMemoryScalesByNode(
      [&](int node_nm) { return EnergyOf(launches, program.config, node_nm); });
}

// The paper's block on binary-176: convolutions 144 -> 72 -> 36 -> 36 on a map of 64x64, results
// joined and added to the input.
BlockProgram PapersBlock() {
  BlockProgram program;
  constexpr int kInputs[] = {144, 72, 36}, kOutputs[] = {72, 36, 36};
  for (int i = 0; i < 3; ++i) {
    StageProgram s;
    s.in_channels = kInputs[i];
    s.height = s.width = s.out_height = s.out_width = 64;
    s.kernel_height = s.kernel_width = 3;
    s.pad_top = s.pad_left = 1;
    s.list = kOutputs[i] / program.config.columns(i);
    s.top_digit = 1;
    s.steps = {{0, 1, true}, {0, 0, false}};
    s.high = s.skip.high = 255;
    s.emits = s.has_skip = true;
    s.skip.first_code = i == 0 ? 0 : i == 1 ? 72 : 108;
    const auto outputs = static_cast<size_t>(kOutputs[i]);
    s.signs.assign(outputs * 9 * static_cast<size_t>(kInputs[i]), 1);
    s.multipliers.assign(outputs, 1);
    s.addends.assign(outputs, 0);
    s.limits.assign(outputs, 0);
    s.thresholds.assign(outputs, 0);
    program.stages.push_back(std::move(s));
  }
  program.input_beats = program.record_beats = 9;
  return program;
}

TEST(Energy, OfThePapersBlock) {
  const BlockProgram program = PapersBlock();
  ASSERT_TRUE(Check(program).ok()) << Check(program);
  const LaunchEvents events = EventsOf(program);
  int64_t products = 0;
  for (int i = 0; i < 3; ++i) {
    products += events.stages[static_cast<size_t>(i)].look_ups * program.config.tables(i) *
                program.config.group;
  }
  // Both digits of 64x64 pixels, windows of 9, all pairs of channels.
  EXPECT_EQ(products, int64_t{2} * 4096 * 9 * (144 * 72 + 72 * 36 + 36 * 36));
  const std::vector<const BlockProgram*> launches = {&program};
  double chip[2] = {0, 0};
  for (const int node : {45, 32}) {
    const auto energy = EnergyOf(launches, program.config, node);
    ASSERT_TRUE(energy.ok());
    for (const EnergyPart& part : energy->parts) {
      if (part.unit != kOuterMemoryUnit) chip[node == 45 ? 0 : 1] += part.picojoules() / 1e6;
    }
    if (node != 45) continue;
    // The table of docs/measurements-binary.md, over all stages.
    std::map<std::string, double> table;
    for (const EnergyPart& part : energy->parts) {
      const size_t colon = part.event.find(": ");
      table[colon == part.event.npos ? part.event : part.event.substr(colon + 2)] +=
          part.picojoules() / 1e6;
    }
    for (const auto& [event, microjoules] :
         std::map<std::string, double>{{"word of weights read", 67.98},
                                       {"entry looked up and added", 39.85},
                                       {"sum read, added to, tested and written", 11.45},
                                       {"table of 4 entries built", 4.45},
                                       {"result requantised", 4.00}}) {
      EXPECT_NEAR(table.at(event), microjoules, 0.006) << event;
    }
    EXPECT_NEAR(table.at("word read from a row memory") + table.at("word written to a row memory"),
                22.06, 0.006);
    // Words of 432 bits in memories of 32 words.
    EXPECT_NEAR(Find(*energy, "stage 0: word of weights read").picojoules() / 1e6,
                4096 * 2 * 3 * 72 * 432 * (10.0 / 64) * std::sqrt(432 * 32 / 65536.0) / 1e6, 1e-3);
    EXPECT_NEAR(Find(*energy, "beat of a stream").picojoules() / 1e6, 387.9, 0.1);
  }
  // As docs/measurements-binary.md says.
  EXPECT_NEAR(chip[0], 152.0, 0.1);
  EXPECT_NEAR(chip[1], 99.5, 0.1);
}

// What tests decide is not looked up: the events of look-ups are scaled, all others stay.
TEST(Energy, OfTheLookUpsThatAreDone) {
  const BlockProgram program = PapersBlock();
  const std::vector<const BlockProgram*> launches = {&program};
  const auto all = EnergyOf(launches, program.config, 45);
  const LookUpShares shares = {0.25, 1, 0};
  const auto part = EnergyOf(launches, program.config, 45, {&shares, 1});
  ASSERT_TRUE(all.ok() && part.ok());
  int scaled = 0;
  for (const EnergyPart& expected : all->parts) {
    int64_t count = expected.count;
    const bool looked_up = expected.event.ends_with("word of weights read") ||
                           expected.event.ends_with("entry looked up and added") ||
                           expected.event.ends_with("sum read, added to, tested and written");
    if (looked_up && expected.event.starts_with("stage 0")) count /= 4;
    if (looked_up && expected.event.starts_with("stage 2")) count = 0;
    scaled += count != expected.count ? 1 : 0;
    int64_t found = 0;
    for (const EnergyPart& own : part->parts) found += own.event == expected.event ? own.count : 0;
    EXPECT_EQ(found, count) << expected.event;
  }
  EXPECT_EQ(scaled, 6);
}

// Every kind of event of a design point is one of an energy, with the same energy.
TEST(Energy, EventsOfADesignPointAreThoseOfPrograms) {
  const BlockProgram program = TwoStages();
  const std::vector<const BlockProgram*> launches = {&program};
  const auto energy = EnergyOf(launches, program.config, 45);
  ASSERT_TRUE(energy.ok());
  const std::vector<EventEnergy> events = EventsOf(program.config, 45);
  EXPECT_EQ(events.size(), 2 * 12 + 1u);
  for (const EnergyPart& part : energy->parts) {
    const auto found = std::ranges::find(events, part.event, &EventEnergy::event);
    ASSERT_NE(found, events.end()) << part.event;
    EXPECT_EQ(found->picojoules, part.picojoules_each) << part.event;
  }
}

}  // namespace
}  // namespace kiln::binary
