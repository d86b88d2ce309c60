#include "kiln/targets/systolic/compile/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "kiln/support/random.h"

namespace kiln::systolic {
namespace {

using testing::ElementsAre;
using Indices = std::vector<int64_t>;

constexpr int kBlock = 4;

// Codes of one byte with scales of one byte for blocks of kBlock elements along an axis.
Encoding Blocked(int axis) {
  Encoding e;
  e.element = Element::kInput;
  e.format = *FindFormat("int8");
  e.bytes = 1;
  e.block_size = kBlock;
  e.block_axis = axis;
  e.scale_format = *FindFormat("e8m0");
  return e;
}

// Where an element and the scale of its block are.
std::pair<int64_t, int64_t> PositionOf(const View& view, const Indices& index) {
  int64_t element = view.offset, scale = view.blocks.offset;
  for (size_t i = 0; i < index.size(); ++i) {
    element += index[i] * view.strides[i];
    const bool along = static_cast<int>(i) == view.blocks.axis;
    scale += (along ? index[i] / kBlock : index[i]) * view.blocks.strides[i];
  }
  return {element, scale};
}

void ForEachIndex(const std::vector<int64_t>& shape,
                  const std::function<void(const Indices&)>& body) {
  Indices index(shape.size(), 0);
  for (int64_t left = View{RowMajorView(shape), -1, {}, {}}.elements(); left > 0; --left) {
    body(index);
    for (size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

// Every element of `view` is the element of `from` that `old` names, with its scale.
void ExpectRenamed(const View& view, const View& from,
                   const std::function<Indices(const Indices&)>& old) {
  ForEachIndex(view.shape, [&](const Indices& index) {
    ASSERT_EQ(PositionOf(view, index), PositionOf(from, old(index)));
  });
}

TEST(View, DenseByHand) {
  // 2 x 5 x 3 with blocks along the axis of 5, which is the innermost one in memory.
  const View view = DenseView(7, 8, Shape{2, 5, 3}, Blocked(1));
  EXPECT_THAT(view.strides, ElementsAre(15, 1, 5));
  EXPECT_EQ(view.buffer, 7);
  EXPECT_EQ(view.blocks.buffer, 8);
  EXPECT_THAT(view.blocks.shape, ElementsAre(2, 2, 3));
  EXPECT_THAT(view.blocks.strides, ElementsAre(6, 1, 2));
  EXPECT_EQ(ScaleBytes(Shape{2, 5, 3}, Blocked(1)), 12);
  EXPECT_FALSE(CanSlice(view, 1, 2, 1));
  EXPECT_FALSE(CanSlice(view, 1, 4, 2));
  EXPECT_TRUE(CanSlice(view, 1, 4, 1));
  EXPECT_TRUE(CanSlice(view, 0, 1, 2));
  EXPECT_FALSE(CanBroadcast(DenseView(0, 1, Shape{2, 1}, Blocked(1)), Indices{2, 6}));
}

TEST(View, SamePositionsAreInOneBuffer) {
  const View one = DenseView(1, -1, Shape{2, 3}, Encoding{}),
             two = DenseView(2, -1, Shape{2, 3}, Encoding{});
  EXPECT_TRUE(SamePositions(one, one));
  EXPECT_FALSE(SamePositions(one, two));
}

TEST(View, ScalesFollowTheirElements) {
  Random random(1);
  for (int trial = 0; trial < 200; ++trial) {
    SCOPED_TRACE(trial);
    std::vector<int64_t> shape(1 + random.Below(3));
    for (int64_t& dim : shape) dim = 1 + static_cast<int64_t>(random.Below(5));
    const int along = static_cast<int>(random.Below(shape.size()));
    shape[static_cast<size_t>(along)] = 1 + static_cast<int64_t>(random.Below(10));
    View view = DenseView(0, 1, Shape(shape), Blocked(along));
    // Several operations behind each other.
    for (int step = 0; step < 4; ++step) {
      const View from = view;
      const int axis = static_cast<int>(random.Below(from.shape.size()));
      const auto a = static_cast<size_t>(axis);
      switch (random.Below(4)) {
        case 0: {
          Indices perm(from.shape.size());
          std::iota(perm.begin(), perm.end(), int64_t{0});
          std::rotate(perm.begin(), perm.begin() + axis, perm.end());
          view = Transposed(from, perm);
          ExpectRenamed(view, from, [&](const Indices& index) {
            Indices old(index.size());
            for (size_t i = 0; i < perm.size(); ++i) old[static_cast<size_t>(perm[i])] = index[i];
            return old;
          });
          break;
        }
        case 1: {
          const bool blocks = axis == from.blocks.axis;
          const int64_t start = blocks ? (from.shape[a] - 1) / kBlock * kBlock : from.shape[a] / 2;
          view = Sliced(from, axis, start, 1, from.shape[a] - start);
          ExpectRenamed(view, from, [&](Indices index) {
            index[a] += start;
            return index;
          });
          break;
        }
        case 2: {
          view = WithRepeats(from, axis, 2);
          ExpectRenamed(view, from, [&](Indices index) {
            index.erase(index.begin() + axis);
            return index;
          });
          break;
        }
        default: {
          if (axis == from.blocks.axis) break;
          view = WithoutAxis(from, axis);
          ExpectRenamed(view, from, [&](Indices index) {
            index.insert(index.begin() + axis, 0);
            return index;
          });
        }
      }
      ASSERT_EQ(view.blocks.shape.size(), view.shape.size());
    }
  }
}

TEST(View, ReshapeJoinsAndSplitsWhatIsNotAlongTheBlocks) {
  const View view = DenseView(0, 1, Shape{2, 6, 8}, Blocked(2));
  const auto rows = Reshaped(view, Indices{12, 8});
  ASSERT_TRUE(rows.has_value());
  ExpectRenamed(*rows, view, [](const Indices& i) { return Indices{i[0] / 6, i[0] % 6, i[1]}; });
  const auto split = Reshaped(view, Indices{2, 2, 3, 8});
  ASSERT_TRUE(split.has_value());
  EXPECT_EQ(split->blocks.axis, 3);
  ExpectRenamed(*split, view,
                [](const Indices& i) { return Indices{i[0], i[1] * 3 + i[2], i[3]}; });
  EXPECT_FALSE(Reshaped(view, Indices{96}).has_value());  // no axis of 8 any more
}

// Words run along an axis with scales, whose codes must lie together also if it has one element.
TEST(View, BroadcastKeepsTheStrideOfAnAxisOfOneElementWithScales) {
  const View view = DenseView(0, 1, Shape{2, 1}, Blocked(1));
  EXPECT_THAT(Broadcast(view, Indices{2, 1}).strides, ElementsAre(1, 1));
  EXPECT_THAT(Broadcast(view, Indices{3, 2, 1}).strides, ElementsAre(0, 1, 1));
}

TEST(View, BroadcastRepeatsScalesToo) {
  const View view = DenseView(0, 1, Shape{3, 1, 8}, Blocked(2));
  const View wide = Broadcast(view, Indices{2, 3, 5, 8});
  EXPECT_EQ(wide.blocks.axis, 3);
  ExpectRenamed(wide, view, [](const Indices& i) { return Indices{i[1], 0, i[3]}; });
}

TEST(View, LoopsOverElementsAndScales) {
  const View one = DenseView(0, 1, Shape{2, 3, 8}, Blocked(2));
  const View two = DenseView(2, -1, Shape{2, 3, 8}, Encoding{});  // fp32
  const View* views[] = {&one, &two};
  const std::vector<Loop> loops = LoopsOver(views, true);
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[0].count, 6);
  EXPECT_THAT(loops[0].strides, ElementsAre(8, 32));
  EXPECT_THAT(loops[0].scale_strides, ElementsAre(2, 0));
  EXPECT_EQ(loops[1].count, 8);
  EXPECT_THAT(loops[1].strides, ElementsAre(1, 4));
}

}  // namespace
}  // namespace kiln::systolic
