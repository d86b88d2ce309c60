// Histograms that can be merged exactly, in any order.
//
// Bins are fp32 magnitudes cut evenly over [0, 2^exponent), kBins for negative and kBins for positive values; zeros are
// counted apart. The exponent is the least that holds the largest magnitude seen, and a histogram grows by joining
// bins in pairs. Edges always fall together, so merging two histograms gives the counts that one histogram over both
// data sets would have, whatever the order and however the data were cut.
#ifndef KILN_QUANTISE_HISTOGRAM_H_
#define KILN_QUANTISE_HISTOGRAM_H_

#include <cstdint>
#include <span>
#include <vector>

namespace kiln {

class Histogram {
 public:
  static constexpr int kBinsLog2 = 12;
  static constexpr int kBins = 1 << kBinsLog2;  // on either side of zero, unless told otherwise

  // A histogram of 2^bins_log2 bins on either side of zero, 1 to kBinsLog2.
  explicit Histogram(int bins_log2 = kBinsLog2) : bins_log2_(bins_log2) {}

  // Counts finite values; others are only noted by `non_finite`.
  void Add(std::span<const float> values);
  void Merge(const Histogram& other);  // of as many bins

  int64_t count() const { return count_; }  // finite values, zeros included
  int64_t zeros() const { return zeros_; }
  int64_t non_finite() const { return non_finite_; }
  float min() const { return min_; }  // exact; 0 when nothing was counted
  float max() const { return max_; }

  int bins() const { return 1 << bins_log2_; }
  double bin_width() const;
  // Values in [i, i+1) * bin_width(), and values in (-(i+1), -i] * bin_width(). Empty when there are none.
  std::span<const int64_t> positive() const { return positive_; }
  std::span<const int64_t> negative() const { return negative_; }

  friend bool operator==(const Histogram&, const Histogram&) = default;

 private:
  void GrowTo(int exponent);

  int bins_log2_ = kBinsLog2;
  int exponent_ = kLeastExponent;
  int64_t count_ = 0;
  int64_t zeros_ = 0;
  int64_t non_finite_ = 0;
  float min_ = 0;
  float max_ = 0;
  std::vector<int64_t> positive_;
  std::vector<int64_t> negative_;
  static constexpr int kLeastExponent = -100;  // smaller magnitudes fall into the first bin
};

}  // namespace kiln

#endif  // KILN_QUANTISE_HISTOGRAM_H_
