// Tests of finding class scores among outputs and counting them by place.
#include "kiln/quantise/scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>

namespace kiln {
namespace {

using testing::HasSubstr;

Graph WithOutputs(const std::vector<TensorType>& types) {
  Graph graph("net");
  for (const TensorType& type : types) graph.MarkOutput(graph.AddInput("y", type));
  return graph;
}

TEST(Scores, AreFoundByTheLabelsShape) {
  const auto f32 = ElementType::kFloat32;
  const Graph detector = WithOutputs({{f32, Shape{1, 4420, 4}}, {f32, Shape{1, 10}}});
  EXPECT_EQ(FindScores(detector, {})->output, 1);
  EXPECT_EQ(FindScores(detector, {})->classes, 10);
  const Graph pixels = WithOutputs({{f32, Shape{1, 21, 4, 6}}});
  const auto by_pixel = FindScores(pixels, {1, 4, 6});
  ASSERT_TRUE(by_pixel.ok()) << by_pixel.status();
  EXPECT_EQ(by_pixel->classes, 21);
  EXPECT_EQ(by_pixel->places, 24);
  EXPECT_EQ(by_pixel->class_stride, 24);
  EXPECT_EQ(by_pixel->place_stride, 1);
  EXPECT_TRUE(by_pixel->has_void());
  const auto by_token = FindScores(WithOutputs({{f32, Shape{1, 7, 3}}}), {7});
  ASSERT_TRUE(by_token.ok()) << by_token.status();
  EXPECT_EQ(by_token->class_stride, 1);
  EXPECT_EQ(by_token->place_stride, 3);
  // Where both axes would do, classes come first, as ONNX has channels.
  EXPECT_EQ(FindScores(WithOutputs({{f32, Shape{1, 7, 7}}}), {7})->class_stride, 7);
  EXPECT_EQ(FindScores(WithOutputs({{ElementType::kInt64, Shape{1, 4, 6}}}), {4, 6})->classes, 0);
  EXPECT_EQ(MessageOf(FindScores(pixels, {}).status()),
            "no output of the network is a vector of class scores (1xC): 'y' is f32 1x21x4x6");
  EXPECT_THAT(MessageOf(FindScores(pixels, {5}).status()),
              HasSubstr("class scores for labels of 5 (1xCx5)"));
}

// Two samples of [3 classes, 2 places], written place by place here.
TEST(Scores, AreCountedByPlace) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float places[4][3] = {{1, 3, 2}, {5, 5, 1}, {0, 1, nan}, {9, 8, 7}};
  Tensor first(ElementType::kFloat32, {2, 3, 2}), last(ElementType::kFloat32, {2, 2, 3});
  for (int s = 0; s < 2; ++s) {
    for (int p = 0; p < 2; ++p) {
      for (int c = 0; c < 3; ++c) {
        first.data<float>()[s * 6 + c * 2 + p] = places[2 * s + p][c];
        last.data<float>()[s * 6 + p * 3 + c] = places[2 * s + p][c];
      }
    }
  }
  // Right: the greatest; a tie, the lower class; a NaN is never right; the second greatest is among
  // two.
  const std::vector<int32_t> labels = {1, 0, 2, 1};
  const ScoreLayout channels_first{.places = 2, .classes = 3, .class_stride = 2, .place_stride = 1};
  const ScoreLayout channels_last{.places = 2, .classes = 3, .class_stride = 1, .place_stride = 3};
  for (const auto& [scores, layout] :
       {std::pair(first, channels_first), std::pair(last, channels_last)}) {
    const auto count = CountScores(scores, labels, layout, 2);
    ASSERT_TRUE(count.ok()) << count.status();
    EXPECT_EQ(count->samples, 2);
    EXPECT_EQ(count->labels, 4);
    EXPECT_EQ(count->correct, 2);
    EXPECT_EQ(count->correct_top_k, 3);
    EXPECT_EQ(CountScores(scores, labels, layout, 3)->correct_top_k, 3);
    const auto with_void = CountScores(scores, std::vector<int32_t>{255, 0, 2, 1}, layout);
    ASSERT_TRUE(with_void.ok()) << with_void.status();
    EXPECT_EQ(with_void->labels, 3);
    EXPECT_EQ(with_void->ignored, 1);
    EXPECT_EQ(with_void->correct, 1);
    EXPECT_EQ(MessageOf(CountScores(scores, std::vector<int32_t>{1, 0, 3, 1}, layout).status()),
              "accuracy: image 1 has label 3; labels from 0 to 2");
    EXPECT_FALSE(CountScores(scores, std::vector<int32_t>{1, 0, 2}, layout).ok());
  }
  const ScoreLayout classes{.places = 2};
  EXPECT_EQ(CountScores(Tensor::Of<int64_t>({2, 2}, {1, 0, 2, 2}), labels, classes)->correct, 3);
  EXPECT_FALSE(CountScores(first, labels, classes).ok());
}

// Five samples of three classes; labels 0, 0, 1, 2, 2. The answers by hand: 0; 1, the lower of a
// tie; 2; none, since all scores are NaN; 2.
TEST(Scores, ConfusionCountsAnswersByLabel) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor scores = Tensor::Of<float>(
      Shape{5, 3}, std::vector<float>{3, 2, 1, 0, 7, 7, 1, 2, 3, nan, nan, nan, nan, 0, 1});
  const std::vector<int32_t> labels = {0, 0, 1, 2, 2};
  Confusion confusion;
  const auto count = CountScores(scores, labels, {.classes = 3}, 1, &confusion);
  ASSERT_TRUE(count.ok()) << count.status();
  EXPECT_EQ(count->correct, 2);
  const std::map<std::pair<int64_t, int64_t>, int64_t> by_hand = {
      {{0, 0}, 1}, {{0, 1}, 1}, {{1, 2}, 1}, {{2, Confusion::kNoClass}, 1}, {{2, 2}, 1}};
  EXPECT_EQ(confusion.counts, by_hand);
  EXPECT_EQ(confusion.classes(), 3);
  Confusion more;
  more.counts[{1, 2}] = 4;
  confusion.Add(more);
  const std::vector<Confusion::Pair> pairs = confusion.MostFrequent(2);
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0], (Confusion::Pair{.label = 1, .answer = 2, .count = 5, .of_label = 5}));
  EXPECT_EQ(pairs[1], (Confusion::Pair{.label = 0, .answer = 1, .count = 1, .of_label = 2}));
}

}  // namespace
}  // namespace kiln
