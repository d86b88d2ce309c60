// The buffers of the cycle level's machine and the effect of instructions on them, one instruction
// at a time; cycle.h says in which cycle. The arithmetic on single numbers (alu.h, elements.h) is
// all that this level shares with the functional level.
#ifndef KILN_TARGETS_VTA_SIMULATE_CYCLE_CYCLE_DATA_H_
#define KILN_TARGETS_VTA_SIMULATE_CYCLE_CYCLE_DATA_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kiln/targets/vta/config/config.h"
#include "kiln/targets/vta/isa/instruction.h"
#include "kiln/targets/vta/isa/memory.h"
#include "kiln/targets/vta/simulate/cycle/cycle_decode.h"

namespace kiln::vta {

// Micro-ops in external memory, from byte `address` on.
struct UopsInMemory {
  uint64_t address = 0;
  std::span<const Uop> uops;
};

// The contents of the micro-op, input, weight, accumulator and output buffers.
class CycleData {
 public:
  explicit CycleData(const Config& config);
  // Makes buffers that hold only micro-ops, because no other data affect a program's time. Loads of
  // micro-ops read `source` instead of a memory; all other loads, stores and computations have no
  // effect. `source` outlives the object and may change between launches.
  CycleData(const Config& config, const UopsInMemory& source);

  // Returns whether all rows that a load or store accesses are mapped in memory. Load and Store
  // require that they are.
  bool Reaches(const Instruction& in, const DeviceMemory& memory) const;
  void Load(const Instruction& in, const DeviceMemory& memory);
  void Store(const Instruction& in, DeviceMemory& memory) const;
  // Executes a GEMM or ALU instruction that has steps and whose indices are inside the buffers.
  void Compute(const Instruction& in);
  std::span<const Uop> UopsOf(const Instruction& in) const {
    return std::span<const Uop>(uops_).subspan(in.uop_begin, in.uop_end - in.uop_begin);
  }

 private:
  // Write `count` elements of a buffer from `element` on: from the bytes of a memory row, or zeros.
  void PutRow(Memory memory, size_t element, size_t count, const uint8_t* bytes);
  void PutZeros(Memory memory, size_t element, size_t count);
  void LoadUops(const Instruction& in);
  void PutWeights(size_t element, size_t count, const uint8_t* bytes);
  void Reset(const Instruction& in);
  template <AluOp kOp>
  void RunAlu(const Instruction& in);

  const Config config_;
  const CycleDecoder decoder_;
  const UopsInMemory* const source_ = nullptr;                         // null: all data are held
  const size_t input_numbers_, weight_numbers_, accumulator_numbers_;  // numbers per element
  std::vector<Uop> uops_;
  std::vector<int16_t> inputs_;
  std::vector<int16_t> weights_;  // [element][block_in][block_out]
  // The output buffer holds the low bits of these numbers, because every write goes to both.
  std::vector<int32_t> accumulators_;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_SIMULATE_CYCLE_CYCLE_DATA_H_
