// Runs a program's launches at the cycle level and in simulated hardware on the same memory until
// they differ, then repeats the hardware's run and records its signals around the difference.

#include "kiln/targets/vta/run/waveform.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "kiln/support/check.h"
#include "kiln/targets/vta/isa/timeline.h"
#include "kiln/targets/vta/run/network_run.h"
#include "kiln/targets/vta/runtime/local_device.h"
#include "kiln/targets/vta/simulate/cycle/cycle.h"
#include "kiln/targets/vta/simulate/rtl/rtl_machine.h"

namespace kiln::vta {
namespace {

namespace fs = std::filesystem;

// ---- Differences in one launch.

LevelRun LevelRunOf(const LaunchOutcome& outcome) {
  LevelRun run{.events = {outcome.starts.begin(), outcome.starts.end()},
               .end = static_cast<int64_t>(outcome.time.cycles),
               .totals = {outcome.time.cycles},
               .memory = outcome.memory};
  for (size_t i = 0; i < kCounters; ++i) {
    run.totals.push_back(outcome.time.counters[static_cast<Counter>(i)]);
  }
  return run;
}

// Returns the index, counting stores only, of the first store that writes a differing byte.
std::optional<size_t> FirstWrongStore(std::span<const Instruction> program, const Config& config,
                                      uint64_t base, const std::vector<uint8_t>& expected,
                                      const std::vector<uint8_t>& actual) {
  std::vector<uint64_t> wrong;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] != actual[i]) wrong.push_back(base + i);
  }
  size_t store = 0;
  for (const Instruction& in : program) {
    if (in.opcode != Opcode::kStore) continue;
    for (uint32_t row = 0; row < in.y_size; ++row) {
      const uint64_t address = RowAddress(in, row, config);
      const auto at = std::lower_bound(wrong.begin(), wrong.end(), address);
      if (at != wrong.end() && *at < address + RowBytes(in, config)) return store;
    }
    ++store;
  }
  return std::nullopt;
}

// ---- Both levels in comparison.

const Launch* LaunchAt(const ProgramParts& program, uint64_t address) {
  for (const Step& step : program.steps) {
    if (step.launch.has_value() && step.launch->address == address) return &*step.launch;
  }
  return nullptr;
}

// A device that runs every launch at the cycle level and, until the levels differ, also in
// simulated hardware on the same memory. It keeps the memory that the cycle level wrote.
class BothLevels final : public LocalDevice {
 public:
  BothLevels(const ProgramParts& program, RtlDesigns& designs, const RtlOptions& options,
             bool timed)
      : BothLevels(program, designs, options, timed, Behind(options, program.config)) {}

  // The first launch that differs: its number, address and cycles.
  struct Found {
    size_t launch;
    uint64_t address;
    CycleWindow window;
  };
  const std::optional<Found>& found() const { return found_; }
  std::optional<RunTime> last_run() const override { return std::nullopt; }

 private:
  BothLevels(const ProgramParts& program, RtlDesigns& designs, const RtlOptions& options,
             bool timed, const MemoryModel& memory)
      : LocalDevice(program.config, {}),
        program_(program),
        designs_(designs),
        options_(options),
        timed_(timed),
        cycle_(memory.config, memory.simulated) {}

  StatusOr<std::optional<Fault>> Launch(DeviceMemory& memory, uint64_t address, size_t count,
                                        uint64_t) override {
    const size_t bytes = program_.memory.size();
    uint8_t* const at = memory.At(MemoryImage::kBase, bytes);
    KILN_CHECK(at != nullptr);
    const std::vector<uint8_t> before(at, at + bytes);
    Timeline timeline;
    CycleMachine::Result result = cycle_.Launch(memory, address, count, 0, &timeline);
    if (result.fault.has_value() || found_.has_value()) return std::move(result.fault);
    const auto* launch = LaunchAt(program_, address);
    KILN_CHECK(launch != nullptr && launch->instructions.size() == count);
    LaunchOutcome expected{.time = result.time, .starts = {}, .memory = {at, at + bytes}};
    for (const KernelTrace& instruction : timeline.ToTrace().kernels) {
      const Stage stage = StageOf(launch->instructions[static_cast<size_t>(instruction.kernel)]);
      expected.starts[static_cast<size_t>(stage)].push_back(instruction.begin);
    }

    std::copy(before.begin(), before.end(), at);
    KILN_RETURN_IF_ERROR(RunHardware(memory, address, count, launch->instructions, expected));
    std::copy(expected.memory.begin(), expected.memory.end(), at);
    ++launches_;
    return std::optional<Fault>();
  }

  Status RunHardware(DeviceMemory& memory, uint64_t address, size_t count,
                     std::span<const Instruction> instructions, const LaunchOutcome& expected) {
    if (rtl_ == nullptr) {
      KILN_ASSIGN_OR_RETURN(RtlMachine machine,
                            RtlMachine::Start(program_.config, designs_, options_));
      rtl_ = std::make_unique<RtlMachine>(std::move(machine));
    }
    KILN_ASSIGN_OR_RETURN(RtlMachine::Result result, rtl_->Launch(memory, address, count));
    if (result.fault.has_value()) {
      return absl::InternalError("the hardware stops a launch: " + result.fault->message);
    }
    const uint8_t* at = memory.At(MemoryImage::kBase, expected.memory.size());
    const LaunchOutcome actual{.time = result.time,
                               .starts = std::move(result.starts),
                               .memory = {at, at + expected.memory.size()}};
    const auto window = FirstDifference(instructions, program_.config, MemoryImage::kBase, timed_,
                                        expected, actual);
    if (window.has_value()) found_ = {launches_, address, *window};
    return OkStatus();
  }
  void Renew() override {}  // not needed: a launch that is stopped ends the run

  const ProgramParts& program_;
  RtlDesigns& designs_;
  const RtlOptions& options_;
  const bool timed_;
  CycleMachine cycle_;
  std::unique_ptr<RtlMachine> rtl_;
  size_t launches_ = 0;
  std::optional<Found> found_;
};

// A device that runs simulated hardware up to launch `last` and records the signals of that launch.
class Recorder final : public LocalDevice {
 public:
  Recorder(const Config& config, RtlMachine machine, size_t last, WaveOptions wave)
      : LocalDevice(config, {}),
        machine_(std::move(machine)),
        last_(last),
        wave_(std::move(wave)) {}

  bool done() const { return launches_ > last_; }

 private:
  StatusOr<std::optional<Fault>> Launch(DeviceMemory& memory, uint64_t address, size_t count,
                                        uint64_t) override {
    if (done()) return absl::CancelledError("recorded");
    if (launches_ == last_) KILN_RETURN_IF_ERROR(machine_.Record(wave_));
    KILN_RETURN_IF_ERROR(machine_.Launch(memory, address, count).status());
    ++launches_;
    return std::optional<Fault>();
  }
  void Renew() override {}

  RtlMachine machine_;
  const size_t last_;
  const WaveOptions wave_;
  size_t launches_ = 0;
};

// Runs the batch's only image on a device.
Status RunOn(const ProgramParts& program, const Batch& batch, std::shared_ptr<Device> device) {
  KILN_RETURN_IF_ERROR(LoadProgram(program, device.get()));
  NetworkRun run(program, std::move(device), /*threads=*/1, {});
  return RunImage(program, batch, &run);
}

}  // namespace

std::optional<CycleWindow> FirstDifference(std::span<const Instruction> program,
                                           const Config& config, uint64_t base, bool timed,
                                           const LaunchOutcome& expected,
                                           const LaunchOutcome& actual) {
  const WrongEvent wrong = [&]() -> StatusOr<std::optional<EventPlace>> {
    const auto store = FirstWrongStore(program, config, base, expected.memory, actual.memory);
    if (!store.has_value()) return std::optional<EventPlace>();
    return EventPlace{static_cast<size_t>(Stage::kStore), *store + 1};
  };
  const auto difference = FindLevelDifference(LevelRunOf(expected), LevelRunOf(actual), timed,
                                              config.memory_latency, wrong);
  KILN_CHECK(difference.ok());  // `wrong` returns no errors
  if (!difference->has_value()) return std::nullopt;
  return (*difference)->window;
}

StatusOr<Waveform> RecordDifference(const VtaProgram& program, const Batch& batch,
                                    const RtlOptions& options, bool timed, const fs::path& file) {
  KILN_CHECK(batch.images() == 1);
  const ProgramParts& parts = program.parts();
  RtlDesigns of_folder(options.folder);
  RtlDesigns& designs = options.folder.empty() ? RtlDesigns::Shared() : of_folder;
  const auto both = std::make_shared<BothLevels>(parts, designs, options, timed);
  KILN_RETURN_IF_ERROR(RunOn(parts, batch, both));
  Waveform waveform;
  if (!both->found().has_value()) return waveform;

  const auto& [launch, address, window] = *both->found();
  KILN_ASSIGN_OR_RETURN(RtlMachine machine,
                        RtlMachine::Start(parts.config, designs, options, /*trace=*/true));
  const auto recorder = std::make_shared<Recorder>(parts.config, std::move(machine), launch,
                                                   WaveOptions{fs::absolute(file), window});
  Status status = RunOn(parts, batch, recorder);
  if (!status.ok() && !recorder->done()) return status;
  waveform.recorded = true;
  waveform.begin = window.begin;
  waveform.end = window.end;
  for (size_t i = 0; i < parts.steps.size(); ++i) {
    if (parts.steps[i].launch.has_value() && parts.steps[i].launch->address == address) {
      waveform.kernel = static_cast<int>(i);
    }
  }
  return waveform;
}

}  // namespace kiln::vta
