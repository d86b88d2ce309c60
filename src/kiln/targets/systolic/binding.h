// Values to codes and back at the edge of the machine's memory, the same at every level.
#ifndef KILN_TARGETS_SYSTOLIC_BINDING_H_
#define KILN_TARGETS_SYSTOLIC_BINDING_H_

#include <cstdint>
#include <span>

#include "kiln/ir/tensor.h"
#include "kiln/support/status.h"
#include "kiln/targets/systolic/program.h"

namespace kiln::systolic {

// Writes a tensor of binding.type and binding.shape into memory. fp32 values become codes as
// QuantiseToCode (numerics/quantise.h) says: clamp(rne(v * fp32(1 / scale)) + zero_point, low, high).
// Error: another type or shape, an integer that the element cannot hold.
Status Store(const Tensor& tensor, const Binding& binding, std::span<uint8_t> memory);

// Reads the tensor back as values: scale * (code - zero_point), one fp32 product.
Tensor Load(const Binding& binding, std::span<const uint8_t> memory);

// Reads the codes as they stand (int8, uint8, int16 or int32); fp32 and integer bindings as Load.
Tensor LoadCodes(const Binding& binding, std::span<const uint8_t> memory);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_BINDING_H_
