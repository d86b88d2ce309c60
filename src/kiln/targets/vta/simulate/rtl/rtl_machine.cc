// Runs launches in a Verilator simulation: copies memory to and from the process, and reads cycles,
// counters and the fault from the machine's registers.

#include "kiln/targets/vta/simulate/rtl/rtl_machine.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "kiln/hardware/filled_folder.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/targets/vta/emit/emit.h"

namespace kiln::vta {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kPage = DeviceMemory::kPageBytes;
constexpr uint64_t kAddresses = uint64_t{1} << 32;

using Range = hardware::SimulationSession::Range;

// Returns how many bytes of the page at `address` are mapped, counted from its start.
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

// Returns the fault with the machine's code for its kind (register 0x28), nullopt for 0.
std::optional<Fault> FaultOf(uint64_t code, uint64_t instruction) {
  if (code == 0) return std::nullopt;
  return Fault{static_cast<FaultKind>(code - 1), static_cast<size_t>(instruction),
               "the hardware has stopped"};
}

// Returns a folder name that distinguishes design points.
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

StatusOr<fs::path> RtlDesigns::SimulationOf(const Config& config,
                                            const hardware::SimulationKind& kind) {
  Config unnamed = config;  // the name is part of the text but does not affect the hardware
  unnamed.name = FolderNameOf(config);
  if (folder_.empty()) return hardware::BuildSimulation(MachineProject(unnamed), kind);
  const std::lock_guard lock(mutex_);
  KILN_RETURN_IF_ERROR(hardware::CheckNoLink(folder_, unnamed.name));
  const fs::path folder = folder_ / unnamed.name;
  KILN_RETURN_IF_ERROR(EmitMachine(unnamed, folder));
  return hardware::BuildSimulation(folder, kind);
}

StatusOr<RtlMachine> RtlMachine::Start(const Config& config, RtlDesigns& designs,
                                       const RtlOptions& options, bool trace) {
  KILN_ASSIGN_OR_RETURN(const fs::path program,
                        designs.SimulationOf(config, {.trace = trace, .netlist = options.netlist}));
  KILN_ASSIGN_OR_RETURN(
      hardware::SimulationSession session,
      hardware::SimulationSession::Start(program, MemoryArguments(options, options.seed)));
  return RtlMachine(std::move(session));
}

Status RtlMachine::Record(const WaveOptions& wave) {
  return session_.Record(wave.file, wave.window.begin, wave.window.end);
}

StatusOr<RtlMachine::Result> RtlMachine::Launch(DeviceMemory& memory, uint64_t address,
                                                size_t count, uint64_t most_cycles) {
  if (address >= kAddresses || count >= kAddresses) {
    return Result{Fault{FaultKind::kDramRange, 0, "its registers have 32 bits"}, {}, 0, {}};
  }
  const std::vector<Range> ranges = RangesOf(memory);
  const auto bytes = [&](const Range& range) {
    return std::span<uint8_t>(memory.At(range.begin, range.end - range.begin),
                              range.end - range.begin);
  };
  KILN_RETURN_IF_ERROR(session_.Map(ranges));
  for (const Range& range : ranges) {
    KILN_RETURN_IF_ERROR(session_.Write(range.begin, bytes(range)));
  }
  KILN_ASSIGN_OR_RETURN(const hardware::SimulationSession::Outcome outcome,
                        session_.Run(std::array<uint64_t, 2>{address, count}, most_cycles));
  Result result;
  KILN_ASSIGN_OR_RETURN(std::vector<std::vector<int64_t>> starts,
                        session_.Events(kStages, kStages * count));
  for (size_t stage = 0; stage < kStages; ++stage) {
    if (starts[stage].size() > count) {
      return absl::InternalError("the hardware starts more instructions than it was given");
    }
    result.starts[stage] = std::move(starts[stage]);
  }
  for (const Range& range : ranges) {
    KILN_RETURN_IF_ERROR(session_.Read(range.begin, bytes(range)));
  }
  if (!outcome.ended) {
    result.fault =
        Fault{FaultKind::kTooLong, 0, fmt::format("it has not ended after {} cycles", most_cycles)};
    return result;
  }
  KILN_ASSIGN_OR_RETURN(const std::vector<uint64_t> counters, session_.Counters(1 + kCounters));
  result.fault = FaultOf(outcome.error, outcome.error_place);
  result.time.cycles = outcome.cycles;
  result.accumulator_writes = counters[0];
  for (size_t i = 0; i < kCounters; ++i)
    result.time.counters[static_cast<Counter>(i)] = counters[1 + i];
  return result;
}

}  // namespace kiln::vta
