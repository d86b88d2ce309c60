#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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
#include "kiln/support/file.h"

namespace kiln {
namespace {

// Whether an annotation changes numbers: fp32 itself rounds nothing.
bool IsRounded(const Value& value) {
  if (!value.quantisation()) return false;
  const QuantType& type = value.quantisation()->type;
  return type.scheme != Scheme::kNone || type.format.name != "fp32";
}

// How ONNX stores the codes of a format.
struct Storage {
  ElementType element = ElementType::kInt8;  // of whole bytes
  std::string narrow;  // or a type that Kiln's graphs do not have (onnx_narrow.h), by its format
  CodeRange range;     // of integers
  bool is_float() const { return narrow == "e4m3" || narrow == "e5m2"; }
};

// nullopt where ONNX's quantisers have no type for a format.
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

// Integers of any storage type; each value must fit.
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
// The first that has Gelu, which the standard passes recognise.
constexpr int kLeastExportOpset = 20;

// The number that the low `bits` of a code are in two's complement.
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

// Whether a node means something else, or nothing, before opset 21.
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

// Names that differ from each other. Each wish remembers how far its suffixes went: passes may give any number of nodes
// one name.
class FreshNames {
 public:
  void Insert(const std::string& name) { names_.insert(name); }
  // `wish`, or the first of wish.1, wish.2, ... that is new.
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
  std::unordered_map<std::string, int> suffixes_;  // the last that was tried
};

class Exporter {
 public:
  Exporter(const Graph& graph, const ExportOptions& options)
      : graph_(graph), options_(options), proto_(*model_.mutable_graph()) {}

  StatusOr<std::string> Run();

 private:
  Status AddInputs();
  Status AddConstants();
  Status AddNode(const Node& node);
  Status AddQuantisation(const Value& value);
  Status QuantiseConstant(const Value& value, const Quantisation& q, const Storage& storage);
  Status QuantiseActivation(const Value& value, const Quantisation& q, const Storage& storage);
  // A constant with a scale for each block along an axis.
  Status QuantiseBlocks(const Value& value, const Quantisation& q);
  // Through a Quant of QONNX.
  void QuantiseInQonnx(const Value& value, const Quantisation& q);
  void AddOutputs();

  // The name that users of a value read, and the one that its definition writes; they differ where nodes stand between.
  const std::string& ReadName(const Value& value) const;
  std::string WrittenName(const Value& value);
  std::string FreshName(const std::string& wish);
  // The same among nodes, whose names need not differ from those of values. Passes make several nodes of one and leave
  // its name to all of them; ONNX Runtime refuses files with equal names.
  std::string FreshNodeName(const std::string& wish);

  onnx::NodeProto* Emit(std::string_view op_type, const std::string& name,
                        const std::vector<std::string>& operands,
                        const std::vector<std::string>& results);
  void Initialiser(const std::string& name, const Tensor& tensor);
  // Adds a Transpose and returns the name of its result.
  void EmitTranspose(const std::string& from, const std::string& to,
                     const std::vector<int64_t>& permutation);
  static void SetAttribute(onnx::NodeProto* node, const std::string& name, const Attribute& value);
  static void SetType(const TensorType& type, onnx::TypeProto* proto);
  // Scale and zero point of a quantisation as initialisers; their names.
  std::pair<std::string, std::string> ScaleAndZeroPoint(const Value& value, const Quantisation& q,
                                                        const Storage& storage);
  // Codes as an initialiser.
  void CodeInitialiser(const std::string& name, const Shape& shape, const Storage& storage,
                       const std::vector<int64_t>& codes);
  Status CannotExpress(const Value& value, std::string_view why) const;

  const Graph& graph_;
  const ExportOptions& options_;
  onnx::ModelProto model_;
  onnx::GraphProto& proto_;
  FreshNames names_;       // of values
  FreshNames node_names_;  // that have been given out
  std::unordered_map<const Value*, std::string> read_names_;
  std::set<std::string> domains_;  // of operators that are not ONNX's own
  int opset_ = kLeastExportOpset;
};

StatusOr<std::string> Exporter::Run() {
  model_.set_producer_name("kiln");
  proto_.set_name(graph_.name().empty() ? "graph" : graph_.name());
  for (const auto& [key, value] : graph_.metadata()) {
    auto* property = model_.add_metadata_props();
    property->set_key(key);
    property->set_value(value);
  }
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
  model_.set_ir_version(opset_ == kOnnxOpset ? kOnnxIrVersion : kOnnxIrVersion - 1);
  model_.add_opset_import()->set_version(opset_);
  for (const std::string& domain : domains_) {
    auto* opset = model_.add_opset_import();
    opset->set_domain(domain);
    opset->set_version(1);
  }
  std::string bytes;
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
  // Behind an annotation the quantised value takes the name over, so that a graph output keeps it.
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
    // ONNX wants every output to be another value, and the quantised form of an input has another name.
    if (!listed.insert(name).second || ReadName(*output) != name) {
      name = FreshName(name + "/output");
      Emit("Identity", name, {ReadName(*output)}, {name});
    }
    auto* info = proto_.add_output();
    info->set_name(name);
    SetType(output->type(), info->mutable_type());
  }
  for (const auto& node : graph_.nodes()) {
    for (const Value* result : node->results()) {
      if (result == nullptr || !result->has_shape() || listed.count(result->name()) != 0) continue;
      auto* info = proto_.add_value_info();
      info->set_name(result->name());
      SetType(result->type(), info->mutable_type());
    }
  }
}

// [batch, spatial..., channels] to [batch, channels, spatial...], or back.
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

Status Exporter::AddNode(const Node& node) {
  if (NeedsOpset21(node)) opset_ = kOnnxOpset;
  std::vector<std::string> operands, results;
  for (const Value* operand : node.operands())
    operands.push_back(operand == nullptr ? "" : ReadName(*operand));
  for (const Value* result : node.results())
    results.push_back(result == nullptr ? "" : WrittenName(*result));
  Attributes attributes = node.attributes();

  const bool nhwc = attributes.String("layout", "nchw") == "nhwc";
  if (node.info().Has(kHasLayout)) attributes.Remove("layout");
  std::vector<std::string> nhwc_results;
  int rank = 0;
  if (nhwc) {
    if (!node.operand(0)->has_shape() || node.operand(0)->shape().rank() < 3) {
      return ErrorAt(graph_.source(), node.Describe(), "layout nhwc on an operand of unknown shape",
                     "infer shapes first");
    }
    rank = node.operand(0)->shape().rank();
    const std::string nchw = FreshName(operands[0] + "/nchw");
    EmitTranspose(operands[0], nchw, LayoutPermutation(rank, /*to_nchw=*/true));
    operands[0] = nchw;
    for (std::string& result : results) {
      nhwc_results.push_back(result);
      if (!result.empty()) result = FreshName(result + "/nchw");
    }
  }

  std::string scaled_result;
  float alpha = 1;
  if (node.op() == Op::kMatMul) {
    if (attributes.Int("transpose_b", 0) != 0) {
      const Value& b = *node.operand(1);
      if (!b.has_shape() || b.shape().rank() < 2) {
        return ErrorAt(graph_.source(), node.Describe(),
                       "transpose_b on an operand of unknown shape", "infer shapes first");
      }
      std::vector<int64_t> permutation(static_cast<size_t>(b.shape().rank()));
      for (size_t i = 0; i < permutation.size(); ++i) permutation[i] = static_cast<int64_t>(i);
      std::swap(permutation.end()[-1], permutation.end()[-2]);
      const std::string transposed = FreshName(operands[1] + "/transposed");
      EmitTranspose(operands[1], transposed, permutation);
      operands[1] = transposed;
    }
    alpha = attributes.Float("alpha", 1);
    attributes.Remove("transpose_b");
    attributes.Remove("alpha");
    if (alpha != 1) {
      scaled_result = results[0];
      results[0] = FreshName(results[0] + "/unscaled");
    }
  }

  onnx::NodeProto* proto = Emit(node.info().onnx_name, node.name(), operands, results);
  if (!node.info().onnx_domain.empty()) {
    proto->set_domain(std::string(node.info().onnx_domain));
    domains_.insert(std::string(node.info().onnx_domain));
  }
  for (const auto& [name, value] : attributes) SetAttribute(proto, name, value);

  for (size_t i = 0; i < nhwc_results.size(); ++i) {
    if (results[i].empty()) continue;
    EmitTranspose(results[i], nhwc_results[i], LayoutPermutation(rank, /*to_nchw=*/false));
  }
  if (!scaled_result.empty()) {
    const std::string factor = FreshName(scaled_result + "/alpha");
    Tensor scalar(node.result()->element(), Shape{});
    switch (scalar.type()) {
      case ElementType::kFloat32:
        scalar.data<float>()[0] = alpha;
        break;
      case ElementType::kFloat64:
        scalar.data<double>()[0] = alpha;
        break;
      case ElementType::kFloat16:
        scalar.data<uint16_t>()[0] = FloatToHalf(alpha);
        break;
      case ElementType::kBfloat16:
        scalar.data<uint16_t>()[0] = FloatToBfloat16(alpha);
        break;
      default:
        return ErrorAt(graph_.source(), node.Describe(), "alpha on integers has no form in ONNX",
                       "");
    }
    Initialiser(factor, scalar);
    Emit("Mul", scaled_result, {results[0], factor}, {scaled_result});
  }
  // What a node of several results wrote for annotated ones is read again by AddQuantisation.
  for (size_t i = 0; i < node.results().size(); ++i) {
    const Value* result = node.results()[i];
    if (result == nullptr) continue;
    const std::string& written = !scaled_result.empty() ? scaled_result
                                 : nhwc                 ? nhwc_results[i]
                                                        : results[i];
    if (written != result->name()) read_names_[result] = written;
  }
  return OkStatus();
}

Status Exporter::CannotExpress(const Value& value, std::string_view why) const {
  return UnsupportedAt(
      graph_.source(), "value '" + value.name() + "'", fmt::format("ONNX cannot say {}", why),
      "its quantisers know integers of up to 16 bits, e4m3 and e5m2, per tensor or per channel, "
      "and "
      "constants of up to 8 bits per block; IR text (.kir) holds every annotation");
}

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

Status Exporter::AddQuantisation(const Value& value) {
  if (!IsRounded(value)) return OkStatus();
  const Quantisation& q = *value.quantisation();
  const Format& format = q.type.format;
  if (q.type.scheme == Scheme::kPerBlock) {
    if (!value.is_constant())
      return CannotExpress(value, "scales per block that are found while the network runs");
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
  const bool per_channel = q.axis >= 0;
  const bool values_are_codes = q.type.scheme == Scheme::kNone && storage->is_float();
  const bool fits =
      values_are_codes ||
      (!q.scales.empty() && q.scales.size() == q.zero_points.size() &&
       (per_channel ? value.has_shape() && q.axis < value.shape().rank() &&
                          value.shape()[q.axis] == static_cast<int64_t>(q.scales.size())
                    : q.scales.size() == 1));
  if (!fits) {
    return ErrorAt(graph_.source(), "value '" + value.name() + "'",
                   fmt::format("annotation has {} scales and {} zero points on axis {}",
                               q.scales.size(), q.zero_points.size(), q.axis),
                   "one of each, or one of each per index of the axis");
  }
  if (options_.quantisers == Quantisers::kQonnx && format.is_integer() &&
      format.bits <= kMostQuantBits) {
    QuantiseInQonnx(value, q);
    return OkStatus();
  }
  return value.is_constant() ? QuantiseConstant(value, q, *storage)
                             : QuantiseActivation(value, q, *storage);
}

void Exporter::QuantiseInQonnx(const Value& value, const Quantisation& q) {
  std::string real = ReadName(value);
  if (value.is_constant()) {
    // The values of the codes, so that no reader rounds them otherwise.
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

Status Exporter::QuantiseBlocks(const Value& value, const Quantisation& q) {
  const Format& element = q.type.format;
  const Tensor& tensor = value.constant();
  const Shape& shape = tensor.shape();
  Storage storage{
      ElementType::kInt8, "", {}};  // of fixed point, whose binary places go to the scale
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

Status Exporter::QuantiseActivation(const Value& value, const Quantisation& q,
                                    const Storage& storage) {
  if (storage.element == ElementType::kInt32)
    return CannotExpress(value, "32-bit codes of an activation");
  std::string real = ReadName(value);
  const CodeRange used =
      storage.is_float() ? storage.range : CodesOf(q.type.format, q.type.symmetric);
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
    } else {  // ONNX Runtime takes no Clip in front of 4-bit codes
      const std::string bounded = FreshName(value.name() + "/bounded");
      Emit("Max", bounded, {real, least}, {bounded});
      Emit("Min", clipped, {bounded, greatest}, {clipped});
    }
    real = clipped;
  }
  const auto [scale, zero_point] = ScaleAndZeroPoint(value, q, storage);
  const std::string codes = FreshName(value.name() + "/codes");
  // An input's own name is taken; its quantised form gets another.
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
