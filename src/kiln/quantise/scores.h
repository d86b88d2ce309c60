// Where the class scores are in a network's outputs, and how often they name the label: of classifiers, of networks
// that classify every pixel or token, and of networks that give classes themselves.
#ifndef KILN_QUANTISE_SCORES_H_
#define KILN_QUANTISE_SCORES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"
#include "kiln/support/status.h"

namespace kiln {

// Labels of this value are left out where the network has fewer classes, as data sets of segmentation mark pixels that
// belong to no class. Only where an image has more than one label.
inline constexpr int32_t kVoidLabel = 255;

// How an output holds the scores of one sample. The score of class c at place p is element
// c * class_stride + p * place_stride.
struct ScoreLayout {
  int output = 0;       // of the network
  int64_t places = 1;   // labels of one sample
  int64_t classes = 0;  // 0: the output holds classes, not scores
  int64_t class_stride = 1, place_stride = 1;
  bool has_void() const { return places > 1 && classes <= kVoidLabel; }
};

// The first output whose sample has the shape that labels of `label_shape` (of one sample; dimensions of 1 do not
// count) ask for:
//   scores   fp32, the label's shape and one axis of two classes or more beside it: the first axis as in [C, H, W],
//            otherwise the last as in [tokens, C]; a scalar label takes a vector of scores
//   classes  integers of the label's shape
// Error: none has; the message says why there is no accuracy.
StatusOr<ScoreLayout> FindScores(const Graph& network, const Shape& label_shape);

struct ScoreCount {
  int64_t samples = 0;
  int64_t labels = 0;   // counted: all but kVoidLabel
  int64_t ignored = 0;  // kVoidLabel
  int64_t correct = 0;  // the label has the highest score, or is the class that the network gives
  int64_t correct_top_k = 0;  // the label is among the k highest scores
  void Add(const ScoreCount& other);
};

// Counts as TopK (accuracy.h) does: of equal scores the lower class counts as higher, a NaN as lowest.
//   scores  the output that the layout names, first axis samples
//   labels  layout.places for each sample
//   k       1 where the output holds classes
//   errors  fewer labels than places, a label outside the classes
StatusOr<ScoreCount> CountScores(const Tensor& scores, std::span<const int32_t> labels,
                                 const ScoreLayout& layout, int k = 1);

}  // namespace kiln

#endif  // KILN_QUANTISE_SCORES_H_
