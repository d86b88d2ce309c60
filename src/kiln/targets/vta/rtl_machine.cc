#include "kiln/targets/vta/rtl_machine.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "fmt/format.h"
#include "kiln/hardware/axi_port.h"
#include "kiln/hardware/filled_folder.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/targets/vta/emit.h"

namespace kiln::vta {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kPage = DeviceMemory::kPageBytes;
constexpr uint64_t kAddresses = uint64_t{1} << 32;
constexpr uint64_t kNoLimit = uint64_t{1} << 40;

struct Range {
  uint64_t begin, end;
};

// Bytes of the page at `address` that are there, from its beginning.
uint64_t BytesOfPage(const DeviceMemory& memory, uint64_t address) {
  if (memory.At(address, kPage) != nullptr) return kPage;
  uint64_t bytes = 0;
  for (uint64_t step = kPage / 2; step > 0; step /= 2) {
    if (memory.At(address, bytes + step) != nullptr) bytes += step;
  }
  return bytes;
}

std::vector<Range> RangesOf(const DeviceMemory& memory) {
  std::vector<Range> ranges;
  for (uint64_t address = kPage; address < kAddresses; address += kPage) {
    const uint64_t bytes = BytesOfPage(memory, address);
    if (bytes == 0) continue;
    if (ranges.empty() || ranges.back().end != address) ranges.push_back({address, address});
    ranges.back().end += bytes;
  }
  return ranges;
}

template <typename T>
std::span<const uint8_t> BytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)};
}

// The machine's numbers for kinds of faults: register 0x28.
std::optional<Fault> FaultOf(uint64_t code, uint64_t instruction) {
  if (code == 0) return std::nullopt;
  return Fault{static_cast<FaultKind>(code - 1), static_cast<size_t>(instruction),
               "the hardware has stopped"};
}

// A name for files.
std::string FolderNameOf(const Config& config) {
  return fmt::format("{}_p{}l{}q{}b{}", SizesOf(config), config.memory_port_bytes,
                     config.memory_latency, config.instruction_queue_depth,
                     config.accumulator_banks);
}

}  // namespace

RtlDesigns& RtlDesigns::Shared() {
  static RtlDesigns designs;
  return designs;
}

StatusOr<fs::path> RtlDesigns::SimulationOf(const Config& config, bool trace) {
  const std::lock_guard lock(mutex_);
  Config unnamed = config;  // the name is in the text, and changes nothing
  unnamed.name = FolderNameOf(config);
  const std::pair key(TopModule(unnamed), trace);
  if (const auto at = programs_.find(key); at != programs_.end()) return at->second;
  if (folder_.empty()) {
    KILN_ASSIGN_OR_RETURN(TemporaryFolder made, TemporaryFolder::Create("kiln-vta-rtl"));
    folder_ = made.path();
    temporary_.emplace(std::move(made));
  }
  KILN_RETURN_IF_ERROR(hardware::CheckNoLink(folder_, unnamed.name));
  const fs::path folder = folder_ / unnamed.name;
  KILN_RETURN_IF_ERROR(EmitMachine(unnamed, folder));
  KILN_ASSIGN_OR_RETURN(const fs::path program, hardware::BuildSimulation(folder, trace));
  return programs_[key] = program;
}

Config Behind(const RtlOptions& memory, const Config& design) {
  Config config = design;
  if (memory.followed_latency() > 0) {
    config.memory_latency = static_cast<int>(memory.followed_latency()) + kAxiPortLatency;
  }
  return config;
}

StatusOr<RtlMachine> RtlMachine::Start(const Config& config, RtlDesigns& designs,
                                       const RtlOptions& options, const WaveOptions& wave,
                                       size_t wave_launch) {
  KILN_ASSIGN_OR_RETURN(const fs::path program, designs.SimulationOf(config, !wave.file.empty()));
  std::vector<std::string> arguments = {program.string(), "--serve", "--wave-launch",
                                        std::to_string(wave_launch)};
  for (const auto& more : {MemoryArguments(options, options.seed), WaveArguments(wave)}) {
    arguments.insert(arguments.end(), more.begin(), more.end());
  }
  KILN_ASSIGN_OR_RETURN(TemporaryFolder folder, TemporaryFolder::Create("kiln-vta-run"));
  KILN_ASSIGN_OR_RETURN(ChildProcess process,
                        ChildProcess::Start(arguments, folder.path() / "simulate.log"));
  return RtlMachine(std::move(folder), std::move(process));
}

StatusOr<RtlMachine::Result> RtlMachine::Launch(DeviceMemory& memory, uint64_t address,
                                                size_t count, uint64_t most_cycles) {
  if (address >= kAddresses || count >= kAddresses) {
    return Result{Fault{FaultKind::kDramRange, 0, "its registers have 32 bits"}, {}, 0, {}};
  }
  const std::vector<Range> ranges = RangesOf(memory);
  std::vector<uint64_t> request = {address, count, most_cycles == 0 ? kNoLimit : most_cycles,
                                   ranges.size()};
  for (const Range& range : ranges) request.insert(request.end(), {range.begin, range.end});
  KILN_RETURN_IF_ERROR(process_.Send(BytesOf(request)));
  const auto bytes = [&](const Range& range) {
    return std::span<uint8_t>(memory.At(range.begin, range.end - range.begin),
                              range.end - range.begin);
  };
  for (const Range& range : ranges) KILN_RETURN_IF_ERROR(process_.Send(bytes(range)));

  std::array<uint64_t, 5 + kCounters + kStages> answer;
  KILN_RETURN_IF_ERROR(
      process_.Receive({reinterpret_cast<uint8_t*>(answer.data()), sizeof answer}));
  Result result;
  for (size_t stage = 0; stage < kStages; ++stage) {
    std::vector<int64_t>& cycles = result.starts[stage];
    if (answer[5 + kCounters + stage] > count) {
      return absl::InternalError("the hardware starts more instructions than it was given");
    }
    cycles.resize(answer[5 + kCounters + stage]);
    KILN_RETURN_IF_ERROR(process_.Receive(
        {reinterpret_cast<uint8_t*>(cycles.data()), cycles.size() * sizeof cycles[0]}));
  }
  for (const Range& range : ranges) KILN_RETURN_IF_ERROR(process_.Receive(bytes(range)));
  const auto [ended, cycles, fault, instruction, writes] =
      std::array{answer[0], answer[1], answer[2], answer[3], answer[4]};
  if (ended == 0) {
    result.fault =
        Fault{FaultKind::kTooLong, 0, fmt::format("it has not ended after {} cycles", most_cycles)};
    return result;
  }
  result.fault = FaultOf(fault, instruction);
  result.time.cycles = cycles;
  result.accumulator_writes = writes;
  for (size_t i = 0; i < kCounters; ++i)
    result.time.counters[static_cast<Counter>(i)] = answer[5 + i];
  return result;
}

}  // namespace kiln::vta
