// Tests the units that move instructions and data through the VTA machine: fetch, tokens, load
// stage, store stage, the read side of the memory port. Each is compared, behind random stalls on
// all its handshakes, with a model that predicts every cycle.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "Vvta_fetch.h"
#include "Vvta_load_stage.h"
#include "Vvta_reads.h"
#include "Vvta_store_stage.h"
#include "Vvta_tokens.h"
#include "kiln/targets/vta/simulate/functional/fault_rules.h"
#include "rtl/testbench/kiln_axi_memory.h"
#include "tests/rtl/vta/machine.h"
#include "tests/rtl/vta/units.h"

namespace kiln::rtl {
namespace {

using vta::FindStaticFault;

constexpr uint32_t kPage = 4096;  // no memory below

// ---- Tokens.

TEST(VtaStages, TokensAreCounted) {
  for (const double give : {0.2, 0.5, 0.9}) {
    Simulation<Vvta_tokens> tokens;
    Random random(static_cast<uint64_t>(10 * give));
    std::array<uint64_t, 4> counts{};
    std::array<int, 4> empty{};
    const auto gives = [&] { return random.Uniform() < give ? 1 : 0; };
    tokens->load_to_compute_give = tokens->compute_to_load_give = 0;
    tokens->compute_to_store_give = tokens->store_to_compute_give = 0;
    tokens->load_to_compute_take = tokens->compute_to_load_take = 0;
    tokens->compute_to_store_take = tokens->store_to_compute_take = 0;
    tokens.Reset();
    for (int i = 0; i < 5'000; ++i) {
      const std::array<bool, 4> there = {
          tokens->load_to_compute_there != 0, tokens->compute_to_load_there != 0,
          tokens->compute_to_store_there != 0, tokens->store_to_compute_there != 0};
      std::array<uint8_t, 4> given{}, taken{};
      for (size_t link = 0; link < 4; ++link) {
        ASSERT_EQ(there[link], counts[link] > 0) << "link " << link << ", cycle " << tokens.Cycle();
        empty[link] += there[link] ? 0 : 1;
        given[link] = static_cast<uint8_t>(gives());
        taken[link] = there[link] && random.Below(2) == 0;  // what is not there nobody takes
        counts[link] += given[link];
        counts[link] -= taken[link];
      }
      tokens->load_to_compute_give = given[0];
      tokens->compute_to_load_give = given[1];
      tokens->compute_to_store_give = given[2];
      tokens->store_to_compute_give = given[3];
      tokens->load_to_compute_take = taken[0];
      tokens->compute_to_load_take = taken[1];
      tokens->compute_to_store_take = taken[2];
      tokens->store_to_compute_take = taken[3];
      tokens.Settle();
      tokens.Step();
    }
    for (const int cycles : empty) EXPECT_GT(cycles, 0);
  }
}

// An instruction in a stage's queue.
struct Queued {
  Instruction instruction;
  uint32_t number;
};

// ---- Load stage.

void CheckLoadStage(uint64_t seed, double stall) {
  const Config config = Small();
  const Encoding encoding(config);
  Simulation<Vvta_load_stage> stage(seed);
  Random random(seed);
  Source<Queued> queue(Stalls(seed + 1, stall, Stalls::Kind::kBursts));
  Stalls port(seed + 2, stall);
  const uint32_t input_base = 0x10000000, weight_base = 0x20000000;
  for (uint32_t i = 0; i < 500; ++i) {
    Instruction in = RandomTransfer(random);
    in.opcode = Opcode::kLoad;
    in.memory = random.Below(2) == 0 ? Memory::kInput : Memory::kWeight;
    in.pop_next = random.Below(3) == 0;
    queue.Push({in, i * 77});
  }
  stage->queue_valid = stage->token_there = stage->request_ready = 0;
  stage->input_base = input_base;
  stage->weight_base = weight_base;
  stage.Reset();
  std::deque<Element> requests;  // still to be made by the instruction that has started
  Queued started{};
  uint64_t tokens = 0;
  int waited = 0;
  while (!queue.Empty() || !requests.empty()) {
    ASSERT_LT(stage.Cycle(), 200'000u);
    queue.Drive();
    stage->queue_valid = queue.Valid();
    if (queue.Valid()) {
      SetInstruction(stage->queue_instruction, encoding, queue.Item().instruction);
      stage->queue_number = queue.Item().number;
    }
    stage->token_there = tokens > 0;
    stage->request_ready = !port.Next();
    stage.Settle();
    const bool busy = !requests.empty(), wants = queue.Valid() && queue.Item().instruction.pop_next;
    const bool starts = queue.Valid() && !busy && (!wants || tokens > 0);
    ASSERT_EQ(stage->busy, busy);
    ASSERT_EQ(stage->queue_ready, starts) << "cycle " << stage.Cycle();
    ASSERT_EQ(stage->token_take, starts && wants);
    ASSERT_EQ(stage->request_valid, busy);
    waited += queue.Valid() && !busy && !starts ? 1 : 0;
    if (busy) {
      const Element& expected = requests.front();
      const ReadTag tag = ReadTagOf(stage->request_tag);
      ASSERT_EQ(tag.source, 2u);
      ASSERT_EQ(tag.number, started.number);
      ASSERT_EQ(tag.last, expected.last);
      ASSERT_EQ(tag.push_next, started.instruction.push_next);
      ASSERT_EQ(tag.empty, expected.empty);
      ASSERT_EQ(stage->request_bytes, expected.bytes);
      if (!expected.empty) {
        ASSERT_EQ(tag.memory, static_cast<uint32_t>(started.instruction.memory));
        ASSERT_EQ(tag.element, expected.index);
        ASSERT_EQ(tag.padding, expected.padding);
      }
      if (!expected.padding) {
        ASSERT_EQ(stage->request_address,
                  expected.address | (tag.memory == 2 ? input_base : weight_base));
      }
      if (stage->request_ready != 0) requests.pop_front();
    }
    if (starts) {
      started = queue.Item();
      for (const Element& element : ElementsOf(started.instruction, config))
        requests.push_back(element);
      tokens -= wants ? 1 : 0;
    }
    queue.Taken(starts);
    tokens += random.Below(40) == 0 ? 1 : 0;  // seen in the next cycle
    stage.Step();
  }
  EXPECT_GT(waited, 50);  // for tokens
}
TEST(VtaStages, LoadsWithoutStalls) { CheckLoadStage(1, 0); }
TEST(VtaStages, LoadsWithStalls) { CheckLoadStage(2, 0.4); }

// ---- Store stage.

class StoreBench {
 public:
  StoreBench(uint64_t seed, double stall, uint32_t output_base)
      : output_base_(output_base),
        config_(Small()),
        encoding_(config_),
        random_(seed),
        queue_(Stalls(seed + 1, stall, Stalls::Kind::kBursts)),
        port_stalls_(seed + 2, stall),
        stage_(seed) {
    Reset();
  }

  void Push(const Instruction& in) { queue_.Push({in, static_cast<uint32_t>(random_())}); }
  bool Idle() const { return queue_.Empty() && !started_.has_value() && writes_.empty(); }
  int faults() const { return faults_; }
  int empty_waits() const { return empty_waits_; }

  void RunCycle() {
    queue_.Drive();
    stage_->queue_valid = queue_.Valid();
    if (queue_.Valid()) {
      SetInstruction(stage_->queue_instruction, encoding_, queue_.Item().instruction);
      stage_->queue_number = queue_.Item().number;
    }
    stage_->token_there = tokens_ > 0;
    DrivePort();
    stage_.Settle();
    CheckRequests();
    CheckStart();
    if (testing::Test::HasFailure()) return;
    EndCycle();
  }

 private:
  struct Write {
    uint64_t number;
    bool last, push_previous;
  };

  // Responses come in order, at random.
  void DrivePort() {
    stage_->request_ready = !port_stalls_.Next();
    stage_->port_idle = writes_.empty();
    stage_->port_done = !writes_.empty() && random_.Below(6) == 0;
    if (stage_->port_done != 0) {
      const Write& write = writes_.front();
      stage_->port_done_tag =
          write.number << 2 | uint64_t{write.last} << 1 | uint64_t{write.push_previous};
    } else {
      stage_->port_done_tag = random_() & ((uint64_t{1} << 34) - 1);
    }
  }

  bool empty() const {
    return started_->instruction.x_size == 0 || started_->instruction.y_size == 0;
  }
  uint32_t Address() const {
    const Instruction& in = started_->instruction;
    return (static_cast<uint32_t>(RowAddress(in, element_ / in.x_size, config_)) +
            element_ % in.x_size * 4) |
           output_base_;
  }

  void CheckRequests() {
    const bool busy = started_.has_value();
    const bool requests = busy && !empty() && read_;
    const bool nowhere = requests && Address() < kPage;
    last_ = busy && !empty() &&
            element_ + 1 == started_->instruction.x_size * started_->instruction.y_size;
    ASSERT_EQ(stage_->busy, busy) << "cycle " << stage_.Cycle();
    ASSERT_EQ(stage_->request_valid, requests && !nowhere) << "cycle " << stage_.Cycle();
    ASSERT_EQ(stage_->fault_valid, nowhere);
    taken_ = requests && !nowhere && stage_->request_ready != 0;
    if (nowhere) {
      ASSERT_EQ(stage_->fault_number, started_->number);
    }
    if (requests && !nowhere) {
      ASSERT_EQ(stage_->request_address, Address());
      const uint64_t tag = stage_->request_tag;
      ASSERT_EQ(tag >> 2, started_->number);
      ASSERT_EQ((tag >> 1 & 1) != 0, last_);
      ASSERT_EQ((tag & 1) != 0, started_->instruction.push_previous);
    }
    // The first is read in the cycle behind the start, each other one when the one before is taken.
    const bool reads = busy && !empty() && ((!read_ && !nowhere) || (taken_ && !last_));
    ASSERT_EQ(stage_->read_enable, reads) << "cycle " << stage_.Cycle();
    if (reads) {
      ASSERT_EQ(stage_->read_index,
                (started_->instruction.sram_base + element_ + (read_ ? 1 : 0)) % 64);
    }
    nowhere_ = nowhere;
  }

  void CheckStart() {
    const bool wants = queue_.Valid() && queue_.Item().instruction.pop_previous;
    starts_ = queue_.Valid() && !started_.has_value() && (!wants || tokens_ > 0);
    ASSERT_EQ(stage_->queue_ready, starts_) << "cycle " << stage_.Cycle();
    ASSERT_EQ(stage_->token_take, starts_ && wants);
    empty_done_ = started_.has_value() && empty() && writes_.empty();
    empty_waits_ += started_.has_value() && empty() && !writes_.empty() ? 1 : 0;
    const bool written = stage_->port_done != 0 && writes_.front().last;
    ASSERT_EQ(stage_->done, empty_done_ || written) << "cycle " << stage_.Cycle();
    ASSERT_EQ(stage_->token_give, (empty_done_ && started_->instruction.push_previous) ||
                                      (written && writes_.front().push_previous));
  }

  void EndCycle() {
    if (stage_->port_done != 0) writes_.pop_front();
    if (started_.has_value() && !empty()) {
      if (taken_) {
        writes_.push_back({started_->number, last_, started_->instruction.push_previous});
        ++element_;
      }
      read_ = true;
    }
    if (empty_done_ || (taken_ && last_)) started_.reset();
    if (starts_) {
      tokens_ -= queue_.Item().instruction.pop_previous ? 1 : 0;
      started_ = queue_.Item();
      element_ = 0;
      read_ = false;
    }
    queue_.Taken(starts_);
    tokens_ += random_.Below(8) == 0 ? 1 : 0;
    stage_.Step();
    if (!nowhere_) return;
    ++faults_;
    Reset();
  }

  void Reset() {
    started_.reset();
    writes_.clear();
    stage_->queue_valid = stage_->port_done = stage_->request_ready = 0;
    stage_->port_idle = 1;
    stage_->output_base = output_base_;
    stage_.Reset();
  }

  const uint32_t output_base_;
  const Config config_;
  const Encoding encoding_;
  Random random_;
  Source<Queued> queue_;
  Stalls port_stalls_;
  Simulation<Vvta_store_stage> stage_;
  uint64_t tokens_ = 0;
  std::optional<Queued> started_;
  uint32_t element_ = 0;  // the one that is read, or a request
  bool read_ = false;     // it is a request
  std::deque<Write> writes_;
  // Of this cycle.
  bool taken_ = false, last_ = false, starts_ = false, empty_done_ = false, nowhere_ = false;
  int faults_ = 0, empty_waits_ = 0;
};

void CheckStoreStage(uint64_t seed, double stall, uint32_t output_base) {
  StoreBench bench(seed, stall, output_base);
  Random random(seed);
  for (int i = 0; i < 1'500; ++i) {
    Instruction in = RandomTransfer(random);
    in.opcode = Opcode::kStore;
    in.memory = Memory::kOutput;
    in.x_pad_before = in.x_pad_after = in.y_pad_before = in.y_pad_after = 0;
    in.push_next = false;
    in.pop_previous = random.Below(3) == 0;
    in.push_previous = random.Below(2) == 0;
    if (random.Below(50) == 0) in.dram_base = static_cast<uint32_t>(random.Below(kPage / 4));
    bench.Push(in);
  }
  for (int i = 0; !bench.Idle() && !testing::Test::HasFailure(); ++i) {
    ASSERT_LT(i, 200'000);
    bench.RunCycle();
  }
  EXPECT_GT(bench.faults(), 10);
  EXPECT_GT(bench.empty_waits(), 10);
}
TEST(VtaStages, StoresWithoutStalls) { CheckStoreStage(3, 0, 0); }
TEST(VtaStages, StoresWithStalls) { CheckStoreStage(4, 0.4, 0x550); }

// ---- Fetch.

class FetchBench {
 public:
  static constexpr uint32_t kDepth = 16, kStanding = 8;

  FetchBench(uint64_t seed, double stall)
      : config_(Small()),
        encoding_(config_),
        random_(seed),
        port_stalls_(seed + 1, stall),
        hand_stalls_{Stalls(seed + 2, stall, Stalls::Kind::kBursts),
                     Stalls(seed + 3, stall, Stalls::Kind::kBursts),
                     Stalls(seed + 4, stall, Stalls::Kind::kBursts)},
        word_stalls_(seed + 5, 0.3, Stalls::Kind::kBursts),
        fetch_(seed) {}

  // A launch of `count` instructions, one in so many of which no stage can execute (0: none). It
  // ends with the last one handed on, or at the first of those.
  void Launch(size_t count, uint64_t faulty) {
    program_.clear();
    while (program_.size() < count) {
      const Instruction in =
          random_.Below(2) == 0 ? RandomTransfer(random_) : RandomFields(random_, config_);
      if (FindStaticFault(in, 0, config_).has_value() !=
          (faulty != 0 && random_.Below(faulty) == 0))
        continue;
      program_.push_back(in);
    }
    requested_ = handed_ = 0;
    standing_ = {};
    under_way_.clear();
    words_.clear();
    fetch_->instructions = static_cast<uint32_t>(count);
    address_ = fetch_->address = static_cast<uint32_t>(random_()) & ~15u;
    fetch_->word_valid = fetch_->hand_ready = fetch_->request_ready = fetch_->started = 0;
    fetch_.Reset();
    for (int stopped = 0; stopped < 50 && !testing::Test::HasFailure();) {
      ASSERT_LT(fetch_.Cycle(), 20'000u);
      RunCycle();
      stopped += handed_ == program_.size() || fetch_->fault != 0 ? 1 : 0;
    }
  }
  uint64_t most_under_way() const { return most_under_way_; }
  int faults() const { return faults_; }
  int lasts() const { return lasts_; }  // cycles in which its request came last
  // cycles in which such an instruction was the oldest
  int loads_of_accumulators() const { return loads_of_accumulators_; }

  // Nothing is handed on before this cycle of a launch.
  uint64_t blocked_until = 0;

 private:
  void RunCycle() {
    fetch_->request_ready = !port_stalls_.Next();
    uint8_t ready = 0;
    for (size_t s = 0; s < 3; ++s)
      ready = static_cast<uint8_t>(ready | (hand_stalls_[s].Next() ? 0 : 1u << s));
    fetch_->hand_ready = fetch_.Cycle() < blocked_until ? uint8_t{0} : ready;
    fetch_->started = 0;
    const size_t standing = standing_[0] + standing_[1] + standing_[2];
    for (size_t s = 0; s < 3; ++s) {
      if (standing_[s] == 0 || random_.Below(8) > 0) continue;
      fetch_->started = static_cast<uint8_t>(fetch_->started | 1u << s);
      --standing_[s];
    }
    const bool word = !under_way_.empty() && !word_stalls_.Next();
    fetch_->word_valid = word;
    if (word) SetInstruction(fetch_->word_data, encoding_, program_[under_way_.front()]);
    fetch_.Settle();

    const uint64_t outstanding = requested_ - handed_;
    const bool requests = requested_ < program_.size() && outstanding < kDepth;
    ASSERT_EQ(fetch_->request_valid, requests) << "cycle " << fetch_.Cycle();
    if (requests) {
      ASSERT_EQ(fetch_->request_address, address_ + 16 * static_cast<uint32_t>(requested_));
      ASSERT_EQ(ReadTagOf(fetch_->request_tag).number, requested_);
      ASSERT_EQ(ReadTagOf(fetch_->request_tag).source, 0u);
    }
    ASSERT_EQ(fetch_->request_last, standing >= kStanding) << "cycle " << fetch_.Cycle();
    lasts_ += standing >= kStanding ? 1 : 0;
    ASSERT_EQ(fetch_->all_handed, handed_ == program_.size());
    bool hands = false;
    if (words_.empty()) {
      ASSERT_EQ(fetch_->hand_valid, 0);
      ASSERT_EQ(fetch_->fault, 0);
    } else {
      CheckHead(&hands);
    }
    most_under_way_ = std::max(most_under_way_, outstanding);

    if (hands) {
      ++standing_[static_cast<size_t>(StageOf(program_[words_.front()]))];
      words_.pop_front();
      ++handed_;
    }
    if (word) {
      words_.push_back(under_way_.front());
      under_way_.pop_front();
    }
    if (requests && fetch_->request_ready != 0) under_way_.push_back(requested_++);
    fetch_.Step();
    fetch_->word_valid = 0;
    fetch_.Settle();
  }

  void CheckHead(bool* hands) {
    const Instruction& in = program_[words_.front()];
    const auto fault = FindStaticFault(in, 0, config_);
    ASSERT_EQ(fetch_->fault, CodeOf(fault));
    ASSERT_EQ(fetch_->hand_number, words_.front());
    faults_ += fault.has_value() ? 1 : 0;
    if (fault.has_value()) {
      ASSERT_EQ(fetch_->hand_valid, 0);
      return;
    }
    const auto stage = static_cast<uint32_t>(StageOf(in));
    ASSERT_EQ(fetch_->hand_valid, 1u << stage);
    ASSERT_EQ(GetBytes(fetch_->hand_instruction, 16), BytesOf(encoding_.Encode(in)));
    ASSERT_EQ(fetch_->hand_banks, BanksOf(in, config_)) << "instruction " << words_.front();
    loads_of_accumulators_ += fetch_->hand_banks != 0 ? 1 : 0;
    *hands = (fetch_->hand_ready >> stage & 1) != 0;
  }

  const Config config_;
  const Encoding encoding_;
  Random random_;
  Stalls port_stalls_;
  std::array<Stalls, 3> hand_stalls_;
  Stalls word_stalls_;
  Simulation<Vvta_fetch> fetch_;
  std::vector<Instruction> program_;
  uint32_t address_ = 0;
  uint64_t requested_ = 0, handed_ = 0;
  std::deque<uint64_t> under_way_, words_;  // numbers of instructions: on their way, and here
  std::array<size_t, 3> standing_{};        // in the stages' queues
  uint64_t most_under_way_ = 0;
  int faults_ = 0, lasts_ = 0, loads_of_accumulators_ = 0;
};

TEST(VtaStages, FetchHandsOnInOrder) {
  for (const double stall : {0.0, 0.5}) {
    FetchBench bench(5, stall);
    for (const size_t count : {0u, 1u, 15u, 16u, 17u, 300u}) {
      bench.Launch(count, 0);
      if (testing::Test::HasFailure()) return;
    }
    EXPECT_EQ(bench.most_under_way(), FetchBench::kDepth);
    EXPECT_GT(bench.lasts(), 50);
    EXPECT_GT(bench.loads_of_accumulators(), 10);
  }
}
TEST(VtaStages, FetchStopsAtWhatNoStageCanExecute) {
  FetchBench bench(6, 0.3);
  for (int i = 0; i < 100 && !testing::Test::HasFailure(); ++i) bench.Launch(40, 10);
  EXPECT_GT(bench.faults(), 1'000);
}
TEST(VtaStages, FetchAsksForNoMoreThanItHasRoomFor) {
  FetchBench bench(7, 0);
  bench.blocked_until = 500;  // full long before
  bench.Launch(100, 0);
  EXPECT_EQ(bench.most_under_way(), FetchBench::kDepth);
}

// ---- Reads.

constexpr uint32_t kBytes = 1 << 16, kLatency = 12, kPortBytes = 8;

struct Request {
  uint32_t address, bytes;
  ReadTag tag;
};

class ReadsBench {
 public:
  ReadsBench(uint64_t seed, double stall, const AxiTiming& timing)
      : ideal_(timing.stall_ar == 0),
        random_(seed),
        memory_(kBytes, timing),
        port_(&memory_, kPortBytes, seed),
        sources_{Source<Request>(Stalls(seed + 1, stall)), Source<Request>(Stalls(seed + 2, stall)),
                 Source<Request>(Stalls(seed + 3, stall))},
        reads_(seed) {
    for (uint8_t& byte : memory_.bytes()) byte = static_cast<uint8_t>(random_());
    reads_->enable = 1;
    reads_->fetch_last = 0;
    reads_->request_valid = 0;
    reads_->axi_arready = reads_->axi_rvalid = 0;
    reads_.Reset();
  }

  void Push(size_t source, uint32_t address, uint32_t bytes) {
    ReadTag tag{random_.Below(2) == 0,
                random_.Below(2) == 0,
                false,
                bytes == 0,
                static_cast<uint32_t>(random_.Below(1 << 16)),
                static_cast<uint32_t>(random_.Below(6)),
                static_cast<uint32_t>(random_()),
                static_cast<uint32_t>(source)};
    sources_[source].Push({address, bytes, tag});
  }
  void PushRandom(size_t source) {
    const uint32_t bytes =
        source == 0 ? 16 : std::array<uint32_t, 4>{0, 4, 8, 16}[random_.Below(4)];
    const uint32_t step =
        std::max(bytes, 4u) / (random_.Below(2) == 0 ? 1 : std::max(bytes, 4u) / 4);
    const auto address = static_cast<uint32_t>(random_.Between(kPage, kBytes - 16)) / step * step;
    Push(source, std::max(address, kPage), bytes);
  }
  bool Idle() const {
    return sources_[0].Empty() && sources_[1].Empty() && sources_[2].Empty() && expected_.empty();
  }
  testbench::AxiMemory& memory() { return memory_; }
  Simulation<Vvta_reads>& reads() { return reads_; }
  int waits() const { return waits_; }
  std::optional<uint32_t> fault() const { return fault_; }

  bool enable = true;

  void RunCycle() {
    DriveSources();
    reads_->enable = enable;
    reads_->fetch_last = random_.Below(2) == 0;
    KILN_AXI_DRIVE_READ(*reads_, axi, port_);
    reads_.Settle();
    const uint64_t now = reads_.Cycle();
    ASSERT_EQ(reads_->idle, expected_.empty()) << "cycle " << now;
    if (reads_->fault_valid != 0 && !fault_.has_value()) fault_ = reads_->fault_number;
    CheckWord();
    CheckGrant();
    if (testing::Test::HasFailure()) return;
    KILN_AXI_SAMPLE_READ(*reads_, axi, port_);
    reads_.Step();
  }

 private:
  struct Word {
    Request request;
    uint64_t cycle;  // behind an ideal memory
  };

  void DriveSources() {
    std::vector<uint8_t> addresses, tags;
    std::vector<int32_t> bytes;
    std::array<uint64_t, 3> tag_bits{};
    valid_ = 0;
    for (size_t s = 0; s < 3; ++s) {
      sources_[s].Drive();
      const Request request = sources_[s].Valid() ? sources_[s].Item() : Request{0xfedcba98, 9, {}};
      valid_ |= sources_[s].Valid() ? 1u << s : 0;
      for (int i = 0; i < 4; ++i)
        addresses.push_back(static_cast<uint8_t>(request.address >> (8 * i)));
      bytes.push_back(static_cast<int32_t>(request.bytes));
      tag_bits[s] = BitsOf(request.tag);
    }
    constexpr size_t kTagBits = 57;
    tags.assign(sizeof reads_->request_tag, 0);
    for (size_t bit = 0; bit < 3 * kTagBits; ++bit) {
      const auto value = tag_bits[bit / kTagBits] >> (bit % kTagBits) & 1;
      tags[bit / 8] = static_cast<uint8_t>(tags[bit / 8] | (value << (bit % 8)));
    }
    reads_->request_valid = static_cast<uint8_t>(valid_);
    SetBytes(reads_->request_address, addresses);
    SetBytes(reads_->request_bytes, PackNumbers(bytes, 5));
    SetBytes(reads_->request_tag, tags);
  }

  void CheckWord() {
    const uint64_t now = reads_.Cycle();
    if (ideal_) {
      ASSERT_EQ(reads_->word_valid, !expected_.empty() && expected_.front().cycle == now)
          << "cycle " << now;
    }
    if (reads_->word_valid == 0) return;
    ASSERT_FALSE(expected_.empty());
    const Request& request = expected_.front().request;
    ASSERT_EQ(reads_->word_tag, BitsOf(request.tag));
    std::vector<uint8_t> bytes(request.bytes);
    memory_.Read(request.address, request.bytes, bytes.data());
    ASSERT_EQ(GetBytes(reads_->word_data, request.bytes), bytes);
    last_word_ = now;
    expected_.pop_front();
  }

  void CheckGrant() {
    const uint64_t now = reads_.Cycle();
    size_t first = reads_->fetch_last != 0 && (valid_ & 6) != 0 ? 1 : 0;
    while (first < 3 && (valid_ >> first & 1) == 0) ++first;
    const bool some = first < 3;
    const bool nowhere =
        some && sources_[first].Item().bytes > 0 && sources_[first].Item().address < kPage;
    const bool asks = some && enable && !nowhere;
    const bool taken = reads_->request_ready != 0;
    ASSERT_TRUE(!taken || (asks && reads_->request_ready == 1u << first)) << "cycle " << now;
    if (nowhere && enable) {
      ASSERT_TRUE(reads_->fault_valid);
    }
    if (ideal_ && asks) {
      ASSERT_EQ(taken, now >= free_) << "cycle " << now;
    }
    if (asks) {
      const uint32_t mine = taken ? 1u << first : owner_;
      ASSERT_EQ(reads_->waits, valid_ & ~mine) << "cycle " << now;
      waits_ += reads_->waits != 0 ? 1 : 0;
    }
    if (!taken) {
      ASSERT_EQ(reads_->taken_beats, 0);
      ASSERT_EQ(reads_->taken_bytes, 0);
      return;
    }
    const Request& request = sources_[first].Item();
    const uint32_t beats = request.bytes == 0 ? 0
                                              : (request.address + request.bytes - 1) / kPortBytes -
                                                    request.address / kPortBytes + 1;
    ASSERT_EQ(reads_->taken_beats, beats);
    ASSERT_EQ(reads_->taken_bytes, request.bytes);
    ASSERT_EQ(reads_->taken_memory, request.tag.memory);
    const uint64_t before = expected_.empty() ? last_word_ : expected_.back().cycle;
    const uint64_t arrives = beats == 0 ? now + 2 : now + beats - 1 + kLatency;
    expected_.push_back({request, std::max(arrives, before + 1)});
    free_ = now + std::max(beats, 1u);
    owner_ = 1u << first;
    sources_[first].Taken(true);
  }

  const bool ideal_;
  Random random_;
  testbench::AxiMemory memory_;
  testbench::AxiReadPort port_;
  std::array<Source<Request>, 3> sources_;
  Simulation<Vvta_reads> reads_;
  std::deque<Word> expected_;
  uint32_t valid_ = 0, owner_ = 0;
  uint64_t free_ = 0, last_word_ = 0;
  int waits_ = 0;
  std::optional<uint32_t> fault_;
};

AxiTiming ReadTiming(double stall) {
  AxiTiming timing;
  timing.latency = kLatency - kAxiPortLatency;
  return timing.StallAll(stall);
}

void CheckReads(uint64_t seed, double stall, double memory_stall) {
  ReadsBench bench(seed, stall, ReadTiming(memory_stall));
  for (size_t s = 0; s < 3; ++s) {
    for (int i = 0; i < 1'000; ++i) bench.PushRandom(s);
  }
  Stalls enabled(seed + 9, 0.1, Stalls::Kind::kBursts);
  for (int i = 0; !bench.Idle() && !testing::Test::HasFailure(); ++i) {
    ASSERT_LT(i, 200'000);
    bench.enable = !enabled.Next();
    bench.RunCycle();
  }
  EXPECT_FALSE(bench.fault().has_value());
  EXPECT_GT(bench.waits(), 500);
}
TEST(VtaStages, ReadsOfThreeSources) { CheckReads(8, 0, 0); }
TEST(VtaStages, ReadsOfSourcesThatStall) { CheckReads(9, 0.7, 0); }
TEST(VtaStages, ReadsOfAMemoryThatStalls) { CheckReads(10, 0.5, 0.4); }

// The first page is no memory: who asks for it is blamed, and the port asks for nothing.
TEST(VtaStages, ReadsOfTheFirstPageAreFaults) {
  for (size_t source = 0; source < 3; ++source) {
    ReadsBench bench(11, 0, ReadTiming(0));
    bench.Push(source, kPage - 4, 0);  // padding may
    for (int i = 0; i < 30; ++i) bench.RunCycle();
    EXPECT_FALSE(bench.fault().has_value());
    bench.Push(source, kPage - 4, 4);
    bench.enable = false;
    for (int i = 0; i < 10; ++i) bench.RunCycle();
    EXPECT_FALSE(bench.fault().has_value()) << "held back";
    bench.enable = true;
    for (int i = 0; i < 30; ++i) {
      bench.RunCycle();
      EXPECT_EQ(bench.reads()->axi_arvalid, 0);
    }
    EXPECT_TRUE(bench.fault().has_value());
  }
}
// A response of SLVERR blames the instruction whose word it is, not those on the way before it.
TEST(VtaStages, ErrorsOfTheMemoryAreFaults) {
  for (const uint32_t at : {0u, 1u, 7u}) {
    ReadsBench bench(12, 0, ReadTiming(0.3));
    for (uint32_t i = 0; i < 8; ++i) bench.Push(2, 0x2000 + 16 * i, 16);
    bench.memory().Poison(0x2000 + 16 * at + 8, 8);
    std::optional<uint64_t> words;  // seen before the fault
    uint64_t seen = 0;
    for (int i = 0; i < 300 && !words.has_value(); ++i) {
      bench.RunCycle();
      if (bench.fault().has_value()) words = seen;
      seen += bench.reads()->word_valid;
    }
    ASSERT_TRUE(words.has_value());
    EXPECT_GE(*words, at);
    EXPECT_LE(*words, at + 1);
  }
}

}  // namespace
}  // namespace kiln::rtl
