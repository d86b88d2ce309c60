// Accumulates squared errors and bitwise equality of outputs, and recognises classifiers.
#include "kiln/flow/fidelity.h"

#include <algorithm>
#include <cstring>

#include "kiln/support/check.h"

namespace kiln {
namespace {

// Returns the elements of one image of a value; -1 if its shape is not known.
int64_t ElementsPerImage(const Value& value) {
  if (!value.has_shape() || value.shape().rank() < 2) return -1;
  const Shape rest(
      std::vector<int64_t>(value.shape().dims().begin() + 1, value.shape().dims().end()));
  return CheckedNumElements(rest).value_or(-1);
}

}  // namespace

bool HasFormOfScores(const Value& output) {
  if (output.element() != ElementType::kFloat32) return false;
  const int64_t elements = ElementsPerImage(output);
  // All elements of an image are along axis 1, so all other axes have size 1.
  return elements >= 2 && output.shape()[1] == elements;
}

bool IsClassifier(const Graph& network) {
  if (network.outputs().size() != 1 || !HasFormOfScores(*network.outputs()[0])) return false;
  const int64_t scores = ElementsPerImage(*network.outputs()[0]);
  return std::none_of(network.inputs().begin(), network.inputs().end(),
                      [&](const Value* input) { return ElementsPerImage(*input) == scores; });
}

std::vector<int32_t> ClassesOf(const Tensor& scores) {
  std::vector<int32_t> classes;
  const int64_t images = scores.shape()[0], width = images == 0 ? 0 : scores.size() / images;
  const std::span<const float> values = scores.data<float>();
  for (int64_t i = 0; i < images; ++i) {
    const auto row = values.subspan(static_cast<size_t>(i * width), static_cast<size_t>(width));
    classes.push_back(static_cast<int32_t>(std::max_element(row.begin(), row.end()) - row.begin()));
  }
  return classes;
}

Fidelity::Fidelity(const Graph& network) {
  for (const Value* output : network.outputs()) {
    outputs_.emplace_back();
    outputs_.back().name = output->name();
  }
}

void Fidelity::Add(const std::vector<Tensor>& reference, const std::vector<Tensor>& quantised) {
  KILN_CHECK(reference.size() == outputs_.size() && quantised.size() == outputs_.size());
  for (size_t o = 0; o < outputs_.size(); ++o) {
    Sums& sums = outputs_[o];
    const Tensor &a = reference[o], &b = quantised[o];
    sums.is_float = a.type() == ElementType::kFloat32 && b.type() == ElementType::kFloat32;
    // Outputs with data-dependent shapes may differ in size; then no elements count as equal.
    const bool alike = a.type() == b.type() && a.shape() == b.shape();
    sums.elements += a.size();
    if (!alike) continue;
    const auto bytes = static_cast<size_t>(a.size() == 0 ? 0 : a.num_bytes() / a.size());
    for (int64_t i = 0; i < a.size(); ++i) {
      const auto at = static_cast<size_t>(i) * bytes;
      sums.equal += std::memcmp(a.bytes() + at, b.bytes() + at, bytes) == 0 ? 1 : 0;
    }
    if (!sums.is_float) continue;
    sums.power.Add(a, b);
  }
}

std::vector<OutputFidelity> Fidelity::Report() const {
  std::vector<OutputFidelity> report;
  for (const Sums& sums : outputs_) {
    OutputFidelity output;
    output.name = sums.name;
    if (sums.elements > 0) {
      output.equal_share = static_cast<double>(sums.equal) / static_cast<double>(sums.elements);
    }
    if (sums.is_float) output.sqnr_db = sums.power.sqnr_db();
    report.push_back(std::move(output));
  }
  return report;
}

}  // namespace kiln
