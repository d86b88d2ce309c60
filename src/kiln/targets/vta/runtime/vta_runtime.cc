// Implements the C interface on a single Runtime per process, and turns statuses into messages.

#include "kiln/targets/vta/runtime/vta_runtime.h"

#include <cstdlib>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kiln/targets/vta/runtime/runtime.h"

namespace kiln::vta {
namespace {

std::string EnvironmentOr(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}
std::string DeviceOfEnvironment() { return EnvironmentOr("KILN_VTA_DEVICE", "functional"); }
std::string ConfigOfEnvironment() { return EnvironmentOr("KILN_VTA_CONFIG", ""); }

// The process's only command handle, with the objects that callers' handles refer to.
struct Process {
  std::string device = DeviceOfEnvironment();
  std::string config = ConfigOfEnvironment();
  std::unique_ptr<Runtime> runtime;
  // Kernel slots by the value of callers' handles. These values are addresses of `marks`, which are
  // never freed, so that a handle from before a shutdown is never taken for a new one.
  std::map<const void*, std::unique_ptr<KernelSlot>> slots;
  std::deque<char> marks;
  // The host's copies of buffers of a remote device, made when the host asks for a pointer. The
  // barriers copy the ranges that they name.
  std::map<const Buffer*, std::vector<uint8_t>> shadows;
  uint32_t debug = 0;
  bool recording = false;
  Status body = OkStatus();  // first error in the body that is being recorded
  std::string error, told_error;

  // Stores an error for VTAGetLastError. Inside of a body, which might not check it, the first
  // error is also kept until the body ends.
  void Note(const Status& status) {
    if (!status.ok()) error = MessageOf(status);
    if (recording && body.ok()) body = status;
  }
  void Shutdown() {
    runtime.reset();
    slots.clear();
    shadows.clear();
  }
};

Process& TheProcess() {
  static Process process;
  return process;
}

// Returns the runtime, which the first call makes. Returns null and notes the reason if that fails.
Runtime* TheRuntime() {
  Process& process = TheProcess();
  if (process.runtime != nullptr) return process.runtime.get();
  const auto make = [&]() -> StatusOr<std::unique_ptr<Runtime>> {
    KILN_ASSIGN_OR_RETURN(const Config config, FindConfig(process.config));
    KILN_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, MakeDevice(process.device, config));
    return Runtime::Create(std::move(device));
  };
  auto runtime = make();
  process.Note(runtime.status());
  if (runtime.ok()) process.runtime = std::move(*runtime);
  return process.runtime.get();
}

// Calls `work` with the runtime and notes its error. Returns 0, or -1 if there was an error.
template <typename Work>
int With(const Work& work) {
  Runtime* const runtime = TheRuntime();
  if (runtime == nullptr) return -1;
  Status status;
  try {
    status = work(*runtime);
  } catch (const std::exception& error) {  // exceptions must not pass through C code
    status = absl::ResourceExhaustedError(error.what());
  }
  TheProcess().Note(status);
  return status.ok() ? 0 : -1;
}

StatusOr<Buffer*> BufferOf(Runtime& runtime, const void* handle) {
  Buffer* const buffer = runtime.FindBuffer(handle);
  if (buffer == nullptr)
    return absl::InvalidArgumentError("what should be a buffer is none, or has been freed");
  return buffer;
}

StatusOr<Memory> MemoryOf(uint32_t number) {
  if (number <= static_cast<uint32_t>(Memory::kAccumulator8)) return static_cast<Memory>(number);
  return absl::InvalidArgumentError("there is no memory " + std::to_string(number));
}

template <typename Work>
void InBody(const Work& work) {
  Process& process = TheProcess();
  Runtime* const runtime = TheRuntime();
  if (runtime == nullptr) return;
  process.Note(work(*runtime));
}

int PushKernel(Kernel::Mode mode, void** handle, int (*body)(void*), void* signature, int bytes) {
  return With([&](Runtime& runtime) -> Status {
    if (handle == nullptr || body == nullptr)
      return absl::InvalidArgumentError("a kernel without handle or body");
    if (bytes < 0 || (bytes > 0 && signature == nullptr))
      return absl::InvalidArgumentError("a signature of nothing");
    Process& process = TheProcess();
    auto slot = process.slots.find(*handle);
    if (slot == process.slots.end()) {
      *handle = &process.marks.emplace_back();
      slot = process.slots.emplace(*handle, std::make_unique<KernelSlot>()).first;
    }
    const auto* begin = static_cast<const uint8_t*>(signature);
    return runtime.PushKernel(
        mode, *slot->second, {begin, static_cast<size_t>(bytes)}, [&]() -> Status {
          process.body = OkStatus();
          process.recording = true;
          const int code = body(signature);
          process.recording = false;
          if (process.body.ok() && code != 0)
            return absl::AbortedError("a kernel's body returned " + std::to_string(code));
          return process.body;
        });
  });
}

constexpr uint32_t kMaxElementBits = 1 << 15;

// Copies `extent` elements from `start` on between a buffer and the host's copy of it, if there is
// one.
Status Barrier(Runtime& runtime, const void* handle, uint32_t bits, uint32_t start, uint32_t extent,
               bool to_device) {
  KILN_ASSIGN_OR_RETURN(const Buffer* buffer, BufferOf(runtime, handle));
  if (bits > kMaxElementBits)
    return absl::OutOfRangeError("elements of " + std::to_string(bits) + " bits");
  const uint64_t begin = uint64_t{start} * bits / 8,
                 end = ((uint64_t{start} + extent) * bits + 7) / 8;
  if (end > buffer->bytes()) return absl::OutOfRangeError("a barrier beyond the buffer's end");
  const auto shadow = TheProcess().shadows.find(buffer);
  const uint32_t skip = to_device ? VTA_DEBUG_SKIP_READ_BARRIER : VTA_DEBUG_SKIP_WRITE_BARRIER;
  if (shadow == TheProcess().shadows.end() || (TheProcess().debug & skip) != 0) return OkStatus();
  const auto bytes = std::span(shadow->second).subspan(begin, end - begin);
  return to_device ? runtime.CopyIn(bytes, *buffer, begin) : runtime.CopyOut(*buffer, begin, bytes);
}

}  // namespace
}  // namespace kiln::vta

using namespace kiln::vta;  // NOLINT: the functions below have C names
using kiln::OkStatus;
using kiln::Status;

int VTASelectDevice(const char* device, const char* config) {
  Process& process = TheProcess();
  if (process.recording) {
    process.Note(absl::FailedPreconditionError("a device is selected inside a kernel's body"));
    return -1;
  }
  process.Shutdown();
  process.device = device == nullptr ? DeviceOfEnvironment() : device;
  process.config = config == nullptr ? ConfigOfEnvironment() : config;
  return TheRuntime() == nullptr ? -1 : 0;
}

const char* VTAGetLastError(void) {
  Process& process = TheProcess();
  process.told_error = std::exchange(process.error, "");
  return process.told_error.c_str();
}

void* VTABufferAlloc(size_t size) {
  Buffer* made = nullptr;
  With([&](Runtime& runtime) -> Status {
    KILN_ASSIGN_OR_RETURN(made, runtime.AllocateBuffer(size));
    return OkStatus();
  });
  return made;
}

void VTABufferFree(void* buffer) {
  With([&](Runtime& runtime) {
    TheProcess().shadows.erase(runtime.FindBuffer(buffer));
    return runtime.FreeBuffer(buffer);
  });
}

void VTABufferCopy(const void* from, size_t from_offset, void* to, size_t to_offset, size_t size,
                   int kind_mask) {
  With([&](Runtime& runtime) -> Status {
    // Check both sides before any byte is copied.
    if ((kind_mask & ~(VTA_MEMCPY_H2D | VTA_MEMCPY_D2H)) != 0) {
      return absl::InvalidArgumentError(
          "kind_mask " + std::to_string(kind_mask) +
          " of a copy; 1 (to a buffer), 2 (from a buffer) or 3 (both)");
    }
    const Buffer* source = nullptr;
    const Buffer* target = nullptr;
    if ((kind_mask & VTA_MEMCPY_D2H) != 0) {
      KILN_ASSIGN_OR_RETURN(source, BufferOf(runtime, from));
      KILN_RETURN_IF_ERROR(runtime.CheckRange(*source, from_offset, size));
    }
    if ((kind_mask & VTA_MEMCPY_H2D) != 0) {
      KILN_ASSIGN_OR_RETURN(target, BufferOf(runtime, to));
      KILN_RETURN_IF_ERROR(runtime.CheckRange(*target, to_offset, size));
    }
    if (source == nullptr && Runtime::IsHandle(from)) {
      return absl::InvalidArgumentError(
          "a copy from a buffer's handle as if it were the host's memory; a kind_mask with "
          "VTA_MEMCPY_D2H");
    }
    if (target == nullptr && Runtime::IsHandle(to)) {
      return absl::InvalidArgumentError(
          "a copy to a buffer's handle as if it were the host's memory; a kind_mask with "
          "VTA_MEMCPY_H2D");
    }
    if (size > 0 &&
        ((source == nullptr && from == nullptr) || (target == nullptr && to == nullptr))) {
      return absl::InvalidArgumentError("a copy of bytes at no address of the host");
    }
    std::vector<uint8_t> bytes(size);
    if (source != nullptr) {
      KILN_RETURN_IF_ERROR(runtime.CopyOut(*source, from_offset, bytes));
    } else {
      const auto* begin = static_cast<const uint8_t*>(from) + from_offset;
      bytes.assign(begin, begin + size);
    }
    if (target != nullptr) {
      KILN_RETURN_IF_ERROR(runtime.CopyIn(bytes, *target, to_offset));
      const auto shadow = TheProcess().shadows.find(target);
      if (shadow == TheProcess().shadows.end()) return OkStatus();
      std::copy(bytes.begin(), bytes.end(),
                shadow->second.begin() + static_cast<std::ptrdiff_t>(to_offset));
      return OkStatus();
    }
    std::copy(bytes.begin(), bytes.end(), static_cast<uint8_t*>(to) + to_offset);
    return OkStatus();
  });
}

void* VTABufferCPUPtr(VTACommandHandle /*cmd*/, void* buffer) {
  Runtime* const runtime = TheRuntime();
  const Buffer* const found = runtime == nullptr ? nullptr : runtime->FindBuffer(buffer);
  if (found == nullptr && Runtime::IsHandle(buffer)) {
    TheProcess().Note(absl::InvalidArgumentError("the pointer of a buffer that has been freed"));
    return nullptr;
  }
  if (found == nullptr) return buffer;
  if (uint8_t* const shared = runtime->device().HostPointer(found->address()); shared != nullptr)
    return shared;
  void* pointer = nullptr;
  With([&](Runtime& /*runtime*/) -> Status {
    auto shadow = TheProcess().shadows.find(found);
    if (shadow == TheProcess().shadows.end()) {
      std::vector<uint8_t> bytes(found->bytes());
      KILN_RETURN_IF_ERROR(runtime->CopyOut(*found, 0, bytes));
      shadow = TheProcess().shadows.emplace(found, std::move(bytes)).first;
    }
    pointer = shadow->second.data();
    return OkStatus();
  });
  return pointer;
}

VTACommandHandle VTATLSCommandHandle(void) { return TheRuntime(); }

void VTARuntimeShutdown(void) {
  Process& process = TheProcess();
  if (process.recording) {
    process.Note(absl::FailedPreconditionError("the runtime is shut down inside a kernel's body"));
  } else {
    process.Shutdown();
  }
}

void VTASetDebugMode(VTACommandHandle /*cmd*/, int debug_flag) {
  constexpr int kFlags = VTA_DEBUG_DUMP_INSN | VTA_DEBUG_DUMP_UOP | VTA_DEBUG_SKIP_READ_BARRIER |
                         VTA_DEBUG_SKIP_WRITE_BARRIER | VTA_DEBUG_FORCE_SERIAL;
  With([&](Runtime& runtime) -> Status {
    if ((debug_flag & ~kFlags) != 0) {
      return absl::InvalidArgumentError("debug mode " + std::to_string(debug_flag) +
                                        "; a sum of 2, 4, 8, 16 and 32");
    }
    TheProcess().debug = static_cast<uint32_t>(debug_flag);
    runtime.SetDebugMode(static_cast<uint32_t>(debug_flag));
    return OkStatus();
  });
}

void VTAReadBarrier(VTACommandHandle /*cmd*/, void* buffer, uint32_t elem_bits, uint32_t start,
                    uint32_t extent) {
  With([&](Runtime& runtime) {
    return Barrier(runtime, buffer, elem_bits, start, extent, /*to_device=*/true);
  });
}

void VTAWriteBarrier(VTACommandHandle /*cmd*/, void* buffer, uint32_t elem_bits, uint32_t start,
                     uint32_t extent) {
  With([&](Runtime& runtime) {
    return Barrier(runtime, buffer, elem_bits, start, extent, /*to_device=*/false);
  });
}

void VTALoadBuffer2D(VTACommandHandle /*cmd*/, void* src_dram_addr, uint32_t src_elem_offset,
                     uint32_t x_size, uint32_t y_size, uint32_t x_stride, uint32_t x_pad_before,
                     uint32_t y_pad_before, uint32_t x_pad_after, uint32_t y_pad_after,
                     uint32_t dst_sram_index, uint32_t dst_memory_type) {
  With([&](Runtime& runtime) -> Status {
    KILN_ASSIGN_OR_RETURN(const Buffer* source, BufferOf(runtime, src_dram_addr));
    KILN_ASSIGN_OR_RETURN(const Memory memory, MemoryOf(dst_memory_type));
    return runtime.Load(*source, {.memory = memory,
                                  .sram_index = dst_sram_index,
                                  .element_offset = src_elem_offset,
                                  .x_size = x_size,
                                  .y_size = y_size,
                                  .x_stride = x_stride,
                                  .x_pad_before = x_pad_before,
                                  .y_pad_before = y_pad_before,
                                  .x_pad_after = x_pad_after,
                                  .y_pad_after = y_pad_after});
  });
}

void VTAStoreBuffer2D(VTACommandHandle /*cmd*/, uint32_t src_sram_index, uint32_t src_memory_type,
                      void* dst_dram_addr, uint32_t dst_elem_offset, uint32_t x_size,
                      uint32_t y_size, uint32_t x_stride) {
  With([&](Runtime& runtime) -> Status {
    KILN_ASSIGN_OR_RETURN(const Buffer* target, BufferOf(runtime, dst_dram_addr));
    KILN_ASSIGN_OR_RETURN(const Memory memory, MemoryOf(src_memory_type));
    return runtime.Store({.memory = memory,
                          .sram_index = src_sram_index,
                          .element_offset = dst_elem_offset,
                          .x_size = x_size,
                          .y_size = y_size,
                          .x_stride = x_stride},
                         *target);
  });
}

int VTAPushGEMMOp(void** uop_handle, int (*finit)(void*), void* signature, int nbytes) {
  return PushKernel(Kernel::Mode::kGemm, uop_handle, finit, signature, nbytes);
}

int VTAPushALUOp(void** uop_handle, int (*finit)(void*), void* signature, int nbytes) {
  return PushKernel(Kernel::Mode::kAlu, uop_handle, finit, signature, nbytes);
}

void VTAUopPush(uint32_t mode, uint32_t reset_out, uint32_t dst_index, uint32_t src_index,
                uint32_t wgt_index, uint32_t opcode, uint32_t use_imm, int32_t imm_val) {
  InBody([&](Runtime& runtime) {
    return runtime.AddUop({.mode = static_cast<Kernel::Mode>(mode),
                           .reset = reset_out != 0,
                           .uop = {dst_index, src_index, wgt_index},
                           .alu = opcode,
                           .use_immediate = use_imm != 0,
                           .immediate = imm_val});
  });
}

void VTAUopLoopBegin(uint32_t extent, uint32_t dst_factor, uint32_t src_factor,
                     uint32_t wgt_factor) {
  InBody([&](Runtime& runtime) {
    return runtime.BeginLoop(extent, dst_factor, src_factor, wgt_factor);
  });
}

void VTAUopLoopEnd(void) {
  InBody([&](Runtime& runtime) { return runtime.EndLoop(); });
}

int VTADepPush(VTACommandHandle /*cmd*/, int from_qid, int to_qid) {
  return With([&](Runtime& runtime) { return runtime.DependencyPush(from_qid, to_qid); });
}

int VTADepPop(VTACommandHandle /*cmd*/, int from_qid, int to_qid) {
  return With([&](Runtime& runtime) { return runtime.DependencyPop(from_qid, to_qid); });
}

void VTASynchronize(VTACommandHandle /*cmd*/, uint32_t wait_cycles) {
  With([&](Runtime& runtime) { return runtime.Synchronise(wait_cycles); });
}
