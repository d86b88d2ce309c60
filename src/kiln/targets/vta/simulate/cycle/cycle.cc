// Drives the units of the cycle level's machine through a launch, cycle by cycle or over several
// cycles at once, and turns its end into cycles, counters or a fault.

#include "kiln/targets/vta/simulate/cycle/cycle.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "kiln/targets/vta/isa/memory_image.h"
#include "kiln/targets/vta/simulate/cycle/cycle_compute.h"
#include "kiln/targets/vta/simulate/cycle/cycle_data.h"
#include "kiln/targets/vta/simulate/cycle/cycle_decode.h"
#include "kiln/targets/vta/simulate/cycle/cycle_launch.h"
#include "kiln/targets/vta/simulate/cycle/cycle_memory.h"
#include "kiln/targets/vta/simulate/cycle/cycle_units.h"

namespace kiln::vta {
namespace {

// All units of the machine during one launch.
class Units {
 public:
  Units(CycleLaunch& launch, uint64_t address)
      : launch_(launch),
        compute_(launch),
        store_(launch),
        read_(launch, compute_, store_.queue(), address) {}

  // Runs until FINISH, a fault or cycle `end`. Returns false if the machine stands still instead:
  // no event will ever occur again.
  bool Run(Cycle end, bool skips) {
    CycleLaunch& l = launch_;
    while (true) {
      Step();
      Cycle next = l.now + 1;
      // If a fault and a good end fall into the same cycle, the fault wins, as in the hardware.
      if (l.fault.has_value()) l.finished = false;
      const bool ended = l.finished || l.fault.has_value();
      if (!l.changed && !ended) {
        Cycle event = std::min({compute_.NextEvent(), read_.NextEvent(), store_.NextEvent()});
        if (l.shared != nullptr) event = std::min(event, l.shared->NextEvent());
        const bool asks = read_.Asks() || (l.shared != nullptr && l.shared->asks());
        if (event == kNever && !asks) return false;
        if (skips && l.shared == nullptr) {
          next = read_.Skip(std::min(event, end));
        } else if (skips && !asks) {
          next = std::min(event, end);
        }
      }
      for (size_t i = 0; i < l.lost_count; ++i) l.counters[l.lost[i]] += next - l.now;
      if (ended) return true;
      l.now = next;
      if (l.now >= end) return true;
    }
  }

  // Returns an instruction that is not done: the oldest one of the compute stage, else the one at
  // the head of a queue; nullopt if the stages hold none.
  std::optional<size_t> Oldest() const {
    if (const auto oldest = compute_.Oldest()) return oldest;
    for (const Fifo<size_t>* queue : {&read_.loads(), &compute_.queue(), &store_.queue()}) {
      if (!queue->empty()) return queue->front();
    }
    return std::nullopt;
  }
  // Returns whether fetch has handed all instructions to the queues of their stages.
  bool all_handed_on() const { return read_.all_handed_on(); }

 private:
  // Executes one cycle. Units that read state as of the start of the cycle run before units that
  // change it.
  void Step() {
    launch_.changed = false;
    launch_.lost_count = 0;
    compute_.Dispatch();
    read_.Arbitrate();
    read_.StartLoads();
    store_.Start();
    if (launch_.shared != nullptr) store_.Write();
    compute_.TakeInstructions();
    read_.HandOn();
    read_.Arrive();
    store_.Finish();
    compute_.FinishSteps();
    compute_.Retire();
    compute_.EndCycle();
    read_.EndCycle();
    store_.EndCycle();
    launch_.tokens.EndCycle();
    if (launch_.shared != nullptr) launch_.shared->Sample(launch_.now);
  }

  CycleLaunch& launch_;
  ComputeStage compute_;
  StoreStage store_;
  ReadUnits read_;
};

}  // namespace

class CycleMachine::Machine {
 public:
  Machine(const Config& config, const std::optional<hardware::AxiTiming>& memory)
      : config_(config), decoder_(config), data_(config) {
    if (memory.has_value()) bus_.emplace(*memory);
  }

  Result Launch(DeviceMemory& memory, uint64_t address, size_t count, uint64_t most_cycles,
                Timeline* timeline);
  const Profile& profile() const { return profile_; }
  void set_skips(bool skips) { skips_ = skips; }

 private:
  // Decodes the instructions that fetch will read, up to the first that is outside of the memory.
  // Decoding all of them in advance is safe, because no program of defined meaning writes into its
  // own launch.
  void Decode(const DeviceMemory& memory, uint64_t address, size_t count);
  // Returns the fault of a launch that has not finished. `ended` is false if the machine stood
  // still.
  Fault FaultOf(const CycleLaunch& launch, const Units& units, bool ended,
                uint64_t most_cycles) const;

  const Config config_;
  const CycleDecoder decoder_;
  CycleData data_;
  std::optional<hardware::MemoryBus> bus_;
  TokenLinks tokens_;
  Profile profile_;
  std::vector<Instruction> program_;
  bool skips_ = true;
};

void CycleMachine::Machine::Decode(const DeviceMemory& memory, uint64_t address, size_t count) {
  program_.clear();
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* word = memory.At(address + i * kInstructionBytes, kInstructionBytes);
    if (word == nullptr) return;
    program_.push_back(decoder_.Decode(word));
  }
}

Fault CycleMachine::Machine::FaultOf(const CycleLaunch& launch, const Units& units, bool ended,
                                     uint64_t most_cycles) const {
  if (launch.fault.has_value()) return *launch.fault;
  const std::optional<size_t> oldest = units.Oldest();
  if (ended) {
    const size_t last = program_.empty() ? 0 : program_.size() - 1;
    return {FaultKind::kTooLong, oldest.value_or(last),
            fmt::format("is not done after {} cycles", most_cycles)};
  }
  if (!oldest.has_value()) return launch.NoFinish();
  if (units.all_handed_on()) {
    return {
        FaultKind::kDeadlock, *oldest,
        fmt::format("{} waits for a token that nobody gives", NameOf(QueueOf(program_[*oldest])))};
  }
  return {FaultKind::kDeadlock, *oldest,
          fmt::format(
              "waits for a token, and fetch waits behind {} instructions, all that a queue holds",
              config_.instruction_queue_depth)};
}

CycleMachine::Result CycleMachine::Machine::Launch(DeviceMemory& memory, uint64_t address,
                                                   size_t count, uint64_t most_cycles,
                                                   Timeline* timeline) {
  Decode(memory, address, count);
  tokens_.BeginLaunch(program_.size());
  // Nothing is in flight between launches, whose cycles count from 0.
  std::optional<SharedMemory> shared;
  if (bus_.has_value()) {
    bus_->RestartClock();
    shared.emplace(*bus_, config_);
  }
  CycleLaunch launch{.config = config_,
                     .program = program_,
                     .count = count,
                     .memory = memory,
                     .data = data_,
                     .tokens = tokens_,
                     .profile = profile_,
                     .timeline = timeline,
                     .shared = shared.has_value() ? &*shared : nullptr,
                     .stopped = std::nullopt,
                     .fault = std::nullopt,
                     .counters = {},
                     .begun = {}};
  if (timeline != nullptr) launch.begun.resize(program_.size());
  Units units(launch, address);
  const bool ended = units.Run(most_cycles == 0 ? kNever : most_cycles, skips_);

  if (timeline != nullptr) {
    const size_t bytes = program_.size() * kInstructionBytes;
    timeline->EndLaunch({memory.At(address, bytes), bytes}, {launch.now + 1, launch.counters});
  }
  Result result;
  if (launch.finished) {
    result.time = {.cycles = launch.now + 1, .counters = launch.counters};
    return result;
  }
  result.fault = FaultOf(launch, units, ended, most_cycles);
  result.met = launch.finished_early ? launch.stopped : result.fault;
  return result;
}

struct CycleTimer::Parts {
  explicit Parts(const Config& c) : config(c), data(config, uops) {}

  const Config config;
  UopsInMemory uops;  // the micro-ops of the program that is timed
  CycleData data;
  DeviceMemory memory{MemoryImage::kBase, {}};
};

CycleTimer::CycleTimer(const Config& config) : parts_(std::make_unique<Parts>(config)) {}
CycleTimer::~CycleTimer() = default;

StatusOr<std::optional<uint64_t>> CycleTimer::CyclesOf(const std::vector<Instruction>& program,
                                                       uint64_t address, const UopsInMemory& uops,
                                                       uint64_t most_cycles) {
  parts_->uops = uops;
  TokenLinks tokens;
  tokens.BeginLaunch(program.size());
  Profile profile;
  CycleLaunch launch{.config = parts_->config,
                     .program = program,
                     .count = program.size(),
                     .memory = parts_->memory,
                     .data = parts_->data,
                     .tokens = tokens,
                     .profile = profile,
                     .timeline = nullptr,
                     .shared = nullptr,
                     .stopped = std::nullopt,
                     .fault = std::nullopt,
                     .counters = {},
                     .begun = {}};
  Units units(launch, address);
  const bool ended = units.Run(most_cycles == 0 ? kNever : most_cycles, true);
  if (!ended && !launch.fault.has_value()) {
    return absl::InternalError(fmt::format("instruction {}: waits for a token that nobody gives",
                                           units.Oldest().value_or(0)));
  }
  if (launch.fault.has_value()) {
    return absl::InternalError(
        fmt::format("instruction {}: {}", launch.fault->instruction, launch.fault->message));
  }
  if (!launch.finished) return std::nullopt;
  return launch.now + 1;
}

CycleMachine::CycleMachine(const Config& config, const std::optional<hardware::AxiTiming>& memory)
    : machine_(std::make_unique<Machine>(config, memory)) {}
CycleMachine::~CycleMachine() = default;

CycleMachine::Result CycleMachine::Launch(DeviceMemory& memory, uint64_t address, size_t count,
                                          uint64_t most_cycles, Timeline* timeline) {
  return machine_->Launch(memory, address, count, most_cycles, timeline);
}

const Profile& CycleMachine::profile() const { return machine_->profile(); }
void CycleMachine::set_skips(bool skips) { machine_->set_skips(skips); }

}  // namespace kiln::vta
