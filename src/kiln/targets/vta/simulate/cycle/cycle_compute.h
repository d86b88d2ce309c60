// The cycle level's compute stage: dispatcher, GEMM and ALU units, retirement. cycle_memory.h
// models the requests of the loader.
#ifndef KILN_TARGETS_VTA_SIMULATE_CYCLE_CYCLE_COMPUTE_H_
#define KILN_TARGETS_VTA_SIMULATE_CYCLE_CYCLE_COMPUTE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "kiln/targets/vta/simulate/cycle/cycle_launch.h"
#include "kiln/targets/vta/simulate/cycle/cycle_units.h"

namespace kiln::vta {

// The compute stage during one launch.
class ComputeStage {
 public:
  explicit ComputeStage(CycleLaunch& launch);

  // The parts of a cycle, in the order in which they must be called: those that read state as of
  // the start of the cycle come before those that change it.
  void Dispatch();
  void TakeInstructions();  // the GEMM and ALU units take instructions from their queues
  void FinishSteps();       // completes GEMM and ALU instructions whose last step is written
  void Retire();            // called after everything that can complete in this cycle
  void EndCycle();
  // Returns the next cycle in which the stage changes even if no other unit does, or kNever.
  Cycle NextEvent() const;

  Fifo<size_t>& queue() { return queue_; }  // instructions, from fetch
  const Fifo<size_t>& queue() const { return queue_; }
  // The interface of the loader: the queue of instructions that wait for it, by their numbers in
  // the order of dispatch; a call to report that one is done; and the instruction of a number.
  Fifo<uint64_t>& loader_queue() { return units_[kLoader].queue; }
  void LoaderIsDone(uint64_t place);
  std::optional<size_t> Oldest() const {  // the oldest instruction that has not retired
    return retired_ == dispatched_ ? std::nullopt : std::optional<size_t>(InstructionAt(retired_));
  }
  size_t InstructionAt(uint64_t place) const { return places_[place % places_.size()].instruction; }

 private:
  enum UnitNumber : uint8_t { kGemm, kAlu, kLoader, kNone };
  static constexpr size_t kUnitQueue = 8, kRetirementQueue = 32, kMaxBanks = 16;

  // The resources that an instruction uses, found by its examination.
  struct Use {
    UnitNumber unit = kNone;
    uint32_t banks = 0;  // one bit per bank
    bool loads_uops = false;
    bool two_cycles = false;  // whether a step takes two cycles
  };
  // An entry of the retirement queue.
  struct Place {
    size_t instruction = 0;
    Use use;
    Cycle done = kNever;  // the unit's done cycle
  };
  struct UnitState {
    Fifo<uint64_t> queue{kUnitQueue};               // retirement queue entries, by their numbers
    Schedule<uint64_t> done{2 * kRetirementQueue};  // GEMM, ALU: done cycles of taken instructions
    Cycle free = 0;                                 // first cycle in which it can take the next one
    uint32_t under_way = 0;                         // instructions in flight
    std::array<uint32_t, kMaxBanks> banks{};        // by bank: instructions in flight that touch it
    uint32_t busy_banks = 0;                        // one bit per bank
  };

  Place& PlaceOf(uint64_t number) { return places_[number % places_.size()]; }
  // Returns whether the examination of the queue's head is complete. Starts it if necessary.
  bool Examined(const Instruction& in);
  void Examine(const Instruction& in);
  Use UseOf(const Instruction& in) const;
  uint32_t BanksOf(uint64_t least, uint64_t greatest) const;
  // Returns the counter of the first reason why the head cannot be dispatched, nullopt if it can.
  std::optional<Counter> Obstacle(const Instruction& in) const;
  uint32_t BanksOfOthers(UnitNumber unit) const;
  void Take(UnitNumber number);
  void Leave(UnitState& unit, const Place& place);

  CycleLaunch& launch_;
  Fifo<size_t> queue_;
  std::array<UnitState, 3> units_;
  std::array<Place, 2 * kRetirementQueue> places_;
  uint64_t dispatched_ = 0, retired_ = 0;  // numbers of instructions so far
  uint32_t uop_loads_ = 0;                 // loads of micro-ops in flight
  // The state of the queue's head.
  bool examined_ = false;
  Cycle ready_ = 0;  // the first cycle in which it can be dispatched
  Use head_;
  std::optional<Fault> head_fault_;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_SIMULATE_CYCLE_CYCLE_COMPUTE_H_
