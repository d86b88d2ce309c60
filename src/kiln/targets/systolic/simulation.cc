#include "kiln/targets/systolic/simulation.h"

#include <cstring>
#include <sstream>

#include "fmt/format.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/support/check.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "kiln/targets/systolic/emit.h"
#include "kiln/targets/systolic/units.h"

namespace kiln::systolic {
namespace {

namespace fs = std::filesystem;

// One line "counter UNIT.COUNTER N".
void ReadCounter(const std::string& name, int64_t value, std::vector<UnitTrace>& units) {
  const size_t dot = name.find('.');
  const std::string counter = dot == std::string::npos ? "" : name.substr(dot + 1);
  for (size_t u = 0; u < kUnits; ++u) {
    if (name.compare(0, dot, kUnitTable[u].name) != 0) continue;
    if (counter == "busy") units[u].busy_cycles = value;
    if (counter == "bytes_read") units[u].bytes_read = value;
    if (counter == "bytes_written") units[u].bytes_written = value;
    for (size_t i = 0; i < kCauses; ++i) {
      // As at the cycle level, causes that never came up are left out.
      if (counter == fmt::format("stalled{}", i) && value != 0) {
        const char* cause = kUnitTable[u].causes[i];
        units[u].stall_cycles[cause != nullptr ? cause : counter] = value;
      }
    }
  }
}

// What the testbench prints (rtl/testbench/kiln_systolic_testbench.cc).
StatusOr<Simulated> ReadLog(const fs::path& log) {
  KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(log));
  Simulated simulated;
  for (const UnitInfo& unit : kUnitTable) simulated.units.emplace_back().name = unit.name;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    if (what == "cycles") words >> simulated.cycles;
    if (what == "counter") {
      std::string name;
      int64_t value = 0;
      if (words >> name >> value) ReadCounter(name, value, simulated.units);
    }
    if (what == "finished") {
      for (int64_t cycle; words >> cycle;) simulated.finished.push_back(cycle);
    }
  }
  if (simulated.cycles < 0) return absl::InternalError(log.string() + ": no result in it");
  return simulated;
}

}  // namespace

StatusOr<Simulation> Simulation::Build(fs::path folder, const RtlOptions& options, bool trace) {
  KILN_ASSIGN_OR_RETURN(fs::path simulate, hardware::BuildSimulation(folder, trace));
  return Simulation(std::move(folder), std::move(simulate), options);
}

StatusOr<Simulation> Simulation::BuildDesign(const SystolicProgram& program,
                                             const RtlOptions& options, bool trace) {
  std::optional<TemporaryFolder> temporary;
  fs::path folder = options.folder;
  if (folder.empty()) {
    KILN_ASSIGN_OR_RETURN(TemporaryFolder made, TemporaryFolder::Create("kiln-rtl"));
    temporary.emplace(std::move(made));
    folder = temporary->path();
  }
  KILN_RETURN_IF_ERROR(EmitDesign(program, folder));
  KILN_ASSIGN_OR_RETURN(Simulation simulation, Build(std::move(folder), options, trace));
  if (temporary.has_value()) simulation.temporary_.emplace(std::move(*temporary));
  return simulation;
}

StatusOr<Simulated> Simulation::Run(const std::string& name, std::span<const uint8_t> program,
                                    uint64_t base, uint64_t start, uint64_t seed,
                                    std::span<uint8_t> memory, const WaveOptions& wave) const {
  KILN_CHECK(base >= memory.size());
  const fs::path before = folder_ / "build" / (name + "_before.bin"),
                 after = folder_ / "build" / (name + "_after.bin");
  const fs::path log = folder_ / "build" / (name + ".log");
  std::string bytes(base + program.size(), '\0');
  std::memcpy(bytes.data(), memory.data(), memory.size());
  std::memcpy(bytes.data() + base, program.data(), program.size());
  KILN_RETURN_IF_ERROR(WriteFile(before, bytes));
  std::vector<std::string> arguments = {simulate_.string(),   "--memory",     before.string(),
                                        "--result",           after.string(), "--program",
                                        std::to_string(start)};
  for (const auto& more : {MemoryArguments(options_, seed), WaveArguments(wave)}) {
    arguments.insert(arguments.end(), more.begin(), more.end());
  }
  KILN_RETURN_IF_ERROR(RunProgram(arguments, log));
  KILN_ASSIGN_OR_RETURN(Simulated simulated, ReadLog(log));
  KILN_ASSIGN_OR_RETURN(const std::string result, ReadFile(after));
  if (result.size() < memory.size()) return absl::InternalError(after.string() + ": too short");
  std::memcpy(memory.data(), result.data(), memory.size());
  std::error_code error;
  for (const fs::path& file : {before, after, log}) fs::remove(file, error);
  return simulated;
}

}  // namespace kiln::systolic
