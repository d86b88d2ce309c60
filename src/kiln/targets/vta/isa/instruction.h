// VTA's instructions and micro-ops as plain fields. isa.h encodes and decodes them; the cycle level
// has its own decoder (cycle_decode.h).
#ifndef KILN_TARGETS_VTA_ISA_INSTRUCTION_H_
#define KILN_TARGETS_VTA_ISA_INSTRUCTION_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace kiln::vta {

inline constexpr int kInstructionBytes = 16;

// The numbers of the following enums are those of the encoding. Opcodes 5 to 7, memories 6 and 7
// and ALU operations 5 to 7 are reserved.
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

// The three stages, which run in parallel. Tokens pass between neighbours in this order.
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

// The fields of all kinds of instructions. Fields that a kind does not have keep their defaults.
struct Instruction {
  Opcode opcode = Opcode::kFinish;
  // Whether the instruction waits for a token from the previous or next stage, and whether it gives
  // them one when it is done.
  bool pop_previous = false, pop_next = false, push_previous = false, push_next = false;

  // Loads and stores move y_size rows of x_size elements. Rows are x_stride elements apart in
  // memory and contiguous on chip, with rows and elements of zeros as padding around them. An
  // instruction with x_size 0 only handles its tokens.
  Memory memory = Memory::kUop;
  uint32_t sram_base = 0;  // in elements
  uint32_t dram_base = 0;  // in elements of this memory
  uint32_t y_size = 0, x_size = 0, x_stride = 0;
  uint32_t y_pad_before = 0, y_pad_after = 0, x_pad_before = 0, x_pad_after = 0;

  // GEMM and ALU instructions run the micro-ops [uop_begin, uop_end) inside two loops with `outer`
  // and `inner` iterations. An index grows by its *_outer and *_inner factor per iteration.
  bool reset = false;
  uint32_t uop_begin = 0, uop_end = 0;
  uint32_t outer = 0, inner = 0;
  uint32_t dst_outer = 0, dst_inner = 0;
  uint32_t src_outer = 0, src_inner = 0;
  uint32_t weight_outer = 0, weight_inner = 0;  // GEMM only
  AluOp alu = AluOp::kMin;
  bool use_immediate = false;
  int32_t immediate = 0;  // 16 bits, signed

  bool operator==(const Instruction&) const = default;
};

// A micro-op: the indices of the elements of a step, before loop increments are added.
struct Uop {
  uint32_t dst = 0;     // accumulator
  uint32_t src = 0;     // GEMM: input; ALU: accumulator
  uint32_t weight = 0;  // GEMM only
  bool operator==(const Uop&) const = default;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_ISA_INSTRUCTION_H_
