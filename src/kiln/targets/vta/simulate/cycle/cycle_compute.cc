// The compute stage of the cycle level: examines and dispatches instructions, times the GEMM and
// ALU units, and retires instructions in order.

#include "kiln/targets/vta/simulate/cycle/cycle_compute.h"

#include <algorithm>

#include "fmt/format.h"

namespace kiln::vta {
namespace {

// Cycles from a unit's last step to the cycle in which the instruction is done
// (docs/vta-machine.md).
constexpr Cycle kGemmPipeline = 5, kAluPipeline = 4;
constexpr Cycle kExamination = 2;  // cycles of an examination in addition to one per micro-op

// The least and greatest index of one field over all steps of an instruction.
struct Range {
  uint64_t least = UINT32_MAX, greatest = 0;
  void Add(uint32_t index) {
    least = std::min<uint64_t>(least, index);
    greatest = std::max<uint64_t>(greatest, index);
  }
  // Adds the loops' increments to the greatest index. The last iteration of each loop adds most.
  void AddLoops(const Instruction& in, uint32_t outer_step, uint32_t inner_step) {
    greatest += uint64_t{in.outer - 1} * outer_step + uint64_t{in.inner - 1} * inner_step;
  }
};

}  // namespace

ComputeStage::ComputeStage(CycleLaunch& launch)
    : launch_(launch), queue_(static_cast<size_t>(launch.config.instruction_queue_depth)) {}

uint32_t ComputeStage::BanksOf(uint64_t least, uint64_t greatest) const {
  const auto size = static_cast<uint64_t>(launch_.config.accumulators_of_bank());
  const uint64_t first = least / size, last = greatest / size;
  return (uint32_t{2} << last) - (uint32_t{1} << first);
}

ComputeStage::Use ComputeStage::UseOf(const Instruction& in) const {
  Use use;
  if (in.opcode == Opcode::kLoad && in.x_size > 0) {
    use.unit = kLoader;
    use.loads_uops = in.memory == Memory::kUop;
    const uint64_t elements = ElementsMoved(in);
    if (!use.loads_uops && elements > 0)
      use.banks = BanksOf(in.sram_base, in.sram_base + elements - 1);
  }
  return use;
}

void ComputeStage::Examine(const Instruction& in) {
  const size_t index = queue_.front();
  head_ = {};
  head_fault_.reset();
  if (in.uop_end > uint64_t{1} << launch_.config.uop_index_bits()) {
    head_fault_ = Fault{FaultKind::kSramRange, index,
                        fmt::format("uop {} of {}", in.uop_end - 1, launch_.config.uops())};
    return;
  }
  Range dst, src, weight;
  for (const Uop& uop : launch_.data.UopsOf(in)) {
    dst.Add(uop.dst);
    src.Add(uop.src);
    weight.Add(uop.weight);
  }
  dst.AddLoops(in, in.dst_outer, in.dst_inner);
  src.AddLoops(in, in.src_outer, in.src_inner);
  weight.AddLoops(in, in.weight_outer, in.weight_inner);
  const Config& config = launch_.config;
  const bool alu = in.opcode == Opcode::kAlu, multiplies = !alu && !in.reset;
  const auto leaves = [&](const char* buffer, const Range& range, int index_bits) {
    if (range.greatest >> index_bits == 0) return false;
    head_fault_ =
        Fault{FaultKind::kSramRange, index,
              fmt::format("{} {} of {}", buffer, range.greatest, uint64_t{1} << index_bits)};
    return true;
  };
  if (leaves("acc", dst, config.accumulator_index_bits()) ||
      (alu && leaves("acc", src, config.accumulator_index_bits())) ||
      (multiplies && leaves("inp", src, config.input_index_bits())) ||
      (multiplies && leaves("wgt", weight, config.weight_index_bits()))) {
    return;
  }

  head_.unit = multiplies ? kGemm : kAlu;
  head_.banks = BanksOf(dst.least, dst.greatest);
  if (alu && !in.use_immediate) {
    const uint32_t of_src = BanksOf(src.least, src.greatest);
    head_.two_cycles = (head_.banks & of_src) != 0;
    head_.banks |= of_src;
  }
}

bool ComputeStage::Examined(const Instruction& in) {
  CycleLaunch& l = launch_;
  if (!examined_) {
    if (StepCount(in) == 0) {
      head_ = UseOf(in);
      ready_ = l.now;
    } else if (uop_loads_ > 0) {
      l.Lose(Counter::kComputeMicroOpsLoading);
      return false;
    } else {
      const Cycle uops = in.uop_end - in.uop_begin;
      Examine(in);
      ready_ = l.now + uops + kExamination;
      l.changed = true;
      l.Span(Unit::kExamination, queue_.front(), l.now, ready_);
    }
    examined_ = true;
  }
  if (l.now < ready_) {
    l.Lose(Counter::kComputeExamining);
    return false;
  }
  return true;
}

uint32_t ComputeStage::BanksOfOthers(UnitNumber unit) const {
  uint32_t banks = 0;
  for (const UnitNumber other : {kGemm, kAlu, kLoader}) {
    if (other != unit) banks |= units_[other].busy_banks;
  }
  return banks;
}

std::optional<Counter> ComputeStage::Obstacle(const Instruction& in) const {
  if (!launch_.tokens.Ready(in)) return Counter::kComputeTokens;
  if (dispatched_ - retired_ == kRetirementQueue) return Counter::kComputeQueueFull;
  if (head_.unit == kNone) return std::nullopt;
  if (units_[head_.unit].queue.full()) return Counter::kComputeQueueFull;
  if ((head_.banks & BanksOfOthers(head_.unit)) != 0) return Counter::kComputeBanks;
  if (head_.loads_uops && units_[kGemm].under_way + units_[kAlu].under_way > 0)
    return Counter::kComputeMicroOpsInUse;
  return std::nullopt;
}

void ComputeStage::Dispatch() {
  if (queue_.empty()) return;
  CycleLaunch& l = launch_;
  const Instruction& in = l.program[queue_.front()];
  if (!Examined(in)) return;
  if (head_fault_.has_value()) return l.Stop(*head_fault_);
  if (const auto obstacle = Obstacle(in)) return l.Lose(*obstacle);

  l.changed = true;
  l.tokens.Take(in, queue_.front());
  l.Begin(queue_.front());
  ++l.counters[Counter::kComputeInstructions];
  PlaceOf(dispatched_) = {queue_.front(), head_, head_.unit == kNone ? l.now + 1 : kNever};
  if (head_.unit != kNone) {
    UnitState& unit = units_[head_.unit];
    unit.queue.Push(dispatched_);
    ++unit.under_way;
    for (uint32_t bank = 0; bank < kMaxBanks; ++bank) unit.banks[bank] += head_.banks >> bank & 1;
    unit.busy_banks |= head_.banks;
    uop_loads_ += head_.loads_uops ? 1 : 0;
  }
  ++dispatched_;
  queue_.Pop();
  examined_ = false;
}

void ComputeStage::TakeInstructions() {
  Take(kGemm);
  Take(kAlu);
}

void ComputeStage::Take(UnitNumber number) {
  CycleLaunch& l = launch_;
  UnitState& unit = units_[number];
  if (unit.queue.empty() || l.now < unit.free) return;
  const uint64_t place = unit.queue.front();
  unit.queue.Pop();
  l.changed = true;
  const size_t index = PlaceOf(place).instruction;
  const Instruction& in = l.program[index];
  const uint64_t steps = StepCount(in);
  if (number == kGemm) {
    unit.free = l.now + steps;
    unit.done.Add(unit.free + kGemmPipeline, place);
    l.counters[Counter::kGemmSteps] += steps;
  } else {
    const bool second_operand = in.opcode == Opcode::kAlu && !in.use_immediate;
    const Cycle interval = PlaceOf(place).use.two_cycles ? 2 : 1;
    unit.free = l.now + 1 + (second_operand ? 1 : 0) + (steps - 1) * interval;
    unit.done.Add(unit.free + kAluPipeline, place);
    l.counters[Counter::kAluBusy] += unit.free - l.now;
    l.counters[in.opcode == Opcode::kAlu ? Counter::kAluSteps : Counter::kResetSteps] += steps;
  }
  l.Span(number == kGemm ? Unit::kGemm : Unit::kAlu, index, l.now + 1, unit.free + 1);
}

void ComputeStage::Leave(UnitState& unit, const Place& place) {
  --unit.under_way;
  unit.busy_banks = 0;
  for (uint32_t bank = 0; bank < kMaxBanks; ++bank) {
    unit.banks[bank] -= place.use.banks >> bank & 1;
    unit.busy_banks |= (unit.banks[bank] > 0 ? uint32_t{1} : 0) << bank;
  }
  launch_.changed = true;
}

void ComputeStage::FinishSteps() {
  CycleLaunch& l = launch_;
  for (const UnitNumber number : {kGemm, kAlu}) {
    UnitState& unit = units_[number];
    if (unit.done.next() != l.now) continue;
    Place& place = PlaceOf(unit.done.front());
    unit.done.Pop();
    const Instruction& in = l.program[place.instruction];
    l.data.Compute(in);
    if (number == kGemm) l.profile.gemm_steps += StepCount(in);
    if (in.opcode == Opcode::kAlu) l.profile.alu_steps += StepCount(in);
    place.done = l.now;
    Leave(unit, place);
  }
}

void ComputeStage::LoaderIsDone(uint64_t number) {
  Place& place = PlaceOf(number);
  place.done = launch_.now;
  uop_loads_ -= place.use.loads_uops ? 1 : 0;
  Leave(units_[kLoader], place);
}

void ComputeStage::Retire() {
  CycleLaunch& l = launch_;
  if (retired_ == dispatched_) return;
  const Place& place = PlaceOf(retired_);
  if (place.done > l.now) return;
  ++retired_;
  l.Done(place.instruction);
  if (l.program[place.instruction].opcode == Opcode::kFinish) l.Finish(place.instruction);
}

void ComputeStage::EndCycle() {
  queue_.EndCycle();
  for (UnitState& unit : units_) unit.queue.EndCycle();
}

Cycle ComputeStage::NextEvent() const {
  Cycle next = examined_ && ready_ > launch_.now ? ready_ : kNever;
  for (const UnitNumber number : {kGemm, kAlu}) {
    const UnitState& unit = units_[number];
    next = std::min(next, unit.done.next());
    if (!unit.queue.empty() && unit.free > launch_.now) next = std::min(next, unit.free);
  }
  return next;
}

}  // namespace kiln::vta
