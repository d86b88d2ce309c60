// Tests of made-up samples: they must be valid indices and masks for the network that reads them.
#include "kiln/frontend/random_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "kiln/ir/text.h"

namespace kiln {
namespace {

using testing::HasSubstr;

StatusOr<Graph> Parse(const std::string& body) {
  return ParseGraph("graph \"net\" {\n" + body + "\n}", "net.kir");
}

template <typename T>
std::vector<T> ValuesOf(const DataSet& set) {
  std::vector<T> out;
  for (int64_t i = 0; i < set.size(); ++i) {
    const auto bytes = set.Image(i);
    std::vector<T> image(bytes.size() / sizeof(T));
    std::memcpy(image.data(), bytes.data(), bytes.size());
    out.insert(out.end(), image.begin(), image.end());
  }
  return out;
}

// What BERT does: ids into a table of words by way of a reshape, a mask that is cast, a table of
// two kinds.
constexpr char kTokens[] = R"(
  input %ids : i64[1x8]
  input %mask : i64[1x8]
  input %kind : i32[1x8]
  const %words : f32[5x2] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
  const %kinds : f32[2x2] = [0, 1, 2, 3]
  const %flat : i64[1] = [8]
  %i = reshape %ids, %flat : i64[8]
  %word = gather %words, %i : f32[8x2]
  %k = cast %kind {to=7} : i64[1x8]
  %which = gather %kinds, %k : f32[1x8x2]
  %m = cast %mask {to=1} : f32[1x8]
  output %word
  output %which
  output %m)";

TEST(RandomSamples, AreValidIndicesAndMasks) {
  const auto graph = Parse(kTokens);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto sets = RandomSamples(*graph, 50);
  ASSERT_TRUE(sets.ok()) << sets.status();
  ASSERT_EQ(sets->size(), 3u);
  const std::vector<int64_t> ids = ValuesOf<int64_t>((*sets)[0]);
  ASSERT_EQ(ids.size(), 400u);
  EXPECT_EQ(*std::min_element(ids.begin(), ids.end()), 0);  // 400 draws meet all five rows
  EXPECT_EQ(*std::max_element(ids.begin(), ids.end()), 4);
  const std::vector<int32_t> kinds = ValuesOf<int32_t>((*sets)[2]);
  EXPECT_EQ(*std::min_element(kinds.begin(), kinds.end()), 0);
  EXPECT_EQ(*std::max_element(kinds.begin(), kinds.end()), 1);
  const std::vector<int64_t> mask = ValuesOf<int64_t>((*sets)[1]);
  int64_t zeros = 0;
  for (size_t row = 0; row < mask.size(); row += 8) {
    EXPECT_EQ(mask[row], 1);
    for (size_t i = 1; i < 8; ++i) {
      EXPECT_LE(mask[row + i], mask[row + i - 1]) << "ones come first";
      zeros += mask[row + i] == 0;
    }
  }
  EXPECT_GT(zeros, 0);
  EXPECT_EQ((*sets)[0].image_shape(), Shape{8});
}

TEST(RandomSamples, FollowConstantsThatAreAdded) {
  const auto graph = Parse(R"(
  input %at : i64[1x4]
  const %two : i64[] = [2]
  const %table : f32[10x1] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
  %shifted = add %at, %two : i64[1x4]
  %y = gather %table, %shifted : f32[1x4x1]
  output %y)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(IndexRangeOf(*graph->inputs()[0]), (IndexRange{0, 8}));
  const auto other_way = Parse(R"(
  input %at : i64[1x4]
  const %two : i64[] = [2]
  const %table : f32[10x1] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
  %shifted = sub %at, %two : i64[1x4]
  %y = gather %table, %shifted : f32[1x4x1]
  output %y)");
  ASSERT_TRUE(other_way.ok()) << other_way.status();
  EXPECT_EQ(IndexRangeOf(*other_way->inputs()[0]), (IndexRange{2, 10}));
}

TEST(RandomSamples, OfOtherTypes) {
  const auto graph = Parse(R"(
  input %x : f32[1x3]
  input %u : u8[1x64]
  input %b : bool[1x4]
  input %t : i64[]
  %xx = relu %x : f32[1x3]
  %uu = identity %u : u8[1x64]
  %bb = identity %b : bool[1x4]
  %tt = identity %t : i64[]
  output %xx
  output %uu
  output %bb
  output %tt)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_FALSE(IndexRangeOf(*graph->inputs()[3]).has_value());
  const auto sets = RandomSamples(*graph, 4);
  ASSERT_TRUE(sets.ok()) << sets.status();
  for (const float x : ValuesOf<float>((*sets)[0])) EXPECT_LE(std::abs(x), 1);
  const auto bytes = ValuesOf<uint8_t>((*sets)[1]);
  EXPECT_GT(*std::max_element(bytes.begin(), bytes.end()), 128);
  for (const uint8_t b : ValuesOf<uint8_t>((*sets)[2])) EXPECT_LE(b, 1);
  EXPECT_EQ((*sets)[3].image_shape(), Shape{});
  EXPECT_EQ((*sets)[3].size(), 4);
  EXPECT_THAT(MessageOf(RandomSamples(*graph, int64_t{1} << 40).status()),
              HasSubstr("samples of x f32 1x3 are too large; at most 4294967296 bytes are made"));
}

// 8 bytes each: 12 samples of x and of z are 192 bytes.
TEST(RandomSamples, BytesAtTheBudget) {
  const auto graph = Parse(R"(
  input %x : f32[1x2]
  input %z : i64[1]
  %y = relu %x : f32[1x2]
  output %y
  output %z)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_TRUE(RandomSamples(*graph, 12, 192).ok());
  EXPECT_THAT(
      MessageOf(RandomSamples(*graph, 12, 191).status()),
      HasSubstr("--random: 12 samples of z i64 1 are too large; at most 191 bytes are made"));
  EXPECT_THAT(MessageOf(RandomSamples(*graph, budgets::kRandomBytes / 8 + 1).status()),
              HasSubstr("at most 4294967296 bytes are made"));
}

// A chain of 100,000 sums with 1: index 7 leads to row 100,007, the last.
TEST(RandomSamples, FollowLongChains) {
  constexpr int64_t kLength = 100'000, kRows = kLength + 8;
  Graph graph("net");
  Value* index = graph.AddInput("index", {ElementType::kInt64, Shape{1}});
  Value* one = graph.AddConstant("one", Tensor::Of<int64_t>({1}, {1}));
  Value* sum = index;
  for (int64_t i = 0; i < kLength; ++i) {
    sum = graph.AddNode(Op::kAdd, "", {sum, one}, {"s" + std::to_string(i)})->result();
    graph.SetType(sum, index->type());
  }
  Value* table = graph.AddConstant("table", Tensor(ElementType::kFloat32, {kRows, 1}));
  graph.MarkOutput(graph.AddNode(Op::kGather, "", {table, sum}, {"y"})->result());
  EXPECT_EQ(IndexRangeOf(*index), (IndexRange{0, 8}));
}

}  // namespace
}  // namespace kiln
