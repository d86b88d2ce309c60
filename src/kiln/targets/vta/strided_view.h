// Moves of data that only rename places: transposition, reshaping, slicing, on shape and strides.
#ifndef KILN_TARGETS_VTA_STRIDED_VIEW_H_
#define KILN_TARGETS_VTA_STRIDED_VIEW_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"

namespace kiln::vta {

// Elements of a dense tensor, in units of elements.
struct StridedView {
  int64_t offset = 0;
  std::vector<int64_t> shape, strides;
};

StridedView DenseView(const Shape& shape);
// Under another shape of as many elements, in row-major order; nullopt where no strides can say it.
std::optional<StridedView> Reshaped(const StridedView& view, std::span<const int64_t> shape);
// What a node that moves data does to its first operand: Transpose, Reshape and its like, Slice with constant bounds.
// nullopt: it is no such node, or no strides can say it.
std::optional<StridedView> ViewThrough(const Node& node, const StridedView& operand);
// A copy of the elements in row-major order.
Tensor Gather(const Tensor& dense, const StridedView& view);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_STRIDED_VIEW_H_
