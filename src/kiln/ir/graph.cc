// Implements the graph's mutators. Every change of an operand updates the user list of the value,
// so that both always agree.

#include "kiln/ir/graph.h"
#include "kiln/support/excerpt.h"

#include <algorithm>
#include <queue>

namespace kiln {

std::string Node::Describe() const {
  return "node " + QuotedExcerpt(name_) + " (" + std::string(info().id) + ")";
}

// Creates a value with the name `wish`, or a made-up name if that is empty. A taken name gets a
// suffix.
Value* Graph::NewValue(std::string_view wish) {
  std::string name(wish);
  if (name.empty()) name = "v" + std::to_string(next_name_++);
  for (int suffix = 1; by_name_.count(name) != 0; ++suffix) {
    name = (wish.empty() ? "v" + std::to_string(next_name_++)
                         : std::string(wish) + "." + std::to_string(suffix));
  }
  values_.push_back(std::make_unique<Value>());
  Value* value = values_.back().get();
  value->name_ = name;
  by_name_.emplace(name, value);
  return value;
}

Value* Graph::AddInput(std::string_view name, TensorType type) {
  Value* value = NewValue(name);
  value->type_ = std::move(type);
  value->is_input_ = true;
  inputs_.push_back(value);
  return value;
}

// The type of a constant is that of its tensor.
Value* Graph::AddConstant(std::string_view name, Tensor tensor) {
  Value* value = NewValue(name);
  value->type_ = {tensor.type(), tensor.shape()};
  value->constant_ = std::move(tensor);
  return value;
}

Node* Graph::AddNode(Op op, std::string_view name, std::vector<Value*> operands,
                     const std::vector<std::string>& result_names, Attributes attributes,
                     Node* before) {
  const auto place = before != nullptr ? before->self_ : nodes_.end();
  const auto it = nodes_.insert(place, std::make_unique<Node>());
  Node* node = it->get();
  node->self_ = it;
  node->op_ = op;
  node->name_ = std::string(name);
  node->operands_ = std::move(operands);
  node->attributes_ = std::move(attributes);
  for (Value* operand : node->operands_) {
    if (operand != nullptr) operand->users_.push_back(node);
  }
  for (const std::string& result_name : result_names) {
    Value* result = NewValue(result_name);
    result->producer_ = node;
    node->results_.push_back(result);
  }
  return node;
}

void Graph::MarkOutput(Value* value) { outputs_.push_back(value); }

void Graph::SetOutput(int i, Value* value) { outputs_[static_cast<size_t>(i)] = value; }

// The value keeps its identity and its users; only its kind changes.
void Graph::BindInput(Value* input, Tensor tensor) {
  KILN_CHECK(input->is_input_);
  EraseInput(input);
  input->type_ = {tensor.type(), tensor.shape()};
  input->constant_ = std::move(tensor);
}

void Graph::Rename(Value* value, std::string_view name) {
  by_name_.erase(value->name_);
  std::string unique(name);
  for (int suffix = 1; by_name_.count(unique) != 0; ++suffix) {
    unique = std::string(name) + "." + std::to_string(suffix);
  }
  value->name_ = unique;
  by_name_.emplace(unique, value);
}

// Removes one entry of `user` from a value's user list.
void Graph::DropUse(Value* value, Node* user) {
  const auto it = std::find(value->users_.begin(), value->users_.end(), user);
  KILN_CHECK(it != value->users_.end());
  value->users_.erase(it);
}

// A node may use a value several times, with one user entry per use; DropUse removes one of them.
void Graph::SetOperand(Node* node, int i, Value* value) {
  if (i >= node->num_operands()) node->operands_.resize(static_cast<size_t>(i) + 1, nullptr);
  Value*& slot = node->operands_[static_cast<size_t>(i)];
  if (slot != nullptr) DropUse(slot, node);
  slot = value;
  if (value != nullptr) value->users_.push_back(node);
}

// Iterates over a copy of the user list, which SetOperand changes.
void Graph::ReplaceAllUses(Value* from, Value* to) {
  if (from == to) return;
  const std::vector<Node*> users = from->users_;
  for (Node* user : users) {
    for (int i = 0; i < user->num_operands(); ++i) {
      if (user->operand(i) == from) SetOperand(user, i, to);
    }
  }
  bool was_output = false;
  for (Value*& output : outputs_) {
    if (output == from) {
      output = to;
      was_output = true;
    }
    // The interface of the graph keeps its names: the new value takes over the name of the output.
  }
  if (was_output && to->producer_ != nullptr) {
    const std::string name = from->name_;
    Rename(from, name + ".replaced");
    Rename(to, name);
  }
}

// Uses are dropped and added as a whole, since old and new operands may overlap.
void Graph::ReplaceNode(Node* node, Op op, std::vector<Value*> operands, Attributes attributes) {
  for (Value* operand : node->operands_) {
    if (operand != nullptr) DropUse(operand, node);
  }
  node->op_ = op;
  node->operands_ = std::move(operands);
  node->attributes_ = std::move(attributes);
  for (Value* operand : node->operands_) {
    if (operand != nullptr) operand->users_.push_back(node);
  }
}

// The entry in results() remains, as null, so that later results keep their numbers.
void Graph::EraseResult(Node* node, int i) {
  Value*& result = node->results_[static_cast<size_t>(i)];
  if (result == nullptr) return;
  KILN_CHECK(result->users_.empty());
  KILN_CHECK(std::find(outputs_.begin(), outputs_.end(), result) == outputs_.end());
  by_name_.erase(result->name_);
  std::erase_if(values_, [&](const std::unique_ptr<Value>& v) { return v.get() == result; });
  result = nullptr;
}

void Graph::EraseNode(Node* node) {
  for (int i = 0; i < node->num_results(); ++i) EraseResult(node, i);
  for (Value* operand : node->operands_) {
    if (operand != nullptr) DropUse(operand, node);
  }
  nodes_.erase(node->self_);
}

void Graph::EraseUnusedConstants() {
  std::erase_if(values_, [&](const std::unique_ptr<Value>& v) {
    const bool unused = v->constant_.has_value() && v->users_.empty() &&
                        std::find(outputs_.begin(), outputs_.end(), v.get()) == outputs_.end();
    if (unused) by_name_.erase(v->name_);
    return unused;
  });
}

void Graph::EraseInput(Value* input) {
  inputs_.erase(std::find(inputs_.begin(), inputs_.end(), input));
  input->is_input_ = false;
}

std::vector<Node*> Graph::NodeList() const {
  std::vector<Node*> list;
  list.reserve(nodes_.size());
  for (const auto& node : nodes_) list.push_back(node.get());
  return list;
}

// values_ is in order of creation, and so are the constants.
std::vector<Value*> Graph::Constants() const {
  std::vector<Value*> list;
  for (const auto& value : values_) {
    if (value->is_constant()) list.push_back(value.get());
  }
  return list;
}

std::vector<Value*> Graph::Values() const {
  std::vector<Value*> list = inputs_;
  for (Value* constant : Constants()) list.push_back(constant);
  for (const auto& node : nodes_) {
    for (Value* result : node->results_) {
      if (result != nullptr) list.push_back(result);
    }
  }
  return list;
}

Value* Graph::FindValue(std::string_view name) const {
  const auto it = by_name_.find(std::string(name));
  return it == by_name_.end() ? nullptr : it->second;
}

// Kahn's algorithm with a priority queue.
bool Graph::SortTopologically() {
  // `waiting` counts the operands of each node that no sorted node produces yet.
  std::unordered_map<const Node*, int> position, waiting;
  std::vector<Node*> order = NodeList();
  for (size_t i = 0; i < order.size(); ++i) position[order[i]] = static_cast<int>(i);
  // Among ready nodes the first in the present order is taken, so that a sorted graph stays
  // unchanged.
  const auto later = [&](Node* a, Node* b) { return position[a] > position[b]; };
  std::priority_queue<Node*, std::vector<Node*>, decltype(later)> ready(later);
  for (Node* node : order) {
    int count = 0;
    for (Value* operand : node->operands_)
      count += operand != nullptr && operand->producer_ != nullptr ? 1 : 0;
    waiting[node] = count;
    if (count == 0) ready.push(node);
  }
  std::vector<Node*> sorted;
  while (!ready.empty()) {
    Node* node = ready.top();
    ready.pop();
    sorted.push_back(node);
    for (Value* result : node->results_) {
      if (result == nullptr) continue;
      for (Node* user : result->users_) {
        if (--waiting[user] == 0) ready.push(user);
      }
    }
  }
  if (sorted.size() != order.size()) return false;
  // Splicing moves list nodes, so that every Node::self_ stays valid.
  for (Node* node : sorted) nodes_.splice(nodes_.end(), nodes_, node->self_);
  return true;
}

// Copies values in an order in which operands precede their users: inputs, constants, then nodes in
// order.
Graph Graph::Clone() const {
  Graph copy(name_);
  copy.source_ = source_;
  copy.metadata_ = metadata_;
  copy.file_operators_ = file_operators_;
  copy.next_name_ = next_name_;
  // Maps the values of this graph to their copies.
  std::unordered_map<const Value*, Value*> map;
  const auto clone_value = [&](const Value* value) {
    Value* v = copy.NewValue(value->name_);
    v->type_ = value->type_;
    v->constant_ = value->constant_;
    v->is_input_ = value->is_input_;
    v->quantisation_ = value->quantisation_;
    map[value] = v;
    return v;
  };
  for (const Value* input : inputs_) copy.inputs_.push_back(clone_value(input));
  for (const Value* constant : Constants()) clone_value(constant);
  for (const auto& node : nodes_) {
    std::vector<Value*> operands;
    for (Value* operand : node->operands_)
      operands.push_back(operand == nullptr ? nullptr : map.at(operand));
    Node* n = copy.AddNode(node->op_, node->name_, std::move(operands), {}, node->attributes_);
    n->region_ = node->region_;
    for (Value* result : node->results_) {
      if (result == nullptr) {
        n->results_.push_back(nullptr);
        continue;
      }
      Value* r = clone_value(result);
      r->producer_ = n;
      n->results_.push_back(r);
    }
  }
  for (const Value* output : outputs_) copy.outputs_.push_back(map.at(output));
  return copy;
}

}  // namespace kiln
