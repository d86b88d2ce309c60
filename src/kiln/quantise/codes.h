// Whole tensors to codes and back, by the annotation of a value (numerics/quantise.h defines each element).
#ifndef KILN_QUANTISE_CODES_H_
#define KILN_QUANTISE_CODES_H_

#include <span>

#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"

namespace kiln {

// The element type that holds codes of an integer format: i8/u8 up to 8 bits, i16/u16 up to 16, i32 up to 32.
ElementType CodeElementType(const Format& format);

// values  fp32, any shape; per channel: scales run along q.axis, one for each index
// returns codes of the same shape in CodeElementType
Tensor QuantiseTensor(const Tensor& values, const Quantisation& q);

// codes   as QuantiseTensor returns them
// returns fp32 of the same shape
Tensor DequantiseTensor(const Tensor& codes, const Quantisation& q);

// A per-tensor annotation for a range (ChooseScale in numerics/quantise.h).
Quantisation PerTensorQuantisation(double low, double high, const QuantType& type);

}  // namespace kiln

#endif  // KILN_QUANTISE_CODES_H_
