// Reads runtime vectors, makes their calls on a runtime, and compares streams, micro-ops and
// buffers.

#include "kiln/targets/vta/runtime/runtime_vector.h"

#include <algorithm>
#include <set>

#include "fmt/format.h"
#include "kiln/support/hex.h"
#include "kiln/targets/vta/runtime/runtime.h"

namespace kiln::vta {
namespace {

constexpr uint64_t kMost = UINT32_MAX;
constexpr auto kMostMemory = static_cast<uint64_t>(Memory::kAccumulator8);

// A player that makes the calls of one vector on one runtime and keeps the first difference.
class Player {
 public:
  Player(const RuntimeVector& vector, Runtime& runtime)
      : vector_(vector), runtime_(runtime), reader_(vector.file) {
    runtime_.set_observer([this](const Runtime::Launch& launch) { Compare(launch); });
  }

  StatusOr<std::optional<std::string>> Play() {
    for (size_t i = 0; i < vector_.calls.size() && !difference_.has_value(); ++i) {
      path_ = fmt::format("calls[{}]", i);
      const Status status = Call(vector_.calls[i]);
      KILN_RETURN_IF_ERROR(reader_.status());
      if (!status.ok()) difference_ = fmt::format("{}: {}", path_, MessageOf(status));
    }
    if (!difference_.has_value() && launch_ < vector_.launches.size()) {
      difference_ = fmt::format("{} launches; the vector has {}", launch_, vector_.launches.size());
    }
    if (!difference_.has_value()) CompareBuffers();
    return difference_;
  }

 private:
  uint64_t Count(const Json& arguments, const std::string& key) {
    return reader_.Count(arguments, key, path_ + "." + key, kMost);
  }
  uint32_t Number(const Json& arguments, const std::string& key) {
    return static_cast<uint32_t>(Count(arguments, key));
  }
  const Buffer* BufferOf(const Json& arguments, const std::string& key) {
    const std::string name = reader_.Text(arguments, key, path_ + "." + key);
    const auto at = buffers_.find(name);
    if (at != buffers_.end()) return at->second;
    reader_.Fail(path_ + "." + key, fmt::format("'{}' is no buffer", name),
                 "one that VTABufferAlloc has named");
    return nullptr;
  }

  Status Call(const Json& call) {
    if (!call.is_array() || call.size() != 2 || !call[0].is_string()) {
      reader_.Fail(path_, "is no call", "[name, arguments]");
      return OkStatus();
    }
    const std::string name = call[0];
    const Json& arguments = call[1];
    if (name == "VTABufferAlloc") return Allocate(arguments);
    if (name == "VTABufferFree") return Free(arguments);
    if (name == "VTABufferCopyIn") return CopyIn(arguments);
    if (name == "VTALoadBuffer2D") return Load(arguments);
    if (name == "VTAStoreBuffer2D") return Store(arguments);
    if (name == "VTAPushGEMMOp") return PushKernel(Kernel::Mode::kGemm, arguments);
    if (name == "VTAPushALUOp") return PushKernel(Kernel::Mode::kAlu, arguments);
    if (name == "VTADepPush") return Depend(arguments, &Runtime::DependencyPush);
    if (name == "VTADepPop") return Depend(arguments, &Runtime::DependencyPop);
    if (name == "VTASynchronize") return runtime_.Synchronise(0);
    if (name == "VTASetDebugMode") {
      runtime_.SetDebugMode(Number(arguments, "flags"));
      return OkStatus();
    }
    // These calls keep the caches of host and device coherent, which is not needed here.
    const std::set<std::string> nothing = {"VTAReadBarrier", "VTAWriteBarrier",
                                           "VTATLSCommandHandle"};
    if (!nothing.contains(name))
      reader_.Fail(path_, fmt::format("'{}' is no call of the runtime", name), "");
    return OkStatus();
  }

  Status Allocate(const Json& arguments) {
    const std::string name = reader_.Text(arguments, "id", path_ + ".id");
    KILN_ASSIGN_OR_RETURN(const Buffer* buffer, runtime_.AllocateBuffer(Count(arguments, "size")));
    buffers_[name] = buffer;
    const auto expected = vector_.buffers.find(name);
    if (expected != vector_.buffers.end() && expected->second.address != buffer->address()) {
      difference_ = fmt::format("{}: buffer {} is at {:#x}; the vector has it at {:#x}", path_,
                                name, buffer->address(), expected->second.address);
    }
    return OkStatus();
  }
  Status Free(const Json& arguments) {
    const Buffer* buffer = BufferOf(arguments, "id");
    if (buffer == nullptr) return OkStatus();
    buffers_.erase(arguments["id"].get<std::string>());
    return runtime_.FreeBuffer(buffer);
  }
  Status CopyIn(const Json& arguments) {
    const Buffer* buffer = BufferOf(arguments, "id");
    const std::vector<uint8_t> bytes = reader_.Hex(arguments, "hex", path_ + ".hex");
    const uint64_t offset = arguments.contains("offset") ? Count(arguments, "offset") : 0;
    return buffer == nullptr ? OkStatus() : runtime_.CopyIn(bytes, *buffer, offset);
  }
  Rectangle TransferOf(const Json& arguments, const std::string& prefix, const std::string& sram) {
    Rectangle t;
    t.element_offset = Count(arguments, prefix + "_elem_offset");
    t.x_size = Number(arguments, "x_size");
    t.y_size = Number(arguments, "y_size");
    t.x_stride = Number(arguments, "x_stride");
    t.sram_index = Number(arguments, sram + "_sram_index");
    const std::string key = sram + "_memory_type";
    t.memory = static_cast<Memory>(reader_.Count(arguments, key, path_ + "." + key, kMostMemory));
    return t;
  }
  Status Load(const Json& arguments) {
    Rectangle t = TransferOf(arguments, "src", "dst");
    t.x_pad_before = Number(arguments, "x_pad_before");
    t.x_pad_after = Number(arguments, "x_pad_after");
    t.y_pad_before = Number(arguments, "y_pad_before");
    t.y_pad_after = Number(arguments, "y_pad_after");
    const Buffer* buffer = BufferOf(arguments, "src");
    return buffer == nullptr ? OkStatus() : runtime_.Load(*buffer, t);
  }
  Status Store(const Json& arguments) {
    const Rectangle t = TransferOf(arguments, "dst", "src");
    const Buffer* buffer = BufferOf(arguments, "dst");
    return buffer == nullptr ? OkStatus() : runtime_.Store(t, *buffer);
  }
  Status Depend(const Json& arguments, Status (Runtime::*call)(int, int)) {
    const int from = static_cast<int>(Number(arguments, "from")),
              to = static_cast<int>(Number(arguments, "to"));
    return (runtime_.*call)(from, to);
  }

  // Returns the signature, which is given as a number or as hex digits of four bytes, or an empty
  // one if there is none.
  std::vector<uint8_t> SignatureOf(const Json& arguments) {
    const auto at = arguments.find("signature");
    if (at == arguments.end() || at->is_null()) return {};
    if (at->is_string()) return reader_.Hex(arguments, "signature", path_ + ".signature");
    const uint32_t value = Number(arguments, "signature");
    std::vector<uint8_t> bytes;
    for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
    return bytes;
  }
  Status PushKernel(Kernel::Mode mode, const Json& arguments) {
    KernelSlot& slot = slots_[reader_.Text(arguments, "handle", path_ + ".handle")];
    const std::vector<uint8_t> signature = SignatureOf(arguments);
    const Json::array_t& body = reader_.List(arguments, "body", path_ + ".body");
    KILN_RETURN_IF_ERROR(reader_.status());
    return runtime_.PushKernel(mode, slot, signature, [&]() -> Status {
      for (const Json& call : body) KILN_RETURN_IF_ERROR(Record(call));
      return OkStatus();
    });
  }
  Status Record(const Json& call) {
    const auto is = [&](const char* name, size_t arguments) {
      return call.is_array() && call.size() == 2 && call[0] == name && call[1].is_array() &&
             call[1].size() == arguments &&
             std::all_of(call[1].begin(), call[1].end(), [](const Json& number) {
               if (number.is_number_unsigned()) return number.get<uint64_t>() <= kMost;
               return number.is_number_integer() && number.get<int64_t>() >= INT32_MIN;
             });
    };
    std::vector<int64_t> n;
    if (call.is_array() && call.size() == 2 && call[1].is_array()) {
      for (const Json& number : call[1])
        n.push_back(number.is_number_integer() ? number.get<int64_t>() : 0);
    }
    const auto at = [&](size_t i) { return static_cast<uint32_t>(n[i]); };
    if (is("VTAUopLoopBegin", 4)) return runtime_.BeginLoop(at(0), at(1), at(2), at(3));
    if (is("VTAUopLoopEnd", 0)) return runtime_.EndLoop();
    if (is("VTAUopPush", 8)) {
      return runtime_.AddUop({.mode = static_cast<Kernel::Mode>(at(0)),
                              .reset = n[1] != 0,
                              .uop = {at(2), at(3), at(4)},
                              .alu = at(5),
                              .use_immediate = n[6] != 0,
                              .immediate = static_cast<int32_t>(n[7])});
    }
    reader_.Fail(path_ + ".body", Shown(call) + " is no call of a kernel's body",
                 "VTAUopLoopBegin with 4, VTAUopPush with 8, VTAUopLoopEnd with no numbers");
    return reader_.status();
  }

  void Compare(const Runtime::Launch& launch) {
    if (difference_.has_value()) return;
    const size_t number = launch_++;
    const auto differ = [&](const std::string& what) {
      if (!difference_.has_value()) difference_ = fmt::format("launch {}: {}", number, what);
    };
    if (number >= vector_.launches.size())
      return differ(fmt::format("one too many; the vector has {}", vector_.launches.size()));
    const RuntimeVector::Launch& expected = vector_.launches[number];
    const size_t count = launch.instructions.size() / kInstructionBytes;
    if (launch.instructions_at != expected.address) {
      differ(fmt::format("the stream is at {:#x}; the vector has it at {:#x}",
                         launch.instructions_at, expected.address));
    }
    for (size_t i = 0; i < std::min(count, expected.instructions.size()); ++i) {
      const std::string is =
          HexOf(std::span(launch.instructions).subspan(i * kInstructionBytes, kInstructionBytes));
      if (is != expected.instructions[i])
        differ(fmt::format("instruction {} is {}; the vector has {}", i, is,
                           expected.instructions[i]));
    }
    if (count != expected.instructions.size()) {
      differ(
          fmt::format("{} instructions; the vector has {}", count, expected.instructions.size()));
    }
    const std::vector<Instruction> loads = UopLoadsOf(launch);
    if (loads.size() != expected.uop_loads.size()) {
      differ(fmt::format("{} loads of micro-ops; the vector has {}", loads.size(),
                         expected.uop_loads.size()));
    }
    for (size_t i = 0; i < std::min(loads.size(), expected.uop_loads.size()); ++i) {
      const RuntimeVector::UopLoad& load = expected.uop_loads[i];
      if (loads[i].sram_base != load.sram) {
        differ(fmt::format("micro-ops go to {} of the buffer; the vector has {}",
                           loads[i].sram_base, load.sram));
      }
      const uint64_t first = (load.address - launch.uops_at) / Config::kUopBytes;
      const bool inside =
          load.address >= launch.uops_at && first + load.words.size() <= launch.uops.size();
      if (!inside) {
        differ(fmt::format("there are no {} micro-ops at {:#x}, where the vector has them",
                           load.words.size(), load.address));
        continue;
      }
      const auto [is, should] =
          std::mismatch(launch.uops.begin() + static_cast<std::ptrdiff_t>(first), launch.uops.end(),
                        load.words.begin(), load.words.end());
      if (should == load.words.end()) continue;
      differ(fmt::format("micro-op {} at {:#x} is {:#010x}; the vector has {:#010x}",
                         should - load.words.begin(), load.address, *is, *should));
    }
  }

  std::vector<Instruction> UopLoadsOf(const Runtime::Launch& launch) const {
    const Encoding encoding(vector_.config);
    std::vector<Instruction> loads;
    for (size_t at = 0; at < launch.instructions.size(); at += kInstructionBytes) {
      const Instruction in = encoding.Decode(std::span<const uint8_t, kInstructionBytes>(
          launch.instructions.data() + at, kInstructionBytes));
      if (in.opcode == Opcode::kLoad && in.memory == Memory::kUop && !IsNop(in))
        loads.push_back(in);
    }
    return loads;
  }

  void CompareBuffers() {
    for (const auto& [name, expected] : vector_.final) {
      const auto at = buffers_.find(name);
      std::vector<uint8_t> bytes(expected.size());
      if (at == buffers_.end() || !runtime_.CopyOut(*at->second, 0, bytes).ok()) {
        difference_ =
            fmt::format("there is no buffer {} of {} bytes at the end", name, expected.size());
        return;
      }
      const auto [is, should] = std::mismatch(bytes.begin(), bytes.end(), expected.begin());
      if (is == bytes.end()) continue;
      difference_ = fmt::format("byte {} of buffer {} is {:#04x}; the vector has {:#04x}",
                                is - bytes.begin(), name, *is, *should);
      return;
    }
  }

  const RuntimeVector& vector_;
  Runtime& runtime_;
  JsonReader reader_;
  std::string path_;
  std::map<std::string, const Buffer*> buffers_;
  std::map<std::string, KernelSlot> slots_;
  size_t launch_ = 0;
  std::optional<std::string> difference_;
};

void ReadLaunch(const Json& json, const std::string& path, JsonReader& reader,
                RuntimeVector::Launch* launch) {
  launch->address = reader.Count(json, "insn_addr", path + ".insn_addr", kMost);
  for (const Json& digits : reader.List(json, "insns", path + ".insns")) {
    const auto word = digits.is_string() ? ParseHex(digits.get<std::string>()) : std::nullopt;
    launch->instructions.push_back(word.has_value() ? HexOf(*word) : Shown(digits));
  }
  for (const Json& load : reader.List(json, "uop_loads", path + ".uop_loads")) {
    RuntimeVector::UopLoad& one = launch->uop_loads.emplace_back();
    one.address = reader.Count(load, "dram_addr", path + ".uop_loads.dram_addr", kMost);
    one.sram = reader.Count(load, "sram", path + ".uop_loads.sram", kMost);
    for (const Json& word : reader.List(load, "words", path + ".uop_loads.words")) {
      if (!word.is_number_unsigned() || word.get<uint64_t>() > kMost)
        reader.Fail(path + ".uop_loads.words", Shown(word) + " is no word", "");
      one.words.push_back(word.is_number_unsigned() ? word.get<uint32_t>() : 0);
    }
  }
}

}  // namespace

StatusOr<RuntimeVector> ReadRuntimeVector(const std::filesystem::path& file) {
  KILN_ASSIGN_OR_RETURN(const Json json, ReadJson(file));
  return ParseRuntimeVector(json, file);
}

StatusOr<RuntimeVector> ParseRuntimeVector(const Json& json, const std::filesystem::path& file) {
  JsonReader reader(file.string());
  if (const std::string format = reader.Text(json, "format", ""); format != kRuntimeVectorFormat) {
    reader.Fail("format", fmt::format("'{}' is none of runtime calls", format),
                std::string(kRuntimeVectorFormat));
  }
  RuntimeVector vector;
  vector.file = file.string();
  vector.name = reader.Text(json, "name", "");
  const Json* config = reader.Find(json, "config", "");
  vector.calls = reader.List(json, "calls", "");
  if (json.contains("buffers")) {
    for (const auto& [name, buffer] : reader.Map(json, "buffers", "")) {
      const std::string path = "buffers." + name;
      vector.buffers[name] = {reader.Count(buffer, "size", path + ".size", kMost),
                              reader.Count(buffer, "phys", path + ".phys", kMost)};
    }
  }
  const Json::array_t& launches = reader.List(json, "launches", "");
  for (size_t i = 0; i < launches.size(); ++i) {
    ReadLaunch(launches[i], fmt::format("launches[{}]", i), reader,
               &vector.launches.emplace_back());
  }
  for (const auto& [name, digits] : reader.Map(json, "final", "")) {
    vector.final[name] = reader.Hex(json["final"], name, "final." + name);
  }
  KILN_RETURN_IF_ERROR(reader.status());
  KILN_ASSIGN_OR_RETURN(vector.config, ParseOriginalConfig(config->dump(), file.string()));
  return vector;
}

StatusOr<std::optional<std::string>> Replay(const RuntimeVector& vector, std::string_view device) {
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<Device> machine, MakeDevice(device, vector.config));
  KILN_ASSIGN_OR_RETURN(const std::unique_ptr<Runtime> runtime,
                        Runtime::Create(std::move(machine)));
  return Player(vector, *runtime).Play();
}

}  // namespace kiln::vta
