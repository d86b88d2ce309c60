// Maximum pools on the user unit `maximum`: the vector unit's results, at the functional and the
// cycle level.
#include "kiln/targets/systolic/config/user_unit.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kiln/ir/random_graph.h"
#include "kiln/targets/systolic/simulate/cycle/cycle.h"
#include "kiln/targets/systolic/simulate/functional/functional.h"
#include "tests/targets/inferred_node.h"
#include "tests/targets/systolic/compiled.h"
#include "tests/targets/systolic/fp32_machine.h"

namespace kiln::systolic {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Pool {
  std::string what;
  Shape input;
  std::vector<int64_t> kernel, strides, pads, dilations;
  bool ceil = false;
};

void PrintTo(const Pool& pool, std::ostream* out) { *out << pool.what; }

// A pool of quantised codes between two operators.
Graph PoolBetweenOperators(const Pool& pool) {
  Graph graph("pool");
  Value* x = graph.AddInput("x", {ElementType::kFloat32, pool.input});
  Attributes attributes;
  attributes.Set("kernel_shape", pool.kernel);
  attributes.Set("strides", pool.strides);
  attributes.Set("pads", pool.pads);
  attributes.Set("dilations", pool.dilations);
  attributes.Set("ceil_mode", int64_t{pool.ceil});
  Value* pooled = AddInferred(graph, Op::kMaxPool, "pool",
                              {AddInferred(graph, Op::kNeg, "negated", {x})}, attributes);
  graph.MarkOutput(AddInferred(graph, Op::kRelu, "relu", {pooled}));
  return graph;
}

class MaximumUnit : public testing::TestWithParam<Pool> {};

TEST_P(MaximumUnit, PoolsAsTheVectorUnitDoes) {
  Graph graph = PoolBetweenOperators(GetParam());
  std::vector<std::vector<Tensor>> images;
  for (uint64_t seed = 1; seed <= 3; ++seed) images.push_back(RandomInputs(graph, seed));
  const auto prepared = Prepare(std::move(graph), images);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  Config config = SquareConfig(8, Fp32Machine());
  const auto plain = CompileFor(*prepared, config);
  ASSERT_TRUE(plain.ok()) << plain.status();
  config.user_unit = FindUserUnit("maximum");
  const auto program = CompileFor(*prepared, config);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_THAT(KernelList(**program), HasSubstr("maximum max pool"));
  EXPECT_THAT(KernelList(**plain), testing::Not(HasSubstr("maximum")));
  for (const std::vector<Tensor>& image : images) {
    const auto vector = RunFunctional(**plain, Batch{image}, RunOptions{});
    const auto functional = RunFunctional(**program, Batch{image}, RunOptions{});
    const auto cycle = RunCycle(**program, Batch{image}, RunOptions{});
    ASSERT_TRUE(vector.ok() && functional.ok() && cycle.ok());
    const auto codes = [](const auto& result) {
      const auto data = result->outputs[0].template data<float>();
      return std::vector<float>(data.begin(), data.end());
    };
    EXPECT_EQ(codes(functional), codes(vector));
    EXPECT_EQ(codes(functional), codes(cycle));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Windows, MaximumUnit,
    testing::Values(Pool{"2x2 /2", {1, 8, 10, 10}, {2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}},
                    Pool{"3x3 /2 padded", {1, 19, 11, 9}, {3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}},
                    Pool{"5x3 /1, 3 dilated", {1, 3, 14, 13}, {5, 3}, {1, 3}, {2, 1, 2, 0}, {2, 3}},
                    Pool{"3x3 /2 with a last window over the edge",
                         {1, 9, 10, 10},
                         {3, 3},
                         {2, 2},
                         {0, 0, 0, 0},
                         {1, 1},
                         true}));

// Sizes are a file's: taps that no memory holds are not asked for, the pool goes elsewhere.
TEST(UserUnits, WindowsOfAnySizeAreRefusedBeforeTheirTapsAreMade) {
  Config config = SquareConfig(8);
  config.user_unit = FindUserUnit("maximum");
  Graph graph = PoolBetweenOperators({"", {1, 8, 8, 8}, {8, 8}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
  const std::vector<std::vector<Tensor>> images = {RandomInputs(graph, 1)};
  auto prepared = Prepare(std::move(graph), images);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  const auto kernels = [&] {
    const auto program = CompileFor(*prepared, config);
    return program.ok() ? KernelList(**program) : MessageOf(program.status());
  };
  EXPECT_THAT(kernels(), HasSubstr("maximum max pool 8x8"));
  // As many places of padding around the image, so that the pool has one window still.
  for (const int64_t size : {int64_t{1} << 16, int64_t{1} << 30}) {
    const int64_t pad = size / 2 - 4;
    for (const auto& node : prepared->nodes()) {
      if (node->op() != Op::kMaxPool) continue;
      node->attributes().Set("kernel_shape", std::vector<int64_t>{size, size});
      node->attributes().Set("pads", std::vector<int64_t>{pad, pad, pad, pad});
    }
    EXPECT_THAT(kernels(), AllOf(HasSubstr("pool"), testing::Not(HasSubstr("maximum")))) << size;
  }
}

TEST(UserUnits, HaveNamesAndNumbersOfTheirOwn) {
  std::set<int> numbers;
  for (const std::string_view name : UserUnitNames()) {
    const UserUnitEntry* entry = FindUserUnit(name);
    ASSERT_NE(entry, nullptr);
    EXPECT_GT(entry->number, 0);
    EXPECT_TRUE(numbers.insert(entry->number).second) << name;
  }
  EXPECT_EQ(FindUserUnit("nothing"), nullptr);
}

}  // namespace
}  // namespace kiln::systolic
