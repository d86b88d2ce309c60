// Implements expand-einsum: multiplies the operands from left to right. Labels are the letters of
// the equation, numbered by ParseEinsum.
#include "kiln/passes/expand_einsum.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "kiln/ir/checked_math.h"
#include "kiln/ir/einsum.h"
#include "kiln/passes/rewrite.h"

namespace kiln {
namespace {

using Labels = std::vector<int>;

// Largest size, in elements, of an intermediate product, unless an operand or the result is larger.
// Einsum itself needs no intermediate storage.
constexpr int64_t kMostBetween = int64_t{1} << 26;

bool Has(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// A value whose axes are named by labels, in order.
struct Labelled {
  Value* value;
  Labels labels;
};

// Writes one Einsum out as nodes before `root`.
class Expander {
 public:
  Expander(Graph& graph, Node& root, EinsumEquation equation)
      : graph_(graph), root_(root), equation_(std::move(equation)) {}

  // Returns true if all intermediate products are small enough.
  bool IsBounded() const {
    int64_t most = std::max(kMostBetween, Size(equation_.result));
    for (const Labels& labels : equation_.operands) most = std::max(most, Size(labels));
    std::set<int> held(equation_.operands[0].begin(), equation_.operands[0].end());
    for (int i = 1; i < root_.num_operands(); ++i) {
      const Labels& right = equation_.operands[static_cast<size_t>(i)];
      held.insert(right.begin(), right.end());
      const std::set<int> needed = NeededAfter(i);
      std::erase_if(held, [&](int label) { return !needed.contains(label); });
      if (Size(Labels(held.begin(), held.end())) > most) return false;
    }
    return true;
  }

  // Inserts the nodes and returns the value of the whole Einsum.
  Value* Run() {
    Labelled left{root_.operand(0), equation_.operands[0]};
    for (int i = 1; i < root_.num_operands(); ++i) {
      const std::set<int> needed = NeededAfter(i);
      Labelled right{root_.operand(i), equation_.operands[static_cast<size_t>(i)]};
      // Labels that occur in one operand only, and are not needed later, are summed before the
      // product.
      left = Summed(left,
                    [&](int label) { return needed.contains(label) || Has(right.labels, label); });
      right = Summed(right,
                     [&](int label) { return needed.contains(label) || Has(left.labels, label); });
      left = Multiplied(left, right, needed);
    }
    left = Summed(left, [&](int label) { return Has(equation_.result, label); });
    return Ordered(left, equation_.result).value;
  }

 private:
  // Returns the labels of the result and of operands after the i-th: those that must survive.
  std::set<int> NeededAfter(int i) const {
    std::set<int> needed(equation_.result.begin(), equation_.result.end());
    for (size_t j = static_cast<size_t>(i) + 1; j < equation_.operands.size(); ++j) {
      needed.insert(equation_.operands[j].begin(), equation_.operands[j].end());
    }
    return needed;
  }

  int64_t Size(int label) const { return equation_.sizes[static_cast<size_t>(label)]; }
  int64_t Size(const Labels& labels) const {
    int64_t product = 1;
    for (int label : labels) product = SaturatingMul(product, Size(label));
    return product;
  }

  // Inserts a node named after the Einsum and returns its result.
  Value* Add(Op op, std::vector<Value*> operands, Attributes attributes,
             const std::vector<int64_t>& dims) {
    const TensorType type{root_.result()->element(), Shape(dims)};
    const std::string name =
        root_.name().empty() ? "" : root_.name() + "/" + std::to_string(++nodes_);
    Node* node =
        InsertNode(graph_, &root_, op, name, std::move(operands), std::move(attributes), type);
    node->set_region(root_.region());
    return node->result();
  }
  std::vector<int64_t> DimsOf(const Labels& labels) const {
    std::vector<int64_t> dims;
    for (int label : labels) dims.push_back(Size(label));
    return dims;
  }

  // Sums over the labels for which keep(label) is false.
  template <typename Keep>
  Labelled Summed(const Labelled& x, Keep keep) {
    std::vector<int64_t> axes;
    Labels kept;
    for (size_t i = 0; i < x.labels.size(); ++i) {
      if (keep(x.labels[i])) {
        kept.push_back(x.labels[i]);
      } else {
        axes.push_back(static_cast<int64_t>(i));
      }
    }
    if (axes.empty()) return x;
    Attributes attributes;
    attributes.Set("keepdims", int64_t{0});
    Value* list = AddIntConstant(graph_, root_.name() + ".axes", axes);
    return {Add(Op::kReduceSum, {x.value, list}, std::move(attributes), DimsOf(kept)), kept};
  }

  // Transposes a value to the given order of labels.
  Labelled Ordered(const Labelled& x, const Labels& order) {
    if (x.labels == order) return x;
    std::vector<int64_t> perm;
    for (int label : order)
      perm.push_back(std::find(x.labels.begin(), x.labels.end(), label) - x.labels.begin());
    Attributes attributes;
    attributes.Set("perm", perm);
    return {Add(Op::kTranspose, {x.value}, std::move(attributes), DimsOf(order)), order};
  }

  // Reshapes a value, unless it already has these dimensions.
  Value* Reshaped(Value* x, const std::vector<int64_t>& dims) {
    if (x->shape() == Shape(dims)) return x;
    return Add(Op::kReshape, {x, AddIntConstant(graph_, root_.name() + ".shape", dims)}, {}, dims);
  }

  // Multiplies two values and sums over the labels that both have and nothing else needs. The
  // labels fall into four classes: shared and needed (batch), only in a (left), only in b (right),
  // shared and summed (inner).
  Labelled Multiplied(const Labelled& a, const Labelled& b, const std::set<int>& needed) {
    Labels batch, left, inner, right;
    for (int label : a.labels) {
      (!Has(b.labels, label) ? left : needed.contains(label) ? batch : inner).push_back(label);
    }
    for (int label : b.labels) {
      if (!Has(a.labels, label)) right.push_back(label);
    }
    Labels result = batch;
    result.insert(result.end(), left.begin(), left.end());
    result.insert(result.end(), right.begin(), right.end());
    if (inner.empty()) return {Product(a, b, batch, left, right, result), result};
    const auto joined = [&](const Labels& first, const Labels& second) {
      std::vector<int64_t> dims = DimsOf(batch);
      dims.insert(dims.end(), {Size(first), Size(second)});
      return dims;
    };
    const auto order = [&](const Labels& first, const Labels& second) {
      Labels labels = batch;
      labels.insert(labels.end(), first.begin(), first.end());
      labels.insert(labels.end(), second.begin(), second.end());
      return labels;
    };
    // A matmul takes one axis per class, so several labels are joined by a reshape.
    Value* x = Reshaped(Ordered(a, order(left, inner)).value, joined(left, inner));
    Value* y = Reshaped(Ordered(b, order(inner, right)).value, joined(inner, right));
    Value* product = Add(Op::kMatMul, {x, y}, {}, joined(left, right));
    return {Reshaped(product, DimsOf(result)), result};
  }

  // Multiplies without a sum: both operands are reshaped to the result's axes, with 1 for missing
  // ones, so that Mul broadcasts them.
  Value* Product(const Labelled& a, const Labelled& b, const Labels& batch, const Labels& left,
                 const Labels& right, const Labels& result) {
    const auto aligned = [&](const Labelled& x, const Labels& own) {
      Labels order = batch;
      order.insert(order.end(), own.begin(), own.end());
      std::vector<int64_t> dims;
      for (int label : result) dims.push_back(Has(order, label) ? Size(label) : 1);
      return Reshaped(Ordered(x, order).value, dims);
    };
    return Add(Op::kMul, {aligned(a, left), aligned(b, right)}, {}, DimsOf(result));
  }

  Graph& graph_;
  Node& root_;
  EinsumEquation equation_;
  int nodes_ = 0;  // nodes inserted so far
};

// Returns the equation if it can be written out with these operators.
std::optional<EinsumEquation> Expandable(const Node& node) {
  if (node.op() != Op::kEinsum || node.result()->element() != ElementType::kFloat32)
    return std::nullopt;
  std::vector<Shape> shapes;
  for (const Value* operand : node.operands()) {
    if (!HasKnownShape(operand)) return std::nullopt;
    shapes.push_back(operand->shape());
  }
  auto equation = ParseEinsum(node.attributes().String("equation", ""), shapes);
  if (!equation.ok()) return std::nullopt;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Labels& labels = equation->operands[i];
    for (size_t axis = 0; axis < labels.size(); ++axis) {
      if (std::count(labels.begin(), labels.end(), labels[axis]) > 1) return std::nullopt;
      if (shapes[i][static_cast<int>(axis)] != equation->sizes[static_cast<size_t>(labels[axis])])
        return std::nullopt;
      if (shapes[i][static_cast<int>(axis)] == 0) return std::nullopt;
    }
  }
  // An axis of the result that no operand has (an ellipsis of a broadcast) would need an Expand.
  for (int label : equation->result) {
    const auto& operands = equation->operands;
    if (std::none_of(operands.begin(), operands.end(),
                     [&](const Labels& labels) { return Has(labels, label); })) {
      return std::nullopt;
    }
  }
  return *std::move(equation);
}

}  // namespace

StatusOr<Changed> ExpandEinsum::Run(Graph& graph, PassContext&) const {
  return ApplyRule(graph, [](Graph& g, Node& root) -> StatusOr<bool> {
    auto equation = Expandable(root);
    if (!equation.has_value()) return false;
    Expander expander(g, root, *std::move(equation));
    if (!expander.IsBounded()) return false;
    Value* value = expander.Run();
    // The root becomes an Identity that keeps the result's name and annotation, even if there was
    // nothing else to do.
    g.ReplaceNode(&root, Op::kIdentity, {value}, {});
    return true;
  });
}

}  // namespace kiln
