#include "kiln/targets/vta/cycle.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "kiln/targets/vta/cycle_compute.h"
#include "kiln/targets/vta/cycle_data.h"
#include "kiln/targets/vta/cycle_launch.h"
#include "kiln/targets/vta/cycle_memory.h"
#include "kiln/targets/vta/cycle_units.h"
#include "kiln/targets/vta/memory_image.h"
#include "kiln/targets/vta/token_proof.h"
#include "kiln/targets/vta/tokens.h"

namespace kiln::vta {
namespace {

// All units in a launch.
class Units {
 public:
  Units(CycleLaunch& launch, uint64_t address, size_t fetched, const std::optional<Fault>& bad)
      : launch_(launch),
        compute_(launch),
        store_(launch),
        read_(launch, compute_, store_.queue(), address, fetched, bad) {}

  // Runs until FINISH, a fault, `end`, or until nothing will ever happen again: then false.
  bool Run(Cycle end, bool skips) {
    CycleLaunch& l = launch_;
    while (true) {
      Step();
      Cycle next = l.now + 1;
      const bool ended = l.finished || l.fault.has_value();
      if (!l.changed && !ended) {
        const Cycle event = std::min({compute_.NextEvent(), read_.NextEvent(), store_.NextEvent()});
        const bool frozen = event == kNever && !read_.Asks();
        if (frozen) return false;
        if (skips) next = read_.Skip(std::min(event, end));
      }
      for (size_t i = 0; i < l.lost_count; ++i) l.counters[l.lost[i]] += next - l.now;
      if (ended) return true;
      l.now = next;
      if (l.now >= end) return true;
    }
  }

  // An instruction that is not done: the oldest of the compute stage, or what is at the head of a queue.
  size_t Oldest() const {
    if (const auto oldest = compute_.Oldest()) return *oldest;
    for (const Fifo<size_t>* queue : {&read_.loads(), &compute_.queue(), &store_.queue()}) {
      if (!queue->empty()) return queue->front();
    }
    return launch_.program.empty() ? 0 : launch_.program.size() - 1;
  }

 private:
  // One cycle: units that look at what was there at its begin come before those that change it.
  void Step() {
    launch_.changed = false;
    launch_.lost_count = 0;
    compute_.Dispatch();
    read_.Arbitrate();
    read_.StartLoads();
    store_.Start();
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
  }

  CycleLaunch& launch_;
  ComputeStage compute_;
  StoreStage store_;
  ReadUnits read_;
};

}  // namespace

class CycleMachine::Machine {
 public:
  explicit Machine(const Config& config) : config_(config), encoding_(config), data_(config) {}

  Result Launch(DeviceMemory& memory, uint64_t address, size_t count, uint64_t most_cycles, Timeline* timeline);
  const Profile& profile() const { return profile_; }
  void set_skips(bool skips) { skips_ = skips; }

 private:
  // Decodes what fetch will read: up to the first instruction that no stage can execute, which is returned.
  std::optional<Fault> Decode(const uint8_t* bytes, size_t count);

  const Config config_;
  const Encoding encoding_;
  CycleData data_;
  TokenCounters tokens_;
  Tokens proof_;  // the same tokens with what they prove
  Profile profile_;
  std::vector<Instruction> program_;
  bool skips_ = true;
};

std::optional<Fault> CycleMachine::Machine::Decode(const uint8_t* bytes, size_t count) {
  program_.clear();
  for (size_t i = 0; i < count; ++i) {
    const std::span<const uint8_t, kInstructionBytes> word(bytes + i * kInstructionBytes, kInstructionBytes);
    program_.push_back(encoding_.Decode(word));
    if (auto fault = FindStaticFault(program_.back(), i, config_)) return fault;
  }
  return std::nullopt;
}

CycleMachine::Result CycleMachine::Machine::Launch(DeviceMemory& memory, uint64_t address, size_t count,
                                                   uint64_t most_cycles, Timeline* timeline) {
  const uint8_t* bytes = count > (uint64_t{1} << 32) ? nullptr : memory.At(address, count * kInstructionBytes);
  if (bytes == nullptr) {
    Result result;
    result.fault =
        Fault{FaultKind::kDramRange, 0, fmt::format("{} instructions at {:#x}: there is no memory", count, address)};
    return result;
  }
  const std::optional<Fault> bad = Decode(bytes, count);
  const std::optional<Fault> of_tokens = bad.has_value() ? std::nullopt : FindTokenFault(program_, proof_);

  CycleLaunch launch{.config = config_,
                     .program = program_,
                     .memory = memory,
                     .data = data_,
                     .tokens = tokens_,
                     .profile = profile_,
                     .timeline = timeline,
                     .fault = std::nullopt,
                     .counters = {},
                     .begun = {}};
  if (timeline != nullptr) launch.begun.resize(program_.size());
  Units units(launch, address, program_.size(), bad);
  const bool ended = units.Run(most_cycles == 0 ? kNever : most_cycles, skips_);

  if (timeline != nullptr) timeline->EndLaunch(program_, encoding_, {launch.now + 1, launch.counters});
  Result result;
  result.tokens_fail = of_tokens.has_value();
  if (launch.fault.has_value()) {
    result.fault = std::move(launch.fault);
  } else if (ended && !launch.finished) {
    result.fault = Fault{FaultKind::kTooLong, units.Oldest(), fmt::format("is not done after {} cycles", most_cycles)};
  } else if (of_tokens.has_value()) {
    // Whoever waits for a token that nobody gives, or does not wait for what it should, does so at any speed.
    result.fault = of_tokens;
  } else if (!ended) {
    result.fault = Fault{FaultKind::kDeadlock, units.Oldest(),
                         fmt::format("waits for a token of an instruction that finds {} others in front of it, more "
                                     "than a queue holds",
                                     config_.instruction_queue_depth)};
  } else {
    result.time = {.cycles = launch.now + 1, .counters = launch.counters};
  }
  return result;
}

struct CycleTimer::Parts {
  explicit Parts(const Config& c) : config(c), data(config, uops) {}

  const Config config;
  UopsInMemory uops;  // of the program that is timed
  CycleData data;
  DeviceMemory memory{MemoryImage::kBase, {}};
};

CycleTimer::CycleTimer(const Config& config) : parts_(std::make_unique<Parts>(config)) {}
CycleTimer::~CycleTimer() = default;

StatusOr<std::optional<uint64_t>> CycleTimer::CyclesOf(const std::vector<Instruction>& program, uint64_t address,
                                                       const UopsInMemory& uops, uint64_t most_cycles) {
  parts_->uops = uops;
  TokenCounters tokens;
  Profile profile;
  CycleLaunch launch{.config = parts_->config,
                     .program = program,
                     .memory = parts_->memory,
                     .data = parts_->data,
                     .tokens = tokens,
                     .profile = profile,
                     .timeline = nullptr,
                     .fault = std::nullopt,
                     .counters = {},
                     .begun = {}};
  const std::optional<Fault> bad;
  Units units(launch, address, program.size(), bad);
  const bool ended = units.Run(most_cycles == 0 ? kNever : most_cycles, true);
  if (!ended) {
    launch.Stop({FaultKind::kDeadlock, units.Oldest(), "waits for a token that nobody gives"});
  }
  if (launch.fault.has_value()) {
    return absl::InternalError(fmt::format("instruction {}: {}", launch.fault->instruction, launch.fault->message));
  }
  if (!launch.finished) return std::nullopt;
  return launch.now + 1;
}

CycleMachine::CycleMachine(const Config& config) : machine_(std::make_unique<Machine>(config)) {}
CycleMachine::~CycleMachine() = default;

CycleMachine::Result CycleMachine::Launch(DeviceMemory& memory, uint64_t address, size_t count, uint64_t most_cycles,
                                          Timeline* timeline) {
  return machine_->Launch(memory, address, count, most_cycles, timeline);
}

const Profile& CycleMachine::profile() const { return machine_->profile(); }
void CycleMachine::set_skips(bool skips) { machine_->set_skips(skips); }

}  // namespace kiln::vta
