// Implements scale_shift.h.
#include "kiln/passes/scale_shift.h"

#include <algorithm>
#include <cmath>

#include "kiln/passes/rewrite.h"
#include "kiln/support/integer.h"
#include "kiln/support/parallel.h"

namespace kiln {
namespace {

constexpr int64_t kWeightsAPiece = int64_t{1} << 16;  // that one thread scales at a time

// The weights of a linear operator seen as [outer, channels, inner] with `inner` contiguous
// elements. A grouped ConvTranspose repeats its channels per group; `outer` contains the groups.
struct ChannelView {
  int64_t outer, channels, inner;
  int64_t groups =
      1;  // ConvTranspose: channel = group * channels + c, group = outer index / (outer / groups)
};

// Returns the view of a Conv [out, in, ...], ConvTranspose [in, out / groups, ...], or a matrix.
ChannelView WeightsOf(const Node& linear) {
  const Shape& w = linear.operand(1)->constant().shape();
  int64_t inner = 1;
  if (linear.op() == Op::kConv) {
    for (int i = 1; i < w.rank(); ++i) inner *= w[i];
    return {1, w[0], inner};
  }
  if (linear.op() == Op::kConvTranspose) {
    for (int i = 2; i < w.rank(); ++i) inner *= w[i];
    return {w[0], w[1], inner, std::max<int64_t>(1, linear.attributes().Int("group", 1))};
  }
  const bool transposed = linear.op() == Op::kGemm ? linear.attributes().Int("transB", 0) != 0
                                                   : linear.attributes().Int("transpose_b", 0) != 0;
  return transposed ? ChannelView{1, w[0], w[1]} : ChannelView{w[0], w[1], 1};
}

// Returns the bias of a Gemm, times beta, as one number per column; nullopt if C is not a constant
// row.
std::optional<std::vector<double>> GemmBias(const Node& gemm, int64_t columns) {
  std::vector<double> bias(static_cast<size_t>(columns), 0.0);
  if (gemm.operand(2) == nullptr) return bias;
  const Tensor* c = FloatConstant(gemm.operand(2));
  if (c == nullptr) return std::nullopt;
  const Shape& shape = c->shape();
  if (c->size() != 1 && (c->size() != columns || shape[shape.rank() - 1] != columns))
    return std::nullopt;
  const float beta = gemm.attributes().Float("beta", 1.0f);
  for (int64_t i = 0; i < columns; ++i) {
    bias[static_cast<size_t>(i)] = double{beta} * c->ValueAt(c->size() == 1 ? 0 : i);
  }
  return bias;
}

Tensor FloatsOf(const std::vector<double>& values) {
  std::vector<float> floats(values.begin(), values.end());
  return Tensor::Of<float>(Shape{static_cast<int64_t>(floats.size())}, floats);
}

}  // namespace

std::optional<ScaleShift> ScaleShiftOf(const Node& node) {
  if (node.op() != Op::kBatchNormalization || node.attributes().Int("training_mode", 0) != 0)
    return std::nullopt;
  const Tensor* constants[4];
  for (int i = 0; i < 4; ++i) {
    constants[i] = FloatConstant(node.operand(i + 1));
    if (constants[i] == nullptr || constants[i]->size() != constants[0]->size())
      return std::nullopt;
  }
  // The operands of BatchNormalization after the input, in this order.
  const auto [gamma, beta, mean, variance] =
      std::tie(constants[0], constants[1], constants[2], constants[3]);
  const double epsilon = double{node.attributes().Float("epsilon", 1e-5f)};
  ScaleShift result;
  for (int64_t i = 0; i < gamma->size(); ++i) {
    // In fp64: gamma / sqrt(variance + epsilon), and beta less the scaled mean.
    const double scale = gamma->ValueAt(i) / std::sqrt(variance->ValueAt(i) + epsilon);
    if (!std::isfinite(scale)) return std::nullopt;
    result.scale.push_back(scale);
    result.shift.push_back(beta->ValueAt(i) - scale * mean->ValueAt(i));
  }
  return result;
}

int64_t FoldableChannels(const Node& linear) {
  const bool is_conv = linear.op() == Op::kConv || linear.op() == Op::kConvTranspose;
  if (!is_conv && linear.op() != Op::kGemm && linear.op() != Op::kMatMul) return 0;
  const Tensor* weights = FloatConstant(linear.operand(1));
  if (weights == nullptr || weights->size() == 0) return 0;
  if (linear.operand(1)->quantisation().has_value())
    return 0;  // quantised weights keep their codes
  if (is_conv ? weights->shape().rank() < 3 : weights->shape().rank() != 2) return 0;
  const ChannelView view = WeightsOf(linear);
  const int64_t channels = view.channels * view.groups;
  if (view.groups > view.outer && linear.op() == Op::kConvTranspose) return 0;
  if (linear.op() == Op::kMatMul && RankOf(linear.operand(0)) < 2) return 0;
  if (linear.op() == Op::kGemm && !GemmBias(linear, channels).has_value()) return 0;
  if (is_conv && linear.operand(2) != nullptr) {
    const Tensor* bias = FloatConstant(linear.operand(2));
    if (bias == nullptr || bias->size() != channels) return 0;
  }
  return channels;
}

int ChannelAxisFromEnd(const Node& linear) {
  if (linear.op() != Op::kConv && linear.op() != Op::kConvTranspose) return -1;
  if (linear.attributes().String("layout", "nchw") == "nhwc") return -1;
  return 1 - linear.operand(1)->constant().shape().rank();
}

void FoldInto(Graph& graph, Node& linear, const ScaleShift& by) {
  const int64_t channels = FoldableChannels(linear);
  KILN_CHECK(channels > 0 && channels == static_cast<int64_t>(by.scale.size()) &&
             by.shift.size() == by.scale.size());
  const ChannelView view = WeightsOf(linear);

  std::vector<double> bias(static_cast<size_t>(channels), 0.0);
  if (linear.op() == Op::kGemm) {
    bias = *GemmBias(linear, channels);
  } else if (linear.op() != Op::kMatMul && linear.operand(2) != nullptr) {
    for (int64_t c = 0; c < channels; ++c)
      bias[static_cast<size_t>(c)] = linear.operand(2)->constant().ValueAt(c);
  }
  const bool had_bias = linear.operand(2) != nullptr;

  if (std::any_of(by.scale.begin(), by.scale.end(), [](double s) { return s != 1; })) {
    const Tensor& old = linear.operand(1)->constant();
    Tensor weights(old.type(), old.shape());
    const std::span<const float> from = old.data<float>();
    const std::span<float> to = weights.data<float>();
    // A line is the weights of one channel that are neighbours in memory.
    ParallelFor(view.outer * view.channels,
                CeilDivide(kWeightsAPiece, std::max<int64_t>(1, view.inner)),
                [&](int64_t begin, int64_t end) {
                  int64_t o = begin / view.channels, c = begin % view.channels;
                  for (int64_t line = begin; line < end; ++line) {
                    const int64_t first =
                        view.groups == 1 ? 0 : o / (view.outer / view.groups) * view.channels;
                    const double scale = by.scale[static_cast<size_t>(first + c)];
                    if (++c == view.channels) c = 0, ++o;
                    for (int64_t i = line * view.inner; i < (line + 1) * view.inner; ++i) {
                      const auto at = static_cast<size_t>(i);
                      to[at] = static_cast<float>(double{from[at]} * scale);
                    }
                  }
                });
    // The weights get a new constant, because other nodes may use the old one.
    SetConstantOperand(graph, linear, 1, std::move(weights));
  }
  if (linear.op() == Op::kMatMul) return;

  for (size_t c = 0; c < bias.size(); ++c) bias[c] = by.scale[c] * bias[c] + by.shift[c];
  const bool is_zero = std::all_of(bias.begin(), bias.end(), [](double b) { return b == 0; });
  if (!had_bias && is_zero) return;
  SetConstantOperand(graph, linear, 2, FloatsOf(bias), linear.name() + ".bias");
  if (linear.op() == Op::kGemm) linear.attributes().Set("beta", 1.0f);
}

}  // namespace kiln
