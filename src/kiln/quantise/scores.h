// Accuracy of classification networks: finds the output that holds class scores, and counts how
// often the scores agree with the labels and which classes are confused. Covers classifiers,
// networks that classify every pixel or token, and networks that output classes instead of scores.
#ifndef KILN_QUANTISE_SCORES_H_
#define KILN_QUANTISE_SCORES_H_

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"
#include "kiln/support/status.h"

namespace kiln {

// The label of positions that belong to no class, as segmentation data sets mark them. Such labels
// are not counted. Applies only if an image has more than one label and the network has too few
// classes for the value to be a class.
inline constexpr int32_t kVoidLabel = 255;

// How an output holds the scores of one sample. A place is a position with a label of its own: a
// pixel, a token, or the only one of a classifier. The score of class c at place p is element
// c * class_stride + p * place_stride.
struct ScoreLayout {
  int output = 0;       // index among the network's outputs
  int64_t places = 1;   // labels per sample
  int64_t classes = 0;  // 0: the output holds classes, not scores
  int64_t class_stride = 1, place_stride = 1;
  // Returns whether kVoidLabel marks places without a class.
  bool has_void() const { return places > 1 && classes <= kVoidLabel; }
};

// Finds the first output whose samples match labels of shape `label_shape` (per sample; dimensions
// of 1 are ignored):
//   scores   fp32, the label's shape plus one axis of two classes or more: the first axis as in
//            [C, H, W], else the last as in [tokens, C]; a scalar label matches a vector of scores
//   classes  integers of the label's shape
//   errors   no output matches; the message says why there is no accuracy
StatusOr<ScoreLayout> FindScores(const Graph& network, const Shape& label_shape);

// The counts of CountScores.
struct ScoreCount {
  int64_t samples = 0;
  int64_t labels = 0;         // labels counted, without those equal to kVoidLabel
  int64_t ignored = 0;        // labels equal to kVoidLabel
  int64_t correct = 0;        // the label ranks highest, or is the class in the output
  int64_t correct_top_k = 0;  // the label is among the k highest scores
  // Adds the counts of further samples.
  void Add(const ScoreCount& other);
};

// The number of times that each label is taken for each class. The answer at a place is the class
// with the highest score (the lowest of several; a NaN ranks lowest), or the class that the output
// holds.
struct Confusion {
  // The answer at a place where all scores are NaN. No output holds it as a class.
  static constexpr int64_t kNoClass = std::numeric_limits<int64_t>::min();
  // The number of places by label and answer; pairs that do not occur are absent. Counts with equal
  // label and answer are correct.
  std::map<std::pair<int64_t, int64_t>, int64_t> counts;

  // A label and a wrong answer.
  struct Pair {
    int64_t label = 0, answer = 0, count = 0;
    int64_t of_label = 0;  // places with this label
    friend bool operator==(const Pair&, const Pair&) = default;
  };
  // Returns the number of places by label.
  std::map<int64_t, int64_t> OfLabels() const;
  // Returns at most `most` wrong pairs, the most frequent first; equal counts by label and answer.
  std::vector<Pair> MostFrequent(size_t most) const;
  // Returns the number of classes that the counts need: the greatest label or answer, plus 1.
  int64_t classes() const;
  // Adds the counts of further places.
  void Add(const Confusion& other);
};

// Counts correct labels by the rules of TopK (accuracy.h): among equal scores the lower class ranks
// higher, and a NaN ranks lowest.
//   scores     the output that `layout` refers to; the first axis is the samples
//   labels     layout.places labels per sample
//   k          must be 1 if the output holds classes
//   confusion  if not null, the answers at the places that count are added to it
//   errors     fewer labels than places, a label outside the classes, scores of another type or
//              size
StatusOr<ScoreCount> CountScores(const Tensor& scores, std::span<const int32_t> labels,
                                 const ScoreLayout& layout, int k = 1,
                                 Confusion* confusion = nullptr);

}  // namespace kiln

#endif  // KILN_QUANTISE_SCORES_H_
