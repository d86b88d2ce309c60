// Kiln's graph: typed values in static single assignment, operators as nodes.
//
//   Value   one tensor: a graph input, a constant, or a result of a node. Has a name, a type, and once quantised an
//           annotation that says in which codes hardware holds it.
//   Node    one operator (ir/operators.def) with operands, results, attributes and the name of its ONNX source node.
//   Graph   owns both; nodes stand in topological order. All change goes through the graph's mutators, so that operand
//           and user lists cannot drift apart.
//
// Semantics: operators compute on real numbers as ONNX says; integer overflow wraps; the float rounding of one level of
// execution is that level's own business. A quantised graph has the same operators: what changes is the annotation.
// Weights may be absent: a graph input without a value serves for shapes, schedules and cycle counts.
#ifndef KILN_IR_GRAPH_H_
#define KILN_IR_GRAPH_H_

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kiln/ir/attributes.h"
#include "kiln/ir/op.h"
#include "kiln/ir/tensor.h"
#include "kiln/numerics/format.h"

namespace kiln {

class Graph;
class Node;

// Element type and, where known, shape (individual dimensions may still be unknown).
struct TensorType {
  ElementType element = ElementType::kFloat32;
  std::optional<Shape> shape;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

// How hardware encodes a value: value = scale * (value of the code), or scale * (code - zero_point) in a whole integer
// format.
//   kNone        no axis, no scales: codes are values
//   kPerTensor   one scale, no axis
//   kPerChannel  one scale for each index of `axis`
//   kPerBlock    `axis` is the blocked one: each type.block_size elements along it share a scale, the last block of a
//                line may be shorter. Usually without scales: they follow from the elements by the rule of
//                numerics/microscaling.h, for constants as for results. Or one for each block, row-major in the shape
//                that has the number of blocks in place of the axis's length.
struct Quantisation {
  QuantType type;
  int axis = -1;
  std::vector<float> scales = {};         // values of type.scale_format
  std::vector<int32_t> zero_points = {};  // as many as scales; all 0 when symmetric
  friend bool operator==(const Quantisation&, const Quantisation&) = default;
};

class Value {
 public:
  const std::string& name() const { return name_; }
  const TensorType& type() const { return type_; }
  bool has_shape() const { return type_.shape.has_value(); }
  const Shape& shape() const {
    KILN_CHECK(type_.shape.has_value());
    return *type_.shape;
  }
  ElementType element() const { return type_.element; }

  Node* producer() const { return producer_; }  // null for inputs and constants
  const std::vector<Node*>& users() const {
    return users_;
  }  // one entry per use: a node using it twice stands twice
  bool is_input() const { return is_input_; }
  bool is_constant() const { return constant_.has_value(); }
  const Tensor& constant() const {
    KILN_CHECK(constant_.has_value());
    return *constant_;
  }

  const std::optional<Quantisation>& quantisation() const { return quantisation_; }
  void set_quantisation(std::optional<Quantisation> q) { quantisation_ = std::move(q); }

 private:
  friend class Graph;
  std::string name_;
  TensorType type_;
  Node* producer_ = nullptr;
  std::vector<Node*> users_;
  bool is_input_ = false;
  std::optional<Tensor> constant_;
  std::optional<Quantisation> quantisation_;
};

class Node {
 public:
  Op op() const { return op_; }
  const OpInfo& info() const { return InfoOf(op_); }
  // The name of the ONNX node it came from; after fusion of several, their names joined by '+'.
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  // A larger pattern the node belongs to ("attention block0"), for reports; often empty.
  const std::string& region() const { return region_; }
  void set_region(std::string region) { region_ = std::move(region); }

  int num_operands() const { return static_cast<int>(operands_.size()); }
  // Null for an optional operand that is absent, and beyond the end.
  Value* operand(int i) const {
    return i < num_operands() ? operands_[static_cast<size_t>(i)] : nullptr;
  }
  const std::vector<Value*>& operands() const { return operands_; }
  int num_results() const { return static_cast<int>(results_.size()); }
  // Null for an optional result nobody asked for, and beyond the end.
  Value* result(int i = 0) const {
    return i < num_results() ? results_[static_cast<size_t>(i)] : nullptr;
  }
  const std::vector<Value*>& results() const { return results_; }

  const Attributes& attributes() const { return attributes_; }
  Attributes& attributes() { return attributes_; }

  // "node 'conv_12' (Conv)", for error messages.
  std::string Describe() const;

 private:
  friend class Graph;
  Op op_ = Op::kIdentity;
  std::string name_;
  std::string region_;
  std::vector<Value*> operands_;
  std::vector<Value*> results_;
  Attributes attributes_;
  std::list<std::unique_ptr<Node>>::iterator self_;
};

class Graph {
 public:
  Graph() = default;
  explicit Graph(std::string name) : name_(std::move(name)) {}
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  Graph Clone() const;  // constants share their bytes

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  // The file the graph was read from, for error messages; may be empty.
  const std::string& source() const { return source_; }
  void set_source(std::string source) { source_ = std::move(source); }
  // Properties of the model that travel with it through files: keys beginning with "kiln." of ONNX's metadata_props.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  std::map<std::string, std::string>& metadata() { return metadata_; }

  const std::vector<Value*>& inputs() const { return inputs_; }
  const std::vector<Value*>& outputs() const { return outputs_; }
  const std::list<std::unique_ptr<Node>>& nodes() const { return nodes_; }  // topological order
  std::vector<Node*> NodeList() const;    // a copy, safe to walk while changing the graph
  std::vector<Value*> Values() const;     // inputs, constants, then results in node order
  std::vector<Value*> Constants() const;  // in order of creation
  int num_nodes() const { return static_cast<int>(nodes_.size()); }
  Value* FindValue(std::string_view name) const;

  // Names are made unique by a suffix where taken; an empty name gets one of the form "v12".
  Value* AddInput(std::string_view name, TensorType type);
  Value* AddConstant(std::string_view name, Tensor tensor);
  // Appends a node (or inserts it before `before`) with `result_names.size()` results; a null entry in operands means
  // absent. Operands must stand earlier. Result types start unknown: see InferNode in shape_inference.h, or SetType.
  Node* AddNode(Op op, std::string_view name, std::vector<Value*> operands,
                const std::vector<std::string>& result_names, Attributes attributes = {},
                Node* before = nullptr);
  void MarkOutput(Value* value);
  void ClearOutputs() { outputs_.clear(); }  // what were outputs stay values
  // Makes `value` the i-th output.
  void SetOutput(int i, Value* value);
  void SetType(Value* value, TensorType type) { value->type_ = std::move(type); }
  // Turns an input without value into a constant (weights bound late). The input disappears from inputs().
  void BindInput(Value* input, Tensor tensor);
  void Rename(Value* value, std::string_view name);

  void SetOperand(Node* node, int i, Value* value);
  // Every use of `from`, graph outputs included, becomes a use of `to`. A graph output keeps its name: `to` takes it
  // over when it is a node result (and `from` gets a fresh name).
  void ReplaceAllUses(Value* from, Value* to);
  // Changes operator, operands and attributes of a node in place; results stay.
  void ReplaceNode(Node* node, Op op, std::vector<Value*> operands, Attributes attributes);
  // The node's results must have no users and must not be outputs; they go with it.
  void EraseNode(Node* node);
  // Makes the i-th result absent: a null in results(). It must have no users and must not be an output.
  void EraseResult(Node* node, int i);
  void EraseUnusedConstants();
  // Takes unused inputs out of inputs() (for weights listed as inputs by old exporters, once bound).
  void EraseInput(Value* input);
  // Restores topological order after nodes were appended out of order. False when the graph has a cycle.
  [[nodiscard]] bool SortTopologically();

 private:
  Value* NewValue(std::string_view name);
  void DropUse(Value* value, Node* user);

  std::string name_;
  std::string source_;
  std::map<std::string, std::string> metadata_;
  std::vector<Value*> inputs_;
  std::vector<Value*> outputs_;
  std::list<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Value>> values_;
  std::unordered_map<std::string, Value*> by_name_;
  uint64_t next_name_ = 0;
};

}  // namespace kiln

#endif  // KILN_IR_GRAPH_H_
