// Plans which nodes become a layer, finds where values are located, and orders layers and host
// kernels into segments.

#include "kiln/targets/dataflow/compile/lower.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "fmt/format.h"
#include "kiln/ir/describe.h"
#include "kiln/numerics/quantise.h"
#include "kiln/targets/dataflow/compile/lowering.h"
#include "kiln/targets/dataflow/compile/stage_name.h"
#include "kiln/targets/interface/kernel_info.h"

namespace kiln::dataflow {

std::optional<std::array<int, 3>> MapAxes(const StridedView& view, const MapShape& map) {
  std::array<int, 3> axes = {-1, -1, -1};
  const std::array<int64_t, 3> sizes = {map.height, map.width, map.channels};
  const std::array<int64_t, 3> strides = {map.width * map.channels, map.channels, 1};
  if (view.offset != 0) return std::nullopt;
  for (int i = 0; i < view.rank(); ++i) {
    const auto axis = static_cast<size_t>(i);
    if (view.shape[axis] == 1) continue;
    bool found = false;
    for (size_t k = 0; k < 3 && !found; ++k) {
      if (axes[k] >= 0 || sizes[k] != view.shape[axis] || strides[k] != view.strides[axis])
        continue;
      axes[k] = i;
      found = true;
    }
    if (!found) return std::nullopt;
  }
  for (size_t k = 0; k < 3; ++k) {
    if (axes[k] < 0 && sizes[k] != 1) return std::nullopt;
  }
  return axes;
}

Lowering::Lowering(const Graph& graph, const Config& config)
    : graph_(graph), config_(config), partition_(graph, Patterns()) {
  for (const Value* input : graph.inputs()) {
    if (input->has_shape()) places_[input] = {-1, input, RowMajorView(input->shape().dims()), {}};
  }
}

// -------------------------------------------------------------------------------------------------
// Plans

std::vector<Pattern<Group>> Lowering::Patterns() {
  const auto emit = [this](Status (Lowering::*function)(const Group&)) {
    return [this, function](const Group& group) { return (this->*function)(group); };
  };
  const auto plan = [this](Status (Lowering::*function)(Group*)) {
    return [this, function](Group* group) {
      group->result = group->anchor->result();
      return (this->*function)(group);
    };
  };
  const auto alone = [](Group* group) {
    group->result = group->anchor->result();
    return OkStatus();
  };
  const auto refuse = [](Group* group) {
    group->result = group->anchor->result();
    return ToHost(fmt::format("the machine has no stage for {}", group->anchor->info().onnx_name));
  };
  const auto is_table = [](const Node& node) {
    return node.info().Has(kElementwise) && node.num_results() == 1;
  };
  return {
      {"view",
       AnyOf({Op::kTranspose, Op::kReshape, Op::kFlatten, Op::kSqueeze, Op::kUnsqueeze,
              Op::kDropout}),
       alone, emit(&Lowering::EmitView)},
      {"convolution", AnyOf({Op::kConv}), plan(&Lowering::PlanSums),
       emit(&Lowering::EmitConvolution)},
      {"product", AnyOf({Op::kMatMul}), plan(&Lowering::PlanSums), emit(&Lowering::EmitProduct)},
      {"pool", AnyOf({Op::kMaxPool, Op::kAveragePool, Op::kGlobalMaxPool}), alone,
       emit(&Lowering::EmitPool)},
      {"mean", AnyOf({Op::kGlobalAveragePool, Op::kReduceMean}), alone, emit(&Lowering::EmitMean)},
      {"concat", AnyOf({Op::kConcat}), alone, emit(&Lowering::EmitConcat)},
      {"pad", AnyOf({Op::kPad}), alone, emit(&Lowering::EmitPad)},
      {"slice", AnyOf({Op::kSlice}), alone, emit(&Lowering::EmitSlice)},
      {"rearrangement", AnyOf({Op::kResize, Op::kDepthToSpace}), alone,
       emit(&Lowering::EmitRearrangement)},
      {"elements", is_table, plan(&Lowering::PlanElements), emit(&Lowering::EmitTable)},
      {"identity", AnyOf({Op::kIdentity}), plan(&Lowering::PlanElements),
       emit(&Lowering::EmitTable)},
      {"host", AnyNode(), refuse, {}},
  };
}

// -------------------------------------------------------------------------------------------------
// Values

StatusOr<ValueCodes> CodesOf(const Value& value) { return IntegerCodesOf(value, kMostCodeBits); }

MapShape MapOf(const Shape& shape) {
  MapShape map;
  const int rank = shape.rank();
  map.channels = rank >= 1 ? shape[rank - 1] : 1;
  map.width = rank >= 2 ? shape[rank - 2] : 1;
  map.height = rank >= 3 ? shape[rank - 3] : 1;
  for (int i = 0; i + 3 < rank; ++i) map.height *= shape[i];
  return map;
}

StatusOr<Operand> Lowering::AnyOperand(const Value& value) {
  const auto at = places_.find(&value);
  if (at == places_.end() && value.is_constant())
    return ToHost(fmt::format("{} is a constant", NameForUser(value)));
  Operand operand;
  KILN_ASSIGN_OR_RETURN(operand.codes, CodesOf(value));
  if (at != places_.end() && at->second.layer >= 0) {
    operand.place = at->second;
    operand.map = layers_[static_cast<size_t>(operand.place.layer)].map;
    operand.view = operand.place.view;
    if (operand.place.line.has_value())
      return ToHost(fmt::format("{} is not quantised", NameForUser(value)));
    return operand;
  }
  // The host sends it in the order of its tensor.
  operand.place =
      at != places_.end() ? at->second : Place{-1, &value, RowMajorView(value.shape().dims()), {}};
  operand.view = RowMajorView(value.shape().dims());
  operand.map = MapOf(value.shape());
  return operand;
}

StatusOr<Operand> Lowering::RowMajorOperand(const Value& value) {
  KILN_ASSIGN_OR_RETURN(Operand operand, AnyOperand(value));
  if (!SamePositions(operand.view, RowMajorView(value.shape().dims())))
    return ToHost(
        fmt::format("{} is in another order than the channels of a word", NameForUser(value)));
  operand.seen = MapOf(value.shape());
  return operand;
}

void Lowering::AddLayer(const Group& group, Stage stage, std::vector<Operand> operands,
                        const MapShape& map, const CodeType& type, StridedView view,
                        std::optional<ChannelLine> line, std::string operation) {
  PendingLayer pending;
  pending.layer.info =
      KernelInfoOf(group.nodes, std::string(NameOf(stage.kind)), std::move(operation));
  pending.layer.info.unrounded_values = ValuesWithin(group.nodes);
  stage.name = StageName(pending.layer.info.name);
  pending.layer.stage = std::move(stage);
  pending.operands = std::move(operands);
  pending.map = map;
  pending.type = type;
  places_[group.result] = {static_cast<int>(layers_.size()), nullptr, std::move(view),
                           std::move(line)};
  layers_.push_back(std::move(pending));
}

// -------------------------------------------------------------------------------------------------
// Order

void Lowering::EmitHost(const Group& group, const std::string& reason) {
  hosts_.push_back({{group.nodes, reason}, layers_.size()});
  for (const Node* node : group.nodes) {
    for (const Value* result : node->results()) {
      if (result != nullptr && result->has_shape())
        places_[result] = {-1, result, RowMajorView(result->shape().dims()), {}};
    }
  }
}

namespace {

int AtLeast(int epoch, bool on_machine, int producer, bool producer_on_machine) {
  return std::max(epoch, on_machine == producer_on_machine ? producer : producer + 1);
}

// Returns the view without axes of one element, and with axes joined that move as one: views of the
// same elements in the same order become equal.
StridedView Merged(const StridedView& view) {
  StridedView merged;
  merged.offset = view.offset;
  for (size_t i = 0; i < view.shape.size(); ++i) {
    const int64_t count = view.shape[i], stride = view.strides[i];
    if (count == 1) continue;
    if (!merged.shape.empty() && merged.strides.back() == stride * count) {
      merged.shape.back() *= count;
      merged.strides.back() = stride;
      continue;
    }
    merged.shape.push_back(count);
    merged.strides.push_back(stride);
  }
  return merged;
}

HostTensor Received(const Value* value, int map, const Place& place) {
  HostTensor tensor;
  tensor.place = {map, place.view};
  tensor.value = value;
  tensor.line = place.line;
  return tensor;
}

}  // namespace

// Numbers channels of one map for the host's part of a step.
class StepBuilder {
 public:
  explicit StepBuilder(Lowered* lowered) : lowered_(*lowered) {}

  // Returns the map that the host sends to a segment with the elements that a view reads of `root`.
  int Sent(int segment, const Place& place, const Operand& operand) {
    for (const auto& [key, map] : sent_) {
      if (key.segment == segment && key.root == place.root &&
          SamePositions(Merged(key.view), Merged(place.view)) &&
          lowered_.maps[static_cast<size_t>(map)].shape == operand.map)
        return map;
    }
    const auto map = static_cast<int>(lowered_.maps.size());
    lowered_.maps.push_back({place.root->name(), operand.map, TypeOf(operand.codes), -1, segment});
    sent_.push_back({{segment, place.root, place.view}, map});
    HostTensor tensor;
    tensor.place = {map, place.view};
    tensor.value = place.root;
    sends[segment].push_back(std::move(tensor));
    return map;
  }

  std::map<int, std::vector<HostTensor>> sends;

 private:
  struct Key {
    int segment;
    const Value* root;
    StridedView view;
  };
  Lowered& lowered_;
  std::vector<std::pair<Key, int>> sent_;
};

std::optional<size_t> Lowering::HostOf(const Value* value) const {
  for (size_t i = 0; i < hosts_.size(); ++i) {
    for (const Node* node : hosts_[i].nodes.nodes) {
      if (std::ranges::count(node->results(), value) > 0) return i;
    }
  }
  return std::nullopt;
}

Epochs Lowering::FindEpochs() const {
  Epochs epochs;
  epochs.layers.assign(layers_.size(), 0);
  epochs.hosts.assign(hosts_.size(), -1);
  // Returns the epoch of what reads `place`, if it is not before `epoch`.
  const auto after = [&](int epoch, bool on_machine, const Place& place) {
    if (place.layer >= 0)
      return AtLeast(epoch, on_machine, epochs.layers[static_cast<size_t>(place.layer)], true);
    const std::optional<size_t> host = HostOf(place.root);
    return host.has_value() ? AtLeast(epoch, on_machine, epochs.hosts[*host], false) : epoch;
  };
  size_t next = 0;
  const auto reach = [&](size_t layers) {
    for (; next < layers; ++next) {
      for (const Operand& operand : layers_[next].operands)
        epochs.layers[next] = after(epochs.layers[next], true, operand.place);
    }
  };
  for (size_t i = 0; i < hosts_.size(); ++i) {
    reach(hosts_[i].layers_before);
    int epoch = -1;
    for (const Node* node : hosts_[i].nodes.nodes) {
      for (const Value* operand : node->operands()) {
        const auto at = places_.find(operand);
        if (operand == nullptr || at == places_.end()) continue;
        const bool own = at->second.layer < 0 && HostOf(at->second.root) == i;
        if (!own) epoch = after(epoch, false, at->second);
      }
    }
    epochs.hosts[i] = epoch;
  }
  reach(layers_.size());
  return epochs;
}

// Returns the row-major value that carries what a layer computed from one segment to a later one,
// by way of the host.
StatusOr<Place> Lowering::CarriedBy(int layer) const {
  for (const Value* value : graph_.Values()) {
    const auto at = places_.find(value);
    if (at != places_.end() && at->second.layer == layer &&
        SamePositions(at->second.view, RowMajorView(value->shape().dims())))
      return Place{-1, value, at->second.view, {}};
  }
  return absl::InternalError("a value between segments has no row-major form");
}

Status Lowering::NumberMaps(const Epochs& epochs, StepBuilder* builder, Lowered* lowered) {
  for (size_t i = 0; i < layers_.size(); ++i) {
    PendingLayer& pending = layers_[i];
    NetworkLayer layer = std::move(pending.layer);
    layer.segment = epochs.layers[i] / 2;
    for (const Operand& operand : pending.operands) {
      Place sent = operand.place;
      if (sent.layer >= 0) {
        const NetworkLayer& producer = lowered->layers[static_cast<size_t>(sent.layer)];
        if (producer.segment == layer.segment) {
          layer.inputs.push_back(producer.output);
          continue;
        }
        KILN_ASSIGN_OR_RETURN(sent, CarriedBy(sent.layer));
      }
      layer.inputs.push_back(builder->Sent(layer.segment, sent, operand));
    }
    layer.output = static_cast<int>(lowered->maps.size());
    lowered->maps.push_back({layer.info.name, pending.map, pending.type,
                             static_cast<int>(lowered->layers.size()), layer.segment});
    lowered->layers.push_back(std::move(layer));
  }
  return OkStatus();
}

std::map<int, std::vector<HostTensor>> Lowering::ReceivedBySegment(const StepBuilder& builder,
                                                                   const Lowered& lowered) const {
  std::map<int, std::vector<HostTensor>> receives;
  std::set<const Value*> received;
  const auto receive = [&](const Value* value) {
    const auto at = places_.find(value);
    if (at == places_.end() || at->second.layer < 0 || !received.insert(value).second) return;
    const NetworkLayer& layer = lowered.layers[static_cast<size_t>(at->second.layer)];
    receives[layer.segment].push_back(Received(value, layer.output, at->second));
  };
  for (const HostGroup& host : hosts_) {
    for (const Node* node : host.nodes.nodes) {
      for (const Value* operand : node->operands()) receive(operand);
    }
  }
  for (const Value* output : graph_.outputs()) receive(output);
  for (const auto& [segment, tensors] : builder.sends) {
    for (const HostTensor& tensor : tensors) receive(tensor.value);
  }
  return receives;
}

StatusOr<Lowered> Lowering::Order() {
  const Epochs epochs = FindEpochs();
  Lowered lowered;
  for (const Value* value : graph_.Values()) {
    const auto at = places_.find(value);
    if (at != places_.end() && at->second.layer < 0 && at->second.root != value)
      lowered.aliases.push_back(DerivedByView(value, at->second.root, at->second.view));
  }
  int last = -1;
  for (const int e : epochs.layers) last = std::max(last, e);
  for (const int e : epochs.hosts) last = std::max(last, e);
  lowered.segments = last / 2 + (last >= 0 ? 1 : 0);
  StepBuilder builder(&lowered);
  KILN_RETURN_IF_ERROR(NumberMaps(epochs, &builder, &lowered));
  std::map<int, std::vector<HostTensor>> receives = ReceivedBySegment(builder, lowered);
  for (int epoch = -1; epoch <= last; ++epoch) {
    NetworkStep step;
    if (epoch % 2 == 0) {
      step.segment = epoch / 2;
      step.sends = builder.sends[step.segment];
      step.receives = receives[step.segment];
      if (step.receives.empty()) continue;  // nothing of it is used
    } else {
      std::vector<HostNodes> nodes;
      for (size_t i = 0; i < hosts_.size(); ++i) {
        if (epochs.hosts[i] == epoch) nodes.push_back(hosts_[i].nodes);
      }
      if (nodes.empty()) continue;
      HostKernel kernel = MakeHostKernel(graph_, nodes);
      step.kernel = static_cast<int>(lowered.host_kernels.size());
      step.host = std::move(kernel.host);
      lowered.host_kernels.push_back(std::move(kernel.info));
    }
    lowered.steps.push_back(std::move(step));
  }
  return lowered;
}

StatusOr<Lowered> Lowering::Run(const CompileOptions& options) {
  KILN_RETURN_IF_ERROR(CheckKnownShapes(graph_));
  KILN_RETURN_IF_ERROR(partition_.Plan());
  KILN_RETURN_IF_ERROR(partition_.Emit(options, [&](const Group& group, const std::string& reason) {
    EmitHost(group, reason);
    return OkStatus();
  }));
  return Order();
}

StatusOr<Lowered> Lower(const Graph& graph, const Config& config, const CompileOptions& options) {
  Graph copy = graph.Clone();
  KILN_ASSIGN_OR_RETURN(Lowered lowered, Lowering(copy, config).Run(options));
  lowered.graph = std::move(copy);
  return lowered;
}

}  // namespace kiln::dataflow
