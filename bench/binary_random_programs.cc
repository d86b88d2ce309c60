// Runs random programs of the binary machine: at the functional and the cycle level, whose bits are
// the same, and on random design points as simulated hardware, whose bits are the same as well and,
// without stalls, the cycles.
//
//   binary_random_programs [--programs 10000] [--points 25] [--runs 40] [--seed 1]
//   binary_random_programs --points 0 --programs 1 --seed 4711      one program again
//   binary_random_programs --programs 0 --points 1 --seed 4711      one design point again
//
// Program i has seed `seed` + i and a design point of its own. Design point i has the seed
// `seed` + i too; `runs` programs run on its hardware one after the other, every third of them
// behind streams that stall at random. All registers have random bits when a run begins. The exit
// code is 1 at the first difference, which is reported with the seeds and the program.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "kiln/support/random.h"
#include "kiln/targets/binary/simulate/cycle/cycle.h"
#include "kiln/targets/binary/simulate/functional/functional.h"
#include "kiln/targets/binary/simulate/rtl/machine.h"
#include "tests/targets/binary/simulate/random_program.h"

namespace kiln::binary {
namespace {

struct Totals {
  int64_t programs = 0, stalled = 0, stages = 0, skips = 0, tests = 0, results = 0, cycles = 0;

  void Add(const BlockProgram& program, const CycleResult& result) {
    ++programs;
    stages += std::ssize(program.stages);
    for (const StageProgram& stage : program.stages) {
      skips += stage.has_skip ? 1 : 0;
      tests += stage.tests();
    }
    for (const auto& codes : result.results) results += std::ssize(codes);
    cycles += result.trace.cycles;
  }
  std::string Text() const {
    return fmt::format("{} stages, {} sums with a skip, {} tests, {} results, {} cycles", stages,
                       skips, tests, results, cycles);
  }
};

Status Differs(const std::string& what, const BlockProgram& program) {
  return absl::InternalError(
      fmt::format("{}\n{}{}", what, PrintConfig(program.config), Print(program)));
}

// Runs a program at the cycle level. Errors: the functional level has other bits.
StatusOr<CycleResult> RunLevels(const RandomBlock& block) {
  auto cycle = RunCycle(block.program, block.records);
  if (!cycle.ok()) return Differs(MessageOf(cycle.status()), block.program);
  if (cycle->results != RunFunctional(block.program, block.records).results)
    return Differs("the functional and the cycle level have different bits", block.program);
  return cycle;
}

Status RunPrograms(int64_t count, uint64_t seed) {
  Totals totals;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t own = seed + static_cast<uint64_t>(i);
    Random random(own);
    const Config config = RandomConfig(random);
    const RandomBlock block = MakeRandomBlock(config, random);
    const auto result = RunLevels(block);
    if (!result.ok()) {
      return absl::InternalError(
          fmt::format("program of seed {}: {}", own, MessageOf(result.status())));
    }
    totals.Add(block.program, *result);
  }
  if (count > 0) {
    fmt::print("{} programs agree at the functional and the cycle level: {}\n", totals.programs,
               totals.Text());
  }
  return OkStatus();
}

// Runs a program on the hardware of its design point. Errors: a level differs.
Status RunHardware(const RtlMachine& machine, const Config& config, uint64_t seed, bool stalls,
                   Totals* totals) {
  Random random(seed);
  const RandomBlock block = MakeRandomBlock(config, random);
  KILN_ASSIGN_OR_RETURN(const CycleResult cycle, RunLevels(block));
  RtlOptions options;
  options.seed = seed;
  options.stall_probability = stalls ? random.Uniform(0.1, 0.7) : 0;
  const auto rtl = machine.Run(block.program, block.records, options);
  if (!rtl.ok()) return Differs(MessageOf(rtl.status()), block.program);
  if (rtl->results != cycle.results) return Differs("the hardware has other bits", block.program);
  if (!stalls && rtl->trace.cycles != cycle.trace.cycles) {
    return Differs(fmt::format("the hardware takes {} cycles, the cycle level {}",
                               rtl->trace.cycles, cycle.trace.cycles),
                   block.program);
  }
  totals->Add(block.program, cycle);
  totals->stalled += stalls ? 1 : 0;
  return OkStatus();
}

Status RunPoints(int64_t points, int64_t runs, uint64_t seed) {
  Totals totals;
  for (int64_t point = 0; point < points; ++point) {
    const uint64_t own = seed + static_cast<uint64_t>(point);
    Random random(own);
    const Config config = RandomConfig(random);
    KILN_ASSIGN_OR_RETURN(const auto machine, RtlMachine::Build(config, RtlOptions()));
    for (int64_t run = 0; run < runs; ++run) {
      const uint64_t program = random();
      const bool stalls = run % 3 == 2;
      const Status status = RunHardware(*machine, config, program, stalls, &totals);
      if (!status.ok()) {
        return absl::InternalError(fmt::format("design point of seed {}, program {} of it, {}: {}",
                                               own, run, stalls ? "stalled" : "not stalled",
                                               MessageOf(status)));
      }
    }
    fmt::print(stderr, "{} of {} design points agree\n", point + 1, points);
  }
  if (points > 0) {
    fmt::print("{} programs agree in hardware on {} design points, {} of them behind stalls: {}\n",
               totals.programs, points, totals.stalled, totals.Text());
  }
  return OkStatus();
}

int Main(int argc, char** argv) {
  CLI::App app("Random programs of the binary machine at the functional, cycle and rtl level");
  int64_t programs = 10000, points = 25, runs = 40;
  uint64_t seed = 1;
  app.add_option("--programs", programs, "Programs at the functional and the cycle level")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--points", points, "Design points in hardware")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--runs", runs, "Programs of a design point")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seed", seed, "Of the first program and design point")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  // Most of the time goes into building.
  ::setenv("KILN_QUICK_BUILD", "1", 0);
  Status status = RunPrograms(programs, seed);
  if (status.ok()) status = RunPoints(points, runs, seed);
  if (status.ok()) return 0;
  fmt::print(stderr, "{}\n", MessageOf(status));
  return 1;
}

}  // namespace
}  // namespace kiln::binary

int main(int argc, char** argv) { return kiln::binary::Main(argc, argv); }
