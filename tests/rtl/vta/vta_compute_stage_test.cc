// Tests the compute stage of the VTA machine as a whole (rtl/vta/kiln_vta_compute_stage.sv). Random
// instructions in front of a memory, tokens and a queue that all stall must leave in the output
// buffer what sequential execution leaves, and retire in order.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "Vvta_compute_stage.h"
#include "Vvta_compute_stage_1.h"
#include "kiln/targets/vta/isa/memory.h"
#include "kiln/targets/vta/simulate/cycle/cycle_data.h"
#include "kiln/targets/vta/simulate/functional/fault_rules.h"
#include "tests/rtl/vta/machine.h"
#include "tests/rtl/vta/units.h"

namespace kiln::rtl {
namespace {

using vta::CycleData;
using vta::DeviceMemory;

constexpr uint32_t kBase = 4096, kUopWords = 512, kDataBytes = 4096;

// Micro-ops of low indices, then numbers.
std::vector<uint8_t> MemoryImage(Random& random, const Config& c) {
  std::vector<uint8_t> image(4 * kUopWords + kDataBytes);
  for (uint8_t& byte : image) byte = static_cast<uint8_t>(random());
  const Encoding encoding(c);
  for (size_t i = 0; i < kUopWords; ++i) {
    Uop uop = RandomUop(random, c);
    uop = {uop.dst / 2, uop.src % static_cast<uint32_t>(c.accumulators()) / 2, uop.weight / 2};
    const uint32_t word = encoding.EncodeUop(uop);
    for (size_t byte = 0; byte < 4; ++byte)
      image[4 * i + byte] = static_cast<uint8_t>(word >> (8 * byte));
  }
  return image;
}

// A load that stays inside its buffer and the image.
Instruction RandomLoad(Random& random, const Config& c) {
  while (true) {
    Instruction in = RandomTransfer(random);
    in.opcode = Opcode::kLoad;
    in.memory =
        std::array{Memory::kUop, Memory::kAccumulator, Memory::kAccumulator8}[random.Below(3)];
    in.x_stride = static_cast<uint32_t>(random.Below(8));
    in.sram_base =
        static_cast<uint32_t>(random.Below(static_cast<uint64_t>(vta::ElementsOf(in.memory, c))));
    const auto bytes = static_cast<uint32_t>(ElementBytes(in.memory, c));
    const uint32_t begin = in.memory == Memory::kUop ? kBase : kBase + 4 * kUopWords;
    const uint32_t size = in.memory == Memory::kUop ? 4 * kUopWords : kDataBytes;
    in.dram_base = (begin + static_cast<uint32_t>(random.Below(size / 2))) / bytes;
    in.push_next = false;
    if (in.dram_base * bytes < begin || FindStaticFault(in, 0, c).has_value()) continue;
    return in;
  }
}

template <typename Model>
class ComputeBench {
 public:
  ComputeBench(const Config& c, uint64_t seed, double stall)
      : config_(c),
        encoding_(c),
        random_(seed),
        image_(MemoryImage(random_, c)),
        memory_(kBase, image_),
        data_(c),
        stall_(stall),
        queue_(Stalls(seed + 1, stall, Stalls::Kind::kBursts)),
        request_stalls_(seed + 2, stall),
        word_stalls_(seed + 3, stall, Stalls::Kind::kBursts),
        stage_(seed) {
    stage_->queue_valid = stage_->word_valid = stage_->request_ready = stage_->store_read_enable =
        0;
    stage_->load_token_there = stage_->store_token_there = 0;
    stage_->uop_base = stage_->accumulator_base = 0;
    stage_.Reset();
    FillOperands();
  }

  // So many instructions, done in the model one after the other.
  void Push(int count) {
    for (int i = 0; i < count; ++i) Push(RandomInstruction());
    Instruction finish;
    finish.opcode = Opcode::kFinish;
    Push(finish);
  }
  // One that reaches beyond the accumulators, whatever its micro-op says.
  void PushBeyond() {
    Instruction in;
    in.opcode = Opcode::kAlu;
    in.use_immediate = true;
    in.uop_end = 1;
    in.outer = 100;
    in.inner = 1;
    in.dst_outer = in.src_outer = 1;
    queue_.Push(in);
  }

  void Run() {
    while (!queue_.Empty() || !retiring_.empty()) {
      ASSERT_LT(stage_.Cycle(), 1'000'000u);
      RunCycle();
      if (testing::Test::HasFailure()) return;
    }
    CheckOutputs();
  }
  // Until the stage says that the head leaves its buffers.
  bool RunToFault() {
    for (int i = 0; i < 10'000; ++i) {
      RunCycle();
      if (stage_->fault_valid != 0) return true;
    }
    return false;
  }
  size_t most_under_way() const { return most_under_way_; }

 private:
  // Words of the load stage come by the same port.
  void PutWord(Memory memory, uint32_t element, const std::vector<uint8_t>& bytes) {
    stage_->word_valid = 1;
    SetBytes(stage_->word_data, bytes);
    stage_->word_tag = BitsOf(
        {false, false, false, false, element, static_cast<uint32_t>(memory), 0, /*source=*/2});
    stage_.Settle();
    stage_.Step();
    stage_->word_valid = 0;
  }
  void FillOperands() {
    for (const Memory memory : {Memory::kInput, Memory::kWeight}) {
      Instruction in;
      in.opcode = Opcode::kLoad;
      in.memory = memory;
      in.y_size = 1;
      in.x_size = in.x_stride = static_cast<uint32_t>(vta::ElementsOf(memory, config_));
      const auto bytes = static_cast<uint32_t>(ElementBytes(memory, config_));
      in.dram_base = (kBase + 4 * kUopWords) / bytes;
      data_.Load(in, memory_);
      for (uint32_t i = 0; i < in.x_size; ++i) {
        const uint8_t* from = memory_.At((in.dram_base + i) * uint64_t{bytes}, bytes);
        PutWord(memory, i, {from, from + bytes});
      }
    }
  }

  Instruction RandomInstruction() {
    while (true) {
      Instruction in = random_.Below(3) == 0
                           ? RandomLoad(random_, config_)
                           : RandomComputation(random_, config_, random_.Below(2) == 0);
      in.pop_previous = random_.Below(4) == 0;
      in.pop_next = random_.Below(4) == 0;
      in.push_previous = random_.Below(4) == 0;
      in.push_next = random_.Below(4) == 0;
      if (in.opcode == Opcode::kLoad) return in;
      for (uint32_t* factor : {&in.dst_outer, &in.dst_inner, &in.src_outer, &in.src_inner,
                               &in.weight_outer, &in.weight_inner}) {
        *factor %= 4;
      }
      if (in.opcode == Opcode::kAlu) in.weight_outer = in.weight_inner = 0;
      if (!FindRangeFault(in, 0, vta::MaximumOf(data_.UopsOf(in)), config_).has_value()) return in;
    }
  }
  void Push(const Instruction& in) {
    if (in.opcode == Opcode::kLoad && !IsNop(in)) data_.Load(in, memory_);
    if (in.opcode == Opcode::kGemm || in.opcode == Opcode::kAlu) data_.Compute(in);
    queue_.Push(in);
  }

  uint32_t BanksOf(const Instruction& in) const {
    if (in.opcode != Opcode::kLoad || in.memory == Memory::kUop || in.x_size == 0) return 0;
    uint32_t banks = 0;
    for (uint64_t i = 0; i < RectangleOf(in); ++i) {
      banks |= 1u << ((in.sram_base + i) / static_cast<uint64_t>(config_.accumulators_of_bank()));
    }
    return banks;
  }

  struct Request {
    uint32_t address, bytes;
    uint64_t tag;
  };

  void RunCycle() {
    queue_.Drive();
    stage_->queue_valid = queue_.Valid();
    if (queue_.Valid()) {
      SetInstruction(stage_->queue_instruction, encoding_, queue_.Item());
      stage_->queue_number = static_cast<uint32_t>(dispatched_);
      stage_->queue_banks = static_cast<uint8_t>(BanksOf(queue_.Item()));
    }
    stage_->load_token_there = random_.Uniform() >= stall_ / 2;
    stage_->store_token_there = random_.Uniform() >= stall_ / 2;
    stage_->request_ready = !request_stalls_.Next();
    const bool word = !requests_.empty() && !word_stalls_.Next();
    stage_->word_valid = word;
    if (word) {
      const Request& request = requests_.front();
      std::vector<uint8_t> bytes(16, 0xa5);  // of padding, whatever comes
      if (request.bytes > 0)
        std::copy_n(memory_.At(request.address, request.bytes), request.bytes, bytes.begin());
      SetBytes(stage_->word_data, bytes);
      stage_->word_tag = request.tag;
    }
    stage_.Settle();
    Check();
    if (word) requests_.pop_front();
    if (stage_->request_valid && stage_->request_ready) {
      requests_.push_back({stage_->request_address, stage_->request_bytes, stage_->request_tag});
    }
    stage_.Step();
  }

  void Check() {
    const bool dispatched = queue_.Valid() && stage_->queue_ready != 0;
    ASSERT_EQ(stage_->pending, !retiring_.empty());
    ASSERT_TRUE(stage_->retired == 0 || !retiring_.empty());
    const Instruction retired =
        stage_->retired != 0 ? retiring_.front() : Instruction{.opcode = Opcode::kLoad};
    ASSERT_EQ(stage_->load_token_give, retired.push_previous) << "cycle " << stage_.Cycle();
    ASSERT_EQ(stage_->store_token_give, retired.push_next) << "cycle " << stage_.Cycle();
    ASSERT_EQ(stage_->finish, retired.opcode == Opcode::kFinish);
    ASSERT_EQ(stage_->load_token_take, dispatched && queue_.Item().pop_previous);
    ASSERT_EQ(stage_->store_token_take, dispatched && queue_.Item().pop_next);
    if (stage_->retired != 0) retiring_.pop_front();
    if (dispatched) {
      retiring_.push_back(queue_.Item());
      ++dispatched_;
    }
    most_under_way_ = std::max(most_under_way_, retiring_.size());
    queue_.Taken(dispatched);
  }

  // The whole output buffer, by the store stage's port.
  void CheckOutputs() {
    Instruction store;
    store.opcode = Opcode::kStore;
    store.memory = Memory::kOutput;
    store.x_size = store.x_stride = static_cast<uint32_t>(config_.accumulators());
    store.y_size = 1;
    const auto bytes = static_cast<uint32_t>(config_.output_element_bytes());
    DeviceMemory expected(
        kBase, std::vector<uint8_t>(static_cast<size_t>(config_.accumulators()) * bytes));
    store.dram_base = kBase / bytes;
    data_.Store(store, expected);
    for (uint32_t i = 0; i < store.x_size; ++i) {
      stage_->store_read_enable = 1;
      stage_->store_read_index = static_cast<uint8_t>(i);
      stage_.Settle();
      stage_.Step();
      const uint8_t* element = expected.At(kBase + uint64_t{i} * bytes, bytes);
      ASSERT_EQ(GetBytes(stage_->store_read_data, bytes),
                std::vector<uint8_t>(element, element + bytes))
          << "element " << i;
    }
    stage_->store_read_enable = 0;
  }

  const Config config_;
  const Encoding encoding_;
  Random random_;
  const std::vector<uint8_t> image_;
  DeviceMemory memory_;
  CycleData data_;
  const double stall_;
  Source<Instruction> queue_;
  Stalls request_stalls_, word_stalls_;
  Simulation<Model> stage_;
  std::deque<Request> requests_;
  std::deque<Instruction> retiring_;
  uint64_t dispatched_ = 0;
  size_t most_under_way_ = 0;
};

template <typename Model>
void CheckComputeStage(const Config& c, double stall) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    ComputeBench<Model> bench(c, seed, stall);
    // What a program leaves is the next one's.
    for (int program = 0; program < 5; ++program) {
      bench.Push(60);
      bench.Run();
      if (testing::Test::HasFailure()) return;
    }
    EXPECT_GT(bench.most_under_way(), 3u);
    bench.PushBeyond();
    EXPECT_TRUE(bench.RunToFault());
  }
}

Config OneBank() {
  Config c = Small();
  c.accumulator_banks = 1;
  c.accumulator_bits = 16;
  c.accumulator_buffer_bytes = 512;
  return c;
}

TEST(VtaComputeStage, WithoutStalls) { CheckComputeStage<Vvta_compute_stage>(Small(), 0); }
TEST(VtaComputeStage, WithStalls) { CheckComputeStage<Vvta_compute_stage>(Small(), 0.5); }
TEST(VtaComputeStage, OfOneBank) {
  for (const double stall : {0.0, 0.5}) CheckComputeStage<Vvta_compute_stage_1>(OneBank(), stall);
}

}  // namespace
}  // namespace kiln::rtl
