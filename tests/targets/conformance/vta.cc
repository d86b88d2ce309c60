#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "kiln/support/random.h"
#include "tests/targets/conformance/conformance.h"
#include "tests/targets/vta/agreement.h"
#include "tests/targets/vta/random_program.h"

namespace kiln::vta {
namespace {

constexpr int kOperations = 40;

std::optional<std::string> CompareLevels(uint64_t seed) {
  Random random(seed);
  const Config config = RandomConfig(random);
  const RandomProgram program = MakeRandomProgram(random, config, kOperations);
  LaunchTotals totals;
  const auto difference = FindDisagreement(config, program, &totals);
  return difference ? std::optional(*difference + '\n' + program.Text(config)) : std::nullopt;
}

std::optional<std::string> CompareHardware(uint64_t point,
                                           std::span<const conformance::RandomRun> runs) {
  const Config config = SmallConfig(point);
  for (const auto& [seed, stalls] : runs) {
    Random random(seed);
    const RandomProgram program = MakeRandomProgram(random, config, kOperations);
    RtlOptions options;
    options.seed = seed;
    options.stall_probability = stalls;
    LaunchTotals totals;
    auto difference = FindRtlDisagreement(config, program, options, &totals);
    if (difference) return *difference + '\n' + program.Text(config);
    difference = FindRtlDisagreement(config, program, conformance::DramOfSeed(seed), &totals);
    if (difference) return "behind a DRAM: " + *difference + '\n' + program.Text(config);
  }
  return std::nullopt;
}

}  // namespace
}  // namespace kiln::vta

KILN_CONFORMANCE(vta,
                 {
                     .design_points = {"accelerators/vta-pynq.yaml", "accelerators/vta-zcu104.yaml",
                                       "accelerators/vta-batch-4.yaml"},
                     .never = {{"matmul.two_activations",
                                "weights come from memory packed in tiles of 8-bit codes"},
                               {"matmul.transposed_activations",
                                "weights come from memory packed in tiles of 8-bit codes"},
                               {"activation.sigmoid", "the ALU has MIN, MAX, ADD, SHR and MUL"},
                               {"activation.tanh", "the ALU has MIN, MAX, ADD, SHR and MUL"},
                               {"activation.gelu", "the ALU has MIN, MAX, ADD, SHR and MUL"},
                               {"activation.softplus", "the ALU has MIN, MAX, ADD, SHR and MUL"},
                               {"elementwise.exp", "the ALU has MIN, MAX, ADD, SHR and MUL"},
                               {"elementwise.erf", "the ALU has MIN, MAX, ADD, SHR and MUL"},
                               {"normalise.*", "the ALU has no division"},
                               {"reduce.mean_last_axis", "lanes of a tile do not meet"},
                               {"network.attention", "a product of two activations, soft-max"}},
                     .not_yet = {{"move.concat", "sums of 32 bits side by side in one block"}},
                     .rtl_design_point = "tests/targets/conformance/vta-tiny.yaml",
                     .random = {&kiln::vta::CompareLevels, &kiln::vta::CompareHardware},
                 });
