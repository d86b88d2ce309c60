// Lowering of a graph: chooses the nodes that each layer consists of, tracks where values are
// stored, and emits the layers. The lower_*.cc files emit the layers of single operators.

#include "kiln/targets/vta/compile/lower.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/ir/describe.h"
#include "kiln/ir/work.h"
#include "kiln/numerics/quantise.h"
#include "kiln/support/check.h"
#include "kiln/targets/interface/kernel_info.h"
#include "kiln/targets/lower/host_kernel.h"
#include "kiln/targets/lower/sign.h"
#include "kiln/targets/lower/view_steps.h"
#include "kiln/targets/vta/compile/lowering.h"

namespace kiln::vta {
namespace {

// Returns the element of an fp32 constant with exactly one element, else nullopt.
std::optional<double> ScalarOf(const Value* value) {
  if (value == nullptr || !value->is_constant() || value->element() != ElementType::kFloat32)
    return std::nullopt;
  if (value->constant().size() != 1) return std::nullopt;
  return value->constant().ValueAt(0);
}

const Value* OtherOperand(const Node& node, const Value* value) {
  return node.operand(node.operand(0) == value ? 1 : 0);
}

}  // namespace

std::vector<int64_t> ToChannelsLast(int rank) {
  std::vector<int64_t> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), int64_t{0});
  std::rotate(perm.begin() + 1, perm.begin() + 2, perm.end());
  return perm;
}

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

// -------------------------------------------------------------------------------------------------
// Planning

void Lowering::FollowBias(Group* group) {
  while (const Node* next = partition_.Follower(group->result)) {
    if (next->op() != Op::kAdd) return;
    const Value* other = OtherOperand(*next, group->result);
    if (!IsConstantPerChannel(other, group->result->shape())) return;
    group->bias.push_back(other);
    group->nodes.push_back(next);
    group->result = next->result();
  }
}

void Lowering::FollowResidual(Group* group) {
  const Node* next = partition_.Follower(group->result);
  if (next == nullptr || next->op() != Op::kAdd) return;
  const Value* other = OtherOperand(*next, group->result);
  // Residuals are added only between codes: 32-bit sums would need one rounding more than two
  // separate layers do.
  if (other == group->result || other->is_constant() || other->shape() != group->result->shape())
    return;
  // If two layers are added, the one with more MACs performs the addition, because its ALU has more
  // time for it.
  const Node* producer = other->producer();
  if (producer != nullptr && !partition_.IsTaken(producer) && other->users().size() == 1 &&
      !IsGraphOutput(graph_, other) && MacsOf(*producer) > MacsOf(*group->anchor)) {
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
  while (const Node* next = partition_.Follower(group->result)) {
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

void Lowering::FollowSign(Group* group) {
  const Node* next = partition_.Follower(group->result);
  if (next == nullptr) return;
  const std::vector<const Node*> sign = SignFrom(graph_, *next);
  if (sign.empty() || !CodesOf(*sign.back()->result()).ok()) return;
  group->nodes.insert(group->nodes.end(), sign.begin(), sign.end());
  group->result = sign.back()->result();
  group->sign = SizeOfSign(sign);
  group->text += " + sign";
}

void Lowering::PlanSign(Group* group) {
  group->nodes = SignFrom(graph_, *group->anchor);
  group->result = group->nodes.back()->result();
  group->sign = SizeOfSign(group->nodes);
}

void Lowering::FollowProduct(Group* group) {
  FollowBias(group);
  FollowSign(group);
  if (group->sign.has_value()) return;
  FollowResidual(group);
  if (group->residual == nullptr) FollowClamp(group);
}

std::vector<Pattern<Group>> Lowering::Patterns() {
  const auto follow = [this](void (Lowering::*follower)(Group*)) {
    return [this, follower](Group* group) {
      group->result = group->anchor->result();
      const bool one_fp32 = group->result != nullptr && group->anchor->num_results() == 1 &&
                            group->result->element() == ElementType::kFloat32;
      if (follower != nullptr && one_fp32) (this->*follower)(group);
      return OkStatus();
    };
  };
  const auto alone = follow(nullptr);
  const auto emit = [this](StatusOr<Layer> (Lowering::*emitter)(const Group&)) {
    const auto layers = [this, emitter](const Group& group) -> StatusOr<std::vector<Layer>> {
      if (group.result == nullptr || group.result->element() != ElementType::kFloat32) {
        return ToHost(fmt::format("{} of other elements than fp32", group.anchor->info().text));
      }
      KILN_ASSIGN_OR_RETURN(Layer layer, (this->*emitter)(group));
      std::vector<Layer> one;
      one.push_back(std::move(layer));
      return one;
    };
    return [this, layers](const Group& group) { return Emit(group, layers); };
  };
  const auto emit_concat = [this](const Group& group) {
    return Emit(group, [this](const Group& concat) { return EmitConcat(concat); });
  };
  return {
      {"convolution", AnyOf({Op::kConv}), follow(&Lowering::FollowProduct),
       emit(&Lowering::EmitConvolution)},
      {"product", AnyOf({Op::kMatMul}), follow(&Lowering::FollowProduct),
       emit(&Lowering::EmitProduct)},
      {"average pool", AnyOf({Op::kAveragePool, Op::kGlobalAveragePool}),
       follow(&Lowering::FollowClamp), emit(&Lowering::EmitAveragePool)},
      {"mean", AnyOf({Op::kReduceMean}), follow(&Lowering::FollowClamp), emit(&Lowering::EmitMean)},
      {"maximum pool", AnyOf({Op::kMaxPool, Op::kGlobalMaxPool}), alone,
       emit(&Lowering::EmitMaxPool)},
      {"pad", AnyOf({Op::kPad}), alone, emit(&Lowering::EmitPad)},
      {"concat", AnyOf({Op::kConcat}), alone, emit_concat},
      {"gather", AnyOf({Op::kGather}), alone, emit(&Lowering::EmitGather)},
      {"sign", [this](const Node& node) { return !SignFrom(graph_, node).empty(); },
       follow(&Lowering::PlanSign), emit(&Lowering::EmitElementwise)},
      {"element-wise, clamped", AnyOf({Op::kAdd, Op::kSub, Op::kMul, Op::kMax, Op::kMin}),
       follow(&Lowering::FollowClamp), emit(&Lowering::EmitElementwise)},
      {"element-wise", AnyNode(), alone, emit(&Lowering::EmitElementwise)},
  };
}

// -------------------------------------------------------------------------------------------------
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
  // Unsigned codes are stored less half their range.
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

// Returns the windows of a node over its operand 0, or an empty vector if it has none.
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

// Returns the nodes that read a value's pixels: its users, and the users of its transpositions to
// NHWC.
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
  const StridedView& view = locations_.at(value).view;
  return order == Order::kChannelsLast ? view : Transposed(view, ToChannelsLast(view.rank()));
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
  StridedView view = RowMajorView(shape.dims());
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
  // A single row of pixels that covers the whole map is read in the map's own rows.
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
  HostView view{at.slot, at.view};
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
  layer.info = KernelInfoOf(group.nodes, unit, std::move(operation));
  layer.info.unrounded_values = ValuesWithin(group.nodes);
  return layer;
}

// -------------------------------------------------------------------------------------------------
// Emission

namespace {

// Returns whether a view repeats pixels or reverses their order, which layers cannot read.
bool RepeatsOrReverses(const ViewStep& step) {
  return step.kind == ViewStep::Kind::kBroadcast ||
         (step.kind == ViewStep::Kind::kSlice && step.range.step < 0);
}

// Refuses a design point whose sizes only hand-written programs can use, and names its keys.
Status CheckSizes(const Config& config) {
  struct Size {
    const char* key;
    int value, right;
  };
  std::vector<std::string> wrong, right;
  for (const Size& size :
       {Size{"input_bits", config.input_bits, 8}, Size{"weight_bits", config.weight_bits, 8},
        Size{"accumulator_bits", config.accumulator_bits, 32},
        Size{"block_out", config.block_out, config.block_in}}) {
    if (size.value == size.right) continue;
    wrong.push_back(fmt::format("{}: {}", size.key, size.value));
    right.push_back(fmt::format("{}: {}", size.key, size.right));
  }
  if (wrong.empty()) return OkStatus();
  return UnsupportedAt(
      "", config.name,
      fmt::format("the compiler serves no machine with '{}'", fmt::join(wrong, "', '")),
      fmt::format("'{}'; programs of instructions run on every design point (`kiln vta replay`)",
                  fmt::join(right, "', '")));
}

}  // namespace

bool Lowering::EmitView(const Node& node) {
  const Value* from = node.operand(0);
  const Value* to = node.result();
  if (from == nullptr || to == nullptr || node.num_results() != 1 || from->is_constant())
    return false;
  // If the result is rounded, its codes must have the same meaning as before. A result that is not
  // rounded may be a view of any value.
  if (to->quantisation().has_value()) {
    const auto before = CodesOf(*from), after = CodesOf(*to);
    if (!before.ok() || !after.ok() || *before != *after) return false;
  }
  const auto steps = ViewStepsOf(node);
  if (!steps.ok() || std::any_of(steps->begin(), steps->end(), RepeatsOrReverses)) return false;
  const Location& at = locations_.at(from);
  const auto view = Apply(*steps, at.view);
  if (!view.has_value() || view->elements() == 0) return false;
  locations_[to] = {at.slot, at.map, *view};
  return true;
}

Status Lowering::Emit(const Group& group, const Emitter& emitter) {
  if (group.nodes.size() == 1 && EmitView(*group.anchor)) return OkStatus();
  if (const auto refused = refusals_.find(group.anchor); refused != refusals_.end())
    return ToHost(refused->second);
  const size_t maps = out_.maps.size(), slots = out_.slots.size(), packed = packed_.size();
  StatusOr<std::vector<Layer>> layers = emitter(group);
  if (layers.ok()) {
    std::move(layers->begin(), layers->end(), std::back_inserter(out_.layers));
    return OkStatus();
  }
  // Undo what the refused layer has added.
  out_.maps.resize(maps);
  std::erase_if(concat_maps_,
                [&](const auto& at) { return static_cast<size_t>(at.second) >= maps; });
  out_.slots.resize(slots);
  packed_.resize(packed);
  return layers.status();
}

StatusOr<Layer> Lowering::EmitGather(const Group& group) {
  const Value* indices = group.anchor->operand(1);
  if (indices->is_constant()) return EmitElementwise(group);
  return ToHost(fmt::format("an embedding look-up: its indices '{}' are known only at run time",
                            indices->name()));
}

void Lowering::EmitHost(const Group& group, const std::string& reason) {
  const HostNodes nodes{group.nodes, reason};
  HostKernel kernel = MakeHostKernel(graph_, {&nodes, 1});
  Layer layer;
  layer.info = std::move(kernel.info);
  HostLayer host;
  for (const Value* input : kernel.host.inputs)
    host.inputs.push_back(OnHost(input, &layer.transfers));
  for (const Value* output : kernel.host.outputs) {
    host.outputs.push_back(NewSlot(*output));
    locations_[output] = {host.outputs.back(), -1, RowMajorView(output->shape().dims())};
  }
  host.graph = std::make_shared<const Graph>(std::move(kernel.host.graph));
  layer.host = std::move(host);
  out_.layers.push_back(std::move(layer));
}

StatusOr<Network> Lowering::Run() {
  KILN_RETURN_IF_ERROR(CheckSizes(config_));
  KILN_RETURN_IF_ERROR(CheckKnownShapes(graph_));
  for (const auto& node : graph_.nodes()) {
    if (node->op() == Op::kConcat) PlanConcat(*node);
  }
  KILN_RETURN_IF_ERROR(partition_.Plan());
  for (const Value* input : graph_.inputs()) {
    const int slot = NewSlot(*input);
    locations_[input] = {slot, -1, RowMajorView(input->shape().dims())};
    out_.inputs.push_back({input->name(), slot});
  }
  const auto to_host = [this](const Group& group, const std::string& reason) {
    EmitHost(group, reason);
    return OkStatus();
  };
  KILN_RETURN_IF_ERROR(partition_.Emit(options_, to_host));
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
