// The cycle level's units on the memory port: fetch, the readers (load stage, loader), the store stage.
#ifndef KILN_TARGETS_VTA_CYCLE_MEMORY_H_
#define KILN_TARGETS_VTA_CYCLE_MEMORY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "kiln/targets/vta/cycle_compute.h"
#include "kiln/targets/vta/cycle_launch.h"
#include "kiln/targets/vta/cycle_units.h"

namespace kiln::vta {

// Reads everything: instructions, what the loader asks for, what the load stage does, in this order; instructions last
// where enough of them stand in the queues. Words come in
// the order of requests; kept are only those that something hangs on, an instruction's and a load's last.
class ReadUnits {
 public:
  // Instructions are asked for from byte `address` on.
  ReadUnits(CycleLaunch& launch, ComputeStage& compute, Fifo<size_t>& stores, uint64_t address);

  // In a cycle, in this order.
  void Arbitrate();
  void StartLoads();  // the load stage and the loader
  void HandOn();      // fetch to the stages' queues
  void Arrive();      // words
  void EndCycle();
  // As ComputeStage; requests in the midst of a load are no events.
  Cycle NextEvent() const;
  // Takes requests in the midst of a load that would be taken before cycle `end`, given that nothing else happens, and
  // returns the cycle of the first request that is more than that, or `end`.
  Cycle Skip(Cycle end);

  // Whether there are requests to make.
  bool Asks() const { return WantsFetch() || ReadsData(); }

  bool all_handed_on() const { return handed_ == launch_.count; }
  const Fifo<size_t>& loads() const { return loads_; }  // instructions that wait for the load stage

 private:
  enum Owner : uint8_t { kFetch, kLoader, kLoad };
  static constexpr size_t kFetchQueue = 16;
  // With so many instructions in the stages' queues, fetch leaves the port to who reads data.
  static constexpr size_t kStanding = 8;

  // One that makes requests for the elements of loads.
  struct Reader {
    ElementRun run;
    uint64_t id = 0;  // what arrives: the load stage's instruction, the loader's place
    size_t instruction = 0;
    uint64_t bytes = 0, beats = 1;  // of an element
    Counter of_bytes = Counter::kInputBytes;
    Cycle start = 0;
  };
  struct Word {
    Owner owner;
    uint64_t id;
  };

  bool WantsFetch() const { return asked_ < fetched_ && asked_ - handed_ < kFetchQueue; }
  // Its request comes before those of the loader and the load stage, or behind them.
  bool FetchComesFirst() const {
    return loads_.size() + compute_.queue().size() + stores_.size() < kStanding;
  }
  bool FetchIsNext() const { return WantsFetch() && (FetchComesFirst() || !ReadsData()); }
  bool ReadsData() const { return readers_[kLoader].run.active() || readers_[kLoad].run.active(); }
  void AskForInstruction();
  // Takes `count` alike requests of a reader from cycle `at` on.
  void Ask(Owner owner, Cycle at, uint64_t count);
  void StartReader(Owner owner, size_t instruction, uint64_t id);
  void StartLoadStage();
  void StartLoader();
  // The port is kept for `cycles` more from a cycle in which these have requests to make.
  void KeepWaiting(Owner but, Cycle cycles);
  void Loaded(size_t instruction);
  Fifo<size_t>& FifoOf(const Instruction& in);

  CycleLaunch& launch_;
  ComputeStage& compute_;
  Fifo<size_t>& stores_;
  const uint64_t address_;
  const size_t fetched_;  // instructions to ask for: to the first that is not there, it included
  size_t checked_ = 0;    // instructions that some stage can execute

  ReadPort port_;
  Owner holder_ = kFetch;  // of the port, until it is free
  Schedule<Word> words_;
  size_t asked_ = 0, handed_ = 0;
  Fifo<size_t> fetch_queue_{kFetchQueue};
  Fifo<size_t> loads_;
  std::array<Reader, 3> readers_;               // by owner
  bool load_free_ = true, loader_free_ = true;  // at the begin of the cycle
};

class StoreStage {
 public:
  explicit StoreStage(CycleLaunch& launch);

  Fifo<size_t>& queue() { return queue_; }  // instructions, from fetch
  const Fifo<size_t>& queue() const { return queue_; }
  void Start();
  void Finish();
  void EndCycle() { queue_.EndCycle(); }
  Cycle NextEvent() const;

 private:
  CycleLaunch& launch_;
  Fifo<size_t> queue_;
  Schedule<size_t> done_;
  Cycle free_ = 0;       // from when on an instruction can start
  Cycle port_free_ = 0;  // the write port
  Cycle last_done_ = 0;  // of all that were started; 0: none
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_CYCLE_MEMORY_H_
