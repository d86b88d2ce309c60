// The two kinds of FastNode, convolutions and products. Only reference_fast.cc and the files that
// implement them include it.
#ifndef KILN_EXECUTE_REFERENCE_FAST_NODES_H_
#define KILN_EXECUTE_REFERENCE_FAST_NODES_H_

#include <memory>

#include "kiln/execute/reference_fast.h"
#include "kiln/ir/window.h"

namespace kiln::reference {

// Returns the epilogue of a node without its pointers and counts.
internal::Fp32Finish FinishOf(const PostOperations& post, float alpha);

// Returns true if the padded input is small enough to copy. Attributes can make the padding
// arbitrarily large, so a model must not decide this unchecked.
bool IsWithinBudget(const ConvGeometry& geometry);
// Creates a convolution. Requires IsWithinBudget(geometry).
std::unique_ptr<FastNode> MakeFastConvolution(const Node& node, const ConvGeometry& geometry,
                                              const PostOperations& post, WeightCache& weights);

// One matrix product, or several of the same shape.
struct FastProduct {
  int64_t rows = 0, depth = 0, columns = 0;
  int64_t a_row = 0, a_depth = 0;     // strides of the left matrix, in elements
  int64_t b_depth = 0, b_column = 0;  // strides of the right matrix
  // Offsets of the first elements of the left and right matrix of each product.
  std::vector<std::pair<int64_t, int64_t>> matrices;
  float alpha = 1;
  bool has_bias = false;  // operand 2 holds one bias per column
};
// Creates a product node. Packs a constant right operand once.
std::unique_ptr<FastNode> MakeFastProduct(const Node& node, FastProduct product,
                                          const PostOperations& post, WeightCache& weights);

}  // namespace kiln::reference

#endif  // KILN_EXECUTE_REFERENCE_FAST_NODES_H_
