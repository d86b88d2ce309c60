// The interface between the runtime and a machine: memory that both can access, and a call that
// runs a program. Networks run on devices, too (network_run.h).
#ifndef KILN_TARGETS_VTA_RUNTIME_DEVICE_H_
#define KILN_TARGETS_VTA_RUNTIME_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kiln/support/status.h"
#include "kiln/targets/vta/config/config.h"
#include "kiln/targets/vta/isa/counters.h"
#include "kiln/targets/vta/isa/memory.h"
#include "kiln/targets/vta/isa/timeline.h"
#include "kiln/targets/vta/simulate/cycle/memory_model.h"

namespace kiln {
struct RtlOptions;
}

namespace kiln::vta {

class RtlDesigns;

// An allocator of whole pages of physical addresses from 0x1000 on. A freed range is reused as a
// whole, with its contents; the smallest one that is large enough comes first.
class PageAllocator {
 public:
  explicit PageAllocator(uint64_t capacity) : capacity_(capacity) {}

  // Allocates at least `bytes` bytes and returns their address. Errors: ResourceExhausted if the
  // capacity is used up.
  StatusOr<uint64_t> Allocate(uint64_t bytes);
  // Frees the range that begins at `address`. Returns false if no allocated range begins there.
  bool Free(uint64_t address);
  // Returns the bytes of the range that begins at `address`, 0 if none does.
  uint64_t SizeOf(uint64_t address) const;

 private:
  const uint64_t capacity_;
  uint64_t end_ = 0;                        // bytes that have ever been allocated
  std::map<uint64_t, uint64_t> used_;       // address to bytes
  std::multimap<uint64_t, uint64_t> free_;  // bytes to address
};

// A machine with memory.
class Device {
 public:
  virtual ~Device() = default;
  virtual const Config& config() const = 0;

  // Allocate and free memory in whole pages, by physical address. Errors: no memory is left; no
  // range begins at `address`.
  virtual StatusOr<uint64_t> Allocate(uint64_t bytes) = 0;
  virtual Status Free(uint64_t address) = 0;
  // Copy bytes to or from the device's memory. Errors: bytes that are not allocated.
  virtual Status Write(uint64_t address, std::span<const uint8_t> bytes) = 0;
  virtual Status Read(uint64_t address, std::span<uint8_t> bytes) = 0;
  // Returns a pointer with which the host can access the bytes at `address` as long as they are
  // allocated; null for a remote machine.
  virtual uint8_t* HostPointer(uint64_t address) = 0;

  // Runs `count` instructions from byte address `address` on. `wait_cycles` limits the cycles of
  // machines with time (0: no limit). Errors: DataLoss if the program is stopped, with the kind of
  // fault, the instruction and its text; DeadlineExceeded if it runs out of cycles or steps;
  // ResourceExhausted if it has more instructions than the device accepts. After the first two the
  // machine is reset, except for its memory.
  virtual Status Run(uint64_t address, size_t count, uint64_t wait_cycles) = 0;
  // Returns cycles and counters of the last Run if it ended without a fault; nullopt on machines
  // without time.
  virtual std::optional<RunTime> last_run() const { return std::nullopt; }
  // Returns when the units worked in it; null if the device does not record that.
  virtual const Timeline* last_timeline() const { return nullptr; }
};

// The resources that a device offers its users.
struct DeviceLimits {
  uint64_t memory_bytes =
      (uint64_t{1} << 32) - DeviceMemory::kPageBytes;  // the address space without page 0
  uint64_t instructions = uint64_t{1} << 28;           // per run
  uint64_t steps = UINT64_MAX;                         // per run; cycles on machines with time
};

// Makes a machine at the functional level in this process.
std::unique_ptr<Device> MakeFunctionalDevice(const Config& config, const DeviceLimits& limits = {});

// Makes a machine at the cycle level in this process, behind the memory of `model`.
std::unique_ptr<Device> MakeCycleDevice(const MemoryModel& model, const DeviceLimits& limits = {});

// The prefix of the names of remote devices.
inline constexpr std::string_view kRemotePrefix = "remote:";

// Makes a device of simulated hardware with the memory that `memory` describes (its folder is
// ignored). Builds the simulation first if necessary. `designs` outlives the device.
StatusOr<std::unique_ptr<Device>> MakeRtlDevice(const Config& config, const DeviceLimits& limits,
                                                RtlDesigns& designs, const RtlOptions& memory);

// Makes a device by name:
//   functional        the functional level, without time
//   cycle             the cycle level (cycle.h); last_run returns cycles and counters
//   rtl               the simulated hardware (rtl_machine.h), built first; last_run as above
//   remote:HOST:PORT  a server's device (remote_device.h) with the token of the environment; the
//                     server's limits apply
// Errors: no such device; hardware that cannot be built; those of MakeRemoteDevice.
StatusOr<std::unique_ptr<Device>> MakeDevice(std::string_view name, const Config& config,
                                             const DeviceLimits& limits = {});

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_RUNTIME_DEVICE_H_
