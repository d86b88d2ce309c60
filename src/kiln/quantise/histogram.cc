// Counting and merging. Ranges grow by powers of two, so bins never have to be split.
#include "kiln/quantise/histogram.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "kiln/support/check.h"

namespace kiln {
namespace {

// Appends an integer of variable length.
void Put(uint64_t value, std::vector<uint8_t>* bytes) {
  while (value >= 0x80) {
    bytes->push_back(static_cast<uint8_t>(value | 0x80));
    value >>= 7;
  }
  bytes->push_back(static_cast<uint8_t>(value));
}

// Reads an integer of variable length at `at`, and moves `at` behind it.
uint64_t Take(const uint8_t*& at) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    value |= static_cast<uint64_t>(*at & 0x7f) << shift;
    if ((*at++ & 0x80) == 0) return value;
  }
}

// The counts of one sign, one element per bin, while they change.
class ChangingCounts {
 public:
  // Spreads out `counts`, with each run of 2^shift bins joined into one.
  ChangingCounts(const BinCounts& counts, int bins, int shift) : bins_(static_cast<size_t>(bins)) {
    std::fill_n(dense_.begin(), bins_, 0);
    counts.AddTo(dense(), shift);
  }
  std::span<int64_t> dense() { return std::span(dense_).first(bins_); }

 private:
  size_t bins_;
  std::array<int64_t, Histogram::kBins> dense_;  // NOLINT: filled as far as it is used
};

// The least and the greatest finite value, 0 if there is none, and the number of finite values.
struct Extremes {
  float low = 0, high = 0;
  int64_t finite = 0;
};

// Takes the values in lanes, which the compiler puts into vector registers.
Extremes ExtremesOf(std::span<const float> values) {
  constexpr size_t kLanes = 16;
  constexpr float kGreatest = std::numeric_limits<float>::max();
  std::array<float, kLanes> low, high;
  std::array<int32_t, kLanes> others{};  // values that are not finite
  low.fill(std::numeric_limits<float>::infinity());
  high.fill(-std::numeric_limits<float>::infinity());
  int64_t finite = std::ssize(values);
  const auto take = [&](const float* from, size_t count) {
    for (size_t lane = 0; lane < count; ++lane) {
      const float x = from[lane];
      const bool is_finite = std::abs(x) <= kGreatest;
      low[lane] = is_finite && x < low[lane] ? x : low[lane];
      high[lane] = is_finite && x > high[lane] ? x : high[lane];
      others[lane] += is_finite ? 0 : 1;
    }
  };
  size_t at = 0;
  while (at < values.size()) {
    // A piece is short enough that the counts of a lane do not overflow.
    const size_t end = std::min(values.size(), at + (size_t{1} << 30));
    for (; at + kLanes <= end; at += kLanes) take(values.data() + at, kLanes);
    if (at < end) take(values.data() + at, end - at);
    at = end;
    for (int32_t& count : others) finite -= std::exchange(count, 0);
  }
  if (finite == 0) return {};
  // Adding 0 turns -0 into +0, so that the sign of a zero does not depend on the lanes.
  return {*std::ranges::min_element(low) + 0.0f, *std::ranges::max_element(high) + 0.0f, finite};
}

}  // namespace

void BinCounts::AddTo(std::span<int64_t> dense, int shift) const {
  size_t bin = 0;
  const uint8_t* at = bytes_.data();
  while (at != bytes_.data() + bytes_.size()) {
    bin += Take(at);
    dense[bin >> shift] += static_cast<int64_t>(Take(at));
  }
}

void BinCounts::Assign(std::span<const int64_t> dense) {
  std::vector<uint8_t> bytes;
  size_t last = 0;
  for (size_t bin = 0; bin < dense.size(); ++bin) {
    if (dense[bin] == 0) continue;
    Put(bin - last, &bytes);
    Put(static_cast<uint64_t>(dense[bin]), &bytes);
    last = bin;
  }
  bytes_ = std::vector<uint8_t>(bytes.begin(), bytes.end());  // without room to grow
}

int Histogram::GrowTo(int exponent) {
  const int shift = std::clamp(exponent - exponent_, 0, bins_log2_);
  exponent_ = std::max(exponent, exponent_);
  return shift;
}

double Histogram::bin_width() const { return std::ldexp(1.0, exponent_ - bins_log2_); }

std::vector<int64_t> Histogram::Dense(const BinCounts& counts) const {
  std::vector<int64_t> dense;
  if (counts.empty()) return dense;
  dense.resize(static_cast<size_t>(bins()));
  counts.AddTo(dense, 0);
  return dense;
}

void Histogram::Add(std::span<const float> values) {
  const auto [low, high, finite] = ExtremesOf(values);
  non_finite_ += static_cast<int64_t>(values.size()) - finite;
  if (finite == 0) return;
  min_ = count_ == 0 ? low : std::min(min_, low);
  max_ = count_ == 0 ? high : std::max(max_, high);
  count_ += finite;
  int exponent = exponent_;
  if (low != 0 || high != 0)
    std::frexp(std::max(-low, high), &exponent);  // magnitudes < 2^exponent
  const int shift = GrowTo(exponent);
  ChangingCounts positive(positive_, bins(), shift), negative(negative_, bins(), shift);
  const std::span<int64_t> above = positive.dense(), below = negative.dense();
  // A power of two, so that the product is exact and a bin edge belongs to the bin above it.
  const float bins_per_unit = std::ldexp(1.0f, bins_log2_ - exponent_);
  const bool all_finite = finite == std::ssize(values);
  int64_t zeros = 0;
  for (const float x : values) {
    if (!all_finite && !std::isfinite(x)) continue;
    // Zeros are counted in bin 0 first: values come in no order that a branch could follow.
    const std::span<int64_t>& side = x < 0 ? below : above;
    ++side[static_cast<size_t>(std::abs(x) * bins_per_unit)];
    zeros += x == 0 ? 1 : 0;
  }
  above[0] -= zeros;
  zeros_ += zeros;
  positive_.Assign(above);
  negative_.Assign(below);
}

void Histogram::Merge(const Histogram& other) {
  KILN_CHECK(bins_log2_ == other.bins_log2_);
  non_finite_ += other.non_finite_;
  if (other.count_ == 0) return;
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = count_ == 0 ? other.max_ : std::max(max_, other.max_);
  const bool first = count_ == 0;
  count_ += other.count_;
  zeros_ += other.zeros_;
  const int shift = GrowTo(other.exponent_);
  const int others = std::min(exponent_ - other.exponent_, bins_log2_);
  for (const auto side : {&Histogram::positive_, &Histogram::negative_}) {
    BinCounts& own = this->*side;
    if (first && others == 0) {
      own = other.*side;
      continue;
    }
    ChangingCounts sum(own, bins(), shift);
    (other.*side).AddTo(sum.dense(), others);
    own.Assign(sum.dense());
  }
}

}  // namespace kiln
