// Encodes headers, settings, weights and activations.

#include "kiln/targets/binary/isa/stream.h"

#include <algorithm>

#include "fmt/format.h"
#include "kiln/support/check.h"

namespace kiln::binary {
namespace {

// Appends bits to a word of any width, lowest first.
class BitWriter {
 public:
  void Add(uint64_t value, int bits) {
    for (int i = 0; i < bits; ++i) bits_.push_back((value >> i & 1) != 0);
  }
  uint64_t Low() const {
    uint64_t word = 0;
    for (size_t i = 0; i < bits_.size() && i < 64; ++i) word |= uint64_t{bits_[i]} << i;
    return word;
  }
  // Appends the bits as whole beats.
  void AppendBeats(size_t beat_bytes, std::vector<uint8_t>* stream) const {
    const size_t begin = stream->size(), bytes = (bits_.size() + 7) / 8;
    stream->resize(begin + (bytes + beat_bytes - 1) / beat_bytes * beat_bytes, 0);
    for (size_t i = 0; i < bits_.size(); ++i) {
      if (bits_[i]) (*stream)[begin + i / 8] |= static_cast<uint8_t>(1 << i % 8);
    }
  }

 private:
  std::vector<bool> bits_;
};

uint64_t WordOf(std::initializer_list<std::pair<int64_t, int>> fields) {
  BitWriter writer;
  for (const auto& [value, bits] : fields) writer.Add(static_cast<uint64_t>(value), bits);
  return writer.Low();
}

class Loader {
 public:
  Loader(const BlockProgram& program, std::vector<uint8_t>* stream)
      : program_(program),
        config_(program.config),
        beat_(static_cast<size_t>(program.config.beat_bytes)),
        stream_(*stream) {}

  void Word(uint64_t word) {
    BitWriter writer;
    writer.Add(word, 64);
    writer.AppendBeats(beat_, &stream_);
  }

  // Appends a write of one beat for each word.
  void Words(Target target, int stage, int column, std::span<const uint64_t> words) {
    if (words.empty()) return;
    Word(Encode({Command::kWrite, target, stage, column, 0, std::ssize(words)}));
    for (const uint64_t word : words) Word(word);
  }

  void Numbers(Target target, int stage, int column, std::span<const int64_t> by_channel,
               size_t channels) {
    const auto columns = static_cast<size_t>(config_.columns(stage));
    std::vector<uint64_t> words;
    for (size_t at = 0; at < by_channel.size(); at += channels) {
      for (size_t n = static_cast<size_t>(column); n < channels; n += columns)
        words.push_back(static_cast<uint64_t>(by_channel[at + n]));
    }
    Words(target, stage, column, words);
  }

  void Weights(int number, int column) {
    const StageProgram& s = program_.stages[static_cast<size_t>(number)];
    const StageLayout layout = LayoutOf(s, config_, number);
    const int channels = config_.channels(number), columns = config_.columns(number);
    const int word_bits = channels * config_.steps * config_.group;
    const int64_t beats = (word_bits + 8 * config_.beat_bytes - 1) / (8 * config_.beat_bytes);
    const int64_t words = int64_t{s.planes()} * layout.rounds * s.list;
    Word(Encode({Command::kWrite, Target::kWeights, number, column, 0, beats * words}));
    for (int plane = 0; plane < s.planes(); ++plane) {
      for (int round = 0; round < layout.rounds; ++round) {
        for (int i = 0; i < s.list; ++i) {
          BitWriter writer;
          for (int e = 0; e < config_.steps; ++e) {
            for (int c = 0; c < channels; ++c)
              Code(s, layout, number, plane, round * config_.steps + e, c, i * columns + column,
                   &writer);
          }
          writer.AppendBeats(beat_, &stream_);
        }
      }
    }
  }

 private:
  // Appends the code of a group: the first sign, then for each other sign whether it differs.
  void Code(const StageProgram& s, const StageLayout& layout, int number, int plane, int fetch,
            int channel, int64_t output, BitWriter* writer) {
    uint64_t first = 1, code = 0;
    for (int lane = 0; lane < config_.group; ++lane) {
      const WindowPlace place = PlaceOf(s, layout, config_, number, fetch, lane, channel);
      uint64_t sign = 1;
      if (place.exists()) {
        const int64_t row = (plane * s.channels(config_, number) + output) * s.kernel_height;
        const int64_t at = ((row + place.ky) * s.kernel_width + place.kx) * s.in_channels;
        sign = s.signs[static_cast<size_t>(at + place.channel)];
      }
      if (lane == 0) first = sign;
      code |= (lane == 0 ? sign : sign ^ first) << lane;
    }
    writer->Add(code, config_.group);
  }

  const BlockProgram& program_;
  const Config& config_;
  const size_t beat_;
  std::vector<uint8_t>& stream_;
};

// Writes codes of 4, 8 or 16 bits to bytes that are 0.
void PackCodes(std::span<const int32_t> codes, size_t bits, uint8_t* to) {
  for (size_t i = 0; i < codes.size(); ++i) {
    const auto code = static_cast<uint32_t>(codes[i]);
    if (bits == 4) {
      to[i / 2] |= static_cast<uint8_t>((code & 15U) << (4 * (i % 2)));
    } else {
      for (size_t b = 0; b < bits / 8; ++b)
        to[i * bits / 8 + b] = static_cast<uint8_t>(code >> (8 * b));
    }
  }
}

}  // namespace

uint64_t Encode(const Header& header) {
  return WordOf({{static_cast<int64_t>(header.command), 4},
                 {static_cast<int64_t>(header.target), 4},
                 {header.stage, 4},
                 {header.column, 8},
                 {header.address, 16},
                 {header.beats, 28}});
}

WindowPlace PlaceOf(const StageProgram& stage, const StageLayout& layout, const Config& config,
                    int number, int fetch, int lane, int channel) {
  WindowPlace place;
  if (fetch >= layout.fetches) return place;
  const int g = fetch % layout.inner, rest = fetch / layout.inner;
  const int kx = rest % stage.kernel_width, outer = rest / stage.kernel_width;
  const int chunk = layout.chunk_groups ? outer * config.group + lane : outer;
  const int ky = layout.chunk_groups ? 0 : g * config.group + lane;
  const int at = chunk * config.channels(number) + channel;
  if (ky >= stage.kernel_height || at >= stage.in_channels) return place;
  return {.ky = ky, .kx = kx, .channel = at};
}

std::vector<uint64_t> SettingsOf(const BlockProgram& program, int number) {
  const StageProgram& s = program.stages[static_cast<size_t>(number)];
  const Config& config = program.config;
  const StageLayout layout = LayoutOf(s, config, number);
  const int group = config.group, blocks = layout.row_slots / group;
  const int top = (layout.row_slots - s.pad_top) % layout.row_slots;  // slot of the first row
  const int code_words = config.beat_codes() / config.columns(number);
  const int first_word = s.skip.first_code / config.columns(number);
  const int last_beat =
      (s.skip.first_code + static_cast<int>(s.channels(config, number)) - 1) / config.beat_codes();
  return {
      WordOf({{s.width, 14}, {s.height, 14}, {layout.chunks, 8}, {layout.row_pitch, 18}}),
      WordOf({{s.kernel_height, 4},
              {s.kernel_width, 4},
              {s.stride, 4},
              {s.pad_top, 4},
              {s.pad_left, 4},
              {blocks, 4},
              {layout.row_slots, 5},
              {top / group, 4},
              {top % group, 3},
              {s.stride / group, 4},
              {s.stride % group, 3},
              {layout.chunk_groups, 1},
              {layout.outer, 8},
              {layout.inner, 4}}),
      WordOf({{s.out_width, 14},
              {s.out_height, 14},
              {s.list, 7},
              {layout.rounds, 14},
              {std::ssize(s.steps), 7}}),
      WordOf({{s.signed_codes, 1},
              {s.subtract_base, 1},
              {s.bound_by_sum, 1},
              {s.forwards_sum, 1},
              {s.emits, 1},
              {s.has_skip, 1},
              {static_cast<size_t>(number) + 1 < program.stages.size(), 1},
              {s.skip.signed_codes, 1},
              {s.shift, 6},
              {s.top_digit, 2}}),
      WordOf({{s.low, 17}, {s.high, 17}}),
      WordOf({{s.skip.result_factor, kSkipFactorBits},
              {s.skip.added_factor, kSkipFactorBits},
              {s.skip.shift, 5}}),
      WordOf({{s.skip.low, 17}, {s.skip.high, 17}}),
      WordOf({{s.skip.addend, kSkipAddendBits},
              {first_word % code_words, 5},
              {first_word / code_words, 12}}),
      WordOf({{last_beat, 12}}),
  };
}

std::vector<uint64_t> StepsOf(const BlockProgram& program, int number) {
  const StageProgram& s = program.stages[static_cast<size_t>(number)];
  const StageLayout layout = LayoutOf(s, program.config, number);
  std::vector<uint64_t> words;
  int tests = 0;
  for (const LookupStep& step : s.steps) {
    words.push_back(WordOf({{int64_t{step.plane} * layout.rounds * s.list, 16},
                            {step.shift(), 5},
                            {step.digit, 2},
                            {step.test, 1},
                            {int64_t{tests} * s.list, 8}}));
    tests += step.test ? 1 : 0;
  }
  return words;
}

void AppendLoad(const BlockProgram& program, std::vector<uint8_t>* stream) {
  Loader loader(program, stream);
  const uint64_t machine =
      WordOf({{program.record_beats, 12},
              {program.input_beats, 12},
              {std::ssize(program.stages), 4},
              {int64_t{program.stages[0].width} * program.stages[0].height, 28}});
  loader.Words(Target::kMachine, 0, 0, {&machine, 1});
  for (size_t i = 0; i < program.stages.size(); ++i) {
    const StageProgram& s = program.stages[i];
    const auto number = static_cast<int>(i);
    const auto channels = static_cast<size_t>(s.channels(program.config, number));
    loader.Words(Target::kSettings, number, 0, SettingsOf(program, number));
    loader.Words(Target::kSteps, number, 0, StepsOf(program, number));
    std::vector<int64_t> parameters;
    for (size_t n = 0; n < channels; ++n) {
      parameters.push_back(static_cast<int64_t>(
          WordOf({{s.multipliers[n], kMultiplierBits}, {s.addends[n], kAddendBits}})));
    }
    for (int column = 0; column < program.config.columns(number); ++column) {
      loader.Weights(number, column);
      loader.Numbers(Target::kParameters, number, column, parameters, channels);
      loader.Numbers(Target::kThresholds, number, column, s.thresholds, channels);
      loader.Numbers(Target::kLimits, number, column, s.limits, channels);
    }
  }
}

int64_t LoadBeats(const BlockProgram& program) {
  std::vector<uint8_t> stream;
  AppendLoad(program, &stream);
  return std::ssize(stream) / program.config.beat_bytes;
}

void AppendRun(const BlockProgram& program, std::span<const int32_t> codes,
               std::vector<uint8_t>* stream) {
  const Config& config = program.config;
  Loader loader(program, stream);
  loader.Word(Encode({.command = Command::kRun}));
  const auto bits = static_cast<size_t>(config.activation_bits);
  KILN_CHECK(codes.size() * bits % (8 * static_cast<size_t>(config.beat_bytes)) == 0);
  stream->resize(stream->size() + codes.size() * bits / 8, 0);
  PackCodes(codes, bits, stream->data() + stream->size() - codes.size() * bits / 8);
}

void AppendResult(const Config& config, int stage, std::span<const int32_t> codes,
                  std::vector<uint8_t>* beats) {
  const auto beat = static_cast<size_t>(config.beat_bytes);
  beats->resize(beats->size() + beat, 0);
  PackCodes(codes, static_cast<size_t>(config.activation_bits), &beats->end()[-config.beat_bytes]);
  beats->back() = static_cast<uint8_t>(stage);
}

std::vector<size_t> BeatsOutByStage(const BlockProgram& program) {
  std::vector<size_t> beats(static_cast<size_t>(program.config.stages), 0);
  for (size_t i = 0; i < program.stages.size(); ++i) {
    const StageProgram& s = program.stages[i];
    if (s.emits) beats[i] = static_cast<size_t>(int64_t{s.out_height} * s.out_width * s.list);
  }
  return beats;
}

int64_t BeatsOut(const BlockProgram& program) {
  int64_t sum = 0;
  for (const size_t beats : BeatsOutByStage(program)) sum += static_cast<int64_t>(beats);
  return sum;
}

StatusOr<StageResults> SplitResults(const BlockProgram& program, std::span<const uint8_t> beats) {
  const Config& config = program.config;
  const auto beat = static_cast<size_t>(config.beat_bytes);
  const auto bits = static_cast<size_t>(config.activation_bits);
  StageResults results(program.stages.size());
  for (size_t at = 0; at + beat <= beats.size(); at += beat) {
    const size_t stage = beats[at + beat - 1];
    if (stage >= results.size() || !program.stages[stage].emits)
      return absl::InternalError(fmt::format("a beat of stage {} leaves the machine", stage));
    const StageProgram& s = program.stages[stage];
    // Results are signed if one of their bounds is.
    const bool is_signed = s.has_skip ? s.skip.low < 0 : s.low < 0;
    for (size_t i = 0; i < static_cast<size_t>(config.columns(static_cast<int>(stage))); ++i) {
      uint32_t code = 0;
      if (bits == 4) {
        code = beats[at + i / 2] >> (4 * (i % 2)) & 15U;
      } else {
        for (size_t b = 0; b < bits / 8; ++b)
          code |= uint32_t{beats[at + i * bits / 8 + b]} << (8 * b);
      }
      const uint32_t sign = uint32_t{1} << (bits - 1);
      results[stage].push_back(is_signed ? static_cast<int32_t>((code ^ sign) - sign)
                                         : static_cast<int32_t>(code));
    }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const StageProgram& s = program.stages[i];
    const int64_t expected =
        s.emits ? int64_t{s.out_height} * s.out_width * s.channels(config, static_cast<int>(i)) : 0;
    if (std::ssize(results[i]) != expected)
      return absl::InternalError(fmt::format("stage {} sent {} results, {} were expected", i,
                                             results[i].size(), expected));
  }
  return results;
}

}  // namespace kiln::binary
