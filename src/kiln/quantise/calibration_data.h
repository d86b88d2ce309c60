// The result of calibration: one histogram per fp32 value of a graph, and on demand one per channel
// of each value. Calibrate fills it; DivideValues and ChooseRange read it.
#ifndef KILN_QUANTISE_CALIBRATION_DATA_H_
#define KILN_QUANTISE_CALIBRATION_DATA_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/quantise/histogram.h"

namespace kiln {

// Histograms by value name.
class CalibrationData {
 public:
  // Returns data for networks without weights or images: every value is assumed to span [-1, 1].
  // Schedules and cycle counts computed with such data are valid; results are meaningless.
  static CalibrationData Assumed();

  // Merges a histogram into the one recorded under that name. The order of calls does not matter.
  void Add(std::string_view value, Histogram histogram);
  // Does the same for each channel of a value. All calls for a value must pass the same number of
  // channels.
  void AddChannels(std::string_view value, std::vector<Histogram> channels);
  // Returns the histogram of a value; null if the value was never recorded.
  const Histogram* Find(std::string_view value) const;
  // Returns the histograms of a value's channels. Empty if channels were not recorded or the
  // value's channel axis is unknown.
  const std::vector<Histogram>& FindChannels(std::string_view value) const;
  // The number of images that the histograms were recorded on.
  int64_t images() const { return images_; }
  void set_images(int64_t images) { images_ = images; }
  friend bool operator==(const CalibrationData&, const CalibrationData&) = default;

 private:
  std::map<std::string, Histogram, std::less<>> histograms_;
  std::map<std::string, std::vector<Histogram>, std::less<>> channels_;
  std::map<std::string, Histogram, std::less<>> assumed_;  // one entry "" in Assumed data, or empty
  int64_t images_ = 0;
};

}  // namespace kiln

#endif  // KILN_QUANTISE_CALIBRATION_DATA_H_
