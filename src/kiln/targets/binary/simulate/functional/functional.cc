// Computes the stages one after another. The sums of a step are products of signs with digits; the
// loop over output channels is innermost, so that compilers vectorise it.

#include "kiln/targets/binary/simulate/functional/functional.h"

#include <algorithm>

namespace kiln::binary {
namespace {

// A map of codes, HWC.
struct Map {
  int height = 0, width = 0;
  int64_t channels = 0;
  std::vector<int32_t> codes;
};

class Stage {
 public:
  Stage(const BlockProgram& program, int number)
      : program_(program),
        s_(program.stages[static_cast<size_t>(number)]),
        number_(number),
        channels_(s_.channels(program.config, number)),
        taps_(int64_t{s_.kernel_height} * s_.kernel_width * s_.in_channels) {
    // Signs as numbers, [plane][tap][output channel].
    signs_.resize(s_.signs.size());
    for (int64_t plane = 0; plane < s_.planes(); ++plane) {
      for (int64_t n = 0; n < channels_; ++n) {
        for (int64_t t = 0; t < taps_; ++t) {
          const auto from = static_cast<size_t>((plane * channels_ + n) * taps_ + t);
          const auto to = static_cast<size_t>((plane * taps_ + t) * channels_ + n);
          signs_[to] = s_.signs[from] != 0 ? 1 : -1;
        }
      }
    }
  }

  // Computes results (before sums with the skip) and sums of all pixels.
  void Run(const Map& in, std::span<const int32_t> records, int64_t real,
           const SumObserver& observer, Map* results, Map* sums, StageCounts* counts) {
    if (observer) tested_.resize(static_cast<size_t>(s_.tests() * channels_));
    results->height = sums->height = s_.out_height;
    results->width = sums->width = s_.out_width;
    results->channels = sums->channels = channels_;
    results->codes.resize(static_cast<size_t>(s_.out_height * s_.out_width * channels_));
    if (s_.has_skip) sums->codes.resize(results->codes.size());
    window_.resize(static_cast<size_t>(taps_));
    const int64_t record = int64_t{program_.record_beats} * program_.config.beat_codes();
    for (int y = 0; y < s_.out_height; ++y) {
      for (int x = 0; x < s_.out_width; ++x) {
        ReadWindow(in, y * s_.stride - s_.pad_top, x * s_.stride - s_.pad_left);
        Sums(real, counts);
        const int64_t pixel = int64_t{y} * s_.out_width + x;
        int32_t* const to = &results->codes[static_cast<size_t>(pixel * channels_)];
        for (int64_t n = 0; n < channels_; ++n)
          to[n] = Result(static_cast<size_t>(n), counts, real);
        if (observer) Observe(observer, real);
        if (!s_.has_skip) continue;
        const int32_t* const added =
            &records[static_cast<size_t>(pixel * record + s_.skip.first_code)];
        for (int64_t n = 0; n < channels_; ++n) {
          const int64_t sum =
              to[n] * s_.skip.result_factor + added[n] * s_.skip.added_factor + s_.skip.addend;
          sums->codes[static_cast<size_t>(pixel * channels_ + n)] =
              static_cast<int32_t>(std::clamp(sum >> s_.skip.shift, s_.skip.low, s_.skip.high));
        }
      }
    }
  }

 private:
  void ReadWindow(const Map& in, int top, int left) {
    size_t at = 0;
    for (int ky = 0; ky < s_.kernel_height; ++ky) {
      for (int kx = 0; kx < s_.kernel_width; ++kx, at += static_cast<size_t>(s_.in_channels)) {
        const int y = top + ky, x = left + kx;
        const bool inside = y >= 0 && y < in.height && x >= 0 && x < in.width;
        const int64_t from = (int64_t{y} * in.width + x) * in.channels;
        for (size_t c = 0; c < static_cast<size_t>(s_.in_channels); ++c)
          window_[at + c] = inside ? in.codes[static_cast<size_t>(from) + c] : 0;
      }
    }
  }

  // Returns a digit of a code; the highest of a signed code is signed.
  int32_t Digit(int32_t code, int digit) const {
    const int32_t rest = code >> (kDigitBits * digit);  // arithmetic: keeps the sign
    return s_.signed_codes && digit == s_.top_digit ? rest : rest & 15;
  }

  // Sets sums_ and decided_ of the window.
  void Sums(int64_t real, StageCounts* counts) {
    sums_.assign(static_cast<size_t>(channels_), 0);
    decided_.assign(static_cast<size_t>(channels_), false);
    int64_t rest = 0, base = 0;  // digits that are still to come, and all, with their weights
    for (int d = 0; d <= s_.top_digit; ++d) {
      int64_t sum = 0;
      for (const int32_t code : window_) sum += Digit(code, d);
      base += sum << (kDigitBits * d);
    }
    rest = base;
    int64_t test = 0;
    for (size_t i = 0; i < s_.steps.size(); ++i) {
      const LookupStep& step = s_.steps[i];
      int64_t digit_sum = 0;
      for (size_t t = 0; t < window_.size(); ++t) {
        const int32_t digit = Digit(window_[t], step.digit);
        if (digit == 0) continue;
        digit_sum += digit;
        const int8_t* const signs = &signs_[static_cast<size_t>(
            (step.plane * taps_ + static_cast<int64_t>(t)) * channels_)];
        const int64_t weighted = int64_t{digit} << step.shift();
        for (size_t n = 0; n < sums_.size(); ++n) sums_[n] += weighted * signs[n];
      }
      rest -= digit_sum << (kDigitBits * step.digit);
      if (i == 0 && s_.subtract_base) {
        for (int64_t& sum : sums_) sum -= base;
      }
      if (counts != nullptr) {
        counts->looked_up += std::count(decided_.begin(), decided_.begin() + real, false);
      }
      if (!step.test) continue;
      if (!tested_.empty()) std::ranges::copy(sums_, tested_.begin() + test * channels_);
      for (size_t n = 0; n < sums_.size(); ++n) {
        const int64_t threshold = s_.thresholds[static_cast<size_t>(test * channels_) + n];
        if (sums_[n] < threshold || (s_.bound_by_sum && sums_[n] + rest < s_.limits[n]))
          decided_[n] = true;
      }
      ++test;
    }
  }

  void Observe(const SumObserver& observer, int64_t real) const {
    for (int test = 0; test < s_.tests(); ++test) {
      for (int64_t n = 0; n < real; ++n) {
        observer(number_, test, n, tested_[static_cast<size_t>(test * channels_ + n)],
                 Exact(static_cast<size_t>(n)) != s_.low);
      }
    }
  }

  // Returns the result of channel n from its whole sum.
  int64_t Exact(size_t n) const {
    const int64_t value = (sums_[n] * s_.multipliers[n] + s_.addends[n]) >> s_.shift;
    return std::clamp(value, s_.low, s_.high);
  }

  // Returns the result of channel n: the exact one, or the low bound where a test decided.
  int32_t Result(size_t n, StageCounts* counts, int64_t real) const {
    const int64_t exact = Exact(n);
    if (counts != nullptr && static_cast<int64_t>(n) < real) {
      ++counts->outputs;
      counts->low += exact == s_.low ? 1 : 0;
      counts->decided += decided_[n] ? 1 : 0;
      counts->wrong += decided_[n] && exact != s_.low ? 1 : 0;
    }
    return static_cast<int32_t>(decided_[n] ? s_.low : exact);
  }

  const BlockProgram& program_;
  const StageProgram& s_;
  const int number_;
  const int64_t channels_, taps_;
  std::vector<int8_t> signs_;
  std::vector<int32_t> window_;
  std::vector<int64_t> sums_;
  std::vector<bool> decided_;
  std::vector<int64_t> tested_;  // by test: the sums, for observers
};

}  // namespace

StageCounts& StageCounts::operator+=(const StageCounts& other) {
  outputs += other.outputs;
  low += other.low;
  decided += other.decided;
  wrong += other.wrong;
  looked_up += other.looked_up;
  return *this;
}

FunctionalResult RunFunctional(const BlockProgram& program, std::span<const int32_t> records,
                               std::span<const int64_t> real_channels,
                               const SumObserver& observer) {
  FunctionalResult result;
  result.results.resize(program.stages.size());
  if (!real_channels.empty()) result.counts.resize(program.stages.size());
  const StageProgram& first = program.stages[0];
  Map in{.height = first.height, .width = first.width, .channels = 0, .codes = {}};
  in.channels = int64_t{program.record_beats} * program.config.beat_codes();
  in.codes.assign(records.begin(), records.end());
  for (size_t i = 0; i < program.stages.size(); ++i) {
    const StageProgram& s = program.stages[i];
    Map results, sums;
    const bool counted = !real_channels.empty();
    Stage(program, static_cast<int>(i))
        .Run(in, records, counted ? real_channels[i] : 0, observer, &results, &sums,
             counted ? &result.counts[i] : nullptr);
    if (s.emits) result.results[i] = s.has_skip ? sums.codes : results.codes;
    in = s.forwards_sum ? std::move(sums) : std::move(results);
  }
  return result;
}

}  // namespace kiln::binary
