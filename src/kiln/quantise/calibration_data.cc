#include "kiln/quantise/calibration_data.h"

namespace kiln {

CalibrationData CalibrationData::Assumed() {
  CalibrationData data;
  const float ends[] = {-1, 1};
  data.assumed_[""].Add(ends);
  return data;
}

void CalibrationData::Add(std::string_view value, const Histogram& histogram) {
  const auto it = histograms_.find(value);
  if (it != histograms_.end()) {
    it->second.Merge(histogram);
  } else {
    histograms_.emplace(std::string(value), histogram);
  }
}

const Histogram* CalibrationData::Find(std::string_view value) const {
  if (!assumed_.empty()) return &assumed_.begin()->second;
  const auto it = histograms_.find(value);
  return it == histograms_.end() ? nullptr : &it->second;
}

}  // namespace kiln
