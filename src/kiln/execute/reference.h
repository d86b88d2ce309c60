// The reference level: evaluates networks on real numbers, as ONNX defines them. Calibration,
// constant folding and the host's part of a compiled network run on it, and the tests of the
// families compare with it.
//
//   EvaluateNode       one operator on concrete tensors; plain loops, the oracle of everything else
//   ReferenceExecutor  a whole graph; fp32 convolutions and matrix products run on fast kernels
//                      (fp32_gemm.h)
//
// Floats are computed in their own type; fp16 and bf16 are computed in fp32 and rounded once at the
// end. Elementary functions are evaluated in binary64 (numerics/elementary.h) and rounded once.
// EvaluateNode computes long sums in binary64; the fast kernels compute each sum as one chain of
// fp32 fused multiply-adds. Integer arithmetic wraps. Results have the same bits on every processor
// and for any number of threads.
#ifndef KILN_EXECUTE_REFERENCE_H_
#define KILN_EXECUTE_REFERENCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "kiln/execute/run_batch.h"
#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"
#include "kiln/support/status.h"

namespace kiln {

// Evaluates one node of any operator in ir/operators.def and returns its results. `operands` are in
// the node's order, null if absent; types and shapes are taken from the tensors, never from the
// node's values. Results may share bytes with operands.
//   semantics  ONNX Operators.md at opset 21, with the additions noted in operators.def; QONNX for
//              its operators
//   errors     name the node: shapes, types or attributes that do not fit; results above 4 GiB;
//              integer division by zero; Unimplemented for types and modes without a kernel
StatusOr<std::vector<Tensor>> EvaluateNode(const Node& node,
                                           std::span<const Tensor* const> operands);

// Returns false for a row of operators.def that has no kernel yet; EvaluateNode then returns
// Unimplemented.
bool HasReferenceKernel(Op op);

// Receives a value of the graph and the tensor that it holds.
using ValueObserver = std::function<void(const Value&, const Tensor&)>;

// Evaluates a whole graph at the reference level. Safe to call from several threads at once.
class ReferenceExecutor {
 public:
  // Creates an executor. The graph must outlive it and must not change. Weights that the fast
  // kernels need in another layout are packed once; all others are used in place.
  //   errors  an operator without a kernel
  static StatusOr<std::unique_ptr<ReferenceExecutor>> Create(const Graph& graph);
  ~ReferenceExecutor();
  ReferenceExecutor(const ReferenceExecutor&) = delete;
  ReferenceExecutor& operator=(const ReferenceExecutor&) = delete;

  // Runs the graph on one tensor per graph input, in order, and returns one tensor per output.
  // Input shapes may differ from the declared ones wherever the graph's nodes allow it. An observer
  // receives the inputs and then every result in topological order; operators are then run one by
  // one, without fusion, which gives the same bits.
  //   errors  number or element type of the inputs; any error of EvaluateNode
  StatusOr<std::vector<Tensor>> Run(std::span<const Tensor> inputs,
                                    const ValueObserver& observer = {}) const;

  // Runs the graph once for each image: each input is [images, ...], of which every run sees a
  // slice [1, ...], or a slice without the axis of images where the tensor has one axis more than
  // the graph's input. Results are joined by BatchShape (ir/batch_shape.h): [1, ...] to [images,
  // ...], and what has no leading 1 along a new axis. Images run in parallel (run_batch.h).
  //   errors  as Run, for the lowest image that fails; inputs that differ in the number of images;
  //           outputs of strings, or of a shape that differs between images
  StatusOr<std::vector<Tensor>> RunBatch(std::span<const Tensor> inputs,
                                         const BatchProgress& progress = {}) const;
  // Runs the images of a batch one after the other, in order, for an observer of their values.
  // Results are not joined, so their shapes may differ.
  Status ObserveBatch(std::span<const Tensor> inputs, const ValueObserver& observer) const;

 private:
  // Hides the plans and packed weights (reference_plan.h) from users of this header.
  struct State;
  explicit ReferenceExecutor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kiln

#endif  // KILN_EXECUTE_REFERENCE_H_
