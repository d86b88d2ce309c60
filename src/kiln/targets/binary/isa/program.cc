// Checks and prints programs.

#include "kiln/targets/binary/isa/program.h"

#include <algorithm>

#include "fmt/format.h"

namespace kiln::binary {
namespace {

int CeilDiv(int a, int b) { return (a + b - 1) / b; }

bool Fits(int64_t value, int bits) {
  const int64_t limit = int64_t{1} << (bits - 1);
  return value >= -limit && value < limit;
}

Status Wrong(int number, const std::string& what) {
  return absl::InvalidArgumentError(fmt::format("stage {}: {}", number, what));
}

Status CheckSizes(const StageProgram& s, const Config& config, int number) {
  if (s.in_channels < 1 || s.height < 1 || s.width < 1 || s.kernel_height < 1 ||
      s.kernel_width < 1 || s.stride < 1 || s.list < 1 || s.out_height < 1 || s.out_width < 1)
    return Wrong(number, "a size is below 1");
  if (s.pad_top < 0 || s.pad_left < 0 || s.pad_top >= s.kernel_height ||
      s.pad_left >= s.kernel_width)
    return Wrong(number, "the padding is negative or covers a whole window");
  if (std::max({s.height, s.width, s.out_height, s.out_width}) > 16383)
    return Wrong(number, "a map is longer than 16,383");
  if (std::max({s.kernel_height, s.kernel_width, s.stride}) > 15)
    return Wrong(number, "a window or a stride is longer than 15");
  // The last window begins inside the padded map, so that its last real row and column exist.
  if ((s.out_height - 1) * s.stride - s.pad_top >= s.height ||
      (s.out_width - 1) * s.stride - s.pad_left >= s.width)
    return Wrong(number, "a window begins behind the map");
  // The machine is done when the last result has left; by then it has taken all of its input.
  if ((s.out_height - 1) * s.stride - s.pad_top + s.kernel_height < s.height ||
      (s.out_width - 1) * s.stride - s.pad_left + s.kernel_width < s.width)
    return Wrong(number, "the last window ends before the map");
  const StageLayout layout = LayoutOf(s, config, number);
  if (layout.chunks > 255 || layout.fetches > 65535)
    return Wrong(number, "a window has too many channels");
  // The sums of a window's digits have room for these.
  const int64_t window_words = int64_t{s.kernel_height} * s.kernel_width * layout.chunks;
  if (window_words > kMostWindowWords) {
    return Wrong(number, fmt::format("a window of {} words, the machine adds up to {}",
                                     window_words, kMostWindowWords));
  }
  const int64_t words = int64_t{layout.row_slots} / config.group * layout.row_pitch;
  if (words > config.row_words) {
    return Wrong(number, fmt::format("{} rows of {} words take {} words of a row memory, which has "
                                     "{}",
                                     layout.row_slots, layout.row_pitch, words, config.row_words));
  }
  if (s.list > config.column_depth)
    return Wrong(number, fmt::format("{} output channels of a column, the machine has {}", s.list,
                                     config.column_depth));
  const int64_t weights = int64_t{s.planes()} * layout.rounds * s.list;
  if (weights > config.weight_words)
    return Wrong(number, fmt::format("{} words of weights of a column, the machine has {}", weights,
                                     config.weight_words));
  return OkStatus();
}

Status CheckSteps(const StageProgram& s, const Config& config, int number) {
  if (s.steps.empty() || std::ssize(s.steps) > kMostLookupSteps)
    return Wrong(number,
                 fmt::format("{} steps, 1 to {} are possible", s.steps.size(), kMostLookupSteps));
  for (const LookupStep& step : s.steps) {
    if (step.plane < 0 || step.digit < 0 || step.digit > s.top_digit || step.plane > 15)
      return Wrong(number, "a step has a plane or a digit that does not exist");
  }
  if (s.top_digit < 0 || s.top_digit >= config.digits())
    return Wrong(number, "its codes are wider than the machine's activations");
  if (s.steps.back().test) return Wrong(number, "a test after the last step decides nothing");
  if (s.tests() > kMostTests)
    return Wrong(number, fmt::format("{} tests, the machine has {}", s.tests(), kMostTests));
  if (s.bound_by_sum && s.planes() > 1)
    return Wrong(number, "the bound by the sum is for weights of one plane");
  if (s.bound_by_sum) {
    for (size_t i = 1; i < s.steps.size(); ++i) {
      if (s.steps[i].digit >= s.steps[i - 1].digit)
        return Wrong(number, "the bound by the sum needs digits in descending order");
    }
  }
  if (!Fits(MostSum(s), config.accumulator_bits)) {
    return Wrong(number, fmt::format("sums of up to {} do not fit {} bits", MostSum(s),
                                     config.accumulator_bits));
  }
  return OkStatus();
}

Status CheckNumbers(const StageProgram& s, const Config& config, int number) {
  const auto channels = static_cast<size_t>(s.channels(config, number));
  const size_t taps = static_cast<size_t>(s.kernel_height) * static_cast<size_t>(s.kernel_width) *
                      static_cast<size_t>(s.in_channels);
  if (s.signs.size() != static_cast<size_t>(s.planes()) * channels * taps ||
      s.multipliers.size() != channels || s.addends.size() != channels ||
      s.limits.size() != channels ||
      s.thresholds.size() != channels * static_cast<size_t>(s.tests()))
    return Wrong(number, "the number of weights, parameters or thresholds is not the layer's");
  if (s.shift < 0 || s.shift > kMostShift) return Wrong(number, "a shift is out of range");
  for (size_t n = 0; n < channels; ++n) {
    if (!Fits(s.multipliers[n], kMultiplierBits) || !Fits(s.addends[n], kAddendBits) ||
        !Fits(s.limits[n], config.accumulator_bits))
      return Wrong(number, fmt::format("a parameter of channel {} is out of range", n));
  }
  for (const int64_t threshold : s.thresholds) {
    if (!Fits(threshold, config.accumulator_bits))
      return Wrong(number, "a threshold is out of range");
  }
  const int64_t most = int64_t{1} << config.activation_bits;
  for (const int64_t code : {s.low, s.high, s.skip.low, s.skip.high}) {
    if (code < -most / 2 || code >= most) return Wrong(number, "a bound is no activation");
  }
  if (s.low > 0 || s.high < 0) return Wrong(number, "0 is no result");
  return OkStatus();
}

Status CheckSkip(const BlockProgram& program, int number) {
  const StageProgram& s = program.stages[static_cast<size_t>(number)];
  if (!s.has_skip) {
    if (s.forwards_sum) return Wrong(number, "there is no sum to forward");
    return OkStatus();
  }
  const Config& config = program.config;
  const StageProgram& first = program.stages[0];
  if (s.out_height != first.height || s.out_width != first.width)
    return Wrong(number, "what is added has another size than the result");
  if (s.skip.first_code % config.columns(number) != 0 ||
      s.skip.first_code + s.channels(config, number) >
          int64_t{program.record_beats} * config.beat_codes())
    return Wrong(number, "what is added is no whole words of the record");
  if (!Fits(s.skip.result_factor, kSkipFactorBits) || !Fits(s.skip.added_factor, kSkipFactorBits) ||
      !Fits(s.skip.addend, kSkipAddendBits) || s.skip.shift < 0 || s.skip.shift > 31)
    return Wrong(number, "a number of the sum with the skip is out of range");
  // Beats wait from their pixel's arrival until the stage computes it: the rows below the window's
  // middle of this stage and of all before it, and what is under way.
  int rows = 0;
  for (int i = 0; i <= number; ++i) {
    const StageProgram& before = program.stages[static_cast<size_t>(i)];
    rows += before.kernel_height - 1 - before.pad_top;
  }
  const int begin = s.skip.first_code / config.beat_codes();
  const int end = CeilDiv(s.skip.first_code + static_cast<int>(s.channels(config, number)),
                          config.beat_codes());
  const int64_t beats = int64_t{end - begin} * (int64_t{rows} * first.width + 4 + 4 * (number + 1));
  if (beats > config.skip_beats) {
    return Wrong(number, fmt::format("{} beats wait for the sum with the skip, the machine holds "
                                     "{}",
                                     beats, config.skip_beats));
  }
  return OkStatus();
}

}  // namespace

int StageProgram::planes() const {
  int planes = 0;
  for (const LookupStep& step : steps) planes = std::max(planes, step.plane + 1);
  return planes;
}

int StageProgram::tests() const {
  return static_cast<int>(std::ranges::count_if(steps, &LookupStep::test));
}

StageLayout LayoutOf(const StageProgram& stage, const Config& config, int number) {
  StageLayout layout;
  const int group = config.group;
  layout.chunks = CeilDiv(stage.in_channels, config.channels(number));
  layout.row_slots = group * CeilDiv(std::max(stage.kernel_height, stage.stride), group);
  layout.chunk_groups = stage.kernel_height == 1;
  layout.outer = layout.chunk_groups ? CeilDiv(layout.chunks, group) : layout.chunks;
  layout.inner = layout.chunk_groups ? 1 : CeilDiv(stage.kernel_height, group);
  layout.fetches = layout.outer * stage.kernel_width * layout.inner;
  layout.rounds = CeilDiv(layout.fetches, config.steps);
  layout.row_pitch = stage.width * layout.chunks;
  return layout;
}

int64_t MostSum(const StageProgram& stage) {
  // Digits of a signed code reach from -8 to 15.
  const int64_t window = int64_t{stage.kernel_height} * stage.kernel_width * stage.in_channels;
  int64_t sum = 0;
  int digits = 0;
  for (const LookupStep& step : stage.steps) {
    sum += (int64_t{15} << step.shift()) * window;
    digits = std::max(digits, step.digit + 1);
  }
  if (stage.subtract_base) sum += ((int64_t{1} << (kDigitBits * digits)) - 1) * window;
  return sum;
}

Status Check(const BlockProgram& program) {
  const Config& config = program.config;
  if (program.stages.empty() || std::ssize(program.stages) > config.stages) {
    return absl::InvalidArgumentError(
        fmt::format("a block of {} convolutions, the machine has {} "
                    "stages",
                    program.stages.size(), config.stages));
  }
  for (size_t i = 0; i < program.stages.size(); ++i) {
    const StageProgram& s = program.stages[i];
    const auto number = static_cast<int>(i);
    KILN_RETURN_IF_ERROR(CheckSizes(s, config, number));
    KILN_RETURN_IF_ERROR(CheckSteps(s, config, number));
    KILN_RETURN_IF_ERROR(CheckNumbers(s, config, number));
    KILN_RETURN_IF_ERROR(CheckSkip(program, number));
    if (i == 0) continue;
    const StageProgram& before = program.stages[i - 1];
    if (s.height != before.out_height || s.width != before.out_width ||
        s.in_channels != before.channels(config, number - 1))
      return Wrong(number, "its input is not the result of the stage before");
  }
  const int chunks = LayoutOf(program.stages[0], config, 0).chunks;
  if (program.input_beats * config.beat_codes() != chunks * config.channels(0) ||
      program.record_beats > 4095)
    return absl::InvalidArgumentError("the record has no whole words of the first stage");
  int beats = program.input_beats;
  for (size_t i = 0; i < program.stages.size(); ++i) {
    const StageProgram& s = program.stages[i];
    const int64_t end = s.skip.first_code + s.channels(config, static_cast<int>(i));
    if (s.has_skip) beats = std::max(beats, CeilDiv(static_cast<int>(end), config.beat_codes()));
  }
  if (program.record_beats != beats)
    return absl::InvalidArgumentError(
        fmt::format("the record has {} beats, {} are used", program.record_beats, beats));
  if (!program.stages.back().emits)
    return absl::InvalidArgumentError("the result of the last stage does not leave the machine");
  return OkStatus();
}

std::string Print(const BlockProgram& program) {
  std::string text = fmt::format("block of {} stages, {} beats a pixel\n", program.stages.size(),
                                 program.record_beats);
  for (size_t i = 0; i < program.stages.size(); ++i) {
    const StageProgram& s = program.stages[i];
    const StageLayout layout = LayoutOf(s, program.config, static_cast<int>(i));
    text +=
        fmt::format("  stage {}: {}x{}x{} -> {}x{}x{}, {}x{} /{}, {} rounds of {} channels, steps",
                    i, s.height, s.width, s.in_channels, s.out_height, s.out_width,
                    s.channels(program.config, static_cast<int>(i)), s.kernel_height,
                    s.kernel_width, s.stride, layout.rounds, s.list);
    for (const LookupStep& step : s.steps)
      text += fmt::format(" {}.{}{}", step.plane, step.digit, step.test ? "?" : "");
    if (s.has_skip) text += fmt::format(", + record[{}]", s.skip.first_code);
    if (s.bound_by_sum) text += ", bound by sum";
    if (s.emits) text += ", emitted";
    text += '\n';
  }
  return text;
}

}  // namespace kiln::binary
