// Copying through strides, for everything that transposes, cuts or repeats.
#ifndef KILN_EXECUTE_REFERENCE_STRIDED_H_
#define KILN_EXECUTE_REFERENCE_STRIDED_H_

#include <cstdint>
#include <span>

#include "kiln/ir/tensor.h"

namespace kiln::reference {

// out[i0, i1, ...] = from[base + i0 * strides[0] + i1 * strides[1] + ...] for every index of `out`, which has the same
// element type; base and strides count elements, and every place they reach must lie in `from`. Not for strings.
void GatherStrided(const Tensor& from, int64_t base, std::span<const int64_t> strides, Tensor& out);

}  // namespace kiln::reference

#endif  // KILN_EXECUTE_REFERENCE_STRIDED_H_
