// Values to codes and back at the edge of the machine's memory, the same at every level.
#ifndef KILN_TARGETS_SYSTOLIC_BINDING_H_
#define KILN_TARGETS_SYSTOLIC_BINDING_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kiln/ir/tensor.h"
#include "kiln/support/status.h"
#include "kiln/targets/systolic/program.h"

namespace kiln::systolic {

// What an annotation makes of the values of a tensor: to codes and back.
void RoundToAnnotation(const Quantisation& quantisation, const Shape& shape,
                       std::vector<float>& values);

// Writes a tensor of binding.type() and binding.shape into memory. fp32 values become codes as the vector unit would
// write them (QuantiseOut of isa.h), with inverse_scale = fp32(1 / scale); those in a format that no unit writes are
// rounded to their annotation first. Error: another type or shape, an integer that the element cannot hold.
Status Store(const Tensor& tensor, const Binding& binding, std::span<uint8_t> memory);

// Reads the tensor back as values, as an operand of the vector unit but not rounded to its format.
Tensor Load(const Binding& binding, std::span<const uint8_t> memory);

// Reads the codes as they stand: signed integers as int8, int16 or int32, others as uint8, uint16 or uint32; bindings
// without codes as Load.
Tensor LoadCodes(const Binding& binding, std::span<const uint8_t> memory);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_BINDING_H_
