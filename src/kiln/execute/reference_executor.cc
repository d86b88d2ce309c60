#include <algorithm>
#include <cstring>
#include <mutex>

#include "fmt/format.h"
#include "kiln/execute/reference.h"
#include "kiln/execute/reference_plan.h"
#include "kiln/ir/batch_shape.h"
#include "kiln/support/parallel.h"

namespace kiln {
namespace {

constexpr size_t kMaxPlans = 4;  // input shapes that are remembered

// The failure of the lowest image that has one, whichever thread met it first.
class FirstError {
 public:
  void Report(int64_t image, const Status& status) {
    std::lock_guard lock(mutex_);
    if (image_ < 0 || image < image_) {
      image_ = image;
      status_ = status;
    }
  }
  // Whether the failure of an image would be the first: no lower image has failed.
  bool CouldBeFirst(int64_t image) const {
    std::lock_guard lock(mutex_);
    return image_ < 0 || image < image_;
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

// Whether a tensor of a batch has an axis of images that the graph's input lacks.
bool HasExtraAxis(const Tensor& batch, const Value& input) {
  return input.has_shape() && batch.shape().rank() == input.shape().rank() + 1;
}

// Image i of a batch, as a view of [1, ...], or of [...] where the graph's input has no axis of images.
Tensor ImageOf(const Tensor& batch, const Value& input, int64_t i) {
  std::vector<int64_t> dims = batch.shape().dims();
  if (HasExtraAxis(batch, input)) {
    dims.erase(dims.begin());
  } else {
    dims[0] = 1;
  }
  Shape shape(std::move(dims));
  const int64_t bytes = batch.num_bytes() / batch.shape()[0];
  return Tensor::View(batch.type(), std::move(shape), std::make_shared<Tensor>(batch),
                      batch.bytes() + i * bytes);
}

}  // namespace

struct ReferenceExecutor::State {
  const Graph* graph = nullptr;

  Status Error(std::string_view place, std::string_view fault, std::string_view remedy) const {
    return ErrorAt(graph->source(), place, fault, remedy);
  }
  Status CheckInputs(std::span<const Tensor> tensors, bool batch) const;
  // Runs on a plan for these input shapes, made when first asked for.
  StatusOr<std::vector<Tensor>> Run(std::span<const Tensor> tensors, bool parallel,
                                    const ValueObserver& observer) const;
  StatusOr<std::shared_ptr<const reference::Plan>> PlanFor(std::vector<Shape> shapes,
                                                           bool observable) const;

  struct CachedPlan {
    std::vector<Shape> shapes;
    bool observable = false;
    std::shared_ptr<const reference::Plan> plan;
  };
  mutable std::mutex mutex;  // of what follows
  mutable std::vector<CachedPlan> plans;
  mutable reference::WeightCache weights;
};

StatusOr<std::shared_ptr<const reference::Plan>> ReferenceExecutor::State::PlanFor(
    std::vector<Shape> shapes, bool observable) const {
  std::lock_guard lock(mutex);
  for (const CachedPlan& cached : plans) {
    if (cached.observable == observable && cached.shapes == shapes) return cached.plan;
  }
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<reference::Plan> plan,
                        reference::Plan::Build(*graph, shapes, observable, weights));
  if (plans.size() == kMaxPlans) plans.erase(plans.begin());
  plans.push_back({std::move(shapes), observable, std::move(plan)});
  return plans.back().plan;
}

StatusOr<std::vector<Tensor>> ReferenceExecutor::State::Run(std::span<const Tensor> tensors,
                                                            bool parallel,
                                                            const ValueObserver& observer) const {
  std::vector<Shape> shapes;
  for (const Tensor& t : tensors) shapes.push_back(t.shape());
  const bool observable = static_cast<bool>(observer);
  KILN_ASSIGN_OR_RETURN(const std::shared_ptr<const reference::Plan> plan,
                        PlanFor(std::move(shapes), observable));
  StatusOr<std::vector<Tensor>> results = plan->Run(tensors, parallel, observer);
  if (!results.ok() && !graph->source().empty())
    return WithContext(graph->source(), results.status());
  return results;
}

// Element types and shapes as the graph declares them; the leading dimension is free.
Status ReferenceExecutor::State::CheckInputs(std::span<const Tensor> tensors, bool batch) const {
  if (tensors.size() != graph->inputs().size()) {
    return Error("", fmt::format("{} inputs given", tensors.size()),
                 fmt::format("the network takes {}", graph->inputs().size()));
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Value& value = *graph->inputs()[i];
    const std::string place = "input '" + value.name() + "'";
    const Tensor& t = tensors[i];
    if (t.type() != value.element()) {
      return Error(place, fmt::format("holds {}", NameOf(t.type())),
                   fmt::format("it takes {}", NameOf(value.element())));
    }
    if (value.has_shape()) {
      const int extra = batch && HasExtraAxis(t, value) ? 1 : 0;
      bool fits = t.shape().rank() == value.shape().rank() + extra;
      for (int d = 1 - extra; fits && d < value.shape().rank(); ++d)
        fits = value.shape()[d] < 0 || value.shape()[d] == t.shape()[d + extra];
      if (!fits)
        return Error(place, "is " + t.shape().ToString(), "it takes " + value.shape().ToString());
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
    if (value.has_shape() && !HasExtraAxis(t, value) && value.shape()[0] > 1) {
      return Error(place, fmt::format("has a fixed batch of {}", value.shape()[0]),
                   "export the network with batch 1");
    }
  }
  return OkStatus();
}

ReferenceExecutor::ReferenceExecutor(std::unique_ptr<State> state) : state_(std::move(state)) {}
ReferenceExecutor::~ReferenceExecutor() = default;

StatusOr<std::unique_ptr<ReferenceExecutor>> ReferenceExecutor::Create(const Graph& graph) {
  auto state = std::make_unique<State>();
  state->graph = &graph;
  for (const auto& node : graph.nodes()) {
    if (!HasReferenceKernel(node->op())) {
      return UnsupportedAt(graph.source(), node->Describe(),
                           "the reference level has no kernel for it", "");
    }
  }
  return std::unique_ptr<ReferenceExecutor>(new ReferenceExecutor(std::move(state)));
}

StatusOr<std::vector<Tensor>> ReferenceExecutor::Run(std::span<const Tensor> inputs,
                                                     const ValueObserver& observer) const {
  KILN_RETURN_IF_ERROR(state_->CheckInputs(inputs, false));
  return state_->Run(inputs, true, observer);
}

StatusOr<std::vector<Tensor>> ReferenceExecutor::RunBatch(std::span<const Tensor> inputs,
                                                          const ValueObserver& observer,
                                                          const BatchProgress& progress) const {
  KILN_RETURN_IF_ERROR(state_->CheckInputs(inputs, true));
  if (inputs.empty()) return state_->Error("", "the network has no inputs", "a batch needs one");
  const int64_t images = inputs[0].shape()[0];
  std::mutex progress_mutex;
  int64_t done = 0;
  std::vector<Tensor> outputs;  // allocated once the first image has shown the shapes
  std::vector<Shape> shapes;    // of the first image's results
  const auto run = [&](int64_t image) -> Status {
    std::vector<Tensor> slices;
    for (size_t i = 0; i < inputs.size(); ++i) {
      slices.push_back(ImageOf(inputs[i], *state_->graph->inputs()[i], image));
    }
    KILN_ASSIGN_OR_RETURN(const std::vector<Tensor> results,
                          state_->Run(slices, images == 1, observer));
    for (size_t i = 0; i < results.size(); ++i) {
      const Tensor& result = results[i];
      const std::string place = "output '" + state_->graph->outputs()[i]->name() + "'";
      if (image == 0) {
        if (result.type() == ElementType::kString) {
          return state_->Error(place, "holds strings", "results of a batch are numbers");
        }
        if (result.num_bytes() > (int64_t{1} << 36) / images) {
          return state_->Error(place, fmt::format("of {} images would exceed 64 GiB", images),
                               "run smaller batches");
        }
        outputs.emplace_back(result.type(), BatchShape(result.shape(), images));
        shapes.push_back(result.shape());
      }
      Tensor& whole = outputs[i];
      if (result.type() != whole.type() || result.shape() != shapes[i]) {
        return state_->Error(
            place, "is " + result.shape().ToString() + ", another shape than for the first image",
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
    for (int64_t image = begin + 1; image < end + 1 && error.CouldBeFirst(image); ++image) {
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

Status ReferenceExecutor::ObserveBatch(std::span<const Tensor> inputs,
                                       const ValueObserver& observer) const {
  KILN_RETURN_IF_ERROR(state_->CheckInputs(inputs, true));
  const int64_t images = inputs.empty() ? 0 : inputs[0].shape()[0];
  for (int64_t image = 0; image < images; ++image) {
    std::vector<Tensor> slices;
    for (size_t i = 0; i < inputs.size(); ++i) {
      slices.push_back(ImageOf(inputs[i], *state_->graph->inputs()[i], image));
    }
    // As RunBatch, which has the other images for the other threads.
    const Status status = state_->Run(slices, images == 1, observer).status();
    if (!status.ok()) return WithContext(fmt::format("image {}", image), status);
  }
  return OkStatus();
}

}  // namespace kiln
