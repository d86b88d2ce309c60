// Implements EvaluateNode: checks the operands' number and presence, converts element types that
// kernels do not handle (strings, fp16, bf16), and calls the operator's kernel.
#include "kiln/execute/reference.h"

#include <array>
#include <map>
#include <optional>

#include "kiln/execute/reference_kernels.h"

namespace kiln {
namespace reference {
namespace {

constexpr int64_t kMaxResultBytes = int64_t{1} << 32;
constexpr int64_t kMaxListLength = 1 << 16;

// By operator, in the order of operators.def; null without a kernel.
constexpr Kernel kKernels[] = {
#define KILN_OPERATOR(id, text, domain, onnx, least, most, results, traits) \
  KernelOf<Op::k##id>::kFunction,
#include "kiln/ir/operators.def"
#undef KILN_OPERATOR
};

bool IsHalf(ElementType type) {
  return type == ElementType::kFloat16 || type == ElementType::kBfloat16;
}

// Returns the index of the operand whose element type the first result has.
int TypeGivingOperand(Op op) {
  switch (op) {
    case Op::kWhere:
    case Op::kDequantizeLinear:
      return 1;
    default:
      return 0;
  }
}

// Lets kernels that only move elements work on strings: encodes each distinct string as an index
// and decodes the indices that the kernel returns.
class StringTable {
 public:
  StringTable() { IndexOf(""); }  // index 0, what kernels fill with
  Tensor Encode(const Tensor& strings) {
    Tensor out(ElementType::kInt64, strings.shape());
    for (int64_t i = 0; i < strings.size(); ++i) {
      Elements<int64_t>(out)[i] = IndexOf(strings.strings()[static_cast<size_t>(i)]);
    }
    return out;
  }
  Tensor Decode(const Tensor& indices) const {
    std::vector<std::string> out;
    out.reserve(static_cast<size_t>(indices.size()));
    for (int64_t index : indices.data<int64_t>()) out.push_back(texts_[static_cast<size_t>(index)]);
    return Tensor::OfStrings(indices.shape(), std::move(out));
  }

 private:
  int64_t IndexOf(const std::string& text) {
    const auto [it, is_new] = index_.emplace(text, static_cast<int64_t>(texts_.size()));
    if (is_new) texts_.push_back(text);
    return it->second;
  }
  std::map<std::string, int64_t> index_;
  std::vector<std::string> texts_;
};

// Returns true if the operator copies elements without computing on them.
bool MovesStrings(Op op) {
  return InfoOf(op).Has(kMovesData) || op == Op::kWhere || op == Op::kScatterElements ||
         op == Op::kScatterND;
}

// Returns true if operand i holds data, rather than a shape, an axis or a condition.
bool HoldsData(Op op, int i) {
  switch (op) {
    case Op::kConcat:
    case Op::kEqual:
      return true;
    case Op::kWhere:
      return i >= 1;
    case Op::kPad:
    case Op::kScatterElements:
    case Op::kScatterND:
      return i == 0 || i == 2;
    default:
      return i == 0;
  }
}

// Evaluates a node on strings, encoded as int64. Equal compares indices, which are equal if and
// only if the strings are.
KernelResult EvaluateOnStrings(const KernelCall& call, Kernel kernel) {
  const Op op = call.node.op();
  if (!MovesStrings(op) && op != Op::kEqual) return call.UnsupportedType(0);
  StringTable table;
  std::vector<Tensor> encoded(call.operands.size());
  std::vector<const Tensor*> operands(call.operands.begin(), call.operands.end());
  for (int i = 0; i < call.num_operands(); ++i) {
    if (!call.Has(i)) continue;
    if ((call.operand(i).type() == ElementType::kString) != HoldsData(op, i))
      return call.UnsupportedType(i);
    if (!HoldsData(op, i)) continue;
    encoded[static_cast<size_t>(i)] = table.Encode(call.operand(i));
    operands[static_cast<size_t>(i)] = &encoded[static_cast<size_t>(i)];
  }
  KILN_ASSIGN_OR_RETURN(std::vector<Tensor> results, kernel(KernelCall{call.node, operands}));
  if (MovesStrings(op)) {
    for (Tensor& result : results) result = table.Decode(result);
  }
  return results;
}

// Evaluates a node on fp16 or bf16 operands: widens them to fp32 and rounds the results that have
// the operand's type.
KernelResult EvaluateOnHalves(const KernelCall& call, Kernel kernel) {
  const int giving = TypeGivingOperand(call.node.op());
  std::vector<Tensor> widened(call.operands.size());
  std::vector<const Tensor*> operands(call.operands.begin(), call.operands.end());
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] == nullptr || !IsHalf(operands[i]->type())) continue;
    widened[i] = CastTensor(*operands[i], ElementType::kFloat32);
    operands[i] = &widened[i];
  }
  KILN_ASSIGN_OR_RETURN(std::vector<Tensor> results, kernel(KernelCall{call.node, operands}));
  if (!call.Has(giving) || !IsHalf(call.operand(giving).type())) return results;
  // Only the first result has the operand's type, except for recurrent operators, whose states have
  // it as well; other further results (mask, indices, mean) have types of their own.
  const Op op = call.node.op();
  const bool all = op == Op::kRNN || op == Op::kGRU || op == Op::kLSTM;
  for (size_t i = 0; i < (all ? results.size() : 1); ++i) {
    if (results[i].type() == ElementType::kFloat32)
      results[i] = CastTensor(results[i], call.operand(giving).type());
  }
  return results;
}

// Converts the operands if necessary and calls the kernel.
KernelResult Dispatch(const KernelCall& call, Kernel kernel) {
  bool has_half = false, has_string = false;
  for (const Tensor* operand : call.operands) {
    if (operand == nullptr) continue;
    has_half |= IsHalf(operand->type());
    has_string |= operand->type() == ElementType::kString;
  }
  // These do not read elements, or convert types themselves.
  const Op op = call.node.op();
  if (op == Op::kCast || op == Op::kShape || op == Op::kSize || op == Op::kIdentity)
    return kernel(call);
  if (has_string) return EvaluateOnStrings(call, kernel);
  // Kernels that only move bytes work on fp16 and bf16 directly.
  if (has_half && !call.node.info().Has(kMovesData)) return EvaluateOnHalves(call, kernel);
  return kernel(call);
}

}  // namespace

Status KernelCall::Error(std::string_view fault, std::string_view remedy) const {
  return ErrorAt("", node.Describe(), fault, remedy);
}

Status KernelCall::Unsupported(std::string_view fault, std::string_view remedy) const {
  return UnsupportedAt("", node.Describe(), fault, remedy);
}

Status KernelCall::UnsupportedType(int i) const {
  return Unsupported(fmt::format("operand {} has element type {}, for which there is no kernel", i,
                                 Has(i) ? NameOf(operand(i).type()) : "none"),
                     "cast it to f32 first");
}

Status KernelCall::CheckSize(ElementType type, const Shape& shape) const {
  const std::optional<int64_t> count = CheckedNumElements(shape);
  // A string counts as its object, without its characters.
  const int64_t element_bytes = type == ElementType::kString ? 32 : SizeOf(type);
  if (!count.has_value() || *count > kMaxResultBytes / element_bytes) {
    return Error(
        fmt::format("the result would be {} elements of {}", shape.ToString(), NameOf(type)),
        "results of at most 4 GiB are evaluated");
  }
  return OkStatus();
}

// Checks first: attributes of a small model may ask for any amount of memory.
StatusOr<Tensor> KernelCall::NewTensor(ElementType type, const Shape& shape) const {
  KILN_RETURN_IF_ERROR(CheckSize(type, shape));
  return Tensor(type, shape);
}

StatusOr<std::vector<int64_t>> KernelCall::Ints(int i) const {
  const Tensor& t = operand(i);
  if (!IsInteger(t.type()) || t.shape().rank() > 1 || t.size() > kMaxListLength) {
    return Error(fmt::format("operand {} is {} {}", i, NameOf(t.type()), t.shape().ToString()),
                 "it must be a list of integers");
  }
  return t.ToInts();
}

StatusOr<double> KernelCall::Number(int i) const {
  const Tensor& t = operand(i);
  if (t.type() == ElementType::kString || t.size() != 1) {
    return Error(fmt::format("operand {} is {} {}", i, NameOf(t.type()), t.shape().ToString()),
                 "it must be a single number");
  }
  return t.ValueAt(0);
}

StatusOr<int> KernelCall::Axis(int64_t axis, int rank, bool with_end) const {
  const int64_t end = rank + (with_end ? 1 : 0);
  if (axis < -rank || axis >= end) {
    return Error(fmt::format("axis {} is outside a tensor of rank {}", axis, rank),
                 fmt::format("axes run from {} to {}", -rank, end - 1));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

StatusOr<std::vector<int>> KernelCall::Axes(const std::vector<int64_t>& axes, int rank) const {
  std::vector<bool> chosen(static_cast<size_t>(rank), false);
  for (int64_t a : axes) {
    KILN_ASSIGN_OR_RETURN(const int axis, Axis(a, rank));
    if (chosen[static_cast<size_t>(axis)])
      return Error(fmt::format("axis {} is named twice", axis), "name it once");
    chosen[static_cast<size_t>(axis)] = true;
  }
  std::vector<int> sorted;
  for (int axis = 0; axis < rank; ++axis) {
    if (chosen[static_cast<size_t>(axis)]) sorted.push_back(axis);
  }
  return sorted;
}

Status KernelCall::RequireSameType(int i, int j) const {
  if (operand(i).type() == operand(j).type()) return OkStatus();
  return Error(fmt::format("operands {} and {} have element types {} and {}", i, j,
                           NameOf(operand(i).type()), NameOf(operand(j).type())),
               "they must have the same type");
}

}  // namespace reference

bool HasReferenceKernel(Op op) { return reference::kKernels[static_cast<size_t>(op)] != nullptr; }

StatusOr<std::vector<Tensor>> EvaluateNode(const Node& node,
                                           std::span<const Tensor* const> operands) {
  const reference::KernelCall call{node, operands};
  const OpInfo& info = node.info();
  const int count = call.num_operands();
  if (count < info.min_operands || (info.max_operands >= 0 && count > info.max_operands)) {
    return call.Error(fmt::format("{} operands", count),
                      fmt::format("{} takes {}{}", info.id, info.min_operands,
                                  info.max_operands < 0 ? " or more"
                                  : info.max_operands == info.min_operands
                                      ? ""
                                      : fmt::format(" to {}", info.max_operands)));
  }
  // Required operands must be present; so must all operands of an operator that takes any number.
  for (int i = 0; i < info.min_operands; ++i) {
    if (!call.Has(i)) return call.Error(fmt::format("operand {} is absent", i), "it is required");
  }
  if (info.max_operands < 0) {
    for (int i = 0; i < count; ++i) {
      if (!call.Has(i)) return call.Error(fmt::format("operand {} is absent", i), "it is required");
    }
  }
  const reference::Kernel kernel = reference::kKernels[static_cast<size_t>(node.op())];
  if (kernel == nullptr) return call.Unsupported("the reference level has no kernel for it", "");
  KILN_ASSIGN_OR_RETURN(std::vector<Tensor> results, reference::Dispatch(call, kernel));
  // A kernel may compute more results than the node asks for, but not fewer.
  if (static_cast<int>(results.size()) < node.num_results()) {
    return call.Error(fmt::format("{} results are asked for", node.num_results()),
                      fmt::format("it gives {}", results.size()));
  }
  results.resize(static_cast<size_t>(node.num_results()));
  return results;
}

}  // namespace kiln
