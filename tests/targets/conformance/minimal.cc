#include "tests/targets/minimal/minimal.h"
#include <gtest/gtest.h>

#include <vector>

#include "kiln/support/random.h"
#include "kiln/targets/registry.h"
#include "kiln/targets/run/stream_simulation.h"
#include "tests/targets/conformance/conformance.h"

static const bool kAdded = [] {
  kiln::AddFamily(kiln::minimal::Entry());
  return true;
}();

static constexpr const char* kOnlyAddsAndMultiplies = "the machine adds and multiplies";

KILN_CONFORMANCE(minimal, {
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
                          });

namespace kiln::minimal {
namespace {

// Kernels that follow each other without a gap do not mix their numbers, however the streams stall.
TEST(Minimal, KernelsFollowEachOtherOnTheStream) {
  Config config;
  config.name = "minimal-4";
  const MinimalProgram program(config, Graph(), {});
  const auto simulation = StreamSimulation::Build(
      {}, [&](const std::filesystem::path& folder) { return Emit(program, folder); });
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  Random random(5);
  std::vector<uint8_t> beats, expected;
  for (int k = 0; k < 12; ++k) {
    const Instruction in{.multiply = k % 3 == 0,
                         .ma = static_cast<int16_t>(random.Between(-300, 300)),
                         .mb = static_cast<int16_t>(random.Between(-300, 300)),
                         .c = static_cast<int32_t>(random.Between(-5000, 5000)),
                         .shift = static_cast<int>(random.Between(0, 12)),
                         .za = static_cast<int8_t>(random.Between(-128, 127)),
                         .zb = static_cast<int8_t>(random.Between(-128, 127))};
    std::vector<int8_t> a(static_cast<size_t>(4 * random.Between(1, 9))), b(a.size());
    for (int8_t& x : a) x = static_cast<int8_t>(random.Between(-128, 127));
    for (int8_t& x : b) x = static_cast<int8_t>(random.Between(-128, 127));
    const std::vector<uint8_t> more = BeatsOf(config, in, a, b);
    beats.insert(beats.end(), more.begin(), more.end());
    for (const int8_t code : Compute(in, a, b)) expected.push_back(static_cast<uint8_t>(code));
  }
  for (uint64_t seed = 1; seed < 6; ++seed) {
    RtlOptions options;
    options.seed = seed;
    options.stall_probability = 0.2 * static_cast<double>(seed - 1);
    const auto run = (*simulation)->Run(beats, expected.size() / 4, 4, options);
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_EQ(run->bytes, expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace kiln::minimal
