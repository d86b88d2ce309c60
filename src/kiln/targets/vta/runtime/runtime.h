// The just-in-time runtime: its calls build a program for a device, one instruction after the
// other, and run it. vta_runtime.h is the C interface.
//
// The calls produce the same stream as the original's runtime, instruction for instruction
// (docs/vta-runtime.md), except that the original runs wrong kernels when one launch overflows the
// micro-op buffer and this runtime does not. Only one thread at a time may use a runtime.
#ifndef KILN_TARGETS_VTA_RUNTIME_RUNTIME_H_
#define KILN_TARGETS_VTA_RUNTIME_RUNTIME_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/vta/runtime/device.h"
#include "kiln/targets/vta/runtime/kernel.h"
#include "kiln/targets/vta/runtime/stream.h"

namespace kiln::vta {

// A buffer of memory that host and device share. Only a Runtime makes buffers, and the address of a
// Buffer object is never reused for anything but another Buffer.
class Buffer {
 public:
  uint64_t address() const { return address_; }  // physical address
  uint64_t bytes() const { return bytes_; }

 private:
  friend class BufferHandles;
  Buffer() = default;
  uint64_t address_ = 0, bytes_ = 0;
};

// The kernels of one call site in a program, one for each signature: a kernel handle of the C
// interface.
class KernelSlot {
 private:
  friend class Runtime;
  std::map<uint32_t, std::unique_ptr<Kernel>> kernels_;
};

// A rectangle that a load or store moves between a Buffer and the on-chip memory `memory`. Sizes
// count elements of that memory.
struct Rectangle {
  Memory memory = Memory::kInput;
  uint32_t sram_index = 0;
  uint64_t element_offset = 0;  // from the start of the Buffer
  uint32_t x_size = 0, y_size = 0, x_stride = 0;
  uint32_t x_pad_before = 0, y_pad_before = 0, x_pad_after = 0, y_pad_after = 0;  // loads only
};

// The flags of SetDebugMode, with the original's numbers.
inline constexpr uint32_t kDumpInstructions = 2, kDumpUops = 4, kForceSerial = 32;

// A runtime with its device, buffers and current stream.
class Runtime {
 public:
  // Makes a runtime, and allocates 32 MiB each for instructions and micro-ops on the device.
  // Errors: those of the device.
  static StatusOr<std::unique_ptr<Runtime>> Create(std::unique_ptr<Device> device);
  ~Runtime();

  Device& device() { return *device_; }

  // Allocates a buffer, which the runtime owns. Errors: those of Device::Allocate.
  StatusOr<Buffer*> AllocateBuffer(uint64_t bytes);
  // Frees a buffer. Errors: InvalidArgument if it is not a buffer of this runtime, or not any more.
  Status FreeBuffer(const void* buffer);
  // Returns the buffer with this handle, or null if there is none (any more).
  Buffer* FindBuffer(const void* handle) const;
  // Returns whether a pointer is, or points into, a buffer handle of any runtime, freed or not.
  // Such a pointer cannot point to the host's data.
  static bool IsHandle(const void* pointer);
  // Checks that a buffer has the bytes [offset, offset + bytes). Errors: OutOfRange if it does not.
  Status CheckRange(const Buffer& buffer, uint64_t offset, uint64_t bytes) const;
  // Copy between host and buffers. Errors: OutOfRange as CheckRange; those of the device.
  Status CopyIn(std::span<const uint8_t> from, const Buffer& to, uint64_t offset);
  Status CopyOut(const Buffer& from, uint64_t offset, std::span<uint8_t> to);

  // Append a load or store to the stream. Errors: a value does not fit in its field; loads or
  // stores cannot access this memory.
  Status Load(const Buffer& from, const Rectangle& transfer);
  Status Store(const Rectangle& transfer, const Buffer& to);
  // Appends a GEMM or ALU instruction that runs a kernel. `signature` is empty or has 4 bytes whose
  // value plus one is below 100. `body` records the kernel with the calls below; it is called only
  // when slot and signature first occur together.
  Status PushKernel(Kernel::Mode mode, KernelSlot& slot, std::span<const uint8_t> signature,
                    const std::function<Status()>& body);
  // Record loops and micro-ops. These calls are allowed only inside of a body.
  Status BeginLoop(uint32_t extent, uint32_t dst, uint32_t src, uint32_t weight);
  Status EndLoop();
  Status AddUop(const Kernel::Push& push);

  // Add dependencies between neighbouring stages: 1 load, 2 compute, 3 store.
  Status DependencyPush(int from, int to);
  Status DependencyPop(int from, int to);

  // Ends the stream, runs it and waits for its end. The stream is empty afterwards in any case.
  // Errors: OutOfRange if a load or store touches memory outside of the allocated buffers, in which
  // case nothing runs; those of Device::Run.
  Status Synchronise(uint64_t wait_cycles);

  void SetDebugMode(uint32_t flags) { debug_ = flags; }
  // A launch as the observer sees it before it runs: its instructions and micro-ops and their byte
  // addresses.
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
  // Runs the stream if it would exceed its memory with another instruction and `uops` micro-ops.
  Status SynchroniseIfFull(size_t uops);
  // Checks that the stream's loads and stores stay inside allocated buffers (live_memory.h), and
  // that loads of micro-ops stay inside those or the memory for micro-ops.
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

#endif  // KILN_TARGETS_VTA_RUNTIME_RUNTIME_H_
