#include "kiln/targets/systolic/view.h"

#include <algorithm>

#include "fmt/format.h"
#include "kiln/numerics/quantise.h"
#include "kiln/support/check.h"

namespace kiln::systolic {
namespace {

constexpr int64_t kMaxJoined =
    1 << 22;  // iterations that neighbouring loops are joined to, within what isa_check accepts

}  // namespace

StatusOr<Encoding> EncodingOf(const Value& value) {
  Encoding e;
  e.type = value.element();
  const std::string place = fmt::format("value '{}'", value.name());
  if (e.type != ElementType::kFloat32) {
    if (IsFloat(e.type)) return e;
    if (IsInteger(e.type) || e.type == ElementType::kBool) {
      e.element = Element::kInt32;
      return e;
    }
    return UnsupportedAt("", place, fmt::format("has elements of type {}", NameOf(e.type)), "use f32");
  }
  if (!value.quantisation().has_value()) return e;
  const Quantisation& q = *value.quantisation();
  const Format& format = q.type.format;
  if (!format.is_integer()) {
    if (format.name == "fp32") return e;
    return UnsupportedAt("", place, fmt::format("is held as {}, which the systolic family cannot hold", format.name),
                         "use an integer format of at most 16 bits, or leave it in fp32");
  }
  if (q.scales.size() != 1 || q.zero_points.size() > 1) {
    return UnsupportedAt("", place, "has more than one scale", "activations take one scale per tensor");
  }
  if (format.bits > 16) {
    return UnsupportedAt("", place, fmt::format("is held as {}", format.name),
                         "use an integer format of at most 16 bits");
  }
  const CodeRange codes = CodesOf(format, q.type.symmetric);
  e.low = static_cast<int32_t>(codes.low);
  e.high = static_cast<int32_t>(codes.high);
  e.scale = q.scales[0];
  e.zero_point = q.zero_points.empty() ? 0 : q.zero_points[0];
  if (!format.is_signed && format.bits <= 8) {
    // The array multiplies signed codes: c and its zero point stand less 2^(bits - 1), which changes no value.
    const int32_t half = 1 << (format.bits - 1);
    e.low -= half;
    e.high -= half;
    e.zero_point -= half;
    e.element = Element::kInt8;
    return e;
  }
  if (codes.low >= -128 && codes.high <= 127) {
    e.element = Element::kInt8;
  } else {
    e.element = codes.high <= 32767 ? Element::kInt16 : Element::kInt32;
  }
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

View DenseView(int buffer, const Shape& shape, const Encoding& encoding) {
  View view{buffer, 0, shape.dims(), std::vector<int64_t>(shape.dims().size()), encoding};
  int64_t stride = BytesOf(encoding.element);
  for (size_t i = view.shape.size(); i-- > 0;) {
    view.strides[i] = stride;
    stride *= view.shape[i];
  }
  return view;
}

bool IsDense(const View& view) {
  int64_t stride = BytesOf(view.encoding.element);
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
    out.shape[i] = view.shape[static_cast<size_t>(perm[i])];
    out.strides[i] = view.strides[static_cast<size_t>(perm[i])];
  }
  return out;
}

View Sliced(const View& view, int axis, int64_t start, int64_t step, int64_t count) {
  View out = view;
  const size_t a = static_cast<size_t>(axis);
  out.offset += start * view.strides[a];
  out.shape[a] = count;
  out.strides[a] = step * view.strides[a];
  return out;
}

std::optional<View> Reshaped(const View& view, std::span<const int64_t> shape) {
  View out = view;
  out.shape.assign(shape.begin(), shape.end());
  KILN_CHECK(out.elements() == view.elements());
  out.strides.assign(shape.size(), 0);
  // Stretches of old axes that are walked with one stride, innermost last.
  const std::vector<Loop> loops = [&] {
    const View* views[] = {&view};
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
  return out;
}

std::vector<Loop> LoopsOver(std::span<const View* const> views, bool keep_last) {
  const std::vector<int64_t>& shape = views[0]->shape;
  std::vector<Loop> loops;
  const size_t rank = shape.size();
  for (size_t axis = 0; axis < rank; ++axis) {
    const bool alone = keep_last && axis + 1 == rank;
    if (shape[axis] == 1 && !alone) continue;
    Loop loop{shape[axis], {}};
    for (const View* view : views) {
      KILN_CHECK(view->shape == shape);
      loop.strides.push_back(view->strides[axis]);
    }
    bool joins = !loops.empty() && !alone && loops.back().count * loop.count <= kMaxJoined;
    for (size_t v = 0; joins && v < views.size(); ++v) {
      joins = loops.back().strides[v] == loop.strides[v] * loop.count;
    }
    if (joins) {
      loop.count *= loops.back().count;
      loops.back() = std::move(loop);
    } else {
      loops.push_back(std::move(loop));
    }
  }
  if (loops.empty() && keep_last) loops.push_back({1, std::vector<int64_t>(views.size(), 0)});
  return loops;
}

}  // namespace kiln::systolic
