// Tensors of random elements, for random graphs, tests and benchmarks.
#ifndef KILN_IR_RANDOM_TENSOR_H_
#define KILN_IR_RANDOM_TENSOR_H_

#include "kiln/ir/element_type.h"
#include "kiln/ir/shape.h"
#include "kiln/ir/tensor.h"
#include "kiln/support/random.h"

namespace kiln {

// Returns a tensor with elements uniform in [low, high): rounded down for integer types and bool,
// rounded to the nearest number of the type for floats. Draws one binary64 number per element in
// row-major order, so that all types take the same numbers from `random`. The strings of a string
// tensor are empty and take none.
Tensor RandomTensor(Random& random, ElementType type, const Shape& shape, double low, double high);

}  // namespace kiln

#endif  // KILN_IR_RANDOM_TENSOR_H_
