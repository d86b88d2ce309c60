// The devices that run in this process (functional, cycle, rtl), their page allocator, and the
// choice of a device by name.

#include "kiln/targets/vta/runtime/device.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "fmt/format.h"
#include "kiln/targets/vta/runtime/local_device.h"
#include "kiln/targets/vta/runtime/remote_device.h"
#include "kiln/targets/vta/simulate/cycle/cycle.h"
#include "kiln/targets/vta/simulate/functional/functional.h"
#include "kiln/targets/vta/simulate/rtl/rtl_machine.h"

namespace kiln::vta {
namespace {

constexpr uint64_t kPage = DeviceMemory::kPageBytes;

uint64_t WholePages(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

Status Absent(uint64_t address, uint64_t bytes) {
  return absl::OutOfRangeError(
      fmt::format("{} bytes at {:#x}: there is no memory", bytes, address));
}

class FunctionalDevice final : public LocalDevice {
 public:
  FunctionalDevice(const Config& config, const DeviceLimits& limits) : LocalDevice(config, limits) {
    Renew();
  }

 private:
  StatusOr<std::optional<Fault>> Launch(DeviceMemory& memory, uint64_t address, size_t count,
                                        uint64_t) override {
    return machine_->Launch(memory, address, count);
  }
  void Renew() override {
    machine_ = std::make_unique<FunctionalMachine>(config());
    machine_->set_most_steps(limits().steps);
  }

  std::unique_ptr<FunctionalMachine> machine_;
};

class CycleDevice final : public LocalDevice {
 public:
  CycleDevice(const MemoryModel& model, const DeviceLimits& limits)
      : LocalDevice(model.config, limits), memory_(model.simulated) {
    Renew();
  }

  std::optional<RunTime> last_run() const override { return last_run_; }
  const Timeline* last_timeline() const override {
    return last_run_.has_value() ? &timeline_ : nullptr;
  }

 private:
  StatusOr<std::optional<Fault>> Launch(DeviceMemory& memory, uint64_t address, size_t count,
                                        uint64_t wait_cycles) override {
    last_run_.reset();
    timeline_ = {};
    const uint64_t most = wait_cycles == 0 ? limits().steps : std::min(wait_cycles, limits().steps);
    CycleMachine::Result result = machine_->Launch(memory, address, count, most, &timeline_);
    if (!result.fault.has_value()) last_run_ = result.time;
    return std::move(result.fault);
  }
  void Renew() override { machine_ = std::make_unique<CycleMachine>(config(), memory_); }

  const std::optional<hardware::AxiTiming> memory_;  // if it is simulated
  std::unique_ptr<CycleMachine> machine_;
  std::optional<RunTime> last_run_;
  Timeline timeline_;  // of the last run
};

// The simulated hardware. Its process is started by the first launch, and again by the first launch
// after a fault.
class RtlDevice final : public LocalDevice {
 public:
  RtlDevice(const Config& config, const DeviceLimits& limits, RtlDesigns& designs,
            RtlOptions memory)
      : LocalDevice(config, limits), designs_(designs), memory_(std::move(memory)) {}

  std::optional<RunTime> last_run() const override { return last_run_; }

 private:
  StatusOr<std::optional<Fault>> Launch(DeviceMemory& memory, uint64_t address, size_t count,
                                        uint64_t wait_cycles) override {
    last_run_.reset();
    if (machine_ == nullptr) {
      KILN_ASSIGN_OR_RETURN(RtlMachine machine, RtlMachine::Start(config(), designs_, memory_));
      machine_ = std::make_unique<RtlMachine>(std::move(machine));
    }
    uint64_t most = wait_cycles == 0 ? limits().steps : std::min(wait_cycles, limits().steps);
    if (memory_.most_cycles > 0) most = std::min(most, memory_.most_cycles);
    StatusOr<RtlMachine::Result> result = machine_->Launch(memory, address, count, most);
    if (!result.ok()) {
      Renew();
      return result.status();
    }
    if (!result->fault.has_value()) last_run_ = result->time;
    return std::move(result->fault);
  }
  void Renew() override { machine_.reset(); }

  RtlDesigns& designs_;
  const RtlOptions memory_;  // the memory behind the ports
  std::unique_ptr<RtlMachine> machine_;
  std::optional<RunTime> last_run_;
};

}  // namespace

StatusOr<uint64_t> LocalDevice::Allocate(uint64_t bytes) {
  KILN_ASSIGN_OR_RETURN(const uint64_t address, pages_.Allocate(bytes));
  memory_.Map(address, pages_.SizeOf(address));
  return address;
}

Status LocalDevice::Free(uint64_t address) {
  const uint64_t bytes = pages_.SizeOf(address);
  if (!pages_.Free(address))
    return absl::InvalidArgumentError(fmt::format("no buffer begins at {:#x}", address));
  memory_.Unmap(address, bytes);
  return OkStatus();
}

Status LocalDevice::Write(uint64_t address, std::span<const uint8_t> bytes) {
  uint8_t* to = memory_.At(address, bytes.size());
  if (to == nullptr) return Absent(address, bytes.size());
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  return OkStatus();
}

Status LocalDevice::Read(uint64_t address, std::span<uint8_t> bytes) {
  const uint8_t* from = memory_.At(address, bytes.size());
  if (from == nullptr) return Absent(address, bytes.size());
  if (!bytes.empty()) std::memcpy(bytes.data(), from, bytes.size());
  return OkStatus();
}

Status LocalDevice::Run(uint64_t address, size_t count, uint64_t wait_cycles) {
  if (count > limits_.instructions) {
    return absl::ResourceExhaustedError(
        fmt::format("a program of {} instructions; at most {}", count, limits_.instructions));
  }
  KILN_ASSIGN_OR_RETURN(const std::optional<Fault> fault,
                        Launch(memory_, address, count, wait_cycles));
  if (!fault.has_value()) return OkStatus();
  // The state that the stopped program left must not affect the next program.
  Renew();
  std::string text;
  if (const uint8_t* bytes =
          memory_.At(address + fault->instruction * kInstructionBytes, kInstructionBytes)) {
    text = Disassemble(std::span<const uint8_t, kInstructionBytes>(bytes, kInstructionBytes),
                       Encoding(config_));
  }
  const std::string message = fmt::format("{}: instruction {}, '{}': {}", NameOf(fault->kind),
                                          fault->instruction, text, fault->message);
  return fault->kind == FaultKind::kTooLong ? absl::DeadlineExceededError(message)
                                            : absl::DataLossError(message);
}

StatusOr<uint64_t> PageAllocator::Allocate(uint64_t bytes) {
  bytes = std::max(kPage, bytes > capacity_ ? bytes : WholePages(bytes));
  if (const auto at = free_.lower_bound(bytes); at != free_.end()) {
    const auto [size, address] = *at;
    free_.erase(at);
    used_[address] = size;
    return address;
  }
  if (bytes > capacity_ - end_) {
    return absl::ResourceExhaustedError(
        fmt::format("{} bytes of memory; {} of {} are used", bytes, end_, capacity_));
  }
  const uint64_t address = kPage + end_;
  end_ += bytes;
  used_[address] = bytes;
  return address;
}

bool PageAllocator::Free(uint64_t address) {
  const auto at = used_.find(address);
  if (at == used_.end()) return false;
  free_.emplace(at->second, at->first);
  used_.erase(at);
  return true;
}

uint64_t PageAllocator::SizeOf(uint64_t address) const {
  const auto at = used_.find(address);
  return at == used_.end() ? 0 : at->second;
}

std::unique_ptr<Device> MakeFunctionalDevice(const Config& config, const DeviceLimits& limits) {
  return std::make_unique<FunctionalDevice>(config, limits);
}

std::unique_ptr<Device> MakeCycleDevice(const MemoryModel& model, const DeviceLimits& limits) {
  return std::make_unique<CycleDevice>(model, limits);
}

StatusOr<std::unique_ptr<Device>> MakeRtlDevice(const Config& config, const DeviceLimits& limits,
                                                RtlDesigns& designs, const RtlOptions& memory) {
  KILN_RETURN_IF_ERROR(designs.SimulationOf(config, {.netlist = memory.netlist}).status());
  return std::make_unique<RtlDevice>(config, limits, designs, memory);
}

StatusOr<std::unique_ptr<Device>> MakeDevice(std::string_view name, const Config& config,
                                             const DeviceLimits& limits) {
  if (name == "functional") return MakeFunctionalDevice(config, limits);
  if (name == "cycle") return MakeCycleDevice({config, std::nullopt}, limits);
  if (name == "rtl") return MakeRtlDevice(config, limits, RtlDesigns::Shared(), {});
  if (name.starts_with(kRemotePrefix)) {
    KILN_ASSIGN_OR_RETURN(const Endpoint server,
                          Endpoint::Parse(name.substr(kRemotePrefix.size())));
    KILN_ASSIGN_OR_RETURN(const std::string token, TokenOfEnvironment());
    return MakeRemoteDevice(server, token, config);
  }
  return NotFoundAt("", "", fmt::format("there is no device '{}'", name),
                    "functional, cycle, rtl or remote:HOST:PORT");
}

}  // namespace kiln::vta
