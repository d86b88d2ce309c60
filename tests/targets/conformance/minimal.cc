#include <algorithm>
#include <string>
#include <vector>

#include "kiln/support/random.h"
#include "kiln/targets/registry.h"
#include "kiln/targets/run/stream_simulation.h"
#include "tests/targets/conformance/conformance.h"
#include "tests/targets/minimal/minimal.h"

static const bool kAdded = [] {
  kiln::AddFamily(kiln::minimal::Entry());
  return true;
}();

namespace kiln::minimal {
namespace {

// Kernels one behind the other, with random numbers and codes.
struct RandomProgram {
  RandomProgram(uint64_t seed, const Config& config) {
    Random random(seed);
    const auto code = [&] { return static_cast<int8_t>(random.Between(-128, 127)); };
    const auto number = [&] { return static_cast<int16_t>(random.Between(-300, 300)); };
    for (int64_t left = random.Between(1, 4); left > 0; --left) {
      const Instruction in{.multiply = random.Below(3) == 0,
                           .ma = number(),
                           .mb = number(),
                           .c = static_cast<int32_t>(random.Between(-5000, 5000)),
                           .shift = static_cast<int>(random.Between(0, 12)),
                           .za = code(),
                           .zb = code()};
      std::vector<int8_t> a(static_cast<size_t>(config.lanes * random.Between(1, 9))), b(a.size());
      for (auto* codes : {&a, &b}) std::ranges::generate(*codes, code);
      const std::vector<uint8_t> kernel = BeatsOf(config, in, a, b);
      beats.insert(beats.end(), kernel.begin(), kernel.end());
      for (const int8_t x : Compute(in, a, b)) functional.push_back(static_cast<uint8_t>(x));
      const std::vector<uint8_t> results = Simulate(config, kernel, &cycles);
      cycle.insert(cycle.end(), results.begin(), results.end());
      ++kernels;
    }
  }
  std::vector<uint8_t> beats, functional, cycle;
  int kernels = 0;
  int64_t cycles = 0;  // of the last kernel alone
};

// Returns a design point with as many lanes as a seed says.
Config ConfigOf(uint64_t seed) { return {.name = "random", .lanes = 4 << seed % 3}; }

std::optional<std::string> CompareLevels(uint64_t seed) {
  const RandomProgram program(seed, ConfigOf(seed));
  if (program.functional == program.cycle) return std::nullopt;
  return "the functional and the cycle level differ";
}

// Kernels that follow each other do not mix their numbers, however the streams stall.
std::optional<std::string> CompareHardware(uint64_t point,
                                           std::span<const conformance::RandomRun> runs) {
  const Config config = ConfigOf(point);
  const MinimalProgram design(config, Graph(), {});
  auto project = ProjectOf(design);
  if (!project.ok()) return MessageOf(project.status());
  const auto simulation = StreamSimulation::Build({}, *std::move(project));
  if (!simulation.ok()) return MessageOf(simulation.status());
  for (const auto& [seed, stalls] : runs) {
    const RandomProgram program(seed, config);
    RtlOptions options;
    options.seed = seed;
    options.stall_probability = stalls;
    const auto lanes = static_cast<size_t>(config.lanes);
    const auto run =
        (*simulation)->Run(program.beats, {program.cycle.size() / lanes}, config.lanes, options);
    if (!run.ok()) return MessageOf(run.status());
    const bool timed = stalls == 0 && program.kernels == 1;
    if (run->bytes != program.cycle || (timed && run->trace.cycles != program.cycles))
      return "the hardware differs on the program of seed " + std::to_string(seed);
  }
  return std::nullopt;
}

}  // namespace
}  // namespace kiln::minimal

static constexpr const char* kOnlyAddsAndMultiplies = "the machine adds and multiplies";

KILN_CONFORMANCE(minimal,
                 {
                     .design_points = {"tests/targets/minimal/minimal.yaml"},
                     .never = {{"conv.*", kOnlyAddsAndMultiplies},
                               {"gemm.*", kOnlyAddsAndMultiplies},
                               {"matmul.*", kOnlyAddsAndMultiplies},
                               {"activation.*", kOnlyAddsAndMultiplies},
                               {"pool.*", kOnlyAddsAndMultiplies},
                               {"normalise.*", kOnlyAddsAndMultiplies},
                               {"reduce.*", kOnlyAddsAndMultiplies},
                               {"move.*", kOnlyAddsAndMultiplies},
                               {"network.*", kOnlyAddsAndMultiplies},
                               {"elementwise.sub", kOnlyAddsAndMultiplies},
                               {"elementwise.relu", kOnlyAddsAndMultiplies},
                               {"elementwise.neg", kOnlyAddsAndMultiplies},
                               {"elementwise.exp", kOnlyAddsAndMultiplies},
                               {"elementwise.erf", kOnlyAddsAndMultiplies},
                               {"elementwise.abs", kOnlyAddsAndMultiplies},
                               {"elementwise.max", kOnlyAddsAndMultiplies},
                               {"elementwise.*broadcast", "operands of one shape"},
                               {"elementwise.add_constant", "two int8 operands"}},
                     .rtl_design_point = "tests/targets/minimal/minimal.yaml",
                     .has_memory = false,
                     .quantises_outputs = true,
                     .random = {&kiln::minimal::CompareLevels, &kiln::minimal::CompareHardware},
                 });
