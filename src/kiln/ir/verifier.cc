// Checks graphs and annotations against the rules in verifier.h.

#include "kiln/ir/verifier.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "fmt/format.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/support/excerpt.h"

namespace kiln {
namespace {

// Returns how errors name a value.
std::string PlaceOf(const Value& value) { return "value " + QuotedExcerpt(value.name()); }

// Returns a type for messages: "f32[1x3]", or "f32[*]" for an unknown rank.
std::string TypeForMessage(const TensorType& type) {
  return fmt::format("{}[{}]", NameOf(type.element),
                     type.shape.has_value() ? type.shape->ToString() : "*");
}

// One verification of a graph. Collects values and uses while it checks nodes in order, and
// compares the uses with the user lists at the end.
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

  // Checks the properties that all values share, and marks the value as defined.
  Status CheckValue(const Value& value) {
    if (!defined_.insert(&value).second) return Error(PlaceOf(value), "is defined twice", "");
    if (!names_.insert(value.name()).second)
      return Error(PlaceOf(value), "shares its name with another value", "");
    if (graph_.FindValue(value.name()) != &value) {
      return Error(PlaceOf(value), "is not found under its name",
                   "names changed through Graph::Rename only");
    }
    if (value.has_shape() && !IsAcceptable(value.shape())) {
      return Error(PlaceOf(value), "has shape " + value.shape().ToString(),
                   fmt::format("at most {} axes and {} elements", kMaxRank, kMaxElements));
    }
    if (value.quantisation().has_value()) {
      KILN_RETURN_IF_ERROR(
          VerifyQuantisation(*value.quantisation(), value.type(), graph_.source(), PlaceOf(value)));
    }
    return OkStatus();
  }

  // Checks inputs and constants, which are defined before all nodes.
  Status CheckValues() {
    for (const Value* input : graph_.inputs()) {
      if (!input->is_input() || input->is_constant() || input->producer() != nullptr) {
        return Error(PlaceOf(*input), "is among the inputs but is a constant or a result", "");
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
                     fmt::format("has type {}, its constant {}", TypeForMessage(constant->type()),
                                 TypeForMessage({tensor.type(), tensor.shape()})),
                     "the same type");
      }
      KILN_RETURN_IF_ERROR(CheckValue(*constant));
    }
    return OkStatus();
  }

  // Checks that operands are defined before their node, and that types and results are consistent.
  Status CheckNodes() {
    // All results, to distinguish a wrong order from a value of another graph.
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
          return Error(node->Describe(),
                       fmt::format("operand {} is computed later", QuotedExcerpt(operand->name())),
                       "nodes in topological order (Graph::SortTopologically)");
        }
        return Error(node->Describe(),
                     fmt::format("operand {} is no input, constant or result of the graph",
                                 QuotedExcerpt(operand->name())),
                     "");
      }
      KILN_RETURN_IF_ERROR(CheckTypes(*node));
      for (const Value* result : node->results()) {
        if (result == nullptr) continue;
        if (result->producer() != node.get() || result->is_input() || result->is_constant()) {
          return Error(node->Describe(),
                       fmt::format("result {} is not its own", QuotedExcerpt(result->name())), "");
        }
        KILN_RETURN_IF_ERROR(CheckValue(*result));
      }
    }
    return OkStatus();
  }

  // Checks that no declared type contradicts inference.
  Status CheckTypes(const Node& node) {
    KILN_ASSIGN_OR_RETURN(const std::vector<TensorType> inferred,
                          InferResultTypes(node, graph_.source()));
    for (int i = 0; i < node.num_results(); ++i) {
      const Value* result = node.result(i);
      if (result == nullptr) {
        if (i == 0 && node.num_results() == 1) {
          return Error(node.Describe(), "has no result", "one result at least");
        }
        continue;
      }
      // An unknown part of the inferred type permits any declared one.
      const TensorType& type = inferred[static_cast<size_t>(i)];
      if (!Compatible(type, result->type())) {
        return Error(node.Describe(),
                     fmt::format("result {} has type {}, where {} follows from the operands",
                                 QuotedExcerpt(result->name()), TypeForMessage(result->type()),
                                 TypeForMessage(type)),
                     "types set by InferNode");
      }
    }
    return OkStatus();
  }

  // Checks that the user list of every value counts exactly its uses.
  Status CheckUsers() {
    for (const Value* value : defined_) {
      std::unordered_map<const Node*, int> listed;
      for (const Node* user : value->users()) ++listed[user];
      if (listed != uses_[value]) {
        return Error(
            PlaceOf(*value),
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

// Returns whether a format is complete: known to FindFormat, or a codebook with values. The file of
// a codebook is not read again.
bool IsKnown(const Format& format) {
  if (format.kind == FormatKind::kCodebook)
    return format.codebook != nullptr && !format.codebook->values.empty();
  return FindFormat(format.name).ok();
}

// Checks one annotation against the type of its value.
class AnnotationVerifier {
 public:
  AnnotationVerifier(const Quantisation& q, const TensorType& type, std::string_view source,
                     std::string_view place)
      : q_(q), type_(type), source_(source), place_(place) {}

  Status Run() {
    KILN_RETURN_IF_ERROR(CheckFormats());
    if (!IsFloat(type_.element) && !IsInteger(type_.element)) {
      return Error(
          fmt::format("of type {} is quantised to {}", NameOf(type_.element), q_.type.format.name),
          "annotations on numbers");
    }
    KILN_RETURN_IF_ERROR(CheckAxis());
    KILN_RETURN_IF_ERROR(CheckCounts());
    KILN_RETURN_IF_ERROR(CheckScales());
    return CheckZeroPoints();
  }

 private:
  Status Error(std::string_view fault, std::string_view remedy) const {
    return ErrorAt(source_, place_, fault, remedy);
  }
  // Returns whether the scheme has one scale per index or block of an axis.
  bool HasAxis() const {
    return q_.type.scheme == Scheme::kPerChannel || q_.type.scheme == Scheme::kPerBlock;
  }

  // Checks the formats, the block size, and that only integers have zero points.
  Status CheckFormats() const {
    const QuantType& type = q_.type;
    if (!IsKnown(type.format))
      return Error(fmt::format("has the unknown number format {}", QuotedExcerpt(type.format.name)),
                   "");
    if (!type.symmetric && !type.format.is_whole()) {
      return Error(fmt::format("is asymmetric in {}", type.format.name),
                   "symmetric: only whole integers take zero points");
    }
    const bool has_scales = type.scheme != Scheme::kNone;
    if (has_scales &&
        (type.scale_format.kind != FormatKind::kFloat || !IsKnown(type.scale_format))) {
      return Error(fmt::format("has scales in {}", QuotedExcerpt(type.scale_format.name)),
                   "a float format");
    }
    if (type.scheme != Scheme::kPerBlock && type.block_size != 0) {
      return Error(fmt::format("has blocks of {} under {}", type.block_size, NameOf(type.scheme)),
                   "no block size");
    }
    if (type.scheme == Scheme::kPerBlock && type.block_size < 1) {
      return Error(fmt::format("is per_block with blocks of {}", type.block_size), "1 or more");
    }
    return OkStatus();
  }

  // Checks that the axis exists exactly if the scheme needs one.
  Status CheckAxis() const {
    if (!HasAxis()) {
      if (q_.axis == -1) return OkStatus();
      return Error(fmt::format("is {} along axis {}", NameOf(q_.type.scheme), q_.axis), "axis -1");
    }
    if (!type_.shape.has_value() && q_.axis >= 0) return OkStatus();
    const int rank = type_.shape.has_value() ? type_.shape->rank() : 0;
    if (q_.axis >= 0 && q_.axis < rank) return OkStatus();
    return Error(fmt::format("is {} along axis {} of {}", NameOf(q_.type.scheme), q_.axis,
                             type_.shape.has_value() ? type_.shape->ToString() : "*"),
                 rank == 0 ? "an axis that is there" : fmt::format("0 to {}", rank - 1));
  }

  // Returns the required number of scales, or nullopt if the shape does not determine it.
  std::optional<int64_t> ScalesWanted() const {
    if (!HasAxis()) return q_.type.scheme == Scheme::kNone ? 0 : 1;
    if (q_.type.scheme == Scheme::kPerBlock && q_.scales.empty()) return 0;
    if (!type_.shape.has_value()) return std::nullopt;
    Shape shape = *type_.shape;
    const int64_t length = shape[q_.axis];
    if (q_.type.scheme == Scheme::kPerChannel)
      return length < 0 ? std::nullopt : std::optional(length);
    if (!shape.IsKnown()) return std::nullopt;
    shape[q_.axis] = (length + q_.type.block_size - 1) / q_.type.block_size;
    return CheckedNumElements(shape);
  }

  // Checks the numbers of scales and zero points.
  Status CheckCounts() const {
    const std::optional<int64_t> wanted = ScalesWanted();
    if (wanted.has_value() && std::ssize(q_.scales) != *wanted) {
      return Error(fmt::format("has {} scales under {}", q_.scales.size(), NameOf(q_.type.scheme)),
                   fmt::format("{}", *wanted));
    }
    if (q_.zero_points.size() == q_.scales.size()) return OkStatus();
    return Error(
        fmt::format("has {} zero points for {} scales", q_.zero_points.size(), q_.scales.size()),
        "as many");
  }

  // Checks that every scale is positive and finite.
  Status CheckScales() const {
    for (float scale : q_.scales) {
      if (!std::isfinite(scale) || scale <= 0) {
        return Error(fmt::format("has the scale {}", scale), "positive and finite scales");
      }
    }
    return OkStatus();
  }

  // Checks that every zero point is a code of the format, and 0 in symmetric annotations.
  Status CheckZeroPoints() const {
    const Format& format = q_.type.format;
    const int64_t least = format.is_integer() ? format.min_code() : 0;
    const int64_t most = format.is_integer() ? format.max_code() : 0;
    for (int32_t zero : q_.zero_points) {
      if (zero < least || zero > most) {
        return Error(fmt::format("has the zero point {}", zero),
                     fmt::format("{} to {} in {}", least, most, format.name));
      }
      if (zero != 0 && q_.type.symmetric) {
        return Error(fmt::format("is symmetric with zero point {}", zero), "0, or not symmetric");
      }
    }
    return OkStatus();
  }

  const Quantisation& q_;
  const TensorType& type_;
  std::string_view source_, place_;
};

}  // namespace

Status VerifyQuantisation(const Quantisation& quantisation, const TensorType& type,
                          std::string_view source, std::string_view place) {
  return AnnotationVerifier(quantisation, type, source, place).Run();
}

Status Verify(const Graph& graph) { return Verifier(graph).Run(); }

}  // namespace kiln
