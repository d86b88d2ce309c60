// The cycle level's decoder: fields of instructions, sizes that follow from them, and faults of
// single instructions. It does what rtl/vta/kiln_vta_fields.sv and kiln_vta_decoder.sv do, and
// shares no code with the functional level's decoder and rules (isa.h, fault_rules.h), so that
// comparing the two levels tests both.
#ifndef KILN_TARGETS_VTA_SIMULATE_CYCLE_CYCLE_DECODE_H_
#define KILN_TARGETS_VTA_SIMULATE_CYCLE_CYCLE_DECODE_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kiln/targets/vta/config/config.h"
#include "kiln/targets/vta/isa/faults.h"
#include "kiln/targets/vta/isa/instruction.h"

namespace kiln::vta {

// The decoder of a design point's instructions and micro-ops.
class CycleDecoder {
 public:
  explicit CycleDecoder(const Config& config);

  // Decodes the 16 bytes of an instruction. Fields that its kind does not have keep their defaults.
  Instruction Decode(const uint8_t* word) const;
  Uop DecodeUop(uint32_t word) const;

 private:
  const int uop_bits_, input_bits_, weight_bits_, accumulator_bits_;  // widths of indices
};

// Returns the stage whose queue takes the instruction.
Stage QueueOf(const Instruction& in);
// Returns the number of elements on chip that a load or store covers, padding included; 0 if x_size
// is 0.
uint64_t ElementsMoved(const Instruction& in);
// Returns the number of steps of a GEMM or ALU instruction, 0 for all others.
uint64_t StepCount(const Instruction& in);

// Returns the bytes of one element in external memory.
uint64_t BytesOfElement(Memory memory, const Config& config);
// Returns the byte address of the first element of row `row` of a load or store. Addresses have 32
// bits and wrap.
uint64_t AddressOfRow(const Instruction& in, uint32_t row, const Config& config);
// Returns the bytes of one row of a load or store, padding not included.
uint64_t BytesOfRow(const Instruction& in, const Config& config);

// Returns the reason why no stage can execute the instruction, whatever the micro-ops and the
// memory hold, or nullopt if a stage can. `index` is the instruction's number in the program.
std::optional<Fault> FaultOfWord(const Instruction& in, size_t index, const Config& config);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_SIMULATE_CYCLE_CYCLE_DECODE_H_
