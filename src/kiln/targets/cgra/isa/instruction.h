// The words that configure a tile and the dispatch: entries of the instruction RAM, of the spoke
// RAM and of the delivery table. docs/cgra-machine.md says what they mean and where their bits are.
#ifndef KILN_TARGETS_CGRA_ISA_INSTRUCTION_H_
#define KILN_TARGETS_CGRA_ISA_INSTRUCTION_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/config/config.h"

namespace kiln::cgra {

// m = f(in1, in2)
enum class MultiplyOp : uint8_t {
  kPass,
  kMultiply,
  kShiftLeft,
  kShiftRight,
  kShiftArithmetic,
  kFloatMultiply
};
inline constexpr int kMultiplyOps = 6;

// result = g(m, in3). kReverseSubtract is in3 - m, kGreater in3 < m, kGate m where in3 is not 0.
enum class LogicOp : uint8_t {
  kPass,
  kAdd,
  kSubtract,
  kReverseSubtract,
  kAnd,
  kOr,
  kXor,
  kLeast,
  kGreatest,
  kLess,
  kGreater,
  kEqual,
  kSelect,
  kFloatAdd,
  kFloatSubtract,
  kFloatReverseSubtract,
  kGate
};
inline constexpr int kLogicOps = 17;

enum class OperandKind : uint8_t { kNone, kMessage, kMemory0, kMemory1, kLiteral };
inline constexpr int kOperandKinds = 5;

// Where an operand comes from. `line` and `delay` matter for messages alone and are otherwise 0.
struct Operand {
  OperandKind kind = OperandKind::kNone;
  int line = 0;   // LineOf
  int delay = 0;  // fabric cycles since the message arrived
  friend bool operator==(const Operand&, const Operand&) = default;
};

// Where the instruction reads a tile memory: at `base`, plus the thread's number modulo
// Config::ring_entries if `ring` is set.
struct MemoryAddress {
  int base = 0;
  bool ring = false;
  friend bool operator==(const MemoryAddress&, const MemoryAddress&) = default;
};

// An entry of the instruction RAM.
struct InstructionEntry {
  MultiplyOp multiply = MultiplyOp::kPass;
  LogicOp logic = LogicOp::kPass;
  bool gated = false;                        // the result is 0 in lanes where in2 is 0
  std::array<Operand, 3> in = {};            // in1, in2, in3
  std::array<MemoryAddress, 2> memory = {};  // of memory 0 and memory 1
  int32_t literal = 0;
  friend bool operator==(const InstructionEntry&, const InstructionEntry&) = default;
};

// An entry of the spoke RAM: what a tile does in one slot.
struct SpokeEntry {
  bool valid = false;
  int instruction = 0;  // index into the instruction RAM
  bool base = false;    // the master is `base`; else the message at master_line, master_delay
  int master_line = 0, master_delay = 0;
  uint32_t links = 0;  // bit i: the result drives the link to the tile at OffsetOf(i)
  int output = -1;     // the output that gets the result, or -1
  friend bool operator==(const SpokeEntry&, const SpokeEntry&) = default;
};

// An entry of the delivery table: where the dispatch writes a beat of a thread's data.
struct Delivery {
  int tile = 0;
  int memory = 0;          // 0 or 1
  int base = 0;            // address; the thread's number modulo Config::ring_entries is added
  bool same_beat = false;  // takes the beat of the delivery before it instead of a new one
  friend bool operator==(const Delivery&, const Delivery&) = default;
};

// Lines of messages into a tile: links from the tiles at the offsets -reach to -1 and 1 to reach,
// then the tile's own results (offset 0). A link that leaves a tile has the number of its offset in
// the same order. With reach 2: lines 0 to 3 have the offsets -2, -1, 1 and 2, and line 4 is the
// tile's own.
inline int LinesOf(const Config& config) { return 2 * config.reach + 1; }
inline int LinksOf(const Config& config) { return 2 * config.reach; }
inline int OffsetOf(const Config& config, int line) {
  if (line == 2 * config.reach) return 0;
  return line < config.reach ? line - config.reach : line - config.reach + 1;
}
inline int LineOf(const Config& config, int offset) {
  if (offset == 0) return 2 * config.reach;
  return offset < 0 ? offset + config.reach : offset + config.reach - 1;
}

// A word of the instruction RAM: bits 63:0 and 127:64.
using InstructionWord = std::array<uint64_t, 2>;

// Encoding keeps the low bits of fields that do not fit; the checks below find those.
InstructionWord Encode(const InstructionEntry& entry);
uint32_t Encode(const SpokeEntry& entry);
uint32_t Encode(const Delivery& delivery);
// Decoding ignores bits without a field. Fields may be out of range: see the checks.
InstructionEntry DecodeInstruction(const InstructionWord& word);
SpokeEntry DecodeSpoke(uint32_t word);
Delivery DecodeDelivery(uint32_t word);

// Check that a machine of this design point has what the entry names. Errors name `place`, the
// field and its range.
Status Check(const InstructionEntry& entry, const Config& config, std::string_view place);
Status Check(const SpokeEntry& entry, const Config& config, std::string_view place);
Status Check(const Delivery& delivery, const Config& config, std::string_view place);

// The text forms. An operand is "none", "memory0", "memory1", "literal" or "lineL@D"; parts that
// are 0 are left out:
//   instruction  mul.add in1=line1@0 in2=memory0 in3=literal memory0=16+thread literal=-3 gated
//   spoke        instruction=2 master=base links=0,3 output=1     (without an instruction: idle)
//   delivery     tile=3 memory=1 base=64 same
std::string Print(const InstructionEntry& entry);
std::string Print(const SpokeEntry& entry);
std::string Print(const Delivery& delivery);
// Errors name the word that is wrong.
StatusOr<InstructionEntry> ParseInstruction(std::string_view text);
StatusOr<SpokeEntry> ParseSpoke(std::string_view text);
StatusOr<Delivery> ParseDelivery(std::string_view text);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_ISA_INSTRUCTION_H_
