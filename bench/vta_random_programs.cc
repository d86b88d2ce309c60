// Random VTA programs on random design points at the functional and the cycle level: what FindDisagreement
// (tests/targets/vta/agreement.h) compares.
//
//   vta_random_programs [--count 100000] [--seed 1]     exit code 1 at the first difference
//   vta_random_programs --count 1 --seed 4711           one again
//
// Program i has seed `seed` + i, which also draws its design point. A difference is told with the seed, the design
// point and the program.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "kiln/support/parallel.h"
#include "tests/targets/vta/agreement.h"
#include "tests/targets/vta/random_program.h"

namespace kiln::vta {
namespace {

struct Case {
  Config config;
  RandomProgram program;
};

Case CaseOf(uint64_t seed) {
  Random random(seed);
  const Config config = RandomConfig(random);
  const int operations = static_cast<int>(random.Between(1, 80));
  return {config, MakeRandomProgram(random, config, operations)};
}

int Main(int argc, char** argv) {
  CLI::App app("Random VTA programs at the functional and the cycle level");
  int64_t count = 100000;
  uint64_t seed = 1;
  app.add_option("--count", count, "Programs")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--seed", seed, "Of the first program")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  std::mutex mutex;
  LaunchTotals totals;
  std::optional<std::string> first;
  int64_t first_at = count;
  ParallelFor(count, 16, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      LaunchTotals own;
      const Case one = CaseOf(seed + static_cast<uint64_t>(i));
      const auto difference = FindDisagreement(one.config, one.program, &own);
      const std::lock_guard lock(mutex);
      totals += own;
      if (!difference.has_value() || i >= first_at) continue;
      first = difference;
      first_at = i;
    }
  });
  if (first.has_value()) {
    const uint64_t at = seed + static_cast<uint64_t>(first_at);
    const Case one = CaseOf(at);
    fmt::print(stderr, "{}\nprogram of seed {} on\n{}", *first, at, one.program.Text(one.config));
    return 1;
  }
  fmt::print("{} programs agree: {} launches, {} of them stopped alike; {} instructions, {} steps, {} cycles\n", count,
             totals.launches, totals.faults, totals.instructions, totals.steps, totals.cycles);
  return 0;
}

}  // namespace
}  // namespace kiln::vta

int main(int argc, char** argv) { return kiln::vta::Main(argc, argv); }
