// The two kinds of FastNode; only reference_fast.cc uses them.
#ifndef KILN_EXECUTE_REFERENCE_FAST_NODES_H_
#define KILN_EXECUTE_REFERENCE_FAST_NODES_H_

#include <memory>

#include "kiln/execute/reference_fast.h"
#include "kiln/ir/window.h"

namespace kiln::reference {

// What the epilogue of a product is, but for its sums, biases and places.
internal::Fp32Finish FinishOf(const PostOperations& post, float alpha);

// Whether the input with its padding, which attributes can make of any size, is small enough to be copied.
bool IsWithinBudget(const ConvGeometry& geometry);
// Requires IsWithinBudget.
std::unique_ptr<FastNode> MakeFastConvolution(const Node& node, const ConvGeometry& geometry,
                                              const PostOperations& post, WeightCache& weights);

// A product of matrices, one or many.
struct FastProduct {
  int64_t rows = 0, depth = 0, columns = 0;
  int64_t a_row = 0, a_depth = 0;     // strides of the left matrix, in elements
  int64_t b_depth = 0, b_column = 0;  // of the right one
  std::vector<std::pair<int64_t, int64_t>>
      matrices;  // first elements of the left and right matrix of each product
  float alpha = 1;
  bool has_bias = false;  // operand 2, one for each column
};
std::unique_ptr<FastNode> MakeFastProduct(const Node& node, FastProduct product,
                                          const PostOperations& post, WeightCache& weights);

}  // namespace kiln::reference

#endif  // KILN_EXECUTE_REFERENCE_FAST_NODES_H_
