// What the cycle level's machine holds on chip, and what instructions do to it. An instruction at a time: cycle.h says
// when. Of the functional level it uses the arithmetic on single numbers alone (alu.h, elements.h).
#ifndef KILN_TARGETS_VTA_CYCLE_DATA_H_
#define KILN_TARGETS_VTA_CYCLE_DATA_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kiln/targets/vta/config.h"
#include "kiln/targets/vta/cycle_decode.h"
#include "kiln/targets/vta/instruction.h"
#include "kiln/targets/vta/memory.h"

namespace kiln::vta {

// Micro-ops in outer memory, from byte `address` on.
struct UopsInMemory {
  uint64_t address = 0;
  std::span<const Uop> uops;
};

class CycleData {
 public:
  explicit CycleData(const Config& config);
  // Holds micro-ops alone, which are all that decides how long a program takes: loads of micro-ops read `source`
  // instead of a memory; every other load, store and computation leaves everything as it is. `source` outlives the
  // object and may change between launches.
  CycleData(const Config& config, const UopsInMemory& source);

  // Whether all that a load or store reaches in memory is there. Load, Store: it is.
  bool Reaches(const Instruction& in, const DeviceMemory& memory) const;
  void Load(const Instruction& in, const DeviceMemory& memory);
  void Store(const Instruction& in, DeviceMemory& memory) const;
  // GEMM and ALU instructions with steps, whose indices are inside the buffers.
  void Compute(const Instruction& in);
  std::span<const Uop> UopsOf(const Instruction& in) const {
    return std::span<const Uop>(uops_).subspan(in.uop_begin, in.uop_end - in.uop_begin);
  }

 private:
  // Elements of the memory from `element` on: from their bytes, and zeros.
  void PutRow(Memory memory, size_t element, size_t count, const uint8_t* bytes);
  void PutZeros(Memory memory, size_t element, size_t count);
  void LoadUops(const Instruction& in);
  void PutWeights(size_t element, size_t count, const uint8_t* bytes);
  void Reset(const Instruction& in);
  template <AluOp kOp>
  void RunAlu(const Instruction& in);

  const Config config_;
  const CycleDecoder decoder_;
  const UopsInMemory* const source_ = nullptr;                         // null: all numbers are held
  const size_t input_numbers_, weight_numbers_, accumulator_numbers_;  // of an element
  std::vector<Uop> uops_;
  std::vector<int16_t> inputs_;
  std::vector<int16_t> weights_;  // [element][block_in][block_out]
  // The output buffer's elements are these numbers' low bits: every write goes to both.
  std::vector<int32_t> accumulators_;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_CYCLE_DATA_H_
