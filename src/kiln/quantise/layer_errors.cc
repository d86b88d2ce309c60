// Divides a quantised network into layers, compares its values with the fp32 network image by
// image, and runs it once with each layer quantised alone.
#include "kiln/quantise/layer_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "kiln/execute/codes.h"
#include "kiln/execute/reference.h"
#include "kiln/execute/run_batch.h"
#include "kiln/quantise/image_slice.h"
#include "kiln/quantise/recipe_names.h"
#include "kiln/quantise/simulate.h"
#include "kiln/support/check.h"

namespace kiln {
namespace {

// Returns the name of a type for people: "int8 per_channel", "mxint8", "bf16".
std::string TypeName(const QuantType& type) {
  if (type.scheme == Scheme::kNone) return type.format.name;
  if (type.scheme != Scheme::kPerBlock)
    return fmt::format("{} {}", type.format.name, NameOf(type.scheme));
  const std::string standard = NameOfType(type);
  return standard.empty() ? fmt::format("{} per_block {}", type.format.name, type.block_size)
                          : standard;
}

// Returns the first node of the kernel that a node belongs to.
const Node* KernelOf(const Graph& graph, const Node* node) {
  if (!node->info().Has(kElementwise)) return node;
  for (const Value* operand : node->operands()) {
    if (operand != nullptr && operand->producer() != nullptr && IsInsideKernel(graph, *operand))
      return KernelOf(graph, operand->producer());
  }
  return node;
}

// One annotated value, and where its errors are counted.
struct Counted {
  size_t layer, index;     // into LayerErrors::layers and LayerError::values
  const Value* quantised;  // with the annotation
  const Value* rounded;    // in the simulated graph
};

// The errors of the values of one image, in the order of the values.
struct ImageErrors {
  std::vector<NoisePower> own, so_far;
};

// One measurement; holds what its steps share.
class LayerMeasurement {
 public:
  LayerMeasurement(const Graph& exact, const Graph& quantised, std::span<const Tensor> inputs,
                   const LayerErrorOptions& options)
      : exact_(exact), quantised_(quantised), inputs_(inputs), options_(options) {
    KILN_CHECK(exact.num_nodes() == quantised.num_nodes());
  }

  StatusOr<LayerErrors> Run() {
    const bool none = inputs_.empty() || inputs_[0].shape().rank() == 0;
    result_.images = none ? 0 : inputs_[0].shape()[0];
    if (result_.images == 0)
      return ErrorAt(exact_.source(), "errors by layer", "there are no images", "at least one");
    KILN_ASSIGN_OR_RETURN(const Graph simulated, SimulateQuantisation(quantised_, &roundings_));
    FindLayers();
    KILN_RETURN_IF_ERROR(CompareValues(simulated));
    KILN_ASSIGN_OR_RETURN(expected_, OutputsOf(exact_));
    if (options_.layout.has_value()) {
      KILN_ASSIGN_OR_RETURN(result_.exact, CountLabels(expected_));
    }
    KILN_ASSIGN_OR_RETURN(result_.all, QualityOf(simulated));
    for (size_t layer = 0; layer < result_.layers.size(); ++layer) {
      KILN_ASSIGN_OR_RETURN(const Graph alone, SimulateQuantisation(OnlyLayer(layer)));
      KILN_ASSIGN_OR_RETURN(result_.layers[layer].alone, QualityOf(alone));
    }
    return std::move(result_);
  }

 private:
  // Returns the index of the layer of a node of the quantised graph, or of a graph input (node
  // null). Adds the layer if it is new.
  size_t LayerOf(const Node* node, const Value* value) {
    const Node* first = node == nullptr ? nullptr : KernelOf(quantised_, node);
    const void* key = first == nullptr ? static_cast<const void*>(value) : first;
    const auto [it, is_new] = layer_of_.emplace(key, result_.layers.size());
    if (is_new) {
      LayerError& layer = result_.layers.emplace_back();
      layer.name = first == nullptr ? value->name() : first->name();
      layer.operation = first == nullptr ? "input" : std::string(first->info().onnx_name);
    }
    return it->second;
  }

  // Adds a value to a layer.
  ValueError& AddValue(size_t layer, const Value& value) {
    ValueError& error = result_.layers[layer].values.emplace_back();
    error.value = value.name();
    error.is_constant = value.is_constant();
    error.type = TypeName(value.quantisation()->type);
    return error;
  }

  // Finds the layers and their values, and measures the errors of constants.
  void FindLayers() {
    std::unordered_map<const Value*, const Value*> rounded;
    for (const SimulatedRounding& rounding : roundings_)
      rounded.emplace(rounding.value, rounding.rounded);
    const auto add_result = [&](const Node* node, const Value* value) {
      const auto found = value == nullptr ? rounded.end() : rounded.find(value);
      if (found == rounded.end()) return;
      const size_t layer = LayerOf(node, value);
      counted_.push_back({layer, result_.layers[layer].values.size(), value, found->second});
      AddValue(layer, *value);
    };
    for (const Value* input : quantised_.inputs()) add_result(nullptr, input);
    auto exact_node = exact_.nodes().begin();
    for (const auto& node : quantised_.nodes()) {
      const Node& exact = **exact_node++;
      KILN_CHECK(exact.op() == node->op());
      for (int i = 0; i < node->num_operands(); ++i) {
        const Value* operand = node->operand(i);
        if (operand == nullptr || !operand->is_constant() || !operand->quantisation()) continue;
        const size_t layer = LayerOf(node.get(), nullptr);
        if (!constants_.emplace(layer, operand->name()).second) continue;
        const Tensor& from = exact.operand(i)->constant();
        AddValue(layer, *operand)
            .own.Add(from, RoundTensor(operand->constant(), *operand->quantisation()));
      }
      for (const Value* result : node->results()) add_result(node.get(), result);
    }
    total_ = (std::ssize(result_.layers) + 3) * result_.images;
  }

  // Compares the values of one image.
  StatusOr<ImageErrors> CompareImage(const ReferenceExecutor& exact,
                                     const ReferenceExecutor& simulated, int64_t image) const {
    const std::vector<Tensor> inputs = SliceImages(inputs_, image, image + 1);
    std::vector<Tensor> values(counted_.size(), Tensor(ElementType::kFloat32, {0}));
    ImageErrors errors;
    errors.own.resize(counted_.size());
    errors.so_far.resize(counted_.size());
    KILN_RETURN_IF_ERROR(exact.ObserveBatch(inputs, [&](const Value& value, const Tensor& tensor) {
      const auto [begin, end] = of_exact_.equal_range(&value);
      for (auto it = begin; it != end; ++it) {
        values[it->second] = tensor;
        const Quantisation& q = *counted_[it->second].quantised->quantisation();
        errors.own[it->second].Add(tensor, RoundTensor(tensor, q));
      }
    }));
    KILN_RETURN_IF_ERROR(
        simulated.ObserveBatch(inputs, [&](const Value& value, const Tensor& tensor) {
          const auto [begin, end] = of_rounded_.equal_range(&value);
          for (auto it = begin; it != end; ++it) {
            const Tensor& from = values[it->second];
            if (from.shape() == tensor.shape()) errors.so_far[it->second].Add(from, tensor);
          }
        }));
    return errors;
  }

  // Compares all values on all images, images in parallel. The sums of the images are added in
  // order, so that they do not depend on the number of threads.
  Status CompareValues(const Graph& simulated) {
    for (size_t i = 0; i < counted_.size(); ++i) {
      of_exact_.emplace(exact_.FindValue(counted_[i].quantised->name()), i);
      of_rounded_.emplace(counted_[i].rounded, i);
    }
    KILN_ASSIGN_OR_RETURN(const auto exact, ReferenceExecutor::Create(exact_));
    KILN_ASSIGN_OR_RETURN(const auto rounded, ReferenceExecutor::Create(simulated));
    std::vector<ImageErrors> images(static_cast<size_t>(result_.images));
    KILN_RETURN_IF_ERROR(RunGroups(
        {.images = result_.images, .progress = Meter()}, [&](const ImageGroup& group) -> Status {
          for (int64_t image = group.first; image < group.first + group.count; ++image) {
            KILN_ASSIGN_OR_RETURN(images[static_cast<size_t>(image)],
                                  CompareImage(*exact, *rounded, image));
          }
          return OkStatus();
        }));
    done_ += result_.images;
    for (size_t i = 0; i < counted_.size(); ++i) {
      ValueError& error = result_.layers[counted_[i].layer].values[counted_[i].index];
      error.so_far.emplace();
      for (const ImageErrors& image : images) {
        error.own.Add(image.own[i]);
        error.so_far->Add(image.so_far[i]);
      }
    }
    return OkStatus();
  }

  // Returns a copy of the quantised graph in which everything but one layer is as in the fp32
  // network.
  Graph OnlyLayer(size_t layer) const {
    Graph alone = quantised_.Clone();
    std::unordered_set<std::string> kept;
    for (const Counted& value : counted_) {
      if (value.layer == layer) kept.insert(value.quantised->name());
    }
    auto exact_node = exact_.nodes().begin();
    auto own_node = quantised_.nodes().begin();
    for (Node* node : alone.NodeList()) {
      const Node& exact = **exact_node++;
      const auto own = layer_of_.find(KernelOf(quantised_, (own_node++)->get()));
      if (own != layer_of_.end() && own->second == layer) continue;
      for (int i = 0; i < node->num_operands(); ++i) {
        if (node->operand(i) == nullptr || !node->operand(i)->is_constant()) continue;
        const Value* constant = exact.operand(i);
        alone.SetOperand(node, i,
                         constant == nullptr
                             ? nullptr
                             : alone.AddConstant(constant->name(), constant->constant()));
      }
    }
    alone.EraseUnusedConstants();
    for (Value* value : alone.Values()) {
      const bool keeps =
          value->is_constant() ? !value->users().empty() : kept.count(value->name()) > 0;
      if (!keeps) value->set_quantisation(std::nullopt);
    }
    return alone;
  }

  // Returns the outputs of a network without annotations on all images.
  StatusOr<std::vector<Tensor>> OutputsOf(const Graph& graph) {
    KILN_ASSIGN_OR_RETURN(const auto executor, ReferenceExecutor::Create(graph));
    KILN_ASSIGN_OR_RETURN(auto outputs, executor->RunBatch(inputs_, Meter()));
    done_ += result_.images;
    return outputs;
  }

  StatusOr<ScoreCount> CountLabels(const std::vector<Tensor>& outputs) const {
    return CountScores(outputs[static_cast<size_t>(options_.layout->output)], options_.labels,
                       *options_.layout);
  }

  // Runs a network and compares its outputs with the fp32 network's.
  StatusOr<OutputQuality> QualityOf(const Graph& graph) {
    KILN_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, OutputsOf(graph));
    OutputQuality quality;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].type() != ElementType::kFloat32 || outputs[i].shape() != expected_[i].shape())
        continue;
      quality.outputs.emplace_back().Add(expected_[i], outputs[i]);
    }
    if (options_.layout.has_value()) {
      KILN_ASSIGN_OR_RETURN(quality.scores, CountLabels(outputs));
    }
    return quality;
  }

  // Returns the progress of the next run.
  BatchProgress Meter() const {
    return [this](int64_t done, int64_t) {
      if (options_.progress) options_.progress(done_ + done, total_);
    };
  }

  const Graph& exact_;
  const Graph& quantised_;
  const std::span<const Tensor> inputs_;
  const LayerErrorOptions& options_;
  std::vector<SimulatedRounding> roundings_;
  std::unordered_map<const void*, size_t> layer_of_;    // by first node, or by graph input
  std::vector<Counted> counted_;                        // inputs and results
  std::set<std::pair<size_t, std::string>> constants_;  // by layer
  std::unordered_multimap<const Value*, size_t> of_exact_, of_rounded_;  // indices in counted_
  std::vector<Tensor> expected_;  // outputs of the fp32 network
  int64_t done_ = 0, total_ = 0;  // simulated images
  LayerErrors result_;
};

}  // namespace

std::optional<double> OutputQuality::sqnr_db() const {
  std::optional<double> least;
  for (const NoisePower& output : outputs) {
    const std::optional<double> own = output.sqnr_db();
    if (own.has_value()) least = std::min(least.value_or(*own), *own);
  }
  return least;
}

std::optional<double> LayerErrors::PointsLost(const OutputQuality& quality) const {
  if (!exact.has_value() || !quality.scores.has_value() || exact->labels == 0) return std::nullopt;
  return 100 * static_cast<double>(exact->correct - quality.scores->correct) /
         static_cast<double>(exact->labels);
}

std::vector<size_t> LayerErrors::MostSensitive(size_t count) const {
  std::vector<size_t> order;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].alone.sqnr_db().has_value()) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [this](size_t a, size_t b) {
    return std::pair(*layers[a].alone.sqnr_db(), a) < std::pair(*layers[b].alone.sqnr_db(), b);
  });
  order.resize(std::min(order.size(), count));
  return order;
}

StatusOr<LayerErrors> MeasureLayerErrors(const Graph& exact, const Graph& quantised,
                                         std::span<const Tensor> inputs,
                                         const LayerErrorOptions& options) {
  return LayerMeasurement(exact, quantised, inputs, options).Run();
}

}  // namespace kiln
