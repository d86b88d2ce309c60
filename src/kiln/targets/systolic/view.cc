#include "kiln/targets/systolic/view.h"

#include <algorithm>
#include <cmath>

#include "fmt/format.h"
#include "kiln/numerics/quantise.h"
#include "kiln/support/check.h"

namespace kiln::systolic {
namespace {

constexpr int64_t kMaxJoined =
    1 << 22;  // iterations that neighbouring loops are joined to, within what isa_check accepts

}  // namespace

bool Encoding::SameCodes(const Encoding& other) const {
  if (type != other.type || element != other.element || block_size != other.block_size)
    return false;
  if ((foreign == nullptr) != (other.foreign == nullptr)) return false;
  if (foreign != nullptr) {
    const Quantisation &a = *foreign, &b = *other.foreign;
    return a.type == b.type && a.scales == b.scales && a.zero_points == b.zero_points &&
           a.type.scheme != Scheme::kPerBlock;
  }
  return is_float() || (scale == other.scale && zero_point == other.zero_point);
}

Encoding VectorEncoding(const Config& config) {
  Encoding e;
  if (!config.narrow_vector()) return e;
  e.element = Element::kVector;
  e.format = config.vector_format;
  e.bytes = e.format.bytes();
  return e;
}

namespace {

Encoding Foreign(const Quantisation& q) {
  Encoding e;
  e.foreign = std::make_shared<const Quantisation>(q);
  return e;
}

// Integers that round to nearest even and saturate, as the vector unit writes them.
bool IsPlainInteger(const Format& format) {
  return format.is_integer() && format.rounding == Rounding::kNearestEven &&
         format.overflow == Overflow::kSaturate;
}

Encoding IntegerEncoding(const Quantisation& q, float scale) {
  const Format& format = q.type.format;
  const CodeRange codes = CodesOf(format, q.type.symmetric);
  Encoding e;
  e.format = format;
  e.low = static_cast<int32_t>(codes.low);
  e.high = static_cast<int32_t>(codes.high);
  e.scale = std::ldexp(scale, -format.fraction_bits);
  e.zero_point = q.zero_points.empty() ? 0 : q.zero_points[0];
  if (!format.is_signed && format.bits <= 8) {
    // The array multiplies signed codes: c and its zero point stand less 2^(bits - 1), which changes no value.
    const int32_t half = 1 << (format.bits - 1);
    e.low -= half;
    e.high -= half;
    e.zero_point -= half;
    e.element = Element::kInt8;
  } else if (codes.low >= -128 && codes.high <= 127) {
    e.element = Element::kInt8;
  } else {
    e.element = codes.high <= 32767 ? Element::kInt16 : Element::kInt32;
  }
  e.bytes = e.element == Element::kInt8 ? 1 : e.element == Element::kInt16 ? 2 : 4;
  return e;
}

// The first of the design point's elements that are codes of a format.
std::optional<Element> ElementOf(const Format& format, const Config& config) {
  for (int p = 0; p < config.precisions(); ++p) {
    if (format == config.input_format_of(p)) return InputElement(p);
    if (format == config.weight_format_of(p)) return WeightElement(p);
  }
  return std::nullopt;
}

}  // namespace

StatusOr<Encoding> EncodingOf(const Value& value, const Config& config) {
  Encoding e;
  e.type = value.element();
  if (e.type != ElementType::kFloat32) {
    if (IsFloat(e.type)) return e;
    if (IsInteger(e.type) || e.type == ElementType::kBool) {
      e.element = Element::kInt32;
      return e;
    }
    return UnsupportedAt("", fmt::format("value '{}'", value.name()),
                         fmt::format("has elements of type {}", NameOf(e.type)), "use f32");
  }
  if (!value.quantisation().has_value()) return VectorEncoding(config);
  const Quantisation& q = *value.quantisation();
  const Format& format = q.type.format;
  if (q.type.scheme == Scheme::kPerBlock) {
    // Scales that stand in the annotation are none that the quantiser would find.
    const bool fits = q.scales.empty() && format == config.input_format &&
                      q.type.block_size == config.block_size &&
                      q.type.scale_format == config.scale_format && value.has_shape() &&
                      q.axis >= 0 && q.axis < value.shape().rank();
    if (!fits) return Foreign(q);
    e.element = Element::kInput;
    e.format = format;
    e.bytes = format.bytes();
    e.block_size = config.block_size;
    e.block_axis = q.axis;
    e.scale_format = config.scale_format;
    return e;
  }
  if (q.scales.size() > 1 || q.zero_points.size() > 1) return Foreign(q);
  const float scale = q.scales.empty() ? 1.0f : q.scales[0];
  const bool has_zero_point = !q.zero_points.empty() && q.zero_points[0] != 0;
  if (IsPlainInteger(format) && format.bits <= 16) return IntegerEncoding(q, scale);
  if (format.name == "fp32" && scale == 1.0f) return e;
  if (format == config.vector_format && scale == 1.0f) return VectorEncoding(config);
  const std::optional<Element> element = has_zero_point ? std::nullopt : ElementOf(format, config);
  if (!element.has_value()) return Foreign(q);
  e.element = *element;
  e.format = format;
  e.bytes = format.bytes();
  e.scale = scale;
  return e;
}

int64_t View::elements() const {
  int64_t count = 1;
  for (int64_t dim : shape) count *= dim;
  return count;
}

bool SamePlaces(const View& a, const View& b) {
  if (a.buffer != b.buffer || a.offset != b.offset || a.shape != b.shape) return false;
  for (size_t i = 0; i < a.shape.size(); ++i) {
    if (a.shape[i] > 1 && a.strides[i] != b.strides[i]) return false;
  }
  return true;
}

namespace {

// The axis along which block scales lie becomes the last one.
std::vector<size_t> MemoryOrder(size_t rank, const Encoding& encoding) {
  std::vector<size_t> order;
  for (size_t i = 0; i < rank; ++i) {
    if (!encoding.blocked() || i != static_cast<size_t>(encoding.block_axis)) order.push_back(i);
  }
  if (encoding.blocked()) order.push_back(static_cast<size_t>(encoding.block_axis));
  return order;
}

}  // namespace

View DenseView(int buffer, int scales, const Shape& shape, const Encoding& encoding) {
  View view{buffer, 0, shape.dims(), std::vector<int64_t>(shape.dims().size()), encoding, {}};
  const std::vector<size_t> order = MemoryOrder(view.shape.size(), encoding);
  int64_t stride = encoding.bytes;
  for (size_t i = order.size(); i-- > 0;) {
    view.strides[order[i]] = stride;
    stride *= view.shape[order[i]];
  }
  if (!encoding.blocked()) return view;
  view.blocks = {encoding.block_axis, scales, 0, std::vector<int64_t>(view.shape.size())};
  stride = encoding.scale_format.bytes();
  for (size_t i = order.size(); i-- > 0;) {
    const size_t axis = order[i];
    view.blocks.strides[axis] = stride;
    const bool along = axis == static_cast<size_t>(encoding.block_axis);
    stride *= along ? (view.shape[axis] + encoding.block_size - 1) / encoding.block_size
                    : view.shape[axis];
  }
  return view;
}

int64_t ScaleBytes(const Shape& shape, const Encoding& encoding) {
  int64_t count = encoding.scale_format.bytes();
  for (int i = 0; i < shape.rank(); ++i) {
    count *= i == encoding.block_axis ? (shape[i] + encoding.block_size - 1) / encoding.block_size
                                      : shape[i];
  }
  return count;
}

bool IsDense(const View& view) {
  int64_t stride = view.encoding.bytes;
  for (size_t i = view.shape.size(); i-- > 0;) {
    if (view.shape[i] > 1 && view.strides[i] != stride) return false;
    stride *= view.shape[i];
  }
  return true;
}

View Transposed(const View& view, std::span<const int64_t> perm) {
  KILN_CHECK(perm.size() == view.shape.size());
  View out = view;
  for (size_t i = 0; i < perm.size(); ++i) {
    const size_t from = static_cast<size_t>(perm[i]);
    out.shape[i] = view.shape[from];
    out.strides[i] = view.strides[from];
    if (!view.blocked()) continue;
    out.blocks.strides[i] = view.blocks.strides[from];
    if (perm[i] == view.blocks.axis) out.blocks.axis = static_cast<int>(i);
  }
  return out;
}

bool CanSlice(const View& view, int axis, int64_t start, int64_t step) {
  return !view.blocked() || axis != view.blocks.axis ||
         (start % view.encoding.block_size == 0 && step == 1);
}

View Sliced(const View& view, int axis, int64_t start, int64_t step, int64_t count) {
  KILN_CHECK(CanSlice(view, axis, start, step));
  View out = view;
  const size_t a = static_cast<size_t>(axis);
  out.offset += start * view.strides[a];
  out.shape[a] = count;
  out.strides[a] = step * view.strides[a];
  if (!view.blocked()) return out;
  const bool along = axis == view.blocks.axis;
  out.blocks.offset += (along ? start / view.encoding.block_size : start) * view.blocks.strides[a];
  if (!along) out.blocks.strides[a] *= step;
  return out;
}

namespace {

// The axis of the new shape that is axis `axis` of the old one, with the same elements before it and as many along it.
std::optional<size_t> SameAxis(std::span<const int64_t> old_shape, size_t axis,
                               std::span<const int64_t> shape) {
  int64_t before = 1, so_far = 1;
  for (size_t i = 0; i < axis; ++i) before *= old_shape[i];
  for (size_t i = 0; i < shape.size(); ++i) {
    if (so_far == before && shape[i] == old_shape[axis]) return i;
    so_far *= shape[i];
  }
  return std::nullopt;
}

std::optional<View> ReshapedElements(const View& view, std::span<const int64_t> shape);

// The scales under the new shape: one each of what is not along the blocks.
std::optional<BlockView> ReshapedBlocks(const View& view, std::span<const int64_t> shape) {
  const size_t axis = static_cast<size_t>(view.blocks.axis);
  const auto to = SameAxis(view.shape, axis, shape);
  if (!to.has_value()) return std::nullopt;
  View scales{view.blocks.buffer, view.blocks.offset, view.shape, view.blocks.strides, {}, {}};
  scales.shape[axis] = 1;
  std::vector<int64_t> target(shape.begin(), shape.end());
  target[*to] = 1;
  auto reshaped = ReshapedElements(scales, target);
  if (!reshaped.has_value()) return std::nullopt;
  BlockView blocks{static_cast<int>(*to), scales.buffer, scales.offset,
                   std::move(reshaped->strides)};
  blocks.strides[*to] = view.blocks.strides[axis];
  return blocks;
}

}  // namespace

std::optional<View> Reshaped(const View& view, std::span<const int64_t> shape) {
  auto out = ReshapedElements(view, shape);
  if (!out.has_value() || !view.blocked()) return out;
  const auto blocks = ReshapedBlocks(view, shape);
  if (!blocks.has_value()) return std::nullopt;
  out->blocks = *blocks;
  return out;
}

namespace {

std::optional<View> ReshapedElements(const View& view, std::span<const int64_t> shape) {
  View out = view;
  out.shape.assign(shape.begin(), shape.end());
  KILN_CHECK(out.elements() == view.elements());
  out.strides.assign(shape.size(), 0);
  // Stretches of old axes that are walked with one stride, innermost last.
  const std::vector<Loop> loops = [&] {
    View codes = view;
    codes.blocks = {};
    const View* views[] = {&codes};
    return LoopsOver(views, /*keep_last=*/false);
  }();
  // New axes are filled from the innermost; each must divide what is left of its stretch.
  size_t at = loops.size();
  int64_t left = 1, stride = 0;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    if (left == 1) {
      if (at == 0) return std::nullopt;
      --at;
      left = loops[at].count;
      stride = loops[at].strides[0];
    }
    if (left % shape[i] != 0) return std::nullopt;
    out.strides[i] = stride;
    stride *= shape[i];
    left /= shape[i];
  }
  return out;
}

}  // namespace

View Broadcast(const View& view, std::span<const int64_t> shape) {
  KILN_CHECK(view.shape.size() <= shape.size());
  View out = view;
  out.shape.assign(shape.begin(), shape.end());
  out.strides.assign(shape.size(), 0);
  const size_t shift = shape.size() - view.shape.size();
  for (size_t i = 0; i < view.shape.size(); ++i) {
    KILN_CHECK(view.shape[i] == 1 || view.shape[i] == shape[i + shift]);
    out.strides[i + shift] = view.shape[i] == 1 ? 0 : view.strides[i];
  }
  if (!view.blocked()) return out;
  out.blocks.axis = view.blocks.axis + static_cast<int>(shift);
  out.blocks.strides.assign(shape.size(), 0);
  for (size_t i = 0; i < view.shape.size(); ++i) {
    const bool along = static_cast<int>(i) == view.blocks.axis;
    out.blocks.strides[i + shift] = view.shape[i] == 1 && !along ? 0 : view.blocks.strides[i];
  }
  return out;
}

std::vector<Loop> LoopsOver(std::span<const View* const> views, bool keep_last) {
  const std::vector<int64_t>& shape = views[0]->shape;
  std::vector<Loop> loops;
  const size_t rank = shape.size();
  for (size_t axis = 0; axis < rank; ++axis) {
    const bool alone = keep_last && axis + 1 == rank;
    if (shape[axis] == 1 && !alone) continue;
    Loop loop{shape[axis], {}, {}};
    for (const View* view : views) {
      KILN_CHECK(view->shape == shape);
      KILN_CHECK(!view->blocked() || (alone == (static_cast<int>(axis) == view->blocks.axis)));
      loop.strides.push_back(view->strides[axis]);
      loop.scale_strides.push_back(view->blocked() ? view->blocks.strides[axis] : 0);
    }
    bool joins = !loops.empty() && !alone && loops.back().count * loop.count <= kMaxJoined;
    for (size_t v = 0; joins && v < views.size(); ++v) {
      joins = loops.back().strides[v] == loop.strides[v] * loop.count &&
              loops.back().scale_strides[v] == loop.scale_strides[v] * loop.count;
    }
    if (joins) {
      loop.count *= loops.back().count;
      loops.back() = std::move(loop);
    } else {
      loops.push_back(std::move(loop));
    }
  }
  if (loops.empty() && keep_last) loops.push_back(OneStep(views.size()));
  return loops;
}

}  // namespace kiln::systolic
