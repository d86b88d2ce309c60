#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "kiln/support/random.h"
#include "tests/targets/cgra/mapped_program.h"
#include "tests/targets/cgra/simulate/random_program.h"
#include "tests/targets/conformance/conformance.h"

namespace kiln::cgra {
namespace {

// Returns the program of the first seed from `seed` on, in large steps, that has one.
StatusOr<MappedProgram> MakeProgram(const Config& config, uint64_t seed) {
  constexpr uint64_t kTries = 400, kStep = 1'000'003;
  MappedCounts counts;
  for (uint64_t i = 0; i < kTries; ++i) {
    KILN_ASSIGN_OR_RETURN(std::optional<MappedProgram> made,
                          MakeMappedProgram(config, seed + i * kStep, &counts));
    if (made) return *std::move(made);
  }
  return absl::InternalError("no graph of many was mapped\n" + PrintConfig(config));
}

std::optional<std::string> RandomLevels(uint64_t seed) {
  Random random(seed);
  const StatusOr<MappedProgram> made = MakeProgram(RandomMachine(&random), seed);
  if (!made.ok()) return MessageOf(made.status());
  const StatusOr<int64_t> cycles = CompareLevels(*made);
  if (cycles.ok()) return std::nullopt;
  return MessageOf(cycles.status()) + '\n' + Print(made->program);
}

std::optional<std::string> RandomHardware(uint64_t point,
                                          std::span<const conformance::RandomRun> runs) {
  Config config;
  config.name = "random";
  config.columns = point % 2 == 0 ? 6 : 4;
  config.lanes = 2;
  config.memory_depth = 64;
  config.ring_entries = 16;
  config.wait_limit = point % 2 == 0 ? 7 : 16;
  config.floats = point % 2 == 0;
  config.pipeline_latency = config.floats ? 5 : 3;
  const auto machine = RtlMachine::Build(config, RtlOptions());
  if (!machine.ok()) return MessageOf(machine.status());
  const auto behind = RtlMachine::Build(config, conformance::DramOfSeed(point));
  if (!behind.ok()) return MessageOf(behind.status());
  for (const auto& [seed, stalls] : runs) {
    const StatusOr<MappedProgram> made = MakeProgram(config, seed);
    if (!made.ok()) return MessageOf(made.status());
    StatusOr<int64_t> cycles = CompareLevels(*made);
    // Between streams, then behind a DRAM.
    for (RtlOptions options : {RtlOptions(), conformance::DramOfSeed(seed)}) {
      options.seed = seed;
      options.stall_probability = stalls;
      const RtlMachine& hardware = StreamMemoryOf(options).has_value() ? **behind : **machine;
      if (cycles.ok()) cycles = CompareHardware(*made, hardware, options, *cycles);
    }
    if (!cycles.ok()) return MessageOf(cycles.status()) + '\n' + Print(made->program);
  }
  return std::nullopt;
}

}  // namespace
}  // namespace kiln::cgra

KILN_CONFORMANCE(cgra, {
                           .design_points = {"accelerators/se-16.yaml", "accelerators/se-4.yaml",
                                             "accelerators/se-4-fp32.yaml"},
                           .never = {{"normalise.*_norm", "lanes do not meet, and take no roots"}},
                           .rtl_design_point = "accelerators/se-4.yaml",
                           .quantises_outputs = true,
                           .random = {&kiln::cgra::RandomLevels, &kiln::cgra::RandomHardware},
                       });
