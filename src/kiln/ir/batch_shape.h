// The layout of several samples of one value in one tensor. Samples are joined along their first
// axis if its length is 1 in a single sample, and along a new first axis otherwise. All levels of
// execution join inputs and outputs this way.
#ifndef KILN_IR_BATCH_SHAPE_H_
#define KILN_IR_BATCH_SHAPE_H_

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "kiln/ir/shape.h"
#include "kiln/ir/tensor.h"

namespace kiln {

// Returns whether the first axis of a sample of shape `one` counts samples.
inline bool HasBatchAxis(const Shape& one) { return one.rank() > 0 && one[0] == 1; }

// Returns the shape of `samples` samples of shape `one`: 1x10 gives Nx10; 128x4 gives Nx128x4; a
// scalar gives N.
inline Shape BatchShape(const Shape& one, int64_t samples) {
  std::vector<int64_t> dims = one.dims();
  if (HasBatchAxis(one)) {
    dims[0] = samples;
  } else {
    dims.insert(dims.begin(), samples);
  }
  return Shape(std::move(dims));
}

// Returns sample `i`, of shape `one`, of a tensor of several samples. The result is a view without
// a copy: `batch` must outlive it.
inline Tensor SampleOf(const Tensor& batch, const Shape& one, int64_t i) {
  const int64_t bytes = one.NumElements() * SizeOf(batch.type());
  return Tensor::View(batch.type(), one, std::shared_ptr<const void>(&batch, [](const void*) {}),
                      batch.bytes() + i * bytes);
}

// Copies a sample into a tensor of several samples. Thread-safe for different samples.
inline void SetSample(const Tensor& one, int64_t i, Tensor* batch) {
  if (one.num_bytes() == 0) return;
  std::memcpy(batch->mutable_bytes() + i * one.num_bytes(), one.bytes(),
              static_cast<size_t>(one.num_bytes()));
}

}  // namespace kiln

#endif  // KILN_IR_BATCH_SHAPE_H_
