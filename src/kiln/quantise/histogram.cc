// Counting and merging. Ranges grow by powers of two, so bins never have to be split.
#include "kiln/quantise/histogram.h"

#include <algorithm>
#include <cmath>

#include "kiln/support/check.h"

namespace kiln {
namespace {

// Joins each run of 2^shift bins into one, in place. If the shift exceeds the number of bins, all
// counts end up in the first bin.
void Coarsen(std::vector<int64_t>& bins, int shift) {
  if (bins.empty()) return;
  std::vector<int64_t> joined(bins.size(), 0);
  for (size_t i = 0; i < bins.size(); ++i) joined[i >> shift] += bins[i];
  bins = std::move(joined);
}

}  // namespace

double Histogram::bin_width() const { return std::ldexp(1.0, exponent_ - bins_log2_); }

void Histogram::GrowTo(int exponent) {
  if (exponent <= exponent_) return;
  const int shift = std::min(exponent - exponent_, bins_log2_);
  Coarsen(positive_, shift);
  Coarsen(negative_, shift);
  exponent_ = exponent;
}

void Histogram::Add(std::span<const float> values) {
  float low = 0, high = 0;
  int64_t finite = 0;
  for (float x : values) {
    if (!std::isfinite(x)) continue;
    low = finite == 0 ? x : std::min(low, x);
    high = finite == 0 ? x : std::max(high, x);
    ++finite;
  }
  non_finite_ += static_cast<int64_t>(values.size()) - finite;
  if (finite == 0) return;
  min_ = count_ == 0 ? low : std::min(min_, low);
  max_ = count_ == 0 ? high : std::max(max_, high);
  count_ += finite;
  int exponent = 0;
  std::frexp(std::max(-low, high), &exponent);  // largest magnitude < 2^exponent
  if (low != 0 || high != 0) GrowTo(exponent);
  if (low < 0 && negative_.empty()) negative_.resize(static_cast<size_t>(bins()));
  if (high > 0 && positive_.empty()) positive_.resize(static_cast<size_t>(bins()));
  // A power of two, so that the product is exact and a bin edge belongs to the bin above it.
  const float bins_per_unit = std::ldexp(1.0f, bins_log2_ - exponent_);
  for (float x : values) {
    if (!std::isfinite(x)) continue;
    if (x > 0) {
      ++positive_[static_cast<size_t>(x * bins_per_unit)];
    } else if (x < 0) {
      ++negative_[static_cast<size_t>(-x * bins_per_unit)];
    } else {
      ++zeros_;
    }
  }
}

void Histogram::Merge(const Histogram& other) {
  KILN_CHECK(bins_log2_ == other.bins_log2_);
  non_finite_ += other.non_finite_;
  if (other.count_ == 0) return;
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = count_ == 0 ? other.max_ : std::max(max_, other.max_);
  count_ += other.count_;
  zeros_ += other.zeros_;
  GrowTo(other.exponent_);
  const int shift = std::min(exponent_ - other.exponent_, bins_log2_);
  const auto add = [this, shift](std::vector<int64_t>& to, const std::vector<int64_t>& from) {
    if (from.empty()) return;
    if (to.empty()) to.resize(static_cast<size_t>(bins()));
    for (size_t i = 0; i < from.size(); ++i) to[i >> shift] += from[i];
  };
  add(positive_, other.positive_);
  add(negative_, other.negative_);
}

}  // namespace kiln
