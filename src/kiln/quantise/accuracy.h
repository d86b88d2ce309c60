// Figures of merit of a network's outputs.
#ifndef KILN_QUANTISE_ACCURACY_H_
#define KILN_QUANTISE_ACCURACY_H_

#include <cstdint>
#include <span>

#include "kiln/ir/tensor.h"
#include "kiln/support/status.h"

namespace kiln {

struct Accuracy {
  int64_t correct = 0;
  int64_t images = 0;
  double percent() const {
    return images == 0 ? 0 : 100.0 * static_cast<double>(correct) / static_cast<double>(images);
  }
};

// How many images have their label among the k highest scores. Of equal scores the one with the lower index counts as
// higher, so that the result does not depend on how a tie is sorted; a NaN counts as lowest.
//   scores  fp32, [images, classes] or more dimensions that flatten to that
//   labels  one for each image, or more: the first `images` are used
//   errors  fewer labels than images, a label outside the classes, scores of another type, k < 1
StatusOr<Accuracy> TopK(const Tensor& scores, std::span<const int32_t> labels, int k = 1);

// Peak signal-to-noise ratio in dB, 10 log10(peak^2 / mean squared error); infinite for equal tensors.
//   errors  shapes or types that differ, nothing to compare
StatusOr<double> Psnr(const Tensor& values, const Tensor& reference, double peak);

}  // namespace kiln

#endif  // KILN_QUANTISE_ACCURACY_H_
