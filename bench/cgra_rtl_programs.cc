// Runs streams of random programs on simulated hardware and at the functional and the cycle level.
// The bits are the same; without stalls, the cycles as well.
//
//   cgra_rtl_programs [--programs 1000] [--seed 1] [--design small.yaml]
//   cgra_rtl_programs --points 12 --programs 84    12 random design points with 84 streams each
//   cgra_rtl_programs --programs 1 --seed 4711     one stream again
//
// Point i is drawn with seed `seed` + i and has at most 64 lanes in all. Stream i of a point has
// seed `seed` + i, one to two programs and up to four runs. A third of them, i mod 3 = 2, is behind
// streams that stall at random. The exit code is 1 at the first difference.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "kiln/support/file.h"
#include "kiln/support/random.h"
#include "kiln/targets/cgra/simulate/cycle/cycle.h"
#include "kiln/targets/cgra/simulate/functional/functional.h"
#include "kiln/targets/cgra/simulate/rtl/machine.h"
#include "tests/rtl/cgra/placed_program.h"
#include "tests/targets/cgra/simulate/random_program.h"

namespace kiln::cgra {
namespace {

constexpr char kDesign[] =
    "family: cgra\nname: small\ncolumns: 4\nlanes: 4\nmemory_depth: 32\nring_entries: 16\n"
    "wait_limit: 7\n";

struct Totals {
  int64_t programs = 0, stalled = 0, beats = 0, cycles = 0;
};

// Runs the stream of a seed. Errors: a level fails, or two differ.
Status RunStream(const Config& config, const RtlMachine& machine, uint64_t seed, bool stalls,
                 Totals* totals) {
  Random random(seed);
  std::vector<uint8_t> stream;
  const int64_t beats = AppendRandomRuns(config, &random, &stream);
  FunctionalMachine functional(config);
  CycleMachine cycle(config);
  KILN_ASSIGN_OR_RETURN(const std::vector<uint8_t> expected, functional.Run(stream));
  KILN_ASSIGN_OR_RETURN(const CycleResult timed, cycle.Run(stream));
  RtlOptions options;
  options.seed = seed;
  options.stall_probability = stalls ? 0.2 + 0.5 * random.Uniform() : 0;
  KILN_ASSIGN_OR_RETURN(const RtlMachine::Result simulated,
                        machine.RunStream(stream, beats, options));
  if (timed.bytes != expected) return absl::InternalError("the cycle level has other bits");
  if (4 * simulated.data.size() != expected.size() ||
      std::memcmp(simulated.data.data(), expected.data(), expected.size()) != 0) {
    return absl::InternalError("the hardware has other bits");
  }
  if (!stalls && simulated.trace.cycles != timed.trace.cycles) {
    return absl::InternalError(fmt::format("the hardware takes {} cycles, the cycle level {}",
                                           simulated.trace.cycles, timed.trace.cycles));
  }
  ++totals->programs;
  totals->stalled += stalls ? 1 : 0;
  totals->beats += beats;
  totals->cycles += simulated.trace.cycles;
  return OkStatus();
}

// Runs all streams on one design point.
Status RunPoint(const Config& config, int64_t programs, uint64_t seed, Totals* totals) {
  KILN_ASSIGN_OR_RETURN(const auto machine, RtlMachine::Build(config, RtlOptions()));
  for (int64_t i = 0; i < programs; ++i) {
    const uint64_t own = seed + static_cast<uint64_t>(i);
    const Status status = RunStream(config, *machine, own, i % 3 == 2, totals);
    if (!status.ok()) {
      return absl::InternalError(fmt::format("stream of seed {}, {}: {}\n{}", own,
                                             i % 3 == 2 ? "stalled" : "not stalled",
                                             MessageOf(status), PrintConfig(config)));
    }
  }
  return OkStatus();
}

// Returns the random design point of a seed.
Config PointOf(uint64_t seed) {
  constexpr int kMostLanes = 64;
  Random random(seed);
  Config config;
  do {
    config = RandomMachine(&random);
  } while (config.tiles() * config.lanes > kMostLanes);
  return config;
}

Status RunAll(const std::string& design, int64_t points, int64_t programs, uint64_t seed) {
  Totals totals;
  for (int64_t point = 0; point < points; ++point) {
    const Config config = PointOf(seed + static_cast<uint64_t>(point));
    fmt::print("point {}: {} tiles of {} lanes, reach {}, wait limit {}, {}\n", point,
               config.tiles(), config.lanes, config.reach, config.wait_limit,
               config.floats ? "binary32" : "integers");
    std::fflush(stdout);
    KILN_RETURN_IF_ERROR(RunPoint(config, programs, seed, &totals));
  }
  if (points == 0) {
    std::string yaml = kDesign;
    if (!design.empty()) {
      KILN_ASSIGN_OR_RETURN(yaml, ReadFile(design));
    }
    KILN_ASSIGN_OR_RETURN(const Config config, ParseConfig(yaml, design));
    KILN_RETURN_IF_ERROR(RunPoint(config, programs, seed, &totals));
  }
  fmt::print("{} streams agree, {} of them behind stalls: {} beats of results, {} cycles\n",
             totals.programs, totals.stalled, totals.beats, totals.cycles);
  return OkStatus();
}

}  // namespace
}  // namespace kiln::cgra

int main(int count, char** values) {
  CLI::App app("Runs random programs of the cgra machine on simulated hardware");
  int64_t programs = 1000, points = 0;
  uint64_t seed = 1;
  std::string design;
  app.add_option("--programs", programs, "Streams to run, of each design point");
  app.add_option("--seed", seed, "Seed of the first stream and the first random design point");
  app.add_option("--design", design, "Design point; without: a small one");
  app.add_option("--points", points, "Random design points to run on, in place of --design")
      ->check(CLI::Range(0, 1000));
  CLI11_PARSE(app, count, values);
  const kiln::Status status = kiln::cgra::RunAll(design, points, programs, seed);
  if (status.ok()) return 0;
  fmt::print(stderr, "{}\n", kiln::MessageOf(status));
  return 1;
}
