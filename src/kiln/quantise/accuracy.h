// Figures of merit of a network's outputs: top-k accuracy, peak signal-to-noise ratio (PSNR), and
// signal to quantisation noise ratio (SQNR).
//
// The quantisation flow compares a quantised network with its fp32 original by these figures.
// scores.h extends top-k to networks that label every pixel or token.
#ifndef KILN_QUANTISE_ACCURACY_H_
#define KILN_QUANTISE_ACCURACY_H_

#include <cstdint>
#include <optional>
#include <span>

#include "kiln/ir/tensor.h"
#include "kiln/support/status.h"

namespace kiln {

// The top-k accuracy of a set of images.
struct Accuracy {
  // Images with their label among the k highest scores, and all images.
  int64_t correct = 0;
  int64_t images = 0;
  // Returns the accuracy in per cent; 0 without images.
  double percent() const {
    return images == 0 ? 0 : 100.0 * static_cast<double>(correct) / static_cast<double>(images);
  }
};

// Counts the images with their label among the k highest scores. Among equal scores, the lower
// class index ranks higher, so that the result does not depend on how ties are sorted. A NaN ranks
// lowest.
//   scores  fp32, [images, classes] or more dimensions that flatten to that
//   labels  one per image; labels after the first `images` are ignored
//   errors  fewer labels than images, a label outside the classes, scores of another type, k < 1
StatusOr<Accuracy> TopK(const Tensor& scores, std::span<const int32_t> labels, int k = 1);

// Returns the peak signal-to-noise ratio in dB, 10 log10(peak^2 / mean squared error); infinity
// for equal tensors.
//   errors  different shapes, types other than fp32, empty tensors
StatusOr<double> Psnr(const Tensor& values, const Tensor& reference, double peak);

// The powers behind a signal to quantisation noise ratio, summed over any number of tensors.
struct NoisePower {
  double signal = 0;  // sum of the squares of the exact elements
  double noise = 0;   // sum of the squares of the errors
  // Adds the elements of two fp32 tensors of the same shape.
  void Add(const Tensor& exact, const Tensor& rounded);
  void Add(const NoisePower& other);
  // Returns the signal to quantisation noise ratio in dB, 10 log10(signal / noise). nullopt without
  // noise (every element is exact), without signal, and if either is infinite or NaN.
  std::optional<double> sqnr_db() const;
};

}  // namespace kiln

#endif  // KILN_QUANTISE_ACCURACY_H_
