// Runs random VTA programs on random design points, at the functional and the cycle level and
// optionally as simulated hardware. FindDisagreement (tests/targets/vta/agreement.h) compares them.
//
//   vta_random_programs [--count 100000] [--seed 1]     exit code 1 at the first difference
//   vta_random_programs --count 1 --seed 4711           one program again
//   vta_random_programs --levels functional,cycle,rtl --count 2000 [--designs 4] [--stalls 0.4]
//
// Program i has seed `seed` + i, which also draws its design point. Hardware is built for every
// design point, so with the rtl level the design point is number (`seed` + i) mod `designs`. A
// difference is reported with the seed, the design point and the program.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kiln/support/parallel.h"
#include "kiln/targets/interface/accelerator.h"
#include "tests/targets/vta/agreement.h"
#include "tests/targets/vta/random_program.h"

namespace kiln::vta {
namespace {

// A random design point with a program for it.
struct Case {
  Config config;
  RandomProgram program;
};

// The levels to compare, and how to build the hardware.
struct Levels {
  bool rtl = false;
  uint64_t designs = 4;
  RtlOptions memory;
};

// Returns the case of a seed.
Case CaseOf(uint64_t seed, const Levels& levels) {
  Random random(seed);
  Config config = RandomConfig(random);
  if (levels.rtl) config = SmallConfig(seed % levels.designs);
  const int operations = static_cast<int>(random.Between(1, 80));
  return {config, MakeRandomProgram(random, config, operations)};
}

std::optional<std::string> Compare(const Case& one, const Levels& levels, uint64_t seed,
                                   LaunchTotals* totals) {
  if (!levels.rtl) return FindDisagreement(one.config, one.program, totals);
  RtlOptions memory = levels.memory;
  memory.seed = seed;
  return FindRtlDisagreement(one.config, one.program, memory, totals);
}

int Main(int argc, char** argv) {
  CLI::App app("Random VTA programs at all levels");
  int64_t count = 100000;
  uint64_t seed = 1;
  Levels levels;
  std::vector<std::string> names = {"functional", "cycle"};
  app.add_option("--levels", names, "Levels to compare: functional,cycle and, if asked for, rtl")
      ->delimiter(',')
      ->check(CLI::IsMember({"functional", "cycle", "rtl"}))
      ->capture_default_str();
  app.add_option("--designs", levels.designs, "Design points that hardware is built for")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--stalls", levels.memory.stall_probability,
                 "Of each AXI channel of the hardware's memory")
      ->check(CLI::Range(0.0, 0.95));
  app.add_option("--count", count, "Programs")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--seed", seed, "Of the first program")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  levels.rtl = std::count(names.begin(), names.end(), "rtl") > 0;

  std::mutex mutex;
  LaunchTotals totals;
  std::optional<std::string> first;
  int64_t first_at = count;
  ParallelFor(count, 16, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      LaunchTotals own;
      const uint64_t own_seed = seed + static_cast<uint64_t>(i);
      const Case one = CaseOf(own_seed, levels);
      const auto difference = Compare(one, levels, own_seed, &own);
      const std::lock_guard lock(mutex);
      totals += own;
      if (!difference.has_value() || i >= first_at) continue;
      first = difference;
      first_at = i;
    }
  });
  if (first.has_value()) {
    const uint64_t at = seed + static_cast<uint64_t>(first_at);
    const Case one = CaseOf(at, levels);
    fmt::print(stderr, "{}\nprogram of seed {} on\n{}", *first, at, one.program.Text(one.config));
    return 1;
  }
  fmt::print(
      "{} programs agree at the levels {}: {} launches, {} of them stopped alike; {} instructions, "
      "{} steps, {} "
      "cycles\n",
      count, levels.rtl ? "functional, cycle and rtl" : "functional and cycle", totals.launches,
      totals.faults, totals.instructions, totals.steps, totals.cycles);
  return 0;
}

}  // namespace
}  // namespace kiln::vta

int main(int argc, char** argv) { return kiln::vta::Main(argc, argv); }
