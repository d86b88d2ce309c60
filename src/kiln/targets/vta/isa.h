// VTA's instructions and micro-ops, hardware version 0.0.2: their places in the 128 bits, what follows from their
// fields, text.
//
// An instruction is 16 bytes, little-endian: bit n is bit n % 8 of byte n / 8. Loads and stores look the same in every
// design point. In GEMM and ALU instructions the widths of fields follow from the buffers' sizes; fields stand one
// behind the other, but none crosses bit 64.
#ifndef KILN_TARGETS_VTA_ISA_H_
#define KILN_TARGETS_VTA_ISA_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/vta/config.h"
#include "kiln/targets/vta/instruction.h"

namespace kiln::vta {

// Bytes of one element in outer memory. kAccumulator8: a byte a number.
int64_t ElementBytes(Memory memory, const Config& config);
// Elements of the buffer on chip; 0 for a reserved number.
int64_t ElementsOf(Memory memory, const Config& config);

// Whether the instruction only handles tokens: a load or store of nothing.
inline bool IsNop(const Instruction& in) {
  return (in.opcode == Opcode::kLoad || in.opcode == Opcode::kStore) && in.x_size == 0;
}
// A no-op of a stage as the original's runtime encodes it, without tokens.
Instruction NopOf(Stage stage);
// The stage whose queue it goes to. Reserved opcodes go where FINISH goes.
Stage StageOf(const Instruction& instruction);
// Whether it is a load or store that is more than its tokens; whether it is of the GEMM unit or the ALU.
inline bool Moves(const Instruction& in) {
  return (in.opcode == Opcode::kLoad || in.opcode == Opcode::kStore) && !IsNop(in);
}
inline bool Computes(const Instruction& in) {
  return in.opcode == Opcode::kGemm || in.opcode == Opcode::kAlu;
}

// Elements on chip that a load or store reaches, padding included.
inline uint64_t RectangleOf(const Instruction& in) {
  return (uint64_t{in.x_pad_before} + in.x_size + in.x_pad_after) *
         (uint64_t{in.y_pad_before} + in.y_size + in.y_pad_after);
}
// Byte address in outer memory of the first element of row `row` of a load or store; addresses are 32 bits wide.
uint64_t RowAddress(const Instruction& in, uint32_t row, const Config& config);
// Bytes of such a row.
uint64_t RowBytes(const Instruction& in, const Config& config);

// Micro-op executions of a GEMM or ALU instruction.
inline uint64_t StepsOf(const Instruction& in) {
  return in.uop_end <= in.uop_begin ? 0
                                    : uint64_t{in.outer} * in.inner * (in.uop_end - in.uop_begin);
}

// Whether it is a GEMM or ALU instruction with any.
inline bool HasSteps(const Instruction& in) { return Computes(in) && StepsOf(in) > 0; }

// What an instruction counts against a limit of steps: micro-op executions, elements moved, and one for any other.
uint64_t CostOf(const Instruction& instruction);

// The encoding of a design point.
class Encoding {
 public:
  using Bytes = std::array<uint8_t, kInstructionBytes>;

  explicit Encoding(const Config& config);

  // The instruction must fit (FindMisfit). Bits that no field has are zero, and are not looked at in decoding.
  Bytes Encode(const Instruction& instruction) const;
  Instruction Decode(std::span<const uint8_t, kInstructionBytes> bytes) const;

  uint32_t EncodeUop(const Uop& uop) const;
  Uop DecodeUop(uint32_t word) const;

  // "x_size is 70000; at most 65535" for the first field whose value has no place in its bits.
  std::optional<std::string> FindMisfit(const Instruction& instruction) const;

  // What the configuration check asks: the bit behind the last field of GEMM and ALU instructions (at most 128) and
  // the bits of a micro-op (at most 32).
  static int BitsOfCompute(const Config& config, Opcode opcode);
  static int BitsOfUop(const Config& config);

 private:
  struct Place {
    int first = 0, bits = 0;
  };
  static std::vector<Place> PlacesOf(const Config& config, Opcode opcode);
  const std::vector<Place>& Places(Opcode opcode) const;

  std::vector<Place> memory_, gemm_, alu_;
  int dst_bits_, src_bits_, weight_bits_;
};

// One line of text and back. The first column has the tokens: p pop_previous, n pop_next, P push_previous, N push_next.
//   p-P- GEMM uop[36,68) loop 3x3 dst(0,0) src(10,1) wgt(3,1)
//   ---- GEMM reset uop[0,1) loop 4x8 dst(8,1) src(0,0) wgt(0,0)
//   ---- ALU shr imm=7 uop[0,1) loop 4x8 dst(8,1) src(8,1)
//   ---N LOAD inp sram=0 dram=257 y=5 x=8 stride=8 pad(y0,y1,x0,x1)=1,0,1,1
//   pn-- NOP stage=compute
//   ---- FINISH
// Numbers are decimal, or hexadecimal behind 0x but for the outer count of a loop.
// Words that no such line stands for (reserved numbers, what a no-op does not look at) are "raw" and 32 hex digits in
// the order of memory.
std::string Disassemble(std::span<const uint8_t, kInstructionBytes> bytes,
                        const Encoding& encoding);
StatusOr<Encoding::Bytes> AssembleLine(std::string_view line, const Encoding& encoding);
// A program, one instruction a line; blank lines and what follows a # are left out. Errors name source and line.
// `lines`, if not null: where each instruction stands, from 1.
StatusOr<std::vector<uint8_t>> Assemble(std::string_view text, std::string_view source,
                                        const Encoding& encoding,
                                        std::vector<size_t>* lines = nullptr);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_ISA_H_
