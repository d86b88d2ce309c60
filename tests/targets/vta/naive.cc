#include "tests/targets/vta/naive.h"

namespace kiln::vta {
namespace {

// Bits [first, first + bits) of memory as a signed number, bit by bit.
int64_t SignedBits(const std::vector<uint8_t>& memory, uint64_t first, int bits) {
  int64_t value = 0;
  for (int i = 0; i < bits; ++i) {
    const uint64_t bit = first + static_cast<uint64_t>(i);
    const int64_t one = (memory.at(bit / 8) >> (bit % 8)) & 1;
    value += i == bits - 1 ? -(one << i) : one << i;
  }
  return value;
}

int64_t Modulo(int64_t value, int bits) {
  const int64_t range = int64_t{1} << bits;
  value = (value % range + range) % range;
  return value >= range / 2 ? value - range : value;
}

class Machine {
 public:
  Machine(const Config& config, uint64_t base, std::vector<uint8_t>& memory)
      : c_(config), encoding_(config), base_(base), memory_(memory) {
    uops_.resize(static_cast<size_t>(c_.uops()));
    inputs_.resize(static_cast<size_t>(c_.inputs() * c_.batch * c_.block_in));
    weights_.resize(static_cast<size_t>(c_.weights() * c_.block_out * c_.block_in));
    accumulators_.resize(static_cast<size_t>(c_.accumulators() * c_.batch * c_.block_out));
  }

  void Run(const Instruction& in) {
    if (in.opcode == Opcode::kLoad && in.x_size > 0) Load(in);
    if (in.opcode == Opcode::kStore && in.x_size > 0) Store(in);
    if (in.opcode != Opcode::kGemm && in.opcode != Opcode::kAlu) return;
    for (uint64_t o = 0; o < in.outer; ++o) {
      for (uint64_t i = 0; i < in.inner; ++i) {
        for (uint64_t u = in.uop_begin; u < in.uop_end; ++u) Step(in, o, i, uops_.at(u));
      }
    }
  }

 private:
  void Step(const Instruction& in, uint64_t o, uint64_t i, const Uop& uop) {
    const uint64_t dst = uop.dst + o * in.dst_outer + i * in.dst_inner;
    const uint64_t src = uop.src + o * in.src_outer + i * in.src_inner;
    const uint64_t weight = uop.weight + o * in.weight_outer + i * in.weight_inner;
    const auto rows = static_cast<uint64_t>(c_.batch),
               columns = static_cast<uint64_t>(c_.block_out);
    const auto depth = static_cast<uint64_t>(c_.block_in);
    for (uint64_t b = 0; b < rows; ++b) {
      for (uint64_t n = 0; n < columns; ++n) {
        int64_t& x = accumulators_.at((dst * rows + b) * columns + n);
        if (in.opcode == Opcode::kGemm) {
          int64_t sum = in.reset ? 0 : x;
          for (uint64_t k = 0; k < depth && !in.reset; ++k) {
            sum += inputs_.at((src * rows + b) * depth + k) *
                   weights_.at((weight * columns + n) * depth + k);
          }
          x = Modulo(sum, c_.accumulator_bits);
          continue;
        }
        const int64_t y =
            in.use_immediate ? in.immediate : accumulators_.at((src * rows + b) * columns + n);
        x = Modulo(Calculated(in.alu, x, y), c_.accumulator_bits);
      }
    }
  }
  static int64_t Calculated(AluOp op, int64_t x, int64_t y) {
    if (op == AluOp::kMin) return x < y ? x : y;
    if (op == AluOp::kMax) return x > y ? x : y;
    if (op == AluOp::kAdd) return x + y;
    if (op == AluOp::kMultiply) return x * y;
    int64_t result = x;
    for (; y > 0; --y) result = (result - (((result % 2) + 2) % 2)) / 2;
    for (; y < 0; ++y) result = Modulo(result * 2, 32);
    return result;
  }

  void Load(const Instruction& in) {
    uint64_t element = in.sram_base;
    const uint64_t width = in.x_pad_before + in.x_size + in.x_pad_after;
    for (uint64_t r = 0; r < in.y_pad_before + in.y_size + in.y_pad_after; ++r) {
      for (uint64_t x = 0; x < width; ++x, ++element) {
        const bool inside = r >= in.y_pad_before && r < in.y_pad_before + in.y_size &&
                            x >= in.x_pad_before && x < in.x_pad_before + in.x_size;
        const uint64_t from = in.dram_base + (r - in.y_pad_before) * in.x_stride +
                              (x - in.x_pad_before);  // where inside
        LoadElement(in.memory, element, inside, from);
      }
    }
  }
  void LoadElement(Memory memory, uint64_t element, bool inside, uint64_t from) {
    if (memory == Memory::kUop) {
      uops_.at(element) = encoding_.DecodeUop(
          inside ? static_cast<uint32_t>(SignedBits(memory_, (from * 4 - base_) * 8, 32)) : 0);
      return;
    }
    const bool narrow = memory == Memory::kAccumulator8;
    std::vector<int64_t>& buffer = memory == Memory::kInput    ? inputs_
                                   : memory == Memory::kWeight ? weights_
                                                               : accumulators_;
    const int bits = memory == Memory::kInput    ? c_.input_bits
                     : memory == Memory::kWeight ? c_.weight_bits
                     : narrow                    ? 8
                                                 : c_.accumulator_bits;
    const uint64_t numbers = buffer.size() / static_cast<uint64_t>(ElementsOf(memory, c_));
    for (uint64_t k = 0; k < numbers; ++k) {
      const uint64_t bit =
          from * numbers * static_cast<uint64_t>(bits) + k * static_cast<uint64_t>(bits);
      buffer.at(element * numbers + k) = inside ? SignedBits(memory_, bit - base_ * 8, bits) : 0;
    }
  }

  void Store(const Instruction& in) {
    const uint64_t numbers = static_cast<uint64_t>(c_.batch) * static_cast<uint64_t>(c_.block_out);
    for (uint64_t y = 0; y < in.y_size; ++y) {
      for (uint64_t x = 0; x < in.x_size; ++x) {
        for (uint64_t k = 0; k < numbers; ++k) {
          const int64_t value = accumulators_.at((in.sram_base + y * in.x_size + x) * numbers + k);
          for (int i = 0; i < c_.input_bits; ++i) {
            const uint64_t bit = (((in.dram_base + y * in.x_stride + x) * numbers + k) *
                                      static_cast<uint64_t>(c_.input_bits) +
                                  static_cast<uint64_t>(i)) -
                                 base_ * 8;
            uint8_t& byte = memory_.at(bit / 8);
            byte = static_cast<uint8_t>((byte & ~(1 << bit % 8)) | (((value >> i) & 1) << bit % 8));
          }
        }
      }
    }
  }

  const Config& c_;
  const Encoding encoding_;
  const uint64_t base_;
  std::vector<uint8_t>& memory_;
  std::vector<Uop> uops_;
  std::vector<int64_t> inputs_, weights_, accumulators_;
};

}  // namespace

void RunNaive(const Config& config, const std::vector<Instruction>& program, uint64_t base,
              std::vector<uint8_t>& memory) {
  Machine machine(config, base, memory);
  for (const Instruction& in : program) machine.Run(in);
}

}  // namespace kiln::vta
