#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "fmt/format.h"
#include "kiln/execute/reference.h"
#include "kiln/support/parallel.h"

namespace kiln {
namespace {

// One node with its operands and results as slots of a run.
struct Step {
  const Node* node = nullptr;
  std::vector<int> operands;  // -1: absent
  std::vector<int> results;   // -1: nobody asked for it
  std::vector<int> done;      // slots whose last user this is
};

constexpr int kAbsent = -1;

// The first failure by image, whichever thread met it first.
class FirstError {
 public:
  void Report(int64_t image, const Status& status) {
    std::lock_guard lock(mutex_);
    if (image_ < 0 || image < image_) {
      image_ = image;
      status_ = status;
    }
  }
  bool ok() const {
    std::lock_guard lock(mutex_);
    return image_ < 0;
  }
  Status status() const {
    std::lock_guard lock(mutex_);
    return image_ < 0 ? OkStatus() : WithContext(fmt::format("image {}", image_), status_);
  }

 private:
  mutable std::mutex mutex_;
  int64_t image_ = -1;
  Status status_;
};

// Image i of a batch, as a view of [1, ...].
Tensor ImageOf(const Tensor& batch, int64_t i) {
  Shape shape = batch.shape();
  shape[0] = 1;
  const int64_t bytes = batch.num_bytes() / batch.shape()[0];
  return Tensor::View(batch.type(), std::move(shape), std::make_shared<Tensor>(batch), batch.bytes() + i * bytes);
}

}  // namespace

struct ReferenceExecutor::State {
  const Graph* graph = nullptr;
  std::vector<const Value*> slots;
  std::vector<int> inputs, outputs;
  std::vector<Step> steps;

  Status Error(std::string_view place, std::string_view fault, std::string_view remedy) const {
    return ErrorAt(graph->source(), place, fault, remedy);
  }
  Status CheckInputs(std::span<const Tensor> tensors, bool batch) const;
  StatusOr<std::vector<Tensor>> RunNodes(std::span<const Tensor> tensors, const ValueObserver& observer) const;
};

// Element types and shapes as the graph declares them; the leading dimension is free.
Status ReferenceExecutor::State::CheckInputs(std::span<const Tensor> tensors, bool batch) const {
  if (tensors.size() != inputs.size()) {
    return Error("", fmt::format("{} inputs given", tensors.size()),
                 fmt::format("the network takes {}", inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value& value = *slots[static_cast<size_t>(inputs[i])];
    const std::string place = "input '" + value.name() + "'";
    const Tensor& t = tensors[i];
    if (t.type() != value.element()) {
      return Error(place, fmt::format("holds {}", NameOf(t.type())),
                   fmt::format("it takes {}", NameOf(value.element())));
    }
    if (value.has_shape()) {
      bool fits = t.shape().rank() == value.shape().rank();
      for (int d = 1; fits && d < t.shape().rank(); ++d)
        fits = value.shape()[d] < 0 || value.shape()[d] == t.shape()[d];
      if (!fits) return Error(place, "is " + t.shape().ToString(), "it takes " + value.shape().ToString());
    }
    if (!batch) continue;
    if (t.shape().rank() == 0 || t.shape()[0] == 0 || t.type() == ElementType::kString) {
      return Error(place, fmt::format("is {} {}", NameOf(t.type()), t.shape().ToString()),
                   "its first axis counts images");
    }
    if (t.shape()[0] != tensors[0].shape()[0]) {
      return Error(place, fmt::format("holds {} images", t.shape()[0]),
                   fmt::format("the first input holds {}", tensors[0].shape()[0]));
    }
    if (value.has_shape() && value.shape()[0] > 1) {
      return Error(place, fmt::format("has a fixed batch of {}", value.shape()[0]), "export the network with batch 1");
    }
  }
  return OkStatus();
}

StatusOr<std::vector<Tensor>> ReferenceExecutor::State::RunNodes(std::span<const Tensor> tensors,
                                                                 const ValueObserver& observer) const {
  std::vector<std::optional<Tensor>> values(slots.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    values[static_cast<size_t>(inputs[i])] = tensors[i];
    if (observer) observer(*slots[static_cast<size_t>(inputs[i])], tensors[i]);
  }
  const auto tensor_of = [&](int slot) -> const Tensor* {
    if (slot == kAbsent) return nullptr;
    const Value& value = *slots[static_cast<size_t>(slot)];
    return value.is_constant() ? &value.constant() : &*values[static_cast<size_t>(slot)];
  };
  std::vector<const Tensor*> operands;
  for (const Step& step : steps) {
    operands.clear();
    for (int slot : step.operands) operands.push_back(tensor_of(slot));
    StatusOr<std::vector<Tensor>> results = EvaluateNode(*step.node, operands);
    if (!results.ok())
      return graph->source().empty() ? results.status() : WithContext(graph->source(), results.status());
    for (size_t i = 0; i < step.results.size(); ++i) {
      if (step.results[i] == kAbsent) continue;
      const size_t slot = static_cast<size_t>(step.results[i]);
      values[slot] = std::move((*results)[i]);
      if (observer) observer(*slots[slot], *values[slot]);
    }
    for (int slot : step.done) values[static_cast<size_t>(slot)].reset();
  }
  std::vector<Tensor> out;
  for (int slot : outputs) out.push_back(*tensor_of(slot));
  return out;
}

ReferenceExecutor::ReferenceExecutor(std::unique_ptr<State> state) : state_(std::move(state)) {}
ReferenceExecutor::~ReferenceExecutor() = default;

StatusOr<std::unique_ptr<ReferenceExecutor>> ReferenceExecutor::Create(const Graph& graph) {
  auto state = std::make_unique<State>();
  state->graph = &graph;
  std::unordered_map<const Value*, int> slot_of;
  for (const Value* value : graph.Values()) {
    slot_of.emplace(value, static_cast<int>(state->slots.size()));
    state->slots.push_back(value);
  }
  const auto slot = [&](const Value* value) { return value == nullptr ? kAbsent : slot_of.at(value); };
  for (const Value* value : graph.inputs()) state->inputs.push_back(slot(value));
  for (const Value* value : graph.outputs()) state->outputs.push_back(slot(value));
  std::vector<int> last_user(state->slots.size(), -1);
  for (const auto& node : graph.nodes()) {
    if (!HasReferenceKernel(node->op())) {
      return UnsupportedAt(graph.source(), node->Describe(), "the reference level has no kernel for it", "");
    }
    Step step{node.get(), {}, {}, {}};
    const int index = static_cast<int>(state->steps.size());
    for (const Value* operand : node->operands()) {
      step.operands.push_back(slot(operand));
      if (operand != nullptr) last_user[static_cast<size_t>(slot(operand))] = index;
    }
    for (const Value* result : node->results()) {
      step.results.push_back(slot(result));
      if (result != nullptr) last_user[static_cast<size_t>(slot(result))] = index;  // at least, if nobody uses it
    }
    state->steps.push_back(std::move(step));
  }
  for (int output : state->outputs) last_user[static_cast<size_t>(output)] = -1;
  for (size_t s = 0; s < last_user.size(); ++s) {
    if (last_user[s] >= 0) state->steps[static_cast<size_t>(last_user[s])].done.push_back(static_cast<int>(s));
  }
  return std::unique_ptr<ReferenceExecutor>(new ReferenceExecutor(std::move(state)));
}

StatusOr<std::vector<Tensor>> ReferenceExecutor::Run(std::span<const Tensor> inputs,
                                                     const ValueObserver& observer) const {
  KILN_RETURN_IF_ERROR(state_->CheckInputs(inputs, false));
  return state_->RunNodes(inputs, observer);
}

StatusOr<std::vector<Tensor>> ReferenceExecutor::RunBatch(std::span<const Tensor> inputs, const ValueObserver& observer,
                                                          const BatchProgress& progress) const {
  KILN_RETURN_IF_ERROR(state_->CheckInputs(inputs, true));
  if (inputs.empty()) return state_->Error("", "the network has no inputs", "a batch needs one");
  const int64_t images = inputs[0].shape()[0];
  std::mutex progress_mutex;
  int64_t done = 0;
  std::vector<Tensor> outputs;  // allocated once the first image has shown the shapes
  const auto run = [&](int64_t image) -> Status {
    std::vector<Tensor> slices;
    for (const Tensor& input : inputs) slices.push_back(ImageOf(input, image));
    KILN_ASSIGN_OR_RETURN(const std::vector<Tensor> results, state_->RunNodes(slices, observer));
    for (size_t i = 0; i < results.size(); ++i) {
      const Tensor& result = results[i];
      const std::string place = "output '" + state_->graph->outputs()[i]->name() + "'";
      if (image == 0) {
        Shape shape = result.shape();
        if (shape.rank() == 0 || shape[0] != 1 || result.type() == ElementType::kString) {
          return state_->Error(place, fmt::format("is {} {} for one image", NameOf(result.type()), shape.ToString()),
                               "results of a batch are joined along a leading axis of 1");
        }
        if (result.num_bytes() > (int64_t{1} << 36) / images) {
          return state_->Error(place, fmt::format("of {} images would exceed 64 GiB", images), "run smaller batches");
        }
        shape[0] = images;
        outputs.emplace_back(result.type(), shape);
      }
      Tensor& whole = outputs[i];
      if (result.type() != whole.type() || result.num_bytes() * images != whole.num_bytes()) {
        return state_->Error(place, "is " + result.shape().ToString() + ", another shape than for the first image",
                             "a batch needs results of one shape");
      }
      if (result.num_bytes() == 0) continue;
      std::memcpy(whole.mutable_bytes() + image * result.num_bytes(), result.bytes(),
                  static_cast<size_t>(result.num_bytes()));
    }
    if (progress) {
      std::lock_guard lock(progress_mutex);
      progress(++done, images);
    }
    return OkStatus();
  };
  if (Status first = run(0); !first.ok()) return WithContext("image 0", first);
  FirstError error;
  const auto run_range = [&](int64_t begin, int64_t end) {
    for (int64_t image = begin + 1; image < end + 1 && error.ok(); ++image) {
      if (Status status = run(image); !status.ok()) error.Report(image, status);
    }
  };
  if (observer) {
    run_range(0, images - 1);
  } else {
    ParallelFor(images - 1, 1, run_range);
  }
  KILN_RETURN_IF_ERROR(error.status());
  return outputs;
}

}  // namespace kiln
