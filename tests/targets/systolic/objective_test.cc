// Schedules by energy, by energy times cycles and by traffic. Their measures are taken from the
// models that reports use, which walk the visits of an instruction one by one; the search has a
// closed form.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kiln/ir/random_graph.h"
#include "kiln/ir/text.h"
#include "kiln/support/random.h"
#include "kiln/targets/systolic/accelerator.h"
#include "kiln/targets/systolic/compile/ranking.h"
#include "kiln/targets/systolic/compile/schedule.h"
#include "kiln/targets/systolic/cost/cost.h"
#include "kiln/targets/systolic/cost/events.h"
#include "kiln/targets/systolic/isa/timing.h"
#include "kiln/targets/systolic/simulate/cycle/cycle.h"
#include "tests/targets/systolic/compiled.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln::systolic {
namespace {

// At 7 nm the outer memory has a larger share of the energy than at 45 nm.
constexpr int kNode = 7;

constexpr size_t kObjectiveCount = std::size(kObjectives);
constexpr double kRounding = 1 + 1e-12;  // of sums of doubles in different orders

// What an instruction takes by the reports' models, by objective.
using Measures = std::array<double, kObjectiveCount>;

double ReportedPicojoules(const Instruction& instruction, const Config& config) {
  const auto energy = EnergyOf(CountEvents(std::span(&instruction, 1), config), config, kNode);
  EXPECT_TRUE(energy.ok()) << energy.status();
  return energy.ok() ? energy->picojoules() : 0;
}

Measures MeasuresOf(const Instruction& instruction, const Config& config) {
  const auto cycles = static_cast<double>(EstimateCycles(instruction, config));
  const double picojoules = ReportedPicojoules(instruction, config);
  const int64_t bytes = CountEvents(std::span(&instruction, 1), config).bytes();
  return {cycles, picojoules, picojoules * cycles, static_cast<double>(bytes)};
}

Ranking RankingBy(Objective objective, const Config& config) {
  CompileOptions options;
  options.objective = objective;
  options.node_nm = kNode;
  return {config, options};
}

// A design point of every kind that changes what tilings fetch: block scales, wide depthwise ports.
Config AnyConfig(Random& random, int round) {
  Config config = RandomConfig(random);
  if (round % 2 == 1) RandomFormats(random, &config);
  return config;
}

Instruction AnyInstruction(Random& random, const Config& config, int round) {
  const bool depthwise = round % 4 == 0 && config.depthwise_multipliers > 0;
  return RandomInstruction(random, config, depthwise ? Opcode::kDepthwise : Opcode::kMatrix)
      .instruction;
}

TEST(SystolicObjective, ClosedFormsOfTilingsAreTheReportsCounts) {
  Random random(41);
  int tilings_seen = 0;
  std::set<Packing> packings;
  bool scales = false, several_blocks = false, batches = false;
  for (int i = 0; i < 120; ++i) {
    const Config config = AnyConfig(random, i);
    Instruction instruction = AnyInstruction(random, config, i);
    const std::vector<Tiling> tilings = TilingsOf(instruction, config);
    if (tilings.empty()) continue;
    TilingExpenses expenses(instruction, config, RankingBy(Objective::kEnergy, config), tilings);
    for (const Tiling& tiling : tilings) {
      const Expense expense = expenses.Of(tiling);
      instruction.tiling = tiling;
      const Events events = CountEvents(std::span(&instruction, 1), config);
      ASSERT_EQ(expense.bytes, events.bytes()) << Print(instruction, config);
      const double picojoules = ReportedPicojoules(instruction, config);
      ASSERT_NEAR(expense.picojoules, picojoules, picojoules * 1e-12) << Print(instruction, config);
      ++tilings_seen;
      packings.insert(tiling.packing);
      scales = scales || events.scale_bytes() > 0;
      several_blocks = several_blocks || GeometryOf(instruction, config).blocks > 1;
      batches = batches || instruction.convolution.batch > 1;
    }
  }
  EXPECT_GT(tilings_seen, 10'000);
  EXPECT_EQ(packings.size(), 2u);
  EXPECT_TRUE(scales);
  EXPECT_TRUE(several_blocks);
  EXPECT_TRUE(batches);
}

// By the reports' models, no tiling at all is better than the one found: those of the other
// objectives are among them. Of tilings with the same energy or traffic the fastest is chosen.
TEST(SystolicObjective, EveryObjectiveFindsTheBestOfItsSpace) {
  Random random(43);
  std::array<int, kObjectiveCount> better_than_fastest{};
  int searched = 0;
  for (int i = 0; i < 100; ++i) {
    const Config config = AnyConfig(random, i);
    Instruction instruction = AnyInstruction(random, config, i);
    std::vector<Measures> all;
    for (const Tiling& tiling : TilingsOf(instruction, config)) {
      instruction.tiling = tiling;
      all.push_back(MeasuresOf(instruction, config));
    }
    if (all.empty()) continue;
    ++searched;
    double fastest_edp = 0, fastest_energy = 0, fastest_bytes = 0;
    for (size_t o = 0; o < kObjectiveCount; ++o) {
      const Objective objective = kObjectives[o];
      Scheduler scheduler(config, RankingBy(objective, config));
      const auto schedule = scheduler.Find(instruction);
      ASSERT_TRUE(schedule.ok()) << schedule.status();
      instruction.tiling = schedule->tiling;
      const Measures found = MeasuresOf(instruction, config);
      double least = std::numeric_limits<double>::max();
      double least_cycles = std::numeric_limits<double>::max();
      for (const Measures& one : all) least = std::min(least, one[o]);
      EXPECT_LE(found[o], least * kRounding) << NameOf(objective) << "\n"
                                             << Print(instruction, config);
      for (const Measures& one : all) {
        if (one[o] <= least * kRounding) least_cycles = std::min(least_cycles, one[0]);
      }
      if (objective != Objective::kEdp) {
        EXPECT_EQ(found[0], least_cycles) << NameOf(objective) << Print(instruction, config);
      }
      EXPECT_TRUE(schedule->best_of_space);
      // The certificate is of the cycles.
      const Certificate& proof = schedule->certificate;
      EXPECT_EQ(proof.unit, "cycles");
      EXPECT_EQ(proof.cost, found[0]);
      EXPECT_LE(proof.lower_bound, proof.cost);
      double fewest = std::numeric_limits<double>::max();
      for (const Measures& one : all) fewest = std::min(fewest, one[0]);
      EXPECT_LE(proof.lower_bound, fewest);
      if (proof.optimal) {
        EXPECT_EQ(proof.cost, fewest);
      }
      if (objective == Objective::kCycles) {
        fastest_energy = found[1];
        fastest_edp = found[2];
        fastest_bytes = found[3];
      }
      const double fastest[] = {found[0], fastest_energy, fastest_edp, fastest_bytes};
      better_than_fastest[o] += found[o] * kRounding < fastest[o] ? 1 : 0;
    }
  }
  EXPECT_GT(searched, 60);
  for (const size_t o : {1, 2, 3}) EXPECT_GT(better_than_fastest[o], 10) << o;
}

// Behind a memory, no tiling has a smaller time: the larger of its cycles and of its transfer, plus
// a sixteenth of the transfer. What the certificate says of cycles stays true.
TEST(SystolicObjective, BehindAMemoryNoTilingHasASmallerTime) {
  Random random(47);
  int searched = 0, other_than_fastest = 0;
  for (int i = 0; i < 60; ++i) {
    const Config config = AnyConfig(random, i);
    Instruction instruction = AnyInstruction(random, config, i);
    std::vector<Measures> all;
    double fewest = std::numeric_limits<double>::max();
    for (const Tiling& tiling : TilingsOf(instruction, config)) {
      instruction.tiling = tiling;
      all.push_back(MeasuresOf(instruction, config));
      fewest = std::min(fewest, all.back()[0]);
    }
    if (all.empty()) continue;
    ++searched;
    for (const double bandwidth : {0.5, 4.0, 1e12}) {
      const auto time = [&](const Measures& one) {
        const double transfer = one[3] / bandwidth;
        return (one[0] > transfer ? one[0] : transfer) + transfer / 16;
      };
      CompileOptions options;
      options.memory_bytes_per_cycle = bandwidth;
      Scheduler scheduler(config, Ranking(config, options));
      const auto schedule = scheduler.Find(instruction);
      ASSERT_TRUE(schedule.ok()) << schedule.status();
      instruction.tiling = schedule->tiling;
      const Measures found = MeasuresOf(instruction, config);
      double least = std::numeric_limits<double>::max();
      for (const Measures& one : all) least = std::min(least, time(one));
      EXPECT_LE(time(found), least * kRounding) << bandwidth << Print(instruction, config);
      EXPECT_TRUE(schedule->best_of_space);
      const Certificate& proof = schedule->certificate;
      EXPECT_EQ(proof.cost, found[0]);
      EXPECT_LE(proof.lower_bound, fewest);
      if (proof.optimal) {
        EXPECT_EQ(proof.cost, fewest);
      }
      if (bandwidth > 1e9) {
        EXPECT_EQ(found[0], fewest) << "such a memory adds nothing";
      }
      if (bandwidth < 1) other_than_fastest += found[0] > fewest ? 1 : 0;
    }
  }
  EXPECT_GT(searched, 40);
  EXPECT_GT(other_than_fastest, 10);
}

std::unique_ptr<Program> CompileBy(Objective objective, const Graph& prepared,
                                   const Config& config) {
  CompileOptions options;
  options.objective = objective;
  options.node_nm = kNode;
  auto program = SystolicAccelerator(config).Compile(prepared, options);
  EXPECT_TRUE(program.ok()) << program.status();
  return program.ok() ? *std::move(program) : nullptr;
}

// Returns the energy and the traffic of each kernel.
std::vector<std::pair<double, double>> KernelMeasures(const SystolicProgram& program,
                                                      const Config& config) {
  std::vector<std::pair<double, double>> kernels(program.kernels().size());
  for (const Instruction& in : program.instructions()) {
    auto& [picojoules, bytes] = kernels[in.kernel];
    picojoules += ReportedPicojoules(in, config);
    bytes += static_cast<double>(CountEvents(std::span(&in, 1), config).bytes());
  }
  return kernels;
}

// Kernel by kernel, vector instructions and copies included, a program by energy has the least
// energy of all, and one by traffic the least traffic.
TEST(SystolicObjective, NoKernelIsBetterByAnotherObjective) {
  int kernels = 0, less_energy = 0, less_traffic = 0, vector_kernels = 0;
  for (uint64_t seed = 101; seed <= 130; ++seed) {
    const Graph graph = RandomGraph(seed, {});
    const Config config = SquareConfig(4);
    const auto prepared = Prepare(graph.Clone(), {RandomInputs(graph, 1)});
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    std::map<Objective, std::vector<std::pair<double, double>>> measures;
    std::vector<KernelInfo> infos;
    for (const Objective objective : kObjectives) {
      const auto program = CompileBy(objective, *prepared, config);
      ASSERT_NE(program, nullptr);
      measures[objective] = KernelMeasures(dynamic_cast<const SystolicProgram&>(*program), config);
      infos = program->kernels();
    }
    const auto& by_cycles = measures[Objective::kCycles];
    for (size_t k = 0; k < by_cycles.size(); ++k) {
      const double energy = measures[Objective::kEnergy][k].first;
      const double traffic = measures[Objective::kTraffic][k].second;
      for (const auto& [objective, of_kernels] : measures) {
        EXPECT_LE(energy, of_kernels[k].first * kRounding)
            << NameOf(objective) << " seed " << seed << " " << infos[k].operation;
        EXPECT_LE(traffic, of_kernels[k].second)
            << NameOf(objective) << " seed " << seed << " " << infos[k].operation;
      }
      ++kernels;
      const bool less = energy * kRounding < by_cycles[k].first;
      less_energy += less ? 1 : 0;
      less_traffic += traffic < by_cycles[k].second ? 1 : 0;
      vector_kernels += less && infos[k].unit == "vector" ? 1 : 0;
    }
  }
  EXPECT_GT(kernels, 60);
  EXPECT_GT(less_energy, 10);
  EXPECT_GT(less_traffic, 5);
  EXPECT_GT(vector_kernels, 2);
}

// A network has the same bits whatever its schedules minimise, at both levels, and every
// instruction of every program takes the time of the closed form.
TEST(SystolicObjective, ObjectivesChangeTimeAndNoBit) {
  int different_programs = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const Graph graph = RandomGraph(seed, {});
    const std::vector<Tensor> image = RandomInputs(graph, 1);
    Config config = SquareConfig(4);
    // Buffers so small that tilings matter.
    config.input_buffer_words = 64;
    config.accumulation_buffer_words = 64;
    config.weight_buffer_words = 64;
    const auto prepared = Prepare(graph.Clone(), {image});
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    const SystolicAccelerator accelerator(config);
    std::vector<Tensor> codes;
    std::string first_text;
    for (const Objective objective : kObjectives) {
      const auto program = CompileBy(objective, *prepared, config);
      ASSERT_NE(program, nullptr);
      RunOptions run;
      for (const Level level : {Level::kFunctional, Level::kCycle}) {
        run.level = level;
        const auto result = accelerator.Run(*program, Batch{image}, run);
        ASSERT_TRUE(result.ok()) << result.status();
        if (codes.empty()) codes = result->codes;
        ASSERT_EQ(result->codes.size(), codes.size());
        for (size_t i = 0; i < codes.size(); ++i) {
          EXPECT_TRUE(result->codes[i] == codes[i])
              << NameOf(objective) << " " << NameOf(level) << " seed " << seed;
        }
      }
      const auto& systolic = dynamic_cast<const SystolicProgram&>(*program);
      if (first_text.empty()) first_text = program->Print();
      different_programs += program->Print() != first_text ? 1 : 0;
      for (Instruction in : systolic.instructions()) {
        if (in.opcode == Opcode::kEnd) continue;
        in.wait_distance = 0;
        std::vector<uint8_t> memory(systolic.memory_top() + 64, 0);
        const auto trace = RunInstructions(config, std::span(&in, 1), memory);
        ASSERT_TRUE(trace.ok()) << trace.status();
        EXPECT_EQ(trace->cycles, ProgramCycles(in, config)) << Print(in, config);
      }
    }
  }
  EXPECT_GT(different_programs, 4);
}

}  // namespace
}  // namespace kiln::systolic
