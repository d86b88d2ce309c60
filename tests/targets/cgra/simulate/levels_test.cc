// Random graphs with random mappings: the functional and the cycle level give what the graph's
// evaluation gives, with and without stalls of the streams, and the cycles equal the closed form.

#include <gtest/gtest.h>

#include "kiln/targets/cgra/graph/evaluate.h"
#include "kiln/targets/cgra/isa/stream.h"
#include "kiln/targets/cgra/isa/timing.h"
#include "kiln/targets/cgra/simulate/cycle/cycle.h"
#include "kiln/targets/cgra/simulate/functional/functional.h"
#include "tests/targets/cgra/simulate/random_program.h"

namespace kiln::cgra {
namespace {

TEST(Levels, RandomProgramsAgree) {
  constexpr int kPrograms = 300;
  int made = 0;
  for (uint64_t seed = 1; made < kPrograms; ++seed) {
    ASSERT_LT(seed, 4000U) << "too few random graphs find a mapping";
    const int threads = 1 + static_cast<int>(seed * 7 % 90);
    std::string why;
    const auto random = MakeRandomProgram(seed, threads, &why);
    if (!random) continue;
    ++made;
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + Print(random->program));
    const Config& config = random->config;
    EvaluateOptions evaluate;
    evaluate.threads = threads;
    evaluate.lanes = config.lanes;
    const Evaluation expected = Evaluate(random->graph, random->inputs, evaluate);
    std::vector<uint8_t> bytes;
    for (const auto& thread : expected.outputs) {
      for (const auto& lanes : thread) AppendLanes(config, lanes, &bytes);
    }
    std::vector<uint8_t> stream;
    AppendLoad(random->program, &stream);
    AppendRun(random->program, threads, 0, random->data, &stream);

    FunctionalMachine functional(config);
    const auto fast = functional.Run(stream);
    ASSERT_TRUE(fast.ok()) << fast.status();
    ASSERT_EQ(*fast, bytes);

    CycleMachine machine(config);
    const auto timed = machine.Run(stream);
    ASSERT_TRUE(timed.ok()) << timed.status();
    ASSERT_EQ(timed->bytes, bytes);
    ASSERT_EQ(timed->trace.cycles, CyclesOf(random->program, threads));

    if (seed % 3 != 0) continue;
    CycleMachine stalled(config);
    const auto slow = stalled.Run(stream, {.in_stalls = 0.4, .out_stalls = 0.6, .seed = seed});
    ASSERT_TRUE(slow.ok()) << slow.status();
    ASSERT_EQ(slow->bytes, bytes);
    ASSERT_GE(slow->trace.cycles, timed->trace.cycles);
  }
}

}  // namespace
}  // namespace kiln::cgra
