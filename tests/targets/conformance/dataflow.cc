#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/targets/conformance/conformance.h"
#include "tests/targets/dataflow/agreement.h"

namespace kiln::dataflow {
namespace {

constexpr RandomPipelineOptions kSmall = {.most_stages = 6, .most_elements = 600};

std::optional<std::string> CompareLevels(uint64_t seed) {
  const RandomProgram program = MakeRandomProgram(seed, {}, 2);
  ProgramTotals totals;
  const auto difference = FindDisagreement(program, &totals);
  return difference ? std::optional(*difference + '\n' + PrintPipeline(program.pipeline))
                    : std::nullopt;
}

std::optional<std::string> CompareHardware(uint64_t point,
                                           std::span<const conformance::RandomRun> runs) {
  std::vector<RandomProgram> programs;
  double stalls = 0;
  for (const conformance::RandomRun& run : runs) {
    programs.push_back(MakeRandomProgram(run.seed, kSmall, 2));
    stalls = std::max(stalls, run.stalls);
  }
  ProgramTotals totals;
  const auto found = FindRtlDisagreement(programs, stalls, point, &totals);
  if (!found.ok()) return MessageOf(found.status());
  if (!found->has_value()) {
    const RtlOptions dram = conformance::DramOfSeed(point);
    const auto behind = FindDisagreementBehindMemory(programs, {&dram, 1});
    if (!behind.ok()) return "behind a DRAM: " + MessageOf(behind.status());
    return behind->has_value() ? std::optional("behind a DRAM: " + **behind) : std::nullopt;
  }
  for (const RandomProgram& program : programs) {
    if (program.seed == (*found)->seed)
      return (*found)->text + '\n' + PrintPipeline(program.pipeline);
  }
  return (*found)->text;
}

}  // namespace
}  // namespace kiln::dataflow

KILN_CONFORMANCE(
    dataflow,
    {
        .design_points = {"accelerators/dataflow-zcu104.yaml", "accelerators/dataflow-small.yaml"},
        .never = {{"matmul.two_activations", "weights are constants of the hardware"},
                  {"matmul.transposed_activations", "weights are constants of the hardware"},
                  {"elementwise.mul*", "stages multiply by constants"},
                  {"elementwise.max", "stages add and concatenate two maps, nothing else"},
                  {"elementwise.add_constant", "constants are per channel, not per pixel"},
                  {"pool.average_3x3_padded", "all windows of a layer have one divisor"},
                  {"move.transpose*", "the host sends and receives words in any order"},
                  {"move.reshape", "the host sends and receives words in any order"},
                  {"move.slice_step_2", "no stage drops the first words of a map"},
                  {"normalise.*", "no stage divides by what it computes"},
                  {"reduce.mean_last_axis", "lanes of a word do not meet"},
                  {"network.squeeze_and_excite", "stages multiply by constants"},
                  {"network.attention", "a product of two activations, soft-max"}},
        .rtl_design_point = "accelerators/dataflow-small.yaml",
        .simulates_one_in = 9,
        .random = {&kiln::dataflow::CompareLevels, &kiln::dataflow::CompareHardware},
    });
