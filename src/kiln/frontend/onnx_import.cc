// Implements ImportOnnx. The importer reads opsets, functions, initialisers and inputs, sorts the
// nodes (onnx_schedule.h) and adds them one by one: functions are inlined, older forms upgraded
// (onnx_rules.h), and types inferred as nodes are added.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "kiln/frontend/onnx.h"
#include "kiln/frontend/onnx_budget.h"
#include "kiln/frontend/onnx_external.h"
#include "kiln/frontend/onnx_file.h"
#include "kiln/frontend/onnx_narrow.h"
#include "kiln/frontend/onnx_rules.h"
#include "kiln/frontend/onnx_schedule.h"
#include "kiln/frontend/onnx_tensor.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/support/budgets.h"
#include "kiln/support/excerpt.h"

namespace kiln {
namespace {

constexpr std::string_view kKilnDomain = "kiln";
constexpr std::string_view kMetadataPrefix = "kiln.";

// Returns the bytes that a message takes in memory.
int64_t MemoryOf(const google::protobuf::Message& message) {
  return static_cast<int64_t>(message.SpaceUsedLong());
}

using AttributeProtos = std::unordered_map<std::string, onnx::AttributeProto>;
using Opsets = std::unordered_map<std::string, int64_t>;

// The names and versions valid within one list of nodes: the model's graph, or the body of one
// function call.
// Names inside a function are local: call "block" of a body with a value "y" makes "block/y".
struct Scope {
  // Values by name within the scope; null: an absent operand.
  std::unordered_map<std::string, Value*> values;
  std::unordered_map<std::string, std::string> renamed;  // results whose name the caller chose
  std::unordered_map<std::string, int> uses;             // how often each name is read
  std::unordered_set<std::string> outputs;
  std::string prefix;               // prefix of the names of values and nodes
  AttributeProtos call_attributes;  // the attributes that ref_attr_name refers to
  const Opsets* opsets = nullptr;
  int depth = 0;
};

// Imports one model.
class Importer {
 public:
  Importer(onnx::ModelProto& model, std::string source, const std::filesystem::path& folder,
           const ImportOptions& options)
      : model_(model), source_(std::move(source)), files_(folder, source_), options_(options) {}

  StatusOr<Graph> Run();

 private:
  Status ReadOpsets();
  Status ReadFunctions();
  Status CheckOperators() const;
  Status AddInitialisers();
  Status ApplyShapes();
  Status BindSymbols();
  Status CheckInputsKnown() const;
  void NoteReplaced(const onnx::ValueInfoProto& input, const Shape& given);
  // Returns an error about a node, which names the option if --shape replaced fixed dimensions.
  Status WithReplacedShape(const Status& status) const;
  Status AddInputs();
  Status ReadDeclaredTypes();
  Status AddNodes(NodeProtos& nodes, Scope& scope);
  Status AddNode(onnx::NodeProto& proto, int index, Scope& scope);
  Status AddOperator(onnx::NodeProto& proto, int index, const std::string& domain, int opset,
                     Scope& scope);
  Status AddConstantNode(onnx::NodeProto& proto, int index, Scope& scope);
  // Counts bytes that inlining copies against the budget.
  Status ChargeCopy(int64_t bytes, const std::string& place);
  Status InlineCall(const onnx::NodeProto& proto, int index, const onnx::FunctionProto& function,
                    Scope& scope);
  Status MarkOutputs();

  Status ReadAttribute(onnx::AttributeProto& proto, const std::string& place, Attributes& out);
  StatusOr<TensorType> ReadType(const onnx::TypeProto& type, const std::string& place,
                                bool is_input);
  Status ApplyDeclaredType(const std::string& name, Value* value, const std::string& place);
  StatusOr<int> OpsetOf(const Opsets& opsets, const std::string& domain,
                        const std::string& place) const;
  std::string ResultName(const Scope& scope, const std::string& name) const;
  const onnx::FunctionProto* FindFunction(const std::string& domain,
                                          const std::string& op_type) const;
  void CountUses(const NodeProtos& nodes, Scope& scope) const;

  // Consumed during the import: converted tensors are freed, so that both forms of the weights
  // never exist together.
  onnx::ModelProto& model_;
  std::string source_;
  ExternalFiles files_;
  // The constants of narrow types, which the graph stores as other types.
  NarrowValues narrow_;
  // Limits constants that the import creates beyond those in the file.
  ElementBudget budget_;
  // Results of shape arithmetic that have been evaluated.
  KnownTensors known_;
  const ImportOptions& options_;
  Graph graph_;
  Scope main_;
  // Versions by canonical domain: of the model, and of each function.
  Opsets opsets_;
  std::unordered_map<std::string, Opsets> function_opsets_;
  std::unordered_map<std::string, const onnx::FunctionProto*> functions_;  // by "domain.name"
  // Sizes of symbolic dimensions, by name.
  std::unordered_map<std::string, int64_t> symbols_;
  std::map<std::string, Shape> input_shapes_;  // shapes that the caller requested
  // Types that the model declares, by value name.
  std::unordered_map<std::string, TensorType> declared_;
  // The first fixed dimensions that --shape replaced, as an error's place and fault; "" if none.
  std::string replaced_place_, replaced_fault_;
  // Cleared if the caller overrides a shape that the model fixes, because its declared types of
  // inner values then no longer hold.
  bool trust_declared_ = true;
  // Counted against budgets::kOnnxNodes and budgets::kOnnxInlinedBytes.
  int64_t num_nodes_ = 0;
  int64_t inlined_bytes_ = 0;
};

// Each step fills what the next ones need; operators are checked before any tensor is converted, so
// that an unsupported network fails fast.
StatusOr<Graph> Importer::Run() {
  if (!model_.has_graph()) {
    return ErrorAt(source_, "", "is not an ONNX model: it holds no graph",
                   "the file may be damaged or cut short");
  }
  graph_.set_name(model_.graph().name());
  graph_.set_source(source_);
  // Only Kiln's own metadata is kept, such as preprocessing.
  for (const auto& property : model_.metadata_props()) {
    if (property.key().rfind(kMetadataPrefix, 0) == 0)
      graph_.metadata()[property.key()] = property.value();
  }
  KILN_RETURN_IF_ERROR(ReadOpsets());
  KILN_RETURN_IF_ERROR(ReadFunctions());
  KILN_RETURN_IF_ERROR(CheckOperators());
  KILN_RETURN_IF_ERROR(AddInitialisers());
  KILN_RETURN_IF_ERROR(ApplyShapes());
  KILN_RETURN_IF_ERROR(AddInputs());
  if (options_.known_inputs) KILN_RETURN_IF_ERROR(CheckInputsKnown());
  KILN_RETURN_IF_ERROR(ReadDeclaredTypes());
  main_.opsets = &opsets_;
  for (const auto& output : model_.graph().output()) main_.outputs.insert(output.name());
  if (const Status status = AddNodes(*model_.mutable_graph()->mutable_node(), main_); !status.ok())
    return WithReplacedShape(status);
  KILN_RETURN_IF_ERROR(MarkOutputs());
  graph_.EraseUnusedConstants();
  return std::move(graph_);
}

// Reads the opsets that the model imports.
Status Importer::ReadOpsets() {
  for (const auto& opset : model_.opset_import())
    opsets_[CanonicalDomain(opset.domain())] = opset.version();
  // Models before IR version 3 do not state an opset; opset 1 was the only one.
  if (opsets_.empty() && model_.ir_version() < 3) opsets_[""] = 1;
  if (const auto it = opsets_.find("");
      it != opsets_.end() && (it->second < 1 || it->second > kOnnxOpset)) {
    return UnsupportedAt(source_, "",
                         fmt::format("opset {} of ai.onnx is not supported", it->second),
                         fmt::format("convert the model to opset 1 to {}", kOnnxOpset));
  }
  return OkStatus();
}

// A function may import other opsets than the model; the model's are the default.
Status Importer::ReadFunctions() {
  for (const auto& function : model_.functions()) {
    const std::string key = DescribeOperator(CanonicalDomain(function.domain()), function.name());
    functions_[key] = &function;
    Opsets& opsets = function_opsets_[key];
    opsets = opsets_;
    for (const auto& opset : function.opset_import())
      opsets[CanonicalDomain(opset.domain())] = opset.version();
  }
  return OkStatus();
}

const onnx::FunctionProto* Importer::FindFunction(const std::string& domain,
                                                  const std::string& op_type) const {
  const auto it = functions_.find(DescribeOperator(domain, op_type));
  return it == functions_.end() ? nullptr : it->second;
}

// The most unsupported operators that a message lists.
constexpr size_t kShownOperators = 16;

// Reports the unsupported operators in one message, each with the first node that uses it.
Status Importer::CheckOperators() const {
  std::vector<std::string> unsupported;
  std::set<std::string> seen;
  const auto check = [&](const NodeProtos& nodes) {
    for (int i = 0; i < nodes.size(); ++i) {
      const std::string domain = CanonicalDomain(nodes[i].domain());
      const std::string& op_type = nodes[i].op_type();
      if (FindFunction(domain, op_type) != nullptr || IsSupported(domain, op_type)) continue;
      const std::string name = DescribeOperator(domain, op_type);
      if (seen.insert(name).second)
        unsupported.push_back(fmt::format("{} (node {})", Excerpt(name, 40),
                                          QuotedExcerpt(NameOfNode(nodes[i], i), 60)));
    }
  };
  check(model_.graph().node());
  for (const auto& function : model_.functions()) check(function.node());
  if (unsupported.empty()) return OkStatus();
  return UnsupportedAt(
      source_, "",
      "operators that are not supported: " + ListExcerpt(unsupported, ", ", kShownOperators),
      "docs/operators.md lists what is");
}

// Adds dense and sparse initialisers as constants.
Status Importer::AddInitialisers() {
  // Adds a constant, unless its name is taken or its conversion failed.
  const auto add = [&](const std::string& name, StatusOr<Tensor> tensor) -> Status {
    if (!tensor.ok()) return tensor.status();
    if (name.empty()) return ErrorAt(source_, "", "an initialiser has no name", "");
    if (main_.values.count(name) != 0) {
      return ErrorAt(source_, "initialiser " + QuotedExcerpt(name), "is defined twice",
                     "every value has one definition");
    }
    main_.values[name] = graph_.AddConstant(name, *std::move(tensor));
    return OkStatus();
  };
  for (auto& proto : *model_.mutable_graph()->mutable_initializer()) {
    const std::string name = proto.name();
    const std::string_view narrow = NarrowFormatOf(proto.data_type());
    KILN_RETURN_IF_ERROR(
        add(name, TakeTensor(proto, source_, "initialiser " + QuotedExcerpt(name), files_)));
    if (!narrow.empty()) narrow_.NoteConstant(main_.values[name], narrow);
  }
  for (auto& proto : *model_.mutable_graph()->mutable_sparse_initializer()) {
    const std::string name = proto.values().name();
    KILN_RETURN_IF_ERROR(add(
        name,
        TakeSparseTensor(proto, source_, "initialiser " + QuotedExcerpt(name), files_, budget_)));
  }
  return OkStatus();
}

// Reads a declared type. Symbolic dimensions become the sizes given for their symbols; an input's
// first dimension becomes options_.batch.
StatusOr<TensorType> Importer::ReadType(const onnx::TypeProto& type, const std::string& place,
                                        bool is_input) {
  if (!type.has_tensor_type()) {
    return UnsupportedAt(source_, place, "is not a tensor",
                         "sequences, maps and optionals are not supported");
  }
  const auto& tensor = type.tensor_type();
  const std::optional<ElementType> element = FindElementTypeByOnnxCode(tensor.elem_type());
  if (!element) {
    return UnsupportedAt(source_, place,
                         "element type " + OnnxTypeName(tensor.elem_type()) + " is not supported",
                         "");
  }
  TensorType out{*element, std::nullopt};
  if (!tensor.has_shape()) return out;
  std::vector<int64_t> dims;
  for (const auto& dim : tensor.shape().dim()) {
    // The first symbolic dimension of an input is taken for the batch, unless its symbol has a
    // size.
    const bool first = dims.empty();
    if (dim.has_dim_value() && dim.dim_value() >= 0) {
      dims.push_back(dim.dim_value());
    } else if (const auto it = symbols_.find(dim.dim_param()); it != symbols_.end()) {
      dims.push_back(it->second);
    } else if (is_input && first && options_.batch > 0) {
      if (!dim.dim_param().empty()) symbols_[dim.dim_param()] = options_.batch;
      dims.push_back(options_.batch);
    } else {
      dims.push_back(kUnknownDim);
    }
  }
  out.shape = Shape(std::move(dims));
  if (!IsAcceptable(*out.shape)) {
    return ErrorAt(source_, place, "shape " + out.shape->ToString() + " is too large",
                   fmt::format("at most {} axes and {} elements", kMaxRank, kMaxElements));
  }
  return out;
}

// Returns a declared shape with its symbols, such as "batch x seq x 768".
std::string DeclaredShape(const onnx::ValueInfoProto& input) {
  if (!input.type().tensor_type().has_shape()) return "of unknown shape";
  std::vector<std::string> dims;
  for (const auto& dim : input.type().tensor_type().shape().dim()) {
    const bool sized = dim.has_dim_value() && dim.dim_value() >= 0;
    dims.push_back(sized                     ? std::to_string(dim.dim_value())
                   : dim.dim_param().empty() ? "?"
                                             : dim.dim_param());
  }
  return dims.empty() ? "scalar" : ListExcerpt(dims, " x ");
}

// Divides options_.shapes into sizes of symbols and shapes of inputs.
Status Importer::ApplyShapes() {
  input_shapes_ = options_.input_shapes;
  std::set<std::string> symbols, inputs;
  for (const auto& input : model_.graph().input()) {
    if (main_.values.count(input.name()) != 0) continue;  // an initialiser
    inputs.insert(input.name());
    for (const auto& dim : input.type().tensor_type().shape().dim()) {
      if (!dim.dim_param().empty()) symbols.insert(dim.dim_param());
    }
  }
  for (const auto& [name, shape] : options_.shapes) {
    if (shape.rank() == 1 && symbols.contains(name)) {
      symbols_[name] = shape[0];
    } else if (inputs.contains(name)) {
      input_shapes_[name] = shape;
    } else {
      const bool symbol = symbols.contains(name);
      return ErrorAt(source_, "--shape " + Excerpt(name),
                     symbol ? fmt::format("{} is no size of one dimension", shape.ToString())
                            : "names no symbolic dimension and no input of the model",
                     symbol ? "give it a number, as in " + Excerpt(name) + "=128"
                            : fmt::format("symbols: {}; inputs: {}",
                                          symbols.empty() ? "none" : ListExcerpt(symbols, ", "),
                                          ListExcerpt(inputs, ", ")));
    }
  }
  return BindSymbols();
}

// Gives symbols without a size those of the requested shapes of inputs.
Status Importer::BindSymbols() {
  std::map<std::string, std::pair<int64_t, std::string>> bound;  // by symbol: its size, the input
  for (const auto& input : model_.graph().input()) {
    const auto it = input_shapes_.find(input.name());
    const auto& declared = input.type().tensor_type().shape().dim();
    if (it == input_shapes_.end() || it->second.rank() != declared.size()) continue;
    for (int i = 0; i < declared.size(); ++i) {
      const std::string& symbol = declared[i].dim_param();
      if (symbol.empty() || symbols_.contains(symbol)) continue;
      const auto [known, added] = bound.try_emplace(symbol, it->second[i], input.name());
      const auto& [size, first] = known->second;
      if (size == it->second[i]) continue;
      return ErrorAt(source_, "--shape " + Excerpt(input.name()),
                     fmt::format("{} is {} here and {} in input {}", Excerpt(symbol), it->second[i],
                                 size, QuotedExcerpt(first)),
                     "a symbol has one size; name it with --shape where shapes differ");
    }
  }
  for (const auto& [symbol, size] : bound) symbols_[symbol] = size.first;
  return OkStatus();
}

// Reports the inputs whose shapes are still unknown, and how to set them.
Status Importer::CheckInputsKnown() const {
  // Collects the symbols without a size, in order of appearance, and the inputs that need them.
  std::vector<std::string> symbols, where;
  std::string unnamed;  // an input with an unnamed unknown dimension
  for (const auto& input : model_.graph().input()) {
    const Value* value = graph_.FindValue(input.name());
    if (value == nullptr || !value->is_input() || (value->has_shape() && value->shape().IsKnown()))
      continue;
    where.push_back(fmt::format("{} {}", input.name(), DeclaredShape(input)));
    bool named = false;
    for (const auto& dim : input.type().tensor_type().shape().dim()) {
      const std::string& symbol = dim.dim_param();
      if (symbol.empty() || symbols_.contains(symbol)) continue;
      named = true;
      if (std::find(symbols.begin(), symbols.end(), symbol) == symbols.end())
        symbols.push_back(symbol);
    }
    if (!named && unnamed.empty()) unnamed = input.name();
  }
  if (where.empty()) return OkStatus();
  const std::string example =
      symbols.empty() ? Excerpt(unnamed) + "=1x128" : Excerpt(symbols[0]) + "=128";
  return ErrorAt(source_, "",
                 symbols.empty()
                     ? fmt::format("inputs of unknown shape: {}", ListExcerpt(where, ", "))
                     : fmt::format("symbolic dimensions without a size: {} (inputs {})",
                                   ListExcerpt(symbols, ", "), ListExcerpt(where, ", ")),
                 "set each with --shape, as in --shape " + example);
}

// Adds the graph's inputs with the caller's shapes, if given, in place of the declared ones.
Status Importer::AddInputs() {
  // First checks that each shape belongs to an input.
  for (const auto& [name, shape] : input_shapes_) {
    const auto& inputs = model_.graph().input();
    const bool found =
        std::any_of(inputs.begin(), inputs.end(), [&](const auto& i) { return i.name() == name; });
    if (!found || main_.values.count(name) != 0) {
      return ErrorAt(source_, "input " + QuotedExcerpt(name), "is not an input of the model",
                     "a shape was given for it");
    }
    if (!IsAcceptable(shape))
      return ErrorAt(source_, "input " + QuotedExcerpt(name), "shape is too large", "");
  }
  for (const auto& input : model_.graph().input()) {
    const std::string place = "input " + QuotedExcerpt(input.name());
    if (input.name().empty()) return ErrorAt(source_, place, "has no name", "");
    if (const auto it = main_.values.find(input.name()); it != main_.values.end()) {
      // Old exporters list initialisers as inputs as well; the initialiser wins.
      if (it->second->is_constant()) continue;
      return ErrorAt(source_, place, "is defined twice", "every value has one definition");
    }
    KILN_ASSIGN_OR_RETURN(TensorType type, ReadType(input.type(), place, /*is_input=*/true));
    if (const auto it = input_shapes_.find(input.name()); it != input_shapes_.end()) {
      if (!Compatible(type, {type.element, it->second})) {
        trust_declared_ = false;
        NoteReplaced(input, it->second);
      }
      type.shape = it->second;
    }
    main_.values[input.name()] = graph_.AddInput(input.name(), std::move(type));
  }
  return OkStatus();
}

// Records the shape of an input that --shape replaced. Many networks also compute with sizes that
// they do not declare, so this alone is not an error.
void Importer::NoteReplaced(const onnx::ValueInfoProto& input, const Shape& given) {
  if (!replaced_place_.empty() || !options_.shapes.contains(input.name())) return;
  std::vector<int64_t> fixed;
  for (const auto& dim : input.type().tensor_type().shape().dim())
    fixed.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? dim.dim_value() : kUnknownDim);
  const Shape declared(std::move(fixed));
  replaced_place_ = fmt::format("--shape {}={}", Excerpt(input.name()), given.ToString());
  replaced_fault_ = fmt::format("the model fixes input {} to {}", QuotedExcerpt(input.name()),
                                declared.ToString());
  if (given.rank() != declared.rank()) return;
  for (int i = 0; i < given.rank(); ++i) {
    if (declared[i] == kUnknownDim || declared[i] == given[i]) continue;
    replaced_fault_ += fmt::format(", where dimension {} is {}", i, declared[i]);
    return;
  }
}

Status Importer::WithReplacedShape(const Status& status) const {
  if (replaced_place_.empty()) return status;
  std::string own = MessageOf(status);
  if (const std::string prefix = source_ + ": "; own.starts_with(prefix))
    own.erase(0, prefix.size());
  return Status(status.code(),
                MessageOf(ErrorAt(source_, replaced_place_,
                                  fmt::format("{}, and does not compute with other sizes ({})",
                                              replaced_fault_, own),
                                  "leave --shape out, or change dimensions that the model leaves "
                                  "open")));
}

// Collects the types that the model declares for inner values and outputs.
Status Importer::ReadDeclaredTypes() {
  if (!trust_declared_) return OkStatus();
  const auto read = [&](const onnx::ValueInfoProto& info) -> Status {
    if (!info.type().has_tensor_type() || info.type().tensor_type().elem_type() == 0)
      return OkStatus();
    KILN_ASSIGN_OR_RETURN(
        TensorType type,
        ReadType(info.type(), "value " + QuotedExcerpt(info.name()), /*is_input=*/false));
    declared_[info.name()] = std::move(type);
    return OkStatus();
  };
  for (const auto& info : model_.graph().value_info()) {
    // In the graph, a value of a narrow type holds other values than the model declares
    // (onnx_narrow.h).
    if (!NarrowFormatOf(info.type().tensor_type().elem_type()).empty()) continue;
    KILN_RETURN_IF_ERROR(read(info));
  }
  for (const auto& info : model_.graph().output()) KILN_RETURN_IF_ERROR(read(info));
  return OkStatus();
}

// Merges a declared type into an inferred one; error if they contradict each other.
Status Importer::ApplyDeclaredType(const std::string& name, Value* value,
                                   const std::string& place) {
  const auto it = declared_.find(name);
  if (it == declared_.end()) return OkStatus();
  const auto describe = [](const TensorType& type) {
    return fmt::format("{} {}", NameOf(type.element),
                       type.shape ? type.shape->ToString() : "of unknown shape");
  };
  if (!Compatible(value->type(), it->second)) {
    return ErrorAt(source_, place,
                   fmt::format("value {} is declared {} and comes out as {}", QuotedExcerpt(name),
                               describe(it->second), describe(value->type())),
                   "the model contradicts itself");
  }
  graph_.SetType(value, MergeTypes(value->type(), it->second));
  return OkStatus();
}

// Counts how often each name is read; rules may drop results that nobody reads.
void Importer::CountUses(const NodeProtos& nodes, Scope& scope) const {
  for (const auto& node : nodes) {
    for (const std::string& operand : node.input()) ++scope.uses[operand];
  }
  for (const std::string& output : scope.outputs) ++scope.uses[output];
}

// Adds a list of nodes in an order in which operands come before users.
Status Importer::AddNodes(NodeProtos& nodes, Scope& scope) {
  // Counted before the nodes are added, since calls of functions can multiply them.
  num_nodes_ += nodes.size();
  if (num_nodes_ > budgets::kOnnxNodes) {
    return ErrorAt(source_, "", "the model has too many nodes",
                   fmt::format("at most {}, functions inlined", budgets::kOnnxNodes));
  }
  CountUses(nodes, scope);
  KILN_ASSIGN_OR_RETURN(
      const std::vector<int> order,
      ScheduleNodes(
          nodes, [&](const std::string& name) { return scope.values.count(name) != 0; }, source_));
  for (int index : order) KILN_RETURN_IF_ERROR(AddNode(nodes[index], index, scope));
  return OkStatus();
}

// Returns the opset of a domain in a scope; error: unknown or not supported.
StatusOr<int> Importer::OpsetOf(const Opsets& opsets, const std::string& domain,
                                const std::string& place) const {
  // QONNX's operators and Kiln's own have a single version.
  if (domain == kQonnxDomain || domain == kKilnDomain) return 1;
  const auto it = opsets.find(domain);
  if (it == opsets.end()) {
    return ErrorAt(source_, place, "the model names no opset for ai.onnx",
                   "the file may be damaged or cut short");
  }
  if (it->second < 1 || it->second > kOnnxOpset) {
    return UnsupportedAt(source_, place,
                         fmt::format("opset {} of ai.onnx is not supported", it->second),
                         fmt::format("convert the model to opset 1 to {}", kOnnxOpset));
  }
  return static_cast<int>(it->second);
}

// Dispatches a node: a call of a function, a Constant, or an operator.
Status Importer::AddNode(onnx::NodeProto& proto, int index, Scope& scope) {
  const std::string domain = CanonicalDomain(proto.domain());
  if (const onnx::FunctionProto* function = FindFunction(domain, proto.op_type());
      function != nullptr) {
    return InlineCall(proto, index, *function, scope);
  }
  KILN_ASSIGN_OR_RETURN(const int opset, OpsetOf(*scope.opsets, domain, PlaceOfNode(proto, index)));
  if (domain.empty() && proto.op_type() == "Constant") return AddConstantNode(proto, index, scope);
  return AddOperator(proto, index, domain, opset, scope);
}

// Returns a result's name in the graph: the caller's name for it, or the name under the scope's
// prefix.
std::string Importer::ResultName(const Scope& scope, const std::string& name) const {
  if (name.empty()) return "";
  if (const auto it = scope.renamed.find(name); it != scope.renamed.end()) return it->second;
  return scope.prefix + name;
}

// Reads one attribute. Graphs and types as attributes are not supported.
Status Importer::ReadAttribute(onnx::AttributeProto& proto, const std::string& place,
                               Attributes& out) {
  const std::string name = proto.name();
  auto type = proto.type();
  // Files of IR version 1 do not state which field holds the value.
  if (type == onnx::AttributeProto::UNDEFINED) {
    type = proto.has_f()              ? onnx::AttributeProto::FLOAT
           : proto.has_i()            ? onnx::AttributeProto::INT
           : proto.has_s()            ? onnx::AttributeProto::STRING
           : proto.has_t()            ? onnx::AttributeProto::TENSOR
           : proto.floats_size() > 0  ? onnx::AttributeProto::FLOATS
           : proto.ints_size() > 0    ? onnx::AttributeProto::INTS
           : proto.strings_size() > 0 ? onnx::AttributeProto::STRINGS
                                      : type;
  }
  switch (type) {
    case onnx::AttributeProto::FLOAT:
      out.Set(name, proto.f());
      return OkStatus();
    case onnx::AttributeProto::INT:
      out.Set(name, static_cast<int64_t>(proto.i()));
      return OkStatus();
    case onnx::AttributeProto::STRING:
      out.Set(name, proto.s());
      return OkStatus();
    case onnx::AttributeProto::FLOATS:
      out.Set(name, std::vector<float>(proto.floats().begin(), proto.floats().end()));
      return OkStatus();
    case onnx::AttributeProto::INTS:
      out.Set(name, std::vector<int64_t>(proto.ints().begin(), proto.ints().end()));
      return OkStatus();
    case onnx::AttributeProto::STRINGS:
      out.Set(name, std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
      return OkStatus();
    case onnx::AttributeProto::TENSOR: {
      KILN_ASSIGN_OR_RETURN(Tensor tensor,
                            TakeTensor(*proto.mutable_t(), source_,
                                       place + ": attribute " + QuotedExcerpt(name), files_));
      out.Set(name, std::move(tensor));
      return OkStatus();
    }
    case onnx::AttributeProto::SPARSE_TENSOR: {
      KILN_ASSIGN_OR_RETURN(
          Tensor tensor,
          TakeSparseTensor(*proto.mutable_sparse_tensor(), source_,
                           place + ": attribute " + QuotedExcerpt(name), files_, budget_));
      out.Set(name, std::move(tensor));
      return OkStatus();
    }
    default:
      return UnsupportedAt(source_, place,
                           "attribute " + QuotedExcerpt(name) + " holds a graph, a type or nothing",
                           "numbers, strings and tensors are supported");
  }
}

// Adds the value of a Constant node as a constant; the node itself is not needed.
Status Importer::AddConstantNode(onnx::NodeProto& proto, int index, Scope& scope) {
  const std::string place = PlaceOfNode(proto, index);
  if (proto.output_size() != 1 || proto.attribute_size() != 1) {
    return ErrorAt(source_, place, "must have one result and one attribute", "");
  }
  Attributes attributes;
  onnx::AttributeProto* attribute = proto.mutable_attribute(0);
  onnx::AttributeProto referred;
  if (!attribute->ref_attr_name().empty()) {
    const auto it = scope.call_attributes.find(attribute->ref_attr_name());
    if (it == scope.call_attributes.end())
      return ErrorAt(source_, place, "takes an attribute that its call lacks", "");
    KILN_RETURN_IF_ERROR(ChargeCopy(MemoryOf(it->second), place));
    referred = it->second;
    referred.set_name(attribute->name());
    attribute = &referred;
  }
  const std::string_view narrow =
      attribute->has_t() ? NarrowFormatOf(attribute->t().data_type()) : "";
  KILN_RETURN_IF_ERROR(ReadAttribute(*attribute, place, attributes));
  const Attribute& value = attributes.begin()->second;
  const auto length = [](const auto& list) { return Shape{static_cast<int64_t>(list.size())}; };
  Tensor tensor;
  if (const auto* t = std::get_if<Tensor>(&value)) tensor = *t;
  if (const auto* i = std::get_if<int64_t>(&value)) tensor = Tensor::Scalar(*i);
  if (const auto* f = std::get_if<float>(&value)) tensor = Tensor::Scalar(*f);
  if (const auto* s = std::get_if<std::string>(&value)) tensor = Tensor::OfStrings(Shape{}, {*s});
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value))
    tensor = Tensor::Of(length(*list), *list);
  if (const auto* list = std::get_if<std::vector<float>>(&value))
    tensor = Tensor::Of(length(*list), *list);
  if (const auto* list = std::get_if<std::vector<std::string>>(&value))
    tensor = Tensor::OfStrings(length(*list), *list);
  const std::string& name = proto.output(0);
  scope.values[name] = graph_.AddConstant(ResultName(scope, name), std::move(tensor));
  if (!narrow.empty()) narrow_.NoteConstant(scope.values[name], narrow);
  return OkStatus();
}

// Adds one operator: collects operands, results and attributes, applies the rules, and emits the
// node unless a rule has done so.
Status Importer::AddOperator(onnx::NodeProto& proto, int index, const std::string& domain,
                             int opset, Scope& scope) {
  NodeImport node(graph_, opset, budget_, known_);
  node.domain = domain;
  node.op_type = proto.op_type();
  node.name = scope.prefix + NameOfNode(proto, index);
  graph_.AddFileOperator(node.name, proto.op_type());
  for (const std::string& operand : proto.input()) {
    node.operands.push_back(operand.empty() ? nullptr : scope.values.at(operand));
  }
  const std::optional<Op> op = FindOpByOnnxName(domain, proto.op_type());
  int num_results = proto.output_size();
  // Trailing results without a name are not requested, unless the number of results has a meaning.
  const bool any_number = op && InfoOf(*op).max_results < 0;
  while (!any_number && num_results > 0 && proto.output(num_results - 1).empty()) --num_results;
  for (int i = 0; i < num_results; ++i) {
    node.results.push_back(ResultName(scope, proto.output(i)));
    node.result_used.push_back(!proto.output(i).empty() && scope.uses[proto.output(i)] > 0);
  }
  if (num_results == 0) return node.Invalid("has no result", "a node defines at least one value");
  for (auto& attribute : *proto.mutable_attribute()) {
    if (attribute.ref_attr_name().empty()) {
      KILN_RETURN_IF_ERROR(ReadAttribute(attribute, node.Place(), node.attributes));
      continue;
    }
    // The attribute refers to one of the enclosing function. If the call does not give it, the
    // operator's default applies.
    const auto it = scope.call_attributes.find(attribute.ref_attr_name());
    if (it == scope.call_attributes.end()) continue;
    KILN_RETURN_IF_ERROR(ChargeCopy(MemoryOf(it->second), node.Place()));
    onnx::AttributeProto referred = it->second;
    referred.set_name(attribute.name());
    KILN_RETURN_IF_ERROR(ReadAttribute(referred, node.Place(), node.attributes));
  }
  // Kiln's additions to ONNX's operators have no meaning in an ONNX file.
  if (op == Op::kMatMul || (op && InfoOf(*op).Has(kHasLayout))) {
    for (const std::string_view own : {"layout", "transpose_b", "alpha"}) {
      if (node.attributes.Has(own))
        return node.Invalid(fmt::format("has no attribute '{}' in ONNX", own));
    }
  }

  // Enters result i under its name in the scope. Only the main graph declares types.
  const auto bind = [&](Value* value, int i) -> Status {
    const std::string& name = proto.output(i);
    if (name.empty()) return OkStatus();
    scope.values[name] = value;
    return scope.depth == 0 ? ApplyDeclaredType(name, value, node.Place()) : OkStatus();
  };
  // A copy of a constant needs no node, unless it is a graph output.
  if (op == Op::kIdentity && num_results == 1 && node.ConstantOf(0) != nullptr &&
      scope.outputs.count(proto.output(0)) == 0) {
    return bind(node.operand(0), 0);
  }
  // Narrow types first, then rules; if neither emits the node, it is emitted as it is.
  KILN_RETURN_IF_ERROR(narrow_.Import(node));
  if (!node.emitted()) KILN_RETURN_IF_ERROR(ApplyRules(node));
  if (!node.emitted()) {
    KILN_CHECK(op.has_value());
    const int most = InfoOf(*op).max_results;
    if (most >= 0 && node.num_results() > most) {
      return node.Invalid(fmt::format("has {} results", node.num_results()),
                          fmt::format("at most {}", most));
    }
    KILN_RETURN_IF_ERROR(node.EmitResult(*op, node.operands, node.attributes));
  }
  // EmitResult added the node with the results last.
  const Node& last = *graph_.nodes().back();
  if (last.num_results() < num_results) {
    for (int i = last.num_results(); i < num_results; ++i) {
      if (node.result_used[static_cast<size_t>(i)])
        return node.Refuse(fmt::format("result {} is read", i), "");
    }
  }
  for (int i = 0; i < std::min(num_results, last.num_results()); ++i)
    KILN_RETURN_IF_ERROR(bind(last.result(i), i));
  return OkStatus();
}

// Counts the bytes that inlining is about to copy.
Status Importer::ChargeCopy(int64_t bytes, const std::string& place) {
  inlined_bytes_ += bytes;
  if (inlined_bytes_ <= budgets::kOnnxInlinedBytes) return OkStatus();
  return UnsupportedAt(
      source_, place, "functions are too large, or called too often, to be inlined",
      fmt::format("at most {} bytes of bodies and attributes", budgets::kOnnxInlinedBytes));
}

// Adds the body of a function in place of its call, under a name prefix.
Status Importer::InlineCall(const onnx::NodeProto& proto, int index,
                            const onnx::FunctionProto& function, Scope& scope) {
  const std::string place = PlaceOfNode(proto, index);
  if (scope.depth >= budgets::kOnnxCallDepth) {
    return UnsupportedAt(source_, place, "functions call each other too deeply to be inlined",
                         fmt::format("at most {} levels", budgets::kOnnxCallDepth));
  }
  const std::string prefix = scope.prefix + NameOfNode(proto, index) + "/";
  int64_t names = 0;  // names that get the prefix
  for (const auto& node : function.node()) names += 1 + node.output_size();
  KILN_RETURN_IF_ERROR(ChargeCopy(MemoryOf(function) + names * std::ssize(prefix), place));
  // FunctionProto.attribute_proto (field 11) is newer than the installed onnx.proto, so its
  // defaults would be lost silently.
  const auto& unknown = function.GetReflection()->GetUnknownFields(function);
  for (int i = 0; i < unknown.field_count(); ++i) {
    if (unknown.field(i).number() == 11) {
      return UnsupportedAt(source_, place, "calls a function whose attributes have defaults",
                           "inline the function");
    }
  }
  if (proto.input_size() > function.input_size() || proto.output_size() > function.output_size()) {
    return ErrorAt(source_, place, "passes more operands or results than the function has", "");
  }
  // The body sees the function's formal names; results get the names that the caller uses.
  Scope inner;
  inner.depth = scope.depth + 1;
  inner.prefix = prefix;
  inner.opsets =
      &function_opsets_[DescribeOperator(CanonicalDomain(function.domain()), function.name())];
  // Attributes of the call; those that refer to an outer function are resolved here.
  for (const auto& attribute : proto.attribute()) {
    const onnx::AttributeProto* given = &attribute;
    if (!attribute.ref_attr_name().empty()) {
      const auto it = scope.call_attributes.find(attribute.ref_attr_name());
      if (it == scope.call_attributes.end()) continue;
      given = &it->second;
    }
    KILN_RETURN_IF_ERROR(ChargeCopy(MemoryOf(*given), place));
    onnx::AttributeProto& resolved = inner.call_attributes[attribute.name()];
    resolved = *given;
    resolved.set_name(attribute.name());
  }
  for (int i = 0; i < function.input_size(); ++i) {
    const bool given = i < proto.input_size() && !proto.input(i).empty();
    inner.values[function.input(i)] = given ? scope.values.at(proto.input(i)) : nullptr;
  }
  for (int i = 0; i < function.output_size(); ++i) {
    inner.outputs.insert(function.output(i));
    if (i < proto.output_size() && !proto.output(i).empty()) {
      inner.renamed[function.output(i)] = ResultName(scope, proto.output(i));
    }
  }
  // A copy, because reading attributes consumes their tensors and the function may be called again.
  NodeProtos body = function.node();
  KILN_RETURN_IF_ERROR(AddNodes(body, inner));
  for (int i = 0; i < proto.output_size(); ++i) {
    if (proto.output(i).empty()) continue;
    const auto it = inner.values.find(function.output(i));
    if (it == inner.values.end() || it->second == nullptr) {
      return ErrorAt(source_, place,
                     "the function does not define its result " + QuotedExcerpt(function.output(i)),
                     "");
    }
    scope.values[proto.output(i)] = it->second;
    if (scope.depth == 0)
      KILN_RETURN_IF_ERROR(ApplyDeclaredType(proto.output(i), it->second, place));
  }
  return OkStatus();
}

// Marks the graph's outputs; each must be a tensor that some node, input or initialiser defines.
Status Importer::MarkOutputs() {
  if (model_.graph().output_size() == 0)
    return ErrorAt(source_, "", "the model has no outputs", "");
  for (const auto& output : model_.graph().output()) {
    const auto it = main_.values.find(output.name());
    if (it == main_.values.end() || it->second == nullptr) {
      return ErrorAt(source_, "output " + QuotedExcerpt(output.name()),
                     "is not defined by any node", "");
    }
    if (output.has_type() && !output.type().has_tensor_type() && output.type().value_case() != 0) {
      return UnsupportedAt(source_, "output " + QuotedExcerpt(output.name()), "is not a tensor",
                           "sequences, maps and optionals are not supported");
    }
    graph_.MarkOutput(it->second);
  }
  return OkStatus();
}

StatusOr<Graph> ImportModel(onnx::ModelProto& model, const std::string& source,
                            const std::filesystem::path& folder, const ImportOptions& options) {
  return Importer(model, source, folder, options).Run();
}

}  // namespace

StatusOr<Graph> ImportOnnx(const std::filesystem::path& path, const ImportOptions& options) {
  onnx::ModelProto model;
  KILN_RETURN_IF_ERROR(ParseOnnxFile(path, &model));
  const std::filesystem::path folder =
      path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  return ImportModel(model, path.string(), folder, options);
}

StatusOr<Graph> ImportOnnxBytes(std::string_view bytes, const std::string& source,
                                const std::filesystem::path& folder, const ImportOptions& options) {
  onnx::ModelProto model;
  KILN_RETURN_IF_ERROR(ParseOnnxBytes(bytes, source, &model));
  return ImportModel(model, source, folder, options);
}

StatusOr<Tensor> ImportOnnxTensor(std::string_view bytes, const std::string& source) {
  onnx::TensorProto proto;
  if (bytes.size() > static_cast<size_t>(budgets::kOnnxFileBytes) ||
      StructureBytes(bytes, *onnx::TensorProto::descriptor(), budgets::kOnnxStructureBytes) >
          budgets::kOnnxStructureBytes ||
      !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return ErrorAt(source, "", "is not an ONNX tensor, or is damaged",
                   "a protobuf TensorProto is expected");
  }
  // A single tensor has no folder, so it may not refer to external files.
  ExternalFiles none({}, source);
  return TakeTensor(proto, source, "tensor", none);
}

// Import converts every row of operators.def under its ONNX name.
bool HasImporter(Op op) {
  return FindOpByOnnxName(InfoOf(op).onnx_domain, InfoOf(op).onnx_name) == op;
}

}  // namespace kiln
