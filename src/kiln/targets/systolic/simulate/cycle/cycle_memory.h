// Models the machine's ports behind a simulated memory, and the vector unit's lanes with the output
// queue and writer: the parts whose time depends on the requests of all ports. They are stepped
// cycle by cycle; the other units remain processes (cycle.cc).
//
// Covers machines with a bus for each port and without block scales.
#ifndef KILN_TARGETS_SYSTOLIC_SIMULATE_CYCLE_CYCLE_MEMORY_H_
#define KILN_TARGETS_SYSTOLIC_SIMULATE_CYCLE_CYCLE_MEMORY_H_

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>

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
  int64_t number = 0;  // of the fill, or of the word of the vector unit
};

// The units that read memory, in the round-robin order of a shared bus (kiln_systolic.sv). Other
// machines have a port for each.
enum Reader { kProgramReader, kInputReader, kWeightReader, kOperandReader, kReaders };

using ReadPort = hardware::AxiReadPortModel<Arrival>;
using WritePort = hardware::AxiWritePortModel<bool>;  // the tag: last request of a word

// The issue of words to the lanes (kiln_vector_issue.sv), the lanes, the queue behind them, the
// output writer, and the list of instructions that wait for their last write (kiln_vector_unit.sv).
// Calls in cycle t see the registers at the beginning of t; Step(t) ends the cycle.
class VectorLanes {
 public:
  VectorLanes(hardware::Simulator& simulator, const Config& config, WritePort& port);

  struct Word {
    bool reads = false;      // operands, so that it waits for SetReady
    bool to_memory = false;  // it has `writes`
    bool last_of_block = false;
    int64_t depth = 0;  // PipelineDepth of its program
    Requests writes;
  };
  // Returns whether one more word fits in the queue to the lanes.
  bool room() const { return queue_.size() + 1 < queue_words_; }
  // Begins the slot of a word in the present cycle, in which there is room. Returns its number.
  int64_t Begin(Word word);
  // States that the operands of a word are available from cycle `at` on.
  void SetReady(int64_t number, int64_t at);
  // States that the slot of the word begun last ends with cycle `end` and has `length` cycles. To
  // be called in cycle `end` or before.
  void EndSlot(int64_t end, int64_t length) { slots_.push_back({end, length}); }
  // co_await lanes.BlockEnd(): resumes in the cycle after the last one of the block's time.
  auto BlockEnd() { return Wait{block_waiter_}; }
  // Returns the advances of the lanes until all words so far have left them.
  int64_t leaving() const { return leaving_; }

  // Lists an instruction whose last block has ended in the last cycle.
  void EndInstruction(size_t instruction, int64_t depth) {
    ended_.push_back({instruction, end_advances_ + depth, end_words_});
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
    int64_t end, length;
  };
  // A word in the lanes: it leaves them with their advance number `leaves`.
  struct InLanes {
    int64_t leaves;
    Requests writes;
  };
  struct Ended {
    size_t instruction;
    int64_t deadline;  // in advances
    int64_t words;     // that have been written by then
  };

  // Issues a word, if one can enter the lanes, and counts the time of words.
  void Issue(int64_t cycle);
  // Takes a word that leaves the lanes to the queue or the writer, and requests a write.
  void Write(int64_t cycle);
  void Finish(int64_t cycle);
  void Resume(std::coroutine_handle<>& waiter, int64_t cycle) {
    if (waiter) simulator_.Schedule(cycle, std::exchange(waiter, nullptr));
  }

  hardware::Simulator& simulator_;
  WritePort& port_;
  const size_t queue_words_;  // WORDS
  std::deque<Queued> queue_;  // to the lanes
  int64_t begun_ = 0;         // words so far
  std::deque<Slot> slots_;    // of words that still have time left
  bool free_ = true;          // the word before has had its time
  int64_t since_ = 0;         // advances since it was issued
  bool last_of_block_ = false;
  int64_t depth_ = 0;  // of the word issued last
  int64_t leaving_ = 0;

  bool advance_ = true, advance_soon_ = true;
  int64_t advances_ = 0;  // before this cycle
  std::deque<InLanes> lanes_;
  std::deque<Requests> output_;  // words that wait for the writer
  Requests writing_;             // of the word in the writer
  size_t next_write_ = 0;        // the next of these; all are requested: the writer is free

  int64_t words_issued_ = 0, words_written_ = 0;  // to memory
  int64_t end_advances_ = 0, end_words_ = 0;      // at the last end of a block
  std::deque<Ended> ended_;
  size_t finished_ = 0;
  std::coroutine_handle<> block_waiter_, finish_waiter_;
};

// The memory with the machine's five ports, in the order of rtl/testbench/kiln_systolic_bench.h.
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

  // Begins to step. The first cycle is the present one.
  void Start() { simulator_.AtEndOf(simulator_.now(), this); }

  ReadPort& read(Reader reader) { return reads_[reader]; }
  VectorLanes& lanes() { return lanes_; }

 private:
  void At(int64_t cycle) override;

  hardware::Simulator& simulator_;
  hardware::MemoryBus bus_;
  std::array<ReadPort, kReaders> reads_;
  WritePort output_;
  VectorLanes lanes_;
  const uint64_t program_;     // its address
  int64_t program_words_ = 0;  // requested
  const Machine machine_;
};

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_SIMULATE_CYCLE_CYCLE_MEMORY_H_
