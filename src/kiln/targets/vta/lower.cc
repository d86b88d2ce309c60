#include "kiln/targets/vta/lower.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "fmt/format.h"
#include "kiln/ir/describe.h"
#include "kiln/ir/work.h"
#include "kiln/numerics/quantise.h"
#include "kiln/support/check.h"
#include "kiln/targets/interface/host_graph.h"
#include "kiln/targets/vta/lowering.h"

namespace kiln::vta {
namespace {

// The only element of a constant in fp32 with one element.
std::optional<double> ScalarOf(const Value* value) {
  if (value == nullptr || !value->is_constant() || value->element() != ElementType::kFloat32)
    return std::nullopt;
  if (value->constant().size() != 1) return std::nullopt;
  return value->constant().ValueAt(0);
}

// Whether nothing but the last axis of a constant varies.
bool IsPerChannel(const Shape& shape, int64_t channels) {
  if (shape.NumElements() == 1) return true;
  for (int i = 0; i + 1 < shape.rank(); ++i) {
    if (shape[i] != 1) return false;
  }
  return shape.rank() > 0 && shape[shape.rank() - 1] == channels;
}

const Value* OtherOperand(const Node& node, const Value* value) {
  return node.operand(node.operand(0) == value ? 1 : 0);
}

}  // namespace

std::optional<ImageShape> ImageShapeOf(const std::vector<int64_t>& shape) {
  ImageShape image;
  const size_t rank = shape.size();
  for (size_t i = 0; i < rank; ++i) {
    if (rank - i == 1) {
      image.channels = shape[i];
    } else if (rank - i == 2) {
      image.width = shape[i];
    } else if (rank - i == 3) {
      image.height = shape[i];
    } else if (shape[i] != 1) {
      return std::nullopt;
    }
  }
  return image;
}

// ---------------------------------------------------------------------------------------------------------------------
// Planning

bool Lowering::IsGraphOutput(const Value* value) const {
  return std::find(graph_.outputs().begin(), graph_.outputs().end(), value) !=
         graph_.outputs().end();
}

const Node* Lowering::Follower(const Group& group) const {
  if (IsGraphOutput(group.result) || group.result->users().size() != 1) return nullptr;
  const Node* next = group.result->users()[0];
  if (taken_.contains(next) || next->num_results() != 1 || next->result() == nullptr)
    return nullptr;
  return next->result()->shape() == group.result->shape() ? next : nullptr;
}

void Lowering::FollowBias(Group* group) {
  const Shape& shape = group->result->shape();
  while (const Node* next = Follower(*group)) {
    if (next->op() != Op::kAdd) return;
    const Value* other = OtherOperand(*next, group->result);
    if (!other->is_constant() || other->element() != ElementType::kFloat32) return;
    if (!IsPerChannel(other->shape(), shape[shape.rank() - 1])) return;
    group->bias.push_back(other);
    group->nodes.push_back(next);
    group->result = next->result();
  }
}

void Lowering::FollowResidual(Group* group) {
  const Node* next = Follower(*group);
  if (next == nullptr || next->op() != Op::kAdd) return;
  const Value* other = OtherOperand(*next, group->result);
  // Only between codes: sums of 32 bits would need one more rounding than two layers.
  if (other == group->result || other->is_constant() || other->shape() != group->result->shape())
    return;
  // Of two layers that are added, the larger one has more time to do so.
  const Node* producer = other->producer();
  if (producer != nullptr && !taken_.contains(producer) && other->users().size() == 1 &&
      !IsGraphOutput(other) && MacsOf(*producer) > MacsOf(*group->anchor)) {
    return;
  }
  Group trial = *group;
  trial.residual = other;
  trial.nodes.push_back(next);
  trial.result = next->result();
  trial.text += " + add";
  FollowClamp(&trial);
  if (!CodesOf(*other).ok() || !CodesOf(*trial.result).ok()) return;
  *group = trial;
}

void Lowering::FollowClamp(Group* group) {
  while (const Node* next = Follower(*group)) {
    if (next->op() == Op::kRelu) {
      group->clamp = {std::max(0.0, group->clamp.low), std::max(0.0, group->clamp.high)};
      group->text += " + relu";
    } else if (next->op() == Op::kClip) {
      const auto low = ScalarOf(next->operand(1)), high = ScalarOf(next->operand(2));
      if ((next->operand(1) != nullptr && !low) || (next->operand(2) != nullptr && !high)) return;
      const auto hold = [&](double v) {
        return std::min(std::max(v, low.value_or(v)), high.value_or(v));
      };
      group->clamp = {hold(group->clamp.low), hold(group->clamp.high)};
      group->text += " + clip";
    } else {
      return;
    }
    group->nodes.push_back(next);
    group->result = next->result();
  }
}

Group Lowering::PlanNode(const Node& node) {
  Group group;
  group.anchor = &node;
  group.nodes = {&node};
  group.result = node.result();
  if (group.result == nullptr || node.num_results() != 1 ||
      group.result->element() != ElementType::kFloat32)
    return group;
  switch (node.op()) {
    case Op::kConv:
    case Op::kMatMul:
      FollowBias(&group);
      FollowResidual(&group);
      if (group.residual == nullptr) FollowClamp(&group);
      break;
    case Op::kAveragePool:
    case Op::kGlobalAveragePool:
    case Op::kReduceMean:
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kMax:
    case Op::kMin:
      FollowClamp(&group);
      break;
    default:
      break;
  }
  return group;
}

void Lowering::Plan() {
  for (const auto& node : graph_.nodes()) {
    if (node->op() == Op::kConcat) PlanConcat(*node);
  }
  for (const auto& node : graph_.nodes()) {
    if (taken_.contains(node.get())) continue;
    Group group = PlanNode(*node);
    for (const Node* member : group.nodes) {
      taken_.insert(member);
      group_of_[member] = groups_.size();
    }
    groups_.push_back(std::move(group));
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Values

StatusOr<Codes> Lowering::CodesOf(const Value& value) const {
  const std::string who = NameForUser(value);
  if (value.element() != ElementType::kFloat32) return ToHost(fmt::format("{} is no fp32", who));
  if (!value.quantisation().has_value()) return ToHost(fmt::format("{} is not quantised", who));
  const Quantisation& q = *value.quantisation();
  const Format& format = q.type.format;
  const bool plain = format.is_whole() && format.bits <= 8 &&
                     format.rounding == Rounding::kNearestEven &&
                     format.overflow == Overflow::kSaturate;
  if (!plain || q.type.scheme == Scheme::kPerBlock || q.scales.size() > 1 ||
      q.zero_points.size() > 1) {
    return ToHost(fmt::format("{} is {}, the machine has integers of 8 bits with one scale", who,
                              format.name));
  }
  const CodeRange range = kiln::CodesOf(format, q.type.symmetric);
  Codes codes;
  codes.scale = q.scales.empty() ? 1.0f : q.scales[0];
  codes.zero = q.zero_points.empty() ? 0 : q.zero_points[0];
  // Unsigned codes stand less half their range.
  const int32_t half = format.is_signed ? 0 : 1 << (format.bits - 1);
  codes.zero -= half;
  codes.low = static_cast<int32_t>(range.low) - half;
  codes.high = static_cast<int32_t>(range.high) - half;
  return codes;
}

int Lowering::NewSlot(const Value& value) {
  out_.slots.push_back({value.name(), value.element(), value.shape(), value.quantisation()});
  return static_cast<int>(out_.slots.size()) - 1;
}

int Lowering::NewMap(const std::string& name, int64_t height, int64_t width, int64_t channels) {
  FeatureMap map;
  map.name = name;
  map.height = height;
  map.width = width;
  map.channels = channels;
  out_.maps.push_back(std::move(map));
  return static_cast<int>(out_.maps.size()) - 1;
}

namespace {

// The windows of a node over operand 0, or nothing.
std::vector<WindowAxis> WindowsOf(const Node& node) {
  if (!IsNhwc(node)) return {};
  if (node.op() == Op::kConv) {
    const auto g = ResolveConv(node);
    return g.ok() ? g->axes : std::vector<WindowAxis>();
  }
  if (node.op() == Op::kAveragePool || node.op() == Op::kMaxPool) {
    const auto g = ResolvePool(node);
    return g.ok() ? g->axes : std::vector<WindowAxis>();
  }
  return {};
}

// A node and the operand that it reads.
struct Reader {
  const Node* node;
  const Value* operand;
};

// The nodes that read a value's pixels: its users, and those of its transpositions to NHWC.
std::vector<Reader> PixelReadersOf(const Value* value) {
  std::vector<Reader> readers;
  for (const Node* user : value->users()) {
    readers.push_back({user, value});
    if (!MakesNhwc(*user)) continue;
    for (const Node* next : user->result()->users()) readers.push_back({next, user->result()});
  }
  return readers;
}

}  // namespace

Border Lowering::BorderFor(const Value* value) const {
  Border border;
  for (const auto& [user, operand] : PixelReadersOf(value)) {
    const std::vector<WindowAxis> axes = WindowsOf(*user);
    if (axes.size() != 2 || user->operand(0) != operand) continue;
    const auto end = [](const WindowAxis& a) {
      return std::max<int64_t>(0, (a.output - 1) * a.stride - a.pad_begin + a.Extent() - a.input);
    };
    border.top = std::max(border.top, axes[0].pad_begin);
    border.left = std::max(border.left, axes[1].pad_begin);
    border.bottom = std::max(border.bottom, end(axes[0]));
    border.right = std::max(border.right, end(axes[1]));
  }
  return border;
}

int32_t Lowering::FillFor(const Value* value, const Codes& codes) const {
  bool maximum = false, other = false;
  for (const auto& [user, operand] : PixelReadersOf(value)) {
    const std::vector<WindowAxis> axes = WindowsOf(*user);
    if (user->operand(0) != operand) continue;
    const bool padded = std::any_of(axes.begin(), axes.end(), [](const WindowAxis& a) {
      return a.pad_begin > 0 || (a.output - 1) * a.stride - a.pad_begin + a.Extent() > a.input;
    });
    (user->op() == Op::kMaxPool ? maximum : other) |= padded;
  }
  return maximum && !other ? codes.low : codes.zero;
}

StatusOr<int> Lowering::ResultMap(const Value* value, int64_t height, int64_t width,
                                  int64_t channels) {
  const auto codes = CodesOf(*value);
  if (!codes.ok() && value->quantisation().has_value()) return codes.status();
  if (const auto joined = joined_.find(value); joined != joined_.end()) {
    const Shape& whole = joined->second.concat->result()->shape();
    const auto image = ImageShapeOf(whole.dims());
    if (image->height == height && image->width == width &&
        value->shape()[whole.rank() - 1] == channels) {
      const int other = ConcatMap(*joined->second.concat, height, width, image->channels);
      const int part = NewMap(value->name(), height, width, channels);
      const FeatureMap& from = out_.maps[static_cast<size_t>(other)];
      FeatureMap& map = out_.maps.back();
      map.codes = from.codes;
      map.border = from.border;
      map.fill = from.fill;
      map.inside = FeatureMap::Place{other, joined->second.first_channel / config_.block_out};
      return part;
    }
  }
  const int index = NewMap(value->name(), height, width, channels);
  FeatureMap& map = out_.maps.back();
  if (codes.ok()) {
    map.codes = *codes;
    map.border = BorderFor(value);
    map.fill = FillFor(value, *codes);
  } else {
    map.wide = true;
  }
  return index;
}

StridedView Lowering::ViewOf(const Value* value, Order order) const {
  StridedView view = locations_.at(value).view;
  if (order == Order::kChannelsSecond) {
    std::rotate(view.shape.begin() + 1, view.shape.begin() + 2, view.shape.end());
    std::rotate(view.strides.begin() + 1, view.strides.begin() + 2, view.strides.end());
  }
  return view;
}

Lowering::Order Lowering::OrderOf(const Node& node) const {
  for (const Value* operand : node.operands()) {
    if (operand == nullptr || operand->is_constant() || IsOnHost(operand)) continue;
    const StridedView& view = locations_.at(operand).view;
    if (view.shape.size() == 4 && view.shape[1] > 1 && view.strides[1] == 1)
      return Order::kChannelsSecond;
  }
  return Order::kChannelsLast;
}

StridedView Lowering::StandingOf(const Shape& shape, Order order) const {
  StridedView view = DenseView(shape);
  if (order == Order::kChannelsSecond) view.strides = {0, 1, shape[3] * shape[1], shape[1]};
  return view;
}

StatusOr<MapView> Lowering::OnMachine(const Value* value, Layer* layer, Order order) {
  if (value->is_constant()) return ToHost(NameForUser(*value) + " is a constant");
  KILN_RETURN_IF_ERROR(CodesOf(*value).status());
  const Location& at = locations_.at(value);
  const StridedView strided = ViewOf(value, order);
  const auto shape = ImageShapeOf(strided.shape);
  if (!shape.has_value())
    return ToHost(NameForUser(*value) + " has more than three axes that are not 1");
  if (at.map < 0) return AsPatches(value, Patch(), shape->height, shape->width, layer, order);

  const FeatureMap& map = out_.maps[static_cast<size_t>(at.map)];
  const auto no_image = [&] {
    return ToHost(NameForUser(*value) + " is no image in the machine's layout");
  };
  if (map.wide || shape->channels != map.channels || strided.offset % map.channels != 0)
    return no_image();
  MapView view{at.map, 0, 0, 1, 1, shape->height, shape->width, shape->channels};
  const size_t rank = strided.shape.size();
  const auto stride_of = [&](size_t from_end) {
    return rank >= from_end ? strided.strides[rank - from_end] : 0;
  };
  if (shape->channels > 1 && stride_of(1) != 1) return no_image();
  const int64_t pixel = map.channels, row = map.channels * map.width;
  view.y0 = strided.offset / row;
  view.x0 = strided.offset % row / pixel;
  // Pixels in a row that are all pixels of the map: the same in the map's own rows.
  if (shape->height == 1 && map.height > 1 && shape->width == map.height * map.width &&
      (shape->width == 1 || stride_of(2) == pixel)) {
    view.height = map.height;
    view.width = map.width;
    return view;
  }
  if (shape->width > 1) {
    if (stride_of(2) % pixel != 0 || stride_of(2) == 0) return no_image();
    view.x_step = stride_of(2) / pixel;
  }
  if (shape->height > 1) {
    if (stride_of(3) % row != 0 || stride_of(3) == 0) return no_image();
    view.y_step = stride_of(3) / row;
  }
  if (view.y0 + (view.height - 1) * view.y_step >= map.height ||
      view.x0 + (view.width - 1) * view.x_step >= map.width) {
    return no_image();
  }
  return view;
}

StatusOr<MapView> Lowering::AsPatches(const Value* value, const Patch& patch, int64_t height,
                                      int64_t width, Layer* layer, Order order) {
  KILN_ASSIGN_OR_RETURN(const Codes codes, CodesOf(*value));
  const Location& at = locations_.at(value);
  KILN_CHECK(at.slot >= 0);
  const StridedView strided = ViewOf(value, order);
  const auto shape = ImageShapeOf(strided.shape);
  if (!shape.has_value())
    return ToHost(NameForUser(*value) + " has more than three axes that are not 1");
  const int64_t channels = shape->channels * patch.kernel_y * patch.kernel_x;
  const bool plain = patch == Patch();
  for (const Packed& packed : packed_) {
    if (packed.value == value && packed.patch == patch && packed.order == order)
      return MapView{packed.map, 0, 0, 1, 1, height, width, channels};
  }
  const int index = NewMap(value->name(), height, width, channels);
  FeatureMap& map = out_.maps.back();
  map.codes = codes;
  if (plain) {
    map.border = BorderFor(value);
    map.fill = FillFor(value, codes);
  }
  const size_t rank = strided.shape.size();
  const auto stride_of = [&](size_t from_end) {
    return rank >= from_end ? strided.strides[rank - from_end] : 0;
  };
  Transfer transfer;
  transfer.slot = at.slot;
  transfer.map = index;
  transfer.image = {shape->height, shape->width, shape->channels, strided.offset,
                    stride_of(3),  stride_of(2), stride_of(1)};
  if (!plain) transfer.patch = patch;
  layer->transfers.push_back(transfer);
  packed_.push_back({value, patch, order, index});
  return MapView{index, 0, 0, 1, 1, height, width, channels};
}

HostView Lowering::OnHost(const Value* value, std::vector<Transfer>* transfers) {
  const Location& at = locations_.at(value);
  HostView view{at.slot, at.view.offset, at.view.shape, at.view.strides};
  if (at.map < 0) return view;
  if (const auto known = slot_of_map_.find(at.map); known != slot_of_map_.end()) {
    view.slot = known->second;
    return view;
  }
  const FeatureMap& map = out_.maps[static_cast<size_t>(at.map)];
  out_.slots.push_back(
      {map.name, ElementType::kFloat32, Shape{map.height, map.width, map.channels}, std::nullopt});
  view.slot = static_cast<int>(out_.slots.size()) - 1;
  slot_of_map_[at.map] = view.slot;
  Transfer transfer;
  transfer.to_map = false;
  transfer.slot = view.slot;
  transfer.map = at.map;
  transfers->push_back(transfer);
  return view;
}

Layer Lowering::NewLayer(const Group& group, std::string_view unit, std::string operation) const {
  Layer layer;
  layer.anchor = group.anchor;
  layer.info.name = KernelName(group.nodes);
  for (const Node* node : group.nodes) {
    layer.info.source_nodes.push_back(node->name());
    layer.info.macs += MacsOf(*node);
    layer.info.operations += OperationsOf(*node);
  }
  layer.info.unit = unit;
  layer.info.operation = std::move(operation);
  return layer;
}

// ---------------------------------------------------------------------------------------------------------------------
// Emission

StatusOr<bool> Lowering::EmitView(const Node& node) {
  const Value* from = node.operand(0);
  const Value* to = node.result();
  if (from == nullptr || to == nullptr || node.num_results() != 1 || from->is_constant())
    return false;
  // Codes must mean the same before and after; what is not rounded again may be a view of anything.
  if (to->quantisation().has_value()) {
    const auto before = CodesOf(*from), after = CodesOf(*to);
    if (!before.ok() || !after.ok() || *before != *after) return false;
  }
  const Location& at = locations_.at(from);
  const auto view = ViewThrough(node, at.view);
  if (!view.has_value()) return false;
  locations_[to] = {at.slot, at.map, *view};
  return true;
}

StatusOr<Layer> Lowering::EmitLayer(const Group& group) {
  const Node& node = *group.anchor;
  if (const auto refused = refusals_.find(&node); refused != refusals_.end())
    return ToHost(refused->second);
  if (group.result == nullptr || group.result->element() != ElementType::kFloat32) {
    return ToHost(fmt::format("{} of other elements than fp32", node.info().text));
  }
  if (node.op() == Op::kGather && !node.operand(1)->is_constant()) {
    return ToHost(fmt::format("an embedding look-up: its indices '{}' are known only at run time",
                              node.operand(1)->name()));
  }
  switch (node.op()) {
    case Op::kConv:
      return EmitConvolution(group);
    case Op::kMatMul:
      return EmitProduct(group);
    case Op::kAveragePool:
    case Op::kGlobalAveragePool:
      return EmitAveragePool(group);
    case Op::kReduceMean:
      return EmitMean(group);
    case Op::kPad:
      return EmitPad(group);
    case Op::kMaxPool:
    case Op::kGlobalMaxPool:
      return EmitMaxPool(group);
    default:
      return EmitElementwise(group);
  }
}

StatusOr<std::vector<Layer>> Lowering::EmitLayers(const Group& group) {
  if (group.anchor->op() == Op::kConcat && !refusals_.contains(group.anchor))
    return EmitConcat(group);
  KILN_ASSIGN_OR_RETURN(Layer layer, EmitLayer(group));
  std::vector<Layer> layers;
  layers.push_back(std::move(layer));
  return layers;
}

Status Lowering::Emit(const Group& group) {
  if (group.nodes.size() == 1) {
    KILN_ASSIGN_OR_RETURN(const bool viewed, EmitView(*group.anchor));
    if (viewed) return OkStatus();
  }
  // What a layer that comes to nothing has begun is taken back.
  const size_t maps = out_.maps.size(), slots = out_.slots.size(), packed = packed_.size();
  StatusOr<std::vector<Layer>> layers = EmitLayers(group);
  if (layers.ok()) {
    std::move(layers->begin(), layers->end(), std::back_inserter(out_.layers));
    return OkStatus();
  }
  if (layers.status().code() != StatusCode::kUnimplemented) return layers.status();
  out_.maps.resize(maps);
  std::erase_if(concat_maps_,
                [&](const auto& at) { return static_cast<size_t>(at.second) >= maps; });
  out_.slots.resize(slots);
  packed_.resize(packed);
  const std::string reason = MessageOf(layers.status());
  if (!options_.host_fallback) {
    return UnsupportedAt(graph_.source(), group.anchor->Describe(), reason,
                         "allow host fallback or change the network");
  }
  for (const Node* node : group.nodes) KILN_RETURN_IF_ERROR(EmitHost(*node, reason));
  return OkStatus();
}

Status Lowering::EmitHost(const Node& node, const std::string& reason) {
  Group group;
  group.nodes = {&node};
  Layer layer = NewLayer(group, "host", std::string(node.info().text));
  layer.info.host_reason = reason;
  HostLayer host;
  HostGraph copy = CopyForHost(graph_, group.nodes);
  for (const Value* input : copy.inputs) host.inputs.push_back(OnHost(input, &layer.transfers));
  for (const Value* output : copy.outputs) {
    host.outputs.push_back(NewSlot(*output));
    locations_[output] = {host.outputs.back(), -1, DenseView(output->shape())};
  }
  host.graph = std::make_shared<const Graph>(std::move(copy.graph));
  layer.host = std::move(host);
  out_.layers.push_back(std::move(layer));
  return OkStatus();
}

StatusOr<Network> Lowering::Run() {
  if (config_.block_in != config_.block_out || config_.input_bits != 8 ||
      config_.weight_bits != 8 || config_.accumulator_bits != 32) {
    return UnsupportedAt(
        "", config_.name,
        "the compiler takes 8-bit operands, 32-bit accumulators and one block size",
        "input_bits: 8, weight_bits: 8, accumulator_bits: 32, block_in as block_out");
  }
  for (const Value* value : graph_.Values()) {
    if (value->has_shape() && value->shape().IsKnown()) continue;
    return ErrorAt(graph_.source(), fmt::format("value '{}'", value->name()), "has no known shape",
                   "give the shapes of all inputs, batch 1");
  }
  Plan();
  for (const Value* input : graph_.inputs()) {
    const int slot = NewSlot(*input);
    locations_[input] = {slot, -1, DenseView(input->shape())};
    out_.inputs.push_back({input->name(), slot});
  }
  // A group is emitted where its last node stands: all that it reads has been emitted by then.
  std::vector<size_t> pending(groups_.size());
  for (size_t g = 0; g < groups_.size(); ++g) pending[g] = groups_[g].nodes.size();
  for (const auto& node : graph_.nodes()) {
    const size_t g = group_of_.at(node.get());
    if (--pending[g] == 0) KILN_RETURN_IF_ERROR(Emit(groups_[g]));
  }
  for (const Value* output : graph_.outputs()) {
    if (output->is_constant()) {
      return UnsupportedAt(graph_.source(), fmt::format("output '{}'", output->name()),
                           "is a constant", "");
    }
    out_.outputs.push_back(
        {output->name(), output->shape(), OnHost(output, &out_.final_transfers)});
  }
  return std::move(out_);
}

StatusOr<Network> Lower(const Graph& graph, const Config& config, const CompileOptions& options,
                        const Refusals& refusals) {
  return Lowering(graph, config, options, refusals).Run();
}

}  // namespace kiln::vta
