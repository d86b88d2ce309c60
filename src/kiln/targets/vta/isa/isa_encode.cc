// Encodes and decodes instructions and micro-ops with one table of fields per kind of instruction,
// and computes the properties that isa.h declares.

#include <algorithm>
#include <cstring>
#include <utility>

#include "fmt/format.h"
#include "kiln/support/check.h"
#include "kiln/targets/vta/config/derived.h"
#include "kiln/targets/vta/isa/isa.h"

namespace kiln::vta {
namespace {

// A field of an instruction: its name in messages, its width in a design point, and functions that
// read and write the member that holds it.
struct Field {
  const char* name;
  int (*bits)(const Config&);
  int64_t (*get)(const Instruction&);
  void (*set)(Instruction&, uint32_t);
  bool is_signed = false;
};

template <int kBits>
int Fixed(const Config&) {
  return kBits;
}
int UopIndexBits(const Config& c) { return c.uop_index_bits(); }
int UopEndBits(const Config& c) { return c.uop_index_bits() + 1; }  // may be one past the last
int DstBits(const Config& c) { return c.accumulator_index_bits(); }
int InputBits(const Config& c) { return c.input_index_bits(); }
int WeightBits(const Config& c) { return c.weight_index_bits(); }

#define KILN_VTA_FIELD(member, bits)                                                      \
  Field {                                                                                 \
    #member, bits, [](const Instruction& in) { return static_cast<int64_t>(in.member); }, \
        [](Instruction& in, uint32_t value) {                                             \
          in.member = static_cast<decltype(Instruction::member)>(value);                  \
        }                                                                                 \
  }

constexpr Field kCommon[] = {
    KILN_VTA_FIELD(opcode, Fixed<3>), KILN_VTA_FIELD(pop_previous, Fixed<1>),
    KILN_VTA_FIELD(pop_next, Fixed<1>), KILN_VTA_FIELD(push_previous, Fixed<1>),
    KILN_VTA_FIELD(push_next, Fixed<1>)};
constexpr Field kMemory[] = {
    KILN_VTA_FIELD(memory, Fixed<3>),       KILN_VTA_FIELD(sram_base, Fixed<16>),
    KILN_VTA_FIELD(dram_base, Fixed<32>),   KILN_VTA_FIELD(y_size, Fixed<16>),
    KILN_VTA_FIELD(x_size, Fixed<16>),      KILN_VTA_FIELD(x_stride, Fixed<16>),
    KILN_VTA_FIELD(y_pad_before, Fixed<4>), KILN_VTA_FIELD(y_pad_after, Fixed<4>),
    KILN_VTA_FIELD(x_pad_before, Fixed<4>), KILN_VTA_FIELD(x_pad_after, Fixed<4>)};
constexpr Field kCompute[] = {
    KILN_VTA_FIELD(reset, Fixed<1>),     KILN_VTA_FIELD(uop_begin, UopIndexBits),
    KILN_VTA_FIELD(uop_end, UopEndBits), KILN_VTA_FIELD(outer, Fixed<14>),
    KILN_VTA_FIELD(inner, Fixed<14>),    KILN_VTA_FIELD(dst_outer, DstBits),
    KILN_VTA_FIELD(dst_inner, DstBits)};
constexpr Field kGemm[] = {
    KILN_VTA_FIELD(src_outer, InputBits), KILN_VTA_FIELD(src_inner, InputBits),
    KILN_VTA_FIELD(weight_outer, WeightBits), KILN_VTA_FIELD(weight_inner, WeightBits)};
constexpr Field kAlu[] = {
    KILN_VTA_FIELD(src_outer, DstBits), KILN_VTA_FIELD(src_inner, DstBits),
    KILN_VTA_FIELD(alu, Fixed<3>), KILN_VTA_FIELD(use_immediate, Fixed<1>),
    Field{"immediate", Fixed<16>,
          [](const Instruction& in) { return static_cast<int64_t>(in.immediate); },
          [](Instruction& in, uint32_t value) {
            in.immediate = static_cast<int16_t>(static_cast<uint16_t>(value));
          },
          true}};
#undef KILN_VTA_FIELD

// Returns all fields of a kind of instruction, in the order of their bits.
std::vector<const Field*> FieldsOf(Opcode opcode) {
  std::vector<const Field*> fields;
  const auto add = [&](std::span<const Field> more) {
    for (const Field& field : more) fields.push_back(&field);
  };
  add(kCommon);
  if (opcode == Opcode::kLoad || opcode == Opcode::kStore) add(kMemory);
  if (opcode == Opcode::kGemm || opcode == Opcode::kAlu) add(kCompute);
  if (opcode == Opcode::kGemm) add(kGemm);
  if (opcode == Opcode::kAlu) add(kAlu);
  return fields;
}

constexpr int kHalfBits = 64;

uint64_t MaskOf(int bits) { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

}  // namespace

int64_t ElementBytes(Memory memory, const Config& config) {
  switch (memory) {
    case Memory::kUop:
      return Config::kUopBytes;
    case Memory::kWeight:
      return config.weight_element_bytes();
    case Memory::kInput:
      return config.input_element_bytes();
    case Memory::kAccumulator:
      return config.accumulator_element_bytes();
    case Memory::kAccumulator8:
      return int64_t{config.batch} * config.block_out;
    case Memory::kOutput:
      return config.output_element_bytes();
  }
  return 0;
}

int64_t ElementsOf(Memory memory, const Config& config) {
  switch (memory) {
    case Memory::kUop:
      return config.uops();
    case Memory::kWeight:
      return config.weights();
    case Memory::kInput:
      return config.inputs();
    case Memory::kAccumulator:
    case Memory::kAccumulator8:
    case Memory::kOutput:
      return config.accumulators();
  }
  return 0;
}

uint64_t RowAddress(const Instruction& in, uint32_t row, const Config& config) {
  const auto element_bytes = static_cast<uint64_t>(ElementBytes(in.memory, config));
  return static_cast<uint32_t>((in.dram_base + uint64_t{row} * in.x_stride) * element_bytes);
}

uint64_t RowBytes(const Instruction& in, const Config& config) {
  return in.x_size * static_cast<uint64_t>(ElementBytes(in.memory, config));
}

uint64_t CostOf(const Instruction& in) {
  return std::max<uint64_t>(1, Moves(in) ? RectangleOf(in) : Computes(in) ? StepsOf(in) : 0);
}

Instruction NopOf(Stage stage) {
  Instruction in;
  in.opcode = stage == Stage::kStore ? Opcode::kStore : Opcode::kLoad;
  in.memory = stage == Stage::kLoad ? Memory::kInput : Memory::kUop;
  return in;
}

Stage StageOf(const Instruction& in) {
  if (in.opcode == Opcode::kStore) return Stage::kStore;
  const bool loads =
      in.opcode == Opcode::kLoad && (in.memory == Memory::kInput || in.memory == Memory::kWeight);
  return loads ? Stage::kLoad : Stage::kCompute;
}

Encoding::Encoding(const Config& config)
    : memory_(PlacesOf(config, Opcode::kLoad)),
      gemm_(PlacesOf(config, Opcode::kGemm)),
      alu_(PlacesOf(config, Opcode::kAlu)),
      dst_bits_(config.accumulator_index_bits()),
      src_bits_(std::max(config.accumulator_index_bits(), config.input_index_bits())),
      weight_bits_(config.weight_index_bits()) {
  const auto end_of = [](const std::vector<Place>& places) {
    return places.back().first + places.back().bits;
  };
  KILN_CHECK(dst_bits_ + src_bits_ + weight_bits_ == UopBits(config));
  KILN_CHECK(end_of(gemm_) == GemmInstructionBits(config));
  KILN_CHECK(end_of(alu_) == AluInstructionBits(config));
}

std::vector<Encoding::Place> Encoding::PlacesOf(const Config& config, Opcode opcode) {
  std::vector<Place> places;
  int at = 0;
  for (const Field* field : FieldsOf(opcode)) {
    const int bits = field->bits(config);
    if (at < kHalfBits && at + bits > kHalfBits) at = kHalfBits;
    places.push_back({at, bits});
    at += bits;
  }
  return places;
}

const std::vector<Encoding::Place>& Encoding::Places(Opcode opcode) const {
  if (opcode == Opcode::kGemm) return gemm_;
  if (opcode == Opcode::kAlu) return alu_;
  return memory_;  // instructions of other kinds have only the first of these fields
}

Encoding::Bytes Encoding::Encode(const Instruction& in) const {
  KILN_CHECK(!FindMisfit(in).has_value());
  std::array<uint64_t, 2> halves{};
  const std::vector<Place>& places = Places(in.opcode);
  const std::vector<const Field*> fields = FieldsOf(in.opcode);
  for (size_t i = 0; i < fields.size(); ++i) {
    const uint64_t value = static_cast<uint64_t>(fields[i]->get(in)) & MaskOf(places[i].bits);
    halves[static_cast<size_t>(places[i].first / kHalfBits)] |= value
                                                                << (places[i].first % kHalfBits);
  }
  Bytes bytes;
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<uint8_t>(halves[i / 8] >> (8 * (i % 8)));
  return bytes;
}

Instruction Encoding::Decode(std::span<const uint8_t, kInstructionBytes> bytes) const {
  std::array<uint64_t, 2> halves{};
  for (size_t i = 0; i < bytes.size(); ++i) halves[i / 8] |= uint64_t{bytes[i]} << (8 * (i % 8));
  Instruction in;
  in.opcode = static_cast<Opcode>(bytes[0] & 7);
  const std::vector<Place>& places = Places(in.opcode);
  const std::vector<const Field*> fields = FieldsOf(in.opcode);
  for (size_t i = 0; i < fields.size(); ++i) {
    const uint64_t half = halves[static_cast<size_t>(places[i].first / kHalfBits)];
    fields[i]->set(in, static_cast<uint32_t>((half >> (places[i].first % kHalfBits)) &
                                             MaskOf(places[i].bits)));
  }
  return in;
}

std::optional<std::string> Encoding::FindMisfit(const Instruction& in) const {
  const std::vector<Place>& places = Places(in.opcode);
  const std::vector<const Field*> fields = FieldsOf(in.opcode);
  for (size_t i = 0; i < fields.size(); ++i) {
    const int bits = places[i].bits;
    const int64_t low = fields[i]->is_signed ? -(int64_t{1} << (bits - 1)) : 0;
    const int64_t high =
        fields[i]->is_signed ? (int64_t{1} << (bits - 1)) - 1 : static_cast<int64_t>(MaskOf(bits));
    const int64_t value = fields[i]->get(in);
    if (value < low || value > high) {
      return fmt::format("{} is {}; {} to {}", fields[i]->name, value, low, high);
    }
  }
  return std::nullopt;
}

uint32_t Encoding::EncodeUop(const Uop& uop) const {
  KILN_CHECK(uop.dst <= MaskOf(dst_bits_) && uop.src <= MaskOf(src_bits_) &&
             uop.weight <= MaskOf(weight_bits_));
  return static_cast<uint32_t>(uop.dst | uint64_t{uop.src} << dst_bits_ |
                               uint64_t{uop.weight} << (dst_bits_ + src_bits_));
}

Uop Encoding::DecodeUop(uint32_t word) const {
  const auto take = [&](int first, int bits) {
    return static_cast<uint32_t>((uint64_t{word} >> first) & MaskOf(bits));
  };
  return {take(0, dst_bits_), take(dst_bits_, src_bits_),
          take(dst_bits_ + src_bits_, weight_bits_)};
}

}  // namespace kiln::vta
