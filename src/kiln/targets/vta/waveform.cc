#include "kiln/targets/vta/waveform.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "kiln/support/check.h"
#include "kiln/targets/vta/cycle.h"
#include "kiln/targets/vta/local_device.h"
#include "kiln/targets/vta/network_run.h"
#include "kiln/targets/vta/rtl_machine.h"
#include "kiln/targets/vta/timeline.h"

namespace kiln::vta {
namespace {

namespace fs = std::filesystem;

// ---- What differs in a launch.

// Events with the launch's end behind them.
std::vector<int64_t> WithEnd(std::vector<int64_t> events, const RunTime& time) {
  events.push_back(static_cast<int64_t>(time.cycles));
  return events;
}

// The number, among stores, of the first one that writes one of the bytes that differ.
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

// The window whose stage is the first to start an instruction at another time.
std::optional<CycleWindow> FirstOtherStart(const Config& config, const LaunchOutcome& expected,
                                           const LaunchOutcome& actual) {
  std::optional<CycleWindow> window;
  int64_t first = 0;
  for (size_t stage = 0; stage < kStages; ++stage) {
    const std::vector<int64_t>&a = expected.starts[stage], &b = actual.starts[stage];
    const std::optional<size_t> index = FirstDifferent(a, b);
    if (!index.has_value()) continue;
    const std::vector<int64_t> ends_a = WithEnd(a, expected.time), ends_b = WithEnd(b, actual.time);
    const int64_t cycle =
        std::min(ends_a[std::min(*index, a.size())], ends_b[std::min(*index, b.size())]);
    if (window.has_value() && first <= cycle) continue;
    first = cycle;
    window = WindowAround(*index, ends_a, ends_b, config.memory_latency);
  }
  return window;
}

// ---- The two levels side by side.

const Launch* LaunchAt(const ProgramParts& program, uint64_t address) {
  for (const Step& step : program.steps) {
    if (step.launch.has_value() && step.launch->address == address) return &*step.launch;
  }
  return nullptr;
}

// Runs every launch at the cycle level and, until they differ, as hardware on the same memory; goes on with the cycle
// level's.
class BothLevels final : public LocalDevice {
 public:
  BothLevels(const ProgramParts& program, RtlDesigns& designs, const RtlOptions& options,
             bool timed)
      : LocalDevice(program.config, {}),
        program_(program),
        designs_(designs),
        options_(options),
        timed_(timed),
        cycle_(Behind(options, program.config)) {}

  // The launch that differs first: its number, address and cycles.
  struct Found {
    size_t launch;
    uint64_t address;
    CycleWindow window;
  };
  const std::optional<Found>& found() const { return found_; }
  std::optional<RunTime> last_run() const override { return std::nullopt; }

 private:
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
  void Renew() override {}  // a launch that is stopped ends the run

  const ProgramParts& program_;
  RtlDesigns& designs_;
  const RtlOptions& options_;
  const bool timed_;
  CycleMachine cycle_;
  std::unique_ptr<RtlMachine> rtl_;
  size_t launches_ = 0;
  std::optional<Found> found_;
};

// The hardware with its signals recorded, up to the launch that differs.
class Recorder final : public LocalDevice {
 public:
  Recorder(const Config& config, RtlMachine machine, size_t last)
      : LocalDevice(config, {}), machine_(std::move(machine)), last_(last) {}

  bool done() const { return launches_ > last_; }

 private:
  StatusOr<std::optional<Fault>> Launch(DeviceMemory& memory, uint64_t address, size_t count,
                                        uint64_t) override {
    if (done()) return absl::CancelledError("recorded");
    KILN_RETURN_IF_ERROR(machine_.Launch(memory, address, count).status());
    ++launches_;
    return std::optional<Fault>();
  }
  void Renew() override {}

  RtlMachine machine_;
  const size_t last_;
  size_t launches_ = 0;
};

// Runs one image on a device.
Status RunOn(const ProgramParts& program, const Batch& batch, Device* device) {
  KILN_ASSIGN_OR_RETURN(const uint64_t address, device->Allocate(program.memory.size()));
  KILN_CHECK(address == MemoryImage::kBase);
  KILN_RETURN_IF_ERROR(device->Write(address, program.memory));
  NetworkRun run(program, device, /*images=*/1, /*threads=*/1, {});
  for (size_t i = 0; i < batch.inputs.size(); ++i) {
    const Shape& shape = program.slots[static_cast<size_t>(program.inputs[i].slot)].shape;
    run.SetInput(0, i, batch.inputs[i].Reshaped(shape));
  }
  return run.Run();
}

}  // namespace

std::optional<CycleWindow> FirstDifference(std::span<const Instruction> program,
                                           const Config& config, uint64_t base, bool timed,
                                           const LaunchOutcome& expected,
                                           const LaunchOutcome& actual) {
  const auto end = static_cast<int64_t>(std::max(expected.time.cycles, actual.time.cycles));
  std::optional<CycleWindow> window;
  if (expected.memory != actual.memory) {
    window = {0, end};
    constexpr auto kStore = static_cast<size_t>(Stage::kStore);
    if (const auto store = FirstWrongStore(program, config, base, expected.memory, actual.memory)) {
      window = WindowAround(*store + 1, WithEnd(expected.starts[kStore], expected.time),
                            WithEnd(actual.starts[kStore], actual.time), config.memory_latency);
    }
  }
  if (!timed) return window;
  std::optional<CycleWindow> other = FirstOtherStart(config, expected, actual);
  if (!other.has_value() && expected.time != actual.time) other = {0, end};
  if (!window.has_value() || (other.has_value() && other->begin < window->begin)) return other;
  return window;
}

StatusOr<Waveform> RecordDifference(const VtaProgram& program, const Batch& batch,
                                    const RtlOptions& options, bool timed, const fs::path& file) {
  KILN_CHECK(batch.images() == 1);
  const ProgramParts& parts = program.parts();
  RtlDesigns of_folder(options.folder);
  RtlDesigns& designs = options.folder.empty() ? RtlDesigns::Shared() : of_folder;
  BothLevels both(parts, designs, options, timed);
  KILN_RETURN_IF_ERROR(RunOn(parts, batch, &both));
  Waveform waveform;
  if (!both.found().has_value()) return waveform;

  const auto& [launch, address, window] = *both.found();
  KILN_ASSIGN_OR_RETURN(
      RtlMachine machine,
      RtlMachine::Start(parts.config, designs, options, {fs::absolute(file), window}, launch));
  Recorder recorder(parts.config, std::move(machine), launch);
  Status status = RunOn(parts, batch, &recorder);
  if (!status.ok() && !recorder.done()) return status;
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
