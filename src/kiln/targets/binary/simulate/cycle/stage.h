// A stage of the machine at the cycle level (docs/binary-machine.md, "A stage"). Its signals of a
// cycle are functions of its registers; Clock ends the cycle.
#ifndef KILN_TARGETS_BINARY_SIMULATE_CYCLE_STAGE_H_
#define KILN_TARGETS_BINARY_SIMULATE_CYCLE_STAGE_H_

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "kiln/targets/binary/isa/derived.h"
#include "kiln/targets/binary/isa/program.h"

namespace kiln::binary {

// A queue of words with first-word fall-through: a word that is pushed in a cycle is at the output
// in the next one.
template <typename Word>
class CycleQueue {
 public:
  explicit CycleQueue(int64_t depth) : depth_(depth) {}
  bool has_room() const { return std::ssize(words_) < depth_; }
  bool empty() const { return words_.empty(); }
  const Word& front() const { return words_.front(); }
  // Ends a cycle in which a word came, and in which the front left.
  void Clock(std::optional<Word> in, bool out) {
    if (out) words_.pop_front();
    if (in.has_value()) words_.push_back(*std::move(in));
    highest_ = std::max(highest_, static_cast<int64_t>(std::ssize(words_)));
  }
  int64_t highest() const { return highest_; }

 private:
  const int64_t depth_;
  int64_t highest_ = 0;
  std::deque<Word> words_;
};

// A word of results, one code of each column.
struct ResultWord {
  std::vector<int32_t> codes;
  bool last = false;  // of a pixel
};

// Joins words to words of a stage's input (kiln_binary_pack).
class CyclePack {
 public:
  explicit CyclePack(int ratio) : ratio_(ratio) {}
  bool in_ready() const { return !full_; }
  bool out_valid() const { return full_; }
  const std::vector<int32_t>& word() const { return word_; }
  void Clock(const std::vector<int32_t>* in, bool last, bool out);

 private:
  const int ratio_;
  int at_ = 0;
  bool full_ = false;
  std::vector<int32_t> word_;
};

class CycleStage {
 public:
  CycleStage(const BlockProgram& program, int number);

  // Signals of a cycle, from registers alone.
  bool in_ready() const;  // takes a word of the input
  bool forward_valid() const { return !forward_.empty(); }
  const ResultWord& forward() const { return forward_.front(); }
  bool emit_valid() const { return !emit_.empty(); }
  const ResultWord& emit() const { return emit_.front(); }
  bool skip_room() const { return skip_.has_room(); }
  bool idle() const;

  // What comes in and leaves in a cycle.
  struct Inputs {
    bool start = false;
    const std::vector<int32_t>* word = nullptr;  // a word that is taken
    const std::vector<int32_t>* skip = nullptr;  // a beat for what is added
    bool forward_taken = false, emit_taken = false;
  };
  void Clock(const Inputs& in);

  // Counters of the run.
  int64_t busy_cycles() const { return busy_cycles_; }
  int64_t no_tables() const { return no_tables_; }
  int64_t results_full() const { return results_full_; }
  int64_t lookups() const { return lookups_; }
  // The most words that the queues held.
  int64_t forward_highest() const { return forward_.highest(); }
  int64_t emit_highest() const { return emit_.highest(); }
  int64_t skip_highest() const { return skip_.highest(); }
  // Whether anything changed in the last cycle.
  bool moved() const { return moved_; }

 private:
  // A round: the groups of a step that the tables hold at the same time.
  struct Round {
    int y = 0, x = 0;  // of the output pixel
    int step = 0, round = 0;
    bool first = false, last = false;  // of the pixel
    bool ends_step = false;
  };
  // A group that is in flight from the walk to the tables.
  struct Group {
    bool valid = false;
    int place = 0;  // in its round
    int top = 0, left = 0;
    Round round;
  };
  // A look-up that is in flight. It adds `sum` less `base` to the channel's sum, which starts at 0
  // if `fresh`. `base` is the window's weighted sum of all digits, in one look-up per output, if
  // the stage subtracts it. `rest` is the weighted sum of the digits below the step's, by which the
  // test bounds what the later steps add.
  struct Lookup {
    bool valid = false;
    int place = 0;
    int64_t sum = 0;
    bool fresh = false, tested = false;
    int buffer = 0;
    int64_t base = 0, rest = 0;
    size_t first_threshold = 0;
  };
  struct Column {
    std::array<uint64_t, kSumBuffers> alive = {};
    uint64_t pending = 0;
    int cursor = 0;
    int recent = -1, earlier = -1;  // channels of the last two cycles; -1: none
    std::array<std::vector<int64_t>, kSumBuffers> sums;
    std::deque<Lookup> under_way;  // youngest first
  };
  // The choice of a column in a cycle.
  struct Choice {
    int channel = -1;  // that is looked up
    bool done = true;
  };

  Choice ChoiceOf(const Column& column) const;
  void ClockWriter(const Inputs& in);
  void ClockWalk(const Inputs& in, bool advance);
  void ClockTables(bool start, bool advance, bool take);
  void ClockColumns(const std::vector<Choice>& choices, bool take);
  void ClockResults(const Inputs& in, bool ends_pixel);
  void ReadDigits(const Round& round);
  void FindWindowSums(const Round& round);
  int32_t CodeAt(int y, int x, int channel) const;
  int32_t DigitOf(int32_t code, int digit) const;
  Lookup MakeLookup(int column, int channel) const;

  const BlockProgram& program_;
  const Config& config_;
  const int number_;
  const StageProgram& s_;
  const StageLayout layout_;
  const int columns_, code_size_, tree_cycles_;
  std::vector<int8_t> signs_;       // [plane][round][channel of a list][column][code of a word]
  std::vector<size_t> test_index_;  // by step: number of its test

  // The writer and the map.
  bool writing_ = false;
  int write_y_ = 0, write_x_ = 0, write_chunk_ = 0;
  int end_y_ = 0, end_x_ = 0;         // words may come before this place
  int limit_y_ = 0, limit_x_ = 0;     // windows that are left begin there
  std::deque<int> pixels_under_way_;  // 0 none, 1 a pixel, 2 the last of its row
  int written_y_ = 0, written_x_ = 0;
  std::vector<int32_t> map_;

  // The walk.
  bool walking_ = false, bounds_known_ = false, ready_ = false;
  int bottom_ = 0, right_ = 0;
  Round walk_;
  int walk_fetch_ = 0;  // group of the step
  Group group_, group1_, group2_, group3_;

  // Rounds.
  bool next_full_ = false;
  Round next_, round_;
  bool active_ = false;
  int buffer_ = kSumBuffers - 1;
  std::array<bool, kSumBuffers> busy_ = {};
  std::vector<int64_t> digit_sums_;
  int64_t base_ = 0, rest_ = 0;
  std::vector<int8_t> digits_;  // of the round
  std::vector<Column> column_;

  // Results.
  std::deque<bool> ends_under_way_;
  int finished_ = 0;
  bool reading_ = false, all_read_ = true;
  int turn_ = 0, read_index_ = 0;
  int read_wait_ = 0;  // cycles until the requantisers take the next sums
  int64_t pixels_read_ = 0;
  int sub_word_ = 0;
  int forward_places_, emit_places_;
  struct Result {
    bool valid = false;
    ResultWord results, totals;
  };
  std::deque<Result> results_under_way_;
  CycleQueue<ResultWord> forward_, emit_;
  CycleQueue<std::vector<int32_t>> skip_;

  int64_t busy_cycles_ = 0, no_tables_ = 0, results_full_ = 0, lookups_ = 0;
  bool moved_ = false;
};

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_SIMULATE_CYCLE_STAGE_H_
