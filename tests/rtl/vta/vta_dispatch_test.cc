// Tests dispatch in the compute stage of the VTA machine: the banks of a range, the examiner, the
// scoreboard, the dispatcher, retirement. Each is compared with a model that predicts every cycle.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "Vvta_banks_16.h"
#include "Vvta_banks_4.h"
#include "Vvta_dispatcher_few.h"
#include "Vvta_dispatcher_small.h"
#include "Vvta_examiner_few.h"
#include "Vvta_examiner_small.h"
#include "Vvta_retirement.h"
#include "Vvta_scoreboard.h"
#include "kiln/targets/vta/simulate/functional/fault_rules.h"
#include "tests/rtl/vta/machine.h"
#include "tests/rtl/vta/units.h"

namespace kiln::rtl {
namespace {

constexpr size_t kUnits = 3, kRetirementDepth = 32;
enum Unit : uint8_t { kGemmUnit, kAluUnit, kLoader, kNoUnit };

// ---- Banks of a range.

template <typename Model>
void CheckBanks(uint32_t indices, uint32_t banks) {
  VerilatedContext context;
  Model model(&context);
  for (uint32_t least = 0; least < indices; ++least) {
    for (uint32_t greatest = least; greatest < indices; ++greatest) {
      uint32_t expected = 0;
      for (uint32_t i = least; i <= greatest; ++i) expected |= 1u << (i * banks / indices);
      model.least = static_cast<uint8_t>(least);
      model.greatest = static_cast<uint8_t>(greatest);
      model.any = 1;
      model.eval();
      ASSERT_EQ(model.banks, expected) << least << " to " << greatest;
      model.any = 0;
      model.eval();
      ASSERT_EQ(model.banks, 0u) << least << " to " << greatest;
    }
  }
  model.final();
}
TEST(VtaDispatch, AllRangesOfFourBanks) { CheckBanks<Vvta_banks_4>(64, 4); }
TEST(VtaDispatch, AllRangesOfBanksOfOneElement) { CheckBanks<Vvta_banks_16>(16, 16); }

// ---- Scoreboard. Every unit is done in the order of its instructions.

class ScoreboardBench {
 public:
  explicit ScoreboardBench(uint64_t seed) : random_(seed), board_(seed) {
    board_->begin_unit = board_->done = board_->begin_resources = 0;
    board_.Reset();
  }
  // A cycle in which an instruction begins and units are done with these probabilities.
  void RunCycle(double begin, double done) {
    size_t all = 0;
    for (const auto& unit : under_way_) all += unit.size();
    const bool begins = all < kRetirementDepth && random_.Uniform() < begin;
    const size_t unit = random_.Below(kUnits);
    board_->begin_unit = begins ? 1u << unit : 0;
    board_->begin_resources = static_cast<uint8_t>(random_.Below(32));
    uint32_t finished = 0;
    for (size_t u = 0; u < kUnits; ++u) {
      if (!under_way_[u].empty() && random_.Uniform() < done) finished |= 1u << u;
    }
    board_->done = static_cast<uint8_t>(finished);
    board_.Settle();
    uint32_t busy = 0, touched = 0;
    for (size_t u = 0; u < kUnits; ++u) {
      busy |= under_way_[u].empty() ? 0 : 1u << u;
      for (const uint32_t resources : under_way_[u]) touched |= resources << (5 * u);
    }
    ASSERT_EQ(board_->busy, busy) << "cycle " << board_.Cycle();
    ASSERT_EQ(board_->touched, touched) << "cycle " << board_.Cycle();
    for (size_t u = 0; u < kUnits; ++u) {
      if ((finished >> u & 1) != 0) under_way_[u].pop_front();
    }
    if (begins) under_way_[unit].push_back(board_->begin_resources);
    most_ = std::max(most_, under_way_[kAluUnit].size());
    board_.Step();
  }
  size_t most() const { return most_; }

 private:
  Random random_;
  Simulation<Vvta_scoreboard> board_;
  std::array<std::deque<uint32_t>, kUnits> under_way_;
  size_t most_ = 0;
};

TEST(VtaDispatch, ScoreboardKnowsWhatIsUnderWay) {
  for (const double done : {0.1, 0.33, 0.9}) {
    ScoreboardBench bench(1 + static_cast<uint64_t>(10 * done));
    for (int i = 0; i < 5'000 && !testing::Test::HasFailure(); ++i) bench.RunCycle(0.9, done);
  }
}
// As many of one unit as may be under way, then none.
TEST(VtaDispatch, ScoreboardFillsAndEmpties) {
  ScoreboardBench bench(2);
  for (int round = 0; round < 20 && !testing::Test::HasFailure(); ++round) {
    for (int i = 0; i < 40; ++i) bench.RunCycle(1, 0);
    for (int i = 0; i < 40; ++i) bench.RunCycle(0, 1);
  }
  EXPECT_GT(bench.most(), 15u);
}

// ---- Retirement.

class RetirementBench {
 public:
  explicit RetirementBench(uint64_t seed) : random_(seed), retirement_(seed) {
    retirement_->push = retirement_->done = retirement_->unit = retirement_->common = 0;
    retirement_.Reset();
  }

  void RunCycle(double push, double done) {
    const bool room = queue_.size() < kRetirementDepth;
    const bool pushes = room && random_.Uniform() < push;
    const auto unit = static_cast<uint8_t>(random_.Below(4));
    const auto common = static_cast<uint8_t>(random_.Below(128));
    retirement_->push = pushes;
    retirement_->unit = unit;
    retirement_->common = common;
    uint32_t finished = 0;
    for (size_t u = 0; u < kUnits; ++u) {
      if (working_[u] == 0 || random_.Uniform() >= done) continue;
      finished |= 1u << u;
      --working_[u];
      ++finished_[u];
    }
    retirement_->done = static_cast<uint8_t>(finished);
    retirement_.Settle();
    ASSERT_EQ(retirement_->ready, room);
    ASSERT_EQ(retirement_->pending, !queue_.empty());
    const bool retires =
        !queue_.empty() && (queue_.front().unit == kNoUnit || finished_[queue_.front().unit] > 0);
    const uint32_t head = retires ? queue_.front().common : 0;
    ASSERT_EQ(retirement_->retired, retires) << "cycle " << retirement_.Cycle();
    ASSERT_EQ(retirement_->push_next, retires && (head >> 6 & 1) != 0);
    ASSERT_EQ(retirement_->push_previous, retires && (head >> 5 & 1) != 0);
    ASSERT_EQ(retirement_->finish, retires && (head & 7) == static_cast<uint32_t>(Opcode::kFinish));
    if (retires) {
      if (queue_.front().unit != kNoUnit) --finished_[queue_.front().unit];
      queue_.pop_front();
    }
    if (pushes) {
      queue_.push_back({unit, common});
      if (unit != kNoUnit) ++working_[unit];
    }
    full_ += queue_.size() == kRetirementDepth ? 1 : 0;
    retirement_.Step();
  }
  int full() const { return full_; }

 private:
  struct Entry {
    uint8_t unit;
    uint32_t common;
  };
  Random random_;
  Simulation<Vvta_retirement> retirement_;
  std::deque<Entry> queue_;
  std::array<int, kUnits> working_{}, finished_{};  // not yet done; done and not retired
  int full_ = 0;
};

TEST(VtaDispatch, RetirementIsInOrder) {
  for (const double done : {0.05, 0.3, 1.0}) {
    RetirementBench bench(3 + static_cast<uint64_t>(10 * done));
    for (int i = 0; i < 10'000 && !testing::Test::HasFailure(); ++i) bench.RunCycle(0.7, done);
  }
}
TEST(VtaDispatch, RetirementFillsAndEmpties) {
  RetirementBench bench(4);
  for (int round = 0; round < 20 && !testing::Test::HasFailure(); ++round) {
    for (int i = 0; i < 100; ++i) bench.RunCycle(1, 0);
    for (int i = 0; i < 100; ++i) bench.RunCycle(0, 0.5);
  }
  EXPECT_GT(bench.full(), 500);
}

// ---- Examination.

// Few and unequal indices, one accumulator a bank.
Config Few() {
  Config c = Batch();
  c.block_out = 2;
  c.accumulator_bits = 16;
  c.uop_buffer_bytes = 64;
  c.input_buffer_bytes = 128;
  c.weight_buffer_bytes = 64;
  c.accumulator_buffer_bytes = 32;
  c.accumulator_banks = 4;
  return c;
}

struct Examined {
  uint32_t dst_banks = 0, src_banks = 0;
  bool beyond = false;
  uint64_t uops = 1;  // that are read
};
// By the plain rule: all banks from the least index to the greatest.
Examined Examine(const Instruction& in, const std::vector<Uop>& uops, const Config& c) {
  Examined found;
  if (in.uop_end > uops.size()) {
    found.beyond = true;
    return found;
  }
  const std::span<const Uop> run = std::span(uops).subspan(in.uop_begin, in.uop_end - in.uop_begin);
  found.uops = run.size();
  found.beyond = FindRangeFault(in, 0, vta::MaximumOf(run), c).has_value();
  if (found.beyond) return found;
  const auto banks = [&](auto index, uint64_t outer, uint64_t inner) {
    uint64_t least = ~uint64_t{0}, greatest = 0;
    for (const Uop& uop : run) {
      least = std::min<uint64_t>(least, index(uop));
      greatest = std::max<uint64_t>(greatest,
                                    index(uop) + (in.outer - 1) * outer + (in.inner - 1) * inner);
    }
    uint32_t bits = 0;
    for (uint64_t i = least; i <= greatest; ++i)
      bits |= 1u << (i / static_cast<uint64_t>(c.accumulators_of_bank()));
    return bits;
  };
  found.dst_banks = banks([](const Uop& uop) { return uop.dst; }, in.dst_outer, in.dst_inner);
  if (in.opcode == Opcode::kAlu && !in.use_immediate) {
    found.src_banks = banks([](const Uop& uop) { return uop.src; }, in.src_outer, in.src_inner);
  }
  return found;
}

// GEMM or ALU instructions that stay inside the buffers more often than not.
Instruction RandomStep(Random& random, const Config& c) {
  Instruction in = RandomComputation(random, c, false);
  if (random.Below(8) == 0) return in;
  if (random.Below(16) == 0) in.uop_end = static_cast<uint32_t>(c.uops() + 1 + random.Below(8));
  const bool loops = random.Below(2) == 0;
  for (uint32_t* factor : {&in.dst_outer, &in.dst_inner, &in.src_outer, &in.src_inner,
                           &in.weight_outer, &in.weight_inner}) {
    *factor = loops ? *factor % 3 : 0;
  }
  if (in.opcode == Opcode::kAlu) in.weight_outer = in.weight_inner = 0;
  if (random.Below(4) == 0) {
    in.outer = static_cast<uint32_t>(random.Between(1, 16383));
    in.inner = static_cast<uint32_t>(random.Between(1, 16383));
  }
  return in;
}
std::vector<Uop> RandomUops(Random& random, const Config& c) {
  std::vector<Uop> uops;
  for (int64_t i = 0; i < c.uops(); ++i) {
    uops.push_back(RandomUop(random, c));
    // Low indices stay inside with loops around them.
    if (random.Below(3) != 0)
      uops.back() = {uops.back().dst / 4, uops.back().src / 4, uops.back().weight / 4};
  }
  return uops;
}

// The micro-op memory's answer, in the cycle behind the address and no longer.
template <typename Port>
void AnswerUop(Port& port, bool enable, uint32_t address, const std::vector<Uop>& uops,
               const Config& c, Random& random) {
  SetBytes(port, UopBytes(enable ? uops[address] : RandomUop(random, c), c));
}

template <typename Model>
void CheckExaminer(const Config& c, uint64_t seed) {
  Simulation<Model> examiner(seed);
  const Encoding encoding(c);
  Random random(seed);
  Stalls starts(seed + 1, 0.5), takes(seed + 2, 0.5);
  std::vector<Uop> uops = RandomUops(random, c);
  examiner->start = examiner->taken = 0;
  examiner->uop = 0;
  examiner.Reset();
  int beyond = 0;
  constexpr int kInstructions = 3'000;
  for (int i = 0; i < kInstructions; ++i) {
    const Instruction in = RandomStep(random, c);
    SetInstruction(examiner->instruction, encoding, in);
    const Examined expected = Examine(in, uops, c);
    beyond += expected.beyond ? 1 : 0;
    uint64_t waited = 0, read = 0;  // since the start
    bool started = false;
    for (bool taken = false; !taken;) {
      started = started || !starts.Next();
      examiner->start = started;
      const bool examined = waited >= expected.uops + 2;
      examiner->taken = taken = examined && !takes.Next();
      examiner.Settle();
      ASSERT_EQ(examiner->examined, examined)
          << "instruction " << i << ", " << waited << " cycles behind its start";
      if (examined) {
        ASSERT_EQ(examiner->beyond, expected.beyond);
        if (!expected.beyond) {
          ASSERT_EQ(examiner->dst_banks, expected.dst_banks);
          ASSERT_EQ(examiner->src_banks, expected.src_banks);
        }
      }
      ASSERT_EQ(examiner->uop_enable, started && read < expected.uops);
      const bool enable = examiner->uop_enable;
      const uint32_t address = examiner->uop_address;
      if (enable) {
        ASSERT_EQ(address, in.uop_begin + read++);
      }
      examiner.Step();
      AnswerUop(examiner->uop, enable, address, uops, c, random);
      waited += started ? 1 : 0;
    }
  }
  EXPECT_GT(beyond, kInstructions / 20);
  EXPECT_LT(beyond, kInstructions * 2 / 3);
}
TEST(VtaDispatch, ExaminerFindsRanges) { CheckExaminer<Vvta_examiner_small>(Small(), 5); }
TEST(VtaDispatch, ExaminerOfFewIndices) { CheckExaminer<Vvta_examiner_few>(Few(), 6); }

// ---- Dispatcher.

// Every kind of instruction of the compute stage, those that handle tokens alone among them.
Instruction RandomCompute(Random& random, const Config& c) {
  Instruction in;
  switch (random.Below(8)) {
    case 0:
    case 1: {
      in = RandomTransfer(random);
      in.opcode = Opcode::kLoad;
      in.memory = random.Below(2) == 0 ? Memory::kUop : Memory::kAccumulator;
      break;
    }
    case 2:
      in.opcode = Opcode::kFinish;
      break;
    case 3:  // no steps, for one of three reasons
      in = RandomStep(random, c);
      (random.Below(3) == 0 ? in.outer : random.Below(2) == 0 ? in.inner : in.uop_end) = 0;
      break;
    default:
      in = RandomStep(random, c);
  }
  in.pop_previous = random.Below(3) == 0;
  in.pop_next = random.Below(3) == 0;
  return in;
}

template <typename Model>
class DispatcherBench {
 public:
  DispatcherBench(const Config& c, uint64_t seed, double stall)
      : config_(c),
        encoding_(c),
        random_(seed),
        stall_(stall),
        queue_(Stalls(seed + 1, stall)),
        dispatcher_(seed) {
    uops_ = RandomUops(random_, c);
    dispatcher_->queue_valid = 0;
    Reset();
  }

  // A cycle. One in which an instruction leaves its buffers ends the machine's launch.
  void RunCycle() {
    if (queue_.Empty()) Push();
    queue_.Drive();
    dispatcher_->queue_valid = queue_.Valid();
    if (queue_.Valid()) {
      SetInstruction(dispatcher_->queue_instruction, encoding_, queue_.Item().instruction);
      dispatcher_->queue_banks = static_cast<uint8_t>(queue_.Item().banks);
    }
    Surround();
    dispatcher_.Settle();
    if (!queue_.Valid()) {
      ASSERT_EQ(dispatcher_->queue_ready, 0);
      ASSERT_EQ(dispatcher_->fault_valid, 0);
      ASSERT_EQ(dispatcher_->events, 0);
      ASSERT_EQ(dispatcher_->unit_valid, 0);
    } else {
      CheckHead();
    }
    if (testing::Test::HasFailure()) return;
    const bool faulty = dispatcher_->fault_valid;
    EndCycle();
    if (faulty) Reset();
  }
  // In how many cycles it dispatched, waited for each of its reasons
  // (kiln_vta_pkg::dispatch_events_t), and found a fault.
  struct Seen {
    int dispatched = 0, uops_loading = 0, examining = 0, tokens = 0, queue_full = 0, banks = 0,
        uops_in_use = 0;
    int faults = 0, pairs = 0;
  };
  const Seen& seen() const { return seen_; }

 private:
  struct Item {
    Instruction instruction;
    uint32_t banks;  // of a load of accumulators
  };
  struct UnderWay {
    uint32_t banks;
    bool loads_uops;
  };

  void Push() {
    Item item{RandomCompute(random_, config_), 0};
    const Instruction& in = item.instruction;
    if (in.opcode == Opcode::kLoad && in.memory == Memory::kAccumulator && in.x_size > 0) {
      item.banks = static_cast<uint32_t>(random_.Below(16));
    }
    queue_.Push(item);
  }

  // Tokens, rooms, and units that are done, as they happen to be.
  void Surround() {
    dispatcher_->load_token_there = random_.Uniform() >= stall_;
    dispatcher_->store_token_there = random_.Uniform() >= stall_;
    dispatcher_->retirement_ready = random_.Uniform() >= stall_;
    uint32_t ready = 0;
    done_ = 0;
    for (size_t u = 0; u < kUnits; ++u) {
      ready |= random_.Uniform() >= stall_ ? 1u << u : 0;
      if (!under_way_[u].empty() && random_.Uniform() < 0.15) done_ |= 1u << u;
    }
    dispatcher_->unit_ready = static_cast<uint8_t>(ready);
    dispatcher_->unit_done = static_cast<uint8_t>(done_);
  }

  bool UopsAreLoading() const {
    return std::any_of(under_way_[kLoader].begin(), under_way_[kLoader].end(),
                       [](const UnderWay& load) { return load.loads_uops; });
  }

  void CheckHead() {
    const Item& head = queue_.Item();
    const Instruction& in = head.instruction;
    const bool computes = in.opcode == Opcode::kGemm || in.opcode == Opcode::kAlu;
    const bool steps = computes && vta::StepsOf(in) > 0,
               elements = in.opcode == Opcode::kLoad && in.x_size > 0;
    const Unit unit = steps      ? (in.opcode == Opcode::kGemm && !in.reset ? kGemmUnit : kAluUnit)
                      : elements ? kLoader
                                 : kNoUnit;
    const bool loads_uops = elements && in.memory == Memory::kUop;
    const bool loading = UopsAreLoading();
    if (steps && !examined_.has_value() && !loading) {
      examined_ = Examine(in, uops_, config_);
      ready_ = dispatcher_.Cycle() + examined_->uops + 2;
    }
    const bool known = !steps || (examined_.has_value() && dispatcher_.Cycle() >= ready_);
    const bool tokens = (!in.pop_previous || dispatcher_->load_token_there) &&
                        (!in.pop_next || dispatcher_->store_token_there);
    const bool room = dispatcher_->retirement_ready &&
                      (unit == kNoUnit || (dispatcher_->unit_ready >> unit & 1) != 0);
    const bool beyond = steps && known && examined_->beyond;
    ASSERT_EQ(dispatcher_->unit, unit);
    ASSERT_EQ(dispatcher_->fault_valid, known && beyond && tokens)
        << "cycle " << dispatcher_.Cycle();
    seen_.faults += dispatcher_->fault_valid;
    if (beyond) {  // nothing reads banks
      ASSERT_EQ(dispatcher_->queue_ready, 0);
      return;
    }
    uint32_t banks = head.banks;
    if (steps) banks = known ? examined_->dst_banks | examined_->src_banks : 0;
    bool banks_in_use = false;
    for (size_t u = 0; u < kUnits; ++u) {
      if (unit == kNoUnit || u == unit) continue;
      for (const UnderWay& other : under_way_[u])
        banks_in_use = banks_in_use || (other.banks & banks) != 0;
    }
    const bool uops_in_use =
        loads_uops && (!under_way_[kGemmUnit].empty() || !under_way_[kAluUnit].empty());
    const bool goes = known && tokens && room && !banks_in_use && !uops_in_use;
    ASSERT_EQ(dispatcher_->queue_ready, goes) << "cycle " << dispatcher_.Cycle();
    ASSERT_EQ(dispatcher_->unit_valid, goes && unit != kNoUnit ? 1u << unit : 0u);
    ASSERT_EQ(dispatcher_->load_token_take, goes && in.pop_previous);
    ASSERT_EQ(dispatcher_->store_token_take, goes && in.pop_next);
    if (goes && unit == kAluUnit) {
      const bool pairs = (examined_->dst_banks & examined_->src_banks) != 0;
      ASSERT_EQ(dispatcher_->pairs, pairs);
      seen_.pairs += pairs ? 1 : 0;
    }
    CheckEvents({goes, steps && !examined_.has_value(), steps && examined_.has_value() && !known,
                 known && !tokens, known && tokens && !room,
                 known && tokens && room && banks_in_use,
                 known && tokens && room && !banks_in_use && uops_in_use});
    if (goes) dispatched_ = UnderWay{banks, loads_uops}, unit_ = unit;
  }

  // kiln_vta_pkg::dispatch_events_t: its first member is the highest bit.
  void CheckEvents(const std::array<bool, 7>& expected) {
    const std::array<int*, 7> counts = {&seen_.dispatched, &seen_.uops_loading, &seen_.examining,
                                        &seen_.tokens,     &seen_.queue_full,   &seen_.banks,
                                        &seen_.uops_in_use};
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ((dispatcher_->events >> (6 - i) & 1) != 0, expected[i]) << "event " << i;
      *counts[i] += expected[i] ? 1 : 0;
    }
  }

  void EndCycle() {
    const bool enable = dispatcher_->uop_enable;
    const uint32_t address = dispatcher_->uop_address;
    bool uops_loaded = false;
    for (size_t u = 0; u < kUnits; ++u) {
      if ((done_ >> u & 1) == 0) continue;
      uops_loaded = uops_loaded || under_way_[u].front().loads_uops;
      under_way_[u].pop_front();
    }
    if (dispatched_.has_value()) {
      if (unit_ != kNoUnit) under_way_[unit_].push_back(*dispatched_);
      examined_.reset();
      dispatched_.reset();
      queue_.Taken(true);
    }
    dispatcher_.Step();
    AnswerUop(dispatcher_->uop, enable, address, uops_, config_, random_);
    if (uops_loaded)
      uops_ = RandomUops(random_, config_);  // what was loaded is read from the next cycle on
  }

  void Reset() {
    for (auto& unit : under_way_) unit.clear();
    examined_.reset();
    while (!queue_.Empty()) {
      queue_.Drive();
      queue_.Taken(true);
    }
    dispatcher_->queue_valid = dispatcher_->unit_done = 0;
    dispatcher_->uop = 0;
    dispatcher_.Reset();
  }

  const Config config_;
  const Encoding encoding_;
  Random random_;
  const double stall_;
  Source<Item> queue_;
  Simulation<Model> dispatcher_;
  std::vector<Uop> uops_;
  std::array<std::deque<UnderWay>, kUnits> under_way_;
  uint32_t done_ = 0;
  // Of the instruction at the head; when it can be dispatched.
  std::optional<Examined> examined_;
  uint64_t ready_ = 0;
  std::optional<UnderWay> dispatched_;  // in this cycle
  Unit unit_ = kNoUnit;
  Seen seen_;
};

template <typename Model>
void CheckDispatcher(const Config& c, uint64_t seed, double stall) {
  DispatcherBench<Model> bench(c, seed, stall);
  for (int i = 0; i < 30'000 && !testing::Test::HasFailure(); ++i) bench.RunCycle();
  // Every reason to wait has come up.
  const auto& seen = bench.seen();
  EXPECT_GT(seen.dispatched, 500);
  EXPECT_GT(seen.uops_loading, 100);
  EXPECT_GT(seen.examining, 1'000);
  EXPECT_GT(seen.banks, 200);
  EXPECT_GT(seen.uops_in_use, 100);
  EXPECT_GT(seen.faults, 100);
  EXPECT_GT(seen.pairs, 20);
  if (stall > 0) {
    EXPECT_GT(seen.tokens, 100);
    EXPECT_GT(seen.queue_full, 100);
  }
}
TEST(VtaDispatch, DispatcherWithoutStalls) {
  CheckDispatcher<Vvta_dispatcher_small>(Small(), 7, 0);
}
TEST(VtaDispatch, DispatcherWithStalls) { CheckDispatcher<Vvta_dispatcher_small>(Small(), 8, 0.4); }
TEST(VtaDispatch, DispatcherOfFewIndices) {
  for (const double stall : {0.0, 0.4}) CheckDispatcher<Vvta_dispatcher_few>(Few(), 9, stall);
}

}  // namespace
}  // namespace kiln::rtl
