// The cycle level's compute stage: dispatcher, GEMM and ALU units, retirement. The loader's requests are
// cycle_memory.h's.
#ifndef KILN_TARGETS_VTA_CYCLE_COMPUTE_H_
#define KILN_TARGETS_VTA_CYCLE_COMPUTE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "kiln/targets/vta/cycle_launch.h"
#include "kiln/targets/vta/cycle_units.h"

namespace kiln::vta {

class ComputeStage {
 public:
  explicit ComputeStage(CycleLaunch& launch);

  // The stage's parts in a cycle, in the order in which they must be asked: those that look at what was there at its
  // begin before those that change it.
  void Dispatch();
  void TakeInstructions();  // GEMM and ALU unit
  void FinishSteps();       // the same: instructions whose last step is written
  void Retire();            // behind all that can be done in this cycle
  void EndCycle();
  // The next cycle in which something happens here though nothing has happened before; kNever: none.
  Cycle NextEvent() const;

  Fifo<size_t>& queue() { return queue_; }  // instructions, from fetch
  const Fifo<size_t>& queue() const { return queue_; }
  // The loader's part: the places of the instructions that wait for it; to say that one is done; which one that is.
  Fifo<uint64_t>& loader_queue() { return units_[kLoader].queue; }
  void LoaderIsDone(uint64_t place);
  std::optional<size_t> Oldest() const {  // that is dispatched and not done
    return retired_ == dispatched_ ? std::nullopt : std::optional<size_t>(InstructionAt(retired_));
  }
  size_t InstructionAt(uint64_t place) const { return places_[place % places_.size()].instruction; }

 private:
  enum UnitNumber : uint8_t { kGemm, kAlu, kLoader, kNone };
  static constexpr size_t kUnitQueue = 8, kRetirementQueue = 32, kMaxBanks = 16;

  // What examination finds of an instruction.
  struct Use {
    UnitNumber unit = kNone;
    uint32_t banks = 0;  // a bit each
    bool loads_uops = false;
    bool two_cycles = false;  // a step takes two
  };
  // A place in the retirement queue.
  struct Place {
    size_t instruction = 0;
    Use use;
    Cycle done = kNever;  // of its unit
  };
  struct UnitState {
    Fifo<uint64_t> queue{kUnitQueue};               // places, by their numbers
    Schedule<uint64_t> done{2 * kRetirementQueue};  // GEMM, ALU: instructions under way
    Cycle free = 0;                                 // from when it can take the next
    uint32_t under_way = 0;
    std::array<uint32_t, kMaxBanks> banks{};  // instructions under way that touch each
    uint32_t busy_banks = 0;                  // a bit each
  };

  Place& PlaceOf(uint64_t number) { return places_[number % places_.size()]; }
  // Whether the head has been examined; begins with it if not.
  bool Examined(const Instruction& in);
  void Examine(const Instruction& in);
  Use UseOf(const Instruction& in) const;
  uint32_t BanksOf(uint64_t least, uint64_t greatest) const;
  // What keeps it from being dispatched.
  std::optional<Counter> Obstacle(const Instruction& in) const;
  uint32_t BanksOfOthers(UnitNumber unit) const;
  void Take(UnitNumber number);
  void Leave(UnitState& unit, const Place& place);

  CycleLaunch& launch_;
  Fifo<size_t> queue_;
  std::array<UnitState, 3> units_;
  std::array<Place, 2 * kRetirementQueue> places_;
  uint64_t dispatched_ = 0, retired_ = 0;  // so many so far
  uint32_t uop_loads_ = 0;                 // under way
  // Of the queue's head.
  bool examined_ = false;
  Cycle ready_ = 0;  // from when on it can be dispatched
  Use head_;
  std::optional<Fault> head_fault_;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_CYCLE_COMPUTE_H_
