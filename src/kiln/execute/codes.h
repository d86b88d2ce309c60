// Whole tensors to codes and back, by the annotation of a value (ir/graph.h). Each element is what numerics defines:
// quantise.h for whole integers that round to nearest and saturate, microscaling.h for blocks without scales of their
// own, else
//
//   code  = Encode(format, fp32(x * inverse_scale))      codec.h; whole integers add the zero point, then overflow
//   value = fp32(Decode(format, code) * scale)           less the zero point before the product
//
// Stochastic rounding draws from the element's position (tables.h), so that results are the same each time.
#ifndef KILN_EXECUTE_CODES_H_
#define KILN_EXECUTE_CODES_H_

#include <span>

#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"

namespace kiln {

// The element type that holds codes: signed integers i8, i16 or i32, the least that fits; all others u8, u16 or u32.
ElementType CodeElementType(const Format& format);

// values  fp32, any shape; scales as Quantisation has them, blocks by their rule excepted
// returns codes of the same shape in CodeElementType
Tensor QuantiseTensor(const Tensor& values, const Quantisation& q);

// codes   as QuantiseTensor returns them
// returns fp32 of the same shape
Tensor DequantiseTensor(const Tensor& codes, const Quantisation& q);

// Blocks whose scales follow from their elements.
struct BlockCodes {
  Tensor codes;  // of the values' shape, in CodeElementType(type.format)
  Tensor
      scales;  // codes of type.scale_format; the number of blocks in place of the blocked axis's length
};
BlockCodes QuantiseBlocks(const Tensor& values, const Quantisation& q);
Tensor DequantiseBlocks(const BlockCodes& blocks, const Quantisation& q);

// To codes and back, under any annotation.
Tensor RoundTensor(const Tensor& values, const Quantisation& q);

// A per-tensor annotation for a range (ChooseScale in numerics/quantise.h).
Quantisation PerTensorQuantisation(double low, double high, const QuantType& type);

}  // namespace kiln

#endif  // KILN_EXECUTE_CODES_H_
