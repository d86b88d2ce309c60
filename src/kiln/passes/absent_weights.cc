// Implements absent_weights.h: decides from the uses of a graph input whether it is a weight, and
// draws its values.
#include "kiln/passes/absent_weights.h"

#include <algorithm>
#include <cmath>

#include "kiln/support/random.h"

namespace kiln {
namespace {

// What a value is used as: data, a weight or bias, or a parameter that must be positive (scales and
// variances).
enum class Role { kActivation, kWeight, kPositive };

// Returns what operand `i` is to a node.
Role RoleOf(const Node& node, int i) {
  switch (node.op()) {
    case Op::kConv:
    case Op::kConvTranspose:
    case Op::kGemm:
    case Op::kPRelu:
      return i >= 1 ? Role::kWeight : Role::kActivation;
    // A rank-2 right operand has no batch axis, so it is a weight matrix; with a batch axis it may
    // be an activation.
    case Op::kMatMul: {
      const Value& operand = *node.operand(i);
      return i == 1 && operand.has_shape() && operand.shape().rank() == 2 ? Role::kWeight
                                                                          : Role::kActivation;
    }
    case Op::kBatchNormalization:
      return i == 1 || i == 4 ? Role::kPositive : i >= 2 ? Role::kWeight : Role::kActivation;
    case Op::kLayerNormalization:
    case Op::kRmsNormalization:
    case Op::kInstanceNormalization:
    case Op::kGroupNormalization:
      return i == 1 ? Role::kPositive : i >= 2 ? Role::kWeight : Role::kActivation;
    // A vector added to a value with more axes is a bias.
    case Op::kAdd: {
      const Value &operand = *node.operand(i), &other = *node.operand(1 - i);
      return operand.has_shape() && other.has_shape() && operand.shape().rank() == 1 &&
                     other.shape().rank() > 1
                 ? Role::kWeight
                 : Role::kActivation;
    }
    default:
      return Role::kActivation;
  }
}

// Returns what all uses of a value agree on; kActivation if they differ or the value has no use.
Role RoleOf(const Value& value) {
  std::vector<Role> roles;
  for (const Node* user : value.users()) {
    for (int i = 0; i < user->num_operands(); ++i) {
      if (user->operand(i) != &value) continue;
      // These nodes only move the value, so the uses of their result count.
      const bool moves = i == 0 && (user->op() == Op::kIdentity || user->op() == Op::kReshape ||
                                    user->op() == Op::kTranspose);
      roles.push_back(moves ? RoleOf(*user->result()) : RoleOf(*user, i));
    }
  }
  if (roles.empty()) return Role::kActivation;
  return std::all_of(roles.begin(), roles.end(), [&](Role r) { return r == roles[0]; })
             ? roles[0]
             : Role::kActivation;
}

}  // namespace

std::vector<std::string> BindAbsentWeights(Graph& graph, uint64_t seed) {
  std::vector<std::string> bound;
  const std::vector<Value*> inputs = graph.inputs();
  for (size_t n = 1; n < inputs.size(); ++n) {
    Value* input = inputs[n];
    const Role role = RoleOf(*input);
    if (role == Role::kActivation || input->element() != ElementType::kFloat32 ||
        !input->has_shape())
      continue;
    if (!CheckedNumElements(input->shape()).has_value()) continue;
    Tensor tensor(ElementType::kFloat32, input->shape());
    // Uniform values within +-sqrt(3 / fan-in) have variance 1 / fan-in, which keeps the variance
    // of activations through a layer. A vector gets the fan-in 100.
    const int64_t fan_in = input->shape().rank() > 1
                               ? tensor.size() / std::max<int64_t>(input->shape()[0], 1)
                               : int64_t{100};
    const double limit = std::sqrt(3.0 / static_cast<double>(std::max<int64_t>(fan_in, 1)));
    Random random(seed * 1000003 + n);
    for (float& value : tensor.data<float>()) {
      value = static_cast<float>(role == Role::kPositive ? random.Uniform(0.5, 1.5)
                                                         : random.Uniform(-limit, limit));
    }
    bound.push_back(input->name());
    graph.BindInput(input, std::move(tensor));
  }
  return bound;
}

}  // namespace kiln
