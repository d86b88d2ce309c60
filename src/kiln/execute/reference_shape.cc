// Reference kernels of operators that change or produce shapes without touching elements, and of
// the generators ConstantOfShape and Range.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kiln/execute/reference_kernels.h"

namespace kiln::reference {
namespace {

// Returns operand 0 with another shape of as many elements; both share their bytes.
KernelResult Renamed(const KernelCall& call, std::vector<int64_t> dims) {
  const Tensor& x = call.operand(0);
  const Shape shape(std::move(dims));
  if (CheckedNumElements(shape) != x.size()) {
    return call.Error("shape " + x.shape().ToString() + " cannot become " + shape.ToString(),
                      "the number of elements must stay the same");
  }
  return One(x.Reshaped(shape));
}

}  // namespace

KernelResult ReshapeKernel(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  KILN_ASSIGN_OR_RETURN(std::vector<int64_t> dims, call.Ints(1));
  const bool allow_zero = call.attributes().Int("allowzero", 0) != 0;
  // A dimension 0 copies the input's (unless allowzero is set); one dimension -1 is inferred.
  int64_t known = 1;
  int inferred = -1;
  for (int i = 0; i < static_cast<int>(dims.size()); ++i) {
    int64_t& dim = dims[static_cast<size_t>(i)];
    if (dim == 0 && !allow_zero) {
      if (i >= x.shape().rank()) {
        return call.Error(
            fmt::format("dimension {} is 0 (copy), but the input has rank {}", i, x.shape().rank()),
            "name the dimension");
      }
      dim = x.shape()[i];
    }
    if (dim == -1 && inferred < 0) {
      inferred = i;
    } else if (dim < 0 || dim > kMaxElements || (dim != 0 && known > kMaxElements / dim)) {
      return call.Error(fmt::format("dimension {} is {}", i, dim),
                        "one dimension may be -1, the others count elements");
    } else {
      known *= dim;
    }
  }
  if (inferred >= 0) {
    if (known == 0 || x.size() % known != 0) {
      return call.Error(fmt::format("{} elements do not divide by {}", x.size(), known),
                        "dimension -1 must come out whole");
    }
    dims[static_cast<size_t>(inferred)] = x.size() / known;
  }
  return Renamed(call, std::move(dims));
}

// Joins the axes before `axis` and those from it on.
KernelResult FlattenKernel(const KernelCall& call) {
  const Shape& shape = call.operand(0).shape();
  KILN_ASSIGN_OR_RETURN(const int axis,
                        call.Axis(call.attributes().Int("axis", 1), shape.rank(), true));
  return Renamed(call, {ProductOf(shape, 0, axis), ProductOf(shape, axis, shape.rank())});
}

// Without axes, all axes of length 1 are dropped.
KernelResult SqueezeKernel(const KernelCall& call) {
  const Shape& shape = call.operand(0).shape();
  std::vector<bool> drop(static_cast<size_t>(shape.rank()));
  if (call.Has(1)) {
    KILN_ASSIGN_OR_RETURN(const std::vector<int64_t> list, call.Ints(1));
    KILN_ASSIGN_OR_RETURN(const std::vector<int> axes, call.Axes(list, shape.rank()));
    for (int axis : axes) {
      if (shape[axis] != 1) {
        return call.Error(fmt::format("axis {} of {} is not 1", axis, shape.ToString()),
                          "only axes of length 1 go");
      }
      drop[static_cast<size_t>(axis)] = true;
    }
  } else {
    for (int axis = 0; axis < shape.rank(); ++axis)
      drop[static_cast<size_t>(axis)] = shape[axis] == 1;
  }
  std::vector<int64_t> dims;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!drop[static_cast<size_t>(axis)]) dims.push_back(shape[axis]);
  }
  return Renamed(call, std::move(dims));
}

// The axes refer to the result.
KernelResult UnsqueezeKernel(const KernelCall& call) {
  const Shape& shape = call.operand(0).shape();
  KILN_ASSIGN_OR_RETURN(const std::vector<int64_t> list, call.Ints(1));
  const int rank = shape.rank() + static_cast<int>(list.size());
  KILN_ASSIGN_OR_RETURN(const std::vector<int> axes, call.Axes(list, rank));
  std::vector<int64_t> dims = shape.dims();
  for (int axis : axes)
    dims.insert(dims.begin() + axis, 1);  // axes are sorted, so each lands at its final position
  return Renamed(call, std::move(dims));
}

KernelResult IdentityKernel(const KernelCall& call) { return One(call.operand(0)); }

// Inference only: returns the input, and a mask that is all true.
KernelResult DropoutKernel(const KernelCall& call) {
  if (call.Has(2)) {
    KILN_ASSIGN_OR_RETURN(const double training, call.Number(2));
    double ratio = 0.5;
    if (call.Has(1)) {
      KILN_ASSIGN_OR_RETURN(ratio, call.Number(1));
    }
    if (training != 0 && ratio != 0) {
      return call.Unsupported("training_mode is true", "export the network for inference");
    }
  }
  std::vector<Tensor> results = One(call.operand(0));
  if (call.node.num_results() > 1) {
    Tensor mask(ElementType::kBool, call.operand(0).shape());
    std::memset(mask.mutable_bytes(), 1, static_cast<size_t>(mask.num_bytes()));
    results.push_back(std::move(mask));
  }
  return results;
}

// Returns dimensions [start, end) of the operand; both ends are clamped.
KernelResult ShapeKernel(const KernelCall& call) {
  const Shape& shape = call.operand(0).shape();
  const int64_t rank = shape.rank();
  const auto clamp = [&](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const int64_t start = clamp(call.attributes().Int("start", 0));
  const int64_t end = std::max(start, clamp(call.attributes().Int("end", rank)));
  const std::vector<int64_t> dims(shape.dims().begin() + start, shape.dims().begin() + end);
  return One(Tensor::Of<int64_t>({end - start}, dims));
}

// Returns the number of elements as an i64 scalar.
KernelResult SizeKernel(const KernelCall& call) {
  return One(Tensor::Scalar<int64_t>(call.operand(0).size()));
}

// Without the attribute `value`, the constant is fp32 zero.
KernelResult ConstantOfShapeKernel(const KernelCall& call) {
  KILN_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, call.Ints(0));
  const Tensor zero = Tensor::Scalar<float>(0);
  const Tensor* value = call.attributes().FindTensor("value");
  if (value == nullptr) value = &zero;
  if (value->size() != 1 || value->type() == ElementType::kString) {
    return call.Error("attribute 'value' is " + value->shape().ToString(),
                      "it holds a single number");
  }
  KILN_ASSIGN_OR_RETURN(Tensor out, call.NewTensor(value->type(), Shape(dims)));
  const size_t bytes = static_cast<size_t>(SizeOf(value->type()));
  for (int64_t i = 0; i < out.size(); ++i) {
    std::memcpy(out.mutable_bytes() + static_cast<size_t>(i) * bytes, value->bytes(), bytes);
  }
  return One(std::move(out));
}

// Returns start, start + delta, ... up to but excluding limit; each element is computed from its
// index, so rounding errors do not accumulate.
KernelResult RangeKernel(const KernelCall& call) {
  KILN_RETURN_IF_ERROR(call.RequireSameType(0, 1));
  KILN_RETURN_IF_ERROR(call.RequireSameType(0, 2));
  for (int i = 0; i < 3; ++i) KILN_RETURN_IF_ERROR(call.Number(i).status());
  return VisitNumber(call, 0, [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    const T start = *Elements<T>(call.operand(0));
    const T limit = *Elements<T>(call.operand(1));
    const T delta = *Elements<T>(call.operand(2));
    if (!(delta != T{0})) return call.Error("delta is 0", "the range would not end");
    // Computed in binary64; an integer range may be longer than its type can express.
    const double steps = std::ceil((static_cast<double>(limit) - static_cast<double>(start)) /
                                   static_cast<double>(delta));
    if (!(steps < static_cast<double>(kMaxElements)))
      return call.Error("the range is too long", "shorten it");
    KILN_ASSIGN_OR_RETURN(Tensor out,
                          call.NewTensor(call.operand(0).type(),
                                         Shape{std::max<int64_t>(0, TruncateTo<int64_t>(steps))}));
    for (int64_t i = 0; i < out.size(); ++i) {
      if constexpr (std::is_floating_point_v<T>) {
        Elements<T>(out)[i] = start + static_cast<T>(i) * delta;
      } else {
        Elements<T>(out)[i] = static_cast<T>(
            static_cast<uint64_t>(start) + static_cast<uint64_t>(i) * static_cast<uint64_t>(delta));
      }
    }
    return One(std::move(out));
  });
}

}  // namespace kiln::reference
