// The rules of programs, each broken by itself, and the encoding of streams against bits that were
// set by hand from docs/binary-machine.md.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "kiln/targets/binary/isa/stream.h"

namespace kiln::binary {
namespace {

using ::testing::HasSubstr;

// A stage of a machine with the default sizes: 48 channels, 8 columns.
BlockProgram SmallBlock() {
  BlockProgram program;
  StageProgram s;
  s.in_channels = 3;
  s.height = 4;
  s.width = 5;
  s.kernel_height = s.kernel_width = 3;
  s.pad_top = s.pad_left = 1;
  s.out_height = 4;
  s.out_width = 5;
  s.list = 2;
  s.top_digit = 1;
  s.steps = {{0, 1, true}, {0, 0, false}};
  s.signs.assign(size_t{16} * 27, 1);
  s.multipliers.assign(16, 3);
  s.addends.assign(16, 5);
  s.limits.assign(16, 0);
  s.thresholds.assign(16, -7);
  s.high = 255;
  s.emits = true;
  program.stages = {s};
  program.input_beats = program.record_beats = 3;
  return program;
}

TEST(Program, EveryBrokenRuleIsNamed) {
  EXPECT_TRUE(Check(SmallBlock()).ok()) << Check(SmallBlock());
  const std::vector<std::pair<std::function<void(BlockProgram&)>, std::string>> cases = {
      {[](auto& p) { p.stages.clear(); }, "0 convolutions"},
      {[](auto& p) { p.stages[0].out_height = 6; }, "begins behind the map"},
      {[](auto& p) { p.stages[0].out_height = 2; }, "ends before the map"},
      {[](auto& p) { p.stages[0].pad_top = 3; }, "covers a whole window"},
      {[](auto& p) { p.stages[0].kernel_width = 16; }, "longer than 15"},
      {[](auto& p) {
         p.stages[0].kernel_height = p.stages[0].kernel_width = 15;
         p.stages[0].in_channels = 48 * 19;
       },
       "a window of 4275 words"},
      {[](auto& p) { p.config.row_words = 4; }, "words of a row memory, which has 4"},
      {[](auto& p) { p.stages[0].list = 17; }, "17 output channels of a column"},
      {[](auto& p) { p.config.weight_words = 1; }, "2 words of weights"},
      {[](auto& p) { p.stages[0].steps.back().test = true; }, "decides nothing"},
      {[](auto& p) { p.stages[0].steps.clear(); }, "0 steps"},
      {[](auto& p) { p.stages[0].top_digit = 2; }, "wider than the machine's"},
      {[](auto& p) { p.stages[0].steps[0].digit = 2; }, "does not exist"},
      {[](auto& p) {
         p.stages[0].bound_by_sum = true,
         std::swap(p.stages[0].steps[0].digit, p.stages[0].steps[1].digit);
       },
       "descending order"},
      {[](auto& p) { p.config.accumulator_bits = 12; }, "do not fit 12 bits"},
      {[](auto& p) { p.stages[0].signs.pop_back(); }, "not the layer's"},
      {[](auto& p) { p.stages[0].multipliers[3] = 1 << 16; }, "channel 3 is out of range"},
      {[](auto& p) { p.stages[0].shift = 48; }, "a shift is out of range"},
      {[](auto& p) { p.stages[0].low = 1; }, "0 is no result"},
      {[](auto& p) { p.stages[0].high = 256; }, "a bound is no activation"},
      {[](auto& p) { p.stages[0].has_skip = true, p.stages[0].skip.first_code = 40; },
       "no whole words of the record"},
      {[](auto& p) { p.record_beats = 4; }, "4 beats, 3 are used"},
      {[](auto& p) { p.input_beats = 2; }, "no whole words of the first stage"},
      {[](auto& p) { p.stages[0].emits = false; }, "does not leave"},
      {[](auto& p) { p.config.columns_1 = 8, p.stages.push_back(p.stages[0]); },
       "stage 1: its input is not the result"},
  };
  for (const auto& [breaks, text] : cases) {
    BlockProgram program = SmallBlock();
    breaks(program);
    const Status status = Check(program);
    EXPECT_FALSE(status.ok()) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }
}

// Each of two stages waits for a row below its windows' middle, so that the sum behind the second
// waits for two rows of the map.
TEST(Program, BeatsOfASumWaitForAllStagesBefore) {
  BlockProgram program = SmallBlock();
  program.config.columns_1 = 8;
  StageProgram second = program.stages[0];
  second.in_channels = 16;
  second.signs.assign(size_t{16} * 9 * 16, 1);
  second.has_skip = true;
  program.stages.push_back(second);
  // One beat of codes a pixel; two rows of five pixels, and 4 + 2 * 4 on the way.
  program.config.skip_beats = 2 * 5 + 4 + 2 * 4;
  EXPECT_TRUE(Check(program).ok()) << Check(program);
  --program.config.skip_beats;
  EXPECT_THAT(std::string(Check(program).message()), HasSubstr("stage 1: 22 beats wait"));
}

TEST(Stream, LaysOutFieldsAsTheContractSays) {
  EXPECT_EQ(Encode({Command::kWrite, Target::kWeights, 2, 5, 7, 9}),
            0x1ULL | 0x3ULL << 4 | 0x2ULL << 8 | 0x5ULL << 12 | 0x7ULL << 20 | 0x9ULL << 36);
  const BlockProgram program = SmallBlock();
  const std::vector<uint64_t> settings = SettingsOf(program, 0);
  ASSERT_EQ(std::ssize(settings), kSettingsWords);
  EXPECT_EQ(settings[0], 5ULL | 4ULL << 14 | 1ULL << 28 | 5ULL << 36);
  // Three rows in memory: one block of three, and the row above the map is the last of them.
  EXPECT_EQ(settings[1] & 0xffffffffULL,
            3ULL | 3ULL << 4 | 1ULL << 8 | 1ULL << 12 | 1ULL << 16 | 1ULL << 20 | 3ULL << 24);
  EXPECT_EQ(settings[2], 5ULL | 4ULL << 14 | 2ULL << 28 | 1ULL << 35 | 2ULL << 49);
  const std::vector<uint64_t> steps = StepsOf(program, 0);
  EXPECT_EQ(steps[0], 4ULL << 16 | 1ULL << 21 | 1ULL << 23);
  EXPECT_EQ(steps[1], 2ULL << 24);
}

TEST(Stream, CodesOfAGroupAreItsFirstSignAndDifferences) {
  BlockProgram program = SmallBlock();
  // Output channel 0, input channel 1, column kx = 2: signs of rows 0 to 2.
  StageProgram& s = program.stages[0];
  const auto sign = [&](int ky) -> uint8_t& {
    return s.signs[static_cast<size_t>((ky * 3 + 2) * 3 + 1)];
  };
  // The machine's settings, nine words of settings, two steps, each behind a header; then the
  // header of the weights of column 0.
  const size_t word = 16 * (2 + 10 + 3 + 1);
  // Group 2 of the round, channel 1 of 48: three bits for each table before it.
  const size_t bit = (2 * 48 + 1) * 3;
  for (const int signs : {0b000, 0b001, 0b010, 0b011, 0b100, 0b101, 0b110, 0b111}) {
    for (int ky = 0; ky < 3; ++ky) sign(ky) = static_cast<uint8_t>(signs >> ky & 1);
    std::vector<uint8_t> stream;
    AppendLoad(program, &stream);
    int code = 0;
    for (size_t i = 0; i < 3; ++i)
      code |= (stream[word + (bit + i) / 8] >> ((bit + i) % 8) & 1) << i;
    const int differs = (signs & 1) != 0 ? ~signs & 0b110 : signs & 0b110;
    EXPECT_EQ(code, (signs & 1) | differs) << signs;
  }
}

TEST(Stream, ResultsAreSortedByStage) {
  BlockProgram program = SmallBlock();
  program.stages[0].out_height = program.stages[0].height = 1;
  program.stages[0].out_width = program.stages[0].width = 1;
  program.stages[0].low = -128;
  program.stages[0].high = 127;
  std::vector<uint8_t> beats(32, 0);
  beats[0] = 0x80;
  beats[7] = 0x7f;
  beats[16] = 0xff;
  const auto results = SplitResults(program, beats);
  ASSERT_TRUE(results.ok()) << results.status();
  const std::vector<int32_t> expected = {-128, 0, 0, 0, 0, 0, 0, 127, -1, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ((*results)[0], expected);
  beats[15] = 1;
  EXPECT_FALSE(SplitResults(program, beats).ok());
}

}  // namespace
}  // namespace kiln::binary
