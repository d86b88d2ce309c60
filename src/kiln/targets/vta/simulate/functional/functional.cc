// Executes programs at the functional level: fetches and checks all instructions, then executes
// them one at a time as the stages' tokens allow.

#include "kiln/targets/vta/simulate/functional/functional.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include "fmt/format.h"
#include "kiln/targets/vta/simulate/alu.h"
#include "kiln/targets/vta/simulate/functional/fault_rules.h"

namespace kiln::vta {
namespace {

// Calls `step` with the indices of every step; the index of weights is 0.
template <typename Step>
void ForEachStep(const Instruction& in, std::span<const Uop> uops, const Step& step) {
  for (uint32_t outer = 0; outer < in.outer; ++outer) {
    for (uint32_t inner = 0; inner < in.inner; ++inner) {
      for (const Uop& uop : uops) {
        step(Uop{uop.dst + outer * in.dst_outer + inner * in.dst_inner,
                 uop.src + outer * in.src_outer + inner * in.src_inner, 0});
      }
    }
  }
}

template <AluOp kOp>
void RunAluOp(const Instruction& in, std::span<const Uop> uops, bool wraps, Buffers& buffers) {
  const size_t numbers = buffers.accumulator_numbers();
  const std::vector<int32_t> immediate(numbers, in.immediate);
  ForEachStep(in, uops, [&](const Uop& at) {
    int32_t* x = buffers.accumulator(at.dst);
    const int32_t* y = in.use_immediate ? immediate.data() : buffers.accumulator(at.src);
    for (size_t k = 0; k < numbers; ++k) x[k] = Calculate(kOp, x[k], y[k]);
    if (wraps) buffers.WrapAccumulator(at.dst);
  });
}

void RunAlu(const Instruction& in, std::span<const Uop> uops, bool wraps, Buffers& buffers) {
  switch (in.alu) {
    case AluOp::kMin:
      return RunAluOp<AluOp::kMin>(in, uops, wraps, buffers);
    case AluOp::kMax:
      return RunAluOp<AluOp::kMax>(in, uops, wraps, buffers);
    case AluOp::kAdd:
      return RunAluOp<AluOp::kAdd>(in, uops, wraps, buffers);
    case AluOp::kShiftRight:
      return RunAluOp<AluOp::kShiftRight>(in, uops, wraps, buffers);
    case AluOp::kMultiply:
      return RunAluOp<AluOp::kMultiply>(in, uops, wraps, buffers);
  }
}

void CountLoad(const Instruction& in, const Config& config, Profile* profile) {
  // The original counts 8-bit accumulators in memory at full width.
  const Memory counted = in.memory == Memory::kAccumulator8 ? Memory::kAccumulator : in.memory;
  uint64_t* const counter = in.memory == Memory::kUop      ? &profile->uop_load_bytes
                            : in.memory == Memory::kInput  ? &profile->input_load_bytes
                            : in.memory == Memory::kWeight ? &profile->weight_load_bytes
                                                           : &profile->accumulator_load_bytes;
  *counter +=
      uint64_t{in.x_size} * in.y_size * static_cast<uint64_t>(ElementBytes(counted, config));
}

}  // namespace

std::array<Stage, kStages> StageOrder::Next() {
  std::array<Stage, kStages> order = {Stage::kLoad, Stage::kCompute, Stage::kStore};
  const uint64_t permutation = number_ < kFixed ? number_ : random_.Below(kFixed);
  for (uint64_t i = 0; i < permutation; ++i) std::next_permutation(order.begin(), order.end());
  return order;
}

FunctionalMachine::FunctionalMachine(const Config& config)
    : config_(config), encoding_(config), buffers_(config) {}

std::optional<Fault> FunctionalMachine::Fetch(const DeviceMemory& memory, uint64_t address,
                                              size_t count) {
  program_.clear();
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* bytes = memory.At(address + i * kInstructionBytes, kInstructionBytes);
    if (bytes == nullptr) {
      return Fault{FaultKind::kDramRange, i,
                   fmt::format("an instruction at {:#x}: there is no memory",
                               address + i * kInstructionBytes)};
    }
    program_.push_back(
        encoding_.Decode(std::span<const uint8_t, kInstructionBytes>(bytes, kInstructionBytes)));
    if (auto fault = FindStaticFault(program_.back(), i, config_)) return fault;
  }
  return std::nullopt;
}

std::optional<Fault> FunctionalMachine::Launch(DeviceMemory& memory, uint64_t address, size_t count,
                                               StageOrder order, Observer* observer) {
  if (auto fault = Fetch(memory, address, count)) return fault;
  std::array<std::deque<size_t>, kStages> queues;
  for (size_t i = 0; i < count; ++i) queues[static_cast<size_t>(StageOf(program_[i]))].push_back(i);
  Progress total;
  for (size_t s = 0; s < total.size(); ++s) total[s] = queues[s].size();

  tokens_.BeginLaunch();
  bool finished = false, early = false;
  uint64_t steps_left = most_steps_;
  for (size_t done = 0; done < count; ++done) {
    std::deque<size_t>* next = nullptr;
    for (const Stage stage : order.Next()) {
      std::deque<size_t>& queue = queues[static_cast<size_t>(stage)];
      if (next == nullptr && !queue.empty() && tokens_.Ready(program_[queue.front()]))
        next = &queue;
    }
    if (next == nullptr) {
      const auto waiting =
          std::find_if(queues.begin(), queues.end(),
                       [](const std::deque<size_t>& queue) { return !queue.empty(); });
      return Fault{FaultKind::kDeadlock, waiting->front(),
                   fmt::format("{} waits for a token that nobody gives",
                               NameOf(static_cast<Stage>(waiting - queues.begin())))};
    }
    const size_t index = next->front();
    next->pop_front();
    const Instruction& in = program_[index];
    if (auto fault = FindComputeFault(index)) return fault;
    if (auto fault = FindTooLong(in, index, steps_left, most_steps_)) return fault;
    steps_left -= CostOf(in);
    const Progress before = tokens_.Pass(in);
    if (observer != nullptr) observer->OnInstruction(index, in, before, UopsOf(in));
    if (auto fault = Execute(index, memory)) return fault;
    if (in.opcode != Opcode::kFinish) continue;
    Progress all_others = total;
    --all_others[static_cast<size_t>(Stage::kCompute)];
    (before == all_others ? finished : early) = true;
  }
  if (!finished || early) {
    return Fault{FaultKind::kNoFinish, count == 0 ? 0 : count - 1,
                 "there is no FINISH that waits for all other instructions"};
  }
  return std::nullopt;
}

std::optional<Fault> FunctionalMachine::Execute(size_t index, DeviceMemory& memory) {
  const Instruction& in = program_[index];
  if (IsNop(in)) return std::nullopt;
  if (in.opcode == Opcode::kLoad) return Load(index, memory);
  if (in.opcode == Opcode::kStore) return Store(index, memory);
  Compute(in);
  return std::nullopt;
}

std::optional<Fault> FunctionalMachine::FindDramFault(size_t index,
                                                      const DeviceMemory& memory) const {
  const Instruction& in = program_[index];
  const uint64_t row_bytes = RowBytes(in, config_);
  for (uint32_t y = 0; y < in.y_size; ++y) {
    const uint64_t address = RowAddress(in, y, config_);
    if (memory.At(address, row_bytes) != nullptr) continue;
    return Fault{FaultKind::kDramRange, index,
                 fmt::format("{} bytes at {:#x} of {}: there is no memory", row_bytes, address,
                             NameOf(in.memory))};
  }
  return std::nullopt;
}

std::optional<Fault> FunctionalMachine::Load(size_t index, const DeviceMemory& memory) {
  const Instruction& in = program_[index];
  if (auto fault = FindDramFault(index, memory)) return fault;
  const int64_t element_bytes = ElementBytes(in.memory, config_);
  size_t element = in.sram_base;
  const auto zeros = [&](size_t count) {
    for (size_t i = 0; i < count; ++i) buffers_.Put(in.memory, element++, nullptr);
  };
  const size_t width = size_t{in.x_pad_before} + in.x_size + in.x_pad_after;
  zeros(width * in.y_pad_before);
  for (uint32_t y = 0; y < in.y_size; ++y) {
    zeros(in.x_pad_before);
    const uint8_t* row = memory.At(RowAddress(in, y, config_), RowBytes(in, config_));
    for (uint32_t x = 0; x < in.x_size; ++x, row += element_bytes)
      buffers_.Put(in.memory, element++, row);
    zeros(in.x_pad_after);
  }
  zeros(width * in.y_pad_after);
  CountLoad(in, config_, &profile_);
  return std::nullopt;
}

std::optional<Fault> FunctionalMachine::Store(size_t index, DeviceMemory& memory) {
  const Instruction& in = program_[index];
  if (auto fault = FindDramFault(index, memory)) return fault;
  const int64_t element_bytes = ElementBytes(in.memory, config_);
  size_t element = in.sram_base;
  for (uint32_t y = 0; y < in.y_size; ++y) {
    uint8_t* row = memory.At(RowAddress(in, y, config_), RowBytes(in, config_));
    for (uint32_t x = 0; x < in.x_size; ++x, row += element_bytes) buffers_.Get(element++, row);
  }
  profile_.output_store_bytes += in.y_size * RowBytes(in, config_);
  return std::nullopt;
}

std::span<const Uop> FunctionalMachine::UopsOf(const Instruction& in) const {
  if (!HasSteps(in)) return {};
  return std::span<const Uop>(buffers_.uops()).subspan(in.uop_begin, in.uop_end - in.uop_begin);
}

std::optional<Fault> FunctionalMachine::FindComputeFault(size_t index) const {
  const Instruction& in = program_[index];
  if (!HasSteps(in)) return std::nullopt;
  if (auto fault = FindUopFault(in, index, config_)) return fault;
  return FindRangeFault(in, index, MaximumOf(UopsOf(in)), config_);
}

void FunctionalMachine::Compute(const Instruction& in) {
  const std::span<const Uop> uops = UopsOf(in);
  if (uops.empty()) return;
  if (in.opcode == Opcode::kAlu) {
    RunAlu(in, uops, config_.accumulator_bits < 32, buffers_);
    profile_.alu_steps += StepsOf(in);
  } else if (in.reset) {
    ForEachStep(in, uops, [&](const Uop& at) {
      std::fill_n(buffers_.accumulator(at.dst), buffers_.accumulator_numbers(), 0);
    });
  } else {
    RunGemm(in, uops, buffers_.ForGemm());
    if (config_.accumulator_bits < 32) {
      ForEachStep(in, uops, [&](const Uop& at) { buffers_.WrapAccumulator(at.dst); });
    }
    profile_.gemm_steps += StepsOf(in);
  }
}

}  // namespace kiln::vta
