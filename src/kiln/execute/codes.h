// Quantises whole fp32 tensors to codes and back, as the annotation of a value (Quantisation in
// ir/graph.h) says. The quantise room, the families' compilers and the host's part of a network use
// it.
//
// Each element is converted as the numerics room defines: by quantise.h for whole-number formats
// that round to nearest even and saturate; by microscaling.h for blocks whose scales follow from
// their elements; otherwise by codec.h:
//
//   code  = Encode(format, fp32(x * inverse_scale))       whole-number formats then add the zero
//                                                         point and apply their overflow rule
//   value = fp32(Decode(format, code) * scale)            whole-number formats subtract the zero
//                                                         point before the product
//
// Stochastic rounding draws its random bits from the element's index (tables.h), so results are
// reproducible.
#ifndef KILN_EXECUTE_CODES_H_
#define KILN_EXECUTE_CODES_H_

#include <span>

#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"

namespace kiln {

// Returns the element type that holds a format's codes: the narrowest of i8, i16 and i32 for signed
// integers, of u8, u16 and u32 for all other formats.
ElementType CodeElementType(const Format& format);

// Returns codes of a format as a tensor of its CodeElementType. Codes that the type does not hold
// are wrapped.
template <typename Integer>  // int32_t or int64_t
Tensor TensorOfCodes(const Format& format, const Shape& shape, std::span<const Integer> codes);

// Quantises a tensor with given scales.
//   values   fp32, any shape
//   q        scales per tensor, per channel or per block; not blocks that compute their own scales
//   returns  codes of the same shape, in CodeElementType(q.type.format)
//   errors   none; a mismatch of scales and shape is a programming error (KILN_CHECK)
Tensor QuantiseTensor(const Tensor& values, const Quantisation& q);

// Dequantises the codes that QuantiseTensor returns, with the same restriction on `q`.
//   returns  fp32 of the same shape
Tensor DequantiseTensor(const Tensor& codes, const Quantisation& q);

// A tensor in a microscaling format: codes, and one scale per block computed from its elements.
struct BlockCodes {
  Tensor codes;   // of the values' shape, in CodeElementType(type.format)
  Tensor scales;  // codes of type.scale_format; the blocked axis counts blocks instead of elements
};
// Quantises fp32 `values` in blocks along q.axis (BlockCodec in numerics/microscaling.h); the last
// block of a line may be partial. `q` has scheme kPerBlock and no scales.
BlockCodes QuantiseBlocks(const Tensor& values, const Quantisation& q);
// Returns the fp32 values that the codes and their block scales stand for.
Tensor DequantiseBlocks(const BlockCodes& blocks, const Quantisation& q);

// Returns the codes under any annotation; leaves out the scales that QuantiseBlocks finds.
Tensor EncodeTensor(const Tensor& values, const Quantisation& q);
// To codes and back, under any annotation.
Tensor RoundTensor(const Tensor& values, const Quantisation& q);

// Returns a per-tensor annotation that covers the range [low, high]; ChooseScale in
// numerics/quantise.h picks the scale and zero point.
Quantisation PerTensorQuantisation(double low, double high, const QuantType& type);

}  // namespace kiln

#endif  // KILN_EXECUTE_CODES_H_
