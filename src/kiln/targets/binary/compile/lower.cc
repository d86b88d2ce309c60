// Chooses the nodes of layers and of sums with skips, and joins layers to blocks.

#include "kiln/targets/binary/compile/lower.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "fmt/format.h"
#include "kiln/targets/lower/host_kernel.h"
#include "kiln/targets/lower/partition.h"
#include "kiln/targets/lower/sign.h"
#include "kiln/targets/lower/view_steps.h"

namespace kiln::binary {
namespace {

struct Group : NodeGroup {
  const Value* result = nullptr;
  const Node* add = nullptr;  // of a concatenation: the sum behind it
};

// A kernel whose place in the order is fixed; its block may still grow.
struct Item {
  std::vector<BlockLayer> layers;
  std::vector<Launch> launches;
  std::vector<const Node*> joined;  // concatenations and sums
  std::vector<HostNodes> hosts;
};

class Lowering {
 public:
  Lowering(const Graph& graph, const Config& config)
      : graph_(graph), config_(config), partition_(graph, Patterns()) {}

  StatusOr<LoweredNetwork> Run(const CompileOptions& options) {
    KILN_RETURN_IF_ERROR(CheckKnownShapes(graph_));
    if (config_.prediction == Prediction::kPredicted) {
      KILN_ASSIGN_OR_RETURN(trained_, ThresholdsOf(graph_));
    }
    KILN_RETURN_IF_ERROR(partition_.Plan());
    KILN_RETURN_IF_ERROR(
        partition_.Emit(options, [&](const Group& group, const std::string& reason) {
          if (items_.empty() || items_.back().hosts.empty()) items_.emplace_back();
          items_.back().hosts.push_back({group.nodes, reason});
          for (const Node* node : group.nodes) Produce(node->results(), items_.size() - 1);
          return OkStatus();
        }));
    KILN_RETURN_IF_ERROR(CheckTrainedAreUsed());
    LoweredNetwork lowered;
    lowered.views = std::move(views_);
    for (Item& item : items_) {
      LoweredKernel kernel;
      if (!item.hosts.empty()) {
        HostKernel host = MakeHostKernel(graph_, item.hosts);
        kernel.info = std::move(host.info);
        kernel.host = std::move(host.host);
      } else {
        item.layers.back().nodes.insert(item.layers.back().nodes.end(), item.joined.begin(),
                                        item.joined.end());
        kernel.info = InfoOf(item.layers, item.launches, config_);
        kernel.layers = std::move(item.layers);
        kernel.launches = std::move(item.launches);
      }
      lowered.kernels.push_back(std::move(kernel));
    }
    return lowered;
  }

 private:
  std::vector<Pattern<Group>> Patterns() {
    const auto layer = [this](Group* group) { return PlanLayer(group); };
    const auto sum = [this](Group* group) { return PlanSum(group); };
    const auto alone = [](Group* group) {
      group->result = group->anchor->result();
      return OkStatus();
    };
    const auto emit_layer = [this](const Group& group) { return EmitLayer(group); };
    const auto emit_sum = [this](const Group& group) { return EmitSum(group); };
    return {
        {"layer", AnyOf({Op::kConv, Op::kMatMul}), layer, emit_layer},
        {"sum", AnyOf({Op::kAdd, Op::kConcat}), sum, emit_sum},
        {"view", AnyNode(), alone, [this](const Group& group) { return EmitView(group); }},
    };
  }

  // Checks that a network with trained thresholds has a test that uses them: tests depend on the
  // recipe and on the machine.
  Status CheckTrainedAreUsed() const {
    if (trained_.empty()) return OkStatus();
    for (const Item& item : items_) {
      for (const Launch& launch : item.launches) {
        for (size_t i = 0; i < launch.program.stages.size(); ++i) {
          const std::vector<LookupStep>& steps = launch.program.stages[i].steps;
          for (const auto& [done, values] : item.layers[i].layer.trained) {
            if (static_cast<size_t>(done) <= steps.size() &&
                steps[static_cast<size_t>(done) - 1].test)
              return OkStatus();
          }
        }
      }
    }
    return ErrorAt(fmt::format("{}: metadata '{}'", graph_.source(), kThresholdsMetadataKey), "",
                   fmt::format("no threshold belongs to a test of '{}'", config_.name),
                   "train them for this machine, with the same recipe");
  }

  // -----------------------------------------------------------------------------------------------
  // Planning

  static void Take(const Node& node, Group* group) {
    group->nodes.push_back(&node);
    group->result = node.result();
  }

  // Takes bounds, and a node that only rounds the result to its codes.
  void TakeBounds(Group* group) const {
    while (const Node* next = partition_.Follower(group->result)) {
      const bool rounds = next->op() == Op::kIdentity && !group->result->quantisation().has_value();
      if (!rounds && (!IsBound(*next) || !ContinuesLine(*next, group->result, 1))) return;
      Take(*next, group);
    }
  }

  Status PlanLayer(Group* group) const {
    group->result = group->anchor->result();
    const Shape& shape = group->result->shape();
    const int64_t channels = shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
    while (const Node* next = partition_.Follower(group->result)) {
      const std::vector<const Node*> sign = SignFrom(graph_, *next);
      for (const Node* node : sign) Take(*node, group);
      if (!sign.empty()) return OkStatus();
      if (IsBound(*next) || !ContinuesLine(*next, group->result, channels)) break;
      Take(*next, group);
    }
    TakeBounds(group);
    return OkStatus();
  }

  Status PlanSum(Group* group) const {
    group->result = group->anchor->result();
    group->add = group->anchor;
    if (group->anchor->op() == Op::kConcat) {
      group->add = nullptr;
      const Node* next = partition_.Follower(group->result);
      if (next != nullptr && next->op() == Op::kAdd && next->operand(0) != next->operand(1) &&
          !next->operand(0)->is_constant() && !next->operand(1)->is_constant()) {
        group->add = next;
        Take(*next, group);
      }
    }
    if (group->add != nullptr) TakeBounds(group);
    return OkStatus();
  }

  // -----------------------------------------------------------------------------------------------
  // Emission

  void Produce(std::span<Value* const> values, size_t item) {
    for (const Value* value : values) {
      if (value != nullptr) item_of_[value] = item;
    }
  }

  // Returns whether a value is there before a kernel begins.
  bool IsBefore(const Value* value, size_t item) const {
    const auto at = item_of_.find(value);
    return at == item_of_.end() || at->second < item;
  }

  // Returns the block and the number of the layer whose result a value is.
  struct Place {
    size_t item = 0, layer = 0;
  };
  std::optional<Place> LayerOfResult(const Value* value) const {
    const auto at = item_of_.find(value);
    if (at == item_of_.end()) return std::nullopt;
    const Item& item = items_[at->second];
    for (size_t i = 0; i < item.layers.size(); ++i) {
      if (item.layers[i].layer.result == value) return Place{at->second, i};
    }
    return std::nullopt;
  }

  // Sets which results of a block leave the machine: those that a node outside of it reads.
  void SetLeaving(std::vector<BlockLayer>* layers) const {
    for (size_t i = 0; i < layers->size(); ++i) {
      BlockLayer& layer = (*layers)[i];
      if (layer.sum.has_value() ||
          (layer.leaves_as != nullptr && layer.leaves_as != layer.layer.result))
        continue;
      const Value* value = layer.layer.result;
      bool leaves = i + 1 == layers->size() || IsGraphOutput(graph_, value);
      for (const Node* user : value->users())
        leaves = leaves || i + 1 == layers->size() || user != (*layers)[i + 1].nodes[0];
      layer.leaves_as = leaves ? value : nullptr;
    }
  }

  // A node that only moves the elements of its operand takes no kernel.
  Status EmitView(const Group& group) {
    const Node& node = *group.anchor;
    Status refused = ToHost(fmt::format("the machine has no tables for {}", node.info().text));
    const auto steps = ViewStepsOf(node);
    if (!steps.ok() || node.num_results() != 1 || node.operand(0)->is_constant()) return refused;
    const Value *from = node.operand(0), *to = node.result();
    if (from->element() != to->element()) return refused;
    // Nodes of the host that read the result may be in one kernel with the node behind `from`.
    const auto producer = item_of_.find(from);
    if (producer != item_of_.end() && !items_[producer->second].hosts.empty()) return refused;
    if (to->quantisation().has_value()) {
      const auto before = IntegerCodesOf(*from, config_.activation_bits),
                 after = IntegerCodesOf(*to, config_.activation_bits);
      if (!before.ok() || !after.ok() || *before != *after) return refused;
    }
    const auto view = Apply(*steps, RowMajorView(from->shape().dims()));
    if (!view.has_value()) return refused;
    views_.push_back(DerivedByView(to, from, *view));
    if (producer != item_of_.end()) item_of_[to] = producer->second;
    return OkStatus();
  }

  Status EmitLayer(const Group& group) {
    if (group.result->shape().NumElements() == 0) return ToHost("its result has no elements");
    if (group.anchor->operand(0)->is_constant()) return ToHost("a layer of a constant");
    KILN_ASSIGN_OR_RETURN(Layer layer, LayerOf(group.nodes, config_, graph_.source()));
    if (const auto trained = trained_.find(layer.result->name()); trained != trained_.end())
      layer.trained = trained->second;
    BlockLayer own;
    own.layer = std::move(layer);
    own.nodes.assign(group.nodes.begin(), group.nodes.end());
    std::vector<BlockLayer> alone = {own};
    SetLeaving(&alone);
    auto launches = LaunchesOf(alone, config_);
    if (Join(own, launches)) return OkStatus();
    KILN_RETURN_IF_ERROR(launches.status());
    Item item;
    item.layers = std::move(alone);
    item.launches = *std::move(launches);
    Produce({&mutable_result(group), 1}, items_.size());
    items_.push_back(std::move(item));
    return OkStatus();
  }

  static Value* const& mutable_result(const Group& group) {
    return group.nodes.back()->results()[0];
  }

  // Appends a layer to the block that ends in its input, if that is faster than running it alone.
  // Layers in flight share the time of the slowest of them, and save transfers.
  bool Join(const BlockLayer& layer, const StatusOr<std::vector<Launch>>& alone) {
    const auto place = LayerOfResult(layer.layer.input);
    if (!place.has_value()) return false;
    Item& item = items_[place->item];
    if (place->layer + 1 != item.layers.size() || item.layers.back().sum.has_value() ||
        std::ssize(item.layers) >= config_.stages)
      return false;
    const Layer& before = item.layers.back().layer;
    if (layer.layer.height != before.out_height || layer.layer.width != before.out_width ||
        layer.layer.in_channels != before.out_channels)
      return false;
    std::vector<BlockLayer> joined = item.layers;
    joined.push_back(layer);
    SetLeaving(&joined);
    auto launches = LaunchesOf(joined, config_);
    if (!launches.ok()) return false;
    if (alone.ok() &&
        EstimateCycles(*launches) > EstimateCycles(item.launches) + EstimateCycles(*alone))
      return false;
    item.layers = std::move(joined);
    item.launches = *std::move(launches);
    item_of_[layer.layer.result] = place->item;
    return true;
  }

  Status EmitSum(const Group& group) {
    const bool concat = group.anchor->op() == Op::kConcat;
    if (concat) {
      std::vector<const Value*> parts(group.anchor->operands().begin(),
                                      group.anchor->operands().end());
      const Value* added = nullptr;
      if (group.add != nullptr)
        added = group.add->operand(group.add->operand(0) == group.anchor->result() ? 1 : 0);
      return EmitJoined(group, parts, added);
    }
    Status status = ToHost("none of its operands is the result of a layer of the machine");
    for (const int i : {0, 1}) {
      const Value *own = group.anchor->operand(i), *other = group.anchor->operand(1 - i);
      if (own == other || !LayerOfResult(own).has_value()) continue;
      status = EmitJoined(group, {own}, other);
      if (status.ok()) return status;
    }
    // A layer by itself may add what its block cannot: of another size than the block's input.
    for (const int i : {0, 1}) {
      const Value* own = group.anchor->operand(i);
      if (!Separate(own, group.anchor)) continue;
      return EmitJoined(group, {own}, group.anchor->operand(1 - i));
    }
    return status;
  }

  // Makes a kernel of its own of the last layer of a block, if only `reader` reads its result and
  // the layer can run alone. Returns whether it did.
  bool Separate(const Value* result, const Node* reader) {
    const auto place = LayerOfResult(result);
    if (!place.has_value() || result->users().size() != 1 || result->users()[0] != reader ||
        IsGraphOutput(graph_, result))
      return false;
    std::vector<BlockLayer> rest = items_[place->item].layers;
    if (place->layer + 1 != rest.size() || rest.size() == 1 || rest.back().sum.has_value())
      return false;
    std::vector<BlockLayer> own = {rest.back()};
    rest.pop_back();
    rest.back().leaves_as = rest.back().layer.result;
    auto launches = LaunchesOf(own, config_), launches_of_rest = LaunchesOf(rest, config_);
    if (rest.back().sum.has_value() || !launches.ok() || !launches_of_rest.ok()) return false;
    items_[place->item].layers = std::move(rest);
    items_[place->item].launches = *std::move(launches_of_rest);
    item_of_[result] = items_.size();
    Item item;
    item.layers = std::move(own);
    item.launches = *std::move(launches);
    items_.push_back(std::move(item));
    return true;
  }

  // Lets the stages of a block write `parts`, results of its layers, as channels of the group's
  // result, with channels of `added` added to them unless it is null.
  Status EmitJoined(const Group& group, const std::vector<const Value*>& parts,
                    const Value* added) {
    const Value* result = group.result;
    std::optional<Place> first = LayerOfResult(parts[0]);
    if (!first.has_value()) return ToHost("its operands are no results of one block");
    Item& item = items_[first->item];
    if (item.layers.empty()) return ToHost("its operands are no results of one block");
    KILN_ASSIGN_OR_RETURN(const MachineCodes codes, MachineCodesOf(*result, config_));
    ChannelLine bounds;
    bounds.factors = {1};
    bounds.offsets = {0};
    KILN_RETURN_IF_ERROR(CheckSum(group, added, first->item, &bounds));
    std::vector<BlockLayer> layers = item.layers;
    int64_t channel = 0;
    for (const Value* part : parts) {
      const auto place = LayerOfResult(part);
      if (!place.has_value() || place->item != first->item)
        return ToHost("its operands are no results of one block");
      BlockLayer& layer = layers[place->layer];
      for (const Node* user : part->users()) {
        const bool next =
            place->layer + 1 < layers.size() && user == layers[place->layer + 1].nodes[0];
        if (!next && user != group.anchor)
          return ToHost(fmt::format("{} is read elsewhere, too", part->name()));
      }
      if (IsGraphOutput(graph_, part) || layer.sum.has_value() ||
          (layer.leaves_as != nullptr && layer.leaves_as != part))
        return ToHost(fmt::format("{} is read elsewhere, too", part->name()));
      if (added != nullptr) {
        LayerSum sum;
        KILN_ASSIGN_OR_RETURN(sum.added_codes, MachineCodesOf(*added, config_));
        sum.sum_codes = codes;
        sum.added = added;
        sum.sum = result;
        sum.first_channel = channel;
        KILN_ASSIGN_OR_RETURN(sum.numbers, SkipOf(layer.layer.out, sum.added_codes, codes, bounds));
        layer.sum = sum;
      } else if (layer.layer.out != codes) {
        return ToHost("it changes the scale of its operands");
      }
      layer.leaves_as = result;
      layer.first_channel = channel;
      channel += layer.layer.out_channels;
    }
    KILN_ASSIGN_OR_RETURN(item.launches, LaunchesOf(layers, config_));
    item.layers = std::move(layers);
    item.joined.insert(item.joined.end(), group.nodes.begin(), group.nodes.end());
    item_of_[result] = first->item;
    return OkStatus();
  }

  // Checks the nodes of a sum or a concatenation, and sets the bounds of the result.
  Status CheckSum(const Group& group, const Value* added, size_t item, ChannelLine* bounds) const {
    const Value* result = group.anchor->result();
    if (group.anchor->op() == Op::kConcat) {
      const int rank = result->shape().rank();
      const int64_t axis = group.anchor->attributes().Int("axis", 0);
      if ((axis < 0 ? axis + rank : axis) != rank - 1)
        return ToHost("it joins another axis than channels");
      if (added != nullptr && result->quantisation().has_value()) {
        // The sum reads codes of the concatenation, which must be its operands' codes.
        KILN_ASSIGN_OR_RETURN(const MachineCodes codes, MachineCodesOf(*result, config_));
        for (const Value* operand : group.anchor->operands()) {
          KILN_ASSIGN_OR_RETURN(const MachineCodes own, MachineCodesOf(*operand, config_));
          if (own != codes) return ToHost("it changes the scale of its operands");
        }
      }
    }
    if (added == nullptr) return OkStatus();
    if (added->is_constant()) return ToHost("a constant is added");
    if (!(added->shape() == group.add->result()->shape()))
      return ToHost("a sum of values of different shape");
    if (!IsBefore(added, item))
      return ToHost(fmt::format("{} is not there before the block begins", added->name()));
    const auto at = std::ranges::find(group.nodes, group.add);
    const std::span<const Node* const> behind(group.nodes);
    return ApplyToLine(behind.subspan(static_cast<size_t>(at - group.nodes.begin()) + 1),
                       group.add->result(), bounds);
  }

  const Graph& graph_;
  const Config& config_;
  TrainedThresholds trained_;
  Partition<Group> partition_;
  std::vector<Item> items_;
  std::vector<DerivedValue> views_;
  std::unordered_map<const Value*, size_t> item_of_;
};

}  // namespace

StatusOr<LoweredNetwork> Lower(const Graph& graph, const Config& config,
                               const CompileOptions& options) {
  return Lowering(graph, config).Run(options);
}

}  // namespace kiln::binary
