// Random programs: the functional level gives what plain loops over whole codes give, the cycle
// level gives the functional level's bits, also where tests decide wrongly.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "kiln/targets/binary/simulate/cycle/cycle.h"
#include "kiln/targets/binary/simulate/functional/functional.h"
#include "tests/targets/binary/simulate/random_program.h"

namespace kiln::binary {
namespace {

// Computes a stage by its definition: whole codes times whole weights, no digits and no tests.
// Returns results and sums with the skip.
struct NaiveStage {
  std::vector<int32_t> results, sums;
};
NaiveStage RunNaive(const BlockProgram& program, size_t number, const std::vector<int32_t>& map,
                    int64_t map_channels, const std::vector<int32_t>& records) {
  const StageProgram& s = program.stages[number];
  const int64_t channels = s.channels(program.config, static_cast<int>(number));
  const int64_t record = int64_t{program.record_beats} * program.config.beat_codes();
  NaiveStage out;
  for (int y = 0; y < s.out_height; ++y) {
    for (int x = 0; x < s.out_width; ++x) {
      for (int64_t n = 0; n < channels; ++n) {
        int64_t sum = 0;
        for (int ky = 0; ky < s.kernel_height; ++ky) {
          for (int kx = 0; kx < s.kernel_width; ++kx) {
            const int iy = y * s.stride - s.pad_top + ky, ix = x * s.stride - s.pad_left + kx;
            if (iy < 0 || iy >= s.height || ix < 0 || ix >= s.width) continue;
            for (int c = 0; c < s.in_channels; ++c) {
              const int64_t code =
                  map[static_cast<size_t>((int64_t{iy} * s.width + ix) * map_channels + c)];
              int64_t weight = s.subtract_base ? -1 : 0;
              for (int64_t p = 0; p < s.planes(); ++p) {
                const int64_t row = (p * channels + n) * s.kernel_height + ky;
                const auto at = (row * s.kernel_width + kx) * s.in_channels + c;
                weight += (s.signs[static_cast<size_t>(at)] != 0 ? 1 : -1) * (int64_t{1} << p);
              }
              sum += weight * code;
            }
          }
        }
        const auto index = static_cast<size_t>(n);
        const int64_t value = (sum * s.multipliers[index] + s.addends[index]) >> s.shift;
        const int64_t result = std::clamp(value, s.low, s.high);
        out.results.push_back(static_cast<int32_t>(result));
        if (!s.has_skip) continue;
        const int64_t pixel = int64_t{y} * s.out_width + x;
        const int64_t added = records[static_cast<size_t>(pixel * record + s.skip.first_code + n)];
        const int64_t total =
            result * s.skip.result_factor + added * s.skip.added_factor + s.skip.addend;
        out.sums.push_back(
            static_cast<int32_t>(std::clamp(total >> s.skip.shift, s.skip.low, s.skip.high)));
      }
    }
  }
  return out;
}

TEST(Levels, ExactTestsChangeNothing) {
  int with_bound = 0, with_planes = 0, decided = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    Random random(seed);
    const Config config = RandomConfig(random);
    RandomBlock block = MakeRandomBlock(config, random);
    std::vector<int64_t> counted;
    for (size_t i = 0; i < block.program.stages.size(); ++i) {
      StageProgram& s = block.program.stages[i];
      // Steps in any order: the whole of the planes and digits that the program has.
      std::ranges::fill(s.thresholds, -(int64_t{1} << (config.accumulator_bits - 1)));
      // An unsigned digit adds no less than 0, so that only its limit can decide.
      if (s.signed_codes) s.bound_by_sum = false;
      with_bound += s.bound_by_sum ? 1 : 0;
      with_planes += s.planes() > 1 ? 1 : 0;
      counted.push_back(s.channels(config, static_cast<int>(i)));
    }
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + Print(block.program));
    const FunctionalResult functional = RunFunctional(block.program, block.records, counted);
    std::vector<int32_t> map = block.records;
    int64_t channels = int64_t{block.program.record_beats} * config.beat_codes();
    for (size_t i = 0; i < block.program.stages.size(); ++i) {
      const StageProgram& s = block.program.stages[i];
      const NaiveStage naive = RunNaive(block.program, i, map, channels, block.records);
      if (s.emits) {
        ASSERT_EQ(functional.results[i], s.has_skip ? naive.sums : naive.results);
      }
      EXPECT_EQ(functional.counts[i].wrong, 0);
      EXPECT_EQ(functional.counts[i].outputs, std::ssize(naive.results));
      EXPECT_EQ(functional.counts[i].low, std::ranges::count(naive.results, s.low));
      decided += functional.counts[i].decided > 0 ? 1 : 0;
      map = s.forwards_sum ? naive.sums : naive.results;
      channels = counted[i];
    }
  }
  EXPECT_GT(with_bound, 40);
  EXPECT_GT(with_planes, 40);
  EXPECT_GT(decided, 10);
}

TEST(Levels, CycleLevelHasTheFunctionalBits) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    const Config config = RandomConfig(random);
    const RandomBlock block = MakeRandomBlock(config, random);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + Print(block.program));
    const FunctionalResult functional = RunFunctional(block.program, block.records);
    const auto cycle = RunCycle(block.program, block.records);
    ASSERT_TRUE(cycle.ok()) << cycle.status();
    ASSERT_EQ(cycle->results, functional.results);
  }
}

TEST(Levels, DecidedOutputsTakeNoTime) {
  // One stage, 12 output channels a column, two digits of three rounds each. A test after the first
  // digit decides some channels: each saves a look-up in every round of the second digit.
  Config config;
  config.stages = 1;
  config.channels_0 = 8;
  config.columns_0 = 1;
  config.beat_bytes = 8;
  config.row_words = 64;
  config.weight_words = 64;
  StageProgram s;
  s.in_channels = 24;
  s.height = s.width = 5;
  s.kernel_height = s.kernel_width = 3;
  s.pad_top = s.pad_left = 1;
  s.out_height = s.out_width = 5;
  s.list = 12;
  s.top_digit = 1;
  s.steps = {{0, 1, true}, {0, 0, false}};
  s.signs.assign(size_t{12} * 216, 1);
  s.multipliers.assign(12, 1);
  s.addends.assign(12, 0);
  s.high = 255;
  s.limits.assign(12, 1);
  s.emits = true;
  const auto cycles = [&](int decided) {
    StageProgram stage = s;
    for (int n = 0; n < 12; ++n) stage.thresholds.push_back(n < decided ? 1000000 : -1000000);
    const BlockProgram program{
        .config = config, .stages = {stage}, .input_beats = 3, .record_beats = 3};
    EXPECT_TRUE(Check(program).ok()) << Check(program);
    const std::vector<int32_t> records(size_t{25} * 24, 200);
    const auto result = RunCycle(program, records);
    EXPECT_TRUE(result.ok());
    EXPECT_EQ(result->lookups, 25 * 3 * (24 - decided));
    return result->trace.cycles;
  };
  const int64_t all = cycles(0);
  EXPECT_GE(all, 25 * 72);
  // The second and the third round have six channels less each. The first one may wait for tests.
  const int64_t saved = all - cycles(6);
  EXPECT_GE(saved, 25 * 12);
  EXPECT_LE(saved, 25 * 18);
  // A round takes at least a cycle for each of its groups, and one to hand the tables over.
  const int64_t most = all - cycles(12);
  EXPECT_GT(most, saved);
  EXPECT_LE(most, 25 * (36 - 3 * 4));
}

}  // namespace
}  // namespace kiln::binary
