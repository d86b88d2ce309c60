// Views of some images of a batch, as tensors that share its bytes.
#include "kiln/quantise/image_slice.h"

#include <memory>
#include <utility>

#include "kiln/support/check.h"

namespace kiln {

Tensor SliceImages(const Tensor& batch, int64_t begin, int64_t end) {
  Shape shape = batch.shape();
  KILN_CHECK(0 <= begin && begin <= end && end <= shape[0]);
  const int64_t image_bytes = shape[0] == 0 ? 0 : batch.num_bytes() / shape[0];
  shape[0] = end - begin;
  auto owner = std::make_shared<const Tensor>(batch);
  const std::byte* bytes = owner->bytes() + begin * image_bytes;
  return Tensor::View(batch.type(), std::move(shape), std::move(owner), bytes);
}

std::vector<Tensor> SliceImages(std::span<const Tensor> inputs, int64_t begin, int64_t end) {
  std::vector<Tensor> slices;
  for (const Tensor& input : inputs) slices.push_back(SliceImages(input, begin, end));
  return slices;
}

}  // namespace kiln
