// Implements canonicalise-linear: one rule each for Gemm, MatMul, the bias's Add, and Transposes of
// quantised weights.
#include "kiln/passes/canonicalise_linear.h"

#include "kiln/passes/data_movement.h"
#include "kiln/passes/quantiser.h"
#include "kiln/passes/rewrite.h"

namespace kiln {
namespace {

// Returns the tensor times `by`, each element rounded to fp32.
Tensor Scaled(const Tensor& tensor, float by) {
  std::vector<float> values = tensor.ToFloats();
  for (float& v : values) v *= by;
  return Tensor::Of<float>(tensor.shape(), values);
}

// Returns true for fp32 values and for absent operands.
bool IsFloat32(const Value* value) {
  return value == nullptr || value->element() == ElementType::kFloat32;
}

// Folds alpha and transpose_b of a MatMul into a constant right operand; removes attributes that
// have their default values.
bool FoldAttributes(Graph& g, Node& root) {
  bool changed = false;
  for (const char* name : {"alpha", "transpose_b"}) {
    const bool is_default = root.attributes().Float("alpha", 1.0f) == 1.0f && name[0] == 'a';
    const bool is_straight = root.attributes().Int("transpose_b", 0) == 0 && name[0] == 't';
    if (root.attributes().Has(name) && (is_default || is_straight)) {
      root.attributes().Remove(name);
      changed = true;
    }
  }
  const Tensor* b = FloatConstant(root.operand(1));
  if (b == nullptr || b->shape().rank() < 2 || root.attributes().size() == 0) return changed;
  std::optional<Quantisation> annotation = root.operand(1)->quantisation();
  // Codes may be transposed, but scaling would change the values that they represent, and a
  // transpose would break up blocks.
  if (annotation.has_value() &&
      (root.attributes().Has("alpha") || annotation->type.scheme == Scheme::kPerBlock)) {
    return changed;
  }
  Tensor weights = *b;
  if (root.attributes().Int("transpose_b", 0) != 0) {
    Permutation perm;
    for (int i = 0; i < weights.shape().rank(); ++i) perm.push_back(i);
    std::swap(perm[perm.size() - 2], perm[perm.size() - 1]);
    weights = TransposeTensor(weights, perm);
    annotation = Permuted(std::move(annotation), perm);
    root.attributes().Remove("transpose_b");
  }
  if (const float alpha = root.attributes().Float("alpha", 1.0f); alpha != 1.0f) {
    weights = Scaled(weights, alpha);
    root.attributes().Remove("alpha");
  }
  SetConstantOperand(g, root, 1, std::move(weights));
  root.operand(1)->set_quantisation(std::move(annotation));
  return true;
}

// Splits a Gemm, alpha * op(a) * op(b) + beta * c, into MatMul and Add.
bool SplitGemm(Graph& g, Node& gemm) {
  Value* a = gemm.operand(0);
  Value* b = gemm.operand(1);
  Value* c = gemm.operand(2);
  if (!IsFloat32(a) || !IsFloat32(b) || !IsFloat32(c)) return false;
  const float alpha = gemm.attributes().Float("alpha", 1.0f),
              beta = gemm.attributes().Float("beta", 1.0f);
  const TensorType type = gemm.result()->type();
  const std::string name = gemm.name(), region = gemm.region();
  // MatMul has no transpose of its first operand.
  if (gemm.attributes().Int("transA", 0) != 0) {
    TensorType turned = a->type();
    if (turned.shape.has_value()) turned.shape = Permute(*turned.shape, {1, 0});
    Attributes swap;
    swap.Set("perm", Permutation{1, 0});
    a = InsertNode(g, &gemm, Op::kTranspose, name, {a}, std::move(swap), turned)->result();
  }
  Attributes product;
  if (gemm.attributes().Int("transB", 0) != 0) product.Set("transpose_b", int64_t{1});
  if (alpha != 1.0f) product.Set("alpha", alpha);
  // Without a bias the Gemm becomes a single MatMul under its own name.
  if (c == nullptr || beta == 0) {
    g.ReplaceNode(&gemm, Op::kMatMul, {a, b}, std::move(product));
    FoldAttributes(g, gemm);
    return true;
  }
  Node* matmul = InsertNode(g, &gemm, Op::kMatMul, name, {a, b}, std::move(product), type);
  matmul->set_region(region);
  const Tensor* constant = FloatConstant(c);
  if (beta != 1.0f && constant == nullptr) {
    Value* factor = g.AddConstant(name + ".beta", Tensor::Scalar(beta));
    c = InsertNode(g, &gemm, Op::kMul, name, {c, factor}, {}, c->type())->result();
  }
  g.ReplaceNode(&gemm, Op::kAdd, {matmul->result(), c}, {});
  if (beta != 1.0f && constant != nullptr) SetConstantOperand(g, gemm, 1, Scaled(*constant, beta));
  FoldAttributes(g, *matmul);  // the MatMul is now the only user of the weights
  return true;
}

// Brings the bias of matmul + bias into second position and into the shape [out].
bool StraightenBias(Graph& g, Node& add) {
  for (const int i : {0, 1}) {
    const Node* matmul = ProducedBy(add.operand(i), Op::kMatMul);
    const Tensor* bias = FloatConstant(add.operand(1 - i));
    const Tensor* weights = matmul == nullptr ? nullptr : FloatConstant(matmul->operand(1));
    if (weights == nullptr || bias == nullptr || weights->shape().rank() != 2) continue;
    bool changed = false;
    if (i == 1) {
      Value* product = add.operand(1);
      Value* constant = add.operand(0);
      g.SetOperand(&add, 0, product);
      g.SetOperand(&add, 1, constant);
      changed = true;
    }
    const int64_t columns = weights->shape()[1];
    const int rank = RankOf(matmul->operand(0));
    const bool is_row = bias->size() == 1 || (bias->size() == columns &&
                                              bias->shape()[bias->shape().rank() - 1] == columns);
    if (rank < 2 || bias->shape().rank() > rank || !is_row || bias->shape() == Shape{columns})
      return changed;
    std::vector<float> row = bias->ToFloats();
    // A bias of one element is repeated for every column.
    row.resize(static_cast<size_t>(columns), row[0]);
    SetConstantOperand(g, add, 1, Tensor::Of<float>(Shape{columns}, row));
    return true;
  }
  return false;
}

// Moves the factor of a product of two activations into alpha where the result is annotated, as
// recognise-attention does it where the result is not rounded.
bool FactorIntoProduct(Graph& g, Node& mul) {
  if (!mul.result()->quantisation().has_value()) return false;
  for (const int i : {0, 1}) {
    Node* matmul = ProducedBy(mul.operand(i), Op::kMatMul);
    const std::optional<double> factor = ScalarConstant(mul.operand(1 - i));
    if (matmul == nullptr || !factor.has_value()) continue;
    const Value* product = matmul->result();
    if (matmul->operand(0)->is_constant() || matmul->operand(1)->is_constant() ||
        product->quantisation().has_value() || !HasOneUse(g, product) ||
        product->type() != mul.result()->type() || !IsFloat32(product)) {
      return false;
    }
    Attributes attributes = matmul->attributes();
    attributes.Set("alpha", static_cast<float>(attributes.Float("alpha", 1.0f) * *factor));
    mul.set_name(JoinNames(matmul->name(), mul.name()));
    g.ReplaceNode(&mul, Op::kMatMul, matmul->operands(), std::move(attributes));
    EraseUpwards(g, matmul);
    return true;
  }
  return false;
}

// Moves a Transpose above a per-tensor quantiser onto its constant, transpose(quant(constant)) =>
// quant(transposed constant), so that the right operands of quantised networks are [in, out] as
// well.
bool TransposeBelowQuantiser(Graph& g, Node& transpose) {
  Node* quant = transpose.operand(0)->producer();
  if (quant == nullptr || !HasOneUse(g, quant->result()) || quant->num_results() != 1) return false;
  if (quant->op() != Op::kQuant && quant->op() != Op::kBipolarQuant &&
      quant->op() != Op::kDequantizeLinear)
    return false;
  const Value* codes = quant->operand(0);
  const auto perm = PermutationOf(transpose);
  if (!codes->is_constant() || codes->quantisation().has_value() || !perm.has_value()) return false;
  if (codes->shape().rank() != static_cast<int>(perm->size())) return false;
  for (int i = 1; i < quant->num_operands(); ++i) {
    const Value* setting = quant->operand(i);
    if (setting != nullptr && (!setting->is_constant() || setting->constant().size() != 1))
      return false;
    if (setting != nullptr && RankOf(setting) > codes->shape().rank()) return false;
  }
  if (!CanReplace(g, transpose.result(), quant->result())) return false;
  SetConstantOperand(g, *quant, 0, TransposeTensor(codes->constant(), *perm));
  g.SetType(quant->result(), transpose.result()->type());
  quant->set_name(JoinNames(quant->name(), transpose.name()));
  Replace(g, transpose, quant->result());
  return true;
}

}  // namespace

StatusOr<Changed> CanonicaliseLinear::Run(Graph& graph, PassContext&) const {
  return ApplyRule(graph, [](Graph& g, Node& root) -> StatusOr<bool> {
    switch (root.op()) {
      case Op::kGemm:
        return SplitGemm(g, root);
      case Op::kMatMul:
        return FoldAttributes(g, root);
      case Op::kAdd:
        return StraightenBias(g, root);
      case Op::kMul:
        return FactorIntoProduct(g, root);
      case Op::kTranspose:
        return TransposeBelowQuantiser(g, root);
      default:
        return false;
    }
  });
}

}  // namespace kiln
