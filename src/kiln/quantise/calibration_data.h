// What values a network takes: one histogram for each fp32 value of a graph, and one for each of its channels on
// demand.
#ifndef KILN_QUANTISE_CALIBRATION_DATA_H_
#define KILN_QUANTISE_CALIBRATION_DATA_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/quantise/histogram.h"

namespace kiln {

class CalibrationData {
 public:
  // Data for when there is none: every value is taken to lie in [-1, 1]. For schedules and cycle counts of networks
  // whose weights or images are absent; results computed with it mean nothing.
  static CalibrationData Assumed();

  // Merges into what stands under that name; the order of calls does not matter.
  void Add(std::string_view value, const Histogram& histogram);
  // The same for each channel of a value, as many each time.
  void AddChannels(std::string_view value, const std::vector<Histogram>& channels);
  // Null when the value was never seen.
  const Histogram* Find(std::string_view value) const;
  // Empty where channels were not counted, or a value has none that are known.
  const std::vector<Histogram>& FindChannels(std::string_view value) const;
  int64_t images() const { return images_; }
  void set_images(int64_t images) { images_ = images; }
  friend bool operator==(const CalibrationData&, const CalibrationData&) = default;

 private:
  std::map<std::string, Histogram, std::less<>> histograms_;
  std::map<std::string, std::vector<Histogram>, std::less<>> channels_;
  std::map<std::string, Histogram, std::less<>> assumed_;  // under "", or empty
  int64_t images_ = 0;
};

}  // namespace kiln

#endif  // KILN_QUANTISE_CALIBRATION_DATA_H_
