// Models the machine's ports behind a simulated memory, and the vector unit's operand fetch, lanes,
// output queue and writers: the parts whose time depends on the requests of all ports. They are
// stepped cycle by cycle; the other units remain processes (cycle.cc).
#ifndef KILN_TARGETS_SYSTOLIC_SIMULATE_CYCLE_CYCLE_MEMORY_H_
#define KILN_TARGETS_SYSTOLIC_SIMULATE_CYCLE_CYCLE_MEMORY_H_

#include <algorithm>
#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "kiln/hardware/axi_port_model.h"
#include "kiln/hardware/event_kernel.h"
#include "kiln/targets/systolic/config/config.h"
#include "kiln/targets/systolic/isa/requests.h"

namespace kiln::systolic {

// What the word of a read request ends. Words of other requests are not followed.
struct Arrival {
  enum class Of : uint8_t {
    kNothing,
    kProgramWord,
    kInputs,
    kDepthwiseInputs,
    kWeights,
    kDepthwiseWeights,
    kParameters,
    kOperands
  };
  Of of = Of::kNothing;
  int64_t number = 0;   // of the fill, or of the word of the vector unit
  bool scaled = false;  // codes: they come with block scales
};

// The units that read memory, in the round-robin order of a shared bus (kiln_systolic.sv). Other
// machines have a port for each.
enum Reader { kProgramReader, kInputReader, kWeightReader, kOperandReader, kReaders };

using ReadPort = hardware::AxiReadPortModel<Arrival>;
using WritePort = hardware::AxiWritePortModel<bool>;  // the tag: last request of a word
using ScalePort = hardware::AxiReadPortModel<bool>;   // the tag: last scale of a fill or a word

// The issue of words to the lanes (kiln_vector_issue.sv), the lanes, the gathering of scale blocks
// (kiln_vector_blocks.sv), the queue behind them, the output writers, and the list of instructions
// that wait for their last write (kiln_vector_unit.sv). Calls in cycle t see the registers at the
// beginning of t; Step(t) ends the cycle.
class VectorLanes {
 public:
  // `scale_port` is used by words with block scales alone.
  VectorLanes(hardware::Simulator& simulator, const Config& config, WritePort& port,
              WritePort& scale_port);

  // The cycles through the unit: to memory, and through the lanes (PipelineDepth, LaneDepth).
  struct Depth {
    int64_t unit = 0, lanes = 0;
  };
  struct Word {
    bool reads = false;      // operands, so that it waits for SetReady
    bool to_memory = false;  // it has `writes`
    bool last_of_block = false;
    Depth depth;         // of its program
    int64_t output = 0;  // beats of the writes, block scales included
    Requests writes;
    // Output with block scales: the word leaves when its scale block is complete.
    Requests scale_writes;  // of the scale block, if the word is its first
    bool gathered = false, last_of_scale_block = false;
  };
  // Returns whether one more word fits in the queue to the lanes.
  bool room() const { return queue_.size() + 1 < queue_words_; }
  // Begins the slot of a word in the present cycle, in which there is room. Returns its number.
  int64_t Begin(Word word);
  // States that the operands of a word are available from cycle `at` on.
  void SetReady(int64_t number, int64_t at);
  // States that the slot of the word begun last ends with this cycle and has had `length` cycles,
  // and that the word's output has `beats`.
  void EndSlot(int64_t length, int64_t beats) { slots_.push_back({length, beats}); }
  // co_await lanes.BlockEnd(): resumes in the cycle after the last one of the block's time.
  auto BlockEnd() { return Wait{block_waiter_}; }
  // Returns whether words of a program that begin now would leave after the words so far
  // (kiln_block_order.sv).
  bool InOrder(const Depth& depth) const {
    return leaving_.unit <= depth.unit && leaving_.lanes <= depth.lanes;
  }

  // Lists an instruction whose last block has ended in the last cycle.
  void EndInstruction(size_t instruction, int64_t depth) {
    ended_.push_back({instruction, end_advances_ + depth, end_words_, end_scales_});
  }
  // co_await lanes.Finished(): resumes in the cycle after the one in which the oldest listed
  // instruction is finished, and returns it.
  auto Finished() {
    struct Awaiter : Wait {
      size_t& finished;
      size_t await_resume() const { return finished; }
    };
    return Awaiter{{finish_waiter_}, finished_};
  }

  void Step(int64_t cycle);
  // Returns whether words are on their way, or instructions wait for their last write.
  bool busy() const {
    return !queue_.empty() || !free_ || !lanes_.empty() || !output_.empty() || !writing_.done() ||
           !writing_scales_.done() || !ended_.empty();
  }

 private:
  static constexpr int64_t kUnknown = INT64_MAX;
  static constexpr size_t kOutputWords = 4;  // OUTPUT_WORDS
  struct Wait {
    std::coroutine_handle<>& waiter;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> handle) { waiter = handle; }
    void await_resume() const {}
  };
  struct Queued {
    Word word;
    int64_t begin, ready;
  };
  struct Slot {
    int64_t length, beats;
  };
  // The writes of a word that leaves the unit.
  struct Output {
    Requests codes, scales;
  };
  // A word in the unit: it leaves with the lanes' advance number `leaves`.
  struct InUnit {
    int64_t leaves;
    Output output;
  };
  // A word that waits for the end of its scale block.
  struct Gathered {
    int64_t beats;
    Output output;
  };
  // The requests of the word in a writer (kiln_output_writer.sv).
  struct Writing {
    Requests requests;
    size_t next = 0;
    bool done() const { return next == requests.size(); }
    void Take(Requests word) {
      requests = std::move(word);
      next = 0;
    }
    void Ask(uint64_t now, WritePort& port);
  };
  struct Ended {
    size_t instruction;
    int64_t deadline;       // in advances
    int64_t words, scales;  // that have been written by then
  };

  // Issues a word, if one can enter the lanes, and counts the time of words.
  void Issue(int64_t cycle);
  // Sends a word through the lanes.
  void Enter(Word& word);
  // Returns whether the output of scale blocks has had its time when the current word ends.
  bool OutputIsOver(bool issued) const;
  // Takes a word that leaves the unit to the queue or the writers, and requests writes.
  void Write(int64_t cycle);
  void Finish(int64_t cycle);
  void Resume(std::coroutine_handle<>& waiter, int64_t cycle) {
    if (waiter) simulator_.Schedule(cycle, std::exchange(waiter, nullptr));
  }

  hardware::Simulator& simulator_;
  WritePort& port_;
  WritePort& scale_port_;
  const size_t queue_words_;  // WORDS
  std::deque<Queued> queue_;  // to the lanes
  int64_t begun_ = 0;         // words so far
  std::deque<Slot> slots_;    // that have ended, of words that still have time left
  bool free_ = true;          // the word before has had its time
  int64_t since_ = 0;         // advances since it was issued
  // Of the word issued last.
  bool last_of_block_ = false, gathered_ = false, last_of_scale_block_ = false;
  Depth depth_;
  Depth leaving_;  // advances until all words so far have left the unit, and the lanes
  // Output of scale blocks: the time that it still needs when the current word's time begins, as if
  // the depth were 0, and the beats of the scale block's earlier words.
  int64_t owed_ = 0, scale_block_beats_ = 0;

  bool advance_ = true, advance_soon_ = true;
  int64_t advances_ = 0;             // before this cycle
  std::deque<InUnit> lanes_;         // with the words of complete scale blocks
  std::vector<Gathered> gathering_;  // words of a scale block that is not complete
  int64_t next_gathered_ = 0;        // when the next word of a scale block may leave
  std::deque<Output> output_;        // words that wait for the writers
  Writing writing_, writing_scales_;

  // To memory; of scales, those of scale blocks.
  int64_t words_issued_ = 0, words_written_ = 0, scales_issued_ = 0, scales_written_ = 0;
  int64_t end_advances_ = 0, end_words_ = 0, end_scales_ = 0;  // at the last end of a block
  std::deque<Ended> ended_;
  size_t finished_ = 0;
  std::coroutine_handle<> block_waiter_, finish_waiter_;
};

// The slots of the vector unit's words (kiln_operand_fetch.sv). In each cycle, Asks comes before
// Step, and Step before VectorLanes::Step.
class OperandFetch {
 public:
  // `scale_port` is used by operands with block scales alone.
  OperandFetch(VectorLanes& lanes, ScalePort& scale_port)
      : lanes_(lanes), scale_port_(scale_port) {}

  // Begins the words of a block, whose first slot may begin in the present cycle.
  void Start(VectorWords words, const VectorLanes::Depth& depth);
  // Begins a slot if a word can have one. Returns the request to the operand port in this cycle, or
  // null.
  const Request* Asks(int64_t cycle);
  // Returns what the word of that request ends.
  Arrival arrival() const;
  // Ends a cycle, in which the port has `taken` the request.
  void Step(int64_t cycle, bool taken);
  // Returns whether words have still to begin or end their slots.
  bool busy() const { return words_.has_value(); }

 private:
  // Returns whether this cycle belongs to an earlier request.
  bool reading() const { return beats_left_ > 0 || scales_left_.count > 0; }
  void AskScale(int64_t cycle, const ScaleRequests& scales);
  void EndSlot();

  VectorLanes& lanes_;
  ScalePort& scale_port_;
  std::optional<VectorWords> words_;  // of the current block
  VectorLanes::Depth depth_;
  VectorWord word_, next_word_;
  bool more_ = false;  // there is a next word
  bool first_of_scale_block_ = true;
  // The slot of the word.
  bool begun_ = false, in_gap_ = false;
  int64_t number_ = 0;  // of the word in the lanes' queue
  int64_t cycles_ = 0;
  int64_t search_left_ = 0, output_left_ = 0, gap_left_ = 0;  // cycles
  size_t next_ = 0;                                           // request
  bool first_scale_sent_ = false;                             // of the next request
  int64_t beats_left_ = 0;                                    // of the last request
  ScaleRequests scales_left_;                                 // of the last request
};

// Orders the fills of a double buffer whose codes and block scales arrive over two ports
// (kiln_fill_join.sv).
class FillJoin {
 public:
  // State that the codes of a fill, or the scales of the next fill that has scales, arrive in
  // `cycle`.
  void Codes(const Arrival& fill, int64_t cycle) { codes_.push_back({fill, cycle}); }
  void Scales(int64_t cycle) { scales_.push_back(cycle); }
  // Calls arrived(fill, cycle) for each fill that is complete in a known cycle, in order.
  template <typename Arrived>
  void Join(const Arrived& arrived) {
    while (!codes_.empty() && !(codes_.front().fill.scaled && scales_.empty())) {
      const Fill next = codes_.front();
      codes_.pop_front();
      last_ = std::max(last_ + 1, next.cycle);
      if (next.fill.scaled) {
        last_ = std::max(last_, scales_.front());
        scales_.pop_front();
      }
      arrived(next.fill, last_);
    }
  }

 private:
  struct Fill {
    Arrival fill;
    int64_t cycle;
  };
  std::deque<Fill> codes_;
  std::deque<int64_t> scales_;
  int64_t last_ = -1;  // cycle of the last fill
};

// The memory with the machine's ports, in the order of rtl/testbench/kiln_systolic_bench.h.
class SimulatedMemory final : private hardware::EndOfCycle {
 public:
  // The functions of the machine: `arrived` is called when the cycle of a word at its port's output
  // is known, which is a later one; `wants_program` returns whether a word of the program is
  // wanted in the present cycle, after `requested` requests; `running` returns whether the program
  // goes on.
  struct Machine {
    std::function<void(const Arrival& arrival, int64_t cycle)> arrived;
    std::function<bool(int64_t requested)> wants_program;
    std::function<bool()> running;
  };
  SimulatedMemory(hardware::Simulator& simulator, const Config& config,
                  const hardware::AxiTiming& timing, uint64_t program, Machine machine);

  // Begins to step. The first cycle is the present one. Steps until the program has ended, or until
  // no unit can work any more.
  void Start() { simulator_.AtEndOf(simulator_.now(), this); }

  // co_await memory.Ask(reader, request, arrival, ...): requests from the present cycle on. Resumes
  // in the cycle after the one in which the port accepts the request, and the scale port its first
  // scale. Returns the number of cycles in which the request waited for the scale port alone.
  // `last_scales` says that the request's scales are the last ones of their fill.
  auto Ask(Reader reader, const Request& request, const Arrival& arrival, bool last_scales) {
    struct Awaiter {
      Asked& asked;
      bool await_ready() const { return false; }
      void await_suspend(std::coroutine_handle<> handle) { asked.handle = handle; }
      int64_t await_resume() const { return asked.waited; }
    };
    Asked& asked = asked_[reader];
    asked = {{}, request, arrival, last_scales, 0};
    return Awaiter{asked};
  }
  // Returns whether the reader's port accepts a request in the present cycle, and all scales of its
  // last request have been requested.
  bool Ready(Reader reader) {
    return reads_[reader].ready(static_cast<uint64_t>(simulator_.now())) &&
           scales_left_[reader].count == 0;
  }
  VectorLanes& lanes() { return lanes_; }
  OperandFetch& operands() { return operands_; }

 private:
  // The request of a process that waits for its port.
  struct Asked {
    std::coroutine_handle<> handle;  // null: no request
    Request request;
    Arrival arrival;
    bool last_scales = false;
    int64_t waited = 0;
  };
  // Scales that are requested one per cycle.
  struct ScalesLeft : ScaleRequests {
    bool last_of_fill = false;
  };

  void At(int64_t cycle) override;
  // Accepts the requests of a cycle.
  void Accept(int64_t cycle);
  // Returns the reader that gets the shared bus, or kReaders. The arguments are the readers that
  // request it, and those whose ports are ready.
  size_t Turn(const std::array<bool, kReaders>& asks, const std::array<bool, kReaders>& ready);
  // Requests the first of some scales, and leaves the others for later cycles.
  void AskScale(uint64_t now, Reader reader, const ScalesLeft& scales);
  // Hand on the words whose cycles are known.
  void TakeWords();
  void TakeOperands();
  // Returns whether a request waits or is in flight, or the vector unit has words.
  bool busy() const;
  hardware::AxiReadBus& BusOf(Reader reader) { return read_buses_[shared_bus_ ? 0 : reader]; }
  ScalePort& ScalesOf(Reader reader) { return scale_reads_[reader - kInputReader]; }

  hardware::Simulator& simulator_;
  const bool shared_bus_;
  hardware::MemoryBus bus_;
  std::array<hardware::AxiReadBus, kReaders> read_buses_;  // a shared bus is the first one
  std::array<hardware::AxiReadBus, kReaders - 1> scale_buses_;
  std::array<ReadPort, kReaders> reads_;
  WritePort output_;
  std::array<ScalePort, kReaders - 1> scale_reads_;  // of inputs, weights and operands
  WritePort scale_output_;
  VectorLanes lanes_;
  OperandFetch operands_;
  std::array<Asked, kReaders> asked_;
  std::array<ScalesLeft, kReaders> scales_left_;  // of inputs and weights
  std::array<FillJoin, kReaders> fills_;          // of inputs and weights
  size_t last_turn_ = kReaders - 1;               // the reader that got the shared bus last
  const uint64_t program_;                        // its address
  int64_t program_words_ = 0;                     // requested
  const Machine machine_;
};

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_SIMULATE_CYCLE_CYCLE_MEMORY_H_
