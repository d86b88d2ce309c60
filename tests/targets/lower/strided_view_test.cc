#include "kiln/targets/lower/strided_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <string>

#include "kiln/support/random.h"

namespace kiln {
namespace {

using testing::ElementsAre;

// An index of every element of a shape, in row-major order.
std::vector<std::vector<int64_t>> IndicesOf(const std::vector<int64_t>& shape) {
  std::vector<std::vector<int64_t>> indices = {{}};
  for (const int64_t dim : shape) {
    std::vector<std::vector<int64_t>> longer;
    for (const std::vector<int64_t>& index : indices) {
      for (int64_t i = 0; i < dim; ++i) {
        longer.push_back(index);
        longer.back().push_back(i);
      }
    }
    indices = std::move(longer);
  }
  return indices;
}

int64_t PositionOf(const StridedView& view, const std::vector<int64_t>& index) {
  int64_t at = view.offset;
  for (size_t i = 0; i < index.size(); ++i) at += index[i] * view.strides[i];
  return at;
}

// The positions of all elements in row-major order.
std::vector<int64_t> PositionsOf(const StridedView& view) {
  std::vector<int64_t> positions;
  for (const auto& index : IndicesOf(view.shape)) positions.push_back(PositionOf(view, index));
  return positions;
}

std::vector<int64_t> RandomShape(Random& random, int most_rank) {
  std::vector<int64_t> shape(random.Below(static_cast<uint64_t>(most_rank) + 1));
  for (int64_t& dim : shape) dim = 1 + static_cast<int64_t>(random.Below(4));
  return shape;
}

// Any view of a tensor: axes in any order, with gaps, some reversed.
StridedView RandomView(Random& random) {
  StridedView view =
      RowMajorView(RandomShape(random, 4), 1 + static_cast<int64_t>(random.Below(3)));
  view.offset = static_cast<int64_t>(random.Below(100));
  for (int64_t& stride : view.strides) {
    if (random.Below(4) == 0) stride *= 2;
    if (random.Below(8) == 0) stride = -stride;
  }
  std::vector<int64_t> perm(view.shape.size());
  std::iota(perm.begin(), perm.end(), int64_t{0});
  if (perm.size() > 1 && random.Below(3) == 0)
    std::swap(perm[random.Below(perm.size())], perm[random.Below(perm.size())]);
  return Transposed(view, perm);
}

TEST(StridedView, ValuesByHand) {
  const StridedView view = RowMajorView(std::vector<int64_t>{2, 3, 4}, 2);
  EXPECT_THAT(view.strides, ElementsAre(24, 8, 2));
  EXPECT_EQ(view.elements(), 24);
  const StridedView nhwc = Transposed(view, std::vector<int64_t>{0, 2, 1});
  EXPECT_THAT(nhwc.shape, ElementsAre(2, 4, 3));
  EXPECT_THAT(nhwc.strides, ElementsAre(24, 2, 8));
  const StridedView odd = Sliced(view, 2, 1, 2, 2);
  EXPECT_EQ(odd.offset, 2);
  EXPECT_THAT(odd.shape, ElementsAre(2, 3, 2));
  EXPECT_THAT(odd.strides, ElementsAre(24, 8, 4));
  const auto rows = Reshaped(odd, std::vector<int64_t>{12});  // one stride: 2, 6, 10, ...
  ASSERT_TRUE(rows.has_value());
  EXPECT_THAT(rows->strides, ElementsAre(4));
  EXPECT_EQ(Reshaped(Sliced(view, 2, 0, 1, 3), std::vector<int64_t>{18}), std::nullopt);
  const StridedView repeated = Broadcast(view, std::vector<int64_t>{5, 2, 3, 4});
  EXPECT_THAT(repeated.strides, ElementsAre(0, 24, 8, 2));
  EXPECT_THAT(WithoutAxis(view, 1).shape, ElementsAre(2, 4));
  EXPECT_THAT(WithRepeats(view, 1, 7).shape, ElementsAre(2, 7, 3, 4));
  EXPECT_THAT(WithRepeats(view, 1, 7).strides, ElementsAre(24, 0, 8, 2));
  EXPECT_THAT(InversePermutation(std::vector<int64_t>{2, 0, 1}), ElementsAre(1, 2, 0));
}

TEST(StridedView, OperationsRenameIndices) {
  Random random(1);
  for (int trial = 0; trial < 300; ++trial) {
    SCOPED_TRACE(trial);
    const StridedView view = RandomView(random);
    if (view.rank() == 0) continue;
    const int axis = static_cast<int>(random.Below(view.shape.size()));
    const auto a = static_cast<size_t>(axis);

    std::vector<int64_t> perm(view.shape.size());
    std::iota(perm.begin(), perm.end(), int64_t{0});
    std::rotate(perm.begin(), perm.begin() + axis, perm.end());
    const StridedView transposed = Transposed(view, perm);
    for (const auto& index : IndicesOf(transposed.shape)) {
      std::vector<int64_t> old(index.size());
      for (size_t i = 0; i < perm.size(); ++i) old[static_cast<size_t>(perm[i])] = index[i];
      ASSERT_EQ(PositionOf(transposed, index), PositionOf(view, old));
    }
    EXPECT_TRUE(SamePositions(Transposed(transposed, InversePermutation(perm)), view));

    const int64_t start = static_cast<int64_t>(random.Below(static_cast<uint64_t>(view.shape[a])));
    const int64_t count = (view.shape[a] - start + 1) / 2;
    const StridedView sliced = Sliced(view, axis, start, 2, count);
    for (std::vector<int64_t> index : IndicesOf(sliced.shape)) {
      const int64_t at = PositionOf(sliced, index);
      index[a] = start + 2 * index[a];
      ASSERT_EQ(at, PositionOf(view, index));
    }

    const StridedView without = WithoutAxis(view, axis);
    const StridedView repeats = WithRepeats(without, axis, 3);
    for (std::vector<int64_t> index : IndicesOf(repeats.shape)) {
      const int64_t at = PositionOf(repeats, index);
      index[a] = 0;
      ASSERT_EQ(at, PositionOf(view, index));
    }
  }
}

TEST(StridedView, BroadcastRepeatsAxesOfOneElement) {
  Random random(2);
  for (int trial = 0; trial < 200; ++trial) {
    SCOPED_TRACE(trial);
    const StridedView view = RandomView(random);
    std::vector<int64_t> shape = RandomShape(random, 2);
    const size_t shift = shape.size();
    for (const int64_t dim : view.shape)
      shape.push_back(dim == 1 ? 1 + static_cast<int64_t>(random.Below(3)) : dim);
    const StridedView wide = Broadcast(view, shape);
    for (const auto& index : IndicesOf(shape)) {
      std::vector<int64_t> old(index.begin() + static_cast<std::ptrdiff_t>(shift), index.end());
      for (size_t i = 0; i < old.size(); ++i) old[i] = view.shape[i] == 1 ? 0 : old[i];
      ASSERT_EQ(PositionOf(wide, index), PositionOf(view, old));
    }
  }
}

// Splits a number into factors at random.
std::vector<int64_t> RandomFactors(Random& random, int64_t number) {
  std::vector<int64_t> factors;
  while (number > 1) {
    int64_t factor = 1 + static_cast<int64_t>(random.Below(static_cast<uint64_t>(number)));
    while (number % factor != 0) --factor;
    factors.push_back(factor);
    number /= factor;
  }
  return factors;
}

// Whether strides can express the positions under a shape: the strides that neighbours have, and
// then every position.
bool StridesExpress(const std::vector<int64_t>& positions, const std::vector<int64_t>& shape) {
  StridedView view{positions[0], shape, std::vector<int64_t>(shape.size())};
  int64_t behind = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] > 1) view.strides[i] = positions[static_cast<size_t>(behind)] - positions[0];
    behind *= shape[i];
  }
  return PositionsOf(view) == positions;
}

TEST(StridedView, ReshapeKeepsTheOrderOrSaysThatNoStridesDo) {
  Random random(3);
  int views = 0, copies = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    SCOPED_TRACE(trial);
    const StridedView view = RandomView(random);
    const std::vector<int64_t> shape = RandomFactors(random, view.elements());
    const auto reshaped = Reshaped(view, shape);
    const std::vector<int64_t> positions = PositionsOf(view);
    ASSERT_EQ(reshaped.has_value(), StridesExpress(positions, shape));
    if (reshaped.has_value()) {
      ASSERT_EQ(reshaped->shape, shape);
      ASSERT_EQ(PositionsOf(*reshaped), positions);
    }
    ++(reshaped.has_value() ? views : copies);
  }
  EXPECT_GT(views, 100);
  EXPECT_GT(copies, 100);
}

TEST(StridedView, ReshapeOfNoElements) {
  const StridedView view = RowMajorView(std::vector<int64_t>{2, 0, 3});
  const auto reshaped = Reshaped(view, std::vector<int64_t>{0, 5});
  ASSERT_TRUE(reshaped.has_value());
  EXPECT_EQ(reshaped->elements(), 0);
}

// Elements have every size; lines of the random views are long, short, strided or repeated.
TEST(StridedView, GatherOfEveryElementSize) {
  Random random(9);
  for (const ElementType type : {ElementType::kInt8, ElementType::kInt16, ElementType::kInt32,
                                 ElementType::kInt64, ElementType::kFloat64}) {
    for (int trial = 0; trial < 30; ++trial) {
      const Shape shape{random.Between(1, 40), random.Between(1, 70), random.Between(1, 90)};
      Tensor dense(type, shape);
      std::vector<uint8_t> bytes(static_cast<size_t>(dense.num_bytes()));
      for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.Below(256));
      std::memcpy(dense.mutable_bytes(), bytes.data(), bytes.size());
      StridedView view = RowMajorView(shape.dims());
      if (random.Below(2) == 0) {
        const int axis = static_cast<int>(random.Below(3));
        const int64_t length = view.shape[static_cast<size_t>(axis)];
        view = Sliced(view, axis, length - 1, -1, random.Between(1, length));
      }
      if (random.Below(2) == 0) view = Transposed(view, std::vector<int64_t>{2, 0, 1});
      if (random.Below(3) == 0) view = WithRepeats(view, static_cast<int>(random.Below(4)), 3);
      const Tensor gathered = Gather(dense, view);
      const std::vector<int64_t> positions = PositionsOf(view);
      ASSERT_EQ(gathered.size(), std::ssize(positions));
      const auto width = static_cast<size_t>(SizeOf(type));
      for (size_t i = 0; i < positions.size(); ++i) {
        ASSERT_EQ(std::memcmp(gathered.bytes() + i * width,
                              bytes.data() + static_cast<size_t>(positions[i]) * width, width),
                  0)
            << i;
      }
    }
  }
  // These lines are longer than what one thread copies at a time.
  Tensor large(ElementType::kInt32, {2, 200000});
  for (size_t i = 0; i < 400000; ++i) large.data<int32_t>()[i] = static_cast<int32_t>(i);
  EXPECT_EQ(Gather(large, RowMajorView(large.shape().dims())), large);
  const Tensor odd = Gather(large, Sliced(RowMajorView(large.shape().dims()), 1, 1, 2, 100000));
  for (int64_t i = 0; i < odd.size(); ++i) ASSERT_EQ(odd.IntAt(i), 2 * i + 1);
}

TEST(StridedView, GatherCopiesInRowMajorOrder) {
  std::vector<float> numbers(24);
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  const Tensor dense = Tensor::Of<float>({2, 3, 4}, numbers);
  Random random(4);
  for (int trial = 0; trial < 50; ++trial) {
    StridedView view = RowMajorView(dense.shape().dims());
    const int axis = static_cast<int>(random.Below(3));
    view = Sliced(view, axis, view.shape[static_cast<size_t>(axis)] - 1, -1, 2);
    view = Transposed(view, std::vector<int64_t>{2, 0, 1});
    const Tensor gathered = Gather(dense, view);
    EXPECT_EQ(gathered.shape(), Shape(view.shape));
    const std::vector<int64_t> positions = PositionsOf(view);
    ASSERT_EQ(gathered.size(), std::ssize(positions));
    for (int64_t i = 0; i < gathered.size(); ++i)
      ASSERT_EQ(gathered.ValueAt(i), static_cast<double>(positions[static_cast<size_t>(i)]));
  }
}

// The positions that loops walk in one view, in order.
std::vector<int64_t> PositionsOf(const std::vector<StridedLoop>& loops, size_t view) {
  StridedView walked;
  for (const StridedLoop& loop : loops) {
    walked.shape.push_back(loop.count);
    walked.strides.push_back(loop.strides[view]);
  }
  return PositionsOf(walked);
}

TEST(LoopsOver, WalkAllViewsInTheirOrder) {
  Random random(5);
  for (int trial = 0; trial < 300; ++trial) {
    SCOPED_TRACE(trial);
    StridedView one = RandomView(random);
    one.offset = 0;
    StridedView two = RowMajorView(one.shape);
    if (random.Below(2) == 0) {
      for (int64_t& stride : two.strides) stride *= random.Below(3) == 0 ? 2 : 1;
    }
    const std::span<const int64_t> strides[] = {one.strides, two.strides};
    const bool keep_last = one.rank() > 0 && random.Below(2) == 0;
    const int64_t most = random.Below(2) == 0 ? kNoLimit : 8;
    const auto loops = LoopsOver(one.shape, strides, keep_last, most);
    EXPECT_EQ(PositionsOf(loops, 0), PositionsOf(one));
    EXPECT_EQ(PositionsOf(loops, 1), PositionsOf(two));
    if (keep_last) {
      EXPECT_EQ(loops.back().count, one.shape.back());
    }
    for (const StridedLoop& loop : loops) EXPECT_LE(loop.count, std::max<int64_t>(most, 4));
    // No two neighbours are left that could be one loop.
    for (size_t i = 0; i + 1 < loops.size() - (keep_last ? 1 : 0); ++i) {
      const StridedLoop &outer = loops[i], &inner = loops[i + 1];
      const bool joins = outer.strides[0] == inner.strides[0] * inner.count &&
                         outer.strides[1] == inner.strides[1] * inner.count &&
                         outer.count * inner.count <= most;
      EXPECT_FALSE(joins && most == kNoLimit);
    }
  }
}

TEST(LoopsOver, ValuesByHand) {
  // 2x3x4 beside the same in a memory with rows of 5: the first two axes are one loop.
  const std::vector<int64_t> shape = {2, 3, 4}, dense = {12, 4, 1}, gaps = {15, 5, 1};
  const std::span<const int64_t> strides[] = {dense, gaps};
  const auto loops = LoopsOver(shape, strides, false);
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[0].count, 6);
  EXPECT_THAT(loops[0].strides, ElementsAre(4, 5));
  EXPECT_EQ(loops[1].count, 4);
  const std::vector<int64_t> one = {1, 1}, none = {7, 7};
  const std::span<const int64_t> single[] = {none};
  EXPECT_TRUE(LoopsOver(one, single, false).empty());
  EXPECT_EQ(LoopsOver(one, single, true).size(), 1u);
  EXPECT_EQ(LoopsOver({}, single, true).size(), 1u);
}

}  // namespace
}  // namespace kiln
