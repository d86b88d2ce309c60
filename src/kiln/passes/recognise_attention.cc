// Implements recognise-attention: matches from the second product up to the first, then moves scale
// and transpose into the first product.
#include "kiln/passes/recognise_attention.h"

#include <cmath>
#include <utility>

#include "kiln/passes/data_movement.h"
#include "kiln/passes/pattern.h"
#include "kiln/passes/rewrite.h"

namespace kiln {
namespace {

// Returns the value below Mul and Div by scalar constants, each without another user; multiplies
// the constants into `scale` and adds the nodes' names to `names`.
Value* Unscaled(const Graph& graph, Value* value, double& scale, std::string& names) {
  while (value->producer() != nullptr && HasOneUse(graph, value) &&
         !value->quantisation().has_value()) {
    const Node& node = *value->producer();
    if (node.op() != Op::kMul && node.op() != Op::kDiv) break;
    Value* x = node.operand(0);
    std::optional<double> c = ScalarConstant(node.operand(1));
    if (!c.has_value() && node.op() == Op::kMul) {
      c = ScalarConstant(x);
      x = node.operand(1);
    }
    // A constant of higher rank would broadcast; a constant 0 would be divided by.
    if (!c.has_value() || *c == 0 || x->type() != value->type()) break;
    scale *= node.op() == Op::kMul ? *c : 1 / *c;
    names = JoinNames(node.name(), names);
    value = x;
  }
  return value;
}

Permutation SwapLastTwo(Permutation perm) {
  std::swap(perm[perm.size() - 2], perm[perm.size() - 1]);
  return perm;
}

// Moves the exchange of k's last two axes from a Transpose into transpose_b; a Transpose of the
// other axes remains if there is one. Returns true if the graph changed.
bool TakeInTranspose(Graph& g, Node& scores) {
  Value* k = scores.operand(1);
  Node* transpose = ProducedBy(k, Op::kTranspose);
  if (transpose == nullptr || k->quantisation().has_value()) return false;
  const auto perm = PermutationOf(*transpose);
  if (!perm.has_value() || perm->size() < 2) return false;
  // `rest` is the permutation that remains without the exchange; it must leave the last axis in
  // place.
  const Permutation rest = SwapLastTwo(*perm);
  const int64_t last = static_cast<int64_t>(perm->size()) - 1;
  if (rest.back() != last || perm->back() == last) return false;
  Value* straight = transpose->operand(0);
  if (!IsIdentity(rest)) {
    TensorType type = k->type();
    if (type.shape.has_value())
      std::swap((*type.shape)[static_cast<int>(last) - 1], (*type.shape)[static_cast<int>(last)]);
    Attributes attributes;
    attributes.Set("perm", rest);
    straight = InsertNode(g, &scores, Op::kTranspose, transpose->name(), {straight},
                          std::move(attributes), type)
                   ->result();
  } else {
    scores.set_name(JoinNames(transpose->name(), scores.name()));
  }
  g.SetOperand(&scores, 1, straight);
  scores.attributes().Set("transpose_b", 1 - scores.attributes().Int("transpose_b", 0));
  EraseUpwards(g, transpose);
  return true;
}

// Moves the scalar factors of q and k into alpha, and the transpose of k into transpose_b.
void Canonicalise(Graph& g, Node& scores, double scale) {
  std::string names;
  for (const int i : {0, 1}) {
    Value* operand = scores.operand(i);
    Value* plain = Unscaled(g, operand, scale, names);
    if (plain == operand) continue;
    Node* top = operand->producer();
    g.SetOperand(&scores, i, plain);
    EraseUpwards(g, top);
  }
  // A factor may also be hidden between the Transpose and the product.
  if (TakeInTranspose(g, scores)) {
    Value* operand = scores.operand(1);
    Value* plain = Unscaled(g, operand, scale, names);
    if (plain != operand) {
      Node* top = operand->producer();
      g.SetOperand(&scores, 1, plain);
      EraseUpwards(g, top);
    }
  }
  scores.set_name(JoinNames(names, scores.name()));
  const double alpha = double{scores.attributes().Float("alpha", 1.0f)} * scale;
  if (static_cast<float>(alpha) != scores.attributes().Float("alpha", 1.0f)) {
    scores.attributes().Set("alpha", static_cast<float>(alpha));
  }
}

// Returns true if a softmax normalises the last axis.
bool IsOverLastAxis(const Node& softmax) {
  const int rank = RankOf(softmax.operand(0));
  const int64_t axis = softmax.attributes().Int("axis", -1);
  return rank >= 2 && (axis == -1 || axis == rank - 1);
}

}  // namespace

StatusOr<Changed> RecogniseAttention::Run(Graph& graph, PassContext&) const {
  return ApplyRule(graph, [](Graph& g, Node& root) -> StatusOr<bool> {
    if (root.op() != Op::kMatMul || !root.region().empty()) return false;
    Node* softmax = ProducedBy(root.operand(0), Op::kSoftmax);
    if (softmax == nullptr || !IsOverLastAxis(*softmax) || !HasOneUse(g, root.operand(0)))
      return false;

    // Before the softmax: the scores, with or without a scale, and optionally an added mask.
    double scale = 1;
    std::string names;
    Value* masked = softmax->operand(0);
    Value* scaled = masked;
    Value* plain = Unscaled(g, scaled, scale, names);
    Node* mask = nullptr;
    if (ProducedBy(plain, Op::kMatMul) == nullptr) {
      mask = ProducedBy(masked, Op::kAdd);
      if (mask == nullptr || !HasOneUse(g, masked)) return false;
      for (Value* operand : mask->operands()) {
        scale = 1;
        names.clear();
        scaled = operand;
        plain = Unscaled(g, scaled, scale, names);
        if (ProducedBy(plain, Op::kMatMul) != nullptr) break;
      }
    }
    Node* scores = ProducedBy(plain, Op::kMatMul);
    if (scores == nullptr || !HasOneUse(g, plain) || !scores->region().empty()) return false;
    if (scaled != plain && plain->quantisation().has_value())
      return false;  // the scores are rounded before they are scaled

    if (scaled != plain) {
      scores->set_name(JoinNames(scores->name(), names));
      Replace(g, *scaled->producer(), plain);
    }
    Canonicalise(g, *scores, scale);
    const std::string region = "attention " + softmax->name();
    for (Node* node : {scores, mask, softmax, &root}) {
      if (node != nullptr) node->set_region(region);
    }
    return true;
  });
}

}  // namespace kiln
