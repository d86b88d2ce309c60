// Reference kernels of operators that read or write elements at given indices: GatherElements,
// GatherND and their Scatter counterparts.
#include <algorithm>
#include <cstring>

#include "kiln/execute/reference_kernels.h"

namespace kiln::reference {
namespace {

// Converts an index that may count from the end to 0 .. length - 1; error if it is outside.
StatusOr<int64_t> Resolve(const KernelCall& call, int64_t index, int64_t length) {
  if (index < -length || index >= length) {
    return call.Error(fmt::format("index {} is outside an axis of {}", index, length),
                      fmt::format("indices run from {} to {}", -length, length - 1));
  }
  return index < 0 ? index + length : index;
}

// Returns an error unless operand i holds int32 or int64.
Status RequireIndices(const KernelCall& call, int i) {
  const ElementType type = call.operand(i).type();
  return type == ElementType::kInt32 || type == ElementType::kInt64 ? OkStatus()
                                                                    : call.UnsupportedType(i);
}

// Calls visit(position in `indices`, element of `x`) for each index; GatherElements and
// ScatterElements share this loop.
template <typename Visit>
Status VisitElements(const KernelCall& call, const Tensor& x, const Tensor& indices,
                     Visit&& visit) {
  const int rank = x.shape().rank();
  KILN_ASSIGN_OR_RETURN(const int axis, call.Axis(call.attributes().Int("axis", 0), rank));
  KILN_RETURN_IF_ERROR(RequireIndices(call, 1));
  const Shape& shape = indices.shape();
  bool fits = shape.rank() == rank;
  for (int i = 0; fits && i < rank; ++i) fits = i == axis || shape[i] <= x.shape()[i];
  if (!fits) {
    return call.Error(
        fmt::format("indices {} for a tensor {}", shape.ToString(), x.shape().ToString()),
        fmt::format("as many axes, none longer but axis {}", axis));
  }
  const std::vector<int64_t> strides = RowMajorStrides(x.shape());
  std::vector<int64_t> at(static_cast<size_t>(rank), 0);
  for (int64_t n = 0; n < indices.size(); ++n) {
    KILN_ASSIGN_OR_RETURN(const int64_t chosen, Resolve(call, indices.IntAt(n), x.shape()[axis]));
    int64_t element = 0;
    for (int i = 0; i < rank; ++i) {
      const auto s = static_cast<size_t>(i);
      element += (i == axis ? chosen : at[s]) * strides[s];
    }
    visit(n, element);
    // Advances `at` to the next position of `indices`, in row-major order.
    for (size_t i = at.size(); i-- > 0;) {
      if (++at[i] < shape[static_cast<int>(i)]) break;
      at[i] = 0;
    }
  }
  return OkStatus();
}

// A function that combines an update with the element it is scattered to.
template <typename T>
using Combine = void (*)(T& to, T from);

template <typename T>
// Returns the combination that the attribute `reduction` names; null for an unknown name.
Combine<T> CombineOf(const std::string& reduction) {
  if (reduction == "none") return [](T& to, T from) { to = from; };
  if (reduction == "add") return [](T& to, T from) { to = static_cast<T>(to + from); };
  if (reduction == "max") return [](T& to, T from) { to = std::max(to, from); };
  if (reduction == "min") return [](T& to, T from) { to = std::min(to, from); };
  if (reduction == "mul") {
    return [](T& to, T from) {
      if constexpr (std::is_floating_point_v<T>) {
        to *= from;
      } else {
        to = static_cast<T>(static_cast<uint64_t>(to) * static_cast<uint64_t>(from));
      }
    };
  }
  return nullptr;
}

// Calls body with a value of the type in which elements are combined: bytes if they are only
// copied; unsigned integers for sums and products, so that overflow wraps; the element type
// otherwise.
template <typename Body>
KernelResult VisitScattered(const KernelCall& call, Body&& body) {
  const std::string reduction = call.attributes().String("reduction", "none");
  if (reduction == "none") return VisitBytes(call, 0, [&](auto zero) { return body(zero); });
  const auto wraps = [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      if (reduction == "add" || reduction == "mul") return body(std::make_unsigned_t<T>{});
    }
    return body(zero);
  };
  return VisitNumber(call, 0, wraps);
}

}  // namespace

// Sets result[i, j, ..] = x[.., indices[i, j, ..], ..], with the index along `axis`.
KernelResult GatherElementsKernel(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  const Tensor& indices = call.operand(1);
  KILN_ASSIGN_OR_RETURN(Tensor out, call.NewTensor(x.type(), indices.shape()));
  return VisitBytes(call, 0, [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    KILN_RETURN_IF_ERROR(VisitElements(call, x, indices, [&](int64_t n, int64_t element) {
      Elements<T>(out)[n] = Elements<T>(x)[element];
    }));
    return One(std::move(out));
  });
}

// Copies x and combines updates[i, j, ..] into the element that indices[i, j, ..] selects.
KernelResult ScatterElementsKernel(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  const Tensor& indices = call.operand(1);
  const Tensor& updates = call.operand(2);
  KILN_RETURN_IF_ERROR(call.RequireSameType(0, 2));
  if (updates.shape() != indices.shape()) {
    return call.Error(
        "indices " + indices.shape().ToString() + " and updates " + updates.shape().ToString(),
        "the same shape");
  }
  return VisitScattered(call, [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    const Combine<T> combine = CombineOf<T>(call.attributes().String("reduction", "none"));
    if (combine == nullptr) return call.Error("an unknown reduction", "none, add, mul, max or min");
    Tensor out = x.Clone();
    KILN_RETURN_IF_ERROR(VisitElements(call, x, indices, [&](int64_t n, int64_t element) {
      combine(Elements<T>(out)[element], Elements<T>(updates)[n]);
    }));
    return One(std::move(out));
  });
}

// The last axis of `indices` holds index tuples into the data's axes after batch_dims.
KernelResult GatherNDKernel(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  const Tensor& indices = call.operand(1);
  const Shape &shape = x.shape(), &wanted = indices.shape();
  KILN_RETURN_IF_ERROR(RequireIndices(call, 1));
  const int64_t batch = call.attributes().Int("batch_dims", 0);
  if (batch < 0 || batch >= std::min(shape.rank(), wanted.rank())) {
    return call.Error(fmt::format("batch_dims is {}", batch),
                      "below the ranks of data and indices");
  }
  const int b = static_cast<int>(batch);
  const int64_t depth = wanted[wanted.rank() - 1];
  bool fits = depth >= 1 && depth <= shape.rank() - b;
  for (int i = 0; fits && i < b; ++i) fits = shape[i] == wanted[i];
  if (!fits) {
    return call.Error(
        fmt::format("data {} and indices {}", shape.ToString(), wanted.ToString()),
        "the same batch dimensions, then indices of at most as many numbers as axes are left");
  }
  // The result has the indices' outer dimensions, then the data dimensions that are not indexed;
  // each index tuple copies one contiguous block of `bytes`.
  const int end = b + static_cast<int>(depth);
  std::vector<int64_t> dims(wanted.dims().begin(), wanted.dims().end() - 1);
  dims.insert(dims.end(), shape.dims().begin() + end, shape.dims().end());
  KILN_ASSIGN_OR_RETURN(Tensor out, call.NewTensor(x.type(), Shape(dims)));
  const int64_t bytes = ProductOf(shape, end, shape.rank()) * SizeOf(x.type());
  const int64_t batches = ProductOf(shape, 0, b), each = ProductOf(wanted, b, wanted.rank() - 1);
  const int64_t rows = ProductOf(shape, b, end);  // of a batch
  std::byte* to = out.num_bytes() > 0 ? out.mutable_bytes() : nullptr;
  for (int64_t n = 0; n < batches * each; ++n) {
    int64_t row = 0;
    for (int64_t i = 0; i < depth; ++i) {
      const int64_t length = shape[b + static_cast<int>(i)];
      KILN_ASSIGN_OR_RETURN(const int64_t chosen,
                            Resolve(call, indices.IntAt(n * depth + i), length));
      row = row * length + chosen;
    }
    if (bytes == 0) continue;
    std::memcpy(to + n * bytes, x.bytes() + (n / each * rows + row) * bytes,
                static_cast<size_t>(bytes));
  }
  return One(std::move(out));
}

// Copies x and combines each slice of updates into the slice that its index tuple selects.
KernelResult ScatterNDKernel(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  const Tensor& indices = call.operand(1);
  const Tensor& updates = call.operand(2);
  KILN_RETURN_IF_ERROR(call.RequireSameType(0, 2));
  KILN_RETURN_IF_ERROR(RequireIndices(call, 1));
  const Shape &shape = x.shape(), &where = indices.shape();
  if (where.rank() == 0) return call.Error("the indices are a scalar", "at least one axis");
  const int64_t depth = where[where.rank() - 1];
  if (depth < 1 || depth > shape.rank()) {
    return call.Error(fmt::format("indices of {} numbers for a tensor {}", depth, shape.ToString()),
                      fmt::format("1 to {}", shape.rank()));
  }
  const int end = static_cast<int>(depth);
  std::vector<int64_t> wanted(where.dims().begin(), where.dims().end() - 1);
  wanted.insert(wanted.end(), shape.dims().begin() + end, shape.dims().end());
  if (updates.shape() != Shape(wanted)) {
    return call.Error("updates are " + updates.shape().ToString(), Shape(wanted).ToString());
  }
  // Each index tuple updates one contiguous block of `inner` elements, in order, so that repeated
  // indices have a defined result.
  const int64_t inner = ProductOf(shape, end, shape.rank());
  const int64_t count = ProductOf(where, 0, where.rank() - 1);
  return VisitScattered(call, [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    const Combine<T> combine = CombineOf<T>(call.attributes().String("reduction", "none"));
    if (combine == nullptr) return call.Error("an unknown reduction", "none, add, mul, max or min");
    Tensor out = x.Clone();
    for (int64_t n = 0; n < count; ++n) {
      int64_t row = 0;
      for (int64_t i = 0; i < depth; ++i) {
        const int64_t length = shape[static_cast<int>(i)];
        KILN_ASSIGN_OR_RETURN(const int64_t chosen,
                              Resolve(call, indices.IntAt(n * depth + i), length));
        row = row * length + chosen;
      }
      for (int64_t i = 0; i < inner; ++i) {
        combine(Elements<T>(out)[row * inner + i], Elements<T>(updates)[n * inner + i]);
      }
    }
    return One(std::move(out));
  });
}

}  // namespace kiln::reference
