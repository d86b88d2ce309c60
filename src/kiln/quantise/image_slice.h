// Views of some images of a batch.
#ifndef KILN_QUANTISE_IMAGE_SLICE_H_
#define KILN_QUANTISE_IMAGE_SLICE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kiln/ir/tensor.h"

namespace kiln {

// Returns images [begin, end) of a batch, [images, ...]; shares the bytes of the batch.
Tensor SliceImages(const Tensor& batch, int64_t begin, int64_t end);

// Returns images [begin, end) of every input of a network.
std::vector<Tensor> SliceImages(std::span<const Tensor> inputs, int64_t begin, int64_t end);

}  // namespace kiln

#endif  // KILN_QUANTISE_IMAGE_SLICE_H_
