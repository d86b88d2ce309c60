// Tests the VTA machine's arithmetic units on their own: the multiply array and its sums, the GEMM
// and ALU units in front of memories in C++, the accumulators with their banks.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "Vvta_accumulators_1.h"
#include "Vvta_accumulators_4.h"
#include "Vvta_alu_32.h"
#include "Vvta_alu_8.h"
#include "Vvta_alu_small.h"
#include "Vvta_dot.h"
#include "Vvta_gemm_batch.h"
#include "Vvta_gemm_small.h"
#include "Vvta_multiply_single.h"
#include "Vvta_multiply_small.h"
#include "Vvta_sum.h"
#include "kiln/targets/vta/isa/elements.h"
#include "kiln/targets/vta/simulate/alu.h"
#include "tests/rtl/vta/machine.h"
#include "tests/rtl/vta/units.h"

namespace kiln::rtl {
namespace {

using vta::Calculate;
using vta::Wrap;

// ---- Products and sums. A pipeline that never stops: what stood at the inputs in t is answered in
// t + latency.

TEST(VtaDatapath, SumsAreExact) {
  constexpr int kTerms = 7, kBits = 5, kSumBits = 8;
  Simulation<Vvta_sum> sum;
  Random random(1);
  std::optional<int64_t> expected;
  for (int i = 0; i < 5'000; ++i) {
    const std::vector<int32_t> terms = RandomNumbers(random, kBits, kTerms);
    SetBytes(sum->terms, PackNumbers(terms, kBits));
    sum.Settle();
    if (expected.has_value()) {
      ASSERT_EQ(SignedBits(GetBytes(sum->sum, 1), 0, kSumBits), *expected);
    }
    expected = 0;
    for (const int32_t term : terms) *expected += term;
    sum.Step();
  }
}

TEST(VtaDatapath, DotsAreExact) {
  constexpr int kBlock = 5, kBits = 16, kSumBits = 35;
  Simulation<Vvta_dot> dot;
  Random random(2);
  std::deque<std::array<int64_t, 2>> expected;
  for (int i = 0; i < 5'000; ++i) {
    const std::vector<int32_t> in = RandomNumbers(random, kBits, kBlock),
                               low = RandomNumbers(random, kBits, kBlock),
                               high = RandomNumbers(random, kBits, kBlock);
    SetBytes(dot->in, PackNumbers(in, kBits));
    SetBytes(dot->weights_low, PackNumbers(low, kBits));
    SetBytes(dot->weights_high, PackNumbers(high, kBits));
    dot.Settle();
    if (expected.size() == 2) {
      ASSERT_EQ(SignedBits(GetBytes(dot->sum_low, 8), 0, kSumBits), expected.front()[0]);
      ASSERT_EQ(SignedBits(GetBytes(dot->sum_high, 8), 0, kSumBits), expected.front()[1]);
      expected.pop_front();
    }
    std::array<int64_t, 2> sums{};
    for (size_t k = 0; k < kBlock; ++k) {
      sums[0] += int64_t{in[k]} * low[k];
      sums[1] += int64_t{in[k]} * high[k];
    }
    expected.push_back(sums);
    dot.Step();
  }
}

// What one element of inputs and one of weights give, before accumulation.
std::vector<int64_t> ProductsOf(const std::vector<int32_t>& inputs,
                                const std::vector<int32_t>& weights, const Config& c) {
  const auto batch = static_cast<size_t>(c.batch), in = static_cast<size_t>(c.block_in),
             out = static_cast<size_t>(c.block_out);
  std::vector<int64_t> sums(batch * out);
  for (size_t b = 0; b < batch; ++b) {
    for (size_t o = 0; o < out; ++o) {
      for (size_t k = 0; k < in; ++k)
        sums[b * out + o] += int64_t{inputs[b * in + k]} * weights[o * in + k];
    }
  }
  return sums;
}
size_t InputsOf(const Config& c) { return static_cast<size_t>(c.batch * c.block_in); }
size_t WeightsOf(const Config& c) { return static_cast<size_t>(c.block_out * c.block_in); }
size_t SumsOf(const Config& c) { return static_cast<size_t>(c.batch * c.block_out); }

template <typename Model>
void CheckMultiply(const Config& c, int sum_bits) {
  Simulation<Model> multiply;
  Random random(3);
  std::deque<std::vector<int64_t>> expected;
  for (int i = 0; i < 3'000; ++i) {
    const std::vector<int32_t> inputs = RandomNumbers(random, c.input_bits, InputsOf(c)),
                               weights = RandomNumbers(random, c.weight_bits, WeightsOf(c));
    SetBytes(multiply->inputs, PackNumbers(inputs, c.input_bits));
    SetBytes(multiply->weights, PackNumbers(weights, c.weight_bits));
    multiply.Settle();
    if (expected.size() == 2) {
      const std::vector<uint8_t> sums = GetBytes(multiply->sums, sizeof multiply->sums);
      for (size_t n = 0; n < SumsOf(c); ++n) {
        ASSERT_EQ(SignedBits(sums, n * static_cast<size_t>(sum_bits), sum_bits),
                  expected.front()[n])
            << n;
      }
      expected.pop_front();
    }
    expected.push_back(ProductsOf(inputs, weights, c));
    multiply.Step();
  }
}
TEST(VtaDatapath, MatricesAreMultiplied) { CheckMultiply<Vvta_multiply_small>(Small(), 18); }
TEST(VtaDatapath, MatricesWithASingleOutputAreMultiplied) {
  Config c = Batch();
  c.block_out = 1;
  CheckMultiply<Vvta_multiply_single>(c, 14);
}

// ---- Design points with few accumulators and unequal indices.

Config FewAccumulators() {
  Config c = Batch();  // 4-bit inputs, 2 x 4
  c.block_out = 2;
  c.accumulator_bits = 16;
  c.uop_buffer_bytes = 64;
  c.input_buffer_bytes = 128;
  c.weight_buffer_bytes = 64;
  c.accumulator_buffer_bytes = 32;
  return c;
}
// Accumulators narrower than immediates, two numbers an element.
Config NarrowAccumulators() {
  Config c = FewAccumulators();
  c.block_out = 1;
  c.accumulator_bits = 8;
  c.weight_buffer_bytes = 32;
  c.accumulator_buffer_bytes = 8;
  return c;
}

// 32 numbers an element: more than share a register of the ALU's operation.
Config ManyNumbers() {
  Config c = NarrowAccumulators();
  c.block_out = 16;
  c.weight_buffer_bytes *= 16;
  c.accumulator_buffer_bytes *= 16;
  return c;
}

// A memory behind a unit: an address in one cycle, its word in the next and no longer.
template <typename Port>
void Answer(Port& port, bool enable, const std::vector<uint8_t>& word, Random& random,
            size_t bits) {
  if (enable) {
    SetBytes(port, word);
    return;
  }
  std::vector<uint8_t> noise((bits + 7) / 8);
  for (uint8_t& byte : noise) byte = static_cast<uint8_t>(random());
  if (bits % 8 != 0) noise.back() = static_cast<uint8_t>(noise.back() & ((1u << bits % 8) - 1));
  SetBytes(port, noise);
}

// What a unit must write, and when.
struct Write {
  uint64_t cycle;
  uint32_t index;
  std::vector<int32_t> numbers;
  bool done;
};

// What both units are tried with: commands with stalls between them, micro-ops, accumulators.
struct Bench {
  Bench(const Config& c, uint64_t seed, double stall)
      : config(c),
        encoding(c),
        random(seed),
        commands(Stalls(seed + 1, stall, Stalls::Kind::kBursts)),
        numbers(SumsOf(c)),
        accumulators(static_cast<size_t>(c.accumulators())),
        expected(accumulators.size()) {
    for (int64_t i = 0; i < c.uops(); ++i) uops.push_back(RandomUop(random, c));
    for (size_t i = 0; i < accumulators.size(); ++i) {
      accumulators[i] = expected[i] = RandomNumbers(random, c.accumulator_bits, numbers);
    }
  }

  const Config config;
  const Encoding encoding;
  Random random;
  struct Command {
    Instruction instruction;
    bool pairs;
  };
  Source<Command> commands;
  const size_t numbers;
  std::vector<Uop> uops;
  std::vector<std::vector<int32_t>> accumulators,
      expected;  // as written so far, and by all commands taken so far
  std::deque<Write> writes;
  uint64_t last_step = 0;  // of the command at hand
  bool busy = false;
};

// Whether the unit takes commands as it should, and writes what and when it should. False: no.
template <typename Model>
bool CheckHandshakeAndWrite(Simulation<Model>& unit, Bench& b) {
  const uint64_t now = unit.Cycle();
  const bool ready = !b.busy || now == b.last_step;
  EXPECT_EQ(unit->command_ready, ready) << "cycle " << now;
  const bool writes = !b.writes.empty() && b.writes.front().cycle == now;
  EXPECT_EQ(unit->write_enable, writes) << "cycle " << now;
  EXPECT_EQ(unit->done, writes && b.writes.front().done) << "cycle " << now;
  if (writes && !testing::Test::HasFailure()) {
    const Write& write = b.writes.front();
    EXPECT_EQ(unit->write_index, write.index) << "cycle " << now;
    EXPECT_EQ(GetNumbers(unit->write_data, b.config.accumulator_bits, b.numbers), write.numbers)
        << "cycle " << now;
    b.accumulators[write.index] = write.numbers;
    b.writes.pop_front();
  }
  if (ready) b.busy = false;
  return !testing::Test::HasFailure();
}

// ---- GEMM.

template <typename Model>
void CheckGemm(const Config& c, uint64_t seed, double stall, bool reuse) {
  Simulation<Model> gemm(seed);
  Bench b(c, seed, stall);
  std::vector<std::vector<int32_t>> inputs, weights;
  for (int64_t i = 0; i < c.inputs(); ++i)
    inputs.push_back(RandomNumbers(b.random, c.input_bits, InputsOf(c)));
  for (int64_t i = 0; i < c.weights(); ++i)
    weights.push_back(RandomNumbers(b.random, c.weight_bits, WeightsOf(c)));
  for (int i = 0; i < 400; ++i) {
    Instruction in = RandomComputation(b.random, c, reuse);
    while (in.opcode != Opcode::kGemm) in = RandomComputation(b.random, c, reuse);
    b.commands.Push({in, false});
  }
  std::deque<uint64_t> steps;
  gemm->command_valid = 0;
  gemm->uop = 0;
  gemm.Reset();
  while (!b.commands.Empty() || !b.writes.empty()) {
    ASSERT_LT(gemm.Cycle(), 100'000u);
    b.commands.Drive();
    gemm->command_valid = b.commands.Valid();
    if (b.commands.Valid())
      SetInstruction(gemm->command_instruction, b.encoding, b.commands.Item().instruction);
    gemm.Settle();
    const bool stepping = !steps.empty() && steps.front() == gemm.Cycle();
    ASSERT_EQ(gemm->step, stepping);
    if (stepping) steps.pop_front();
    const auto before = b.accumulators;  // a read in the cycle of a write finds what was there
    const bool ready = gemm->command_ready;
    ASSERT_TRUE(CheckHandshakeAndWrite(gemm, b));
    if (b.commands.Valid() && ready) {
      uint64_t cycle = gemm.Cycle();
      for (const StepIndices& step : StepsOf(b.commands.Item().instruction, b.uops, c)) {
        steps.push_back(++cycle);
        const std::vector<int64_t> products = ProductsOf(inputs[step.src], weights[step.weight], c);
        std::vector<int32_t>& sums = b.expected[step.dst];
        for (size_t n = 0; n < sums.size(); ++n)
          sums[n] = Wrap(sums[n] + products[n], c.accumulator_bits);
        b.writes.push_back({cycle + 5, step.dst, sums, false});
      }
      b.writes.back().done = true;
      b.last_step = cycle;
      b.busy = true;
    }
    b.commands.Taken(ready);
    const bool reads_uop = gemm->uop_enable, reads_operands = gemm->operands_enable,
               reads = gemm->read_enable;
    const uint32_t uop = gemm->uop_address, input = gemm->input_address,
                   weight = gemm->weight_address, index = gemm->read_index;
    gemm.Step();
    Answer(gemm->uop, reads_uop, UopBytes(b.uops[uop], c), b.random, UopBits(c));
    Answer(gemm->input_data, reads_operands, PackNumbers(inputs[input], c.input_bits), b.random,
           InputsOf(c) * static_cast<size_t>(c.input_bits));
    Answer(gemm->weight_data, reads_operands, PackNumbers(weights[weight], c.weight_bits), b.random,
           WeightsOf(c) * static_cast<size_t>(c.weight_bits));
    Answer(gemm->read_data, reads, PackNumbers(before[index], c.accumulator_bits), b.random,
           b.numbers * static_cast<size_t>(c.accumulator_bits));
  }
  EXPECT_EQ(b.accumulators, b.expected);
}
TEST(VtaDatapath, GemmWithoutStalls) { CheckGemm<Vvta_gemm_small>(Small(), 10, 0, false); }
TEST(VtaDatapath, GemmWithStalls) { CheckGemm<Vvta_gemm_small>(Small(), 20, 0.5, false); }
// The same accumulators in steps one to three cycles apart: results that are not yet written are
// forwarded.
TEST(VtaDatapath, GemmForwards) { CheckGemm<Vvta_gemm_small>(Small(), 30, 0.1, true); }
TEST(VtaDatapath, GemmWithFewAccumulators) {
  for (const double stall : {0.0, 0.5})
    CheckGemm<Vvta_gemm_batch>(FewAccumulators(), 40, stall, true);
}

// ---- ALU.

std::vector<int32_t> Operate(const Instruction& in, const std::vector<int32_t>& x,
                             const std::vector<int32_t>& y, int bits) {
  std::vector<int32_t> result(x.size(), 0);
  if (in.opcode == Opcode::kGemm) return result;  // with `reset`: zeros
  for (size_t n = 0; n < x.size(); ++n) {
    result[n] = Wrap(Calculate(in.alu, x[n], in.use_immediate ? in.immediate : y[n]), bits);
  }
  return result;
}

template <typename Model>
void CheckAlu(const Config& c, uint64_t seed, double stall, bool reuse) {
  Simulation<Model> alu(seed);
  Bench b(c, seed, stall);
  for (int i = 0; i < 400; ++i) {
    Instruction in = RandomComputation(b.random, c, reuse);
    in.reset = in.opcode == Opcode::kGemm;
    b.commands.Push({in, b.random.Below(3) == 0});
  }
  std::deque<std::pair<uint64_t, bool>> steps;  // and whether it clears
  alu->command_valid = 0;
  alu->uop = 0;
  alu.Reset();
  while (!b.commands.Empty() || !b.writes.empty()) {
    ASSERT_LT(alu.Cycle(), 100'000u);
    b.commands.Drive();
    alu->command_valid = b.commands.Valid();
    if (b.commands.Valid()) {
      SetInstruction(alu->command_instruction, b.encoding, b.commands.Item().instruction);
      alu->command_pairs = b.commands.Item().pairs;
    }
    alu.Settle();
    ASSERT_EQ(alu->active, b.busy);
    const bool stepping = !steps.empty() && steps.front().first == alu.Cycle();
    ASSERT_EQ(alu->step, stepping);
    if (stepping) {
      ASSERT_EQ(alu->step_clears, steps.front().second);
      steps.pop_front();
    }
    const auto before = b.accumulators;
    const bool ready = alu->command_ready;
    ASSERT_TRUE(CheckHandshakeAndWrite(alu, b));
    if (b.commands.Valid() && ready) {
      const auto& [in, pairs] = b.commands.Item();
      const bool clears = in.opcode == Opcode::kGemm, late = !clears && !in.use_immediate;
      uint64_t cycle = alu.Cycle() + (late ? 2 : 1);
      for (const StepIndices& step : StepsOf(in, b.uops, c)) {
        steps.emplace_back(cycle, clears);
        const uint32_t src = clears ? 0 : step.src;
        b.expected[step.dst] =
            Operate(in, b.expected[step.dst], b.expected[src], c.accumulator_bits);
        b.writes.push_back({cycle + 4, step.dst, b.expected[step.dst], false});
        b.last_step = cycle;
        cycle += pairs ? 2 : 1;
      }
      b.writes.back().done = true;
      b.busy = true;
    }
    b.commands.Taken(ready);
    const bool reads_uop = alu->uop_enable, reads_first = alu->first_enable,
               reads_second = alu->second_enable;
    const uint32_t uop = alu->uop_address, first = alu->first_index, second = alu->second_index;
    alu.Step();
    const size_t bits = b.numbers * static_cast<size_t>(c.accumulator_bits);
    Answer(alu->uop, reads_uop, UopBytes(b.uops[uop], c), b.random, UopBits(c));
    Answer(alu->first_data, reads_first, PackNumbers(before[first], c.accumulator_bits), b.random,
           bits);
    Answer(alu->second_data, reads_second, PackNumbers(before[second], c.accumulator_bits),
           b.random, bits);
  }
  EXPECT_EQ(b.accumulators, b.expected);
}
TEST(VtaDatapath, AluWithoutStalls) { CheckAlu<Vvta_alu_small>(Small(), 50, 0, false); }
TEST(VtaDatapath, AluWithStalls) { CheckAlu<Vvta_alu_small>(Small(), 60, 0.5, false); }
TEST(VtaDatapath, AluForwards) { CheckAlu<Vvta_alu_small>(Small(), 70, 0.1, true); }
TEST(VtaDatapath, AluOfNarrowNumbers) {
  for (const double stall : {0.0, 0.5}) CheckAlu<Vvta_alu_8>(NarrowAccumulators(), 80, stall, true);
}
TEST(VtaDatapath, AluOfManyNumbers) {
  for (const double stall : {0.0, 0.5}) CheckAlu<Vvta_alu_32>(ManyNumbers(), 90, stall, true);
}

// ---- Accumulators: every cycle reads and writes where no two use one bank; the store stage reads
// anywhere.

// One of the readers: what it must find, and what behind the next edge.
struct Reader {
  std::optional<std::vector<int32_t>> word, next;
};

template <typename Model>
class AccumulatorBench {
 public:
  AccumulatorBench(int index_bits, int banks, uint64_t seed)
      : elements_(size_t{1} << index_bits), banks_(static_cast<size_t>(banks)), random_(seed) {
    contents_.assign(elements_, std::vector<int32_t>(kNumbers, 0));  // at power-up
    memory_->reset = 0;
    Idle();
  }

  // A cycle of random accesses.
  void RunCycle() {
    Idle();
    read_ = {};
    Read(memory_->gemm_read_enable, memory_->gemm_read_index, 0);
    Read(memory_->first_read_enable, memory_->first_read_index, 1);
    Read(memory_->second_read_enable, memory_->second_read_index, 2);
    if (random_.Below(2) == 0) {
      memory_->store_read_enable = 1;
      memory_->store_read_index = static_cast<uint8_t>(random_.Below(elements_));
      readers_[kStore].next = LowBits(contents_[memory_->store_read_index]);
    }
    const auto writes = Writes();
    memory_->reset = random_.Below(20) == 0;
    memory_.Settle();
    Check(memory_->gemm_read_data, 0, kBits);
    Check(memory_->first_read_data, 1, kBits);
    Check(memory_->second_read_data, 2, kBits);
    Check(memory_->store_read_data, kStore, kOutputBits);
    for (const auto& [index, numbers] : writes) {
      if (memory_->reset == 0) contents_[index] = numbers;  // in reset nothing is written
    }
    for (Reader& reader : readers_) {
      if (reader.next.has_value()) reader.word = reader.next;
      reader.next.reset();
    }
    memory_.Step();
  }

 private:
  static constexpr int kBits = 16, kOutputBits = 4;
  static constexpr size_t kNumbers = 3, kStore = 3;

  // No accesses. Nothing reads indices beside an enable that is low.
  void Idle() {
    for (uint8_t* index : {&memory_->gemm_read_index, &memory_->first_read_index,
                           &memory_->second_read_index, &memory_->store_read_index}) {
      *index = static_cast<uint8_t>(random_.Below(elements_));
    }
    memory_->gemm_read_enable = memory_->first_read_enable = memory_->second_read_enable = 0;
    memory_->store_read_enable = 0;
    memory_->gemm_write_enable = memory_->alu_write_enable = memory_->load_write_enable = 0;
  }
  size_t BankOf(uint64_t index) const { return index * banks_ / elements_; }
  static std::vector<int32_t> LowBits(std::vector<int32_t> numbers) {
    for (int32_t& number : numbers) number = Wrap(number, kOutputBits);
    return numbers;
  }
  void Read(uint8_t& enable, uint8_t& index, size_t reader) {
    const uint64_t at = random_.Below(elements_);
    if (random_.Below(4) == 0 || read_[BankOf(at)]) return;
    read_[BankOf(at)] = true;
    enable = 1;
    index = static_cast<uint8_t>(at);
    readers_[reader].next = contents_[at];
  }
  std::vector<std::pair<uint64_t, std::vector<int32_t>>> Writes() {
    std::vector<std::pair<uint64_t, std::vector<int32_t>>> writes;
    std::array<bool, 16> used{};
    const auto write = [&](auto& enable, auto& index, auto& data) {
      const uint64_t at = random_.Below(elements_);
      if (random_.Below(4) == 0 || used[BankOf(at)]) return;
      used[BankOf(at)] = true;
      enable = 1;
      index = static_cast<uint8_t>(at);
      writes.emplace_back(at, RandomNumbers(random_, kBits, kNumbers));
      SetBytes(data, PackNumbers(writes.back().second, kBits));
    };
    write(memory_->gemm_write_enable, memory_->gemm_write_index, memory_->gemm_write_data);
    write(memory_->alu_write_enable, memory_->alu_write_index, memory_->alu_write_data);
    write(memory_->load_write_enable, memory_->load_write_index, memory_->load_write_data);
    return writes;
  }
  template <typename Port>
  void Check(const Port& data, size_t reader, int bits) {
    if (!readers_[reader].word.has_value()) return;
    ASSERT_EQ(GetNumbers(data, bits, kNumbers), *readers_[reader].word) << "reader " << reader;
    // The store stage's stands; another's is there until its bank is read again, by whom ever.
    if (reader != kStore) readers_[reader].word.reset();
  }

  Simulation<Model> memory_;
  const size_t elements_, banks_;
  Random random_;
  std::vector<std::vector<int32_t>> contents_;
  std::array<Reader, 4> readers_;
  std::array<bool, 16> read_{};  // banks in this cycle, the store stage's reads aside
};

TEST(VtaDatapath, AccumulatorsInFourBanks) {
  AccumulatorBench<Vvta_accumulators_4> bench(5, 4, 90);
  for (int i = 0; i < 20'000 && !testing::Test::HasFailure(); ++i) bench.RunCycle();
}
TEST(VtaDatapath, AccumulatorsInOneBank) {
  AccumulatorBench<Vvta_accumulators_1> bench(3, 1, 91);
  for (int i = 0; i < 20'000 && !testing::Test::HasFailure(); ++i) bench.RunCycle();
}
// Two users of one bank are the dispatcher's fault, which the assertions tell.
TEST(VtaDatapath, AccumulatorsComplainOfTwoReadersOfABank) {
  Simulation<Vvta_accumulators_4> memory;
  memory->reset = 0;
  memory->store_read_enable = memory->second_read_enable = 0;
  memory->gemm_write_enable = memory->alu_write_enable = memory->load_write_enable = 0;
  memory->gemm_read_enable = memory->first_read_enable = 1;
  memory->gemm_read_index = 8;
  memory->first_read_index = 16;
  memory.Settle();
  memory.Step();
  EXPECT_FALSE(memory.TakeError());
  memory->first_read_index = 15;
  memory.Settle();
  memory.Step();
  EXPECT_TRUE(memory.TakeError());
  memory->first_read_enable = 0;
  memory->gemm_write_enable = memory->load_write_enable = 1;
  memory->gemm_write_index = 3;
  memory->load_write_index = 4;
  memory.Settle();
  memory.Step();
  EXPECT_TRUE(memory.TakeError());
}

}  // namespace
}  // namespace kiln::rtl
