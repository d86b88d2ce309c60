// Maps random graphs and runs them on simulated hardware. The checker accepts each mapping, and the
// evaluation of the graph, the functional level, the cycle level and the hardware give the same
// bits; without stalls, the cycle level and the hardware take the same cycles as the closed form.
//
//   cgra_mapped_programs [--programs 1000] [--flows 200] [--seed 1] [--design FILE]
//
// Every third program is behind streams that stall at random; registers of the hardware begin with
// random values. --flows: graphs with loads and stores, which hardware does not run; the checker,
// the evaluation and the simulator of flows agree on these. The exit code is 1 at the first
// difference.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "kiln/support/file.h"
#include "kiln/support/random.h"
#include "kiln/targets/cgra/simulate/rtl/machine.h"
#include "tests/targets/cgra/mapped_program.h"

namespace kiln::cgra {
namespace {

constexpr char kDesign[] =
    "family: cgra\nname: mapped\ncolumns: 6\nlanes: 2\nmemory_depth: 64\nring_entries: 16\n"
    "wait_limit: 15\nfloats: true\npipeline_latency: 5\n";

struct Totals {
  int64_t programs = 0, stalled = 0, threads = 0, beats = 0, cycles = 0;
};

// Compares all levels with the evaluation of the graph. Errors: two differ.
Status Compare(const MappedProgram& made, const RtlMachine& machine, bool stalls, uint64_t seed,
               Totals* totals) {
  KILN_ASSIGN_OR_RETURN(const int64_t cycles, CompareLevels(made));
  Random random(seed);
  RtlOptions options;
  options.seed = seed;
  options.stall_probability = stalls ? 0.2 + 0.5 * random.Uniform() : 0;
  KILN_ASSIGN_OR_RETURN(const int64_t taken, CompareHardware(made, machine, options, cycles));
  ++totals->programs;
  totals->stalled += stalls ? 1 : 0;
  totals->threads += made.threads;
  totals->beats += made.beats();
  totals->cycles += taken;
  return OkStatus();
}

void Print(const Totals& totals, const MappedCounts& counts) {
  fmt::print("{} programs agree, {} of them behind stalls: {} threads, {} beats, {} cycles\n",
             totals.programs, totals.stalled, totals.threads, totals.beats, totals.cycles);
  fmt::print("seeds without a program: {} without a problem, {} not mapped, {} refused\n",
             counts.no_problem, counts.not_mapped, counts.refused);
  fmt::print("\n| programs with | |\n|---|---|\n");
  for (const auto& [feature, programs] : counts.features) {
    fmt::print("| {} | {} |\n", feature, programs);
  }
  for (const auto& [mapper, programs] : counts.mappers) {
    fmt::print("| a mapping by `{}` | {} |\n", mapper, programs);
  }
}

Status RunAll(const std::string& design, int64_t programs, int64_t flows, uint64_t first) {
  std::string yaml = kDesign;
  if (!design.empty()) {
    KILN_ASSIGN_OR_RETURN(yaml, ReadFile(design));
  }
  KILN_ASSIGN_OR_RETURN(const Config config, ParseConfig(yaml, design));
  KILN_ASSIGN_OR_RETURN(const auto machine, RtlMachine::Build(config, RtlOptions()));
  Totals totals;
  MappedCounts counts;
  for (uint64_t seed = first; totals.programs < programs; ++seed) {
    const auto failed = [seed](const Status& status) {
      return absl::InternalError(fmt::format("seed {}: {}", seed, MessageOf(status)));
    };
    const StatusOr<std::optional<MappedProgram>> made = MakeMappedProgram(config, seed, &counts);
    if (!made.ok()) return failed(made.status());
    if (!made->has_value()) continue;
    const bool stalls = totals.programs % 3 == 2;
    const Status same = Compare(**made, *machine, stalls, seed, &totals);
    if (!same.ok()) return failed(same);
  }
  Print(totals, counts);
  int64_t ran = 0, seeds = 0;
  for (uint64_t seed = first; ran < flows; ++seed, ++seeds) {
    const StatusOr<bool> mapped = CompareFlows(config, seed);
    if (!mapped.ok()) {
      return absl::InternalError(
          fmt::format("flows, seed {}: {}", seed, MessageOf(mapped.status())));
    }
    ran += *mapped ? 1 : 0;
  }
  fmt::print("\n{} graphs with loads and stores agree without hardware ({} seeds not mapped)\n",
             ran, seeds - ran);
  return OkStatus();
}

}  // namespace
}  // namespace kiln::cgra

int main(int count, char** values) {
  CLI::App app("Runs mapped random graphs on simulated hardware and at all levels");
  int64_t programs = 1000, flows = 200;
  uint64_t seed = 1;
  std::string design;
  app.add_option("--programs", programs, "Programs to run on hardware");
  app.add_option("--flows", flows, "Graphs with loads and stores to run without hardware");
  app.add_option("--seed", seed, "First seed");
  app.add_option("--design", design, "Design point; without: 6 tiles of 2 lanes with binary32");
  CLI11_PARSE(app, count, values);
  const kiln::Status status = kiln::cgra::RunAll(design, programs, flows, seed);
  if (status.ok()) return 0;
  fmt::print(stderr, "{}\n", kiln::MessageOf(status));
  return 1;
}
