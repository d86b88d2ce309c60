// How several samples of one value are stored in one tensor: along its first axis, of which one sample takes 1, or
// along a new first axis where a sample has none of its own. All levels of execution join inputs and outputs this way.
#ifndef KILN_IR_BATCH_SHAPE_H_
#define KILN_IR_BATCH_SHAPE_H_

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "kiln/ir/shape.h"
#include "kiln/ir/tensor.h"

namespace kiln {

// True when the leading axis of a sample of shape `one` is the axis that counts samples.
inline bool HasBatchAxis(const Shape& one) { return one.rank() > 0 && one[0] == 1; }

// Returns the shape of `samples` samples of shape `one`: 1x10 gives Nx10; 128x4 gives Nx128x4; a scalar gives N.
inline Shape BatchShape(const Shape& one, int64_t samples) {
  std::vector<int64_t> dims = one.dims();
  if (HasBatchAxis(one)) {
    dims[0] = samples;
  } else {
    dims.insert(dims.begin(), samples);
  }
  return Shape(std::move(dims));
}

// Returns sample `i` of a tensor of several, of shape `one`, without a copy; `batch` must outlive it.
inline Tensor SampleOf(const Tensor& batch, const Shape& one, int64_t i) {
  const int64_t bytes = one.NumElements() * SizeOf(batch.type());
  return Tensor::View(batch.type(), one, std::shared_ptr<const void>(&batch, [](const void*) {}),
                      batch.bytes() + i * bytes);
}

// Copies a sample to its place in a tensor of several. Threads may do so for different samples at once.
inline void SetSample(const Tensor& one, int64_t i, Tensor* batch) {
  if (one.num_bytes() == 0) return;
  std::memcpy(batch->mutable_bytes() + i * one.num_bytes(), one.bytes(),
              static_cast<size_t>(one.num_bytes()));
}

}  // namespace kiln

#endif  // KILN_IR_BATCH_SHAPE_H_
