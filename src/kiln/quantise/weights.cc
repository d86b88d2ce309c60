// Finds the weights of each operator and chooses their scales.
#include "kiln/quantise/weights.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "kiln/numerics/quantise.h"
#include "kiln/passes/rewrite.h"
#include "kiln/quantise/block_axes.h"
#include "kiln/quantise/channel_axes.h"
#include "kiln/quantise/histogram.h"
#include "kiln/quantise/range.h"
#include "kiln/support/parallel.h"

namespace kiln {
namespace {

// Returns the axis of operand 1 that holds the output channels; -1 if there is none.
int OutputAxis(const Node& node, int rank) {
  switch (node.op()) {
    case Op::kConv:
      return 0;
    case Op::kConvTranspose:
      return 1;
    case Op::kGemm:
      return node.attributes().Int("transB", 0) != 0 ? 0 : 1;
    case Op::kMatMul:
      if (rank < 2) return -1;
      return node.attributes().Int("transpose_b", 0) != 0 ? rank - 2 : rank - 1;
    default:
      return -1;
  }
}

}  // namespace

std::optional<WeightOperand> WeightsOf(const Node& node) {
  switch (node.op()) {
    case Op::kConv:
    case Op::kConvTranspose:
    case Op::kGemm:
    case Op::kMatMul:
      break;
    default:
      return std::nullopt;
  }
  if (FloatConstant(node.operand(1)) != nullptr) {
    return WeightOperand{1, OutputAxis(node, node.operand(1)->constant().shape().rank()),
                         ReductionAxis(node, 1).value_or(-1)};
  }
  const bool is_product = node.op() == Op::kGemm || node.op() == Op::kMatMul;
  if (is_product && FloatConstant(node.operand(0)) != nullptr)
    return WeightOperand{0, -1, ReductionAxis(node, 0).value_or(-1)};
  return std::nullopt;
}

namespace {

constexpr int64_t kElementsAPiece = int64_t{1} << 16;  // that one thread reads at a time

// Checks that all weights are finite: a range with a NaN or infinity has no scale.
Status CheckFinite(const Value& weights, std::string_view source) {
  const std::span<const float> values = weights.constant().data<float>();
  constexpr float kGreatest = std::numeric_limits<float>::max();
  std::atomic<bool> finite = true;
  ParallelFor(std::ssize(values), kElementsAPiece, [&](int64_t begin, int64_t end) {
    const auto piece = values.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
    int32_t infinite = 0;
    for (const float x : piece) infinite |= std::abs(x) <= kGreatest ? 0 : 1;
    if (infinite != 0) finite = false;
  });
  if (finite) return OkStatus();
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    return ErrorAt(source, fmt::format("value '{}'", weights.name()),
                   fmt::format("weight {} is {}", i, std::isnan(values[i]) ? "NaN" : "infinite"),
                   "quantisation needs finite weights");
  }
  return OkStatus();
}

// Returns the range that the recipe takes for the elements of one channel, which lie in runs of
// `inner` elements at distances of `stride`.
ValueRange RangeOfChannel(std::span<const float> values, int64_t first, int64_t inner,
                          int64_t stride, const TensorRecipe& recipe) {
  std::vector<float> gathered;  // contiguous for the histogram
  ValueRange range;
  for (int64_t at = first; at < std::ssize(values); at += stride) {
    const auto run = values.subspan(static_cast<size_t>(at), static_cast<size_t>(inner));
    if (recipe.calibration == Calibration::kMinMax) {  // needs no histogram
      for (float x : run) {
        range.low = std::min<double>(range.low, x);
        range.high = std::max<double>(range.high, x);
      }
    } else {
      gathered.insert(gathered.end(), run.begin(), run.end());
    }
  }
  if (recipe.calibration == Calibration::kMinMax) return range;
  Histogram histogram;
  histogram.Add(gathered);
  return ChooseRange(histogram, recipe);
}

// Returns the least and the greatest of zero and the elements of each column of a row-major matrix.
// Reads whole rows, because the elements of a column lie far apart in memory.
std::vector<ValueRange> ExtremesOfColumns(std::span<const float> values, int64_t columns) {
  constexpr int64_t kColumnsAPiece = 256;
  const auto count = static_cast<size_t>(columns);
  std::vector<float> low(count, 0.0f), high(count, 0.0f);
  ParallelFor(columns, kColumnsAPiece, [&](int64_t begin, int64_t end) {
    for (int64_t row = 0; row < std::ssize(values); row += columns) {
      for (int64_t c = begin; c < end; ++c) {
        const float x = values[static_cast<size_t>(row + c)];
        low[static_cast<size_t>(c)] = std::min(low[static_cast<size_t>(c)], x);
        high[static_cast<size_t>(c)] = std::max(high[static_cast<size_t>(c)], x);
      }
    }
  });
  std::vector<ValueRange> ranges(count);
  for (size_t c = 0; c < count; ++c) ranges[c] = {.low = low[c], .high = high[c]};
  return ranges;
}

// Chooses one scale for the tensor (axis -1), or one for each index of the axis.
Quantisation ScaledWeights(const Tensor& tensor, int axis, const TensorRecipe& recipe) {
  const std::span<const float> values = tensor.data<float>();
  Quantisation q{.type = recipe.type, .axis = axis};
  q.type.scheme = axis < 0 ? Scheme::kPerTensor : Scheme::kPerChannel;
  int64_t channels = 1, inner = tensor.size();
  if (axis >= 0) {
    KILN_CHECK(axis < tensor.shape().rank());
    channels = tensor.shape()[axis];
    inner = 1;
    for (int i = axis + 1; i < tensor.shape().rank(); ++i) inner *= tensor.shape()[i];
  }
  q.scales.resize(static_cast<size_t>(channels));
  q.zero_points.resize(static_cast<size_t>(channels));
  std::vector<ValueRange> extremes;
  if (recipe.calibration == Calibration::kMinMax && inner == 1)
    extremes = ExtremesOfColumns(values, channels);
  ParallelFor(channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t channel = begin; channel < end; ++channel) {
      const ValueRange range = extremes.empty() ? RangeOfChannel(values, channel * inner, inner,
                                                                 channels * inner, recipe)
                                                : extremes[static_cast<size_t>(channel)];
      const ScaleZeroPoint chosen = ChooseScale(range.low, range.high, recipe.type);
      q.scales[static_cast<size_t>(channel)] = chosen.scale;
      q.zero_points[static_cast<size_t>(channel)] = chosen.zero_point;
    }
  });
  return q;
}

}  // namespace

StatusOr<Quantisation> QuantiseWeights(const Value& weights, const WeightOperand& operand,
                                       const TensorRecipe& recipe, bool blocked,
                                       std::string_view source) {
  KILN_RETURN_IF_ERROR(CheckFinite(weights, source));
  if (recipe.type.scheme == Scheme::kNone) return Quantisation{.type = recipe.type};
  if (recipe.type.scheme == Scheme::kPerBlock && blocked) {
    KILN_CHECK(operand.reduction >= 0);
    return Quantisation{.type = recipe.type, .axis = operand.reduction};
  }
  TensorRecipe scaled = recipe;
  scaled.type = ElementQuantType(recipe.type, Scheme::kPerChannel);
  return ScaledWeights(weights.constant(),
                       scaled.type.scheme == Scheme::kPerChannel ? operand.axis : -1, scaled);
}

}  // namespace kiln
