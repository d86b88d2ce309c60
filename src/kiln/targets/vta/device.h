// What the runtime needs of a machine: memory that both see, and a way to run a program.
#ifndef KILN_TARGETS_VTA_DEVICE_H_
#define KILN_TARGETS_VTA_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kiln/support/status.h"
#include "kiln/targets/vta/config.h"
#include "kiln/targets/vta/counters.h"
#include "kiln/targets/vta/memory.h"

namespace kiln {
struct RtlOptions;
}

namespace kiln::vta {

class RtlDesigns;

// Hands out whole pages of physical addresses from 0x1000 on. A freed range is handed out again as a whole, the
// smallest that is large enough first, with what it holds.
class PageAllocator {
 public:
  explicit PageAllocator(uint64_t capacity) : capacity_(capacity) {}

  // ResourceExhausted: the capacity is used up.
  StatusOr<uint64_t> Allocate(uint64_t bytes);
  // False where no range that is handed out begins there.
  bool Free(uint64_t address);
  // Bytes of the range that begins at an address, 0 where none does.
  uint64_t SizeOf(uint64_t address) const;

 private:
  const uint64_t capacity_;
  uint64_t end_ = 0;                        // bytes handed out ever
  std::map<uint64_t, uint64_t> used_;       // address to bytes
  std::multimap<uint64_t, uint64_t> free_;  // bytes to address
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const Config& config() const = 0;

  // Memory by physical address, in whole pages. Errors: none left; no such range.
  virtual StatusOr<uint64_t> Allocate(uint64_t bytes) = 0;
  virtual Status Free(uint64_t address) = 0;
  // Errors: bytes that are not there.
  virtual Status Write(uint64_t address, std::span<const uint8_t> bytes) = 0;
  virtual Status Read(uint64_t address, std::span<uint8_t> bytes) = 0;
  // Where the host finds the bytes at an address for as long as they are allocated; null for a machine that is
  // elsewhere.
  virtual uint8_t* HostPointer(uint64_t address) = 0;

  // Runs `count` instructions from byte address `address` on. `wait_cycles` limits machines with time (0: no limit).
  // DataLoss with kind, instruction and its text where the program is stopped; the machine is then as new but for its
  // memory. DeadlineExceeded: out of cycles or steps, likewise. ResourceExhausted: more instructions than it takes.
  virtual Status Run(uint64_t address, size_t count, uint64_t wait_cycles) = 0;
  // Cycles and counters of the last Run that came to its end; none on machines without time.
  virtual std::optional<RunTime> last_run() const { return std::nullopt; }
};

// What a device gives to those who use it.
struct DeviceLimits {
  uint64_t memory_bytes =
      (uint64_t{1} << 32) - DeviceMemory::kPageBytes;  // of addresses, page 0 left out
  uint64_t instructions = uint64_t{1} << 28;           // of a run
  uint64_t steps = UINT64_MAX;                         // of a run; cycles where those are counted
};

// A machine at the functional level in this process.
std::unique_ptr<Device> MakeFunctionalDevice(const Config& config, const DeviceLimits& limits = {});

// What the name of a device elsewhere begins with.
inline constexpr std::string_view kRemotePrefix = "remote:";

// The simulated hardware behind a memory that is not the ideal one; options.folder is not looked at. `designs` outlives
// it.
StatusOr<std::unique_ptr<Device>> MakeRtlDevice(const Config& config, const DeviceLimits& limits,
                                                RtlDesigns& designs, const RtlOptions& memory);

// By name: "functional"; "cycle" (cycle.h), whose last_run tells cycles and counters; "rtl" (rtl_machine.h), the
// simulated hardware, which tells the same and is built first; "remote:HOST:PORT" with the token of the environment
// (remote_device.h), where the server's limits hold. Errors: no such device; hardware that cannot be built.
StatusOr<std::unique_ptr<Device>> MakeDevice(std::string_view name, const Config& config,
                                             const DeviceLimits& limits = {});

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_DEVICE_H_
