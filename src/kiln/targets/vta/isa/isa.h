// The encoding of VTA's instructions and micro-ops (hardware version 0.0.2), properties that follow
// from their fields, and their text form.
//
// An instruction is 16 bytes, little-endian: bit n is bit n % 8 of byte n / 8. Loads and stores
// have the same format in every design point. In GEMM and ALU instructions the field widths follow
// from the buffer sizes; fields are contiguous, except that a field that would cross bit 64 begins
// there.
#ifndef KILN_TARGETS_VTA_ISA_ISA_H_
#define KILN_TARGETS_VTA_ISA_ISA_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/vta/config/config.h"
#include "kiln/targets/vta/isa/instruction.h"

namespace kiln::vta {

// Returns the bytes of one element in external memory. Elements of kAccumulator8 have one byte per
// number.
int64_t ElementBytes(Memory memory, const Config& config);
// Returns the number of elements of the buffer on chip, 0 for a reserved memory number.
int64_t ElementsOf(Memory memory, const Config& config);

// Returns whether the instruction only handles tokens: a load or store with x_size 0.
inline bool IsNop(const Instruction& in) {
  return (in.opcode == Opcode::kLoad || in.opcode == Opcode::kStore) && in.x_size == 0;
}
// Returns a no-op of a stage as the original's runtime encodes it, without tokens.
Instruction NopOf(Stage stage);
// Returns the stage that executes the instruction. Reserved opcodes belong to the compute stage, as
// FINISH does.
Stage StageOf(const Instruction& instruction);
// Return whether the instruction is a load or store that is not a no-op, or whether it is a GEMM or
// ALU instruction.
inline bool Moves(const Instruction& in) {
  return (in.opcode == Opcode::kLoad || in.opcode == Opcode::kStore) && !IsNop(in);
}
inline bool Computes(const Instruction& in) {
  return in.opcode == Opcode::kGemm || in.opcode == Opcode::kAlu;
}

// Returns the number of elements on chip that a load or store accesses, padding included.
inline uint64_t RectangleOf(const Instruction& in) {
  return (uint64_t{in.x_pad_before} + in.x_size + in.x_pad_after) *
         (uint64_t{in.y_pad_before} + in.y_size + in.y_pad_after);
}
// Returns the byte address in external memory of the first element of row `row` of a load or store.
// Addresses have 32 bits and wrap.
uint64_t RowAddress(const Instruction& in, uint32_t row, const Config& config);
// Returns the bytes of one row of a load or store, padding not included.
uint64_t RowBytes(const Instruction& in, const Config& config);

// Returns the number of steps, or micro-op executions, of a GEMM or ALU instruction.
inline uint64_t StepsOf(const Instruction& in) {
  return in.uop_end <= in.uop_begin ? 0
                                    : uint64_t{in.outer} * in.inner * (in.uop_end - in.uop_begin);
}

// Returns whether the instruction is a GEMM or ALU instruction with at least one step.
inline bool HasSteps(const Instruction& in) { return Computes(in) && StepsOf(in) > 0; }

// Returns what an instruction counts against a limit of steps: its steps or the elements that it
// moves, and at least 1.
uint64_t CostOf(const Instruction& instruction);

// The encoding of a design point's instructions and micro-ops.
class Encoding {
 public:
  using Bytes = std::array<uint8_t, kInstructionBytes>;

  explicit Encoding(const Config& config);

  // Encodes an instruction, all of whose values must fit (FindMisfit). Bits outside of all fields
  // are written as zero and ignored when decoding.
  Bytes Encode(const Instruction& instruction) const;
  Instruction Decode(std::span<const uint8_t, kInstructionBytes> bytes) const;

  uint32_t EncodeUop(const Uop& uop) const;
  Uop DecodeUop(uint32_t word) const;

  // Returns a message about the first field whose value does not fit, for example "x_size is 70000;
  // 0 to 65535", or nullopt if all fit.
  std::optional<std::string> FindMisfit(const Instruction& instruction) const;

 private:
  struct Place {
    int first = 0, bits = 0;
  };
  static std::vector<Place> PlacesOf(const Config& config, Opcode opcode);
  const std::vector<Place>& Places(Opcode opcode) const;

  std::vector<Place> memory_, gemm_, alu_;
  int dst_bits_, src_bits_, weight_bits_;
};

// Convert an instruction to one line of text and back. The first column names the tokens: p
// pop_previous, n pop_next, P push_previous, N push_next.
//   p-P- GEMM uop[36,68) loop 3x3 dst(0,0) src(10,1) wgt(3,1)
//   ---- GEMM reset uop[0,1) loop 4x8 dst(8,1) src(0,0) wgt(0,0)
//   ---- ALU shr imm=7 uop[0,1) loop 4x8 dst(8,1) src(8,1)
//   ---N LOAD inp sram=0 dram=257 y=5 x=8 stride=8 pad(y0,y1,x0,x1)=1,0,1,1
//   pn-- NOP stage=compute
//   ---- FINISH
// Numbers are decimal, or hexadecimal with a prefix 0x, except for the outer count of a loop, which
// is decimal. Instructions that no such line describes (reserved numbers, unused fields that are
// not zero) are written as "raw" and 32 hex digits in memory order.
std::string Disassemble(std::span<const uint8_t, kInstructionBytes> bytes,
                        const Encoding& encoding);
StatusOr<Encoding::Bytes> AssembleLine(std::string_view line, const Encoding& encoding);
// Assembles a program with one instruction per line. Ignores blank lines and comments that begin
// with #. Errors name source and line. If `lines` is not null, it receives the line number of each
// instruction, counted from 1.
StatusOr<std::vector<uint8_t>> Assemble(std::string_view text, std::string_view source,
                                        const Encoding& encoding,
                                        std::vector<size_t>* lines = nullptr);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_ISA_ISA_H_
