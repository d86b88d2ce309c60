// Builds streams and micro-op kernels from the runtime's calls, and runs them on a device.

#include "kiln/targets/vta/runtime/runtime.h"

#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <iterator>
#include <mutex>

#include "fmt/format.h"
#include "kiln/targets/vta/isa/elements.h"
#include "kiln/targets/vta/runtime/live_memory.h"
#include "kiln/targets/vta/simulate/functional/fault_rules.h"

namespace kiln::vta {
namespace {

constexpr uint64_t kRoomBytes = uint64_t{32} << 20;  // for instructions, and again for micro-ops
constexpr size_t kRoomToEnd = 6;  // greatest number of instructions that end a stream
constexpr uint32_t kSignatures = 100;

StatusOr<Stage> StageOfNumber(int number) {
  if (number < 1 || number > kStages) {
    return Misuse(fmt::format("there is no stage {}; 1 load, 2 compute, 3 store", number));
  }
  return static_cast<Stage>(number - 1);
}

}  // namespace

// The buffer handles of all runtimes. Their memory is never freed, so the address of a freed handle
// is never reused for other data and can be distinguished from a pointer to the host's data.
class BufferHandles {
 public:
  static BufferHandles& Get() {
    static auto& handles = *new BufferHandles;  // never destroyed: runtimes may end later
    return handles;
  }
  Buffer* Take(uint64_t address, uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    Buffer* handle = nullptr;
    if (freed_.size() > kFreedKept) {
      handle = freed_.front();
      freed_.pop_front();
    } else {
      std::unique_ptr<Buffer> made(new Buffer);
      handle = made.get();
      all_.emplace(handle, std::move(made));
    }
    handle->address_ = address;
    handle->bytes_ = bytes;
    return handle;
  }
  void Give(Buffer* handle) {
    const std::lock_guard lock(mutex_);
    freed_.push_back(handle);
  }
  bool Holds(const void* pointer) {
    const std::lock_guard lock(mutex_);
    const auto behind = all_.upper_bound(pointer);
    return behind != all_.begin() &&
           std::less<>()(pointer, static_cast<const void*>(std::prev(behind)->second.get() + 1));
  }

 private:
  static constexpr size_t kFreedKept =
      1024;  // a handle that was just freed is not reused immediately

  std::mutex mutex_;
  std::map<const void*, std::unique_ptr<Buffer>> all_;
  std::deque<Buffer*> freed_;
};

Runtime::Runtime(std::unique_ptr<Device> device)
    : device_(std::move(device)),
      encoding_(device_->config()),
      cache_(static_cast<uint32_t>(device_->config().uops())) {}

StatusOr<std::unique_ptr<Runtime>> Runtime::Create(std::unique_ptr<Device> device) {
  std::unique_ptr<Runtime> runtime(new Runtime(std::move(device)));
  KILN_ASSIGN_OR_RETURN(runtime->uops_at_, runtime->device_->Allocate(kRoomBytes));
  KILN_ASSIGN_OR_RETURN(runtime->instructions_at_, runtime->device_->Allocate(kRoomBytes));
  return runtime;
}

Runtime::~Runtime() {
  for (const auto& [handle, buffer] : buffers_) {
    (void)device_->Free(buffer->address());
    BufferHandles::Get().Give(buffer);
  }
  if (uops_at_ != 0) (void)device_->Free(uops_at_);
  if (instructions_at_ != 0) (void)device_->Free(instructions_at_);
}

StatusOr<Buffer*> Runtime::AllocateBuffer(uint64_t bytes) {
  KILN_ASSIGN_OR_RETURN(const uint64_t address, device_->Allocate(bytes));
  Buffer* const handle = BufferHandles::Get().Take(address, bytes);
  buffers_.emplace(handle, handle);
  return handle;
}

Buffer* Runtime::FindBuffer(const void* handle) const {
  const auto at = buffers_.find(handle);
  return at == buffers_.end() ? nullptr : at->second;
}

bool Runtime::IsHandle(const void* pointer) { return BufferHandles::Get().Holds(pointer); }

Status Runtime::FreeBuffer(const void* handle) {
  const auto at = buffers_.find(handle);
  if (at == buffers_.end())
    return absl::InvalidArgumentError("what is freed is no buffer, or has been freed before");
  const Status status = device_->Free(at->second->address());
  BufferHandles::Get().Give(at->second);
  buffers_.erase(at);
  return status;
}

Status Runtime::CheckRange(const Buffer& buffer, uint64_t offset, uint64_t bytes) const {
  if (offset <= buffer.bytes() && bytes <= buffer.bytes() - offset) return OkStatus();
  return absl::OutOfRangeError(
      fmt::format("bytes {} to {} of a buffer of {}", offset, offset + bytes, buffer.bytes()));
}

Status Runtime::CopyIn(std::span<const uint8_t> from, const Buffer& to, uint64_t offset) {
  KILN_RETURN_IF_ERROR(CheckRange(to, offset, from.size()));
  return device_->Write(to.address() + offset, from);
}

Status Runtime::CopyOut(const Buffer& from, uint64_t offset, std::span<uint8_t> to) {
  KILN_RETURN_IF_ERROR(CheckRange(from, offset, to.size()));
  return device_->Read(from.address() + offset, to);
}

StatusOr<uint32_t> Runtime::ElementAddress(const Buffer& buffer, const Rectangle& transfer) const {
  const auto bytes = static_cast<uint64_t>(ElementBytes(transfer.memory, device_->config()));
  if (bytes == 0)
    return Misuse(fmt::format("there is no memory {}", static_cast<int>(transfer.memory)));
  const uint64_t address = buffer.address() / bytes + transfer.element_offset;
  if (address > UINT32_MAX)
    return absl::OutOfRangeError(fmt::format("element {} has no address", address));
  return static_cast<uint32_t>(address);
}

Status Runtime::Append(const Instruction& in) {
  if (const auto misfit = encoding_.FindMisfit(in)) return absl::OutOfRangeError(*misfit);
  stream_.Append(in);
  return OkStatus();
}

Status Runtime::SynchroniseIfFull(size_t uops) {
  const bool full = (stream_.instructions().size() + kRoomToEnd) * kInstructionBytes > kRoomBytes ||
                    (cache_.launch_uops().size() + uops) * Config::kUopBytes > kRoomBytes;
  return full ? Synchronise(0) : OkStatus();
}

Status Runtime::Load(const Buffer& from, const Rectangle& transfer) {
  return Move(Opcode::kLoad, from, transfer);
}

Status Runtime::Store(const Rectangle& transfer, const Buffer& to) {
  return Move(Opcode::kStore, to, transfer);
}

Status Runtime::Move(Opcode opcode, const Buffer& buffer, const Rectangle& t) {
  if (recording_ != nullptr) return Misuse("a load or store inside a kernel's body");
  KILN_RETURN_IF_ERROR(SynchroniseIfFull(0));
  Instruction in;
  in.opcode = opcode;
  in.memory = t.memory;
  in.sram_base = t.sram_index;
  KILN_ASSIGN_OR_RETURN(in.dram_base, ElementAddress(buffer, t));
  in.x_size = t.x_size;
  in.y_size = t.y_size;
  in.x_stride = t.x_stride;
  if (opcode == Opcode::kLoad) {
    in.x_pad_before = t.x_pad_before;
    in.x_pad_after = t.x_pad_after;
    in.y_pad_before = t.y_pad_before;
    in.y_pad_after = t.y_pad_after;
  }
  if (const auto fault = FindStaticFault(in, 0, device_->config());
      fault.has_value() && fault->kind == FaultKind::kBadMemoryId) {
    return absl::InvalidArgumentError(fmt::format("{}; {}4 (out)", fault->message,
                                                  opcode == Opcode::kLoad ? "any but " : "only "));
  }
  return Append(in);
}

Status Runtime::PushKernel(Kernel::Mode mode, KernelSlot& slot, std::span<const uint8_t> signature,
                           const std::function<Status()>& body) {
  if (recording_ != nullptr) return Misuse("a kernel inside a kernel's body");
  uint32_t key = 0;
  if (signature.size() == sizeof(key)) {
    std::memcpy(&key, signature.data(), sizeof(key));
    ++key;
  } else if (!signature.empty()) {
    return Misuse(fmt::format("a signature of {} bytes; none or 4", signature.size()));
  }
  if (key >= kSignatures)
    return Misuse(fmt::format("signature {}; below {}", key - 1, kSignatures - 1));
  auto at = slot.kernels_.find(key);
  if (at == slot.kernels_.end()) {
    auto kernel = std::make_unique<Kernel>();
    recording_ = kernel.get();
    Status status = body();
    recording_ = nullptr;
    if (status.ok()) status = kernel->Close();
    if (status.ok() && !kernel->uops().empty() && kernel->mode() != mode) {
      status = Misuse("a kernel's micro-ops are of the other kind than the call");
    }
    KILN_RETURN_IF_ERROR(status);
    at = slot.kernels_.emplace(key, std::move(kernel)).first;
  }
  const Kernel& kernel = *at->second;
  if (kernel.uops().empty()) return OkStatus();
  if (const auto misfit = encoding_.FindMisfit(kernel.InstructionAt(0)))
    return absl::OutOfRangeError(*misfit);
  if (kernel.uops().size() > UINT16_MAX)
    return Misuse(fmt::format("a kernel of {} micro-ops", kernel.uops().size()));
  KILN_RETURN_IF_ERROR(SynchroniseIfFull(kernel.uops().size()));
  KILN_ASSIGN_OR_RETURN(const KernelCache::Place place, cache_.Find(&kernel));
  if (place.load_from.has_value()) {
    Instruction load;
    load.opcode = Opcode::kLoad;
    load.memory = Memory::kUop;
    load.sram_base = place.first;
    load.dram_base = static_cast<uint32_t>(uops_at_ / Config::kUopBytes + *place.load_from);
    load.y_size = 1;
    load.x_size = load.x_stride = static_cast<uint32_t>(kernel.uops().size());
    KILN_RETURN_IF_ERROR(Append(load));
  }
  return Append(kernel.InstructionAt(place.first));
}

Status Runtime::BeginLoop(uint32_t extent, uint32_t dst, uint32_t src, uint32_t weight) {
  return recording_ == nullptr ? Misuse("a loop outside of a kernel's body")
                               : recording_->BeginLoop(extent, dst, src, weight);
}

Status Runtime::EndLoop() {
  return recording_ == nullptr ? Misuse("a loop's end outside of a kernel's body")
                               : recording_->EndLoop();
}

Status Runtime::AddUop(const Kernel::Push& push) {
  if (recording_ == nullptr) return Misuse("a micro-op outside of a kernel's body");
  const Config& config = device_->config();
  const Uop& uop = push.uop;
  const bool fits =
      uop.dst < config.accumulators() &&
      uop.src < (push.mode == Kernel::Mode::kGemm ? config.inputs() : config.accumulators()) &&
      uop.weight < config.weights();
  if (!fits) {
    return absl::OutOfRangeError(fmt::format("micro-op of accumulator {}, source {}, weight {}",
                                             uop.dst, uop.src, uop.weight));
  }
  return recording_->Add(push);
}

Status Runtime::DependencyPush(int from, int to) {
  if (recording_ != nullptr) return Misuse("a dependency inside a kernel's body");
  KILN_ASSIGN_OR_RETURN(const Stage giver, StageOfNumber(from));
  KILN_ASSIGN_OR_RETURN(const Stage taker, StageOfNumber(to));
  if (!stream_.Push(giver, taker))
    return Misuse(fmt::format("stages {} and {} are no neighbours", from, to));
  return OkStatus();
}

Status Runtime::DependencyPop(int from, int to) {
  if (recording_ != nullptr) return Misuse("a dependency inside a kernel's body");
  KILN_ASSIGN_OR_RETURN(const Stage giver, StageOfNumber(from));
  KILN_ASSIGN_OR_RETURN(const Stage taker, StageOfNumber(to));
  if (!stream_.Pop(giver, taker))
    return Misuse(fmt::format("stages {} and {} are no neighbours", from, to));
  return OkStatus();
}

Status Runtime::CheckTransfers() const {
  LiveMemory buffers;
  for (const auto& [handle, buffer] : buffers_) buffers.Add(buffer->address(), buffer->bytes());
  LiveMemory with_uops = buffers;
  with_uops.Add(uops_at_, kRoomBytes);
  const std::vector<Instruction>& stream = stream_.instructions();
  for (size_t i = 0; i < stream.size(); ++i) {
    const Instruction& in = stream[i];
    if (in.opcode != Opcode::kLoad && in.opcode != Opcode::kStore) continue;
    const bool loads_uops = in.opcode == Opcode::kLoad && in.memory == Memory::kUop;
    const auto stray = (loads_uops ? with_uops : buffers).FindStray(in, device_->config());
    if (!stray.has_value()) continue;
    return absl::OutOfRangeError(fmt::format("instruction {}, '{}': {}", i,
                                             Disassemble(encoding_.Encode(in), encoding_), *stray));
  }
  return OkStatus();
}

Status Runtime::Synchronise(uint64_t wait_cycles) {
  if (recording_ != nullptr) return Misuse("the end of a stream inside a kernel's body");
  if ((debug_ & kForceSerial) != 0) {
    stream_.FinishSerial();
  } else {
    stream_.Finish();
  }
  Launch launch{
      .instructions_at = instructions_at_, .uops_at = uops_at_, .instructions = {}, .uops = {}};
  for (const Instruction& in : stream_.instructions()) {
    const Encoding::Bytes bytes = encoding_.Encode(in);
    if ((debug_ & kDumpInstructions) != 0)
      std::fprintf(stderr, "%s\n", Disassemble(bytes, encoding_).c_str());
    launch.instructions.insert(launch.instructions.end(), bytes.begin(), bytes.end());
  }
  for (const Uop& uop : cache_.launch_uops()) {
    if ((debug_ & kDumpUops) != 0)
      std::fprintf(stderr, "uop dst=%u src=%u wgt=%u\n", uop.dst, uop.src, uop.weight);
    launch.uops.push_back(encoding_.EncodeUop(uop));
  }
  const size_t count = stream_.instructions().size();
  const Status transfers = CheckTransfers();
  stream_.Clear();
  cache_.EndLaunch();
  KILN_RETURN_IF_ERROR(transfers);
  std::vector<uint8_t> uops(launch.uops.size() * Config::kUopBytes);
  for (size_t i = 0; i < launch.uops.size(); ++i) {
    PutNumber(uops.data(), i, 32, static_cast<int32_t>(launch.uops[i]));
  }
  if (launch.instructions.size() > kRoomBytes || uops.size() > kRoomBytes) {
    return absl::ResourceExhaustedError(
        fmt::format("a stream of {} instructions is too long", count));
  }
  KILN_RETURN_IF_ERROR(device_->Write(uops_at_, uops));
  KILN_RETURN_IF_ERROR(device_->Write(instructions_at_, launch.instructions));
  if (observer_) observer_(launch);
  return device_->Run(instructions_at_, count, wait_cycles);
}

}  // namespace kiln::vta
