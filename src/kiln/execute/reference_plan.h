// A graph planned for inputs of given shapes: which nodes run on fast kernels, which nodes are
// fused, and when memory is released. ReferenceExecutor builds one plan per set of input shapes.
#ifndef KILN_EXECUTE_REFERENCE_PLAN_H_
#define KILN_EXECUTE_REFERENCE_PLAN_H_

#include <memory>
#include <span>
#include <vector>

#include "kiln/execute/reference.h"
#include "kiln/execute/reference_fast.h"
#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"
#include "kiln/support/status.h"

namespace kiln::reference {

// An immutable plan; any number of threads may run it at once.
class Plan {
 public:
  // Builds a plan. The graph and the cache must outlive it. An observable plan fuses nothing, so
  // that every value of the graph is computed; the bits are the same.
  //   errors  those of shape inference on these input shapes
  static StatusOr<std::unique_ptr<Plan>> Build(const Graph& graph, std::span<const Shape> inputs,
                                               bool observable, WeightCache& weights);

  // Runs the plan and returns the graph's outputs. Inputs have the shapes for which the plan was
  // built; an observer requires an observable plan. Fast kernels use several threads if `parallel`
  // is set.
  StatusOr<std::vector<Tensor>> Run(std::span<const Tensor> inputs, bool parallel,
                                    const ValueObserver& observer) const;

 private:
  friend class PlanBuilder;

  // A value of the graph during a run.
  struct Slot {
    const Value* value = nullptr;
    bool is_constant = false;
    bool may_be_shared = false;  // a plain kernel reads it, and its results may be views of it
    Shape shape;                 // of results of fast nodes
  };
  // One node, or the nodes of a fusion.
  struct Step {
    const Node* node = nullptr;
    std::unique_ptr<FastNode> fast;      // null: EvaluateNode runs the step
    std::vector<int> operands, results;  // slots, -1 if absent; a fast node has one result
    int residual = -1;                   // slot that a fast node adds; -1: none
    bool is_observed = false;
    std::vector<int> done;  // slots that no later step reads
  };
  // The contents of a slot in one run.
  // Plans hold no data; a run's data is in its own vector of cells, one per slot.
  struct Cell {
    Tensor tensor;
    bool is_ours = false;  // allocated by this run, so a fast node may overwrite it
  };

  // Runs a fast step and stores its result in its cell.
  Status RunFast(const Step& step, bool parallel, std::vector<Cell>& cells) const;
  // Returns the tensor of a slot: a constant of the graph, or the cell's.
  const Tensor& TensorOf(int slot, const std::vector<Cell>& cells) const;

  std::vector<Slot> slots_;
  std::vector<Step> steps_;
  // Slots of the graph's inputs and outputs, in order.
  std::vector<int> inputs_, outputs_;
};

}  // namespace kiln::reference

#endif  // KILN_EXECUTE_REFERENCE_PLAN_H_
