// Tests of the reference kernels that move data: Slice, Gather, Transpose, Pad, Concat and others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/execute/evaluate.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ReferenceMove, SliceWalksBackwardsAndClampsItsEnds) {
  const Tensor x = Iota({5});
  EXPECT_THAT(
      First(Evaluate(Op::kSlice, {x, IntList({-1}), IntList({-100}), IntList({0}), IntList({-2})}))
          .ToFloats(),
      ElementsAre(4, 2, 0));
  EXPECT_THAT(
      First(Evaluate(Op::kSlice, {x, IntList({100}), IntList({0}), IntList({0}), IntList({-3})}))
          .ToFloats(),
      ElementsAre(4, 1));
  EXPECT_EQ(First(Evaluate(Op::kSlice, {x, IntList({3}), IntList({1})})).shape(), (Shape{0}));
}

TEST(ReferenceMove, SliceOfAxesInAnyOrder) {
  const Tensor y = First(
      Evaluate(Op::kSlice, {Iota({2, 3, 4}), IntList({1, 0}), IntList({3, 2}), IntList({-1, 1})}));
  EXPECT_EQ(y.shape(), (Shape{2, 2, 2}));
  EXPECT_THAT(y.ToFloats(), ElementsAre(1, 2, 5, 6, 13, 14, 17, 18));
}

TEST(ReferenceMove, GatherCountsFromEitherEnd) {
  const Tensor y = First(Evaluate(Op::kGather, {Iota({2, 3}), Tensor::Of<int64_t>({2, 1}, {-1, 0})},
                                  {{"axis", int64_t{1}}}));
  EXPECT_EQ(y.shape(), (Shape{2, 2, 1}));
  EXPECT_THAT(y.ToFloats(), ElementsAre(2, 0, 5, 3));
}

TEST(ReferenceMove, GatherOutsideIsAnError) {
  const auto result = Evaluate(Op::kGather, {Iota({2, 3}), IntList({3})}, {{"axis", int64_t{1}}});
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(MessageOf(result.status()),
              HasSubstr("node 'n' (Gather): index 3 is outside axis 1 of 2x3"));
}

TEST(ReferenceMove, TransposeMatchesIndexArithmetic) {
  const Tensor y = First(Evaluate(Op::kTranspose, {Iota({2, 3, 4})}, {{"perm", Ints{1, 2, 0}}}));
  ASSERT_EQ(y.shape(), (Shape{3, 4, 2}));
  for (int64_t a = 0; a < 2; ++a) {
    for (int64_t b = 0; b < 3; ++b) {
      for (int64_t c = 0; c < 4; ++c)
        EXPECT_EQ(y.ValueAt((b * 4 + c) * 2 + a), static_cast<double>((a * 3 + b) * 4 + c));
    }
  }
}

TEST(ReferenceMove, PadModes) {
  const Tensor x = Iota({3});
  const Tensor pads = IntList({3, 4});
  EXPECT_THAT(First(Evaluate(Op::kPad, {x, pads, Tensor::Scalar<float>(9)})).ToFloats(),
              ElementsAre(9, 9, 9, 0, 1, 2, 9, 9, 9, 9));
  EXPECT_THAT(First(Evaluate(Op::kPad, {x, pads}, {{"mode", std::string("edge")}})).ToFloats(),
              ElementsAre(0, 0, 0, 0, 1, 2, 2, 2, 2, 2));
  EXPECT_THAT(First(Evaluate(Op::kPad, {x, pads}, {{"mode", std::string("reflect")}})).ToFloats(),
              ElementsAre(1, 2, 1, 0, 1, 2, 1, 0, 1, 2));
  EXPECT_THAT(First(Evaluate(Op::kPad, {x, pads}, {{"mode", std::string("wrap")}})).ToFloats(),
              ElementsAre(0, 1, 2, 0, 1, 2, 0, 1, 2, 0));
  EXPECT_THAT(First(Evaluate(Op::kPad, {x, IntList({-1, 1})})).ToFloats(), ElementsAre(1, 2, 0));
  EXPECT_FALSE(Evaluate(Op::kPad, {x, IntList({-2, -2})}).ok());
}

TEST(ReferenceMove, ConcatSplitsBack) {
  const Tensor a = Iota({2, 1, 2}), b = Iota({2, 3, 2});
  const Tensor joined = First(Evaluate(Op::kConcat, {a, b}, {{"axis", int64_t{-2}}}));
  ASSERT_EQ(joined.shape(), (Shape{2, 4, 2}));
  const auto parts = Evaluate(Op::kSplit, {joined, IntList({1, 3})}, {{"axis", int64_t{1}}}, 2);
  ASSERT_TRUE(parts.ok());
  EXPECT_EQ((*parts)[0], a);
  EXPECT_EQ((*parts)[1], b);
}

TEST(ReferenceMove, StringsMoveLikeNumbers) {
  const Tensor x = Tensor::OfStrings({2, 2}, {"a", "b", "a", ""});
  EXPECT_EQ(First(Evaluate(Op::kTranspose, {x})), Tensor::OfStrings({2, 2}, {"a", "a", "b", ""}));
  const Tensor same = First(Evaluate(Op::kEqual, {x, Tensor::OfStrings({1}, {"a"})}));
  EXPECT_THAT(same.ToInts(), ElementsAre(1, 0, 1, 0));
  EXPECT_FALSE(Evaluate(Op::kAdd, {x, x}).ok());
  EXPECT_FALSE(Evaluate(Op::kGather, {x, x}).ok());
}

TEST(ReferenceMove, DepthToSpaceUndoesSpaceToDepth) {
  const Tensor x = Iota({1, 2, 4, 6});
  const AttributeList block = {{"blocksize", int64_t{2}}};
  const Tensor y = First(Evaluate(Op::kSpaceToDepth, {x}, block));
  EXPECT_EQ(y.shape(), (Shape{1, 8, 2, 3}));
  EXPECT_EQ(First(Evaluate(Op::kDepthToSpace, {y}, block)), x);
}

TEST(ReferenceMove, HugeResultsAreRefused) {
  EXPECT_FALSE(Evaluate(Op::kExpand, {Iota({1}), IntList({int64_t{1} << 40})}).ok());
  EXPECT_FALSE(
      Evaluate(Op::kTile, {Iota({2, 2}), IntList({int64_t{1} << 32, int64_t{1} << 32})}).ok());
  EXPECT_FALSE(Evaluate(Op::kConstantOfShape, {IntList({1 << 20, 1 << 20})}).ok());
  EXPECT_FALSE(Evaluate(Op::kPad, {Iota({1}), IntList({int64_t{1} << 40, 0})}).ok());
}

}  // namespace
}  // namespace kiln
