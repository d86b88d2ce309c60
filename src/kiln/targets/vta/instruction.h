// VTA's instructions and micro-ops as plain fields. How they are encoded is isa.h's; the cycle level decodes on its own
// (cycle_decode.h).
#ifndef KILN_TARGETS_VTA_INSTRUCTION_H_
#define KILN_TARGETS_VTA_INSTRUCTION_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace kiln::vta {

inline constexpr int kInstructionBytes = 16;

// Numbers are those of the encoding; opcodes 5 to 7, memories 6 and 7 and ALU operations 5 to 7 are reserved.
enum class Opcode : uint8_t { kLoad = 0, kStore = 1, kGemm = 2, kFinish = 3, kAlu = 4 };
enum class Memory : uint8_t {
  kUop = 0,
  kWeight = 1,
  kInput = 2,
  kAccumulator = 3,
  kOutput = 4,
  kAccumulator8 = 5
};
enum class AluOp : uint8_t { kMin = 0, kMax = 1, kAdd = 2, kShiftRight = 3, kMultiply = 4 };

// The three units that run at once, in the order in which tokens pass between neighbours.
enum class Stage : uint8_t { kLoad = 0, kCompute = 1, kStore = 2 };
inline constexpr int kStages = 3;

constexpr std::string_view NameOf(Stage stage) {
  constexpr std::string_view kNames[kStages] = {"load", "compute", "store"};
  return kNames[static_cast<size_t>(stage)];
}
constexpr std::string_view NameOf(Memory memory) {
  constexpr std::string_view kNames[] = {"uop", "wgt", "inp", "acc", "out", "acc8"};
  const auto at = static_cast<size_t>(memory);
  return at < std::size(kNames) ? kNames[at] : "reserved";
}

struct Instruction {
  Opcode opcode = Opcode::kFinish;
  // Waits for a token of the stage before or behind; gives one when done.
  bool pop_previous = false, pop_next = false, push_previous = false, push_next = false;

  // Loads and stores: y_size rows of x_size elements, x_stride elements apart in memory and without gaps on chip, with
  // rows and elements of zeros around them. x_size 0: does nothing but for its tokens.
  Memory memory = Memory::kUop;
  uint32_t sram_base = 0;  // elements
  uint32_t dram_base = 0;  // elements of the memory's own size
  uint32_t y_size = 0, x_size = 0, x_stride = 0;
  uint32_t y_pad_before = 0, y_pad_after = 0, x_pad_before = 0, x_pad_after = 0;

  // GEMM and ALU: the micro-ops [uop_begin, uop_end) in two loops around them; factors are steps of indices.
  bool reset = false;
  uint32_t uop_begin = 0, uop_end = 0;
  uint32_t outer = 0, inner = 0;
  uint32_t dst_outer = 0, dst_inner = 0;
  uint32_t src_outer = 0, src_inner = 0;
  uint32_t weight_outer = 0, weight_inner = 0;  // GEMM
  AluOp alu = AluOp::kMin;
  bool use_immediate = false;
  int32_t immediate = 0;  // 16 bits, signed

  bool operator==(const Instruction&) const = default;
};

struct Uop {
  uint32_t dst = 0;     // accumulator
  uint32_t src = 0;     // input; ALU: accumulator
  uint32_t weight = 0;  // GEMM
  bool operator==(const Uop&) const = default;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_INSTRUCTION_H_
