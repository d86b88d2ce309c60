// Encodes, checks, prints and parses the words of a configuration.

#include "kiln/targets/cgra/isa/instruction.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "fmt/format.h"
#include "kiln/support/excerpt.h"

namespace kiln::cgra {
namespace {

constexpr std::array<std::string_view, kMultiplyOps> kMultiplyNames = {"pass", "mul", "shl",
                                                                       "shr",  "sra", "fmul"};
constexpr std::array<std::string_view, kLogicOps> kLogicNames = {
    "pass", "add", "sub", "rsub",   "and",  "or",   "xor",   "min", "max",
    "lt",   "gt",  "eq",  "select", "fadd", "fsub", "frsub", "gate"};

// The position of a field in a word of 128 bits. No field crosses bit 64 but memory 0's address.
struct Field {
  int low = 0, bits = 0;
};

uint64_t Mask(int bits) { return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

void Put(InstructionWord* word, Field field, int64_t value) {
  for (int i = 0; i < field.bits; ++i) {
    const int bit = field.low + i;
    const uint64_t one = (static_cast<uint64_t>(value) >> i) & 1;
    (*word)[static_cast<size_t>(bit / 64)] |= one << (bit % 64);
  }
}

uint64_t Get(const InstructionWord& word, Field field) {
  uint64_t value = word[static_cast<size_t>(field.low / 64)] >> (field.low % 64);
  if (field.low / 64 == 0 && field.low + field.bits > 64) value |= word[1] << (64 - field.low);
  return value & Mask(field.bits);
}

// Fields of the instruction word.
constexpr Field kMultiply{0, 3}, kLogic{3, 5}, kGated{8, 1}, kLiteral{96, 32};
constexpr std::array<int, 3> kOperandLow = {10, 24, 38};
constexpr std::array<int, 2> kMemoryLow = {52, 65};
constexpr int kKindBits = 3, kLineBits = 4, kDelayBits = 7, kAddressBits = 12;

uint32_t Bits(uint32_t word, int low, int bits) { return (word >> low) & ((1U << bits) - 1); }
uint32_t Placed(int value, int low, int bits) {
  return (static_cast<uint32_t>(value) & ((1U << bits) - 1)) << low;
}

Status CheckRange(std::string_view place, std::string_view what, int64_t value, int64_t low,
                  int64_t high) {
  if (value >= low && value <= high) return OkStatus();
  return ErrorAt("", place, fmt::format("{} is {}", what, value),
                 low == high ? fmt::format("{}", low) : fmt::format("{} to {}", low, high));
}

Status CheckMessage(std::string_view place, std::string_view what, int line, int delay,
                    const Config& config) {
  KILN_RETURN_IF_ERROR(
      CheckRange(place, fmt::format("the line of {}", what), line, 0, LinesOf(config) - 1));
  return CheckRange(place, fmt::format("the delay of {}", what), delay, 0, config.wait_limit);
}

std::string PrintOperand(const Operand& operand) {
  switch (operand.kind) {
    case OperandKind::kNone:
      return "none";
    case OperandKind::kMessage:
      return fmt::format("line{}@{}", operand.line, operand.delay);
    case OperandKind::kMemory0:
      return "memory0";
    case OperandKind::kMemory1:
      return "memory1";
    case OperandKind::kLiteral:
      return "literal";
  }
  return "none";
}

// Reads "name=value" words in any order; every word must be taken.
class WordReader {
 public:
  explicit WordReader(std::string_view text)
      : words_(absl::StrSplit(std::string(text), ' ', absl::SkipEmpty())) {}

  bool empty() const { return words_.empty(); }
  // Returns the first word and removes it.
  std::string First() {
    std::string first = words_.front();
    words_.erase(words_.begin());
    return first;
  }
  // Returns whether the word is there, and removes it.
  bool Flag(std::string_view name) {
    const auto at = std::ranges::find(words_, name);
    if (at == words_.end()) return false;
    words_.erase(at);
    return true;
  }
  // Returns the value of a word "name=value", or nothing, and removes the word.
  std::optional<std::string> Value(std::string_view name) {
    const std::string begin = std::string(name) + "=";
    const auto at = std::ranges::find_if(
        words_, [&](const std::string& word) { return word.starts_with(begin); });
    if (at == words_.end()) return std::nullopt;
    std::string value = at->substr(begin.size());
    words_.erase(at);
    return value;
  }
  Status Number(std::string_view name, int32_t* number) {
    const std::optional<std::string> value = Value(name);
    if (!value) return OkStatus();
    if (!absl::SimpleAtoi(*value, number)) return Wrong(name, *value, "an integer");
    return OkStatus();
  }
  Status Finish() const {
    if (words_.empty()) return OkStatus();
    return ErrorAt("", "",
                   fmt::format("the word {} has no meaning here", QuotedExcerpt(words_.front())),
                   "each part once, as Print writes it");
  }
  static Status Wrong(std::string_view name, std::string_view value, std::string_view remedy) {
    return ErrorAt("", "", fmt::format("{} is {}", name, QuotedExcerpt(value)), remedy);
  }

 private:
  std::vector<std::string> words_;
};

// Reads "lineL@D".
bool ParseMessage(std::string_view text, int* line, int* delay) {
  const std::vector<std::string> parts = absl::StrSplit(std::string(text), '@');
  return parts.size() == 2 && parts[0].starts_with("line") &&
         absl::SimpleAtoi(parts[0].substr(4), line) && absl::SimpleAtoi(parts[1], delay);
}

StatusOr<Operand> ParseOperand(std::string_view name, std::string_view text) {
  Operand operand;
  if (text == "memory0") {
    operand.kind = OperandKind::kMemory0;
  } else if (text == "memory1") {
    operand.kind = OperandKind::kMemory1;
  } else if (text == "literal") {
    operand.kind = OperandKind::kLiteral;
  } else if (ParseMessage(text, &operand.line, &operand.delay)) {
    operand.kind = OperandKind::kMessage;
  } else if (text != "none") {
    return WordReader::Wrong(name, text, "none, memory0, memory1, literal or lineL@D");
  }
  return operand;
}

template <size_t kCount>
std::optional<size_t> IndexOf(const std::array<std::string_view, kCount>& names,
                              std::string_view name) {
  const auto at = std::ranges::find(names, name);
  if (at == names.end()) return std::nullopt;
  return static_cast<size_t>(at - names.begin());
}

template <size_t kCount>
std::string_view NameAt(const std::array<std::string_view, kCount>& names, size_t index) {
  return index < kCount ? names[index] : "unknown";
}

}  // namespace

InstructionWord Encode(const InstructionEntry& entry) {
  InstructionWord word = {0, 0};
  Put(&word, kMultiply, static_cast<int>(entry.multiply));
  Put(&word, kLogic, static_cast<int>(entry.logic));
  Put(&word, kGated, entry.gated);
  for (size_t i = 0; i < 3; ++i) {
    const int low = kOperandLow[i];
    Put(&word, {low, kKindBits}, static_cast<int>(entry.in[i].kind));
    Put(&word, {low + kKindBits, kLineBits}, entry.in[i].line);
    Put(&word, {low + kKindBits + kLineBits, kDelayBits}, entry.in[i].delay);
  }
  for (size_t i = 0; i < 2; ++i) {
    Put(&word, {kMemoryLow[i], kAddressBits}, entry.memory[i].base);
    Put(&word, {kMemoryLow[i] + kAddressBits, 1}, entry.memory[i].ring);
  }
  Put(&word, kLiteral, entry.literal);
  return word;
}

InstructionEntry DecodeInstruction(const InstructionWord& word) {
  InstructionEntry entry;
  entry.multiply = static_cast<MultiplyOp>(Get(word, kMultiply));
  entry.logic = static_cast<LogicOp>(Get(word, kLogic));
  entry.gated = Get(word, kGated) != 0;
  const auto field = [&](int low, int bits) { return static_cast<int>(Get(word, {low, bits})); };
  for (size_t i = 0; i < 3; ++i) {
    const int low = kOperandLow[i];
    entry.in[i].kind = static_cast<OperandKind>(field(low, kKindBits));
    entry.in[i].line = field(low + kKindBits, kLineBits);
    entry.in[i].delay = field(low + kKindBits + kLineBits, kDelayBits);
  }
  for (size_t i = 0; i < 2; ++i) {
    entry.memory[i].base = field(kMemoryLow[i], kAddressBits);
    entry.memory[i].ring = field(kMemoryLow[i] + kAddressBits, 1) != 0;
  }
  entry.literal = static_cast<int32_t>(static_cast<uint32_t>(Get(word, kLiteral)));
  return entry;
}

uint32_t Encode(const SpokeEntry& entry) {
  return Placed(entry.valid, 0, 1) | Placed(entry.instruction, 1, 6) | Placed(entry.base, 7, 1) |
         Placed(entry.master_line, 8, 4) | Placed(entry.master_delay, 12, 7) |
         Placed(static_cast<int>(entry.links), 19, 8) | Placed(entry.output >= 0, 27, 1) |
         Placed(entry.output >= 0 ? entry.output : 0, 28, 3);
}

SpokeEntry DecodeSpoke(uint32_t word) {
  SpokeEntry entry;
  entry.valid = Bits(word, 0, 1) != 0;
  entry.instruction = static_cast<int>(Bits(word, 1, 6));
  entry.base = Bits(word, 7, 1) != 0;
  entry.master_line = static_cast<int>(Bits(word, 8, 4));
  entry.master_delay = static_cast<int>(Bits(word, 12, 7));
  entry.links = Bits(word, 19, 8);
  entry.output = Bits(word, 27, 1) != 0 ? static_cast<int>(Bits(word, 28, 3)) : -1;
  return entry;
}

uint32_t Encode(const Delivery& delivery) {
  return Placed(delivery.tile, 0, 8) | Placed(delivery.base, 8, 12) |
         Placed(delivery.memory, 20, 1) | Placed(delivery.same_beat, 21, 1);
}

Delivery DecodeDelivery(uint32_t word) {
  return {.tile = static_cast<int>(Bits(word, 0, 8)),
          .memory = static_cast<int>(Bits(word, 20, 1)),
          .base = static_cast<int>(Bits(word, 8, 12)),
          .same_beat = Bits(word, 21, 1) != 0};
}

Status Check(const InstructionEntry& entry, const Config& config, std::string_view place) {
  KILN_RETURN_IF_ERROR(CheckRange(place, "the multiply/shift operation",
                                  static_cast<int>(entry.multiply), 0, kMultiplyOps - 1));
  KILN_RETURN_IF_ERROR(CheckRange(place, "the arithmetic/logic operation",
                                  static_cast<int>(entry.logic), 0, kLogicOps - 1));
  const bool is_float =
      entry.multiply == MultiplyOp::kFloatMultiply || entry.logic == LogicOp::kFloatAdd ||
      entry.logic == LogicOp::kFloatSubtract || entry.logic == LogicOp::kFloatReverseSubtract;
  if (is_float && !config.floats) {
    return ErrorAt("", place, "it computes in binary32, which the machine's lanes do not",
                   "'floats: true' in the design point");
  }
  for (size_t i = 0; i < 3; ++i) {
    const std::string name = fmt::format("in{}", i + 1);
    KILN_RETURN_IF_ERROR(CheckRange(place, fmt::format("the kind of {}", name),
                                    static_cast<int>(entry.in[i].kind), 0, kOperandKinds - 1));
    if (entry.in[i].kind != OperandKind::kMessage) continue;
    KILN_RETURN_IF_ERROR(CheckMessage(place, name, entry.in[i].line, entry.in[i].delay, config));
  }
  for (size_t i = 0; i < 2; ++i) {
    const int most = config.memory_depth - (entry.memory[i].ring ? config.ring_entries : 1);
    KILN_RETURN_IF_ERROR(CheckRange(place, fmt::format("the address of memory {}", i),
                                    entry.memory[i].base, 0, most));
  }
  return OkStatus();
}

Status Check(const SpokeEntry& entry, const Config& config, std::string_view place) {
  if (!entry.valid) return OkStatus();
  KILN_RETURN_IF_ERROR(
      CheckRange(place, "the instruction", entry.instruction, 0, config.instruction_depth - 1));
  if (!entry.base) {
    KILN_RETURN_IF_ERROR(
        CheckMessage(place, "the master", entry.master_line, entry.master_delay, config));
  }
  KILN_RETURN_IF_ERROR(
      CheckRange(place, "the set of links", entry.links, 0, (int64_t{1} << LinksOf(config)) - 1));
  return CheckRange(place, "the output", entry.output, -1, config.outputs - 1);
}

Status Check(const Delivery& delivery, const Config& config, std::string_view place) {
  KILN_RETURN_IF_ERROR(CheckRange(place, "the tile", delivery.tile, 0, config.tiles() - 1));
  KILN_RETURN_IF_ERROR(CheckRange(place, "the memory", delivery.memory, 0, 1));
  return CheckRange(place, "the base address", delivery.base, 0,
                    config.memory_depth - config.ring_entries);
}

std::string Print(const InstructionEntry& entry) {
  std::string text =
      fmt::format("{}.{}", NameAt(kMultiplyNames, static_cast<size_t>(entry.multiply)),
                  NameAt(kLogicNames, static_cast<size_t>(entry.logic)));
  for (size_t i = 0; i < 3; ++i) {
    if (entry.in[i].kind == OperandKind::kNone) continue;
    text += fmt::format(" in{}={}", i + 1, PrintOperand(entry.in[i]));
  }
  for (size_t i = 0; i < 2; ++i) {
    if (entry.memory[i] == MemoryAddress{}) continue;
    text += fmt::format(" memory{}={}{}", i, entry.memory[i].base,
                        entry.memory[i].ring ? "+thread" : "");
  }
  if (entry.literal != 0) text += fmt::format(" literal={}", entry.literal);
  if (entry.gated) text += " gated";
  return text;
}

std::string Print(const SpokeEntry& entry) {
  if (!entry.valid) return "idle";
  std::string text =
      fmt::format("instruction={} master={}", entry.instruction,
                  entry.base ? std::string("base")
                             : fmt::format("line{}@{}", entry.master_line, entry.master_delay));
  std::vector<std::string> links;
  for (int i = 0; i < 32; ++i) {
    if ((entry.links >> i & 1) != 0) links.push_back(fmt::format("{}", i));
  }
  if (!links.empty()) text += " links=" + absl::StrJoin(links, ",");
  if (entry.output >= 0) text += fmt::format(" output={}", entry.output);
  return text;
}

std::string Print(const Delivery& delivery) {
  return fmt::format("tile={} memory={} base={}{}", delivery.tile, delivery.memory, delivery.base,
                     delivery.same_beat ? " same" : "");
}

StatusOr<InstructionEntry> ParseInstruction(std::string_view text) {
  WordReader words(text);
  if (words.empty()) return ErrorAt("", "", "the instruction is empty", "'mul.add in1=...'");
  const std::string first = words.First();
  const std::vector<std::string> names = absl::StrSplit(first, '.');
  const auto multiply = IndexOf(kMultiplyNames, names[0]);
  const auto logic = names.size() == 2 ? IndexOf(kLogicNames, names[1]) : std::nullopt;
  if (!multiply || !logic) {
    return WordReader::Wrong(
        "the operation", first,
        fmt::format("one of {}, a dot, and one of {}", fmt::join(kMultiplyNames, ", "),
                    fmt::join(kLogicNames, ", ")));
  }
  InstructionEntry entry;
  entry.multiply = static_cast<MultiplyOp>(*multiply);
  entry.logic = static_cast<LogicOp>(*logic);
  for (size_t i = 0; i < 3; ++i) {
    const std::string name = fmt::format("in{}", i + 1);
    const std::optional<std::string> value = words.Value(name);
    if (!value) continue;
    KILN_ASSIGN_OR_RETURN(entry.in[i], ParseOperand(name, *value));
  }
  for (size_t i = 0; i < 2; ++i) {
    const std::string name = fmt::format("memory{}", i);
    std::optional<std::string> value = words.Value(name);
    if (!value) continue;
    constexpr std::string_view kThread = "+thread";
    entry.memory[i].ring = value->ends_with(kThread);
    if (entry.memory[i].ring) value->resize(value->size() - kThread.size());
    if (!absl::SimpleAtoi(*value, &entry.memory[i].base)) {
      return WordReader::Wrong(name, *value, "an address");
    }
  }
  KILN_RETURN_IF_ERROR(words.Number("literal", &entry.literal));
  entry.gated = words.Flag("gated");
  KILN_RETURN_IF_ERROR(words.Finish());
  return entry;
}

StatusOr<SpokeEntry> ParseSpoke(std::string_view text) {
  WordReader words(text);
  SpokeEntry entry;
  if (words.Flag("idle")) {
    KILN_RETURN_IF_ERROR(words.Finish());
    return entry;
  }
  entry.valid = true;
  KILN_RETURN_IF_ERROR(words.Number("instruction", &entry.instruction));
  const std::string master = words.Value("master").value_or("");
  entry.base = master == "base";
  if (!entry.base && !ParseMessage(master, &entry.master_line, &entry.master_delay)) {
    return WordReader::Wrong("master", master, "base or lineL@D");
  }
  if (const std::optional<std::string> links = words.Value("links")) {
    for (const std::string& link : std::vector<std::string>(absl::StrSplit(*links, ','))) {
      int number = 0;
      if (!absl::SimpleAtoi(link, &number) || number < 0 || number > 7) {
        return WordReader::Wrong("links", *links, "numbers from 0 to 7 with commas");
      }
      entry.links |= 1U << number;
    }
  }
  KILN_RETURN_IF_ERROR(words.Number("output", &entry.output));
  KILN_RETURN_IF_ERROR(words.Finish());
  return entry;
}

StatusOr<Delivery> ParseDelivery(std::string_view text) {
  WordReader words(text);
  Delivery delivery;
  KILN_RETURN_IF_ERROR(words.Number("tile", &delivery.tile));
  KILN_RETURN_IF_ERROR(words.Number("memory", &delivery.memory));
  KILN_RETURN_IF_ERROR(words.Number("base", &delivery.base));
  delivery.same_beat = words.Flag("same");
  KILN_RETURN_IF_ERROR(words.Finish());
  return delivery;
}

}  // namespace kiln::cgra
