#include "tests/targets/binary/simulate/random_program.h"

#include <algorithm>

#include "kiln/support/check.h"

namespace kiln::binary {
namespace {

int Between(Random& random, int64_t low, int64_t high) {
  return static_cast<int>(random.Between(low, high));
}

int64_t RoundedUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// Returns a number of windows: the last one begins within `length` and ends at it or behind it.
int Windows(int length, int kernel, int stride, Random& random) {
  const int least = std::max(0, (length - kernel + stride - 1) / stride);
  return 1 + Between(random, least, std::max(least, (length - 1) / stride));
}

// Sets the steps: binary weights with descending digits, or planes with digits in any order.
void AddSteps(Random& random, StageProgram* s) {
  const int planes = random.Below(3) == 0 ? Between(random, 2, 3) : 1;
  for (int digit = s->top_digit; digit >= 0; --digit) {
    for (int plane = planes - 1; plane >= 0; --plane)
      s->steps.push_back({plane, digit, random.Below(2) == 0});
  }
  if (planes > 1) {
    for (size_t i = s->steps.size(); i > 1; --i)
      std::swap(s->steps[i - 1], s->steps[random.Below(i)]);
  }
  s->steps.back().test = false;
  for (LookupStep& step : s->steps) {
    if (s->tests() > kMostTests) step.test = false;
  }
  s->subtract_base = planes > 1 || random.Below(4) == 0;
  s->bound_by_sum = planes == 1 && random.Below(2) == 0;
}

void AddNumbers(const Config& config, int number, Random& random, StageProgram* s) {
  const auto channels = static_cast<size_t>(s->channels(config, number));
  const size_t taps = static_cast<size_t>(s->kernel_height * s->kernel_width * s->in_channels);
  s->signs.resize(static_cast<size_t>(s->planes()) * channels * taps);
  for (uint8_t& sign : s->signs) sign = static_cast<uint8_t>(random.Below(2));
  const bool is_signed = random.Below(3) == 0;
  const int64_t codes = int64_t{1} << config.activation_bits;
  s->low = is_signed ? -codes / 2 : 0;
  s->high = is_signed ? codes / 2 - 1 : codes - 1;
  const int64_t largest = int64_t{1} << config.activation_bits;
  s->shift = Between(random, 8, 16);
  for (size_t n = 0; n < channels; ++n) {
    s->multipliers.push_back(random.Between(1, int64_t{1} << std::min(s->shift, 15)));
    s->addends.push_back(random.Between(-largest / 4, largest / 4) << s->shift);
    // The least sum whose result is above `low`, as the contract defines limits.
    const int64_t above = ((s->low + 1) << s->shift) - s->addends[n], m = s->multipliers[n];
    const int64_t limit = above >= 0 ? (above + m - 1) / m : -(-above / m);
    const int64_t most = (int64_t{1} << (config.accumulator_bits - 1)) - 1;
    s->limits.push_back(std::clamp(limit, -most, most));
  }
  const int64_t spread = largest * static_cast<int64_t>(taps) / 4;
  for (size_t i = 0; i < channels * static_cast<size_t>(s->tests()); ++i)
    s->thresholds.push_back(random.Between(-spread, spread / 4));
}

}  // namespace

Config RandomConfig(Random& random) {
  Config config;
  config.name = "random";
  config.activation_bits = 4 << random.Below(2);
  config.beat_bytes = 8;
  config.stages = Between(random, 1, 3);
  config.columns_0 = 1 << random.Below(3);
  config.columns_1 = 1 << random.Below(3);
  config.columns_2 = 1 << random.Below(2);
  config.channels_0 =
      config.beat_codes() * (config.activation_bits == 4 ? 1 : Between(random, 1, 2));
  config.channels_1 = config.columns_0 * Between(random, 1, 3);
  config.channels_2 = config.columns_1 * Between(random, 1, 3);
  config.group = Between(random, 1, 4);
  config.steps = Between(random, 1, 4);
  config.accumulator_bits = 28;
  config.column_depth = 2 << random.Below(3);
  config.row_words = 256;
  config.weight_words = 256;
  config.skip_beats = 128;
  config.columns_per_requantiser = 1 << random.Below(3);
  return config;
}

RandomBlock MakeRandomBlock(const Config& config, Random& random) {
  for (;;) {
    RandomBlock block;
    BlockProgram& program = block.program;
    program.config = config;
    const int stages = Between(random, 1, config.stages);
    int64_t channels = random.Between(1, 2 * config.channels(0));
    int height = Between(random, 1, 6), width = Between(random, 1, 6);
    bool signed_codes = random.Below(3) == 0;
    const int64_t first_chunks = RoundedUp(channels, config.channels(0));
    const int64_t first_beats = first_chunks / config.beat_codes();
    program.input_beats = static_cast<int>(first_beats);
    program.record_beats = program.input_beats + Between(random, 0, 2);
    for (int i = 0; i < stages; ++i) {
      StageProgram s;
      s.in_channels = static_cast<int>(channels);
      s.height = height;
      s.width = width;
      s.kernel_height = Between(random, 1, std::min(height + 1, 4));
      s.kernel_width = Between(random, 1, std::min(width + 1, 4));
      s.stride = random.Below(3) == 0 ? 2 : 1;
      s.pad_top = Between(random, 0, s.kernel_height - 1);
      s.pad_left = Between(random, 0, s.kernel_width - 1);
      s.out_height = Windows(height + s.pad_top, s.kernel_height, s.stride, random);
      s.out_width = Windows(width + s.pad_left, s.kernel_width, s.stride, random);
      s.list = Between(random, 1, config.column_depth);
      s.signed_codes = signed_codes;
      s.top_digit = i == 0 ? Between(random, 0, config.digits() - 1) : config.digits() - 1;
      AddSteps(random, &s);
      AddNumbers(config, i, random, &s);
      s.emits = i + 1 == stages || random.Below(2) == 0;
      const int64_t record = int64_t{program.record_beats} * config.beat_codes();
      const int64_t own = s.channels(config, i);
      if (random.Below(2) == 0 && own <= record) {
        s.out_height = i == 0 ? height : program.stages[0].height;
        s.out_width = i == 0 ? width : program.stages[0].width;
        s.has_skip = true;
        s.skip.first_code =
            config.columns(i) * Between(random, 0, (record - own) / config.columns(i));
        s.skip.signed_codes =
            program.stages.empty() ? signed_codes : program.stages[0].signed_codes;
        s.skip.shift = Between(random, 0, 8);
        s.skip.result_factor = random.Between(0, 2 << s.skip.shift);
        s.skip.added_factor = random.Between(-1, 2 << s.skip.shift);
        s.skip.addend = random.Between(-20, 20) << s.skip.shift;
        s.skip.low = s.low;
        s.skip.high = s.high;
        s.forwards_sum = random.Below(2) == 0;
      }
      height = s.out_height;
      width = s.out_width;
      channels = own;
      signed_codes = s.low < 0;
      program.stages.push_back(std::move(s));
    }
    int64_t used = int64_t{program.input_beats} * config.beat_codes();
    for (size_t i = 0; i < program.stages.size(); ++i) {
      const StageProgram& s = program.stages[i];
      if (s.has_skip)
        used = std::max(used, s.skip.first_code + s.channels(config, static_cast<int>(i)));
    }
    program.record_beats =
        static_cast<int>(RoundedUp(used, config.beat_codes()) / config.beat_codes());
    if (!kiln::binary::Check(program).ok()) continue;
    const StageProgram& first = program.stages[0];
    const int64_t codes = int64_t{1} << (kDigitBits * (first.top_digit + 1));
    const int64_t record = int64_t{program.record_beats} * config.beat_codes();
    for (int64_t i = 0; i < record * first.height * first.width; ++i) {
      // Many zeros, as behind a ReLU; none but zeros where a word has no channel.
      const bool none = i % record >= first.in_channels &&
                        i % record < int64_t{program.input_beats} * config.beat_codes();
      const bool zero = random.Below(2) == 0;
      const int64_t low = first.signed_codes ? -codes / 2 : 0;
      block.records.push_back(
          none || zero ? 0 : static_cast<int32_t>(random.Between(low, low + codes - 1)));
    }
    return block;
  }
}

}  // namespace kiln::binary
