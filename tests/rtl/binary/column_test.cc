// Compares a column with plain sums: random tables, codes, lists and tests, and random waits before
// rounds and reads. The test takes the place of the stage around the column.
#include <algorithm>
#include <array>
#include <vector>

#include "Vbinary_column.h"
#include "tests/rtl/binary/bits.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

constexpr int kTables = 5, kGroup = 3, kEntries = 4, kEntryBits = 7, kDepth = 4, kWords = 64;
constexpr int kMostTests = 4;
constexpr int kTree = 2;  // cycles of the tree of five terms
constexpr size_t kShift = 2 + kTree, kAdd = kShift + 1, kWrite = kAdd + 1;
constexpr size_t kDrain = 5 + kTree;
constexpr int kBuffers = 4;  // pixels whose sums the column keeps

struct Round {
  std::array<std::array<int64_t, kEntries>, kTables> entries{};
  int weights = 0;  // address of the first channel's codes
  int shift = 0, tests_address = 0;
  bool first = false, last = false;  // of the pixel
  bool tested = false;
  int64_t base = 0, rest = 0;
};

// What a column holds, and a pixel's sums by the definition.
struct Column {
  std::array<int64_t, kWords> codes{};
  std::array<int64_t, kDepth * kMostTests> thresholds{};
  std::array<int64_t, kDepth> limits{};
  std::array<uint64_t, kDepth> parameters{};

  int64_t LookUp(const Round& round, int channel) const {
    const int64_t word = codes[static_cast<size_t>(round.weights + channel)];
    int64_t sum = 0;
    for (size_t t = 0; t < kTables; ++t) {
      const int64_t code = word >> (kGroup * t) & 7;
      const int64_t entry = round.entries[t][static_cast<size_t>(code >> 1)];
      sum += (code & 1) != 0 ? entry : -entry;
    }
    return sum * (int64_t{1} << round.shift);
  }
};

struct Outcome {
  int64_t sum = 0;
  bool alive = true;
};

// Returns the outcome of a channel of a pixel.
Outcome OutcomeOf(const Column& column, const std::vector<Round>& rounds, int channel,
                  bool by_sum) {
  Outcome outcome;
  for (const Round& round : rounds) {
    outcome.sum += column.LookUp(round, channel) - round.base;
    if (!round.tested) continue;
    const auto n = static_cast<size_t>(channel);
    const int64_t threshold = column.thresholds[static_cast<size_t>(round.tests_address) + n];
    if (outcome.sum < threshold || (by_sum && outcome.sum + round.rest < column.limits[n])) {
      outcome.alive = false;
      return outcome;
    }
  }
  return outcome;
}

// The rounds of a pixel: up to four steps, some with a test behind them.
// Small numbers are often equal to thresholds and limits.
std::vector<Round> RandomPixel(Random& random, int list, bool small) {
  std::vector<Round> pixel;
  const int steps = static_cast<int>(random.Between(1, 4));
  int tests = 0;
  for (int step = 0; step < steps; ++step) {
    const int rounds = static_cast<int>(random.Between(1, 3));
    const int shift = static_cast<int>(random.Below(small ? 2 : 9));
    const int weights = static_cast<int>(random.Below(kWords - 3 * kDepth));
    const bool tested = step + 1 < steps && random.Below(3) != 0;
    for (int r = 0; r < rounds; ++r) {
      Round round;
      for (auto& table : round.entries) {
        for (int64_t& entry : table)
          entry = small ? random.Between(-2, 2) : random.Between(-45, 45);
      }
      round.weights = weights + r * list;
      round.shift = shift;
      round.tests_address = tests * list;
      round.first = step == 0 && r == 0;
      round.tested = tested && r + 1 == rounds;
      if (step == 0 && r + 1 == rounds && random.Below(2) == 0)
        round.base = small ? random.Between(-3, 3) : random.Between(-3000, 3000);
      round.rest = random.Between(0, small ? 4 : 4000);
      pixel.push_back(round);
    }
    tests += tested ? 1 : 0;
  }
  pixel.back().last = true;
  return pixel;
}

class ColumnTest {
 public:
  ColumnTest(uint64_t seed, bool small) : sim_(seed), random_(seed), small_(small) {
    sim_->new_round = sim_->active = sim_->read = 0;
    ClearMessages();
    sim_.Reset();
  }

  void Load() {
    for (int i = 0; i < kWords; ++i) {
      const auto at = static_cast<size_t>(i);
      column_.codes[at] = static_cast<int64_t>(random_.Below(1 << (kTables * kGroup)));
      sim_->message_codes = static_cast<uint16_t>(column_.codes[at]);
      Send(&sim_->message_weights, i);
    }
    for (int i = 0; i < kDepth * kMostTests; ++i) {
      int64_t& threshold = column_.thresholds[static_cast<size_t>(i)];
      threshold = small_ ? random_.Between(-12, 2) : random_.Between(-9000, 1000);
      sim_->message_data = static_cast<uint64_t>(threshold);
      Send(&sim_->message_thresholds, i);
    }
    for (int i = 0; i < kDepth; ++i) {
      const auto at = static_cast<size_t>(i);
      column_.limits[at] = small_ ? random_.Between(-8, 6) : random_.Between(-6000, 2000);
      column_.parameters[at] = random_();
      sim_->message_data = static_cast<uint64_t>(column_.limits[at]);
      Send(&sim_->message_limits, i);
      sim_->message_data = column_.parameters[at];
      Send(&sim_->message_parameters, i);
    }
  }

  // Runs pixels one after the other, and compares all their results.
  void Run(int pixels, double waits) {
    Load();
    list_ = static_cast<int>(random_.Between(1, kDepth));
    by_sum_ = random_.Below(2) == 0;
    sim_->list_length = static_cast<uint8_t>(list_);
    sim_->write_by_sum = by_sum_;
    std::vector<std::vector<Round>> program;
    for (int i = 0; i < pixels; ++i) program.push_back(RandomPixel(random_, list_, small_));
    size_t taken_pixel = 0, taken_round = 0;  // the next round
    size_t read_pixel = 0;
    int read_channel = 0;
    bool active = false, due = false;  // due: a read of the cycle before
    int buffer = kBuffers - 1;
    std::array<bool, kBuffers> busy{};
    Outcome expected;
    int due_channel = 0;
    Round round;
    std::deque<std::pair<Round, int>> past;  // of the cycles before, with their buffer
    std::deque<uint64_t> finished;           // cycles from which pixels can be read
    const Round* next_tables = nullptr;
    uint64_t cycle = 0;
    while (read_pixel < program.size() || due) {
      ASSERT_LT(++cycle, 100000U);
      if (next_tables != nullptr) SetTables(*next_tables);
      next_tables = nullptr;
      past.emplace_front(round, buffer);
      if (past.size() > kWrite + 1) past.pop_back();
      sim_->active = active;
      sim_->buffer = static_cast<uint8_t>(buffer);
      sim_->tested = round.tested;
      sim_->weights_address = static_cast<uint16_t>(round.weights);
      SetDelayed(past);
      const bool reads =
          !finished.empty() && finished.front() <= cycle && random_.Uniform() >= waits;
      sim_->read = reads;
      sim_->read_buffer = static_cast<uint8_t>(read_pixel % kBuffers);
      sim_->read_index = static_cast<uint8_t>(read_channel);
      sim_->new_round = 0;
      sim_.Settle();
      if (due) {
        ASSERT_EQ(sim_->read_alive, expected.alive) << "pixel " << read_pixel;
        if (expected.alive) {
          ASSERT_EQ(SignedField(sim_->read_sum, 28), expected.sum);
        }
        ASSERT_EQ(sim_->read_parameters, column_.parameters[static_cast<size_t>(due_channel)]);
        (expected.alive ? alive_ : decided_) += 1;
      }
      const bool done = active && sim_->done;
      const bool has_next = taken_pixel < program.size();
      const Round* next = has_next ? &program[taken_pixel][taken_round] : nullptr;
      const int next_buffer = has_next && next->first ? (buffer + 1) % kBuffers : buffer;
      const bool take = has_next && (!active || done) &&
                        !(next->first && busy[static_cast<size_t>(next_buffer)]) &&
                        random_.Uniform() >= waits;
      sim_->new_round = take;
      sim_->new_pixel = take && next->first;
      sim_->next_buffer = static_cast<uint8_t>(next_buffer);
      sim_.Settle();
      due = reads;
      if (reads) {
        expected = OutcomeOf(column_, program[read_pixel], read_channel, by_sum_);
        due_channel = read_channel;
        if (++read_channel == list_) {
          read_channel = 0;
          busy[read_pixel % kBuffers] = false;
          finished.pop_front();
          ++read_pixel;
        }
      }
      if (done) {
        if (round.last) finished.push_back(cycle + kDrain + 1);
        active = false;
      }
      if (take) {
        round = *next;
        next_tables_late_ = next;
        active = true;
        buffer = next_buffer;
        if (next->first) busy[static_cast<size_t>(buffer)] = true;
        if (++taken_round == program[taken_pixel].size()) {
          taken_round = 0;
          ++taken_pixel;
        }
      }
      sim_.Step();
      // Tables are in use from the cycle after the next on.
      std::swap(next_tables, waiting_tables_);
      waiting_tables_ = std::exchange(next_tables_late_, nullptr);
    }
    sim_->read = 0;
  }

  int alive_ = 0, decided_ = 0;

 private:
  void ClearMessages() {
    sim_->message_weights = sim_->message_parameters = 0;
    sim_->message_thresholds = sim_->message_limits = 0;
  }
  void Send(uint8_t* enable, int address) {
    ClearMessages();
    *enable = 1;
    sim_->message_address = static_cast<uint16_t>(address);
    sim_.Settle();
    sim_.Step();
    ClearMessages();
  }
  void SetTables(const Round& round) {
    Bits bits(kTables * kEntries * kEntryBits);
    for (size_t t = 0; t < kTables; ++t) {
      for (size_t e = 0; e < kEntries; ++e)
        bits.Set((t * kEntries + e) * kEntryBits, kEntryBits, round.entries[t][e]);
    }
    SetBytes(sim_->tables, bits.bytes());
  }
  // Sets what the stage delays; before there is enough past, no look-up is under way.
  void SetDelayed(const std::deque<std::pair<Round, int>>& past) {
    const auto at = [&](size_t ago) { return past[std::min(ago, past.size() - 1)]; };
    sim_->shift = static_cast<uint8_t>(at(kShift).first.shift);
    sim_->shift_buffer = static_cast<uint8_t>(at(kShift).second);
    sim_->add_fresh = at(kAdd).first.first;
    sim_->add_base = static_cast<uint32_t>(at(kAdd).first.base & 0xfffffff);
    sim_->add_tests_address = static_cast<uint8_t>(at(kAdd).first.tests_address);
    sim_->write_tested = at(kWrite).first.tested;
    sim_->write_buffer = static_cast<uint8_t>(at(kWrite).second);
    sim_->write_rest = static_cast<uint32_t>(at(kWrite).first.rest & 0xfffffff);
  }

  Simulation<Vbinary_column> sim_;
  Random random_;
  const bool small_;
  Column column_;
  int list_ = 1;
  bool by_sum_ = false;
  const Round* next_tables_late_ = nullptr;
  const Round* waiting_tables_ = nullptr;
};

TEST(BinaryColumn, SumsAndDecisions) {
  int alive = 0, decided = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    ColumnTest test(seed, seed % 2 == 0);
    test.Run(60, seed % 3 == 0 ? 0 : 0.15 * static_cast<double>(seed % 5));
    if (::testing::Test::HasFatalFailure()) return;
    alive += test.alive_;
    decided += test.decided_;
  }
  EXPECT_GT(alive, 1000);
  EXPECT_GT(decided, 500);
}

}  // namespace
}  // namespace kiln::rtl
