// A graph planned for inputs of given shapes: which nodes run on fast kernels, what is fused, and when memory goes
// back. Built once, run from any number of threads at a time.
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

class Plan {
 public:
  // The graph and the cache must outlive the plan.
  //   errors  what shape inference finds wrong with these input shapes
  // An observable plan fuses nothing, so that every value of the graph comes about; the bits are the same.
  static StatusOr<std::unique_ptr<Plan>> Build(const Graph& graph, std::span<const Shape> inputs,
                                               bool observable, WeightCache& weights);

  // The graph's outputs. Inputs have the shapes that the plan was built for; an observer takes an observable plan. Fast
  // kernels use several threads where `parallel` is set.
  StatusOr<std::vector<Tensor>> Run(std::span<const Tensor> inputs, bool parallel,
                                    const ValueObserver& observer) const;

 private:
  friend class PlanBuilder;

  struct Slot {
    const Value* value = nullptr;
    bool is_constant = false;
    bool may_be_shared = false;  // a plain kernel reads it, whose results may be views of it
    Shape shape;                 // of a result of a fast node
  };
  struct Step {
    const Node* node = nullptr;
    std::unique_ptr<FastNode> fast;      // or null: EvaluateNode
    std::vector<int> operands, results;  // slots, -1 absent; a fast node has one result
    int residual = -1;                   // slot that a fast node adds
    bool is_observed = false;
    std::vector<int> done;
  };
  struct Cell {
    Tensor tensor;
    bool is_ours = false;  // memory of this run, which a fast node may overwrite
  };

  Status RunFast(const Step& step, bool parallel, std::vector<Cell>& cells) const;
  const Tensor& TensorOf(int slot, const std::vector<Cell>& cells) const;

  std::vector<Slot> slots_;
  std::vector<Step> steps_;
  std::vector<int> inputs_, outputs_;
};

}  // namespace kiln::reference

#endif  // KILN_EXECUTE_REFERENCE_PLAN_H_
