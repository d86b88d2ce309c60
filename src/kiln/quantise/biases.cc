// Finds biases and rounds them: to the grid of a layer's integer sums, or to the nearest value.
#include "kiln/quantise/biases.h"

#include <algorithm>
#include <optional>

#include "kiln/numerics/quantise.h"
#include "kiln/numerics/tables.h"
#include "kiln/passes/rewrite.h"
#include "kiln/quantise/weights.h"

namespace kiln {
namespace {

// Returns the value of one LSB of the layer's integer sums, one per output channel or one for all
// channels: the product of the input scale and the weight scale. nullopt if the operands have no
// such scales.
std::optional<std::vector<float>> SumScales(const Node& layer) {
  const std::optional<WeightOperand> weights = WeightsOf(layer);
  if (!weights) return std::nullopt;
  const auto& input = layer.operand(1 - weights->operand)->quantisation();
  const auto& weight = layer.operand(weights->operand)->quantisation();
  if (!input || !weight || input->scales.size() != 1 || weight->scales.empty()) return std::nullopt;
  if (weight->type.scheme == Scheme::kPerBlock) return std::nullopt;
  std::vector<float> scales = weight->scales;
  for (float& scale : scales) scale *= input->scales[0];
  return scales;
}

// Returns whether the elements correspond one to one to the channels, along a single axis.
bool IsOnePerChannel(const Shape& shape, size_t channels) {
  int64_t longest = 1;
  for (int i = 0; i < shape.rank(); ++i) longest = std::max(longest, shape[i]);
  return shape.NumElements() == longest && longest == static_cast<int64_t>(channels);
}

// Rounds a bias to multiples of its channel's sum scale. nullopt if the layer has no sum scales or
// the bias is not one number per channel.
std::optional<Tensor> RoundToSums(const Tensor& bias, const Node& layer, const Format& format) {
  const std::optional<std::vector<float>> scales = SumScales(layer);
  if (!scales || (scales->size() != 1 && !IsOnePerChannel(bias.shape(), scales->size())))
    return std::nullopt;
  Tensor rounded = bias.Clone();
  // Symmetric codes and zero point 0: the bias is added to a sum that has no zero point either.
  const CodeRange codes = CodesOf(format, true);
  const std::span<float> values = rounded.data<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    const float scale = (*scales)[scales->size() == 1 ? 0 : i];
    values[i] = DequantiseCode(QuantiseToCode(values[i], InverseScale(scale), 0, codes), scale, 0);
  }
  return rounded;
}

}  // namespace

std::vector<BiasOperand> BiasesOf(const Graph& graph) {
  std::vector<BiasOperand> biases;
  for (const auto& node : graph.nodes()) {
    const bool takes_bias =
        node->op() == Op::kConv || node->op() == Op::kConvTranspose || node->op() == Op::kGemm;
    if (takes_bias && FloatConstant(node->operand(2)) != nullptr)
      biases.push_back({node.get(), 2, node.get()});
    if (node->op() != Op::kAdd) continue;
    for (int i : {0, 1}) {
      const Value* sum = node->operand(1 - i);
      Node* producer = sum == nullptr ? nullptr : sum->producer();
      if (FloatConstant(node->operand(i)) == nullptr || producer == nullptr ||
          !producer->info().Has(kMacs))
        continue;
      biases.push_back({node.get(), i, producer});
    }
  }
  return biases;
}

void RoundBiases(Graph& graph, const Format& format) {
  for (const BiasOperand& bias : BiasesOf(graph)) {
    Value* value = bias.node->operand(bias.operand);
    std::optional<Tensor> rounded;
    if (format.is_whole()) {
      rounded = RoundToSums(value->constant(), *bias.layer, format);
    } else {
      rounded = value->constant().Clone();
      FormatTable::Of(format)->RoundValues(rounded->data<float>().data(), rounded->size());
    }
    if (!rounded) continue;
    // A new constant, because other nodes may read the old one.
    graph.SetOperand(bias.node, bias.operand,
                     graph.AddConstant(value->name(), *std::move(rounded)));
  }
  graph.EraseUnusedConstants();
}

}  // namespace kiln
