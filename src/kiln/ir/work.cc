// Counts operations and parameters with saturating arithmetic: shapes from files may be huge.

#include "kiln/ir/work.h"

#include <algorithm>
#include <set>
#include <vector>

#include "kiln/ir/checked_math.h"
#include "kiln/ir/einsum.h"
#include "kiln/ir/signature.h"
#include "kiln/ir/window.h"

namespace kiln {
namespace {

// Returns the number of elements, with 1 for an unknown first dimension; 0 if another is unknown.
int64_t ElementsOf(const Shape& shape) {
  int64_t product = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] < 0 && i > 0) return 0;
    product = SaturatingMul(product, shape[i] < 0 ? 1 : shape[i]);
  }
  return product;
}

// Returns the number of elements of a value, or 0 if it is absent or has no shape.
int64_t ElementsOf(const Value* value) {
  return value != nullptr && value->has_shape() ? ElementsOf(value->shape()) : 0;
}

// Output positions (ConvTranspose: input positions) * kernel * in_channels / groups * out_channels.
int64_t ConvolutionMacs(const Node& node) {
  const auto geometry = ResolveConv(node);
  if (!geometry.ok()) return 0;
  int64_t macs = geometry->batch < 0 ? 1 : geometry->batch;
  for (const WindowAxis& axis : geometry->axes) {
    const int64_t positions = geometry->transposed ? axis.input : axis.output;
    if (positions < 0) return 0;
    macs = SaturatingMul(SaturatingMul(macs, positions), axis.kernel);
  }
  // ResolveConv has checked that in_channels is divisible by groups.
  macs = SaturatingMul(macs, geometry->in_channels / geometry->groups);
  return SaturatingMul(macs, geometry->out_channels);
}

// Result elements times the length of the inner axis of operand `a_index`.
int64_t ProductMacs(const Node& node, int a_index) {
  const Value* a = node.operand(a_index);
  const Value* result = node.result();
  if (a == nullptr || result == nullptr || !a->has_shape() || a->shape().rank() == 0 ||
      !result->has_shape())
    return 0;
  const Shape& shape = a->shape();
  // The inner axis is the last one of a, or the first one of a transposed Gemm operand.
  const bool transposed = node.op() == Op::kGemm && node.attributes().Int("transA", 0) != 0;
  const int inner_axis = transposed ? 0 : shape.rank() - 1;
  const int64_t inner = shape[inner_axis];
  return inner < 0 ? 0 : SaturatingMul(ElementsOf(result), inner);
}

// One operation per kernel element of every window.
int64_t PoolOperations(const Node& node) {
  const auto geometry = ResolvePool(node);
  if (!geometry.ok() || geometry->channels < 0) return 0;
  int64_t count = SaturatingMul(geometry->batch < 0 ? 1 : geometry->batch, geometry->channels);
  for (const WindowAxis& axis : geometry->axes) {
    if (axis.output < 0 || axis.kernel < 0) return 0;
    count = SaturatingMul(SaturatingMul(count, axis.output), axis.kernel);
  }
  return count;
}

// Products of gates with inputs and states, for every step, sample and direction.
int64_t RecurrentMacs(const Node& node) {
  const Value *x = node.operand(0), *w = node.operand(1), *r = node.operand(2);
  if (x == nullptr || w == nullptr || r == nullptr) return 0;
  if (!x->has_shape() || x->shape().rank() != 3 || !x->shape().IsKnown()) return 0;
  return SaturatingMul(SaturatingMul(x->shape()[0], x->shape()[1]),
                       SaturatingAdd(ElementsOf(w), ElementsOf(r)));
}

// One product per combination of labels and per operand after the first.
int64_t EinsumMacs(const Node& node) {
  std::vector<Shape> shapes;
  for (const Value* operand : node.operands()) {
    if (operand == nullptr || !operand->has_shape() || !operand->shape().IsKnown()) return 0;
    shapes.push_back(operand->shape());
  }
  const auto equation = ParseEinsum(node.attributes().String("equation", ""), shapes);
  if (!equation.ok()) return 0;
  std::set<int> labels;
  for (const auto& operand : equation->operands) labels.insert(operand.begin(), operand.end());
  int64_t count = static_cast<int64_t>(shapes.size()) - 1;
  for (int label : labels)
    count = SaturatingMul(count, equation->sizes[static_cast<size_t>(label)]);
  return count;
}

// Sums count(constant) over the constants that nodes compute with. Operands of class i64 or index
// are lists of axes, shapes and indices. Operands of quantisers after the first are the scales and
// zero points of a value, which an annotation holds in other graphs.
template <typename Count>
int64_t OverParameters(const Graph& graph, Count count) {
  int64_t sum = 0;
  for (const Value* constant : graph.Constants()) {
    bool computes = false;
    for (const Node* user : constant->users()) {
      for (int i = 0; i < user->num_operands(); ++i) {
        const TypeSpec* spec = SignatureOf(user->op()).Operand(i);
        if (i > 0 && user->info().Has(kQuantises)) continue;
        computes = computes || (user->operand(i) == constant && spec != nullptr &&
                                spec->element_class != "i64" && spec->element_class != "index");
      }
    }
    if (computes) sum = SaturatingAdd(sum, count(*constant));
  }
  return sum;
}

}  // namespace

// Counts by operator; QLinear variants have the same geometry as their float versions.
int64_t MacsOf(const Node& node) {
  switch (node.op()) {
    case Op::kConv:
    case Op::kConvTranspose:
    case Op::kConvInteger:
    case Op::kQLinearConv:
      return ConvolutionMacs(node);
    case Op::kGemm:
    case Op::kMatMul:
    case Op::kMatMulInteger:
    case Op::kQLinearMatMul:
      return ProductMacs(node, 0);
    case Op::kRNN:
    case Op::kGRU:
    case Op::kLSTM:
      return RecurrentMacs(node);
    case Op::kEinsum:
      return EinsumMacs(node);
    default:
      return 0;
  }
}

// Operators without a case of their own cost one operation per result element.
int64_t OperationsOf(const Node& node) {
  const OpInfo& info = node.info();
  if (info.Has(kMacs)) return MacsOf(node);
  if (info.Has(kMovesData)) return 0;
  switch (node.op()) {
    case Op::kMaxPool:
    case Op::kAveragePool:
    case Op::kGlobalAveragePool:
    case Op::kGlobalMaxPool:
      return PoolOperations(node);
    case Op::kShape:
    case Op::kSize:
    case Op::kConstantOfShape:
    case Op::kDropout:  // the identity at inference
      return 0;
    case Op::kRNN:
    case Op::kGRU:
    case Op::kLSTM:
      return RecurrentMacs(node);
    case Op::kEinsum:
      return std::max(EinsumMacs(node), ElementsOf(node.operand(0)));
    case Op::kScatterElements:
    case Op::kScatterND:
      return ElementsOf(node.operand(2));
    case Op::kNonMaxSuppression:
      return ElementsOf(node.operand(1));
    case Op::kTopK:
    case Op::kNonZero:
    case Op::kArgMax:
    case Op::kDynamicQuantizeLinear:
      return ElementsOf(node.operand(0));
    default:
      if (info.Has(kReduces)) return ElementsOf(node.operand(0));
      return ElementsOf(node.result());
  }
}

int64_t MacsOf(const Graph& graph) {
  int64_t sum = 0;
  for (const auto& node : graph.nodes()) sum = SaturatingAdd(sum, MacsOf(*node));
  return sum;
}

int64_t ParametersOf(const Graph& graph) {
  return OverParameters(graph, [](const Value& constant) { return constant.constant().size(); });
}

// Constants with an annotation are stored as codes of that format.
int64_t ParameterBytesOf(const Graph& graph) {
  return OverParameters(graph, [](const Value& constant) {
    const Tensor& tensor = constant.constant();
    if (!constant.quantisation().has_value()) return tensor.num_bytes();
    return CeilDiv(SaturatingMul(tensor.size(), constant.quantisation()->type.format.bits), 8);
  });
}

}  // namespace kiln
