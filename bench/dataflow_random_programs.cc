// Runs random pipelines with random images at the functional and the cycle level and as simulated
// hardware (tests/targets/dataflow/agreement.h says what must be equal).
//
//   dataflow_random_programs [--programs 10000] [--rtl 1000] [--seed 1] [--jobs 1]
//   dataflow_random_programs --programs 1 --rtl 1 --seed 4711      one program again
//   dataflow_random_programs --programs 0 --rtl 30 --seed 4711     the programs of one build again
//
// Program i has seed `seed` + i. A dataflow machine is built for its network, so --components
// programs stand side by side in one build. Each build runs twice: with streams that never wait,
// and with streams that stall at random. The exit code is 1 at the first difference, which is
// reported with the seed and the pipeline.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kiln/support/parallel.h"
#include "kiln/support/random.h"
#include "tests/targets/dataflow/agreement.h"

namespace kiln::dataflow {
namespace {

constexpr int64_t kProgramsOfAStep = 1000;  // of progress
constexpr double kMostStalls = 0.7;

// The numbers of images and elements that a program has; hardware is simulated a thousand times
// more slowly than the other levels.
constexpr RandomPipelineOptions kLarge = {.most_stages = 10};
constexpr RandomPipelineOptions kSmall = {.most_stages = 6, .most_elements = 600};
int64_t ImagesOf(uint64_t seed) { return 1 + static_cast<int64_t>(MixBits(seed) % 3); }

void PrintDifference(const std::string& text, const RandomProgram& program,
                     const std::string& again) {
  fmt::print(stderr, "{}\nprogram of seed {}; again: {}\n{}", text, program.seed, again,
             PrintPipeline(program.pipeline));
}

void PrintTotals(const std::string& what, const ProgramTotals& totals) {
  std::vector<std::string> stages;
  for (const auto& [kind, count] : totals.stages)
    stages.push_back(fmt::format("{} {}", count, kind));
  fmt::print(
      "{} programs agree {}: {} images, {} words in channels, {} codes of results, {} cycles; "
      "stages: {}\n",
      totals.programs, what, totals.images, totals.words, totals.codes, totals.cycles,
      fmt::join(stages, ", "));
  std::fflush(stdout);
}

// Compares the functional and the cycle level; returns whether they agree on all programs.
bool RunLevels(int64_t count, uint64_t seed) {
  ProgramTotals totals;
  for (int64_t done = 0; done < count; done += kProgramsOfAStep) {
    const int64_t step = std::min(kProgramsOfAStep, count - done);
    std::mutex mutex;
    std::optional<std::string> first;
    uint64_t first_seed = 0;
    ParallelFor(step, 16, [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) {
        const uint64_t own = seed + static_cast<uint64_t>(done + i);
        ProgramTotals counted;
        auto difference = FindDisagreement(MakeRandomProgram(own, kLarge, ImagesOf(own)), &counted);
        const std::lock_guard lock(mutex);
        totals += counted;
        if (!difference || (first && own > first_seed)) continue;
        first = std::move(difference);
        first_seed = own;
      }
    });
    if (first) {
      PrintDifference(*first, MakeRandomProgram(first_seed, kLarge, ImagesOf(first_seed)),
                      fmt::format("--programs 1 --rtl 0 --seed {}", first_seed));
      return false;
    }
    fmt::print(stderr, "{} of {} programs\n", done + step, count);
  }
  if (count > 0) PrintTotals("at the functional and the cycle level", totals);
  return true;
}

// Compares the hardware of programs with the other levels; returns whether they agree.
bool RunHardware(int64_t count, int64_t components, uint64_t seed) {
  const int64_t builds = (count + components - 1) / components;
  std::mutex mutex;
  ProgramTotals totals;
  int64_t built = 0;
  bool agree = true;
  ParallelFor(builds, 1, [&](int64_t from, int64_t to) {
    for (int64_t build = from; build < to; ++build) {
      if (const std::lock_guard lock(mutex); !agree) return;
      const auto begin = std::chrono::steady_clock::now();
      const uint64_t first = seed + static_cast<uint64_t>(build * components);
      const int64_t programs = std::min(components, count - build * components);
      std::vector<RandomProgram> chosen;
      for (int64_t i = 0; i < programs; ++i)
        chosen.push_back(
            MakeRandomProgram(first + static_cast<uint64_t>(i), kSmall, 1 + ImagesOf(first)));
      ProgramTotals counted;
      const double stalls = Random(first).Uniform(0.05, kMostStalls);
      const auto found = FindRtlDisagreement(chosen, stalls, first, &counted);
      const std::lock_guard lock(mutex);
      totals += counted;
      const std::string again = fmt::format("--programs 0 --rtl {} --components {} --seed {}",
                                            programs, components, first);
      if (!found.ok()) {
        fmt::print(stderr, "{}\nagain: {}\n", MessageOf(found.status()), again);
        agree = false;
      } else if (const auto& difference = *found) {
        PrintDifference(difference->text, chosen[difference->seed - first], again);
        agree = false;
      } else {
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
        fmt::print(stderr, "{} of {} builds: programs {} to {} agree, stalls {:.2f}, {:.0f} s\n",
                   ++built, builds, first, first + static_cast<uint64_t>(programs) - 1, stalls,
                   seconds.count());
      }
    }
  });
  if (agree && count > 0) PrintTotals("in hardware too, without stalls and with them", totals);
  return agree;
}

int Main(int argc, char** argv) {
  CLI::App app("Random pipelines at the functional, cycle and rtl level");
  int64_t programs = 10000, rtl = 1000, components = 30;
  uint64_t seed = 1;
  int jobs = 1;
  app.add_option("--programs", programs, "Programs at the functional and the cycle level")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--rtl", rtl, "Programs in hardware")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--components", components, "Programs side by side in one build")
      ->check(CLI::Range(1, 60))
      ->capture_default_str();
  app.add_option("--seed", seed, "Of the first program")->capture_default_str();
  app.add_option("--jobs", jobs, "Threads; builds at the same time")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  SetThreadCount(jobs);
  // A build runs for some ten thousand cycles. Most of the time goes into building.
  ::setenv("KILN_QUICK_BUILD", "1", 0);
  return RunLevels(programs, seed) && RunHardware(rtl, components, seed) ? 0 : 1;
}

}  // namespace
}  // namespace kiln::dataflow

int main(int argc, char** argv) { return kiln::dataflow::Main(argc, argv); }
