// The base class of devices in this process: functional, cycle and rtl (device.cc), and the devices
// that record differences between levels (waveform.cc).
#ifndef KILN_TARGETS_VTA_RUNTIME_LOCAL_DEVICE_H_
#define KILN_TARGETS_VTA_RUNTIME_LOCAL_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "kiln/targets/vta/isa/faults.h"
#include "kiln/targets/vta/isa/memory.h"
#include "kiln/targets/vta/runtime/device.h"

namespace kiln::vta {

// A device with memory in this process. Subclasses provide the machine that runs on it.
class LocalDevice : public Device {
 public:
  LocalDevice(const Config& config, const DeviceLimits& limits)
      : config_(config), limits_(limits), pages_(limits.memory_bytes) {}

  const Config& config() const override { return config_; }
  StatusOr<uint64_t> Allocate(uint64_t bytes) override;
  Status Free(uint64_t address) override;
  Status Write(uint64_t address, std::span<const uint8_t> bytes) override;
  Status Read(uint64_t address, std::span<uint8_t> bytes) override;
  uint8_t* HostPointer(uint64_t address) override { return memory_.At(address, 1); }
  Status Run(uint64_t address, size_t count, uint64_t wait_cycles) override;

 protected:
  const DeviceLimits& limits() const { return limits_; }

 private:
  virtual StatusOr<std::optional<Fault>> Launch(DeviceMemory& memory, uint64_t address,
                                                size_t count, uint64_t wait_cycles) = 0;
  // Replaces the machine by a new one. Called after a fault.
  virtual void Renew() = 0;

  const Config config_;
  const DeviceLimits limits_;
  PageAllocator pages_;
  DeviceMemory memory_;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_RUNTIME_LOCAL_DEVICE_H_
