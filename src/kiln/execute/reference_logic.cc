// Reference kernels of comparisons, logic and Where, with broadcasting.
#include <functional>

#include "kiln/execute/reference_binary_rows.h"

namespace kiln::reference {
namespace {

// Compares two operands of the same numeric type element by element.
template <typename F>
KernelResult Compare(const KernelCall& call, F f) {
  KILN_RETURN_IF_ERROR(call.RequireSameType(0, 1));
  return VisitNumber(call, 0, [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    KILN_ASSIGN_OR_RETURN(
        Tensor out,
        (BinaryMap<uint8_t, T, T>(call, call.operand(0), call.operand(1), ElementType::kBool,
                                  [f](T a, T b) { return static_cast<uint8_t>(f(a, b)); })));
    return One(std::move(out));
  });
}

// Combines two boolean operands. Any non-zero byte is true.
template <typename F>
KernelResult CombineBooleans(const KernelCall& call, F f) {
  KILN_RETURN_IF_ERROR(call.RequireSameType(0, 1));
  if (call.operand(0).type() != ElementType::kBool) return call.UnsupportedType(0);
  KILN_ASSIGN_OR_RETURN(
      Tensor out,
      (BinaryMap<uint8_t, uint8_t, uint8_t>(
          call, call.operand(0), call.operand(1), ElementType::kBool,
          [f](uint8_t a, uint8_t b) { return static_cast<uint8_t>(f(a != 0, b != 0)); })));
  return One(std::move(out));
}

}  // namespace

// Booleans are compared as truth values, because their bytes may differ from 0 and 1.
KernelResult EqualKernel(const KernelCall& call) {
  if (call.operand(0).type() == ElementType::kBool) return CombineBooleans(call, std::equal_to<>());
  return Compare(call, std::equal_to<>());
}
KernelResult GreaterKernel(const KernelCall& call) { return Compare(call, std::greater<>()); }
KernelResult GreaterOrEqualKernel(const KernelCall& call) {
  return Compare(call, std::greater_equal<>());
}
KernelResult LessKernel(const KernelCall& call) { return Compare(call, std::less<>()); }
KernelResult LessOrEqualKernel(const KernelCall& call) {
  return Compare(call, std::less_equal<>());
}
KernelResult AndKernel(const KernelCall& call) {
  return CombineBooleans(call, std::logical_and<>());
}
KernelResult OrKernel(const KernelCall& call) { return CombineBooleans(call, std::logical_or<>()); }
KernelResult XorKernel(const KernelCall& call) {
  return CombineBooleans(call, std::not_equal_to<>());
}

// Selects elements of x or y by the condition; all three broadcast against each other.
KernelResult WhereKernel(const KernelCall& call) {
  const Tensor& condition = call.operand(0);
  const Tensor& x = call.operand(1);
  const Tensor& y = call.operand(2);
  if (condition.type() != ElementType::kBool) return call.UnsupportedType(0);
  KILN_RETURN_IF_ERROR(call.RequireSameType(1, 2));
  KILN_ASSIGN_OR_RETURN(const Shape choices, BroadcastOf(call, x, y));
  const std::optional<Shape> shape = BroadcastShapes(condition.shape(), choices);
  if (!shape.has_value()) {
    return call.Error("condition " + condition.shape().ToString() + " does not broadcast to " +
                          choices.ToString(),
                      "aligned at the right, dimensions must be equal or 1");
  }
  KILN_ASSIGN_OR_RETURN(Tensor out, call.NewTensor(x.type(), *shape));
  const Shape shapes[] = {condition.shape(), x.shape(), y.shape()};
  const RowWalk walk(*shape, shapes);
  return VisitBytes(call, 1, [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    walk.ForEachRow([&](int64_t first, const int64_t* offsets) {
      const uint8_t* c = Elements<uint8_t>(condition) + offsets[0];
      const T* a = Elements<T>(x) + offsets[1];
      const T* b = Elements<T>(y) + offsets[2];
      T* to = Elements<T>(out) + first;
      for (int64_t i = 0; i < walk.row_length(); ++i) {
        to[i] =
            c[i * walk.row_stride(0)] != 0 ? a[i * walk.row_stride(1)] : b[i * walk.row_stride(2)];
      }
    });
    return One(std::move(out));
  });
}

}  // namespace kiln::reference
