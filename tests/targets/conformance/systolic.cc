#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/support/process.h"
#include "kiln/targets/systolic/emit/emit.h"
#include "tests/targets/conformance/conformance.h"
#include "tests/targets/systolic/agreement.h"

namespace kiln::systolic {
namespace {

// Rows and columns at most: small hardware is built quickly.
constexpr int kLargestArray = 2;

std::string Describe(const std::string& difference, const Config& config, uint64_t seed) {
  return difference + '\n' + PrintConfig(config) + ProgramOfSeed(seed, config).Text(config);
}

std::optional<std::string> CompareLevels(uint64_t seed) {
  const Config config = RandomDesignPoint(seed, 8);
  const auto difference = FindDisagreement(config, seed);
  return difference ? std::optional(Describe(*difference, config, seed)) : std::nullopt;
}

std::optional<std::string> CompareHardware(uint64_t point,
                                           std::span<const conformance::RandomRun> runs) {
  const Config config = RandomDesignPoint(point, kLargestArray);
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-random");
  if (const Status status = EmitMachine(config, folder.path()); !status.ok())
    return MessageOf(status);
  for (const auto& [seed, stalls] : runs) {
    RtlOptions stalling;
    stalling.stall_probability = stalls;
    for (const RtlOptions& memory : {stalling, conformance::DramOfSeed(seed)}) {
      const auto simulation = Simulation::Build(folder.path(), memory);
      if (!simulation.ok()) return MessageOf(simulation.status());
      const auto difference = FindRtlDisagreement(config, *simulation, seed, memory);
      if (difference) return Describe(*difference, config, seed);
    }
  }
  return std::nullopt;
}

}  // namespace
}  // namespace kiln::systolic

// Weights in a format of their own leave no way for activations to stand as weights.
static const std::vector<kiln::conformance::Exception> kTwoFormats = {
    {"matmul.two_activations", "the array's weights have another format than its activations"},
    {"matmul.transposed_activations",
     "the array's weights have another format than its activations"},
    {"*attention*", "the array's weights have another format than its activations"}};

KILN_CONFORMANCE(
    systolic,
    {
        .design_points =
            {"accelerators/systolic-int8-8x8.yaml",
             "accelerators/systolic-int8-16x16.yaml",
             "accelerators/systolic-int8-8x8-one-bus.yaml",
             {"accelerators/systolic-int8-8x8-packed.yaml", "int8", "int4", 5},
             {"accelerators/systolic-int8-e4m3-8x8.yaml", "int8", "int8", 2, {}, "e4m3"},
             {"accelerators/systolic-mxint8-16x16.yaml", "mxint8", "mxint8", 1},
             {"accelerators/systolic-mxfp8_e4m3-16x16.yaml", "mxfp8_e4m3", "mxfp8_e4m3", 2},
             {"accelerators/systolic-e4m3-16x16.yaml", "e4m3", "e4m3", 2},
             {"accelerators/systolic-posit8_1-16x16.yaml", "posit8_1", "posit8_1", 2},
             {"accelerators/systolic-posit8_1-quire-16x16.yaml", "posit8_1", "posit8_1", 2},
             {"accelerators/systolic-bf16-16x16.yaml", "bf16", "bf16", 1},
             {"accelerators/systolic-nf4xint8-16x16.yaml", "int8", "nf4", 5, kTwoFormats},
             {"accelerators/systolic-nf4xbf16-16x16.yaml", "bf16", "nf4", 5, kTwoFormats},
             {"accelerators/systolic-binaryxint8-16x16.yaml", "int8", "binary", 25, kTwoFormats}},
        .never = {},
        .not_yet = {},
        .rtl_design_point = "tests/targets/conformance/systolic-tiny.yaml",
        .random = {&kiln::systolic::CompareLevels, &kiln::systolic::CompareHardware},
    });
