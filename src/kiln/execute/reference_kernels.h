// The interface between EvaluateNode and the reference kernels: how a kernel is called, helpers for
// operands and errors, and the list of all kernels by file.
#ifndef KILN_EXECUTE_REFERENCE_KERNELS_H_
#define KILN_EXECUTE_REFERENCE_KERNELS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fmt/format.h"
#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"
#include "kiln/support/status.h"

namespace kiln::reference {

using KernelResult = StatusOr<std::vector<Tensor>>;

// Returns the product of dimensions [begin, end).
inline int64_t ProductOf(const Shape& shape, int begin, int end) {
  int64_t product = 1;
  for (int i = begin; i < end; ++i) product *= shape[i];
  return product;
}

// One evaluation of one node. EvaluateNode has checked that the number of operands is in the
// operator's range and that required operands are present; kernels check everything else. fp16 and
// bf16 operands arrive as fp32.
struct KernelCall {
  // The node gives attributes and the number of results; its values' types are not used.
  const Node& node;
  // In the node's order, null if absent.
  std::span<const Tensor* const> operands;

  // Returns the number of operands, including absent ones.
  int num_operands() const { return static_cast<int>(operands.size()); }
  // Returns true if operand i is present.
  bool Has(int i) const {
    return i < num_operands() && operands[static_cast<size_t>(i)] != nullptr;
  }
  // Returns operand i, which must be present.
  const Tensor& operand(int i) const {
    KILN_CHECK(Has(i));
    return *operands[static_cast<size_t>(i)];
  }
  const Attributes& attributes() const { return node.attributes(); }

  // Return an error that names the node: Error for operands or attributes that do not fit, the
  // others for valid models that Kiln has no kernel for.
  Status Error(std::string_view fault, std::string_view remedy) const;
  Status Unsupported(std::string_view fault, std::string_view remedy) const;
  Status UnsupportedType(int operand) const;

  // Returns a zero-filled tensor, or an error if it would exceed 4 GiB.
  StatusOr<Tensor> NewTensor(ElementType type, const Shape& shape) const;
  // Checks the size of a tensor as NewTensor does, without allocating it.
  Status CheckSize(ElementType type, const Shape& shape) const;
  // Returns operand i as a short list of integers (shapes, axes, pads); error if it is not one.
  StatusOr<std::vector<int64_t>> Ints(int i) const;
  // Returns operand i as a number; error unless it is one element of a numeric type.
  StatusOr<double> Number(int i) const;
  // Converts an axis that may count from the end to 0 .. rank - 1. `with_end` also accepts `rank`.
  StatusOr<int> Axis(int64_t axis, int rank, bool with_end = false) const;
  // Returns axes in ascending order; error if one occurs twice.
  StatusOr<std::vector<int>> Axes(const std::vector<int64_t>& axes, int rank) const;
  // Returns an error unless operands i and j have the same element type.
  Status RequireSameType(int i, int j) const;
};

// Returns the elements of a tensor as C++ type T. Booleans are read as uint8_t, because a file may
// hold bytes other than 0 and 1.
template <typename T>
const T* Elements(const Tensor& t) {
  return reinterpret_cast<const T*>(t.bytes());
}
template <typename T>
T* Elements(Tensor& t) {
  return reinterpret_cast<T*>(t.mutable_bytes());
}

// Returns the result list of an operator with one result.
inline std::vector<Tensor> One(Tensor t) {
  std::vector<Tensor> out;
  out.push_back(std::move(t));
  return out;
}

// Calls body(T{}) with the C++ type T of operand i. VisitFloat accepts float and double,
// VisitNumber integers as well; other types are an error.
template <typename Body>
KernelResult VisitFloat(const KernelCall& call, int i, Body&& body) {
  switch (call.operand(i).type()) {
    case ElementType::kFloat32:
      return body(float{});
    case ElementType::kFloat64:
      return body(double{});
    default:
      return call.UnsupportedType(i);
  }
}

template <typename Body>
KernelResult VisitInteger(const KernelCall& call, int i, Body&& body) {
  switch (call.operand(i).type()) {
    case ElementType::kInt8:
      return body(int8_t{});
    case ElementType::kInt16:
      return body(int16_t{});
    case ElementType::kInt32:
      return body(int32_t{});
    case ElementType::kInt64:
      return body(int64_t{});
    case ElementType::kUint8:
      return body(uint8_t{});
    case ElementType::kUint16:
      return body(uint16_t{});
    case ElementType::kUint32:
      return body(uint32_t{});
    case ElementType::kUint64:
      return body(uint64_t{});
    default:
      return call.UnsupportedType(i);
  }
}

template <typename Body>
KernelResult VisitNumber(const KernelCall& call, int i, Body&& body) {
  return IsFloat(call.operand(i).type()) ? VisitFloat(call, i, body) : VisitInteger(call, i, body);
}

// Calls body with an unsigned integer as wide as the operand's elements, for kernels that only move
// bytes.
template <typename Body>
KernelResult VisitBytes(const KernelCall& call, int i, Body&& body) {
  switch (SizeOf(call.operand(i).type())) {
    case 1:
      return body(uint8_t{});
    case 2:
      return body(uint16_t{});
    case 4:
      return body(uint32_t{});
    case 8:
      return body(uint64_t{});
    default:
      return call.UnsupportedType(i);
  }
}

// Converts a float to an integer: truncates towards zero, saturates, maps NaN to 0.
template <typename T>
T TruncateTo(double value) {
  constexpr double kLow = static_cast<double>(std::numeric_limits<T>::min());
  constexpr double kHigh =
      static_cast<double>(std::numeric_limits<T>::max());  // 2^63, 2^64 for the widest types
  if (value != value) return 0;
  if (value <= kLow) return std::numeric_limits<T>::min();
  if (value >= kHigh) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

// Converts the elements of a tensor as Cast does; not for strings.
Tensor CastTensor(const Tensor& from, ElementType to);

// A kernel evaluates one operator. KernelOf<op>::kFunction is null for an operator without one.
using Kernel = KernelResult (*)(const KernelCall&);
template <Op op>
struct KernelOf {
  static constexpr Kernel kFunction = nullptr;
};

// Declares a kernel and enters it in KernelOf. Kernels are grouped below by the file that defines
// them.
#define KILN_KERNEL(id)                             \
  KernelResult id##Kernel(const KernelCall&);       \
  template <>                                       \
  struct KernelOf<Op::k##id> {                      \
    static constexpr Kernel kFunction = id##Kernel; \
  };

// reference_activation.cc
KILN_KERNEL(Relu)
KILN_KERNEL(LeakyRelu)
KILN_KERNEL(PRelu)
KILN_KERNEL(Elu)
KILN_KERNEL(Clip)
KILN_KERNEL(Sigmoid)
KILN_KERNEL(HardSigmoid)
KILN_KERNEL(HardSwish)
KILN_KERNEL(Tanh)
KILN_KERNEL(Erf)
KILN_KERNEL(Gelu)
KILN_KERNEL(Softplus)
// reference_unary.cc
KILN_KERNEL(Sqrt)
KILN_KERNEL(Reciprocal)
KILN_KERNEL(Neg)
KILN_KERNEL(Abs)
KILN_KERNEL(Exp)
KILN_KERNEL(Log)
KILN_KERNEL(Sin)
KILN_KERNEL(Cos)
KILN_KERNEL(Floor)
KILN_KERNEL(Ceil)
KILN_KERNEL(Round)
KILN_KERNEL(Sign)
KILN_KERNEL(Not)
// reference_arithmetic.cc
KILN_KERNEL(Add)
KILN_KERNEL(Sub)
KILN_KERNEL(Mul)
KILN_KERNEL(Div)
KILN_KERNEL(Pow)
KILN_KERNEL(Mod)
KILN_KERNEL(Min)
KILN_KERNEL(Max)
KILN_KERNEL(Mean)
KILN_KERNEL(Sum)
// reference_logic.cc
KILN_KERNEL(Equal)
KILN_KERNEL(Greater)
KILN_KERNEL(GreaterOrEqual)
KILN_KERNEL(Less)
KILN_KERNEL(LessOrEqual)
KILN_KERNEL(And)
KILN_KERNEL(Or)
KILN_KERNEL(Xor)
KILN_KERNEL(Where)
// reference_reduce.cc
KILN_KERNEL(ReduceMean)
KILN_KERNEL(ReduceSum)
KILN_KERNEL(ReduceMax)
KILN_KERNEL(ReduceMin)
KILN_KERNEL(ReduceProd)
KILN_KERNEL(ArgMax)
// reference_normalise.cc
KILN_KERNEL(BatchNormalization)
KILN_KERNEL(LayerNormalization)
KILN_KERNEL(RmsNormalization)
KILN_KERNEL(InstanceNormalization)
KILN_KERNEL(GroupNormalization)
KILN_KERNEL(Softmax)
KILN_KERNEL(LogSoftmax)
// reference_move.cc
KILN_KERNEL(Concat)
KILN_KERNEL(Split)
KILN_KERNEL(Slice)
KILN_KERNEL(Gather)
KILN_KERNEL(Transpose)
KILN_KERNEL(Expand)
KILN_KERNEL(Tile)
KILN_KERNEL(DepthToSpace)
KILN_KERNEL(SpaceToDepth)
// reference_pad.cc
KILN_KERNEL(Pad)
// reference_shape.cc
KILN_KERNEL(Reshape)
KILN_KERNEL(Flatten)
KILN_KERNEL(Squeeze)
KILN_KERNEL(Unsqueeze)
KILN_KERNEL(Identity)
KILN_KERNEL(Dropout)
KILN_KERNEL(Shape)
KILN_KERNEL(Size)
KILN_KERNEL(ConstantOfShape)
KILN_KERNEL(Range)
// reference_cast.cc
KILN_KERNEL(Cast)
// reference_resize.cc
KILN_KERNEL(Resize)
// reference_pool.cc
KILN_KERNEL(MaxPool)
KILN_KERNEL(AveragePool)
KILN_KERNEL(GlobalAveragePool)
KILN_KERNEL(GlobalMaxPool)
// reference_convolution.cc
KILN_KERNEL(Conv)
KILN_KERNEL(ConvTranspose)
KILN_KERNEL(ConvInteger)
KILN_KERNEL(QLinearConv)
// reference_matmul.cc
KILN_KERNEL(Gemm)
KILN_KERNEL(MatMul)
KILN_KERNEL(MatMulInteger)
KILN_KERNEL(QLinearMatMul)
// reference_einsum.cc
KILN_KERNEL(Einsum)
// reference_recurrent.cc
KILN_KERNEL(RNN)
KILN_KERNEL(GRU)
KILN_KERNEL(LSTM)
// reference_index.cc
KILN_KERNEL(GatherElements)
KILN_KERNEL(GatherND)
KILN_KERNEL(ScatterElements)
KILN_KERNEL(ScatterND)
// reference_select.cc
KILN_KERNEL(TopK)
KILN_KERNEL(CumSum)
KILN_KERNEL(NonMaxSuppression)
KILN_KERNEL(NonZero)
// reference_quantise.cc
KILN_KERNEL(QuantizeLinear)
KILN_KERNEL(DequantizeLinear)
KILN_KERNEL(DynamicQuantizeLinear)
KILN_KERNEL(Quant)
KILN_KERNEL(Quantise)
KILN_KERNEL(BipolarQuant)
KILN_KERNEL(Trunc)

#undef KILN_KERNEL

}  // namespace kiln::reference

#endif  // KILN_EXECUTE_REFERENCE_KERNELS_H_
