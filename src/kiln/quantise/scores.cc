// Matches output shapes to label shapes, and ranks the label's score among the scores of its place.
#include "kiln/quantise/scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "kiln/ir/unit_axes.h"

namespace kiln {
namespace {

// Returns the dimensions of one sample, without the leading axis of samples. nullopt if a dimension
// is unknown.
std::optional<std::vector<int64_t>> SampleDims(const Value& output) {
  if (!output.has_shape()) return std::nullopt;
  std::vector<int64_t> dims = output.shape().dims();
  if (!dims.empty() && (dims[0] == 1 || dims[0] == kUnknownDim)) dims.erase(dims.begin());
  if (std::any_of(dims.begin(), dims.end(), [](int64_t d) { return d < 1; })) return std::nullopt;
  return dims;
}

// Returns the layout of an output for labels of shape `places`; nullopt if it does not match.
std::optional<ScoreLayout> LayoutOf(const Value& output, const std::vector<int64_t>& places) {
  const std::optional<std::vector<int64_t>> dims = SampleDims(output);
  if (!dims.has_value()) return std::nullopt;
  const std::vector<int64_t> sample = WithoutOnes(*dims);
  ScoreLayout layout;
  layout.places = Shape(places).NumElements();
  if (IsInteger(output.element()) && sample == places) return layout;
  if (output.element() != ElementType::kFloat32 || sample.size() != places.size() + 1)
    return std::nullopt;
  if (std::equal(places.begin(), places.end(), sample.begin() + 1)) {
    layout.classes = sample.front();
    layout.class_stride = layout.places;
    return layout;
  }
  if (std::equal(places.begin(), places.end(), sample.begin())) {
    layout.classes = sample.back();
    layout.place_stride = layout.classes;
    return layout;
  }
  return std::nullopt;
}

// Returns the class that the output gives at offset `at` (Confusion).
int64_t AnswerAt(const Tensor& scores, int64_t at, const ScoreLayout& layout) {
  if (layout.classes == 0) return scores.IntAt(at);
  const float* values = scores.data<float>().data() + at;
  int64_t answer = Confusion::kNoClass;
  for (int64_t c = 0; c < layout.classes; ++c) {
    const float score = values[c * layout.class_stride];
    if (std::isnan(score)) continue;
    if (answer < 0 || score > values[answer * layout.class_stride]) answer = c;
  }
  return answer;
}

// Returns whether the label at offset `at` ranks highest, and sets *in_top_k.
bool IsCorrect(const Tensor& scores, int64_t at, int32_t label, const ScoreLayout& layout, int k,
               bool* in_top_k) {
  if (layout.classes == 0) {
    *in_top_k = scores.IntAt(at) == label;
    return *in_top_k;
  }
  const float* values = scores.data<float>().data() + at;
  const float own = values[label * layout.class_stride];
  *in_top_k = false;
  if (std::isnan(own)) return false;
  int64_t higher = 0;
  for (int64_t c = 0; c < layout.classes; ++c) {
    const float other = values[c * layout.class_stride];
    higher += other > own || (other == own && c < label);
  }
  *in_top_k = higher < k;
  return higher == 0;
}

}  // namespace

StatusOr<ScoreLayout> FindScores(const Graph& network, const Shape& label_shape) {
  const std::vector<int64_t> places = WithoutOnes(label_shape.dims());
  std::string outputs;
  for (size_t i = 0; i < network.outputs().size(); ++i) {
    const Value& output = *network.outputs()[i];
    if (std::optional<ScoreLayout> layout = LayoutOf(output, places)) {
      layout->output = static_cast<int>(i);
      return *layout;
    }
    outputs += fmt::format("{}'{}' is {} {}", outputs.empty() ? "" : ", ", output.name(),
                           NameOf(output.element()),
                           output.has_shape() ? output.shape().ToString() : "of unknown shape");
  }
  const std::string wanted = places.empty()
                                 ? "a vector of class scores (1xC)"
                                 : fmt::format("class scores for labels of {} (1xCx{})",
                                               label_shape.ToString(), Shape(places).ToString());
  return ErrorAt("", "", fmt::format("no output of the network is {}: {}", wanted, outputs), "");
}

void ScoreCount::Add(const ScoreCount& other) {
  samples += other.samples;
  labels += other.labels;
  ignored += other.ignored;
  correct += other.correct;
  correct_top_k += other.correct_top_k;
}

std::map<int64_t, int64_t> Confusion::OfLabels() const {
  std::map<int64_t, int64_t> of_label;
  for (const auto& [key, count] : counts) of_label[key.first] += count;
  return of_label;
}

std::vector<Confusion::Pair> Confusion::MostFrequent(size_t most) const {
  const std::map<int64_t, int64_t> of_label = OfLabels();
  std::vector<Pair> pairs;
  for (const auto& [key, count] : counts) {
    if (key.first != key.second)
      pairs.push_back({key.first, key.second, count, of_label.at(key.first)});
  }
  std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
    return std::tie(b.count, a.label, a.answer) < std::tie(a.count, b.label, b.answer);
  });
  pairs.resize(std::min(pairs.size(), most));
  return pairs;
}

int64_t Confusion::classes() const {
  int64_t greatest = -1;
  for (const auto& [key, count] : counts) greatest = std::max({greatest, key.first, key.second});
  return greatest + 1;
}

void Confusion::Add(const Confusion& other) {
  for (const auto& [key, count] : other.counts) counts[key] += count;
}

StatusOr<ScoreCount> CountScores(const Tensor& scores, std::span<const int32_t> labels,
                                 const ScoreLayout& layout, int k, Confusion* confusion) {
  ScoreCount count;
  count.samples = scores.shape().rank() == 0 ? 0 : scores.shape()[0];
  const int64_t width = layout.places * std::max<int64_t>(layout.classes, 1);
  if (scores.size() != count.samples * width || k < 1 ||
      (layout.classes > 0 && scores.type() != ElementType::kFloat32) ||
      (layout.classes == 0 && (!IsInteger(scores.type()) || k > 1))) {
    return ErrorAt("", "accuracy",
                   fmt::format("scores are {} {} and k is {}", NameOf(scores.type()),
                               scores.shape().ToString(), k),
                   "fp32 scores of each class at each place, or the classes themselves and k of 1");
  }
  if (static_cast<int64_t>(labels.size()) < count.samples * layout.places) {
    return ErrorAt("", "accuracy",
                   fmt::format("{} labels for {} images", labels.size(), count.samples),
                   fmt::format("{} for each image", layout.places));
  }
  for (int64_t sample = 0; sample < count.samples; ++sample) {
    for (int64_t place = 0; place < layout.places; ++place) {
      const int32_t label = labels[static_cast<size_t>(sample * layout.places + place)];
      if (label == kVoidLabel && layout.has_void()) {
        ++count.ignored;
        continue;
      }
      if (label < 0 || (layout.classes > 0 && label >= layout.classes)) {
        return ErrorAt("", "accuracy", fmt::format("image {} has label {}", sample, label),
                       fmt::format("labels from 0 to {}", layout.classes - 1));
      }
      bool in_top_k = false;
      const int64_t at = sample * width + place * layout.place_stride;
      count.correct += IsCorrect(scores, at, label, layout, k, &in_top_k);
      if (confusion != nullptr) ++confusion->counts[{label, AnswerAt(scores, at, layout)}];
      count.correct_top_k += in_top_k;
      ++count.labels;
    }
  }
  return count;
}

}  // namespace kiln
