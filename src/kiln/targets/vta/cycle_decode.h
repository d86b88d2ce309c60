// How the cycle level reads instruction words: fields, the sizes that follow from them, and the faults that a word
// shows by itself. It does what rtl/vta/kiln_vta_fields.sv and kiln_vta_decoder.sv do, and uses nothing of the
// functional level's decoder and rules (isa.h, fault_rules.h), so that tests of the two levels hold both.
#ifndef KILN_TARGETS_VTA_CYCLE_DECODE_H_
#define KILN_TARGETS_VTA_CYCLE_DECODE_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kiln/targets/vta/config.h"
#include "kiln/targets/vta/faults.h"
#include "kiln/targets/vta/instruction.h"

namespace kiln::vta {

class CycleDecoder {
 public:
  explicit CycleDecoder(const Config& config);

  // Decodes the 16 bytes of an instruction. Fields that its kind does not have keep their defaults.
  Instruction Decode(const uint8_t* word) const;
  Uop DecodeUop(uint32_t word) const;

 private:
  const int uop_bits_, input_bits_, weight_bits_, accumulator_bits_;  // of indices
};

// Returns the stage whose queue takes the instruction.
Stage QueueOf(const Instruction& in);
// Returns the elements on chip that a load or store covers, padding included; 0 where x_size is 0.
uint64_t ElementsMoved(const Instruction& in);
// Returns the steps of a GEMM or ALU instruction: 0 for all others.
uint64_t StepCount(const Instruction& in);

// Bytes of one element in outer memory.
uint64_t BytesOfElement(Memory memory, const Config& config);
// Returns the byte address of the first element of row `row` of a load or store. Addresses have 32 bits and wrap.
uint64_t AddressOfRow(const Instruction& in, uint32_t row, const Config& config);
// Bytes of each of its rows.
uint64_t BytesOfRow(const Instruction& in, const Config& config);

// Returns the reason why no stage can execute the instruction, whatever the micro-ops and the memory hold; nullopt
// where a stage can. `index` is its place in the program.
std::optional<Fault> FaultOfWord(const Instruction& in, size_t index, const Config& config);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_CYCLE_DECODE_H_
