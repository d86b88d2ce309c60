// Tests the counters of input fetch: the runs of packed words (kiln_packed_runs) against the list
// of entries written out, and the requests of a run of depthwise words (kiln_word_run), both with
// stalls.
#include <algorithm>

#include "Vruns_bench.h"
#include "tests/rtl/support.h"
#include "tests/rtl/systolic/command_port.h"

namespace kiln::rtl {
namespace {

constexpr uint64_t kAddresses = uint64_t{1} << 32;

// A packed convolution.
struct Kernel {
  uint64_t height, width, channels;
  bool joined;
  uint64_t dilation_y, dilation_x, row_bytes, column_bytes;

  uint64_t entries() const { return height * width * channels; }
  uint64_t run_entries() const { return (joined ? width : 1) * channels; }
};

Kernel RandomKernel(Random& random) {
  const auto between = [&](int64_t low, int64_t high) {
    return static_cast<uint64_t>(random.Between(low, high));
  };
  return {between(1, 4),
          between(1, 4),
          random.Below(3) == 0 ? between(1, 30) : between(1, 4),
          random.Below(2) == 0,
          between(1, 3),
          between(1, 3),
          random.Below(kAddresses),
          random.Below(kAddresses)};
}

// The run that a word of `rows` lanes sees, and the walk to the next one.
class Runs {
 public:
  Runs(const Kernel& kernel, uint64_t rows, uint64_t code_bytes)
      : kernel_(kernel), rows_(rows), code_bytes_(code_bytes) {}

  uint64_t lane() const { return entry_ - group_; }
  uint64_t entries() const {
    return std::min(kernel_.run_entries() - entry_ % kernel_.run_entries(), end() - entry_);
  }
  bool last() const { return entry_ + entries() == end(); }
  // Of the first tap of the run. A joined run has one of a row for all.
  uint64_t tap_y() const { return entry_ / (kernel_.width * kernel_.channels); }
  uint64_t tap_x() const { return kernel_.joined ? 0 : entry_ / kernel_.channels % kernel_.width; }
  uint64_t row_offset() const { return tap_y() * kernel_.row_bytes % kAddresses; }
  uint64_t column_offset() const {
    return (tap_x() * kernel_.column_bytes + entry_ % kernel_.run_entries() * code_bytes_) %
           kAddresses;
  }
  void Advance(bool last_word) {
    if (!last()) {
      entry_ += entries();
    } else {
      if (last_word) group_ = end() == kernel_.entries() ? 0 : end();
      entry_ = group_;
    }
  }

 private:
  uint64_t end() const { return std::min(group_ + rows_, kernel_.entries()); }

  Kernel kernel_;
  uint64_t rows_, code_bytes_;
  uint64_t group_ = 0, entry_ = 0;  // of the list: the group's first, the run's first
};

TEST(Runs, PackedWords) {
  Simulation<Vruns_bench> bench;
  Random random(1);
  Stalls eight_stalls(2, 0.3, Stalls::Kind::kBursts), three_stalls(3, 0.3);
  bench->single_length = bench->four_length = 1;
  bench->single_advance = bench->four_advance = 0;
  bool spans_rows = false, parted = false;
  for (int round = 0; round < 300; ++round) {
    const Kernel kernel = RandomKernel(random);
    Runs eight(kernel, 8, 1), three(kernel, 3, 2);
    bench->run_entries = static_cast<uint32_t>(kernel.run_entries());
    bench->joined = kernel.joined;
    bench->kernel_y = static_cast<uint32_t>(kernel.height);
    bench->kernel_x = static_cast<uint32_t>(kernel.width);
    bench->dilation_y = static_cast<uint32_t>(kernel.dilation_y);
    bench->dilation_x = static_cast<uint32_t>(kernel.dilation_x);
    bench->tap_row_bytes = kernel.row_bytes;
    bench->tap_column_bytes = kernel.column_bytes;
    bench->eight_advance = bench->three_advance = 0;
    bench.Reset();
    for (int i = 0; i < 300; ++i) {
      bench->eight_last_word = random.Below(3) == 0;
      bench->three_last_word = random.Below(3) == 0;
      bench->eight_advance = !eight_stalls.Next();
      bench->three_advance = !three_stalls.Next();
      bench.Settle();
      const auto where = [&] { return testing::Message() << "round " << round << ", cycle " << i; };
      ASSERT_EQ(bench->eight_lane, eight.lane()) << where();
      ASSERT_EQ(bench->eight_entries, eight.entries()) << where();
      ASSERT_EQ(bench->eight_last, eight.last()) << where();
      ASSERT_EQ(bench->eight_row, eight.tap_y() * kernel.dilation_y) << where();
      ASSERT_EQ(bench->eight_column, eight.tap_x() * kernel.dilation_x) << where();
      ASSERT_EQ(bench->eight_row_offset, eight.row_offset()) << where();
      ASSERT_EQ(bench->eight_column_offset, eight.column_offset()) << where();
      ASSERT_EQ(bench->three_lane, three.lane()) << where();
      ASSERT_EQ(bench->three_entries, three.entries()) << where();
      ASSERT_EQ(bench->three_last, three.last()) << where();
      ASSERT_EQ(bench->three_row, three.tap_y() * kernel.dilation_y) << where();
      ASSERT_EQ(bench->three_column, three.tap_x() * kernel.dilation_x) << where();
      ASSERT_EQ(bench->three_row_offset, three.row_offset()) << where();
      ASSERT_EQ(bench->three_column_offset, three.column_offset()) << where();
      spans_rows = spans_rows || (eight.lane() > 0 && eight.tap_x() == 0 && eight.tap_y() > 0);
      parted = parted || eight.entries() < kernel.run_entries();
      if (bench->eight_advance) eight.Advance(bench->eight_last_word);
      if (bench->three_advance) three.Advance(bench->three_last_word);
      bench.Step();
    }
  }
  EXPECT_TRUE(spans_rows && parted);
}

// A run of depthwise words: where it lies, and how far the walk has come.
struct WordRun {
  uint64_t length, base;
  bool padding;
  uint64_t place = 0;
};

WordRun RandomRun(Random& random) {
  return {static_cast<uint64_t>(random.Between(1, 30)), random.Below(kAddresses / 2),
          random.Below(5) == 0};
}

TEST(Runs, DepthwiseWords) {
  constexpr uint64_t kMost = 4, kBytes = 8, kSingleBytes = 5;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Simulation<Vruns_bench> bench(seed);
    Random random(seed);
    Stalls single_stalls = StallsOf(seed, 1), four_stalls = StallsOf(seed, 2);
    bench->single_advance = bench->four_advance = bench->eight_advance = bench->three_advance = 0;
    bench.Reset();
    WordRun single = RandomRun(random), four = RandomRun(random);
    int limits = 0, whole = 0;
    for (int i = 0; i < 10'000; ++i) {
      const uint64_t address = four.base + four.place * kBytes;
      const bool limited = random.Below(3) == 0;
      const uint64_t limit = kBytes + random.Below(5 * kBytes);
      bench->single_length = static_cast<uint32_t>(single.length);
      bench->single_address = single.base + single.place * kSingleBytes;
      bench->single_padding = single.padding;
      bench->single_limited = limited;
      bench->single_limit = limit;
      bench->single_advance = !single_stalls.Next();
      bench->four_length = static_cast<uint32_t>(four.length);
      bench->four_address = address;
      bench->four_padding = four.padding;
      bench->four_limited = limited;
      bench->four_limit = limit;
      bench->four_advance = !four_stalls.Next();
      bench.Settle();
      ASSERT_EQ(bench->single_place, single.place);
      ASSERT_EQ(bench->single_words, 1);
      ASSERT_EQ(bench->single_last, single.place + 1 == single.length);
      // As many words as end in the aligned group in which the first begins, before the limit and
      // with the run.
      uint64_t words = 1;
      const auto fits = [&](uint64_t count) {
        const bool grouped =
            four.padding ? count <= kMost
                         : (address / kBytes + count - 1) / kMost == address / kBytes / kMost;
        return grouped && (!limited || count * kBytes <= limit) &&
               four.place + count <= four.length;
      };
      while (fits(words + 1)) ++words;
      limits += limited && words * kBytes <= limit && (words + 1) * kBytes > limit;
      whole += words == kMost;
      ASSERT_EQ(bench->four_place, four.place);
      ASSERT_EQ(bench->four_words, words) << "cycle " << i;
      ASSERT_EQ(bench->four_last, four.place + words == four.length);
      if (bench->single_advance) {
        if (++single.place == single.length) single = RandomRun(random);
      }
      if (bench->four_advance) {
        four.place += words;
        if (four.place == four.length) four = RandomRun(random);
      }
      bench.Step();
    }
    EXPECT_GT(limits, 100);
    EXPECT_GT(whole, 100);
  }
}

}  // namespace
}  // namespace kiln::rtl
