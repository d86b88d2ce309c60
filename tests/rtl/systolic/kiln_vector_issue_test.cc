// Compares kiln_vector_issue with the rule of docs/systolic.md ("Slots"): the word that enters the
// lanes in each cycle, with operands, slots and lanes that become available at random.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "Vvector_issue.h"
#include "Vvector_issue_blocks.h"
#include "kiln/support/random.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

constexpr size_t kQueueWords = 5;  // WORDS

struct Word {
  uint64_t length = 1;  // of its slot
  bool reads = false, nothing = false;
  bool last_of_block = false;
  bool gathered = false, last_gathered = false;
  uint64_t beats = 0;
  // As it goes.
  bool slot_ended = false, there = false;  // its length is known; all that it reads is there
};

// The queue's surroundings, as Cycle() gets them.
struct Around {
  bool advance = true;
  bool begin_slot = false, end_slot = false;  // where there is one to begin or to end
  bool complete = false;                      // operands of the oldest word that waits for some
};

// One cycle after the other: the model's answer, then the module's. Time is counted in cycles in
// which the lanes advance (`advanced`).
template <typename Model>
class IssueBench {
 public:
  IssueBench(bool blocks, uint64_t seed) : blocks_(blocks), issue_(seed) {
    Idle();
    issue_.Reset();
  }
  void Push(const Word& word) { coming_.push_back(word); }
  bool Done() const {
    return coming_.empty() && !slot_open_ && queue_.empty() && !turn_.has_value();
  }
  // Cycles in which words entered the lanes.
  const std::vector<uint64_t>& entered() const { return entered_; }
  uint64_t cycle() const { return issue_.Cycle(); }
  int rooms_waited() const { return rooms_waited_; }

  void Cycle(const Around& around) {
    const bool room = queue_.size() != kQueueWords - 1;
    const bool begins = around.begin_slot && !slot_open_ && !coming_.empty() && room;
    rooms_waited_ += around.begin_slot && !slot_open_ && !coming_.empty() && !room ? 1 : 0;
    const bool ends = around.end_slot && (slot_open_ || begins);
    Drive(around, begins, ends);
    Complete(around.complete);
    issue_.Settle();

    ASSERT_EQ(issue_->room, room) << "cycle " << cycle();
    ASSERT_EQ(issue_->slot_place, begun_ % kQueueWords);
    if (begins) {
      queue_.push_back(coming_.front());
      queue_.back().there = !queue_.back().reads;
      coming_.pop_front();
      slot_open_ = true;
    }
    if (ends) {  // of the word that came last, which may be in the lanes
      slot_open_ = false;
      (queue_.empty() ? *turn_ : queue_.back()).slot_ended = true;
    }
    CheckTurn(around.advance);
    if (testing::Test::HasFailure()) return;
    for (const uint64_t place : completed_) {
      if (place >= issued_) queue_[place - issued_].there = true;  // seen in the next cycle
    }
    begun_ += begins ? 1 : 0;
    advanced_ += around.advance ? 1 : 0;
    issue_.Step();
    Idle();
  }

 private:
  void Idle() {
    issue_->slot_begin = issue_->slot_end = issue_->complete = issue_->nothing = issue_->advance =
        0;
  }

  void Drive(const Around& around, bool begins, bool ends) {
    issue_->advance = around.advance;
    issue_->slot_begin = begins;
    issue_->slot_end = ends;
    SetBytes(issue_->slot_word, WordBytes(begins && coming_.front().last_of_block, begun_));
    issue_->slot_reads = begins && coming_.front().reads;
    issue_->slot_mark = begins ? MarkOf(coming_.front(), begun_) : 0;
    if (!ends) return;
    const Word& word = begins ? coming_.front() : queue_.empty() ? *turn_ : queue_.back();
    issue_->slot_cycles = static_cast<uint32_t>(word.length);
    issue_->slot_beats = static_cast<uint16_t>(word.beats);
  }
  // kiln_vector_pkg::word_t: last_of_block is bit 104; its lowest bits say which word it is.
  static std::vector<uint8_t> WordBytes(bool last_of_block, uint64_t number) {
    std::vector<uint8_t> bytes(16);
    for (size_t i = 0; i < 4; ++i) bytes[i] = static_cast<uint8_t>(number >> (8 * i));
    bytes[13] = last_of_block ? 1 : 0;
    return bytes;
  }
  // kiln_vector_pkg::mark_t: the address of the scale is the word's number.
  static uint64_t MarkOf(const Word& word, uint64_t number) {
    return uint64_t{word.gathered} << 33 | uint64_t{word.last_gathered} << 32 | number;
  }
  // Operands of the oldest word in the queue that still waits for its own, or what it reads turns
  // out to be nothing.
  void Complete(bool complete) {
    completed_.clear();
    for (uint64_t i = 0; complete && i < queue_.size(); ++i) {
      const Word& word = queue_[i];
      if (!word.reads || word.there) continue;
      completed_.push_back(issued_ + i);
      auto& place = word.nothing ? issue_->nothing_place : issue_->complete_place;
      place = static_cast<uint8_t>((issued_ + i) % kQueueWords);
      (word.nothing ? issue_->nothing : issue_->complete) = 1;
      return;
    }
  }

  // The word in turn, and the one that enters.
  void CheckTurn(bool advance) {
    const bool enters = !turn_.has_value() && advance && !queue_.empty() && queue_.front().there;
    ASSERT_EQ(issue_->issue, enters) << "word " << issued_ << ", cycle " << cycle();
    if (enters) {
      ASSERT_EQ(issue_->issue_place, issued_ % kQueueWords);
      ASSERT_EQ(GetBytes(issue_->issue_word, 16), WordBytes(queue_.front().last_of_block, issued_));
      ASSERT_EQ(issue_->issue_mark, blocks_ ? MarkOf(queue_.front(), issued_) : 0);
      turn_ = queue_.front();
      queue_.pop_front();
      ++issued_;
      entry_ = advanced_;
      entered_.push_back(cycle());
    }
    bool ends = false;
    if (turn_.has_value() && turn_->slot_ended) {
      const uint64_t now = advanced_ + (advance ? 1 : 0);  // at the end of this cycle
      uint64_t written =
          std::max(written_, entry_);  // what its block still wants, as if the lanes had no depth
      if (blocks_ && turn_->gathered && turn_->last_gathered)
        written += block_beats_ + turn_->beats;
      ends = now - entry_ >= turn_->length && (!blocks_ || !turn_->last_of_block || now >= written);
      if (ends && blocks_) {
        written_ = written;
        if (turn_->gathered) block_beats_ = turn_->last_gathered ? 0 : block_beats_ + turn_->beats;
      }
    }
    ASSERT_EQ(issue_->word_end, ends) << "word " << issued_ - 1 << ", cycle " << cycle();
    ASSERT_EQ(issue_->block_end, ends && turn_->last_of_block);
    if (ends) turn_.reset();
  }

  const bool blocks_;
  Simulation<Model> issue_;
  std::deque<Word> coming_, queue_;
  bool slot_open_ = false;
  std::optional<Word> turn_;  // the word that has entered and has not had its time
  uint64_t begun_ = 0, issued_ = 0, advanced_ = 0, entry_ = 0;
  uint64_t written_ = 0, block_beats_ = 0;
  std::vector<uint64_t> completed_;
  std::vector<uint64_t> entered_;
  int rooms_waited_ = 0;
};

// A word whose time is long (a gap behind it) and one that could follow it, with lanes that stand
// still for a while: the second waits for as many cycles in which they advance as the first has.
TEST(VectorIssue, LanesThatStandStillAreNoTime) {
  for (const uint64_t still : {0u, 1u, 3u, 20u}) {
    IssueBench<Vvector_issue> bench(false, 1);
    bench.Push({.length = 8});
    bench.Push({.length = 2});
    const auto stands = [&] { return bench.cycle() >= 3 && bench.cycle() < 3 + still; };
    while (!bench.Done() && !testing::Test::HasFailure()) {
      ASSERT_LT(bench.cycle(), 100u);
      bench.Cycle({.advance = !stands(), .begin_slot = true, .end_slot = true});
    }
    EXPECT_EQ(bench.entered(), (std::vector<uint64_t>{0, 8 + still}));
  }
}
// The same with an operand that comes while the lanes stand still.
TEST(VectorIssue, OperandsThatComeMeanwhileChangeNothing) {
  IssueBench<Vvector_issue> bench(false, 2);
  bench.Push({.length = 4});
  bench.Push({.length = 1, .reads = true});
  while (!bench.Done() && !testing::Test::HasFailure()) {
    ASSERT_LT(bench.cycle(), 100u);
    const bool stands = bench.cycle() >= 1 && bench.cycle() < 11;
    bench.Cycle(
        {.advance = !stands, .begin_slot = true, .end_slot = true, .complete = bench.cycle() == 5});
  }
  EXPECT_EQ(bench.entered(), (std::vector<uint64_t>{0, 14}));
}
// Slots of a cycle follow each other without a bubble; what reads waits for what it reads.
TEST(VectorIssue, ACycleAWord) {
  IssueBench<Vvector_issue> bench(false, 3);
  for (int i = 0; i < 8; ++i) bench.Push({.length = 1});
  bench.Push({.length = 1, .reads = true});
  while (!bench.Done() && !testing::Test::HasFailure()) {
    ASSERT_LT(bench.cycle(), 100u);
    bench.Cycle({.begin_slot = true, .end_slot = true, .complete = bench.cycle() == 11});
  }
  EXPECT_EQ(bench.entered(), (std::vector<uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 12}));
}

template <typename Model>
void CheckRandomWords(bool blocks, uint64_t seed, double stall) {
  IssueBench<Model> bench(blocks, seed);
  Random random(seed);
  Stalls lanes(seed + 1, stall, Stalls::Kind::kBursts), slots(seed + 2, stall),
      ends(seed + 3, stall), operands(seed + 4, stall, Stalls::Kind::kBursts);
  bool gathers = false;
  for (int i = 0; i < 2'000; ++i) {
    Word word;
    word.length =
        static_cast<uint64_t>(random.Below(4) == 0 ? random.Between(2, 30) : random.Between(1, 3));
    word.reads = random.Below(2) == 0;
    word.nothing = random.Below(4) == 0;
    if (random.Below(8) == 0) gathers = !gathers && blocks;
    word.gathered = gathers;
    word.last_gathered = random.Below(3) == 0;
    word.last_of_block = random.Below(3) == 0;
    word.beats = word.gathered ? random.Below(9) : 0;
    bench.Push(word);
  }
  while (!bench.Done() && !testing::Test::HasFailure()) {
    ASSERT_LT(bench.cycle(), 500'000u);
    bench.Cycle({!lanes.Next(), !slots.Next(), !ends.Next(), !operands.Next()});
  }
  EXPECT_EQ(bench.entered().size(), 2'000u);
  EXPECT_GT(bench.rooms_waited(), 50);
}
TEST(VectorIssue, WordsInOrder) {
  for (const double stall : {0.0, 0.3, 0.6}) CheckRandomWords<Vvector_issue>(false, 10, stall);
}
TEST(VectorIssue, WordsThatLeaveInBlocks) {
  for (const double stall : {0.0, 0.3, 0.6})
    CheckRandomWords<Vvector_issue_blocks>(true, 20, stall);
}

}  // namespace
}  // namespace kiln::rtl
