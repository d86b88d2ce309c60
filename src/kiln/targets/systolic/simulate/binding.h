// Converts values to codes and back where they enter and leave the machine's memory. All levels
// share these functions.
#ifndef KILN_TARGETS_SYSTOLIC_SIMULATE_BINDING_H_
#define KILN_TARGETS_SYSTOLIC_SIMULATE_BINDING_H_

#include <cstdint>
#include <span>

#include "kiln/ir/tensor.h"
#include "kiln/support/status.h"
#include "kiln/targets/systolic/isa/program.h"

namespace kiln::systolic {

// Writes a tensor of binding.type() and binding.shape into memory. fp32 values become codes as the
// vector unit would write them (QuantiseOut of isa.h), but with inverse_scale = fp32(1 / scale),
// which a vector unit in a short float has rounded (FactorFormat of config.h). Values in a format
// that no unit writes are first rounded to their annotation. Errors: another type or shape, an
// integer that the element cannot hold.
Status Store(const Tensor& tensor, const Binding& binding, std::span<uint8_t> memory);

// Reads the tensor back as values, like an operand of the vector unit but without rounding to its
// format.
Tensor Load(const Binding& binding, std::span<const uint8_t> memory);

// Reads the codes as they are in memory: signed integers as int8, int16 or int32, other codes as
// uint8, uint16 or uint32. Bindings without codes are read as by Load.
Tensor LoadCodes(const Binding& binding, std::span<const uint8_t> memory);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_SIMULATE_BINDING_H_
