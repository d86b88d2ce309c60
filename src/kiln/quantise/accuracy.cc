// Top-k accuracy, PSNR and SQNR, computed over whole fp32 tensors.
#include "kiln/quantise/accuracy.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "kiln/numerics/elementary.h"
#include "kiln/support/check.h"

namespace kiln {

StatusOr<Accuracy> TopK(const Tensor& scores, std::span<const int32_t> labels, int k) {
  if (scores.type() != ElementType::kFloat32 || scores.shape().rank() < 1 || k < 1) {
    return ErrorAt("", "accuracy",
                   fmt::format("scores are {} {} and k is {}", NameOf(scores.type()),
                               scores.shape().ToString(), k),
                   "fp32 scores [images, classes] and k of at least 1");
  }
  const int64_t images = scores.shape()[0];
  if (static_cast<int64_t>(labels.size()) < images) {
    return ErrorAt("", "accuracy", fmt::format("{} labels for {} images", labels.size(), images),
                   "one for each image");
  }
  Accuracy accuracy{.correct = 0, .images = images};
  if (images == 0) return accuracy;
  const auto classes = static_cast<size_t>(scores.size() / images);
  for (int64_t image = 0; image < images; ++image) {
    const auto row = scores.data<float>().subspan(static_cast<size_t>(image) * classes, classes);
    const int32_t label = labels[static_cast<size_t>(image)];
    if (label < 0 || static_cast<size_t>(label) >= classes) {
      return ErrorAt("", "accuracy", fmt::format("image {} has label {}", image, label),
                     fmt::format("labels from 0 to {}", static_cast<int64_t>(classes) - 1));
    }
    const float own = row[static_cast<size_t>(label)];
    if (std::isnan(own)) continue;
    // Counting the scores that rank above the label's needs no sort.
    int64_t higher = 0;
    for (size_t i = 0; i < classes; ++i) {
      higher += row[i] > own || (row[i] == own && i < static_cast<size_t>(label));
    }
    accuracy.correct += higher < k;
  }
  return accuracy;
}

StatusOr<double> Psnr(const Tensor& values, const Tensor& reference, double peak) {
  if (values.type() != ElementType::kFloat32 || reference.type() != ElementType::kFloat32 ||
      values.shape() != reference.shape() || values.size() == 0) {
    return ErrorAt("", "psnr",
                   fmt::format("{} cannot be compared with {}", values.shape().ToString(),
                               reference.shape().ToString()),
                   "fp32 tensors of one shape, not empty");
  }
  double error = 0;
  for (size_t i = 0; i < static_cast<size_t>(values.size()); ++i) {
    const double difference =
        static_cast<double>(values.data<float>()[i]) - reference.data<float>()[i];
    error += difference * difference;
  }
  if (error == 0) return std::numeric_limits<double>::infinity();
  return 10 * elementary::Log10(peak * peak * static_cast<double>(values.size()) / error);
}

void NoisePower::Add(const Tensor& exact, const Tensor& rounded) {
  KILN_CHECK(exact.size() == rounded.size());
  const std::span<const float> a = exact.data<float>(), b = rounded.data<float>();
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - b[i];
    signal += static_cast<double>(a[i]) * a[i];
    noise += difference * difference;
  }
}

void NoisePower::Add(const NoisePower& other) {
  signal += other.signal;
  noise += other.noise;
}

std::optional<double> NoisePower::sqnr_db() const {
  if (!(signal > 0 && noise > 0) || !std::isfinite(signal) || !std::isfinite(noise))
    return std::nullopt;
  return 10 * elementary::Log10(signal / noise);
}

}  // namespace kiln
