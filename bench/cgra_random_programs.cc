// Executes random graphs with random mappings at the functional and the cycle level and compares
// both with the evaluation of the graph, and the cycles with the closed form. In a third of the
// programs both streams of the cycle level stall at random.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "kiln/targets/cgra/graph/evaluate.h"
#include "kiln/targets/cgra/isa/stream.h"
#include "kiln/targets/cgra/isa/timing.h"
#include "kiln/targets/cgra/simulate/cycle/cycle.h"
#include "kiln/targets/cgra/simulate/functional/functional.h"
#include "tests/targets/cgra/simulate/random_program.h"

namespace kiln::cgra {
namespace {

struct Totals {
  int programs = 0, stalled = 0, without_mapping = 0;
  int64_t threads = 0, instructions = 0, cycles = 0;
  double functional_seconds = 0, cycle_seconds = 0;
};

double SecondsOf(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Returns what differs, or "".
std::string Compare(const RandomProgram& random, uint64_t seed, int threads, Totals* totals) {
  const Config& config = random.config;
  EvaluateOptions evaluate;
  evaluate.threads = threads;
  evaluate.lanes = config.lanes;
  const Evaluation expected = Evaluate(random.graph, random.inputs, evaluate);
  const int64_t first_sent = seed % 5 == 0 ? threads / 3 : 0;
  std::vector<uint8_t> bytes, stream;
  for (size_t thread = static_cast<size_t>(first_sent); thread < expected.outputs.size();
       ++thread) {
    for (const auto& lanes : expected.outputs[thread]) AppendLanes(config, lanes, &bytes);
  }
  AppendLoad(random.program, &stream);
  AppendRun(random.program, threads, first_sent, random.data, &stream);
  FunctionalMachine functional(config);
  StatusOr<std::vector<uint8_t>> fast;
  totals->functional_seconds += SecondsOf([&] { fast = functional.Run(stream); });
  if (!fast.ok()) return "functional: " + MessageOf(fast.status());
  if (*fast != bytes) return "functional: other results than the graph";
  CycleMachine machine(config);
  StatusOr<CycleResult> timed = CycleResult{};
  totals->cycle_seconds += SecondsOf([&] { timed = machine.Run(stream); });
  if (!timed.ok()) return "cycle: " + MessageOf(timed.status());
  if (timed->bytes != bytes) return "cycle: other results than the graph";
  if (timed->trace.cycles != CyclesOf(random.program, threads)) {
    return fmt::format("cycle: {} cycles; closed form: {}", timed->trace.cycles,
                       CyclesOf(random.program, threads));
  }
  totals->cycles += timed->trace.cycles;
  if (seed % 3 != 0) return "";
  // The same machine runs again, as it was left, with stalls and with a program that is loaded.
  ++totals->stalled;
  const StatusOr<CycleResult> slow =
      machine.Run(stream, {.in_stalls = 0.1 * static_cast<double>(seed % 10),
                           .out_stalls = 0.1 * static_cast<double>(seed / 3 % 10),
                           .seed = seed});
  if (!slow.ok()) return "cycle, with stalls: " + MessageOf(slow.status());
  if (slow->bytes != bytes) return "cycle, with stalls: other results than the graph";
  return "";
}

int Main(int programs, uint64_t first) {
  Totals totals;
  for (uint64_t seed = first; totals.programs < programs; ++seed) {
    const int threads = 1 + static_cast<int>(seed * 7 % 90);
    std::string why;
    const auto random = MakeRandomProgram(seed, threads, &why);
    if (!random) {
      ++totals.without_mapping;
      continue;
    }
    ++totals.programs;
    totals.threads += threads;
    for (const TileProgram& tile : random->program.tiles) {
      for (const SpokeEntry& spoke : tile.spokes) totals.instructions += spoke.valid ? threads : 0;
    }
    const std::string difference = Compare(*random, seed, threads, &totals);
    if (difference.empty()) continue;
    std::printf("seed %" PRIu64 ": %s\n%s", seed, difference.c_str(),
                Print(random->program).c_str());
    return 1;
  }
  std::printf("%d programs agree at all levels, %d also with stalls (%d seeds without a program)\n",
              totals.programs, totals.stalled, totals.without_mapping);
  std::printf("%" PRId64 " threads, %" PRId64 " instructions, %" PRId64
              " cycles, all as the closed form says\n",
              totals.threads, totals.instructions, totals.cycles);
  std::printf("functional %.2f s, cycle %.2f s\n", totals.functional_seconds, totals.cycle_seconds);
  return 0;
}

}  // namespace
}  // namespace kiln::cgra

int main(int argc, char** argv) {
  CLI::App app("Random programs of the cgra machine at the functional and the cycle level");
  int programs = 10000;
  uint64_t seed = 1;
  app.add_option("--programs", programs, "Programs that are compared")
      ->check(CLI::Range(1, 1'000'000'000))
      ->capture_default_str();
  app.add_option("--seed", seed, "Of the first program")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return kiln::cgra::Main(programs, seed);
}
