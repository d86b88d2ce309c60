// Lowers the operators that join images or extend them: Concat of channels, and Pad.
#include <algorithm>
#include <cmath>
#include <optional>

#include "fmt/format.h"
#include "kiln/targets/vta/compile/lowering.h"

namespace kiln::vta {
namespace {

// The 8-bit weight that represents one. With this value, biases are rounded to 1/64 of a code.
constexpr int32_t kOne = 64;
constexpr double kMostRatio = 16;  // greatest ratio of an operand's scale to the result's

// Returns a product that moves channels to the positions from `first` on.
LinearLayer MovedChannels(int64_t in, int64_t out, int64_t first) {
  LinearLayer linear;
  linear.in_channels = in;
  linear.out_channels = out;
  linear.weight = [first](int64_t o, int64_t c, int64_t, int64_t) {
    return o == c + first ? kOne : 0;
  };
  linear.scales.assign(static_cast<size_t>(out), 1.0 / kOne);
  return linear;
}

int64_t AxisOf(const Node& concat) {
  const int64_t axis = concat.attributes().Int("axis", 0);
  return axis < 0 ? axis + concat.result()->shape().rank() : axis;
}

}  // namespace

// -------------------------------------------------------------------------------------------------
// Concat

void Lowering::PlanConcat(const Node& node) {
  const Value* result = node.result();
  if (refusals_.contains(&node) || result == nullptr) return;
  const int last = result->shape().rank() - 1;
  const auto codes = CodesOf(*result);
  if (AxisOf(node) != last || !codes.ok() || !ImageShapeOf(result->shape().dims()).has_value())
    return;
  int64_t first = 0;
  for (const Value* operand : node.operands()) {
    const int64_t channels = operand->shape()[last];
    const bool blocks =
        first % config_.block_out == 0 &&
        (channels % config_.block_out == 0 || first + channels == result->shape()[last]);
    const bool only_here = !operand->is_constant() && operand->users().size() == 1 &&
                           !IsGraphOutput(graph_, operand) &&
                           std::count(node.operands().begin(), node.operands().end(), operand) == 1;
    if (blocks && only_here) {
      const auto own = CodesOf(*operand);
      if (own.ok() && *own == *codes) joined_[operand] = {&node, first};
    }
    first += channels;
  }
}

int Lowering::ConcatMap(const Node& concat, int64_t height, int64_t width, int64_t channels) {
  if (const auto known = concat_maps_.find(&concat); known != concat_maps_.end())
    return known->second;
  const auto map = ResultMap(concat.result(), height, width, channels);
  KILN_CHECK(map.ok());  // PlanConcat or EmitConcat has checked its codes
  return concat_maps_[&concat] = *map;
}

StatusOr<std::vector<Layer>> Lowering::EmitConcat(const Group& group) {
  const Node& node = *group.anchor;
  const Shape& shape = group.result->shape();
  const int64_t axis = AxisOf(node);
  const bool second = axis == 1 && shape.rank() == 4;
  if (axis != shape.rank() - 1 && !second)
    return ToHost("a Concat along something else than channels");
  const Order order = second ? Order::kChannelsSecond : Order::kChannelsLast;
  KILN_RETURN_IF_ERROR(CodesOf(*group.result).status());
  int64_t first = 0;
  bool blocks = true;
  for (const Value* operand : node.operands()) {
    if (operand->is_constant()) return ToHost(fmt::format("'{}' is a constant", operand->name()));
    KILN_RETURN_IF_ERROR(CodesOf(*operand).status());
    blocks &= first % config_.block_out == 0;
    first += operand->shape()[static_cast<int>(axis)];
  }
  return blocks ? CopyBlocks(group, order) : AddChannels(group, order);
}

// Copies `from` to the map `to`, converted to the codes of the map.
StatusOr<Layer> Lowering::EmitCopy(const Group& group, const Value* from, int to, Order order) {
  const FeatureMap map = out_.maps[static_cast<size_t>(to)];
  Layer layer =
      NewLayer(group, "alu", fmt::format("copy {} @{}x{}", map.channels, map.height, map.width));
  KILN_ASSIGN_OR_RETURN(const Codes codes, CodesOf(*from));
  KILN_ASSIGN_OR_RETURN(const MapView view, OnMachine(from, &layer, order));
  if (view.x_step != 1 || view.height != map.height || view.width != map.width ||
      view.channels != map.channels) {
    return ToHost("operands in different layouts");
  }
  VectorLayer vector;
  vector.inputs = {view};
  vector.output = to;
  if (map.wide || codes != map.codes) {
    Formula same;
    same.terms = {{0}};
    KILN_ASSIGN_OR_RETURN(FormulaCode code,
                          CodeOf(same, {codes}, {}, {map.wide, map.codes, codes.scale}));
    vector.steps = std::move(code.steps);
  }
  layer.vector = std::move(vector);
  return layer;
}

StatusOr<std::vector<Layer>> Lowering::CopyBlocks(const Group& group, Order order) {
  const Node& node = *group.anchor;
  const Shape& shape = group.result->shape();
  const int axis = static_cast<int>(AxisOf(node));
  std::optional<ImageShape> image = ImageShapeOf(shape.dims());
  if (order == Order::kChannelsSecond) image = ImageShape{shape[2], shape[3], shape[1]};
  if (!image.has_value()) return ToHost("a Concat of more than one image");
  const int whole = ConcatMap(node, image->height, image->width, image->channels);
  std::vector<Layer> layers;
  int64_t first = 0;
  for (const Value* operand : node.operands()) {
    const int64_t first_block = first / config_.block_out;
    first += operand->shape()[axis];
    const Location& at = locations_.at(operand);
    const auto place = at.map < 0 ? std::nullopt : out_.maps[static_cast<size_t>(at.map)].inside;
    if (place.has_value() && place->map == whole && place->first_block == first_block &&
        joined_.contains(operand)) {
      continue;
    }
    FeatureMap part = out_.maps[static_cast<size_t>(whole)];
    part.name = fmt::format("{} {}", group.result->name(), layers.size());
    part.channels = operand->shape()[axis];
    part.inside = FeatureMap::Place{whole, first_block};
    out_.maps.push_back(std::move(part));
    KILN_ASSIGN_OR_RETURN(Layer layer,
                          EmitCopy(group, operand, static_cast<int>(out_.maps.size()) - 1, order));
    if (!layers.empty()) layer.info.operations = 0;  // the first layer counts the node's
    layers.push_back(std::move(layer));
  }
  locations_[group.result] = {-1, whole, StandingOf(shape, order)};
  return layers;
}

// Adds up the operands: a product moves each one to its channels, with zeros in all others, and
// adds the sum of the previous ones as a residual.
StatusOr<std::vector<Layer>> Lowering::AddChannels(const Group& group, Order order) {
  const Node& node = *group.anchor;
  const Shape& shape = group.result->shape();
  const int axis = static_cast<int>(AxisOf(node));
  KILN_ASSIGN_OR_RETURN(const Codes codes, CodesOf(*group.result));
  std::vector<Layer> layers;
  int64_t first = 0;
  const Value* before = nullptr;
  for (int i = 0; i < node.num_operands(); ++i) {
    const Value* operand = node.operand(i);
    KILN_ASSIGN_OR_RETURN(const Codes own, CodesOf(*operand));
    if (own.scale > kMostRatio * codes.scale)
      return ToHost("operands in far coarser steps than the result");
    LinearLayer linear = MovedChannels(operand->shape()[axis], shape[axis], first);
    linear.channels_second = order == Order::kChannelsSecond;
    const Shape in = operand->shape();
    const auto image = linear.channels_second ? std::optional(ImageShape{in[2], in[3], in[1]})
                                              : ImageShapeOf(in.dims());
    if (!image.has_value()) return ToHost("a Concat of more than one image");
    linear.out_height = image->height;
    linear.out_width = image->width;
    Group part = group;
    part.residual = before;
    const bool last = i + 1 == node.num_operands();
    if (!last) {
      const Shape dense{1, image->height, image->width, shape[axis]};
      Value* sum = partial_.AddInput(fmt::format("{} {}", group.result->name(), i),
                                     {ElementType::kFloat32, dense});
      sum->set_quantisation(*group.result->quantisation());
      part.result = sum;
    }
    Layer layer =
        NewLayer(part, "gemm", fmt::format("channels {} to {}", linear.in_channels, first));
    if (i > 0) layer.info.operations = 0;  // the first layer counts the node's
    const bool second = linear.channels_second;
    KILN_RETURN_IF_ERROR(FillLinear(part, std::move(linear), operand, &layer));
    if (!last && second) locations_[part.result].view = RowMajorView(part.result->shape().dims());
    layers.push_back(std::move(layer));
    before = part.result;
    first += operand->shape()[axis];
  }
  return layers;
}

// -------------------------------------------------------------------------------------------------
// Pad

StatusOr<Layer> Lowering::EmitPad(const Group& group) {
  const Node& node = *group.anchor;
  const Value *x = node.operand(0), *pads = node.operand(1), *value = node.operand(2);
  const auto other = [] {
    return ToHost("a Pad of something else than channels or pixels with a constant");
  };
  if (node.attributes().String("mode", "constant") != "constant" || pads == nullptr ||
      !pads->is_constant())
    return other();
  if (node.operand(3) != nullptr || (value != nullptr && !value->is_constant())) return other();
  const double number = value == nullptr ? 0 : value->constant().ValueAt(0);
  std::vector<int64_t> amounts = pads->constant().ToInts();
  const int64_t rank = x->shape().rank();
  if (std::ssize(amounts) != 2 * rank ||
      std::any_of(amounts.begin(), amounts.end(), [](int64_t a) { return a < 0; }))
    return other();
  const Order order = OrderOf(node);
  std::vector<int64_t> before(amounts.begin(), amounts.begin() + rank),
      after(amounts.begin() + rank, amounts.end());
  if (order == Order::kChannelsSecond) {
    for (auto* side : {&before, &after})
      std::rotate(side->begin() + 1, side->begin() + 2, side->end());
  }
  const bool channels = before.back() > 0 || after.back() > 0;
  bool pixels = false, images = false;
  for (int64_t i = 0; i + 1 < rank; ++i) {
    const auto a = static_cast<size_t>(i);
    (rank - i <= 3 ? pixels : images) |= before[a] > 0 || after[a] > 0;
  }
  if (images || (channels && (pixels || number != 0))) return other();
  return channels ? EmitChannelPad(group, before.back(), order)
                  : EmitPixelPad(group, before, number, order);
}

// Pads channels with zeros by a product with a matrix of zeros and ones.
StatusOr<Layer> Lowering::EmitChannelPad(const Group& group, int64_t before, Order order) {
  const Shape &from = group.anchor->operand(0)->shape(), &to = group.result->shape();
  const bool second = order == Order::kChannelsSecond;
  const auto image =
      second ? std::optional(ImageShape{from[2], from[3], from[1]}) : ImageShapeOf(from.dims());
  if (!image.has_value()) return ToHost("a Pad of more than one image");
  LinearLayer linear = MovedChannels(image->channels, to[second ? 1 : to.rank() - 1], before);
  linear.channels_second = second;
  linear.out_height = image->height;
  linear.out_width = image->width;
  Layer layer = NewLayer(group, "gemm",
                         fmt::format("channels {} to {} of {} @{}x{}", image->channels, before,
                                     linear.out_channels, image->height, image->width));
  KILN_RETURN_IF_ERROR(FillLinear(group, std::move(linear), group.anchor->operand(0), &layer));
  return layer;
}

// Pads pixels by a copy into the middle of a larger map, whose surrounding pixels hold the
// padding's number from the start.
StatusOr<Layer> Lowering::EmitPixelPad(const Group& group, const std::vector<int64_t>& before,
                                       double number, Order order) {
  const Value* x = group.anchor->operand(0);
  const auto rotated = [&](const Shape& shape) {
    std::vector<int64_t> dims = shape.dims();
    if (order == Order::kChannelsSecond)
      std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
    return ImageShapeOf(dims);
  };
  const auto from = rotated(x->shape()), to = rotated(group.result->shape());
  if (!from.has_value() || !to.has_value()) return ToHost("a Pad of more than one image");
  KILN_ASSIGN_OR_RETURN(const int whole,
                        ResultMap(group.result, to->height, to->width, to->channels));
  FeatureMap& map = out_.maps[static_cast<size_t>(whole)];
  int32_t fill = 0;
  if (map.wide) {
    KILN_ASSIGN_OR_RETURN(const Codes codes, CodesOf(*x));
    map.scales.assign(static_cast<size_t>(to->channels), codes.scale);
    if (number != 0)
      return ToHost("a Pad with another number than zero whose result is not quantised");
  } else {
    fill = NearestCode(number, map.codes);
    const Border& b = map.border;
    if (fill != map.fill && b.top + b.left + b.bottom + b.right > 0) {
      return ToHost("a Pad with another number than the one that surrounds its result");
    }
  }
  const size_t rank = before.size();
  const int64_t top = rank >= 3 ? before[rank - 3] : 0, left = rank >= 2 ? before[rank - 2] : 0;
  FeatureMap part = map;
  part.name = group.result->name() + " inside";
  part.height = from->height;
  part.width = from->width;
  part.border.top += top;
  part.border.left += left;
  part.border.bottom += to->height - from->height - top;
  part.border.right += to->width - from->width - left;
  part.fill = fill;
  part.inside = FeatureMap::Place{whole, 0};
  out_.maps.push_back(std::move(part));
  KILN_ASSIGN_OR_RETURN(Layer layer,
                        EmitCopy(group, x, static_cast<int>(out_.maps.size()) - 1, order));
  layer.info.operation = fmt::format("pad {} @{}x{}", to->channels, to->height, to->width);
  locations_[group.result] = {-1, whole, StandingOf(group.result->shape(), order)};
  return layer;
}

}  // namespace kiln::vta
