// Measures channel means in the fp32 network and the simulated one, and shifts biases by the
// difference.
#include "kiln/quantise/correct_biases.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "kiln/execute/reference.h"
#include "kiln/ir/window.h"
#include "kiln/quantise/biases.h"
#include "kiln/quantise/simulate.h"

namespace kiln {
namespace {

// A bias that can be corrected, and the value at which its effect is measured.
struct Place {
  std::string result;    // the value that holds the sum including the bias
  int channel_axis = 1;  // of that value
  Node* node = nullptr;  // the node of the quantised graph that adds the bias
  int operand = 2;
};

// Returns the channel axis of a layer's result.
int ChannelAxisOf(const Node& layer, const Value& result) {
  const bool nchw = (layer.op() == Op::kConv && !IsNhwc(layer)) || layer.op() == Op::kConvTranspose;
  return nchw ? 1 : result.shape().rank() - 1;
}

// Returns all correctable biases in graph order. Adds zero biases to convolutions without one.
std::vector<Place> PlacesOf(Graph& quantised) {
  for (Node* node : quantised.NodeList()) {
    const bool is_conv = node->op() == Op::kConv || node->op() == Op::kConvTranspose;
    if (!is_conv || node->operand(2) != nullptr || !node->result()->has_shape()) continue;
    const int64_t channels = node->result()->shape()[ChannelAxisOf(*node, *node->result())];
    if (channels < 1) continue;
    quantised.SetOperand(
        node, 2,
        quantised.AddConstant(node->name() + "_bias", Tensor(ElementType::kFloat32, {channels})));
  }
  std::vector<Place> places;
  for (const BiasOperand& bias : BiasesOf(quantised)) {
    const Value* result = bias.node->result();
    if (!result->has_shape()) continue;
    const int axis = ChannelAxisOf(*bias.layer, *result);
    const Value* constant = bias.node->operand(bias.operand);
    const int64_t channels = result->shape()[axis];
    if (constant->constant().size() == channels && channels > 0)
      places.push_back({result->name(), axis, bias.node, bias.operand});
  }
  return places;
}

// Returns a copy of the graph reduced to the nodes that one of its values depends on, with that
// value as its only output.
Graph CutAt(const Graph& graph, const std::string& name) {
  Graph cut = graph.Clone();
  Value* value = cut.FindValue(name);
  KILN_CHECK(value != nullptr);
  for (size_t i = 0; i < cut.outputs().size(); ++i) cut.SetOutput(static_cast<int>(i), value);
  std::vector<Node*> nodes = cut.NodeList();
  // Nodes are visited in reverse order, so the users of a node's results are erased before it.
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const auto& results = (*it)->results();
    const bool needed = std::any_of(results.begin(), results.end(), [&](const Value* result) {
      return result != nullptr && (result == value || !result->users().empty());
    });
    if (!needed) cut.EraseNode(*it);
  }
  cut.EraseUnusedConstants();
  return cut;
}

// Returns the mean of each channel over all images and positions, in fp64.
std::vector<double> ChannelMeans(const Tensor& batch, int axis) {
  const Shape& shape = batch.shape();
  int64_t inner = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  std::vector<double> means(static_cast<size_t>(shape[axis]), 0);
  const std::span<const float> values = batch.data<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    means[i / static_cast<size_t>(inner) % means.size()] += values[i];
  }
  for (double& mean : means)
    mean *= static_cast<double>(shape[axis]) / static_cast<double>(batch.size());
  return means;
}

// Runs the graph up to the place's value and returns the channel means of that value.
StatusOr<std::vector<double>> MeansAt(const Graph& graph, const Place& place,
                                      std::span<const Tensor> inputs) {
  const Graph cut = CutAt(graph, place.result);
  KILN_ASSIGN_OR_RETURN(const auto executor, ReferenceExecutor::Create(cut));
  KILN_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, executor->RunBatch(inputs));
  return ChannelMeans(outputs[0], place.channel_axis);
}

// Returns the first `count` images of a batch; shares the batch's bytes.
Tensor FirstImages(const Tensor& batch, int64_t count) {
  Shape shape = batch.shape();
  shape[0] = std::min(shape[0], count);
  auto owner = std::make_shared<const Tensor>(batch);
  const std::byte* bytes = owner->bytes();
  return Tensor::View(batch.type(), std::move(shape), std::move(owner), bytes);
}

}  // namespace

Status CorrectBiases(const Graph& graph, std::span<const Tensor> inputs, int64_t images,
                     Graph* quantised) {
  std::vector<Tensor> batch;
  for (const Tensor& input : inputs)
    batch.push_back(FirstImages(input, std::min(images, kMaxCorrectionImages)));
  for (const Place& place : PlacesOf(*quantised)) {
    // Simulated anew for each bias, so that the means include all earlier corrections.
    KILN_ASSIGN_OR_RETURN(const Graph simulated, SimulateQuantisation(*quantised));
    KILN_ASSIGN_OR_RETURN(const std::vector<double> exact, MeansAt(graph, place, batch));
    KILN_ASSIGN_OR_RETURN(const std::vector<double> rounded, MeansAt(simulated, place, batch));
    const Value* old = place.node->operand(place.operand);
    Tensor corrected = old->constant().Clone();
    const std::span<float> values = corrected.data<float>();
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(values[i] + exact[i] - rounded[i]);
    quantised->SetOperand(place.node, place.operand,
                          quantised->AddConstant(old->name(), std::move(corrected)));
  }
  quantised->EraseUnusedConstants();
  return OkStatus();
}

}  // namespace kiln
