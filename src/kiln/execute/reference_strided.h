// Copies elements through strides; every kernel that transposes, slices or repeats uses it.
#ifndef KILN_EXECUTE_REFERENCE_STRIDED_H_
#define KILN_EXECUTE_REFERENCE_STRIDED_H_

#include <cstdint>
#include <span>

#include "kiln/ir/tensor.h"

namespace kiln::reference {

// Sets out[i0, i1, ...] = from[base + i0 * strides[0] + i1 * strides[1] + ...] for every index of
// `out`, which has the same element type. Base and strides count elements, and every element they
// reach must be inside `from`. Not for strings.
void GatherStrided(const Tensor& from, int64_t base, std::span<const int64_t> strides, Tensor& out);

}  // namespace kiln::reference

#endif  // KILN_EXECUTE_REFERENCE_STRIDED_H_
