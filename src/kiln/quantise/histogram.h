// Histograms that can be merged exactly, in any order. Calibration records value distributions in
// them, in parallel.
//
// Bins divide the magnitudes [0, 2^exponent) evenly, kBins for negative and kBins for positive
// values; zeros are counted separately. The exponent is the least one that covers the largest
// magnitude seen; when it grows, bins are joined in pairs. Bin edges therefore always coincide, and
// merging two histograms gives the counts that one histogram of both data sets would have,
// regardless of the order and of how the data were divided.
//
// A network has one histogram per value, so they are held compactly: only bins that hold values
// take memory, a few bytes each.
#ifndef KILN_QUANTISE_HISTOGRAM_H_
#define KILN_QUANTISE_HISTOGRAM_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kiln {

// The counts of one sign's bins. Equal counts have equal representations.
class BinCounts {
 public:
  bool empty() const { return bytes_.empty(); }
  // Adds the counts to `dense`, one element per bin, with each run of 2^shift bins joined into one.
  void AddTo(std::span<int64_t> dense, int shift) const;
  // Takes the counts of `dense` in place of its own.
  void Assign(std::span<const int64_t> dense);
  // Returns the bytes of memory that the counts take.
  size_t bytes() const { return bytes_.size(); }

  friend bool operator==(const BinCounts&, const BinCounts&) = default;

 private:
  // For each bin that holds values, in order: its distance from the one before, and its count, both
  // as integers of variable length, seven bits to a byte, low bits first.
  std::vector<uint8_t> bytes_;
};

// Counts of values by sign and magnitude, with the exact minimum and maximum.
class Histogram {
 public:
  static constexpr int kBinsLog2 = 12;
  static constexpr int kBins = 1 << kBinsLog2;  // default number of bins on each side of zero

  // Creates a histogram of 2^bins_log2 bins on each side of zero; bins_log2 is 1 to kBinsLog2.
  explicit Histogram(int bins_log2 = kBinsLog2) : bins_log2_(bins_log2) {}

  // Counts finite values. NaN and infinite values only increase non_finite().
  void Add(std::span<const float> values);
  // Adds the counts of a histogram with the same number of bins.
  void Merge(const Histogram& other);

  int64_t count() const { return count_; }  // finite values, zeros included
  int64_t zeros() const { return zeros_; }
  int64_t non_finite() const { return non_finite_; }
  float min() const { return min_; }  // exact; 0 when nothing was counted
  float max() const { return max_; }

  int bins() const { return 1 << bins_log2_; }
  // Returns the width of a bin, in units of the values.
  double bin_width() const;
  // Counts by bin: element i of positive() counts values in [i, i+1) * bin_width(), element i of
  // negative() values in (-(i+1), -i] * bin_width(). Empty without values of that sign.
  std::vector<int64_t> positive() const { return Dense(positive_); }
  std::vector<int64_t> negative() const { return Dense(negative_); }
  // Returns the bytes of memory that the counts take.
  size_t bytes() const { return positive_.bytes() + negative_.bytes(); }

  friend bool operator==(const Histogram&, const Histogram&) = default;

 private:
  // Widens the bins to cover [0, 2^exponent); never narrows them. Returns the shift by which the
  // numbers of bins that are held so far become those of the wider bins.
  int GrowTo(int exponent);
  std::vector<int64_t> Dense(const BinCounts& counts) const;

  int bins_log2_ = kBinsLog2;
  int exponent_ = kLeastExponent;
  int64_t count_ = 0;
  int64_t zeros_ = 0;
  int64_t non_finite_ = 0;
  float min_ = 0;
  float max_ = 0;
  BinCounts positive_;
  BinCounts negative_;
  static constexpr int kLeastExponent = -100;  // smaller magnitudes fall into the first bin
};

}  // namespace kiln

#endif  // KILN_QUANTISE_HISTOGRAM_H_
