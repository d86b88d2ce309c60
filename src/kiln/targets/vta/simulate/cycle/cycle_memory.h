// The cycle level's units that use the memory port: fetch, the readers of data (load stage and
// loader), and the store stage.
#ifndef KILN_TARGETS_VTA_SIMULATE_CYCLE_CYCLE_MEMORY_H_
#define KILN_TARGETS_VTA_SIMULATE_CYCLE_CYCLE_MEMORY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "kiln/targets/vta/simulate/cycle/cycle_compute.h"
#include "kiln/targets/vta/simulate/cycle/cycle_launch.h"
#include "kiln/targets/vta/simulate/cycle/cycle_units.h"

namespace kiln::vta {

// All reads of the machine: requests of fetch, loader and load stage, with priority in this order.
// Fetch comes last while the queues hold enough instructions. Words arrive in the order of their
// requests; only those with an effect are recorded: an instruction's word and a load's last one.
class ReadUnits {
 public:
  // Fetches instructions from byte `address` on.
  ReadUnits(CycleLaunch& launch, ComputeStage& compute, Fifo<size_t>& stores, uint64_t address);

  // The parts of a cycle, to be called in this order.
  void Arbitrate();
  void StartLoads();  // starts instructions of the load stage and the loader
  void HandOn();      // moves an instruction from fetch to a stage's queue
  void Arrive();      // handles the word that arrives
  void EndCycle();
  // As ComputeStage::NextEvent. Requests in the middle of a load are not events.
  Cycle NextEvent() const;
  // Accepts the current load's requests up to cycle `end`, except its last one, assuming that no
  // other event occurs. Returns the cycle of the first request that it does not accept, or `end`.
  Cycle Skip(Cycle end);

  // Returns whether there are requests to make.
  bool Asks() const { return WantsFetch() || ReadsData(); }

  bool all_handed_on() const { return handed_ == launch_.count; }
  const Fifo<size_t>& loads() const { return loads_; }  // the load stage's queue

 private:
  enum Owner : uint8_t { kFetch, kLoader, kLoad };
  static constexpr size_t kFetchQueue = 16;
  // With this many instructions in the stages' queues, fetch gives priority to the readers of data.
  static constexpr size_t kStanding = 8;

  // The load stage or the loader, which makes one request per element of a load.
  struct Reader {
    ElementRun run;
    uint64_t id = 0;  // load stage: the instruction; loader: the entry in the retirement queue
    size_t instruction = 0;
    uint64_t bytes = 0, beats = 1;  // per element
    Counter of_bytes = Counter::kInputBytes;
    Cycle start = 0;
  };
  struct Word {
    Owner owner;
    uint64_t id;
  };

  bool WantsFetch() const { return asked_ < fetched_ && asked_ - handed_ < kFetchQueue; }
  // Returns whether fetch has priority over the loader and the load stage.
  bool FetchComesFirst() const {
    return loads_.size() + compute_.queue().size() + stores_.size() < kStanding;
  }
  bool FetchIsNext() const { return WantsFetch() && (FetchComesFirst() || !ReadsData()); }
  bool ReadsData() const { return readers_[kLoader].run.active() || readers_[kLoad].run.active(); }
  void AskForInstruction();
  // As Arbitrate, behind a simulated memory.
  void ArbitrateShared(SharedMemory& shared);
  void AskShared(SharedMemory& shared, Owner owner);
  // Accepts `count` requests of the same kind from a reader, from cycle `at` on.
  void Ask(Owner owner, Cycle at, uint64_t count);
  void StartReader(Owner owner, size_t instruction, uint64_t id);
  void StartLoadStage();
  void StartLoader();
  // Counts `cycles` stalls for every reader except `but` that has requests to make, because the
  // port is occupied.
  void KeepWaiting(Owner but, Cycle cycles);
  // Counts the end of a reader's requests, whose last one is accepted in cycle `at`.
  void EndReader(Owner owner, Cycle at);
  // Handles the word of a request with an effect.
  void Take(const Word& word);
  void Loaded(size_t instruction);
  Fifo<size_t>& FifoOf(const Instruction& in);

  CycleLaunch& launch_;
  ComputeStage& compute_;
  Fifo<size_t>& stores_;
  const uint64_t address_;
  const size_t fetched_;  // instructions to request, up to the first one outside of the memory
  size_t checked_ = 0;    // instructions that some stage can execute

  ReadPort port_;
  Owner holder_ = kFetch;  // whose request occupies the port until free_at()
  Schedule<Word> words_;
  size_t asked_ = 0, handed_ = 0;
  Fifo<size_t> fetch_queue_{kFetchQueue};
  Fifo<size_t> loads_;
  std::array<Reader, 3> readers_;               // by owner
  bool load_free_ = true, loader_free_ = true;  // at the start of the cycle
};

// The store stage during one launch.
class StoreStage {
 public:
  explicit StoreStage(CycleLaunch& launch);

  Fifo<size_t>& queue() { return queue_; }  // instructions, from fetch
  const Fifo<size_t>& queue() const { return queue_; }
  void Start();
  void Finish();
  void EndCycle() { queue_.EndCycle(); }
  Cycle NextEvent() const;
  // Behind a simulated memory: requests the next element of the current instruction.
  void Write();

 private:
  // The instruction whose elements are requested one by one, behind a simulated memory.
  struct Current {
    size_t instruction = 0;
    uint64_t left = 0, column = 0;  // elements, and the next one's place in its row
    uint32_t row = 0;
    Cycle start = 0;
    bool empty = false;  // an instruction without elements, which waits for an idle port
  };
  void StartShared(size_t index);
  void FinishShared(SharedMemory& shared);
  void Stored(size_t instruction);

  CycleLaunch& launch_;
  Current current_;
  Fifo<size_t> queue_;
  Schedule<size_t> done_;
  Cycle free_ = 0;       // first cycle in which an instruction can start
  Cycle port_free_ = 0;  // first cycle in which the write port is free
  Cycle last_done_ = 0;  // done cycle of the last instruction started; 0: none was
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_SIMULATE_CYCLE_CYCLE_MEMORY_H_
