// Runs images in pieces on parallel threads and merges the histograms of the pieces.
#include "kiln/quantise/calibrate.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "kiln/execute/reference.h"
#include "kiln/quantise/channel_axes.h"
#include "kiln/quantise/image_slice.h"
#include "kiln/support/parallel.h"

namespace kiln {
namespace {

constexpr int kChannelBinsLog2 = 9;
// e^-16 is 1.1e-7: less than the last bit of 16-bit probabilities, even if a row has hundreds of
// elements that small.
constexpr float kSoftmaxReach = 16;
// Images per parallel task. Histograms are merged, under a lock, once per task.
constexpr int64_t kImagesAPiece = 8;

// The histograms of one piece of the batch, for whole values and for their channels.
struct Histograms {
  std::unordered_map<const Value*, Histogram> values;
  std::unordered_map<const Value*, std::vector<Histogram>> channels;
};

// Returns the axis that all soft-maxes reading the value have in common; nullopt if another
// operator reads it or the axes differ.
std::optional<int> SoftmaxAxis(const Value& value, int rank) {
  std::optional<int> common;
  for (const Node* user : value.users()) {
    if (user->op() != Op::kSoftmax) return std::nullopt;
    const int64_t named = user->attributes().Int("axis", -1);
    const auto axis = static_cast<int>(named < 0 ? named + rank : named);
    if (axis < 0 || axis >= rank || (common.has_value() && *common != axis)) return std::nullopt;
    common = axis;
  }
  return common;
}

// Raises elements far below the greatest of their row to `kSoftmaxReach` below it. A soft-max maps
// to nearly zero; masks are the usual case.
Tensor WithoutMasks(const Tensor& tensor, int axis) {
  Tensor raised = tensor.Clone();
  const std::span<float> values = raised.data<float>();
  int64_t inner = 1;
  for (int i = axis + 1; i < tensor.shape().rank(); ++i) inner *= tensor.shape()[i];
  const int64_t length = tensor.shape()[axis], row = length * inner;
  for (int64_t begin = 0; row > 0 && begin < tensor.size(); begin += row) {
    for (int64_t i = begin; i < begin + inner; ++i) {
      float most = values[static_cast<size_t>(i)];
      for (int64_t at = i; at < begin + row; at += inner)
        most = std::max(most, values[static_cast<size_t>(at)]);
      for (int64_t at = i; at < begin + row; at += inner) {
        float& x = values[static_cast<size_t>(at)];
        x = std::max(x, most - kSoftmaxReach);
      }
    }
  }
  return raised;
}

// Adds the elements of each index of `axis` to the histogram of that index.
void AddByChannel(const Tensor& tensor, int axis, std::vector<Histogram>* channels) {
  const std::span<const float> values = tensor.data<float>();
  const int64_t count = tensor.shape()[axis];
  int64_t inner = 1;
  for (int i = axis + 1; i < tensor.shape().rank(); ++i) inner *= tensor.shape()[i];
  if (channels->empty()) channels->assign(static_cast<size_t>(count), Histogram(kChannelBinsLog2));
  std::vector<float> gathered;
  for (int64_t channel = 0; channel < count; ++channel) {
    gathered.clear();
    for (int64_t at = channel * inner; at < tensor.size(); at += count * inner) {
      const auto run = values.subspan(static_cast<size_t>(at), static_cast<size_t>(inner));
      gathered.insert(gathered.end(), run.begin(), run.end());
    }
    (*channels)[static_cast<size_t>(channel)].Add(gathered);
  }
}

// Calibrates on images [begin, end). `axes` is null unless histograms by channel are wanted.
StatusOr<Histograms> RunPiece(const ReferenceExecutor& executor, std::span<const Tensor> inputs,
                              const ChannelAxes* axes, int64_t begin, int64_t end) {
  const std::vector<Tensor> piece = SliceImages(inputs, begin, end);
  Histograms histograms;
  const auto observe = [&](const Value& value, const Tensor& computed) {
    if (computed.type() != ElementType::kFloat32) return;
    const std::optional<int> softmax = SoftmaxAxis(value, computed.shape().rank());
    const Tensor tensor = softmax.has_value() ? WithoutMasks(computed, *softmax) : computed;
    histograms.values[&value].Add(tensor.data<float>());
    const std::optional<int> axis = axes == nullptr ? std::nullopt : axes->Of(&value);
    if (axis.has_value()) AddByChannel(tensor, *axis, &histograms.channels[&value]);
  };
  KILN_RETURN_IF_ERROR(executor.ObserveBatch(piece, observe));
  return histograms;
}

}  // namespace

StatusOr<CalibrationData> Calibrate(const Graph& graph, std::span<const Tensor> inputs,
                                    int64_t images, const CalibrateOptions& options) {
  int64_t count = images;
  for (const Tensor& input : inputs)
    count = std::min(count, input.shape().rank() == 0 ? 0 : input.shape()[0]);
  if (inputs.empty() || count < 1) {
    return ErrorAt(graph.source(), "calibration", "there are no images",
                   "at least one image for each graph input");
  }
  KILN_ASSIGN_OR_RETURN(const auto executor, ReferenceExecutor::Create(graph));

  const std::optional<ChannelAxes> axes =
      options.by_channel ? std::optional<ChannelAxes>(graph) : std::nullopt;
  const int64_t pieces = (count + kImagesAPiece - 1) / kImagesAPiece;
  std::mutex mutex;
  CalibrationData data;
  // The first piece that failed, so that the message does not depend on thread timing.
  int64_t failed_piece = pieces;
  Status failure;
  ParallelFor(pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t first = piece * kImagesAPiece;
      auto histograms = RunPiece(*executor, inputs, axes ? &*axes : nullptr, first,
                                 std::min(count, first + kImagesAPiece));
      const std::lock_guard lock(mutex);
      if (!histograms.ok()) {
        if (piece < failed_piece) {
          failed_piece = piece;
          failure = histograms.status();
        }
        continue;
      }
      for (auto& [value, histogram] : histograms->values)
        data.Add(value->name(), std::move(histogram));
      for (auto& [value, channels] : histograms->channels)
        data.AddChannels(value->name(), std::move(channels));
    }
  });
  KILN_RETURN_IF_ERROR(failure);
  data.set_images(count);
  for (const Value* value : graph.Values()) {
    const Histogram* histogram = data.Find(value->name());
    if (histogram == nullptr || histogram->non_finite() == 0) continue;
    return ErrorAt(graph.source(), fmt::format("value '{}'", value->name()),
                   fmt::format("{} of its elements are NaN or infinite on the calibration images",
                               histogram->non_finite()),
                   "check the preprocessing of the images and the network's weights");
  }
  return data;
}

}  // namespace kiln
