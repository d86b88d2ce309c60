// The pass recognise-attention, the last of the pattern passes in StandardPipeline. The region that
// it assigns marks the nodes that belong together; the text form of graphs shows it.
#ifndef KILN_PASSES_RECOGNISE_ATTENTION_H_
#define KILN_PASSES_RECOGNISE_ATTENTION_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Finds scaled dot-product attention, softmax(q k^T * s + mask) v, and gives it one form: the
// transpose of k and the scale become attributes of the first product, and all its nodes get the
// region "attention <name of the softmax>". The graph keeps explicit operators.
//   %1 = transpose %k {perm=[0, 1, 3, 2]}   %2 = matmul %q, %1   %3 = div %2, %c   %4 = softmax %3
//   %5 = matmul %4, %v
//     =>   %3 = matmul %q, %k {alpha=1/c, transpose_b=1}   %4 = softmax %3   %5 = matmul %4, %v
// The scale may be applied before or after the product, to q, to k or to both. The mask is any
// operand of an Add. A Transpose that does more than exchange the last two axes keeps the rest.
//   source  Vaswani et al.: "Attention is all you need", arXiv 1706.03762, equation 1
class RecogniseAttention final : public Pass {
 public:
  static constexpr std::string_view kName = "recognise-attention";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_RECOGNISE_ATTENTION_H_
