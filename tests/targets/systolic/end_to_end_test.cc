// Random networks through the whole compiler: the results are those of the simulated quantisation
// up to its rounding, and the functional and the cycle level give the same bits.
#include <cmath>
#include <cstdio>

#include "gtest/gtest.h"
#include "kiln/execute/reference.h"
#include "kiln/ir/random_graph.h"
#include "kiln/ir/text.h"
#include "kiln/support/random.h"
#include "kiln/targets/systolic/simulate/cycle/cycle.h"
#include "kiln/targets/systolic/simulate/functional/functional.h"
#include "tests/targets/systolic/compiled.h"

namespace kiln::systolic {
namespace {

double RelativeError(std::span<const float> got, std::span<const float> want) {
  double error = 0, size = 1e-12;
  for (size_t i = 0; i < want.size(); ++i) {
    error += std::pow(static_cast<double>(got[i]) - want[i], 2);
    size += std::pow(static_cast<double>(want[i]), 2);
  }
  return std::sqrt(error / size);
}

// Operators on which a small error makes a large one, or which stand for one of two values.
bool IsSteep(Op op) {
  switch (op) {
    case Op::kEqual:
    case Op::kGreater:
    case Op::kGreaterOrEqual:
    case Op::kLess:
    case Op::kLessOrEqual:
    case Op::kWhere:
    case Op::kSign:
    case Op::kRound:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kMod:
    case Op::kNot:
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
    case Op::kArgMax:
    case Op::kCast:
      return true;
    default:
      return InfoOf(op).Has(kQuantises);
  }
}

class SystolicEndToEnd : public testing::TestWithParam<int> {};

TEST_P(SystolicEndToEnd, RandomNetworksComeOutRight) {
  Random random(static_cast<uint64_t>(GetParam()));
  double worst = 0;
  for (int round = 0; round < 12; ++round) {
    const uint64_t seed = static_cast<uint64_t>(GetParam()) * 1000 + static_cast<uint64_t>(round);
    // Half of the graphs hold every operator; results are compared with the float network's where
    // that makes sense.
    RandomGraphOptions options;
    const bool smooth = round % 2 == 0;
    if (smooth) {
      for (Op op : RandomGraphOps()) {
        if (!IsSteep(op)) options.ops.push_back(op);
      }
    }
    Graph graph = RandomGraph(seed, options);
    const std::vector<std::vector<Tensor>> images = {RandomInputs(graph, 1),
                                                     RandomInputs(graph, 2)};
    const auto prepared = Prepare(std::move(graph), images);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    Config config = SquareConfig(1 << random.Below(5));
    config.depthwise_multipliers = static_cast<int>(random.Below(3)) * 4;
    config.accumulation_buffer_words = config.input_buffer_words =
        static_cast<int>(16 << random.Below(6));
    const auto program = CompileFor(*prepared, config);
    ASSERT_TRUE(program.ok()) << "seed " << seed << ": " << program.status();

    const auto executor = ReferenceExecutor::Create(*prepared);
    ASSERT_TRUE(executor.ok()) << executor.status();
    const auto expected = (*executor)->Run(images[0]);
    ASSERT_TRUE(expected.ok()) << expected.status();
    const auto result = RunFunctional(**program, Batch{images[0]}, RunOptions{});
    ASSERT_TRUE(result.ok()) << "seed " << seed << ": " << result.status();
    const auto cycle = RunCycle(**program, Batch{images[0]}, RunOptions{});
    ASSERT_TRUE(cycle.ok()) << "seed " << seed << ": " << cycle.status();
    ASSERT_EQ(result->outputs.size(), expected->size());
    for (size_t i = 0; i < expected->size(); ++i) {
      EXPECT_TRUE(result->codes[i] == cycle->codes[i]) << "seed " << seed << " output " << i;
      if (!smooth || (*expected)[i].type() != ElementType::kFloat32) continue;
      const double error =
          RelativeError(result->outputs[i].data<float>(), (*expected)[i].data<float>());
      worst = std::max(worst, error);
      EXPECT_LT(error, 0.15) << "seed " << seed << " output " << i << "\n"
                             << PrintGraph(*prepared, {.elide_constants = true})
                             << KernelList(**program);
    }
  }
  std::printf("worst relative error %.4f\n", worst);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SystolicEndToEnd, testing::Range(1, 9));

}  // namespace
}  // namespace kiln::systolic
