#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "kiln/targets/binary/simulate/cycle/cycle.h"
#include "kiln/targets/binary/simulate/functional/functional.h"
#include "kiln/targets/binary/simulate/rtl/machine.h"
#include "tests/targets/binary/simulate/random_program.h"
#include "tests/targets/conformance/conformance.h"

namespace kiln::binary {

// Why most operators run on the host.
constexpr const char* kTables = "tables give sums of products with constants, nothing else";

namespace {

std::string Named(const std::string& what, uint64_t seed, const BlockProgram& program) {
  return what + ", seed " + std::to_string(seed) + "\n" + PrintConfig(program.config) +
         Print(program);
}

std::optional<std::string> CompareLevels(uint64_t seed) {
  Random random(seed);
  const Config config = RandomConfig(random);
  const RandomBlock block = MakeRandomBlock(config, random);
  const auto cycle = RunCycle(block.program, block.records);
  if (!cycle.ok()) return Named(MessageOf(cycle.status()), seed, block.program);
  if (cycle->results == RunFunctional(block.program, block.records).results) return std::nullopt;
  return Named("the functional and the cycle level differ", seed, block.program);
}

std::optional<std::string> CompareRun(const RtlMachine& machine, const RandomBlock& block,
                                      RtlOptions options, const conformance::RandomRun& run) {
  options.seed = run.seed;
  options.stall_probability = run.stalls;
  options.most_cycles = 4000000;
  const auto rtl = machine.Run(block.program, block.records, options);
  if (!rtl.ok()) return Named(MessageOf(rtl.status()), run.seed, block.program);
  const auto cycle = RunCycle(block.program, block.records, StreamMemoryOf(options));
  if (!cycle.ok()) return Named(MessageOf(cycle.status()), run.seed, block.program);
  if (rtl->results != cycle->results)
    return Named("the bits of the cycle and the rtl level differ", run.seed, block.program);
  if (run.stalls == 0 && rtl->trace.cycles != cycle->trace.cycles) {
    return Named("cycles: " + std::to_string(cycle->trace.cycles) + ", in RTL " +
                     std::to_string(rtl->trace.cycles),
                 run.seed, block.program);
  }
  return std::nullopt;
}

// Every program runs between streams and behind a DRAM.
std::optional<std::string> CompareHardware(uint64_t point,
                                           std::span<const conformance::RandomRun> runs) {
  Random random(point);
  const Config config = RandomConfig(random);
  const auto machine = RtlMachine::Build(config, RtlOptions());
  if (!machine.ok()) return MessageOf(machine.status());
  const auto behind = RtlMachine::Build(config, conformance::DramOfSeed(point));
  if (!behind.ok()) return MessageOf(behind.status());
  for (const conformance::RandomRun& run : runs) {
    Random own(run.seed);
    const RandomBlock block = MakeRandomBlock(config, own);
    auto difference = CompareRun(**machine, block, RtlOptions(), run);
    if (difference.has_value()) return difference;
    difference = CompareRun(**behind, block, conformance::DramOfSeed(run.seed), run);
    if (difference.has_value()) return "behind a DRAM: " + *difference;
  }
  return std::nullopt;
}

}  // namespace
}  // namespace kiln::binary

KILN_CONFORMANCE(
    binary, {
                .design_points = {"accelerators/binary-176.yaml", "accelerators/binary-small.yaml"},
                .never = {{"conv.depthwise*", "tables are of all input channels"},
                          {"conv.grouped", "tables are of all input channels"},
                          {"matmul.two_activations", "weights are constants of memories"},
                          {"matmul.transposed_activations", "weights are constants of memories"},
                          {"activation.leaky_relu", kiln::binary::kTables},
                          {"activation.sigmoid", kiln::binary::kTables},
                          {"activation.tanh", kiln::binary::kTables},
                          {"activation.gelu", kiln::binary::kTables},
                          {"activation.hard_swish", kiln::binary::kTables},
                          {"activation.hard_sigmoid", kiln::binary::kTables},
                          {"activation.softplus", kiln::binary::kTables},
                          {"elementwise.*", kiln::binary::kTables},
                          {"pool.*", kiln::binary::kTables},
                          {"normalise.*", kiln::binary::kTables},
                          {"reduce.*", kiln::binary::kTables},
                          {"move.concat*", kiln::binary::kTables},
                          {"move.pad*", kiln::binary::kTables},
                          {"network.fire_module", kiln::binary::kTables},
                          {"network.ragged_concat", kiln::binary::kTables},
                          {"network.two_outputs", kiln::binary::kTables},
                          {"network.inverted_residual", kiln::binary::kTables},
                          {"network.squeeze_and_excite", kiln::binary::kTables},
                          {"network.attention", kiln::binary::kTables}},
                .not_yet = {{"conv.3x3_dilated", "windows are dense"}},
                .rtl_design_point = "accelerators/binary-small.yaml",
                .quantises_outputs = true,
                .random = {&kiln::binary::CompareLevels, &kiln::binary::CompareHardware},
            });
