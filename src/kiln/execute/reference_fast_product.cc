// Matrix products on fp32_gemm.h: elements of the left operand are broadcast, columns of the right
// operand are lanes.
#include <utility>

#include "kiln/execute/fp32_gemm.h"
#include "kiln/execute/reference_fast_nodes.h"

namespace kiln::reference {
namespace {

// A matrix product, or several with the same right-hand strides.
class ProductNode : public FastNode {
 public:
  ProductNode(FastProduct product, const PostOperations& post, const Value* right,
              WeightCache& weights)
      : p_(std::move(product)), post_(post), kernels_(Fp32KernelsOfProcessor()) {
    for (int64_t i = 0; i < p_.rows; ++i) rows_.push_back(i * p_.a_row);
    for (int64_t k = 0; k < p_.depth; ++k) {
      a_depth_.push_back(k * p_.a_depth);
      b_depth_.push_back(k * kernels_.columns);
    }
    // A plain matrix that many rows use is packed panel by panel while a run multiplies it. Any
    // other constant right operand is packed once per executor. With several matrices it is packed
    // per run. A matrix narrower than a panel is not packed so, because its panel would be larger
    // than the matrix itself.
    packs_panels_ = p_.matrices.size() == 1 && p_.rows >= kManyRows && p_.b_column == 1 &&
                    p_.columns >= kernels_.columns;
    if (packs_panels_) return;
    if (right != nullptr && right->is_constant() && p_.matrices.size() == 1) {
      packed_ =
          weights.Get(*right, {p_.depth, p_.columns, p_.b_depth, p_.b_column}, PanelElements(),
                      [&](float* to) { Pack(right->constant().data<float>().data(), to); });
    }
  }

  Status Run(std::span<const float* const> operands, const float* residual, float* result,
             bool parallel) const override {
    std::shared_ptr<void> own;
    if (packed_ == nullptr && !packs_panels_) {
      KILN_ASSIGN_OR_RETURN(own, AllocateBuffer(PanelElements() * sizeof(float)));
    }
    auto* const panels = static_cast<float*>(own.get());
    int64_t in_panels = -1;  // offset of the matrix that `panels` holds
    const float* bias = p_.has_bias ? operands[2] : nullptr;
    for (size_t i = 0; i < p_.matrices.size(); ++i) {
      const auto [a, b] = p_.matrices[i];
      // Consecutive products that share a right matrix pack it once.
      if (packed_ == nullptr && !packs_panels_ && in_panels != b) {
        Pack(operands[1] + b, panels);
        in_panels = b;
      }
      Fp32Product product;
      product.rows = p_.rows;
      product.columns = p_.columns;
      product.a = operands[0] + a;
      product.a_rows = rows_;
      product.a_depth = a_depth_;
      product.b = packed_ != nullptr ? packed_.get() : panels;
      if (packs_panels_) {
        product.b = operands[1] + b;
        product.plain_row = p_.b_depth;
      }
      product.b_depth = b_depth_;
      product.panel_stride = p_.depth * kernels_.columns;
      const int64_t base = static_cast<int64_t>(i) * p_.rows * p_.columns;
      // Rows and columns are independent sums, so parallel blocks do not change the bits.
      MultiplyFp32(kernels_, product, parallel,
                   [&](int64_t row, int64_t column, int64_t count, const float* sums) {
                     const int64_t at = base + row * p_.columns + column;
                     internal::Fp32Finish finish = FinishOf(post_, p_.alpha);
                     finish.count = count;
                     finish.sums = sums;
                     finish.column_bias = bias != nullptr ? bias + column : nullptr;
                     finish.residual = residual != nullptr ? residual + at : nullptr;
                     finish.out = result + at;
                     kernels_.finish(finish);
                   });
    }
    return OkStatus();
  }

 private:
  // Packing a panel then takes at most some percent of the time of its product.
  static constexpr int64_t kManyRows = 128;

  // Returns the floats of one packed right matrix.
  size_t PanelElements() const {
    return static_cast<size_t>(PackedSize(p_.depth, p_.columns, kernels_.columns));
  }
  // Packs one right matrix into panels.
  void Pack(const float* from, float* to) const {
    PackColumns(from, p_.depth, p_.columns, p_.b_depth, p_.b_column, kernels_.columns, to);
  }

  const FastProduct p_;
  const PostOperations post_;
  const internal::Fp32Kernels& kernels_;
  std::vector<int64_t> rows_, a_depth_, b_depth_;
  bool packs_panels_ = false;            // whether a run packs panels while it multiplies
  std::shared_ptr<const float> packed_;  // panels of the right operand; null if it is not constant
};

}  // namespace

std::unique_ptr<FastNode> MakeFastProduct(const Node& node, FastProduct product,
                                          const PostOperations& post, WeightCache& weights) {
  return std::make_unique<ProductNode>(std::move(product), post, node.operand(1), weights);
}

}  // namespace kiln::reference
