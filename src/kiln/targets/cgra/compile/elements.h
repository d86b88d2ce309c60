// Kernels of element-wise operators: one computation graph for a chain of nodes.
//
// Every node of a chain computes the codes of its own annotation, so a chain gives the bits of its
// nodes one by one:
//   sums          y = (x0 m0 + x1 m1 + ... + c) >> s, with the constants' parts added
//   products      y = ((x0 - z0) (x1 - z1) m + c) >> s
//   extrema       y = (max(x0 m0 + c0, x1 m1 + c1)) >> s
//   exponentials  exponential.h
//   functions     of one code: piecewise.h
// and then max(y, low), min(y, high). c contains half a code, so that the shift rounds to nearest,
// ties up.
#ifndef KILN_TARGETS_CGRA_COMPILE_ELEMENTS_H_
#define KILN_TARGETS_CGRA_COMPILE_ELEMENTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/support/status.h"
#include "kiln/targets/cgra/compile/graph_builder.h"
#include "kiln/targets/cgra/compile/kernel.h"
#include "kiln/targets/cgra/compile/value_codes.h"

namespace kiln::cgra {

// Returns whether a node computes each element of its result from one element of each operand.
bool IsElementwise(const Node& node);

// Returns which element of a tensor a lane of a thread has, where the tensor is broadcast to the
// shape `to` and threads take its elements in row-major order.
ElementIndex BroadcastIndex(const Shape& shape, const Shape& to, int64_t lanes);

// Appends the conversion of a value's codes to another annotation's codes. Error: a refusal, if
// the scales are so far apart that sums do not fit 32 bits.
StatusOr<int> AppendConversion(const ValueCodes& from, const ValueCodes& to, int value,
                               GraphBuilder* graph);

// The graph and the data of one chain.
class ElementChain {
 public:
  // All nodes of the chain have results of this shape.
  ElementChain(std::string_view name, Shape shape, int64_t lanes);

  // Appends a node, whose operands are results of the chain or values that are streamed in. Errors:
  // refusals, after which the chain is unusable.
  Status Append(const Node& node);
  // Returns the instructions so far, before multiplications and additions share any.
  int instructions() const { return graph_.instructions(); }
  // Returns the graph and the rest of the kernel, whose result is the last node's.
  ComputationGraph FinishGraph();
  MachineKernel FinishKernel(std::shared_ptr<const MappedGraph> mapped);

 private:
  struct Operand {
    int ref = 0;
    ValueCodes codes;
  };
  StatusOr<Operand> OperandOf(const Value& value);
  // Adds an input of constants: the numbers of a value times a factor, rounded.
  int ConstantsOf(const Value& value, const std::vector<double>& numbers, double factor);
  // Add what follows a sum that is 2^shift times the result.
  int Finish(int sum, int shift, int32_t low, int32_t high);
  Status AppendSum(const Node& node, const std::vector<double>& factors);
  Status AppendExtremum(const Node& node);
  Status AppendProduct(const Node& node);
  Status AppendScaledByConstant(const Node& node, int variable);
  Status AppendExponential(const Node& node);
  Status AppendFunction(const Node& node, int variable);

  const Shape shape_;
  const int64_t lanes_, elements_;
  GraphBuilder graph_;
  std::unordered_map<const Value*, Operand> refs_;
  std::vector<Buffer> buffers_;
  std::vector<Feed> feeds_;
  std::string node_name_;          // of the node that is appended
  const Value* result_ = nullptr;  // of the node that was appended last
};

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_COMPILE_ELEMENTS_H_
