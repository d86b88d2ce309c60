// The just-in-time runtime: calls that build a program for a device as they come, and run it.
//
// What the calls do to the stream is what the original's runtime does, instruction for instruction (docs/vta.md); where
// that runs wrong kernels - one launch overflowing the micro-op buffer - this one is right. One thread at a time.
#ifndef KILN_TARGETS_VTA_RUNTIME_H_
#define KILN_TARGETS_VTA_RUNTIME_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/vta/device.h"
#include "kiln/targets/vta/kernel.h"
#include "kiln/targets/vta/stream.h"

namespace kiln::vta {

// Memory that host and device share. Only a Runtime makes them; where one stood, nothing but another ever stands.
class Buffer {
 public:
  uint64_t address() const { return address_; }  // physical
  uint64_t bytes() const { return bytes_; }

 private:
  friend class BufferHandles;
  Buffer() = default;
  uint64_t address_ = 0, bytes_ = 0;
};

// The kernels of one place in a program, one for each signature.
class KernelSlot {
 private:
  friend class Runtime;
  std::map<uint32_t, std::unique_ptr<Kernel>> kernels_;
};

// A rectangle between memory and a buffer on chip. Elements are those of the memory named.
struct Rectangle {
  Memory memory = Memory::kInput;
  uint32_t sram_index = 0;
  uint64_t element_offset = 0;  // from the buffer's begin
  uint32_t x_size = 0, y_size = 0, x_stride = 0;
  uint32_t x_pad_before = 0, y_pad_before = 0, x_pad_after = 0, y_pad_after = 0;  // loads
};

// Flags of SetDebugMode; numbers are the original's.
inline constexpr uint32_t kDumpInstructions = 2, kDumpUops = 4, kForceSerial = 32;

class Runtime {
 public:
  // Takes room for instructions and micro-ops on the device, 32 MiB each. Errors: the device's.
  static StatusOr<std::unique_ptr<Runtime>> Create(std::unique_ptr<Device> device);
  ~Runtime();

  Device& device() { return *device_; }

  StatusOr<Buffer*> AllocateBuffer(uint64_t bytes);
  // InvalidArgument: not a buffer of this runtime, or no longer.
  Status FreeBuffer(const void* buffer);
  // `handle` as a buffer, or null where it is none (any more).
  Buffer* FindBuffer(const void* handle) const;
  // Whether a pointer is, or points into, a handle of any runtime's buffer, be it freed: no data of the host's.
  static bool IsHandle(const void* pointer);
  // OutOfRange: bytes that the buffer has not.
  Status CheckRange(const Buffer& buffer, uint64_t offset, uint64_t bytes) const;
  // Between host and buffers. OutOfRange: likewise.
  Status CopyIn(std::span<const uint8_t> from, const Buffer& to, uint64_t offset);
  Status CopyOut(const Buffer& from, uint64_t offset, std::span<uint8_t> to);

  // Append to the stream. Errors: fields that the design point has no room for, a memory that loads or stores do not
  // reach.
  Status Load(const Buffer& from, const Rectangle& transfer);
  Status Store(const Rectangle& transfer, const Buffer& to);
  // `signature`: empty or 4 bytes, whose value plus one is below 100. `body` records the kernel with the calls below;
  // it runs the first time that slot and signature come.
  Status PushKernel(Kernel::Mode mode, KernelSlot& slot, std::span<const uint8_t> signature,
                    const std::function<Status()>& body);
  // Inside a body only.
  Status BeginLoop(uint32_t extent, uint32_t dst, uint32_t src, uint32_t weight);
  Status EndLoop();
  Status AddUop(const Kernel::Push& push);

  // Dependencies between stages 1 load, 2 compute, 3 store.
  Status DependencyPush(int from, int to);
  Status DependencyPop(int from, int to);

  // Ends the stream, runs it, waits. The stream is empty afterwards, whatever came of it. OutOfRange: a load or store
  // touches memory outside of the buffers that there are now, in which case nothing runs; others: Device::Run.
  Status Synchronise(uint64_t wait_cycles);

  void SetDebugMode(uint32_t flags) { debug_ = flags; }
  // Is shown every launch before it runs: where its instructions and its micro-ops stand, and what they are.
  struct Launch {
    uint64_t instructions_at = 0, uops_at = 0;
    std::vector<uint8_t> instructions;
    std::vector<uint32_t> uops;
  };
  void set_observer(std::function<void(const Launch&)> observer) {
    observer_ = std::move(observer);
  }

 private:
  explicit Runtime(std::unique_ptr<Device> device);
  Status Append(const Instruction& instruction);
  Status Move(Opcode opcode, const Buffer& buffer, const Rectangle& transfer);
  // Runs what is there if the stream is almost as long as its room.
  Status SynchroniseIfFull(size_t uops);
  // Whether the stream's loads and stores keep to live buffers (live_memory.h), and loads of micro-ops to those or
  // their room.
  Status CheckTransfers() const;
  StatusOr<uint32_t> ElementAddress(const Buffer& buffer, const Rectangle& transfer) const;

  const std::unique_ptr<Device> device_;
  const Encoding encoding_;
  uint64_t instructions_at_ = 0, uops_at_ = 0;
  std::map<const void*, Buffer*> buffers_;
  InstructionStream stream_;
  KernelCache cache_;
  Kernel* recording_ = nullptr;
  uint32_t debug_ = 0;
  std::function<void(const Launch&)> observer_;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_RUNTIME_H_
