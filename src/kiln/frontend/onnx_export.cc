// Implements ExportOnnx. Values are written under their own names; where a value is annotated, the
// quantised value takes over the name, so that users and graph outputs read it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "kiln/frontend/onnx.h"
#include "kiln/frontend/onnx_expand.h"
#include "kiln/frontend/onnx_narrow.h"
#include "kiln/frontend/onnx_tensor.h"
#include "kiln/numerics/codec.h"
#include "kiln/numerics/microscaling.h"
#include "kiln/numerics/quantise.h"
#include "kiln/support/excerpt.h"
#include "kiln/support/file.h"

namespace kiln {
namespace {

// Returns true if an annotation rounds values; an annotation of fp32 itself does not.
bool IsRounded(const Value& value) {
  if (!value.quantisation()) return false;
  const QuantType& type = value.quantisation()->type;
  return type.scheme != Scheme::kNone || type.format.name != "fp32";
}

// How ONNX stores the codes of a format.
struct Storage {
  ElementType element = ElementType::kInt8;  // for codes of whole bytes
  // Name of a type without element type in Kiln's graphs (onnx_narrow.h); empty: none.
  std::string narrow;
  CodeRange range;  // of integers
  bool is_float() const { return narrow == "e4m3" || narrow == "e5m2"; }
};

// Returns how codes of a format are stored; nullopt if ONNX's quantisers have no type for it.
std::optional<Storage> StorageOf(const Format& format) {
  if (format.name == "e4m3" || format.name == "e5m2")
    return Storage{ElementType::kFloat32, format.name, {}};
  if (!format.is_whole()) return std::nullopt;
  const auto integers = [&](int bits) {
    const int64_t codes = int64_t{1} << bits;
    return format.is_signed ? CodeRange{-codes / 2, codes / 2 - 1} : CodeRange{0, codes - 1};
  };
  if (format.bits == 4) return Storage{ElementType::kInt8, format.name, integers(4)};
  if (format.bits <= 8)
    return Storage{format.is_signed ? ElementType::kInt8 : ElementType::kUint8, "", integers(8)};
  if (format.bits <= 16) {
    return Storage{format.is_signed ? ElementType::kInt16 : ElementType::kUint16, "", integers(16)};
  }
  if (format.bits == 32 && format.is_signed) return Storage{ElementType::kInt32, "", integers(32)};
  return std::nullopt;
}

// Returns integers as a tensor of a storage type; each value must fit.
Tensor CodeTensor(ElementType storage, Shape shape, const std::vector<int64_t>& codes) {
  Tensor tensor(storage, std::move(shape));
  const auto fill = [&](auto zero) {
    using T = decltype(zero);
    std::transform(codes.begin(), codes.end(), tensor.data<T>().begin(),
                   [](int64_t c) { return static_cast<T>(c); });
  };
  switch (storage) {
    case ElementType::kInt8:
      fill(int8_t{});
      break;
    case ElementType::kUint8:
      fill(uint8_t{});
      break;
    case ElementType::kInt16:
      fill(int16_t{});
      break;
    case ElementType::kUint16:
      fill(uint16_t{});
      break;
    default:
      fill(int32_t{});
  }
  return tensor;
}

constexpr int kMostQuantBits = 16;

// Returns whether QONNX's Quant expresses a type.
bool HasQuant(const QuantType& type) {
  return type.format.is_integer() && type.format.bits <= kMostQuantBits &&
         type.scheme != Scheme::kPerBlock;
}

// Opset 20 is the first with Gelu, which the standard passes recognise.
constexpr int kLeastExportOpset = 20;

// Returns the low `bits` bits of a code as a two's complement number.
int64_t SignExtended(uint32_t code, int bits) {
  const int64_t value = code & ((int64_t{1} << bits) - 1);
  return value >= int64_t{1} << (bits - 1) ? value - (int64_t{1} << bits) : value;
}

// Calls visit(element, index of its scale) for all elements in row-major order.
template <typename Visit>
void ForEachChannel(const Shape& shape, const Quantisation& q, const Visit& visit) {
  int64_t inner = 1;
  for (int axis = q.axis + 1; q.axis >= 0 && axis < shape.rank(); ++axis) inner *= shape[axis];
  const auto channels = static_cast<int64_t>(q.scales.size());
  const int64_t size = shape.NumElements();
  for (int64_t i = 0; i < size; ++i) visit(i, static_cast<size_t>(i / inner % channels));
}

// Returns true if a node has another meaning, or none, before opset 21.
bool NeedsOpset21(const Node& node) {
  if (node.op() == Op::kGroupNormalization || node.attributes().Has("block_size")) return true;
  if (node.op() != Op::kQuantizeLinear && node.op() != Op::kDequantizeLinear) return false;
  const auto has_16_bits = [](const Value* value) {
    return value != nullptr &&
           (value->element() == ElementType::kInt16 || value->element() == ElementType::kUint16);
  };
  return has_16_bits(node.result()) ||
         std::any_of(node.operands().begin(), node.operands().end(), has_16_bits);
}

// Assigns unique names. Remembers the last suffix per requested name, because passes may give one
// name to any number of nodes and a search from 1 would be quadratic.
class FreshNames {
 public:
  void Insert(const std::string& name) { names_.insert(name); }
  // Returns `wish`, or the first of wish.1, wish.2, ... that is not taken.
  std::string Give(const std::string& wish) {
    if (names_.insert(wish).second) return wish;
    int& suffix = suffixes_[wish];
    std::string name;
    do {
      name = fmt::format("{}.{}", wish, ++suffix);
    } while (!names_.insert(name).second);
    return name;
  }

 private:
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, int> suffixes_;  // the last suffix tried
};

// Exports one graph.
class Exporter {
 public:
  Exporter(const Graph& graph, const ExportOptions& options)
      : graph_(graph), options_(options), proto_(*model_.mutable_graph()) {}

  StatusOr<std::string> Run();

 private:
  Status AddInputs();
  Status AddConstants();
  // One node as it is written to the model. Nodes around it stand for attributes that ONNX lacks:
  // they turn an NHWC operator into an NCHW one between two Transposes, and scale a product. The
  // results then have temporary names here.
  struct WrittenNode {
    std::vector<std::string> operands, results;
    Attributes attributes;
    int rank = 0;     // of an NHWC operand
    float alpha = 1;  // what a Mul multiplies the product by
  };
  // Writes a node, together with the nodes for attributes that ONNX lacks.
  Status AddNode(const Node& node);
  // Transposes the first operand of an NHWC operator to NCHW and gives its results temporary names.
  Status TransposeNhwcOperand(const Node& node, WrittenNode* written);
  // Takes transpose_b and alpha, which ONNX's MatMul lacks, from a MatMul's attributes: transposes
  // the second operand, and gives the product a temporary name if it is to be scaled.
  Status SeparateMatMulAttributes(const Node& node, WrittenNode* written);
  // Writes the product times alpha, in the product's element type, to `result`.
  Status MultiplyByAlpha(const Node& node, const WrittenNode& written, const std::string& result);
  // Writes the quantising nodes of one annotated value.
  Status AddQuantisation(const Value& value);
  Status QuantiseConstant(const Value& value, const Quantisation& q, const Storage& storage);
  Status QuantiseActivation(const Value& value, const Quantisation& q, const Storage& storage);
  // Quantises a constant with scales per block along an axis.
  Status QuantiseBlocks(const Value& value, const Quantisation& q);
  // Quantises through QONNX's Quant.
  void QuantiseInQonnx(const Value& value, const Quantisation& q);
  void AddOutputs();

  // Return the name that users of a value read, and the name that its definition writes. They
  // differ if nodes are inserted between.
  const std::string& ReadName(const Value& value) const;
  std::string WrittenName(const Value& value);
  std::string FreshName(const std::string& wish);
  // The same for names of nodes, which are independent of the names of values. Passes split nodes
  // and give all parts the same name; ONNX Runtime rejects files with equal names.
  std::string FreshNodeName(const std::string& wish);

  // Adds a node to the model.
  onnx::NodeProto* Emit(std::string_view op_type, const std::string& name,
                        const std::vector<std::string>& operands,
                        const std::vector<std::string>& results);
  void Initialiser(const std::string& name, const Tensor& tensor);
  // Adds a Transpose from one value to another.
  void EmitTranspose(const std::string& from, const std::string& to,
                     const std::vector<int64_t>& permutation);
  static void SetAttribute(onnx::NodeProto* node, const std::string& name, const Attribute& value);
  static void SetType(const TensorType& type, onnx::TypeProto* proto);
  // Adds scale and zero point as initialisers and returns their names.
  std::pair<std::string, std::string> ScaleAndZeroPoint(const Value& value, const Quantisation& q,
                                                        const Storage& storage);
  // Adds codes as an initialiser.
  void CodeInitialiser(const std::string& name, const Shape& shape, const Storage& storage,
                       const std::vector<int64_t>& codes);
  Status CannotExpress(const Value& value, std::string_view why) const;

  const Graph& graph_;
  const ExportOptions& options_;
  onnx::ModelProto model_;
  onnx::GraphProto& proto_;
  FreshNames names_;       // of values
  FreshNames node_names_;  // of nodes written so far
  std::unordered_map<const Value*, std::string> read_names_;
  std::set<std::string> domains_;  // domains of operators other than ONNX's own
  int opset_ = kLeastExportOpset;
};

// Adds inputs, constants, nodes (each followed by the quantisers of its results) and outputs, then
// the opsets that they turned out to need.
StatusOr<std::string> Exporter::Run() {
  model_.set_producer_name("kiln");
  proto_.set_name(graph_.name().empty() ? "graph" : graph_.name());
  for (const auto& [key, value] : graph_.metadata()) {
    auto* property = model_.add_metadata_props();
    property->set_key(key);
    property->set_value(value);
  }
  // All names of the graph are taken before the first name is invented.
  for (const Value* value : graph_.Values()) names_.Insert(value->name());
  KILN_RETURN_IF_ERROR(AddInputs());
  KILN_RETURN_IF_ERROR(AddConstants());
  for (const auto& node : graph_.nodes()) {
    KILN_RETURN_IF_ERROR(AddNode(*node));
    for (const Value* result : node->results()) {
      if (result != nullptr) KILN_RETURN_IF_ERROR(AddQuantisation(*result));
    }
  }
  AddOutputs();
  // Opset 21 came with IR version 10, opset 20 with version 9.
  model_.set_ir_version(opset_ == kOnnxOpset ? kOnnxIrVersion : kOnnxIrVersion - 1);
  model_.add_opset_import()->set_version(opset_);
  for (const std::string& domain : domains_) {
    auto* opset = model_.add_opset_import();
    opset->set_domain(domain);
    opset->set_version(1);
  }
  std::string bytes;
  // Protocol buffers limit a message to 2 GiB.
  if (!model_.SerializeToString(&bytes)) {
    return ErrorAt(graph_.source(), "", "the network is too large for one ONNX file",
                   "at most 2 GiB");
  }
  return bytes;
}

std::string Exporter::FreshName(const std::string& wish) { return names_.Give(wish); }

std::string Exporter::FreshNodeName(const std::string& wish) {
  return wish.empty() ? wish : node_names_.Give(wish);
}

const std::string& Exporter::ReadName(const Value& value) const {
  const auto it = read_names_.find(&value);
  return it == read_names_.end() ? value.name() : it->second;
}

std::string Exporter::WrittenName(const Value& value) {
  // After an annotation the quantised value takes over the name, so that a graph output keeps it.
  // An input's name is fixed; its quantised value gets a new name.
  if (!IsRounded(value) || value.is_input()) return value.name();
  return FreshName(value.name() + "/real");
}

onnx::NodeProto* Exporter::Emit(std::string_view op_type, const std::string& name,
                                const std::vector<std::string>& operands,
                                const std::vector<std::string>& results) {
  onnx::NodeProto* node = proto_.add_node();
  node->set_op_type(std::string(op_type));
  node->set_name(FreshNodeName(name));
  for (const std::string& operand : operands) node->add_input(operand);
  for (const std::string& result : results) node->add_output(result);
  return node;
}

void Exporter::Initialiser(const std::string& name, const Tensor& tensor) {
  WriteTensor(tensor, name, proto_.add_initializer());
}

void Exporter::EmitTranspose(const std::string& from, const std::string& to,
                             const std::vector<int64_t>& permutation) {
  SetAttribute(Emit("Transpose", to, {from}, {to}), "perm", permutation);
}

void Exporter::SetAttribute(onnx::NodeProto* node, const std::string& name,
                            const Attribute& value) {
  onnx::AttributeProto* proto = node->add_attribute();
  proto->set_name(name);
  if (const auto* i = std::get_if<int64_t>(&value)) {
    proto->set_type(onnx::AttributeProto::INT);
    proto->set_i(*i);
  } else if (const auto* f = std::get_if<float>(&value)) {
    proto->set_type(onnx::AttributeProto::FLOAT);
    proto->set_f(*f);
  } else if (const auto* s = std::get_if<std::string>(&value)) {
    proto->set_type(onnx::AttributeProto::STRING);
    proto->set_s(*s);
  } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&value)) {
    proto->set_type(onnx::AttributeProto::INTS);
    proto->mutable_ints()->Add(ints->begin(), ints->end());
  } else if (const auto* floats = std::get_if<std::vector<float>>(&value)) {
    proto->set_type(onnx::AttributeProto::FLOATS);
    proto->mutable_floats()->Add(floats->begin(), floats->end());
  } else if (const auto* strings = std::get_if<std::vector<std::string>>(&value)) {
    proto->set_type(onnx::AttributeProto::STRINGS);
    for (const std::string& text : *strings) proto->add_strings(text);
  } else if (const auto* tensor = std::get_if<Tensor>(&value)) {
    proto->set_type(onnx::AttributeProto::TENSOR);
    WriteTensor(*tensor, "", proto->mutable_t());
  }
}

void Exporter::SetType(const TensorType& type, onnx::TypeProto* proto) {
  auto* tensor = proto->mutable_tensor_type();
  tensor->set_elem_type(static_cast<int32_t>(OnnxCodeOf(type.element)));
  if (!type.shape) return;
  auto* shape = tensor->mutable_shape();
  for (int64_t dim : type.shape->dims()) {
    auto* d = shape->add_dim();
    // An unknown dimension has neither a value nor a name.
    if (dim >= 0) d->set_dim_value(dim);
  }
}

Status Exporter::AddInputs() {
  for (const Value* input : graph_.inputs()) {
    auto* info = proto_.add_input();
    info->set_name(input->name());
    SetType(input->type(), info->mutable_type());
    KILN_RETURN_IF_ERROR(AddQuantisation(*input));
  }
  return OkStatus();
}

Status Exporter::AddConstants() {
  for (const Value* constant : graph_.Constants()) {
    if (IsRounded(*constant)) {
      KILN_RETURN_IF_ERROR(AddQuantisation(*constant));
    } else {
      Initialiser(constant->name(), constant->constant());
    }
  }
  return OkStatus();
}

void Exporter::AddOutputs() {
  std::set<std::string> listed;
  for (const Value* output : graph_.outputs()) {
    std::string name = output->name();
    // ONNX requires the outputs to be distinct values, and the quantised form of an input has
    // another name.
    if (!listed.insert(name).second || ReadName(*output) != name) {
      name = FreshName(name + "/output");
      Emit("Identity", name, {ReadName(*output)}, {name});
    }
    auto* info = proto_.add_output();
    info->set_name(name);
    SetType(output->type(), info->mutable_type());
  }
  // Declares the types of all other values, so that other tools need not infer them.
  for (const auto& node : graph_.nodes()) {
    for (const Value* result : node->results()) {
      if (result == nullptr || !result->has_shape() || listed.count(result->name()) != 0) continue;
      auto* info = proto_.add_value_info();
      info->set_name(result->name());
      SetType(result->type(), info->mutable_type());
    }
  }
}

// Returns the permutation from [batch, spatial..., channels] to [batch, channels, spatial...], or
// back.
std::vector<int64_t> LayoutPermutation(int rank, bool to_nchw) {
  std::vector<int64_t> permutation(static_cast<size_t>(rank));
  for (int i = 0; i < rank; ++i) permutation[static_cast<size_t>(i)] = i;
  if (to_nchw) {
    std::rotate(permutation.begin() + 1, permutation.end() - 1, permutation.end());
  } else {
    std::rotate(permutation.begin() + 1, permutation.begin() + 2, permutation.end());
  }
  return permutation;
}

Status Exporter::TransposeNhwcOperand(const Node& node, WrittenNode* written) {
  if (!node.operand(0)->has_shape() || node.operand(0)->shape().rank() < 3) {
    return ErrorAt(graph_.source(), node.Describe(), "layout nhwc on an operand of unknown shape",
                   "infer shapes first");
  }
  written->rank = node.operand(0)->shape().rank();
  std::string& operand = written->operands[0];
  const std::string nchw = FreshName(operand + "/nchw");
  EmitTranspose(operand, nchw, LayoutPermutation(written->rank, /*to_nchw=*/true));
  operand = nchw;
  for (std::string& result : written->results) {
    if (!result.empty()) result = FreshName(result + "/nchw");
  }
  return OkStatus();
}

Status Exporter::SeparateMatMulAttributes(const Node& node, WrittenNode* written) {
  Attributes& attributes = written->attributes;
  if (attributes.Int("transpose_b", 0) != 0) {
    const Value& b = *node.operand(1);
    if (!b.has_shape() || b.shape().rank() < 2) {
      return ErrorAt(graph_.source(), node.Describe(), "transpose_b on an operand of unknown shape",
                     "infer shapes first");
    }
    std::vector<int64_t> permutation(static_cast<size_t>(b.shape().rank()));
    std::iota(permutation.begin(), permutation.end(), int64_t{0});
    std::swap(permutation.end()[-1], permutation.end()[-2]);
    const std::string transposed = FreshName(written->operands[1] + "/transposed");
    EmitTranspose(written->operands[1], transposed, permutation);
    written->operands[1] = transposed;
  }
  written->alpha = attributes.Float("alpha", 1);
  attributes.Remove("transpose_b");
  attributes.Remove("alpha");
  if (written->alpha != 1) written->results[0] = FreshName(written->results[0] + "/unscaled");
  return OkStatus();
}

Status Exporter::MultiplyByAlpha(const Node& node, const WrittenNode& written,
                                 const std::string& result) {
  Tensor alpha(node.result()->element(), Shape{});
  switch (alpha.type()) {
    case ElementType::kFloat32:
      alpha.data<float>()[0] = written.alpha;
      break;
    case ElementType::kFloat64:
      alpha.data<double>()[0] = written.alpha;
      break;
    case ElementType::kFloat16:
      alpha.data<uint16_t>()[0] = FloatToHalf(written.alpha);
      break;
    case ElementType::kBfloat16:
      alpha.data<uint16_t>()[0] = FloatToBfloat16(written.alpha);
      break;
    default:
      return ErrorAt(graph_.source(), node.Describe(), "alpha on integers has no form in ONNX", "");
  }
  const std::string factor = FreshName(result + "/alpha");
  Initialiser(factor, alpha);
  Emit("Mul", result, {written.results[0], factor}, {result});
  return OkStatus();
}

Status Exporter::AddNode(const Node& node) {
  if (NeedsOpset21(node)) opset_ = kOnnxOpset;
  WrittenNode written;
  for (const Value* operand : node.operands())
    written.operands.push_back(operand == nullptr ? "" : ReadName(*operand));
  std::vector<std::string> results;
  for (const Value* result : node.results())
    results.push_back(result == nullptr ? "" : WrittenName(*result));
  written.results = results;
  written.attributes = node.attributes();

  const bool nhwc = written.attributes.String("layout", "nchw") == "nhwc";
  if (node.info().Has(kHasLayout)) written.attributes.Remove("layout");
  if (nhwc) KILN_RETURN_IF_ERROR(TransposeNhwcOperand(node, &written));
  if (node.op() == Op::kMatMul) KILN_RETURN_IF_ERROR(SeparateMatMulAttributes(node, &written));

  onnx::NodeProto* proto =
      Emit(node.info().onnx_name, node.name(), written.operands, written.results);
  if (!node.info().onnx_domain.empty()) {
    // Operators of other domains, such as QONNX's, need their domain's opset in the model.
    proto->set_domain(std::string(node.info().onnx_domain));
    domains_.insert(std::string(node.info().onnx_domain));
  }
  for (const auto& [name, value] : written.attributes) SetAttribute(proto, name, value);

  if (nhwc) {
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].empty()) continue;
      EmitTranspose(written.results[i], results[i],
                    LayoutPermutation(written.rank, /*to_nchw=*/false));
    }
  }
  if (written.alpha != 1) KILN_RETURN_IF_ERROR(MultiplyByAlpha(node, written, results[0]));
  // AddQuantisation reads annotated results of a node under the name written here.
  for (size_t i = 0; i < node.results().size(); ++i) {
    const Value* result = node.results()[i];
    if (result != nullptr && results[i] != result->name()) read_names_[result] = results[i];
  }
  return OkStatus();
}

Status Exporter::CannotExpress(const Value& value, std::string_view why) const {
  return UnsupportedAt(
      graph_.source(), "value " + QuotedExcerpt(value.name()),
      fmt::format("ONNX cannot say {}", why),
      "its quantisers know integers of up to 16 bits, e4m3 and e5m2, per tensor or per channel, "
      "and "
      "constants of up to 8 bits per block; IR text (.kir) holds every annotation");
}

// Codes of 4 or 16 bits exist in ONNX's quantisers since opset 21 only.
void Exporter::CodeInitialiser(const std::string& name, const Shape& shape, const Storage& storage,
                               const std::vector<int64_t>& codes) {
  if (storage.narrow.empty()) {
    if (SizeOf(storage.element) == 2) opset_ = kOnnxOpset;
    Initialiser(name, CodeTensor(storage.element, shape, codes));
  } else {
    if (!storage.is_float()) opset_ = kOnnxOpset;
    WriteNarrowTensor(storage.narrow, shape, codes, name, proto_.add_initializer());
  }
}

std::pair<std::string, std::string> Exporter::ScaleAndZeroPoint(const Value& value,
                                                                const Quantisation& q,
                                                                const Storage& storage) {
  std::vector<float> scales = q.scales;
  std::vector<int64_t> zero_points(q.zero_points.begin(), q.zero_points.end());
  // ONNX requires a scale.
  if (q.type.scheme == Scheme::kNone) scales = {1.0f};
  zero_points.resize(scales.size(), 0);
  const bool per_tensor = scales.size() == 1 && q.axis < 0;
  const Shape shape = per_tensor ? Shape{} : Shape{static_cast<int64_t>(scales.size())};
  const std::string scale = FreshName(value.name() + "/scale");
  const std::string zero_point = FreshName(value.name() + "/zero_point");
  Initialiser(scale, Tensor::Of<float>(shape, scales));
  CodeInitialiser(zero_point, shape, storage, zero_points);
  return {scale, zero_point};
}

// Checks that ONNX can express the annotation and writes its nodes.
Status Exporter::AddQuantisation(const Value& value) {
  if (!IsRounded(value)) return OkStatus();
  const Quantisation& q = *value.quantisation();
  const Format& format = q.type.format;
  if (q.type.scheme == Scheme::kPerBlock) {
    // Block scales are computed from the data, so only constants can be exported with them.
    if (!value.is_constant()) {
      return UnsupportedAt(
          graph_.source(), "value " + QuotedExcerpt(value.name()),
          "ONNX cannot say scales per block that are found while the network runs",
          "a recipe with activations: {type: fp32} exports weights in blocks; IR text (.kir) holds "
          "every annotation");
    }
    return QuantiseBlocks(value, q);
  }
  const std::optional<Storage> storage = StorageOf(format);
  if (!storage) return CannotExpress(value, "format " + format.name);
  if (format.rounding != Rounding::kNearestEven || format.overflow != Overflow::kSaturate) {
    return CannotExpress(value,
                         "format " + format.name + ": it rounds to nearest even and saturates");
  }
  if (value.element() != ElementType::kFloat32)
    return CannotExpress(value, "an annotation on a value that is not fp32");
  // A per-channel annotation has one scale per index of its axis.
  const bool per_channel = q.axis >= 0;
  // An 8-bit float without scales is exported with scale 1.
  const bool values_are_codes = q.type.scheme == Scheme::kNone && storage->is_float();
  const bool fits =
      values_are_codes ||
      (!q.scales.empty() && q.scales.size() == q.zero_points.size() &&
       (per_channel ? value.has_shape() && q.axis < value.shape().rank() &&
                          value.shape()[q.axis] == static_cast<int64_t>(q.scales.size())
                    : q.scales.size() == 1));
  if (!fits) {
    return ErrorAt(graph_.source(), "value " + QuotedExcerpt(value.name()),
                   fmt::format("annotation has {} scales and {} zero points on axis {}",
                               q.scales.size(), q.zero_points.size(), q.axis),
                   "one of each, or one of each per index of the axis");
  }
  if (options_.quantisers == Quantisers::kQonnx && HasQuant(q.type)) {
    QuantiseInQonnx(value, q);
    return OkStatus();
  }
  return value.is_constant() ? QuantiseConstant(value, q, *storage)
                             : QuantiseActivation(value, q, *storage);
}

// Writes x/real -> Quant -> x, with scale, zero point and bit width as initialisers.
void Exporter::QuantiseInQonnx(const Value& value, const Quantisation& q) {
  std::string real = ReadName(value);
  if (value.is_constant()) {
    // Stores the values of the codes, so that every reader rounds them to the same codes.
    Tensor values = value.constant().Clone();
    const CodeRange range = CodesOf(q.type.format, q.type.symmetric);
    ForEachChannel(values.shape(), q, [&](int64_t element, size_t channel) {
      float& x = values.data<float>()[static_cast<size_t>(element)];
      const int64_t code =
          QuantiseToCode(x, InverseScale(q.scales[channel]), q.zero_points[channel], range);
      x = DequantiseCode(code, q.scales[channel], q.zero_points[channel]);
    });
    real = FreshName(value.name() + "/real");
    Initialiser(real, values);
  }
  // QONNX broadcasts scales: one per channel has the shape [1, ..., channels, ..., 1].
  std::vector<int64_t> dims;
  if (q.axis >= 0) {
    dims.assign(static_cast<size_t>(value.shape().rank()), 1);
    dims[static_cast<size_t>(q.axis)] = static_cast<int64_t>(q.scales.size());
  }
  const std::string scale = FreshName(value.name() + "/scale"),
                    zero = FreshName(value.name() + "/zero_point"),
                    bits = FreshName(value.name() + "/bits");
  Initialiser(scale, Tensor::Of<float>(Shape(dims), q.scales));
  Initialiser(zero, Tensor::Of<float>(Shape(dims), std::vector<float>(q.zero_points.begin(),
                                                                      q.zero_points.end())));
  Initialiser(bits, Tensor::Scalar(static_cast<float>(q.type.format.bits)));
  const std::string result =
      value.is_input() ? FreshName(value.name() + "/quantised") : value.name();
  onnx::NodeProto* node = Emit("Quant", result, {real, scale, zero, bits}, {result});
  node->set_domain(std::string(InfoOf(Op::kQuant).onnx_domain));
  SetAttribute(node, "signed", int64_t{q.type.format.is_signed});
  SetAttribute(node, "narrow", int64_t{q.type.symmetric && q.type.format.is_signed});
  SetAttribute(node, "rounding_mode", std::string("ROUND"));
  domains_.insert(node->domain());
  read_names_[&value] = result;
}

// Writes x/codes -> DequantizeLinear -> x, with the codes as an initialiser.
Status Exporter::QuantiseConstant(const Value& value, const Quantisation& q,
                                  const Storage& storage) {
  const CodeRange range =
      storage.is_float() ? CodeRange{} : CodesOf(q.type.format, q.type.symmetric);
  const Tensor& tensor = value.constant();
  const auto values = tensor.data<float>();
  std::vector<int64_t> codes(static_cast<size_t>(tensor.size()));
  if (q.type.scheme == Scheme::kNone) {
    for (size_t i = 0; i < codes.size(); ++i) codes[i] = EncodeFloat(q.type.format, values[i]);
  } else {
    ForEachChannel(tensor.shape(), q, [&](int64_t element, size_t channel) {
      const float x = values[static_cast<size_t>(element)],
                  inverse = InverseScale(q.scales[channel]);
      codes[static_cast<size_t>(element)] =
          storage.is_float() ? int64_t{EncodeFloat(q.type.format, x * inverse)}
                             : QuantiseToCode(x, inverse, q.zero_points[channel], range);
    });
  }
  const std::string code_name = FreshName(value.name() + "/codes");
  CodeInitialiser(code_name, tensor.shape(), storage, codes);
  const auto [scale, zero_point] = ScaleAndZeroPoint(value, q, storage);
  onnx::NodeProto* node =
      Emit("DequantizeLinear", value.name(), {code_name, scale, zero_point}, {value.name()});
  if (q.axis >= 0) SetAttribute(node, "axis", int64_t{q.axis});
  return OkStatus();
}

// Writes x/codes -> DequantizeLinear {block_size} -> x (opset 21).
Status Exporter::QuantiseBlocks(const Value& value, const Quantisation& q) {
  const Format& element = q.type.format;
  const Tensor& tensor = value.constant();
  const Shape& shape = tensor.shape();
  // Fixed point is stored as integers; the binary point goes into the scale.
  Storage storage{ElementType::kInt8, "", {}};
  if (element.name == "e4m3" || element.name == "e5m2") storage = *StorageOf(element);
  const bool sayable =
      storage.is_float() || (element.is_integer() && element.is_signed && element.bits <= 8);
  if (!sayable) return CannotExpress(value, "format " + element.name + " in blocks");
  if (value.element() != ElementType::kFloat32 || q.axis < 0 || q.axis >= shape.rank() ||
      !q.scales.empty()) {
    return CannotExpress(value, "these scales per block");
  }
  if (element.bits == 4 && element.is_integer()) storage.narrow = "int4";
  const BlockCodec codec(q.type);
  // Value of a code's least significant bit before scaling.
  const float unit = std::ldexp(1.0f, element.is_integer() ? -element.fraction_bits : 0);
  int64_t inner = 1;
  for (int i = q.axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  const int64_t length = shape[q.axis], blocks = codec.BlocksOf(length), block = codec.block_size();
  const int64_t outer = tensor.size() == 0 ? 0 : tensor.size() / (length * inner);
  std::vector<int64_t> codes(static_cast<size_t>(tensor.size()));
  std::vector<float> scales(static_cast<size_t>(outer * blocks * inner));
  std::vector<float> row;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      for (int64_t b = 0; b < blocks; ++b) {
        const auto at = [&](int64_t k) {
          return static_cast<size_t>((o * length + b * block + k) * inner + i);
        };
        const int64_t count = std::min(block, length - b * block);
        row.clear();
        for (int64_t k = 0; k < count; ++k) row.push_back(tensor.data<float>()[at(k)]);
        // The block's scale is rounded to its format first; the elements are encoded under the
        // rounded scale.
        const float scale = codec.ScaleValue(codec.ScaleCode(row.data(), count));
        scales[static_cast<size_t>((o * blocks + b) * inner + i)] = scale * unit;
        for (int64_t k = 0; k < count; ++k) {
          const uint32_t code = codec.ElementCode(row[static_cast<size_t>(k)], scale);
          codes[at(k)] = storage.is_float() ? int64_t{code} : SignExtended(code, element.bits);
        }
      }
    }
  }
  std::vector<int64_t> scale_dims = shape.dims();
  scale_dims[static_cast<size_t>(q.axis)] = blocks;
  const std::string code_name = FreshName(value.name() + "/codes"),
                    scale_name = FreshName(value.name() + "/scale");
  CodeInitialiser(code_name, shape, storage, codes);
  Initialiser(scale_name, Tensor::Of<float>(Shape(scale_dims), scales));
  onnx::NodeProto* node =
      Emit("DequantizeLinear", value.name(), {code_name, scale_name}, {value.name()});
  SetAttribute(node, "axis", int64_t{q.axis});
  SetAttribute(node, "block_size", block);
  opset_ = kOnnxOpset;
  return OkStatus();
}

// Writes, for a value x:
//   x/real -> [Clip -> x/clipped ->] QuantizeLinear -> x/codes -> DequantizeLinear -> x
Status Exporter::QuantiseActivation(const Value& value, const Quantisation& q,
                                    const Storage& storage) {
  if (storage.element == ElementType::kInt32)
    return CannotExpress(value, "32-bit codes of an activation");
  std::string real = ReadName(value);
  const CodeRange used =
      storage.is_float() ? storage.range : CodesOf(q.type.format, q.type.symmetric);
  // ONNX's quantisers use all codes of the type, so a smaller range needs a Clip to its bounds.
  if (!(used == storage.range)) {
    if (q.axis >= 0)
      return CannotExpress(value, "fewer codes than the type has, with a scale per channel");
    const std::string least = FreshName(value.name() + "/least");
    const std::string greatest = FreshName(value.name() + "/greatest");
    Initialiser(least, Tensor::Scalar(DequantiseCode(used.low, q.scales[0], q.zero_points[0])));
    Initialiser(greatest, Tensor::Scalar(DequantiseCode(used.high, q.scales[0], q.zero_points[0])));
    const std::string clipped = FreshName(value.name() + "/clipped");
    if (storage.narrow.empty()) {
      Emit("Clip", clipped, {real, least, greatest}, {clipped});
    } else {  // ONNX Runtime does not accept a Clip before 4-bit codes
      const std::string bounded = FreshName(value.name() + "/bounded");
      Emit("Max", bounded, {real, least}, {bounded});
      Emit("Min", clipped, {bounded, greatest}, {clipped});
    }
    real = clipped;
  }
  const auto [scale, zero_point] = ScaleAndZeroPoint(value, q, storage);
  const std::string codes = FreshName(value.name() + "/codes");
  // An input's name is taken; its quantised value gets another.
  const std::string result =
      value.is_input() ? FreshName(value.name() + "/quantised") : value.name();
  onnx::NodeProto* quantise = Emit("QuantizeLinear", codes, {real, scale, zero_point}, {codes});
  onnx::NodeProto* dequantise =
      Emit("DequantizeLinear", result, {codes, scale, zero_point}, {result});
  if (q.axis >= 0) {
    SetAttribute(quantise, "axis", int64_t{q.axis});
    SetAttribute(dequantise, "axis", int64_t{q.axis});
  }
  read_names_[&value] = result;
  return OkStatus();
}

}  // namespace

std::vector<const Value*> ValuesWithoutQuant(const Graph& graph) {
  std::vector<const Value*> values;
  for (const Value* value : graph.Values()) {
    if (IsRounded(*value) && !HasQuant(value->quantisation()->type)) values.push_back(value);
  }
  return values;
}

StatusOr<std::string> ExportOnnxBytes(const Graph& graph, const ExportOptions& options) {
  if (!NeedsExpansion(graph)) return Exporter(graph, options).Run();
  Graph expanded = graph.Clone();
  KILN_RETURN_IF_ERROR(ExpandForOnnx(expanded));
  return Exporter(expanded, options).Run();
}

Status ExportOnnx(const Graph& graph, const std::filesystem::path& path,
                  const ExportOptions& options) {
  KILN_ASSIGN_OR_RETURN(const std::string bytes, ExportOnnxBytes(graph, options));
  return WriteFile(path, bytes);
}

// Export writes every row of operators.def under its ONNX name.
bool HasExporter(Op op) { return !InfoOf(op).onnx_name.empty(); }

}  // namespace kiln
