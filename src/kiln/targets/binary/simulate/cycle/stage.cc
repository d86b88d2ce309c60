// The registers of a stage from clock to clock. Signals have the names of rtl/binary.

#include "kiln/targets/binary/simulate/cycle/stage.h"

#include <algorithm>
#include <utility>

#include "kiln/support/check.h"
#include "kiln/targets/binary/isa/derived.h"
#include "kiln/targets/binary/isa/stream.h"

namespace kiln::binary {
namespace {

// Returns the number of the next pixel's buffer of sums.
int NextBuffer(int buffer) { return (buffer + 1) % kSumBuffers; }

}  // namespace
void CyclePack::Clock(const std::vector<int32_t>* in, bool last, bool out) {
  if (full_ && out) full_ = false;
  if (in == nullptr) return;
  KILN_CHECK(!full_);
  if (at_ == 0) word_.clear();
  word_.insert(word_.end(), in->begin(), in->end());
  ++at_;
  if (!last && at_ < ratio_) return;
  word_.resize(in->size() * static_cast<size_t>(ratio_), 0);
  at_ = 0;
  full_ = true;
}

CycleStage::CycleStage(const BlockProgram& program, int number)
    : program_(program),
      config_(program.config),
      number_(number),
      s_(program.stages[static_cast<size_t>(number)]),
      layout_(LayoutOf(s_, config_, number)),
      columns_(config_.columns(number)),
      code_size_(config_.tables(number) * config_.group),
      tree_cycles_(static_cast<int>(TreeCycles(config_.tables(number)))),
      digit_sums_(static_cast<size_t>(s_.top_digit) + 1),
      digits_(static_cast<size_t>(code_size_)),
      column_(static_cast<size_t>(columns_)),
      forward_places_(kResultQueueWords),
      emit_places_(kResultQueueWords),
      forward_(kResultQueueWords),
      emit_(kResultQueueWords),
      skip_(config_.skip_beats) {
  size_t tests = 0;
  for (const LookupStep& step : s_.steps) {
    test_index_.push_back(tests);
    tests += step.test ? 1 : 0;
  }
  // The signs in the order of the codes of a word: [group of the round][channel][lane].
  const int64_t channels = s_.channels(config_, number);
  for (int plane = 0; plane < s_.planes(); ++plane) {
    for (int round = 0; round < layout_.rounds; ++round) {
      for (int64_t n = 0; n < channels; ++n) {
        for (int e = 0; e < config_.steps; ++e) {
          for (int c = 0; c < config_.channels(number); ++c) {
            for (int lane = 0; lane < config_.group; ++lane) {
              const WindowPlace at =
                  PlaceOf(s_, layout_, config_, number, round * config_.steps + e, lane, c);
              if (!at.exists()) {
                signs_.push_back(0);
                continue;
              }
              const int64_t row = (plane * channels + n) * s_.kernel_height + at.ky;
              const int64_t index = (row * s_.kernel_width + at.kx) * s_.in_channels + at.channel;
              signs_.push_back(s_.signs[static_cast<size_t>(index)] != 0 ? 1 : -1);
            }
          }
        }
      }
    }
  }
  map_.resize(static_cast<size_t>(s_.height) * static_cast<size_t>(layout_.row_pitch) *
              static_cast<size_t>(config_.channels(number)));
  pixels_under_way_.assign(static_cast<size_t>(1 + TreeCycles(config_.channels(number))), 0);
  ends_under_way_.assign(static_cast<size_t>(DrainCycles(config_.tables(number_))), false);
  results_under_way_.resize(static_cast<size_t>(ResultCycles(config_.requantiser_share(number_))));
  for (Column& column : column_) {
    for (auto& sums : column.sums) sums.resize(static_cast<size_t>(s_.list));
    column.under_way.resize(static_cast<size_t>(4 + tree_cycles_));
  }
}

bool CycleStage::in_ready() const {
  const bool unlimited = !walking_ && !group_.valid && !group1_.valid && !group2_.valid &&
                         !group3_.valid && !next_full_;
  return writing_ && (unlimited || write_y_ < end_y_ || (write_y_ == end_y_ && write_x_ < end_x_));
}

bool CycleStage::idle() const {
  return all_read_ && !writing_ && forward_places_ == kResultQueueWords &&
         emit_places_ == kResultQueueWords;
}

// -------------------------------------------------------------------------------------------------
// Rows

void CycleStage::ClockWriter(const Inputs& in) {
  const int under_way = pixels_under_way_.back();
  pixels_under_way_.pop_back();
  int taken = 0;
  if (in.start) {
    writing_ = true;
    write_y_ = write_x_ = write_chunk_ = 0;
  } else if (in.word != nullptr) {
    const size_t at = (static_cast<size_t>(write_y_) * static_cast<size_t>(layout_.row_pitch) +
                       static_cast<size_t>(write_x_ * layout_.chunks + write_chunk_)) *
                      in.word->size();
    std::copy(in.word->begin(), in.word->end(), map_.begin() + static_cast<int64_t>(at));
    if (++write_chunk_ == layout_.chunks) {
      write_chunk_ = 0;
      taken = 1;
      if (++write_x_ == s_.width) {
        write_x_ = 0;
        taken = 2;
        if (++write_y_ == s_.height) writing_ = false;
      }
    }
  }
  pixels_under_way_.push_front(taken);
  if (in.start) {
    written_y_ = written_x_ = 0;
  } else if (under_way != 0) {
    written_x_ = under_way == 2 ? 0 : written_x_ + 1;
    written_y_ += under_way == 2 ? 1 : 0;
  }
}

int32_t CycleStage::CodeAt(int y, int x, int channel) const {
  if (y < 0 || y >= s_.height || x < 0 || x >= s_.width) return 0;
  const size_t at =
      (static_cast<size_t>(y) * static_cast<size_t>(s_.width) + static_cast<size_t>(x)) *
      static_cast<size_t>(layout_.chunks * config_.channels(number_));
  return map_[at + static_cast<size_t>(channel)];
}

int32_t CycleStage::DigitOf(int32_t code, int digit) const {
  const int32_t rest = code >> (kDigitBits * digit);
  return s_.signed_codes && digit == s_.top_digit ? rest : rest & 15;
}

// -------------------------------------------------------------------------------------------------
// The walk over windows, and the tables

void CycleStage::ClockWalk(const Inputs& in, bool advance) {
  const int top = walk_.y * s_.stride - s_.pad_top, left = walk_.x * s_.stride - s_.pad_left;
  const bool take = advance && walking_ && ready_;
  if (advance) {
    group_ = {.valid = walking_ && ready_,
              .place = walk_fetch_ % config_.steps,
              .top = top,
              .left = left,
              .round = walk_};
    group_.round.round = walk_fetch_ / config_.steps;
    group_.round.ends_step = walk_fetch_ + 1 == layout_.rounds * config_.steps;
    group_.round.first = walk_.step == 0 && group_.round.round == 0;
    group_.round.last = group_.round.ends_step && walk_.step + 1 == std::ssize(s_.steps);
  }
  const bool ends_step = take && walk_fetch_ + 1 == layout_.rounds * config_.steps;
  const bool ends_pixel = ends_step && walk_.step + 1 == std::ssize(s_.steps);
  const int bottom = std::min(top + s_.kernel_height, s_.height) - 1;
  const int right = std::min(left + s_.kernel_width, s_.width) - 1;
  if (in.start || ends_pixel) {
    bounds_known_ = ready_ = false;
  } else {
    if (bounds_known_ && (written_y_ > bottom_ || (written_y_ == bottom_ && written_x_ > right_)))
      ready_ = true;
    bounds_known_ = true;
  }
  bottom_ = bottom;
  right_ = right;
  if (in.start) {
    walk_ = {};
    walk_fetch_ = 0;
    walking_ = true;
    group_.top = -s_.pad_top;
    group_.left = -s_.pad_left;
  } else if (ends_step) {
    walk_fetch_ = 0;
    walk_.step = ends_pixel ? 0 : walk_.step + 1;
    if (ends_pixel && ++walk_.x == s_.out_width) {
      walk_.x = 0;
      if (++walk_.y == s_.out_height) walking_ = false;
    }
  } else if (take) {
    ++walk_fetch_;
  }
}

void CycleStage::ClockTables(bool start, bool advance, bool take) {
  // Groups move one register on; the oldest builds its tables.
  const bool completes = group3_.valid && advance && group3_.place == config_.steps - 1;
  if (start) {
    limit_y_ = -s_.pad_top;
    limit_x_ = 0;
  } else if (advance && group1_.valid) {
    limit_y_ = group1_.top;
    limit_x_ = std::max(group1_.left, 0);
  } else if (!group1_.valid && !group_.valid) {
    limit_y_ = group_.top;
    limit_x_ = std::max(group_.left, 0);
  }
  if (completes) next_ = group3_.round;
  next_full_ = completes || (next_full_ && !take);
  if (!advance) return;
  group3_ = group2_;
  group2_ = group1_;
  group1_ = group_;
}

void CycleStage::ReadDigits(const Round& round) {
  const int digit = s_.steps[static_cast<size_t>(round.step)].digit;
  const int top = round.y * s_.stride - s_.pad_top, left = round.x * s_.stride - s_.pad_left;
  size_t at = 0;
  for (int e = 0; e < config_.steps; ++e) {
    for (int c = 0; c < config_.channels(number_); ++c) {
      for (int lane = 0; lane < config_.group; ++lane, ++at) {
        const WindowPlace place =
            PlaceOf(s_, layout_, config_, number_, round.round * config_.steps + e, lane, c);
        const int32_t code =
            place.exists() ? CodeAt(top + place.ky, left + place.kx, place.channel) : 0;
        digits_[at] = static_cast<int8_t>(DigitOf(code, digit));
      }
    }
  }
}

void CycleStage::FindWindowSums(const Round& round) {
  const int top = round.y * s_.stride - s_.pad_top, left = round.x * s_.stride - s_.pad_left;
  std::ranges::fill(digit_sums_, 0);
  for (int ky = 0; ky < s_.kernel_height; ++ky) {
    for (int kx = 0; kx < s_.kernel_width; ++kx) {
      for (int c = 0; c < s_.in_channels; ++c) {
        const int32_t code = CodeAt(top + ky, left + kx, c);
        for (int d = 0; d <= s_.top_digit; ++d)
          digit_sums_[static_cast<size_t>(d)] += DigitOf(code, d);
      }
    }
  }
}

// -------------------------------------------------------------------------------------------------
// Columns

CycleStage::Choice CycleStage::ChoiceOf(const Column& column) const {
  const uint64_t behind = column.cursor >= 64 ? 0 : ~uint64_t{0} << column.cursor;
  const uint64_t ahead = column.alive[static_cast<size_t>(buffer_)] & behind;
  if (ahead == 0) return {};
  const int candidate = std::countr_zero(ahead);
  const bool waits = (column.pending >> candidate & 1) != 0 || column.recent == candidate ||
                     column.earlier == candidate;
  if (!active_ || waits) return {.channel = -1, .done = false};
  return {.channel = candidate, .done = (ahead & (ahead - 1)) == 0};
}

CycleStage::Lookup CycleStage::MakeLookup(int column, int channel) const {
  const LookupStep& step = s_.steps[static_cast<size_t>(round_.step)];
  const int64_t output = int64_t{channel} * columns_ + column;
  const int64_t word =
      (int64_t{step.plane} * layout_.rounds + round_.round) * s_.channels(config_, number_) +
      output;
  const int8_t* const signs = &signs_[static_cast<size_t>(word * code_size_)];
  int32_t sum = 0;
  for (size_t i = 0; i < static_cast<size_t>(code_size_); ++i) sum += signs[i] * digits_[i];
  return {.valid = true,
          .place = channel,
          .sum = int64_t{sum} << step.shift(),
          .fresh = round_.first,
          .tested = round_.ends_step && step.test,
          .buffer = buffer_,
          .base = base_,
          .rest = rest_,
          .first_threshold = test_index_[static_cast<size_t>(round_.step)] *
                             static_cast<size_t>(s_.channels(config_, number_))};
}

void CycleStage::ClockColumns(const std::vector<Choice>& choices, bool take) {
  for (size_t c = 0; c < column_.size(); ++c) {
    Column& column = column_[c];
    const Choice& choice = choices[c];
    const Lookup oldest = column.under_way.back();
    column.under_way.pop_back();
    column.under_way.push_front(
        choice.channel < 0 ? Lookup{} : MakeLookup(static_cast<int>(c), choice.channel));
    if (oldest.valid) {
      const auto place = static_cast<size_t>(oldest.place),
                 buffer = static_cast<size_t>(oldest.buffer);
      int64_t& sum = column.sums[buffer][place];
      sum = (oldest.fresh ? 0 : sum) + oldest.sum - oldest.base;
      if (oldest.tested) {
        column.pending &= ~(uint64_t{1} << place);
        const size_t output = place * static_cast<size_t>(columns_) + c;
        if (sum < s_.thresholds[oldest.first_threshold + output] ||
            (s_.bound_by_sum && sum + oldest.rest < s_.limits[output]))
          column.alive[buffer] &= ~(uint64_t{1} << place);
      }
    }
    if (choice.channel >= 0) {
      ++lookups_;
      if (column.under_way.front().tested) column.pending |= uint64_t{1} << choice.channel;
      column.cursor = choice.channel + 1;
    }
    if (take) {
      column.cursor = 0;
      if (next_.first) {
        column.alive[static_cast<size_t>(NextBuffer(buffer_))] =
            s_.list >= 64 ? ~uint64_t{0} : (uint64_t{1} << s_.list) - 1;
      }
    }
    column.earlier = column.recent;
    column.recent = choice.channel;
  }
}

// -------------------------------------------------------------------------------------------------
// Results

void CycleStage::ClockResults(const Inputs& in, bool ends_pixel) {
  const bool forwards = static_cast<size_t>(number_) + 1 < program_.stages.size();
  const bool last_read = read_index_ == s_.list - 1;
  const bool read = reading_ && read_wait_ == 0 && (!forwards || forward_places_ > 0) &&
                    (!s_.emits || emit_places_ > 0) && (!s_.has_skip || !skip_.empty());
  const int beat_words = config_.beat_codes() / columns_;
  Result result;
  result.valid = read;
  if (read) {
    read_wait_ = config_.requantiser_share(number_) - 1;
  } else if (read_wait_ > 0) {
    --read_wait_;
  }
  bool pops_skip = false;
  if (read) {
    for (int c = 0; c < columns_; ++c) {
      const Column& column = column_[static_cast<size_t>(c)];
      const auto place = static_cast<size_t>(read_index_), turn = static_cast<size_t>(turn_);
      const size_t n = place * static_cast<size_t>(columns_) + static_cast<size_t>(c);
      const bool alive = (column.alive[turn] >> place & 1) != 0;
      const int64_t value =
          (column.sums[turn][place] * s_.multipliers[n] + s_.addends[n]) >> s_.shift;
      const int64_t code = alive ? std::clamp(value, s_.low, s_.high) : s_.low;
      result.results.codes.push_back(static_cast<int32_t>(code));
      if (!s_.has_skip) continue;
      const int64_t added = skip_.front()[static_cast<size_t>(sub_word_ * columns_ + c)];
      const int64_t sum =
          code * s_.skip.result_factor + added * s_.skip.added_factor + s_.skip.addend;
      result.totals.codes.push_back(
          static_cast<int32_t>(std::clamp(sum >> s_.skip.shift, s_.skip.low, s_.skip.high)));
    }
    result.results.last = result.totals.last = last_read;
    pops_skip = s_.has_skip && (last_read || sub_word_ == beat_words - 1);
  }
  const Result oldest = std::move(results_under_way_.back());
  results_under_way_.pop_back();
  results_under_way_.push_front(std::move(result));
  const auto pushed = [&](bool wanted, bool totals) -> std::optional<ResultWord> {
    if (!wanted || !oldest.valid) return std::nullopt;
    return totals ? oldest.totals : oldest.results;
  };
  forward_.Clock(pushed(forwards, s_.forwards_sum), in.forward_taken);
  emit_.Clock(pushed(s_.emits, s_.has_skip), in.emit_taken);
  skip_.Clock(in.skip != nullptr ? std::optional(*in.skip) : std::nullopt, pops_skip);
  forward_places_ += (in.forward_taken ? 1 : 0) - (read && forwards ? 1 : 0);
  emit_places_ += (in.emit_taken ? 1 : 0) - (read && s_.emits ? 1 : 0);

  const bool ends_late = ends_under_way_.back();
  ends_under_way_.pop_back();
  ends_under_way_.push_front(ends_pixel);
  const bool next_pixel = !reading_ || (read && last_read);
  const bool begins = next_pixel && finished_ > 0;
  if (next_pixel) reading_ = finished_ > 0;
  finished_ += (ends_late ? 1 : 0) - (begins ? 1 : 0);
  if (in.start) {
    all_read_ = false;
    turn_ = read_index_ = 0;
    pixels_read_ = 0;
    sub_word_ = s_.skip.first_code / columns_ % beat_words;
  } else if (read) {
    read_index_ = last_read ? 0 : read_index_ + 1;
    sub_word_ = sub_word_ == beat_words - 1 ? 0 : sub_word_ + 1;
    if (last_read) {
      busy_[static_cast<size_t>(turn_)] = false;
      turn_ = NextBuffer(turn_);
      sub_word_ = s_.skip.first_code / columns_ % beat_words;
      if (++pixels_read_ == int64_t{s_.out_height} * s_.out_width) all_read_ = true;
    }
  }
  moved_ = moved_ || read || oldest.valid || ends_late || begins;
}

// Each part reads only registers that no part before it has set.
void CycleStage::Clock(const Inputs& in) {
  std::vector<Choice> choices;
  bool done = true;
  for (const Column& column : column_) {
    choices.push_back(ChoiceOf(column));
    done = done && choices.back().done;
  }
  const bool round_done = active_ && done;
  const bool full = next_.first && busy_[static_cast<size_t>(NextBuffer(buffer_))];
  const bool take = next_full_ && (!active_ || round_done) && !full;
  const bool advance = !(group3_.valid && next_full_);
  const bool ends_pixel = round_done && round_.last;
  busy_cycles_ += active_ ? 1 : 0;
  if (!active_ && !all_read_) {
    no_tables_ += next_full_ ? 0 : 1;
    results_full_ += next_full_ && full ? 1 : 0;
  }
  moved_ = in.start || in.word != nullptr || take || round_done || in.forward_taken ||
           in.emit_taken || active_ || group_.valid;

  ClockColumns(choices, take);
  const bool first_of_pixel = next_.first;
  if (take) {
    round_ = next_;
    ReadDigits(round_);
    if (first_of_pixel) {
      FindWindowSums(round_);
      buffer_ = NextBuffer(buffer_);
    }
    base_ = rest_ = 0;
    const LookupStep& step = s_.steps[static_cast<size_t>(round_.step)];
    for (int d = 0; d <= s_.top_digit; ++d) {
      const int64_t weighted = digit_sums_[static_cast<size_t>(d)] << (kDigitBits * d);
      if (s_.subtract_base && round_.step == 0 && round_.ends_step) base_ += weighted;
      if (d < step.digit) rest_ += weighted;
    }
    active_ = true;
  } else if (round_done) {
    active_ = false;
  }
  if (in.start) buffer_ = kSumBuffers - 1;
  ClockResults(in, ends_pixel);
  if (take && first_of_pixel) busy_[static_cast<size_t>(buffer_)] = true;
  end_y_ = limit_y_ + layout_.row_slots;
  end_x_ = limit_x_;
  ClockTables(in.start, advance, take);
  ClockWalk(in, advance);
  ClockWriter(in);
}

}  // namespace kiln::binary
