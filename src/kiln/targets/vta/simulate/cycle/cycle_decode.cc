// Decodes instructions and micro-ops for the cycle level, independently of isa/isa_encode.cc.

#include "kiln/targets/vta/simulate/cycle/cycle_decode.h"

#include <algorithm>

#include "fmt/format.h"

namespace kiln::vta {
namespace {

constexpr int kLoopBits = 14;

// The two 64-bit halves of an instruction. No field crosses from one into the other.
struct Halves {
  explicit Halves(const uint8_t* word) {
    for (int i = 7; i >= 0; --i) {
      low = low << 8 | word[i];
      high = high << 8 | word[i + 8];
    }
  }
  uint32_t Field(int place, int bits) const {
    const uint64_t half = place < 64 ? low >> place : high >> (place - 64);
    return static_cast<uint32_t>(half & ((uint64_t{1} << bits) - 1));
  }
  bool Bit(int place) const { return Field(place, 1) != 0; }

  uint64_t low = 0, high = 0;
};

// Reads consecutive fields from bit `place` on. A field that would cross bit 64 begins there.
class FieldsFrom {
 public:
  FieldsFrom(const Halves& halves, int place) : halves_(halves), place_(place) {}
  uint32_t Next(int bits) {
    if (place_ < 64 && place_ + bits > 64) place_ = 64;
    place_ += bits;
    return halves_.Field(place_ - bits, bits);
  }

 private:
  const Halves& halves_;
  int place_;
};

uint64_t Product(int a, int b, int c) {
  return static_cast<uint64_t>(a) * static_cast<uint64_t>(b) * static_cast<uint64_t>(c);
}

// Returns the number of elements of the buffer that a load writes or a store reads.
uint64_t BufferElements(Memory memory, const Config& config) {
  switch (memory) {
    case Memory::kUop:
      return uint64_t{1} << config.uop_index_bits();
    case Memory::kWeight:
      return uint64_t{1} << config.weight_index_bits();
    case Memory::kInput:
      return uint64_t{1} << config.input_index_bits();
    default:
      return uint64_t{1} << config.accumulator_index_bits();
  }
}

}  // namespace

CycleDecoder::CycleDecoder(const Config& config)
    : uop_bits_(config.uop_index_bits()),
      input_bits_(config.input_index_bits()),
      weight_bits_(config.weight_index_bits()),
      accumulator_bits_(config.accumulator_index_bits()) {}

Instruction CycleDecoder::Decode(const uint8_t* word) const {
  const Halves bits(word);
  Instruction in;
  in.opcode = static_cast<Opcode>(bits.Field(0, 3));
  in.pop_previous = bits.Bit(3);
  in.pop_next = bits.Bit(4);
  in.push_previous = bits.Bit(5);
  in.push_next = bits.Bit(6);
  if (in.opcode == Opcode::kLoad || in.opcode == Opcode::kStore) {
    in.memory = static_cast<Memory>(bits.Field(7, 3));
    in.sram_base = bits.Field(10, 16);
    in.dram_base = bits.Field(26, 32);
    in.y_size = bits.Field(64, 16);
    in.x_size = bits.Field(80, 16);
    in.x_stride = bits.Field(96, 16);
    in.y_pad_before = bits.Field(112, 4);
    in.y_pad_after = bits.Field(116, 4);
    in.x_pad_before = bits.Field(120, 4);
    in.x_pad_after = bits.Field(124, 4);
    return in;
  }
  const bool gemm = in.opcode == Opcode::kGemm;
  if (!gemm && in.opcode != Opcode::kAlu) return in;
  in.reset = bits.Bit(7);
  FieldsFrom fields(bits, 8);
  in.uop_begin = fields.Next(uop_bits_);
  in.uop_end = fields.Next(uop_bits_ + 1);
  in.outer = fields.Next(kLoopBits);
  in.inner = fields.Next(kLoopBits);
  in.dst_outer = fields.Next(accumulator_bits_);
  in.dst_inner = fields.Next(accumulator_bits_);
  const int source_bits = gemm ? input_bits_ : accumulator_bits_;
  in.src_outer = fields.Next(source_bits);
  in.src_inner = fields.Next(source_bits);
  if (gemm) {
    in.weight_outer = fields.Next(weight_bits_);
    in.weight_inner = fields.Next(weight_bits_);
    return in;
  }
  in.alu = static_cast<AluOp>(fields.Next(3));
  in.use_immediate = fields.Next(1) != 0;
  const auto immediate = static_cast<int32_t>(fields.Next(16));
  in.immediate = immediate >= 1 << 15 ? immediate - (1 << 16) : immediate;
  return in;
}

Uop CycleDecoder::DecodeUop(uint32_t word) const {
  const int source_bits = std::max(accumulator_bits_, input_bits_);
  const uint64_t bits = word;
  const uint64_t source = bits >> accumulator_bits_, weight = source >> source_bits;
  const auto low = [](uint64_t value, int count) {
    return static_cast<uint32_t>(value & ((uint64_t{1} << count) - 1));
  };
  return {low(bits, accumulator_bits_), low(source, source_bits), low(weight, weight_bits_)};
}

Stage QueueOf(const Instruction& in) {
  switch (in.opcode) {
    case Opcode::kStore:
      return Stage::kStore;
    case Opcode::kLoad:
      return in.memory == Memory::kWeight || in.memory == Memory::kInput ? Stage::kLoad
                                                                         : Stage::kCompute;
    default:
      return Stage::kCompute;
  }
}

uint64_t ElementsMoved(const Instruction& in) {
  if (in.x_size == 0) return 0;
  const uint64_t width = uint64_t{in.x_size} + in.x_pad_before + in.x_pad_after;
  const uint64_t height = uint64_t{in.y_size} + in.y_pad_before + in.y_pad_after;
  return width * height;
}

uint64_t StepCount(const Instruction& in) {
  if (in.opcode != Opcode::kGemm && in.opcode != Opcode::kAlu) return 0;
  const uint64_t uops = in.uop_end > in.uop_begin ? in.uop_end - in.uop_begin : 0;
  return uops * in.inner * in.outer;
}

uint64_t BytesOfElement(Memory memory, const Config& config) {
  switch (memory) {
    case Memory::kUop:
      return 4;
    case Memory::kWeight:
      return Product(config.block_out, config.block_in, config.weight_bits) / 8;
    case Memory::kInput:
      return Product(config.batch, config.block_in, config.input_bits) / 8;
    case Memory::kAccumulator:
      return Product(config.batch, config.block_out, config.accumulator_bits) / 8;
    case Memory::kAccumulator8:
      return Product(config.batch, config.block_out, 8) / 8;
    case Memory::kOutput:
      return Product(config.batch, config.block_out, config.input_bits) / 8;
  }
  return 0;
}

uint64_t AddressOfRow(const Instruction& in, uint32_t row, const Config& config) {
  const uint64_t element = uint64_t{in.dram_base} + uint64_t{in.x_stride} * row;
  return (element * BytesOfElement(in.memory, config)) & 0xffffffff;
}

uint64_t BytesOfRow(const Instruction& in, const Config& config) {
  return BytesOfElement(in.memory, config) * in.x_size;
}

std::optional<Fault> FaultOfWord(const Instruction& in, size_t index, const Config& config) {
  const auto is = [index](FaultKind kind, std::string message) {
    return Fault{.kind = kind, .instruction = index, .message = std::move(message)};
  };
  switch (in.opcode) {
    case Opcode::kLoad:
    case Opcode::kStore:
    case Opcode::kGemm:
    case Opcode::kFinish:
      break;
    case Opcode::kAlu:
      if (static_cast<int>(in.alu) < 5) break;
      return is(FaultKind::kBadOpcode,
                fmt::format("ALU operation {} is reserved", static_cast<int>(in.alu)));
    default:
      return is(FaultKind::kBadOpcode,
                fmt::format("opcode {} is reserved", static_cast<int>(in.opcode)));
  }
  const Stage stage = QueueOf(in);
  if (stage == Stage::kLoad && (in.pop_previous || in.push_previous)) {
    return is(FaultKind::kBadDependency, "there is no stage before load");
  }
  if (stage == Stage::kStore && (in.pop_next || in.push_next)) {
    return is(FaultKind::kBadDependency, "there is no stage behind store");
  }
  const bool load = in.opcode == Opcode::kLoad, store = in.opcode == Opcode::kStore;
  if ((!load && !store) || in.x_size == 0) return std::nullopt;

  const bool output = in.memory == Memory::kOutput, reserved = static_cast<int>(in.memory) > 5;
  if (reserved || output != store) {
    return is(FaultKind::kBadMemoryId,
              fmt::format("memory {} ({}) takes no {}", static_cast<int>(in.memory),
                          NameOf(in.memory), load ? "load" : "store"));
  }
  const bool padded = in.x_pad_before + in.x_pad_after + in.y_pad_before + in.y_pad_after > 0;
  if (store && padded) return is(FaultKind::kBadField, "a store has padding");
  const uint64_t past = in.sram_base + ElementsMoved(in),
                 elements = BufferElements(in.memory, config);
  if (past > elements) {
    return is(FaultKind::kSramRange, fmt::format("elements {} to {} of {} {}", in.sram_base,
                                                 past - 1, elements, NameOf(in.memory)));
  }
  return std::nullopt;
}

}  // namespace kiln::vta
