// Tests of Einsum, indexing and selection with values worked out by hand or by loops that follow
// the definition.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "kiln/ir/random_tensor.h"
#include "kiln/support/random.h"
#include "tests/execute/evaluate.h"

namespace kiln {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

Tensor Sum(const std::string& equation, const std::vector<std::optional<Tensor>>& operands) {
  return All(Evaluate(Op::kEinsum, operands, {{"equation", equation}}))[0];
}

TEST(ReferenceEinsum, SmallEquationsByHand) {
  const Tensor a = Floats({2, 3}, {1, 2, 3, 4, 5, 6}), square = Floats({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(Sum("ij->ji", {a}).ToFloats(), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(Sum("ji", {a}).ToFloats(),
              ElementsAre(1, 4, 2, 5, 3, 6));  // letters in alphabetical order
  EXPECT_THAT(Sum("ij->", {a}).ToFloats(), ElementsAre(21));
  EXPECT_THAT(Sum(" i j -> i ", {a}).ToFloats(), ElementsAre(6, 15));
  EXPECT_THAT(Sum("ii->i", {square}).ToFloats(), ElementsAre(1, 4));
  EXPECT_THAT(Sum("ii", {square}).ToFloats(), ElementsAre(5));
  EXPECT_THAT(Sum("i,j->ij", {Floats({2}, {1, 2}), Floats({2}, {3, 4})}).ToFloats(),
              ElementsAre(3, 4, 6, 8));
  EXPECT_THAT(Sum("i,i", {Floats({3}, {1, 2, 3}), Floats({3}, {4, 5, 6})}).ToFloats(),
              ElementsAre(32));
  EXPECT_THAT(Sum("ij,ij->i", {Floats({1, 2}, {1, 2}), square}).ToFloats(),
              ElementsAre(5, 11));  // 1 broadcasts
  EXPECT_THAT(Sum("...i->...", {a}).ToFloats(), ElementsAre(6, 15));
  EXPECT_THAT(
      Sum("i,i->i", {Tensor::Of<int64_t>({2}, {3, -4}), Tensor::Of<int64_t>({2}, {5, 6})}).ToInts(),
      ElementsAre(15, -24));
}

TEST(ReferenceEinsum, BatchedProductsByLoops) {
  Random random(7);
  const Tensor a = RandomTensor(random, ElementType::kFloat32, {2, 3, 4, 5}, -1, 1);
  const Tensor b = RandomTensor(random, ElementType::kFloat32, {5, 4, 2}, -1, 1);
  const Tensor y = Sum("bihd,dhj->bjih", {a, b});
  ASSERT_EQ(y.shape(), (Shape{2, 2, 3, 4}));
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t j = 0; j < 2; ++j) {
      for (int64_t i = 0; i < 3; ++i) {
        for (int64_t h = 0; h < 4; ++h) {
          double sum = 0;
          for (int64_t d = 0; d < 5; ++d) {
            sum += a.ValueAt(((n * 3 + i) * 4 + h) * 5 + d) * b.ValueAt((d * 4 + h) * 2 + j);
          }
          EXPECT_NEAR(y.ValueAt(((n * 2 + j) * 3 + i) * 4 + h), sum, 1e-6);
        }
      }
    }
  }
}

TEST(ReferenceSelect, TopKKeepsTheOrderOfEqualsAndPutsNanFirst) {
  const Tensor x = Floats({2, 4}, {1, 3, 3, 2, 5, -1, 5, 0});
  auto y = All(Evaluate(Op::kTopK, {x, IntList({3})}, {}, 2));
  EXPECT_THAT(y[0].ToFloats(), ElementsAre(3, 3, 2, 5, 5, 0));
  EXPECT_THAT(y[1].ToInts(), ElementsAre(1, 2, 3, 0, 2, 3));
  y = All(
      Evaluate(Op::kTopK, {x, IntList({1})}, {{"largest", int64_t{0}}, {"axis", int64_t{0}}}, 2));
  EXPECT_THAT(y[0].ToFloats(), ElementsAre(1, -1, 3, 0));
  EXPECT_THAT(y[1].ToInts(), ElementsAre(0, 1, 0, 1));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  y = All(Evaluate(Op::kTopK, {Floats({3}, {1, nan, 2}), IntList({2})}, {}, 2));
  EXPECT_THAT(y[1].ToInts(), ElementsAre(1, 2));
  EXPECT_THAT(All(Evaluate(Op::kTopK, {x, IntList({0})}, {}, 2))[0].size(), 0);
  EXPECT_FALSE(Evaluate(Op::kTopK, {x, IntList({5})}, {}, 2).ok());
}

TEST(ReferenceSelect, ScatterAddsWhatMeetsInOnePlace) {
  const Tensor x = Floats({3}, {1, 2, 3}), updates = Floats({3}, {10, 20, 30});
  const Tensor where = Tensor::Of<int64_t>({3, 1}, {0, -1, 0});
  EXPECT_THAT(All(Evaluate(Op::kScatterND, {x, where, updates}))[0].ToFloats(),
              ElementsAre(30, 2, 20));
  const auto with = [&](const std::string& reduction) {
    return All(Evaluate(Op::kScatterND, {x, where, updates}, {{"reduction", reduction}}))[0]
        .ToFloats();
  };
  EXPECT_THAT(with("add"), ElementsAre(41, 2, 23));
  EXPECT_THAT(with("mul"), ElementsAre(300, 2, 60));
  EXPECT_THAT(with("max"), ElementsAre(30, 2, 20));
  EXPECT_THAT(with("min"), ElementsAre(1, 2, 3));
  EXPECT_THAT(x.ToFloats(), ElementsAre(1, 2, 3)) << "the operand is left as it was";
  EXPECT_FALSE(
      Evaluate(Op::kScatterND, {x, Tensor::Of<int64_t>({1, 1}, {3}), Floats({1}, {0})}).ok());
  EXPECT_THAT(All(Evaluate(Op::kScatterElements,
                           {Floats({2, 2}, {1, 2, 3, 4}), Tensor::Of<int32_t>({1, 2}, {1, 0}),
                            Floats({1, 2}, {9, 8})}))[0]
                  .ToFloats(),
              ElementsAre(1, 8, 9, 4));
  EXPECT_THAT(All(Evaluate(Op::kScatterElements,
                           {Tensor::Of<int8_t>({1}, {127}), Tensor::Of<int64_t>({1}, {0}),
                            Tensor::Of<int8_t>({1}, {1})},
                           {{"reduction", std::string("add")}}))[0]
                  .ToInts(),
              ElementsAre(-128));
}

TEST(ReferenceSelect, GatherByIndexTuples) {
  const Tensor x = Iota({2, 3, 2});
  EXPECT_THAT(
      All(Evaluate(Op::kGatherND, {x, Tensor::Of<int64_t>({2, 2}, {0, 1, -1, 2})}))[0].ToFloats(),
      ElementsAre(2, 3, 10, 11));
  EXPECT_THAT(All(Evaluate(Op::kGatherND, {x, Tensor::Of<int64_t>({2, 1}, {1, 0})},
                           {{"batch_dims", int64_t{1}}}))[0]
                  .ToFloats(),
              ElementsAre(2, 3, 6, 7));
  EXPECT_THAT(All(Evaluate(Op::kGatherElements,
                           {Iota({2, 2}), Tensor::Of<int64_t>({2, 3}, {0, 1, -1, 1, 0, 0})},
                           {{"axis", int64_t{1}}}))[0]
                  .ToFloats(),
              ElementsAre(0, 1, 1, 3, 2, 2));
}

TEST(ReferenceSelect, CumulativeSumsFromEitherEnd) {
  const Tensor x = Floats({4}, {1, 2, 3, 4}), axis = IntList({0});
  const auto with = [&](int64_t exclusive, int64_t reverse) {
    return All(Evaluate(Op::kCumSum, {x, axis},
                        {{"exclusive", exclusive}, {"reverse", reverse}}))[0]
        .ToFloats();
  };
  EXPECT_THAT(with(0, 0), ElementsAre(1, 3, 6, 10));
  EXPECT_THAT(with(1, 0), ElementsAre(0, 1, 3, 6));
  EXPECT_THAT(with(0, 1), ElementsAre(10, 9, 7, 4));
  EXPECT_THAT(with(1, 1), ElementsAre(9, 7, 4, 0));
}

// The axis is not the nearest number of binary64, which would be 2^63.
TEST(ReferenceSelect, CumulativeSumsAlongAnAxisOf64Bits) {
  const Tensor x = Floats({4}, {1, 2, 3, 4});
  for (const int64_t axis :
       {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}) {
    EXPECT_THAT(MessageOf(Evaluate(Op::kCumSum, {x, IntList({axis})}).status()),
                testing::HasSubstr(std::to_string(axis)));
  }
}

TEST(ReferenceSelect, NonZeroOfAMatrix) {
  const Tensor y = All(Evaluate(Op::kNonZero, {Floats({2, 3}, {0, 5, 0, -1, 0, 2})}))[0];
  EXPECT_EQ(y.shape(), (Shape{2, 3}));
  EXPECT_THAT(y.ToInts(), ElementsAre(0, 1, 1, 1, 0, 2));
  EXPECT_EQ(All(Evaluate(Op::kNonZero, {Floats({2}, {0, 0})}))[0].shape(), (Shape{1, 0}));
}

// Boxes 0 and 1 overlap by half, 2 is apart; the number of rows is what the data make it.
TEST(ReferenceSelect, NonMaxSuppressionGivesAsManyRowsAsItSelects) {
  const Tensor boxes = Floats({1, 3, 4}, {0, 0, 1, 1, 0, 0.25f, 1, 1.25f, 5, 5, 6, 6});
  const Tensor scores = Floats({1, 1, 3}, {0.5f, 0.9f, 0.7f});
  const auto run = [&](int64_t most, float overlap, float score) {
    return All(Evaluate(Op::kNonMaxSuppression, {boxes, scores, IntList({most}),
                                                 Floats({1}, {overlap}), Floats({1}, {score})}))[0];
  };
  // 0.75 / 1.25 = 0.6 is the overlap of the first two.
  EXPECT_THAT(run(3, 0.5f, 0).ToInts(), ElementsAre(0, 0, 1, 0, 0, 2));
  EXPECT_THAT(run(3, 0.65f, 0).ToInts(), ElementsAre(0, 0, 1, 0, 0, 2, 0, 0, 0));
  EXPECT_THAT(run(1, 0.65f, 0).ToInts(), ElementsAre(0, 0, 1));
  EXPECT_THAT(run(3, 0.65f, 0.6f).ToInts(), ElementsAre(0, 0, 1, 0, 0, 2));
  EXPECT_EQ(run(0, 0.5f, 0).shape(), (Shape{0, 3}));
}

TEST(ReferenceNormalise, RootMeanSquareByHand) {
  // mean(9 + 16) / 2 = 12.5; with epsilon 3.5 the root is 4.
  const auto y = All(Evaluate(Op::kRmsNormalization, {Floats({1, 2}, {3, 4}), Floats({2}, {4, -2})},
                              {{"epsilon", 3.5f}}));
  EXPECT_THAT(y[0].ToFloats(), Pointwise(FloatNear(1e-6f), {3.0f, -2.0f}));
}

}  // namespace
}  // namespace kiln
