#include "tests/targets/vta/random_program.h"

#include <algorithm>
#include <array>
#include <optional>

#include "kiln/targets/vta/isa/tokens.h"
#include "kiln/targets/vta/simulate/functional/fault_rules.h"

namespace kiln::vta {
namespace {

constexpr size_t kDataBytes = 1 << 16,
                 kUopBytes = 1 << 12;  // of the memory: data, then micro-ops, then the program

uint32_t Bits(Random& random, int bits) {
  return static_cast<uint32_t>(random.Below(uint64_t{1} << bits));
}

}  // namespace

Config RandomConfig(Random& random) {
  while (true) {
    Config c;
    c.name = "random";
    c.input_bits = 1 << random.Between(0, 4);
    c.weight_bits = 1 << random.Between(0, 4);
    c.accumulator_bits = 1 << random.Between(3, 5);
    c.batch = 1 << random.Between(0, 2);
    c.block_in = 1 << random.Between(0, 5);
    c.block_out = 1 << random.Between(0, 5);
    c.uop_buffer_bytes = int64_t{1} << random.Between(4, 15);
    c.input_buffer_bytes = int64_t{1} << random.Between(4, 15);
    c.weight_buffer_bytes = int64_t{1} << random.Between(4, 18);
    c.accumulator_buffer_bytes = int64_t{1} << random.Between(4, 17);
    c.memory_port_bytes = 1 << random.Between(3, 7);
    c.memory_latency = static_cast<int>(random.Between(3, 40));
    c.instruction_queue_depth =
        static_cast<int>(random.Below(2) == 0 ? random.Between(2, 8) : random.Between(64, 512));
    c.accumulator_banks = 1 << random.Between(0, 4);
    if (ParseConfig(PrintConfig(c), "random").ok()) return c;
  }
}

Config SmallConfig(uint64_t seed) {
  constexpr int kMostProducts = 256;
  for (Random random(seed);;) {
    const Config config = RandomConfig(random);
    if (config.batch * config.block_in * config.block_out <= kMostProducts) return config;
  }
}

Instruction RandomFields(Random& random, const Config& config) {
  Instruction in;
  in.opcode = static_cast<Opcode>(Bits(random, 3));
  in.pop_previous = Bits(random, 1) != 0;
  in.pop_next = Bits(random, 1) != 0;
  in.push_previous = Bits(random, 1) != 0;
  in.push_next = Bits(random, 1) != 0;
  if (in.opcode == Opcode::kLoad || in.opcode == Opcode::kStore) {
    in.memory = static_cast<Memory>(Bits(random, 3));
    in.sram_base = Bits(random, 16);
    in.dram_base = Bits(random, 32);
    for (uint32_t* size : {&in.y_size, &in.x_size, &in.x_stride}) *size = Bits(random, 16);
    for (uint32_t* pad : {&in.y_pad_before, &in.y_pad_after, &in.x_pad_before, &in.x_pad_after}) {
      *pad = Bits(random, 4);
    }
  }
  if (in.opcode != Opcode::kGemm && in.opcode != Opcode::kAlu) return in;
  in.reset = Bits(random, 1) != 0;
  in.uop_begin = Bits(random, config.uop_index_bits());
  in.uop_end = Bits(random, config.uop_index_bits() + 1);
  in.outer = Bits(random, 14);
  in.inner = Bits(random, 14);
  in.dst_outer = Bits(random, config.accumulator_index_bits());
  in.dst_inner = Bits(random, config.accumulator_index_bits());
  const int source =
      in.opcode == Opcode::kGemm ? config.input_index_bits() : config.accumulator_index_bits();
  in.src_outer = Bits(random, source);
  in.src_inner = Bits(random, source);
  if (in.opcode == Opcode::kGemm) {
    in.weight_outer = Bits(random, config.weight_index_bits());
    in.weight_inner = Bits(random, config.weight_index_bits());
    return in;
  }
  in.alu = static_cast<AluOp>(Bits(random, 3));
  in.use_immediate = Bits(random, 1) != 0;
  in.immediate = static_cast<int16_t>(Bits(random, 16));
  return in;
}

namespace {

// What an instruction touches that another stage could touch, too. Accumulators, inputs, weights:
// elements; kUop stands for bytes of outer memory.
struct Touch {
  Memory memory;
  uint64_t begin, end;
  bool writes;
};

bool Conflict(const std::vector<Touch>& a, const std::vector<Touch>& b) {
  for (const Touch& x : a) {
    for (const Touch& y : b) {
      if (x.memory == y.memory && (x.writes || y.writes) && x.begin < y.end && y.begin < x.end)
        return true;
    }
  }
  return false;
}

// From the first that a load or store reaches in memory to its last.
uint64_t ElementsInMemory(const Instruction& in) {
  return in.y_size == 0 ? 0 : uint64_t{in.y_size - 1} * in.x_stride + in.x_size;
}

class Generator {
 public:
  Generator(Random& random, const Config& config)
      : random_(random), config_(config), encoding_(config) {
    program_.memory.resize(kDataBytes + kUopBytes);
    for (uint8_t& byte : program_.memory) byte = static_cast<uint8_t>(random_());
    for (size_t i = 0; i < kUopBytes / Config::kUopBytes; ++i) PutUop(i);
    uops_.resize(static_cast<size_t>(config.uops()));
  }

  RandomProgram Make(int operations) {
    for (int i = 0; i < operations; ++i) {
      switch (random_.Below(6)) {
        case 0:
          AddLoad(Memory::kUop);
          break;
        case 1:
          AddLoad(random_.Below(2) == 0 ? Memory::kInput : Memory::kWeight);
          break;
        case 2:
          AddLoad(random_.Below(3) == 0 ? Memory::kAccumulator8 : Memory::kAccumulator);
          break;
        case 3:
          AddStore();
          break;
        default:
          AddCompute();
          break;
      }
    }
    // FINISH waits for everything.
    Order(Stage::kLoad, Stage::kCompute);
    Order(Stage::kStore, Stage::kCompute);
    Instruction finish;
    finish.opcode = Opcode::kFinish;
    Append(finish, {});
    program_.address = RandomProgram::kBase + program_.memory.size();
    for (const Instruction& in : program_.instructions) {
      const Encoding::Bytes bytes = encoding_.Encode(in);
      program_.memory.insert(program_.memory.end(), bytes.begin(), bytes.end());
    }
    return std::move(program_);
  }

 private:
  // Indices stay low, so that factors have room.
  void PutUop(size_t index) {
    const auto below = [&](int64_t elements) {
      return static_cast<uint32_t>(
          random_.Below(static_cast<uint64_t>(std::max<int64_t>(1, elements / 2))));
    };
    const uint32_t word = encoding_.EncodeUop(
        {below(config_.accumulators()), below(std::min(config_.inputs(), config_.accumulators())),
         below(config_.weights())});
    for (size_t i = 0; i < Config::kUopBytes; ++i) {
      program_.memory[kDataBytes + index * Config::kUopBytes + i] =
          static_cast<uint8_t>(word >> (8 * i));
    }
  }

  void AddLoad(Memory memory) {
    Instruction in;
    in.opcode = Opcode::kLoad;
    in.memory = memory;
    const uint64_t elements = static_cast<uint64_t>(ElementsOf(memory, config_));
    in.x_size = static_cast<uint32_t>(random_.Between(1, 6));
    in.y_size = static_cast<uint32_t>(
        random_.Below(16) == 0 ? 0 : random_.Between(1, 3));  // 0: at most padding
    in.x_stride = static_cast<uint32_t>(random_.Between(0, 9));
    if (random_.Below(2) == 0) {
      in.x_pad_before = static_cast<uint32_t>(random_.Below(3));
      in.x_pad_after = static_cast<uint32_t>(random_.Below(3));
      in.y_pad_before = static_cast<uint32_t>(random_.Below(2));
      in.y_pad_after = static_cast<uint32_t>(random_.Below(2));
    }
    const uint64_t size = uint64_t{in.x_pad_before + in.x_size + in.x_pad_after} *
                          (in.y_pad_before + in.y_size + in.y_pad_after);
    if (size > elements) return;
    in.sram_base = static_cast<uint32_t>(random_.Below(elements - size + 1));
    const bool uops = memory == Memory::kUop;
    if (!PlaceInMemory(uops ? kDataBytes : 0, uops ? kUopBytes : kDataBytes, &in)) return;
    std::vector<Touch> touches = {TouchOfMemory(in, false)};
    if (StageOf(in) == Stage::kLoad)
      touches.push_back({memory, in.sram_base, in.sram_base + size, true});
    // Accumulators are also what stores see.
    if (memory == Memory::kAccumulator || memory == Memory::kAccumulator8) {
      touches.push_back({Memory::kAccumulator, in.sram_base, in.sram_base + size, true});
    }
    Append(in, touches);
    if (!uops) return;
    size_t at = in.sram_base;
    const size_t width = in.x_pad_before + in.x_size + in.x_pad_after;
    std::fill_n(uops_.begin() + static_cast<std::ptrdiff_t>(at), size, Uop{});
    at += width * in.y_pad_before;
    for (uint32_t y = 0; y < in.y_size; ++y, at += width) {
      for (uint32_t x = 0; x < in.x_size; ++x) {
        const size_t byte =
            (in.dram_base + size_t{y} * in.x_stride + x) * Config::kUopBytes - RandomProgram::kBase;
        uint32_t word = 0;
        for (size_t i = 0; i < 4; ++i) word |= uint32_t{program_.memory[byte + i]} << (8 * i);
        uops_[at + in.x_pad_before + x] = encoding_.DecodeUop(word);
      }
    }
  }

  void AddStore() {
    Instruction in;
    in.opcode = Opcode::kStore;
    in.memory = Memory::kOutput;
    in.x_size = static_cast<uint32_t>(random_.Between(1, 6));
    in.y_size = static_cast<uint32_t>(random_.Between(1, 3));
    in.x_stride = static_cast<uint32_t>(random_.Between(0, 9));
    const uint64_t size = uint64_t{in.x_size} * in.y_size;
    const auto elements = static_cast<uint64_t>(config_.accumulators());
    if (size > elements) return;
    in.sram_base = static_cast<uint32_t>(random_.Below(elements - size + 1));
    if (!PlaceInMemory(0, kDataBytes, &in)) return;
    Append(in, {TouchOfMemory(in, true),
                {Memory::kAccumulator, in.sram_base, in.sram_base + size, false}});
  }

  void AddCompute() {
    Instruction in;
    in.opcode = random_.Below(2) == 0 ? Opcode::kGemm : Opcode::kAlu;
    const auto factor = [&](int bits) {
      return static_cast<uint32_t>(random_.Below(std::min<uint64_t>(uint64_t{1} << bits, 4)));
    };
    in.uop_begin = static_cast<uint32_t>(random_.Below(uops_.size()));
    in.uop_end = static_cast<uint32_t>(std::min<uint64_t>(
        uops_.size(), in.uop_begin + static_cast<uint64_t>(random_.Between(1, 6))));
    in.outer =
        static_cast<uint32_t>(random_.Below(24) == 0 ? 0 : random_.Between(1, 4));  // 0: no steps
    in.inner = static_cast<uint32_t>(random_.Between(1, 4));
    in.dst_outer = factor(config_.accumulator_index_bits());
    in.dst_inner = factor(config_.accumulator_index_bits());
    const bool gemm = in.opcode == Opcode::kGemm;
    const int source_bits = gemm ? config_.input_index_bits() : config_.accumulator_index_bits();
    in.src_outer = factor(source_bits);
    in.src_inner = factor(source_bits);
    if (gemm) {
      in.reset = random_.Below(5) == 0;
      in.weight_outer = factor(config_.weight_index_bits());
      in.weight_inner = factor(config_.weight_index_bits());
    } else {
      in.alu = static_cast<AluOp>(random_.Below(5));
      in.use_immediate = random_.Below(2) == 0;
      if (in.use_immediate) in.immediate = static_cast<int16_t>(random_());
      if (in.alu == AluOp::kShiftRight) {  // by other amounts nothing is defined
        in.use_immediate = true;
        in.immediate = static_cast<int32_t>(random_.Between(-31, 31));
      }
    }
    UopMaximum most;
    for (uint32_t u = in.uop_begin; u < in.uop_end; ++u) {
      most.dst = std::max(most.dst, uops_[u].dst);
      most.src = std::max(most.src, uops_[u].src);
      most.weight = std::max(most.weight, uops_[u].weight);
    }
    // Zeros that padding left are always in range; the others may not be.
    if (FindRangeFault(in, 0, most, config_).has_value()) return;
    std::vector<Touch> touches = {
        {Memory::kAccumulator, 0, static_cast<uint64_t>(config_.accumulators()), true}};
    if (gemm && !in.reset) {
      touches.push_back({Memory::kInput, 0, static_cast<uint64_t>(config_.inputs()), false});
      touches.push_back({Memory::kWeight, 0, static_cast<uint64_t>(config_.weights()), false});
    }
    Append(in, touches);
  }

  // Chooses dram_base so that all rows lie in [first, first + bytes) of the memory; false where
  // they do not fit.
  bool PlaceInMemory(uint64_t first, uint64_t bytes, Instruction* in) {
    const auto element = static_cast<uint64_t>(ElementBytes(in->memory, config_));
    const uint64_t elements = ElementsInMemory(*in);
    const uint64_t begin = (RandomProgram::kBase + first + element - 1) / element;
    const uint64_t end = (RandomProgram::kBase + first + bytes) / element;
    if (begin + elements > end) return false;
    in->dram_base = static_cast<uint32_t>(begin + random_.Below(end - begin - elements + 1));
    return true;
  }
  Touch TouchOfMemory(const Instruction& in, bool writes) const {
    const auto element = static_cast<uint64_t>(ElementBytes(in.memory, config_));
    const uint64_t elements = ElementsInMemory(in);
    return {Memory::kUop, in.dram_base * element, (in.dram_base + elements) * element, writes};
  }

  // Orders the instruction behind all of other stages that it conflicts with, and appends it.
  void Append(Instruction in, const std::vector<Touch>& touches) {
    const Stage stage = StageOf(in);
    for (const Stage other : {Stage::kLoad, Stage::kCompute, Stage::kStore}) {
      if (other == stage) continue;
      const auto& before = touches_[static_cast<size_t>(other)];
      size_t needed = 0;  // how many of its instructions must be done
      for (size_t i = 0; i < before.size(); ++i) {
        if (Conflict(before[i], touches)) needed = i + 1;
      }
      if (known_[static_cast<size_t>(stage)][static_cast<size_t>(other)] < needed)
        Order(other, stage);
    }
    Emit(in, touches);
  }
  // Whatever `to` does next comes after all that `from` has been given so far.
  void Order(Stage from, Stage to) {
    const int step = from < to ? 1 : -1;
    for (int s = static_cast<int>(from); s != static_cast<int>(to); s += step) {
      Pass(static_cast<Stage>(s), static_cast<Stage>(s + step));
    }
  }
  // A token from a stage to its neighbour: on its last instruction if that is the program's last,
  // else on a no-op.
  void Pass(Stage from, Stage to) {
    const bool forward = from < to;
    std::vector<Instruction>& all = program_.instructions;
    const bool append = all.empty() || StageOf(all.back()) != from ||
                        (forward ? all.back().push_next : all.back().push_previous);
    if (append) Emit(NopOf(from), {});
    (forward ? all.back().push_next : all.back().push_previous) = true;
    const Progress given = known_[static_cast<size_t>(from)];
    Instruction pop = NopOf(to);
    (forward ? pop.pop_previous : pop.pop_next) = true;
    Progress& known = known_[static_cast<size_t>(to)];
    for (size_t s = 0; s < known.size(); ++s) known[s] = std::max(known[s], given[s]);
    Emit(pop, {});
  }
  void Emit(const Instruction& in, const std::vector<Touch>& touches) {
    const auto stage = static_cast<size_t>(StageOf(in));
    program_.instructions.push_back(in);
    touches_[stage].push_back(touches);
    ++known_[stage][stage];
  }

  Random& random_;
  const Config config_;
  const Encoding encoding_;
  RandomProgram program_;
  std::vector<Uop> uops_;                                         // as they stand on chip
  std::array<std::vector<std::vector<Touch>>, kStages> touches_;  // of each stage's instructions
  std::array<Progress, kStages> known_{};
};

}  // namespace

std::string RandomProgram::Text(const Config& config) const {
  const Encoding encoding(config);
  std::string text = PrintConfig(config);
  for (const Instruction& in : instructions)
    text += Disassemble(encoding.Encode(in), encoding) + '\n';
  return text;
}

RandomProgram MakeRandomProgram(Random& random, const Config& config, int operations) {
  return Generator(random, config).Make(operations);
}

}  // namespace kiln::vta
