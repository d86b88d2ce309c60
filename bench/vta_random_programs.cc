// Random VTA programs on random design points: the functional and the cycle level leave the same memory, and have
// counted the same loads, stores and steps; cycles skipped at the cycle level are like those gone through one by one.
//
//   vta_random_programs [--count 100000] [--seed 1]     exit code 1 at the first difference
//   vta_random_programs --count 1 --seed 4711           one again
//
// Program i has seed `seed` + i, which also draws its design point, and is launched twice: what the first launch leaves
// on chip is the second one's, whose micro-ops may then name what there is not: a fault, of the same instruction at
// both levels. A difference is told with the seed, the design point and the program.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "kiln/support/parallel.h"
#include "kiln/targets/vta/cycle.h"
#include "kiln/targets/vta/functional.h"
#include "tests/targets/vta/random_program.h"

namespace kiln::vta {
namespace {

constexpr int kLaunches = 2;

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

struct Totals {
  uint64_t launches = 0, faults = 0, cycles = 0, instructions = 0, steps = 0;
  Totals& operator+=(const Totals& other) {
    launches += other.launches;
    faults += other.faults;
    cycles += other.cycles;
    instructions += other.instructions;
    steps += other.steps;
    return *this;
  }
};

// A program's memory and the machines that run it, at both levels.
class Machines {
 public:
  explicit Machines(const Case& one)
      : case_(one),
        functional_memory_(RandomProgram::kBase, one.program.memory),
        cycle_memory_(RandomProgram::kBase, one.program.memory),
        slow_memory_(RandomProgram::kBase, one.program.memory),
        functional_(one.config),
        cycle_(one.config),
        slow_(one.config) {
    slow_.set_skips(false);
  }

  // What differs in a launch; nullopt where nothing does.
  std::optional<std::string> Launch(Totals* totals) {
    const uint64_t address = case_.program.address;
    const size_t count = case_.program.instructions.size();
    const auto fault = functional_.Launch(functional_memory_, address, count);
    const CycleMachine::Result cycle = cycle_.Launch(cycle_memory_, address, count);
    const CycleMachine::Result slow = slow_.Launch(slow_memory_, address, count);
    const std::string expected = TextOf(fault);
    if (TextOf(cycle.fault) != expected || TextOf(slow.fault) != expected) {
      return fmt::format("{} at the functional level, {} at the cycle level, {} cycle by cycle", expected,
                         TextOf(cycle.fault), TextOf(slow.fault));
    }
    ++totals->launches;
    faulty_ = fault.has_value();
    totals->faults += faulty_ ? 1 : 0;
    if (faulty_) return std::nullopt;
    if (cycle.time != slow.time) {
      return fmt::format("{} cycles with skipping, {} without, or counters differ", cycle.time.cycles,
                         slow.time.cycles);
    }
    totals->cycles += cycle.time.cycles;
    totals->steps += cycle.time.counters.accumulator_writes();
    totals->instructions += count;
    if (cycle_.profile() != functional_.profile()) return "the levels count bytes or steps otherwise";
    if (const auto difference = ByteThatDiffers(cycle_memory_)) return difference;
    return ByteThatDiffers(slow_memory_);
  }
  bool faulty() const { return faulty_; }

 private:
  static std::string TextOf(const std::optional<Fault>& fault) {
    return fault.has_value() ? fmt::format("{} of instruction {}", NameOf(fault->kind), fault->instruction)
                             : "no fault";
  }
  std::optional<std::string> ByteThatDiffers(const DeviceMemory& memory) const {
    const auto bytes = memory.bytes(), expected = functional_memory_.bytes();
    const auto [wrong, right] = std::mismatch(bytes.begin(), bytes.end(), expected.begin());
    if (wrong == bytes.end()) return std::nullopt;
    return fmt::format("byte {:#x} is {:#04x} at the cycle level, {:#04x} at the functional level",
                       RandomProgram::kBase + static_cast<uint64_t>(wrong - bytes.begin()), *wrong, *right);
  }

  const Case& case_;
  DeviceMemory functional_memory_, cycle_memory_, slow_memory_;
  FunctionalMachine functional_;
  CycleMachine cycle_, slow_;  // with and without skipping
  bool faulty_ = false;
};

std::optional<std::string> Difference(const Case& one, Totals* totals) {
  Machines machines(one);
  for (int launch = 0; launch < kLaunches && !machines.faulty(); ++launch) {
    if (const auto difference = machines.Launch(totals)) return fmt::format("launch {}: {}", launch, *difference);
    if (launch == 0 && machines.faulty()) return "the program is stopped; it should not be";
  }
  return std::nullopt;
}

int Main(int argc, char** argv) {
  CLI::App app("Random VTA programs at the functional and the cycle level");
  int64_t count = 100000;
  uint64_t seed = 1;
  app.add_option("--count", count, "Programs")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--seed", seed, "Of the first program")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  std::mutex mutex;
  Totals totals;
  std::optional<std::string> first;
  int64_t first_at = count;
  ParallelFor(count, 16, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      Totals own;
      const auto difference = Difference(CaseOf(seed + static_cast<uint64_t>(i)), &own);
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
