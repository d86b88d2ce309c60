#include "kiln/ir/verifier.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "fmt/format.h"
#include "kiln/ir/shape_inference.h"

namespace kiln {
namespace {

std::string PlaceOf(const Value& value) { return "value '" + value.name() + "'"; }

std::string TypeText(const TensorType& type) {
  return fmt::format("{}[{}]", NameOf(type.element), type.shape.has_value() ? type.shape->ToString() : "*");
}

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  Status Run() {
    KILN_RETURN_IF_ERROR(CheckValues());
    KILN_RETURN_IF_ERROR(CheckNodes());
    KILN_RETURN_IF_ERROR(CheckUsers());
    for (const Value* output : graph_.outputs()) {
      if (output == nullptr) return Error("", "an output is null", "");
      if (defined_.count(output) == 0) return Error("", "an output is no value of the graph", "");
    }
    return OkStatus();
  }

 private:
  Status Error(std::string_view place, std::string_view fault, std::string_view remedy) const {
    return ErrorAt(graph_.source(), place, fault, remedy);
  }

  Status CheckValue(const Value& value) {
    if (!defined_.insert(&value).second) return Error(PlaceOf(value), "is defined twice", "");
    if (!names_.insert(value.name()).second) return Error(PlaceOf(value), "shares its name with another value", "");
    if (graph_.FindValue(value.name()) != &value) {
      return Error(PlaceOf(value), "is not found under its name", "names changed through Graph::Rename only");
    }
    if (value.has_shape() && !IsAcceptable(value.shape())) {
      return Error(PlaceOf(value), "has shape " + value.shape().ToString(),
                   fmt::format("at most {} axes and {} elements", kMaxRank, kMaxElements));
    }
    if (value.quantisation().has_value()) {
      KILN_RETURN_IF_ERROR(VerifyQuantisation(*value.quantisation(), value.type(), graph_.source(), PlaceOf(value)));
    }
    return OkStatus();
  }

  Status CheckValues() {
    for (const Value* input : graph_.inputs()) {
      if (!input->is_input() || input->is_constant() || input->producer() != nullptr) {
        return Error(PlaceOf(*input), "stands among the inputs but is a constant or a result", "");
      }
      KILN_RETURN_IF_ERROR(CheckValue(*input));
    }
    for (const Value* constant : graph_.Constants()) {
      if (constant->is_input() || constant->producer() != nullptr) {
        return Error(PlaceOf(*constant), "is a constant and an input or a result at once", "");
      }
      const Tensor& tensor = constant->constant();
      if (constant->type() != TensorType{tensor.type(), tensor.shape()}) {
        return Error(PlaceOf(*constant),
                     fmt::format("has type {}, its constant {}", TypeText(constant->type()),
                                 TypeText({tensor.type(), tensor.shape()})),
                     "the same type");
      }
      KILN_RETURN_IF_ERROR(CheckValue(*constant));
    }
    return OkStatus();
  }

  Status CheckNodes() {
    std::unordered_set<const Value*> results;
    for (const auto& node : graph_.nodes()) {
      for (const Value* result : node->results()) results.insert(result);
    }
    for (const auto& node : graph_.nodes()) {
      for (const Value* operand : node->operands()) {
        if (operand == nullptr) continue;
        ++uses_[operand][node.get()];
        if (defined_.count(operand) != 0) continue;
        if (results.count(operand) != 0) {
          return Error(node->Describe(), fmt::format("operand '{}' is computed later", operand->name()),
                       "nodes in topological order (Graph::SortTopologically)");
        }
        return Error(node->Describe(),
                     fmt::format("operand '{}' is no input, constant or result of the graph", operand->name()), "");
      }
      KILN_RETURN_IF_ERROR(CheckTypes(*node));
      for (const Value* result : node->results()) {
        if (result == nullptr) continue;
        if (result->producer() != node.get() || result->is_input() || result->is_constant()) {
          return Error(node->Describe(), fmt::format("result '{}' is not its own", result->name()), "");
        }
        KILN_RETURN_IF_ERROR(CheckValue(*result));
      }
    }
    return OkStatus();
  }

  Status CheckTypes(const Node& node) {
    KILN_ASSIGN_OR_RETURN(const std::vector<TensorType> inferred, InferResultTypes(node, graph_.source()));
    for (int i = 0; i < node.num_results(); ++i) {
      const Value* result = node.result(i);
      if (result == nullptr) {
        if (i == 0 && node.num_results() == 1) {
          return Error(node.Describe(), "has no result", "one result at least");
        }
        continue;
      }
      const TensorType& type = inferred[static_cast<size_t>(i)];
      if (!Compatible(type, result->type())) {
        return Error(node.Describe(),
                     fmt::format("result '{}' has type {}, where {} follows from the operands", result->name(),
                                 TypeText(result->type()), TypeText(type)),
                     "types set by InferNode");
      }
    }
    return OkStatus();
  }

  Status CheckUsers() {
    for (const Value* value : defined_) {
      std::unordered_map<const Node*, int> listed;
      for (const Node* user : value->users()) ++listed[user];
      if (listed != uses_[value]) {
        return Error(PlaceOf(*value),
                     fmt::format("lists {} uses that differ from those there are", value->users().size()),
                     "operands changed through the graph's mutators only");
      }
    }
    return OkStatus();
  }

  const Graph& graph_;
  std::unordered_set<const Value*> defined_;
  std::unordered_set<std::string> names_;
  std::unordered_map<const Value*, std::unordered_map<const Node*, int>> uses_;
};

// How many scales an annotation must have; nullopt where the shape does not tell.
StatusOr<std::optional<int64_t>> ScalesWanted(const Quantisation& q, const TensorType& type, std::string_view source,
                                              std::string_view place) {
  using Count = std::optional<int64_t>;
  switch (q.type.scheme) {
    case Scheme::kNone:
      return Count(0);
    case Scheme::kPerTensor:
      if (q.axis != -1) return ErrorAt(source, place, fmt::format("is per_tensor along axis {}", q.axis), "axis -1");
      return Count(1);
    case Scheme::kPerChannel:
    case Scheme::kPerBlock:
      break;
  }
  if (!type.shape.has_value()) return Count();
  const Shape& shape = *type.shape;
  if (q.axis < 0 || q.axis >= shape.rank()) {
    return ErrorAt(source, place,
                   fmt::format("is {} along axis {} of {}", NameOf(q.type.scheme), q.axis, shape.ToString()),
                   fmt::format("0 to {}", shape.rank() - 1));
  }
  const int64_t length = shape[q.axis];
  if (q.type.scheme == Scheme::kPerChannel) return length < 0 ? Count() : Count(length);
  if (q.type.block_size < 1) {
    return ErrorAt(source, place, fmt::format("is per_block with blocks of {}", q.type.block_size), "1 or more");
  }
  if (!shape.IsKnown()) return Count();
  Shape blocks = shape;
  blocks[q.axis] = (length + q.type.block_size - 1) / q.type.block_size;
  return CheckedNumElements(blocks);
}

}  // namespace

Status VerifyQuantisation(const Quantisation& q, const TensorType& type, std::string_view source,
                          std::string_view place) {
  const Format& format = q.type.format;
  if (!FindFormat(format.name).ok()) {
    return ErrorAt(source, place, fmt::format("has the unknown number format '{}'", format.name), "");
  }
  if (!IsFloat(type.element) && !IsInteger(type.element)) {
    return ErrorAt(source, place, fmt::format("of type {} is quantised to {}", NameOf(type.element), format.name),
                   "annotations on numbers");
  }
  KILN_ASSIGN_OR_RETURN(const std::optional<int64_t> wanted, ScalesWanted(q, type, source, place));
  // A value without scales may say 1 in so many words.
  const auto scales = static_cast<int64_t>(q.scales.size());
  const bool as_wanted = !wanted.has_value() || scales == *wanted || (q.type.scheme == Scheme::kNone && scales == 1);
  if (!as_wanted) {
    return ErrorAt(source, place, fmt::format("has {} scales under {}", scales, NameOf(q.type.scheme)),
                   fmt::format("{}", *wanted));
  }
  if (q.zero_points.size() != q.scales.size()) {
    return ErrorAt(source, place, fmt::format("has {} zero points for {} scales", q.zero_points.size(), scales),
                   "as many");
  }
  for (float scale : q.scales) {
    if (!std::isfinite(scale) || scale <= 0) {
      return ErrorAt(source, place, fmt::format("has the scale {}", scale), "positive and finite scales");
    }
  }
  const int64_t least = format.is_integer() ? format.min_code() : 0;
  const int64_t most = format.is_integer() ? format.max_code() : 0;
  for (int32_t zero : q.zero_points) {
    if (zero < least || zero > most) {
      return ErrorAt(source, place, fmt::format("has the zero point {}", zero),
                     fmt::format("{} to {} in {}", least, most, format.name));
    }
    if (zero != 0 && q.type.symmetric) {
      return ErrorAt(source, place, fmt::format("is symmetric with zero point {}", zero), "0, or not symmetric");
    }
  }
  return OkStatus();
}

Status Verify(const Graph& graph) { return Verifier(graph).Run(); }

}  // namespace kiln
