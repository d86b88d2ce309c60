// A graph planned for inputs of given shapes: what runs on oneDNN, what is fused, in which layout values stand, and
// when memory goes back. Built once, run from any number of threads at a time.
#ifndef KILN_EXECUTE_REFERENCE_PLAN_H_
#define KILN_EXECUTE_REFERENCE_PLAN_H_

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "kiln/execute/reference.h"
#include "kiln/execute/reference_onednn.h"
#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"
#include "kiln/support/status.h"

namespace kiln::reference {

// Constants in layouts of oneDNN's choice, shared by the plans of one executor.
class WeightCache {
 public:
  // The bytes of a constant, which stand as `from`, reordered to `to`.
  std::shared_ptr<const void> Get(const Value& constant, const dnnl::memory::desc& from, const dnnl::memory::desc& to);

 private:
  struct Entry {
    dnnl::memory::desc desc;
    std::shared_ptr<const void> bytes;
  };
  std::unordered_map<const Value*, std::vector<Entry>> entries_;
};

class Plan {
 public:
  // Builds under the number of OpenMP threads in force, under which the plan must also run. The graph must outlive it.
  //   errors  what shape inference finds wrong with these input shapes
  // An observable plan fuses nothing, so that every value of the graph comes about.
  static StatusOr<std::unique_ptr<Plan>> Build(const Graph& graph, std::span<const Shape> inputs, bool observable,
                                               WeightCache& weights);

  // The graph's outputs. Inputs have the shapes that the plan was built for; an observer takes an observable plan.
  StatusOr<std::vector<Tensor>> Run(std::span<const Tensor> inputs, const ValueObserver& observer) const;

 private:
  friend class PlanBuilder;

  // A value in one layout. Row-major ones ("plain") are what kernels read and write.
  struct Slot {
    const Value* value = nullptr;
    bool is_plain = true;
    bool is_constant = false;
    bool may_be_shared = false;          // a kernel reads it, whose results may be views of it
    Shape shape;                         // of a plain slot that oneDNN writes
    dnnl::memory::desc layout;           // of a slot that is not plain
    std::shared_ptr<const void> weight;  // a constant in another layout
  };
  struct Input {
    int argument = 0;
    int slot = 0;
    dnnl::memory::desc desc;
  };
  struct Step {
    const Node* node = nullptr;  // of a kernel step, or for messages
    bool is_kernel = true;
    std::vector<int> operands, results;  // kernel: slots, -1 absent
    dnnl::primitive primitive;
    std::vector<Input> inputs;
    dnnl::memory::desc result_desc;
    int residual = -1;          // slot whose numbers the result starts from
    std::vector<int> observed;  // plain slots of the values that have come about
    std::vector<int> done;
  };

  std::vector<Slot> slots_;
  std::vector<Step> steps_;
  std::vector<int> inputs_, outputs_;
  size_t scratchpad_bytes_ = 0;
};

}  // namespace kiln::reference

#endif  // KILN_EXECUTE_REFERENCE_PLAN_H_
