// The reference level: networks on real numbers, as ONNX defines them.
//
//   EvaluateNode       one operator on concrete tensors; plain loops, the oracle of everything else
//   ReferenceExecutor  a whole graph; convolutions and matrix products of fp32 run on fast kernels (fp32_gemm.h)
//
// Floats are computed in their own type, fp16 and bf16 in fp32 with one rounding at the end. Elementary functions are
// evaluated in binary64 (numerics/elementary.h) and rounded once; EvaluateNode takes long sums in binary64, the fast
// kernels take each sum as one chain of fp32 multiply-adds. Integer arithmetic wraps. Results are the same bits on
// every processor and for any number of threads.
#ifndef KILN_EXECUTE_REFERENCE_H_
#define KILN_EXECUTE_REFERENCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"
#include "kiln/support/status.h"

namespace kiln {

// Evaluates one node of any operator in ir/operators.def. `operands` stand in the node's order, null for absent; their
// types and shapes are taken from the tensors, never from the node's values. Results may share bytes with operands and
// are as many as the node's.
//   semantics  ONNX Operators.md at opset 21, with the additions noted in operators.def; QONNX for its operators
//   errors     name the node: shapes, types or attributes that do not fit, results above 4 GiB, integer division by
//              zero; Unimplemented for types and modes that have no kernel
StatusOr<std::vector<Tensor>> EvaluateNode(const Node& node,
                                           std::span<const Tensor* const> operands);

// False for a row of operators.def that still lacks a kernel; EvaluateNode answers Unimplemented for it.
bool HasReferenceKernel(Op op);

// Sees a value of the graph and the tensor it holds.
using ValueObserver = std::function<void(const Value&, const Tensor&)>;
// Sees how many images of how many are done; called from one thread at a time.
using BatchProgress = std::function<void(int64_t done, int64_t total)>;

class ReferenceExecutor {
 public:
  // The graph must outlive the executor and not change under it. Weights that the fast kernels need in another layout
  // are packed once; the rest are used in place.
  //   errors  an operator without a kernel
  static StatusOr<std::unique_ptr<ReferenceExecutor>> Create(const Graph& graph);
  ~ReferenceExecutor();
  ReferenceExecutor(const ReferenceExecutor&) = delete;
  ReferenceExecutor& operator=(const ReferenceExecutor&) = delete;

  // Runs the graph on one tensor for each graph input, in order, and returns one for each output. Inputs may have other
  // shapes than the graph declares wherever its nodes allow that.
  // An observer sees the inputs and every result in topological order; operators are then run one by one, without
  // fusion.
  //   errors  number or element type of inputs; whatever EvaluateNode reports
  StatusOr<std::vector<Tensor>> Run(std::span<const Tensor> inputs,
                                    const ValueObserver& observer = {}) const;

  // Runs the graph once for each image: each input is [images, ...], of which every run sees a slice [1, ...], or a
  // slice without the axis of images where the tensor has one axis more than the graph's input. Results are joined by
  // BatchShape (ir/batch_shape.h): [1, ...] to [images, ...], and what has no leading 1 along a new axis. Images run in
  // parallel (support/parallel.h); with an observer they run one after the other, in order.
  //   errors  as Run; inputs that differ in the number of images; outputs of strings, or whose shape differs between
  //   images
  StatusOr<std::vector<Tensor>> RunBatch(std::span<const Tensor> inputs,
                                         const ValueObserver& observer = {},
                                         const BatchProgress& progress = {}) const;
  // As RunBatch with an observer, for what it sees alone: results are not joined, so their shapes may differ.
  Status ObserveBatch(std::span<const Tensor> inputs, const ValueObserver& observer) const;

 private:
  struct State;
  explicit ReferenceExecutor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kiln

#endif  // KILN_EXECUTE_REFERENCE_H_
