// The graph that all of Kiln works on: typed values in static single assignment form, and operators
// as nodes.
//
//   Value   one tensor: a graph input, a constant, or a result of a node. Has a name, a type and,
//           once quantised, an annotation that defines the codes that hardware stores for it.
//   Node    one operator (ir/operators.def) with operands, results, attributes and the name of the
//           ONNX node that it comes from.
//   Graph   owns both. Nodes are kept in topological order. All changes are made by the graph's
//           mutators, so that operand lists and user lists always agree.
//
// Semantics: operators compute on real numbers as ONNX defines them; integer overflow wraps; the
// float rounding of each level of execution is defined by that level. A quantised graph has the
// same operators and differs in its annotations. Weights may be absent: a graph input without a
// value suffices for shapes, schedules and cycle counts.
//
//   Graph graph("net");
//   Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, 3, 32, 32}});
//   Value* w = graph.AddConstant("w", weights);
//   Node* conv = graph.AddNode(Op::kConv, "conv1", {x, w}, {"y"});
//   KILN_RETURN_IF_ERROR(InferNode(graph, *conv));  // shape_inference.h: the type of y
//   graph.MarkOutput(conv->result());
#ifndef KILN_IR_GRAPH_H_
#define KILN_IR_GRAPH_H_

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
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

// An element type and, if known, a shape, in which individual dimensions may be unknown.
struct TensorType {
  ElementType element = ElementType::kFloat32;
  std::optional<Shape> shape;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

// The annotation of a quantised value, the encoding that hardware uses: value = scale * (value of
// the code), or scale * (code - zero_point) in an integer format without fraction bits.
//   kNone        no axis and no scales: the value of an element is the value of its code
//   kPerTensor   one scale, no axis
//   kPerChannel  one scale per index of `axis`
//   kPerBlock    one scale per block of type.block_size consecutive elements along `axis`; the last
//                block of a line may be shorter. Usually `scales` is empty: scales follow from the
//                elements by the rule of numerics/microscaling.h, for constants and results alike.
//                Otherwise `scales` has one entry per block, row-major in the value's shape with
//                the number of blocks as the length of `axis`.
struct Quantisation {
  QuantType type;
  int axis = -1;
  std::vector<float> scales = {};         // numbers of type.scale_format
  std::vector<int32_t> zero_points = {};  // one per scale; all 0 if symmetric
  friend bool operator==(const Quantisation&, const Quantisation&) = default;
};

// One tensor of a graph. Changed through the graph's mutators, except for its annotation.
class Value {
 public:
  const std::string& name() const { return name_; }
  // Element type and shape; shape() may only be called if has_shape().
  const TensorType& type() const { return type_; }
  bool has_shape() const { return type_.shape.has_value(); }
  const Shape& shape() const {
    KILN_CHECK(type_.shape.has_value());
    return *type_.shape;
  }
  ElementType element() const { return type_.element; }

  Node* producer() const { return producer_; }  // null for inputs and constants
  // One entry per use: a node with this value as two operands occurs twice.
  const std::vector<Node*>& users() const { return users_; }
  // A value is an input, a constant or a node result.
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

// One operator of a graph.
class Node {
 public:
  Op op() const { return op_; }
  const OpInfo& info() const { return InfoOf(op_); }
  // The name of the ONNX node that it comes from; a fused node joins their names by '+'.
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  // The larger pattern that the node belongs to ("attention block0"), for reports; often empty.
  const std::string& region() const { return region_; }
  void set_region(std::string region) { region_ = std::move(region); }

  int num_operands() const { return static_cast<int>(operands_.size()); }
  // Returns null if an optional operand is absent, and beyond the end.
  Value* operand(int i) const {
    return i < num_operands() ? operands_[static_cast<size_t>(i)] : nullptr;
  }
  const std::vector<Value*>& operands() const { return operands_; }
  int num_results() const { return static_cast<int>(results_.size()); }
  // Returns null if an optional result is unused, and beyond the end.
  Value* result(int i = 0) const {
    return i < num_results() ? results_[static_cast<size_t>(i)] : nullptr;
  }
  const std::vector<Value*>& results() const { return results_; }

  const Attributes& attributes() const { return attributes_; }
  Attributes& attributes() { return attributes_; }

  // Returns "node 'conv_12' (Conv)", for error messages.
  std::string Describe() const;

 private:
  friend class Graph;
  Op op_ = Op::kIdentity;
  std::string name_;
  std::string region_;
  std::vector<Value*> operands_;
  std::vector<Value*> results_;
  Attributes attributes_;
  std::list<std::unique_ptr<Node>>::iterator self_;  // its position in Graph::nodes_
};

// A network: inputs, constants, nodes in topological order, outputs. Movable; copied by Clone only.
class Graph {
 public:
  Graph() = default;
  explicit Graph(std::string name) : name_(std::move(name)) {}
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  // Returns a deep copy. Constants share their bytes.
  Graph Clone() const;

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  // The file that the graph was read from, for error messages; may be empty.
  const std::string& source() const { return source_; }
  void set_source(std::string source) { source_ = std::move(source); }
  // Properties of the model that are kept in its files: the keys of ONNX's metadata_props that
  // begin with "kiln.".
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  std::map<std::string, std::string>& metadata() { return metadata_; }

  // The operators of the nodes in the ONNX file that the graph was read from: ONNX names such as
  // "Gemm", by node name; several if nodes with different operators share a name. Passes replace
  // nodes by others that keep the name. Empty for graphs from elsewhere; not part of the text form.
  const std::map<std::string, std::set<std::string>>& file_operators() const {
    return file_operators_;
  }
  void AddFileOperator(const std::string& node_name, const std::string& onnx_name) {
    file_operators_[node_name].insert(onnx_name);
  }

  const std::vector<Value*>& inputs() const { return inputs_; }
  const std::vector<Value*>& outputs() const { return outputs_; }
  const std::list<std::unique_ptr<Node>>& nodes() const { return nodes_; }  // topological order
  // Returns the nodes as a copy, which stays valid while the graph is changed.
  std::vector<Node*> NodeList() const;
  // Returns inputs, constants, then results in node order.
  std::vector<Value*> Values() const;
  // Returns the constants in order of creation.
  std::vector<Value*> Constants() const;
  // The number of nodes.
  int num_nodes() const { return static_cast<int>(nodes_.size()); }
  // Returns the value with that name, or null.
  Value* FindValue(std::string_view name) const;

  // Add a value. A taken name gets a suffix that makes it unique; an empty name becomes "v12" or
  // similar.
  Value* AddInput(std::string_view name, TensorType type);
  Value* AddConstant(std::string_view name, Tensor tensor);
  // Appends a node, or inserts it before `before`, with `result_names.size()` results. A null
  // operand is absent. Operands must precede the node. Result types are unknown at first: see
  // InferNode in shape_inference.h, or SetType.
  Node* AddNode(Op op, std::string_view name, std::vector<Value*> operands,
                const std::vector<std::string>& result_names, Attributes attributes = {},
                Node* before = nullptr);
  // Appends a value to the outputs; a value may be an output several times.
  void MarkOutput(Value* value);
  // Removes all values from the list of outputs; they remain in the graph.
  void ClearOutputs() { outputs_.clear(); }
  // Makes `value` the i-th output.
  void SetOutput(int i, Value* value);
  // Sets the type of a value, without a check against its producer (Verify does that).
  void SetType(Value* value, TensorType type) { value->type_ = std::move(type); }
  // Turns an input into a constant (weights that are bound late) and removes it from inputs().
  void BindInput(Value* input, Tensor tensor);
  // Renames a value; a taken name gets a suffix.
  void Rename(Value* value, std::string_view name);

  // Sets the i-th operand of a node, appending absent operands if the list is shorter.
  void SetOperand(Node* node, int i, Value* value);
  // Replaces every use of `from` by `to`, graph outputs included. Outputs keep their names: if `to`
  // is a node result it takes over the name of `from`, which gets a new one.
  void ReplaceAllUses(Value* from, Value* to);
  // Changes operator, operands and attributes of a node in place; keeps its results.
  void ReplaceNode(Node* node, Op op, std::vector<Value*> operands, Attributes attributes);
  // Removes a node with its results, which must have no users and must not be outputs.
  void EraseNode(Node* node);
  // Makes the i-th result absent: null in results(). It must have no users and must not be an
  // output.
  void EraseResult(Node* node, int i);
  // Removes constants without users that are not outputs.
  void EraseUnusedConstants();
  // Removes an input from inputs(). For weights that old exporters list as inputs, once they are
  // bound.
  void EraseInput(Value* input);
  // Restores topological order after nodes were added out of order. Returns false if there is a
  // cycle.
  [[nodiscard]] bool SortTopologically();

 private:
  // Creates a value with a unique name.
  Value* NewValue(std::string_view name);
  // Removes one entry of `user` from the users of `value`.
  void DropUse(Value* value, Node* user);

  std::string name_;
  std::string source_;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, std::set<std::string>> file_operators_;
  std::vector<Value*> inputs_;
  std::vector<Value*> outputs_;
  std::list<std::unique_ptr<Node>> nodes_;      // topological order
  std::vector<std::unique_ptr<Value>> values_;  // all values, in order of creation
  std::unordered_map<std::string, Value*> by_name_;
  uint64_t next_name_ = 0;  // number of the next made-up name
};

}  // namespace kiln

#endif  // KILN_IR_GRAPH_H_
