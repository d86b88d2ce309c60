// Stores and merges histograms by value name.
#include "kiln/quantise/calibration_data.h"

#include <utility>

#include "kiln/support/check.h"

namespace kiln {

CalibrationData CalibrationData::Assumed() {
  CalibrationData data;
  const float ends[] = {-1, 1};
  data.assumed_[""].Add(ends);
  return data;
}

void CalibrationData::Add(std::string_view value, Histogram histogram) {
  const auto it = histograms_.find(value);
  if (it != histograms_.end()) {
    it->second.Merge(histogram);
  } else {
    histograms_.emplace(std::string(value), std::move(histogram));
  }
}

void CalibrationData::AddChannels(std::string_view value, std::vector<Histogram> channels) {
  const auto it = channels_.find(value);
  if (it == channels_.end()) {
    channels_.emplace(std::string(value), std::move(channels));
    return;
  }
  KILN_CHECK(it->second.size() == channels.size());
  for (size_t i = 0; i < channels.size(); ++i) it->second[i].Merge(channels[i]);
}

const std::vector<Histogram>& CalibrationData::FindChannels(std::string_view value) const {
  static const std::vector<Histogram> kNone;
  const auto it = channels_.find(value);
  return it == channels_.end() ? kNone : it->second;
}

const Histogram* CalibrationData::Find(std::string_view value) const {
  if (!assumed_.empty()) return &assumed_.begin()->second;
  const auto it = histograms_.find(value);
  return it == histograms_.end() ? nullptr : &it->second;
}

}  // namespace kiln
