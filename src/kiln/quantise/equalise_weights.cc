// Finds pairs of layers that share channels, and rescales the channels until they balance.
#include "kiln/quantise/equalise_weights.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "kiln/ir/window.h"
#include "kiln/numerics/elementary.h"
#include "kiln/passes/rewrite.h"
#include "kiln/quantise/channel_axes.h"
#include "kiln/quantise/weights.h"

namespace kiln {
namespace {

constexpr int kMaxRounds = 20;

// Returns whether the elements of a constant may change without affecting any other node.
bool IsOwnConstant(const Graph& graph, const Value* value) {
  return value != nullptr && value->is_constant() && value->element() == ElementType::kFloat32 &&
         value->users().size() == 1 && !value->quantisation() && !IsOutput(graph, value);
}

// A constant with one element or slice per channel: element [outer][index][inner], `index` along
// `axis`, belongs to channel `index`. Grouped convolutions repeat the same indices for each
// convolution group, and the group selects the channel.
struct ChannelConstant {
  Node* node = nullptr;
  int operand = 0;
  int axis = 0;
  // Convolution groups along axis 0; channel = group * (length of `axis`) + index. Only the input
  // channels of a Conv have more than one.
  int64_t groups = 1;
};

// Calls visit(channel, element index) for every element.
template <typename Visit>
void ForEachElement(const ChannelConstant& constant, const Visit& visit) {
  const Shape& shape = constant.node->operand(constant.operand)->constant().shape();
  int64_t inner = 1;
  for (int i = constant.axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  const int64_t length = shape[constant.axis], size = shape.NumElements();
  const int64_t group_elements = constant.groups > 1 ? size / constant.groups : size;
  for (int64_t i = 0; i < size; ++i) visit(i / group_elements * length + i / inner % length, i);
}

// Returns the greatest magnitude of each channel.
std::vector<double> Magnitudes(const ChannelConstant& constant, int64_t channels) {
  std::vector<double> greatest(static_cast<size_t>(channels), 0);
  const auto values = constant.node->operand(constant.operand)->constant().data<float>();
  ForEachElement(constant, [&](int64_t channel, int64_t i) {
    double& g = greatest[static_cast<size_t>(channel)];
    g = std::max<double>(g, std::abs(values[static_cast<size_t>(i)]));
  });
  return greatest;
}

// Multiplies each channel of the constant by its factor. The factors are powers of two, so the
// product is exact within fp32's normal range.
void Multiply(Graph& graph, const ChannelConstant& constant, const std::vector<double>& factors) {
  const Value* old = constant.node->operand(constant.operand);
  Tensor scaled = old->constant().Clone();
  const auto values = scaled.data<float>();
  ForEachElement(constant, [&](int64_t channel, int64_t i) {
    values[static_cast<size_t>(i)] *= static_cast<float>(factors[static_cast<size_t>(channel)]);
  });
  graph.SetOperand(constant.node, constant.operand,
                   graph.AddConstant(old->name(), std::move(scaled)));
}

// Two layers and the constants of the channels between them.
struct Pair {
  int64_t channels = 0;
  std::vector<ChannelConstant> before;  // weights first, then biases: divided
  ChannelConstant behind;               // the second layer's weights: multiplied
};

// Returns the weights of a layer along its output channels; nullopt if the node is not such a layer
// or its weights must not change.
std::optional<ChannelConstant> OutputWeights(const Graph& graph, Node* node) {
  const bool is_layer =
      node->op() == Op::kConv || node->op() == Op::kGemm || node->op() == Op::kMatMul;
  const std::optional<WeightOperand> weights = is_layer ? WeightsOf(*node) : std::nullopt;
  if (!weights || weights->operand != 1 || weights->axis < 0 ||
      !IsOwnConstant(graph, node->operand(1))) {
    return std::nullopt;
  }
  return ChannelConstant{node, 1, weights->axis, 1};
}

// Returns the weights of a layer along the input channels that `input` holds.
std::optional<ChannelConstant> InputWeights(const Graph& graph, Node* node, const Value* input,
                                            int64_t channels) {
  if (!OutputWeights(graph, node) || node->operand(0) != input) return std::nullopt;
  const std::optional<int> axis = ReductionAxis(*node, 1);
  if (!axis) return std::nullopt;
  ChannelConstant constant{node, 1, *axis, 1};
  if (node->op() == Op::kConv) {
    const auto geometry = ResolveConv(*node);
    if (!geometry.ok() || geometry->in_channels != channels) return std::nullopt;
    constant.groups = geometry->groups;
  } else if (node->operand(1)->shape().rank() != 2 ||
             node->operand(1)->shape()[*axis] != channels) {
    return std::nullopt;
  }
  return constant;
}

// Returns the axis of a bias that holds one element per channel of `value`. Shapes are aligned at
// the last axis, as broadcasting does.
std::optional<int> BiasAxis(const Value* bias, const Value* value, int channel_axis,
                            int64_t channels) {
  const Shape& shape = bias->shape();
  const int axis = shape.rank() - (value->shape().rank() - channel_axis);
  if (axis < 0 || shape[axis] != channels || shape.NumElements() != channels) return std::nullopt;
  return axis;
}

// Returns whether node(s * x) = s * node(x) for s > 0 and the node keeps channels apart.
bool IsHomogeneous(const Node& node) {
  switch (node.op()) {
    case Op::kRelu:
    case Op::kLeakyRelu:
    case Op::kPRelu:
    case Op::kMaxPool:
    case Op::kAveragePool:
    case Op::kGlobalAveragePool:
    case Op::kGlobalMaxPool:
    case Op::kIdentity:
    case Op::kDropout:
      return node.num_results() == 1;
    default:
      return false;
  }
}

// Returns the pair that begins at a layer. Follows the chain of single users from the layer to the
// next layer; nullopt if a node on the way does not commute with the scaling.
std::optional<Pair> PairFrom(const Graph& graph, Node* first) {
  const std::optional<ChannelConstant> weights = OutputWeights(graph, first);
  const Value* value = first->result();
  if (!weights || !value->has_shape()) return std::nullopt;
  Pair pair{
      .channels = first->operand(1)->shape()[weights->axis], .before = {*weights}, .behind = {}};
  if (const Value* bias = first->operand(2); bias != nullptr) {
    // A Gemm's c may be of any shape that broadcasts.
    if (!IsOwnConstant(graph, bias) || bias->shape().rank() < 1 ||
        bias->shape().NumElements() != pair.channels) {
      return std::nullopt;
    }
    pair.before.push_back({first, 2, bias->shape().rank() - 1, 1});
  }
  const bool is_nchw = first->op() == Op::kConv && !IsNhwc(*first);
  int axis = is_nchw ? 1 : value->shape().rank() - 1;
  while (true) {
    if (value->users().size() != 1 || IsOutput(graph, value) || value->quantisation())
      return std::nullopt;
    Node* user = value->users()[0];
    if (user->info().Has(kMacs)) {
      const std::optional<ChannelConstant> behind = InputWeights(graph, user, value, pair.channels);
      if (!behind || ReductionAxis(*user, 0) != axis) return std::nullopt;
      pair.behind = *behind;
      return pair;
    }
    if (user->result() == nullptr || !user->result()->has_shape()) return std::nullopt;
    if (user->op() == Op::kAdd) {
      const int other = user->operand(0) == value ? 1 : 0;
      if (!IsOwnConstant(graph, user->operand(other))) return std::nullopt;
      const std::optional<int> bias_axis =
          BiasAxis(user->operand(other), value, axis, pair.channels);
      if (!bias_axis || user->result()->shape() != value->shape()) return std::nullopt;
      pair.before.push_back({user, other, *bias_axis, 1});
    } else if (!IsHomogeneous(*user) || user->operand(0) != value ||
               AxisBehind(*user, axis) != axis) {
      return std::nullopt;
    }
    value = user->result();
  }
}

// Returns s[c] of each channel (see the header); 1 for dead channels.
std::vector<double> Factors(const Pair& pair) {
  const std::vector<double> before = Magnitudes(pair.before[0], pair.channels);
  const std::vector<double> behind = Magnitudes(pair.behind, pair.channels);
  std::vector<double> factors(before.size(), 1);
  for (size_t c = 0; c < factors.size(); ++c) {
    if (before[c] == 0 || behind[c] == 0) continue;  // a dead channel
    factors[c] = elementary::Exp2(std::nearbyint(elementary::Log2(before[c] / behind[c]) / 2));
  }
  return factors;
}

}  // namespace

int64_t EqualiseWeights(Graph& graph) {
  int64_t pairs = 0;
  bool changed = true;
  for (int round = 0; round < kMaxRounds && changed; ++round) {
    changed = false;
    pairs = 0;
    for (Node* node : graph.NodeList()) {
      const std::optional<Pair> pair = PairFrom(graph, node);
      if (!pair) continue;
      ++pairs;
      const std::vector<double> factors = Factors(*pair);
      if (std::all_of(factors.begin(), factors.end(), [](double f) { return f == 1; })) continue;
      changed = true;
      std::vector<double> inverse = factors;
      for (double& f : inverse) f = 1 / f;
      for (const ChannelConstant& constant : pair->before) Multiply(graph, constant, inverse);
      Multiply(graph, pair->behind, factors);
    }
  }
  graph.EraseUnusedConstants();
  return pairs;
}

}  // namespace kiln
