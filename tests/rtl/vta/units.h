// Shared by the tests of the VTA machine's units: instructions that are mostly valid, the memory
// they access, and numbers packed into ports.
#ifndef KILN_TESTS_RTL_VTA_UNITS_H_
#define KILN_TESTS_RTL_VTA_UNITS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kiln/support/random.h"
#include "kiln/targets/vta/config/config.h"
#include "kiln/targets/vta/isa/faults.h"
#include "kiln/targets/vta/isa/isa.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {

using vta::Config;
using vta::Encoding;
using vta::Instruction;
using vta::Memory;
using vta::Opcode;
using vta::Uop;

// Returns an instruction as ports take it.
inline std::vector<uint8_t> BytesOf(const Encoding::Bytes& bytes) {
  return {bytes.begin(), bytes.end()};
}
template <typename Port>
void SetInstruction(Port& port, const Encoding& encoding, const Instruction& in) {
  SetBytes(port, BytesOf(encoding.Encode(in)));
}
// Returns a load or store that is mostly valid.
inline Instruction RandomTransfer(Random& random) {
  Instruction in;
  in.opcode = random.Below(3) == 0 ? Opcode::kStore : Opcode::kLoad;
  in.memory = in.opcode == Opcode::kStore ? Memory::kOutput : static_cast<Memory>(random.Below(6));
  if (in.memory == Memory::kOutput && in.opcode == Opcode::kLoad) in.memory = Memory::kInput;
  in.sram_base = static_cast<uint32_t>(random.Below(24));
  in.dram_base = static_cast<uint32_t>(random());
  in.x_size = static_cast<uint32_t>(random.Below(6));
  in.y_size = static_cast<uint32_t>(random.Below(5));
  in.x_stride = static_cast<uint32_t>(random.Below(4) == 0 ? random.Below(65536) : random.Below(9));
  in.push_next = in.opcode == Opcode::kLoad && random.Below(2) == 0;
  if (in.opcode == Opcode::kStore || random.Below(2) == 0) return in;
  for (uint32_t* pad : {&in.x_pad_before, &in.x_pad_after, &in.y_pad_before, &in.y_pad_after}) {
    *pad = static_cast<uint32_t>(random.Below(3));
  }
  return in;
}

// Returns the requests of a load in order.
struct Element {
  uint32_t address = 0, bytes = 0, index = 0;
  bool padding = true, empty = false, last = false;
};
inline std::vector<Element> ElementsOf(const Instruction& in, const Config& config) {
  if (in.x_size == 0 || RectangleOf(in) == 0) return {Element{.empty = true, .last = true}};
  const auto bytes = static_cast<uint32_t>(ElementBytes(in.memory, config));
  std::vector<Element> elements;
  const uint32_t width = in.x_pad_before + in.x_size + in.x_pad_after;
  for (uint32_t y = 0; y < in.y_pad_before + in.y_size + in.y_pad_after; ++y) {
    for (uint32_t x = 0; x < width; ++x) {
      Element element{.index = in.sram_base + y * width + x};
      const bool inside = y >= in.y_pad_before && y < in.y_pad_before + in.y_size &&
                          x >= in.x_pad_before && x < in.x_pad_before + in.x_size;
      if (inside) {
        element.padding = false;
        element.bytes = bytes;
        element.address = static_cast<uint32_t>(RowAddress(in, y - in.y_pad_before, config)) +
                          (x - in.x_pad_before) * bytes;
      }
      elements.push_back(element);
    }
  }
  elements.back().last = true;
  return elements;
}

// Returns the banks, a bit each, that a correct instruction writes as a load of accumulators.
inline uint32_t BanksOf(const Instruction& in, const Config& config) {
  const bool accumulators = in.memory == Memory::kAccumulator || in.memory == Memory::kAccumulator8;
  if (in.opcode != Opcode::kLoad || !accumulators || IsNop(in) || RectangleOf(in) == 0) return 0;
  uint32_t banks = 0;
  for (uint64_t i = 0; i < RectangleOf(in); ++i) {
    banks |= 1u << ((in.sram_base + i) / static_cast<uint64_t>(config.accumulators_of_bank()));
  }
  return banks;
}

// kiln_vta_pkg::read_tag_t; the last member occupies the lowest bits.
struct ReadTag {
  bool push_next, last, empty, padding;
  uint32_t element, memory, number, source;
};
inline ReadTag ReadTagOf(uint64_t bits) {
  const auto field = [&](int first, int width) {
    return static_cast<uint32_t>((bits >> first) & ((uint64_t{1} << width) - 1));
  };
  return {field(0, 1) != 0, field(1, 1) != 0, field(2, 1) != 0, field(3, 1) != 0,
          field(4, 16),     field(20, 3),     field(23, 32),    field(55, 2)};
}
inline uint64_t BitsOf(const ReadTag& tag) {
  return uint64_t{tag.push_next} | uint64_t{tag.last} << 1 | uint64_t{tag.empty} << 2 |
         uint64_t{tag.padding} << 3 | uint64_t{tag.element} << 4 | uint64_t{tag.memory} << 20 |
         uint64_t{tag.number} << 23 | uint64_t{tag.source} << 55;
}

// Returns the signed number of `bits` bits that begins at bit `first`.
inline int64_t SignedBits(const std::vector<uint8_t>& bytes, size_t first, int bits) {
  uint64_t value = 0;
  for (int i = 0; i < bits; ++i) {
    const size_t bit = first + static_cast<size_t>(i);
    value |= static_cast<uint64_t>((bytes[bit / 8] >> (bit % 8)) & 1) << i;
  }
  const int shift = 64 - bits;
  return static_cast<int64_t>(value << shift) >> shift;
}
// Convert numbers, each of `bits` bits, to packed lanes, and back.
inline std::vector<uint8_t> PackNumbers(const std::vector<int32_t>& numbers, int bits) {
  std::vector<uint8_t> bytes((numbers.size() * static_cast<size_t>(bits) + 7) / 8);
  for (size_t n = 0; n < numbers.size(); ++n) {
    for (int i = 0; i < bits; ++i) {
      const size_t bit = n * static_cast<size_t>(bits) + static_cast<size_t>(i);
      bytes[bit / 8] = static_cast<uint8_t>(
          bytes[bit / 8] | ((static_cast<uint32_t>(numbers[n]) >> i & 1) << bit % 8));
    }
  }
  return bytes;
}
inline std::vector<int32_t> UnpackNumbers(const std::vector<uint8_t>& bytes, int bits,
                                          size_t count) {
  std::vector<int32_t> numbers;
  for (size_t n = 0; n < count; ++n) {
    numbers.push_back(static_cast<int32_t>(SignedBits(bytes, n * static_cast<size_t>(bits), bits)));
  }
  return numbers;
}
template <typename Port>
std::vector<int32_t> GetNumbers(const Port& port, int bits, size_t count) {
  return UnpackNumbers(GetBytes(port, sizeof port), bits, count);
}
// Returns signed random numbers of `bits` bits; the extremes are more frequent.
inline std::vector<int32_t> RandomNumbers(Random& random, int bits, size_t count) {
  std::vector<int32_t> numbers;
  const int64_t most = (int64_t{1} << (bits - 1)) - 1;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t kind = random.Below(8);
    numbers.push_back(static_cast<int32_t>(kind == 0   ? most
                                           : kind == 1 ? -most - 1
                                                       : random.Between(-most - 1, most)));
  }
  return numbers;
}

// Returns a micro-op as the machine's buffer stores it: weight, source and destination, with the
// destination in the lowest bits.
inline size_t UopBits(const Config& c) {
  return static_cast<size_t>(c.accumulator_index_bits() +
                             std::max(c.input_index_bits(), c.accumulator_index_bits()) +
                             c.weight_index_bits());
}
inline std::vector<uint8_t> UopBytes(const Uop& uop, const Config& c) {
  const int source_bits = std::max(c.input_index_bits(), c.accumulator_index_bits());
  const uint32_t word = uop.dst | (uop.src << c.accumulator_index_bits()) |
                        (uop.weight << (c.accumulator_index_bits() + source_bits));
  return PackNumbers({static_cast<int32_t>(word)}, static_cast<int>(UopBits(c)));
}

// Returns the steps of a GEMM or ALU instruction in order, with indices modulo the buffers' sizes,
// as a unit on its own computes them.
struct StepIndices {
  uint32_t uop, dst, src, weight;
};
inline std::vector<StepIndices> StepsOf(const Instruction& in, std::span<const Uop> uops,
                                        const Config& c) {
  std::vector<StepIndices> steps;
  const auto sources = in.opcode == Opcode::kGemm ? c.inputs() : c.accumulators();
  for (uint32_t o = 0; o < in.outer; ++o) {
    for (uint32_t i = 0; i < in.inner; ++i) {
      for (uint32_t u = in.uop_begin; u < in.uop_end; ++u) {
        const Uop& uop = uops[u];
        steps.push_back(
            {u,
             static_cast<uint32_t>((uop.dst + o * in.dst_outer + i * in.dst_inner) %
                                   c.accumulators()),
             static_cast<uint32_t>((uop.src + o * in.src_outer + i * in.src_inner) % sources),
             static_cast<uint32_t>((uop.weight + o * in.weight_outer + i * in.weight_inner) %
                                   c.weights())});
      }
    }
  }
  return steps;
}

// Returns a GEMM or ALU instruction with small loops. With `reuse` it uses few accumulators, so
// that a step reads results of the steps right before it.
inline Instruction RandomComputation(Random& random, const Config& config, bool reuse) {
  Instruction in = RandomFields(random, config);
  while (in.opcode != Opcode::kGemm && in.opcode != Opcode::kAlu) in = RandomFields(random, config);
  in.alu = static_cast<vta::AluOp>(random.Below(5));
  in.uop_begin = static_cast<uint32_t>(random.Below(static_cast<uint64_t>(config.uops())));
  in.uop_end =
      static_cast<uint32_t>(std::min<int64_t>(in.uop_begin + random.Between(1, 4), config.uops()));
  in.outer = static_cast<uint32_t>(random.Between(1, 3));
  in.inner = static_cast<uint32_t>(random.Between(1, 3));
  if (reuse) {
    in.dst_outer = static_cast<uint32_t>(random.Below(2));
    in.dst_inner = static_cast<uint32_t>(random.Below(2));
    if (in.opcode == Opcode::kAlu)
      in.src_outer = in.src_inner = static_cast<uint32_t>(random.Below(2));
  }
  const Encoding encoding(config);
  return encoding.Decode(encoding.Encode(in));
}
inline Uop RandomUop(Random& random, const Config& c) {
  const auto below = [&](int64_t bound) {
    return static_cast<uint32_t>(random.Below(static_cast<uint64_t>(bound)));
  };
  return {below(c.accumulators()), below(std::max(c.inputs(), c.accumulators())),
          below(c.weights())};
}

}  // namespace kiln::rtl

#endif  // KILN_TESTS_RTL_VTA_UNITS_H_
