// Runs a graph at the reference level, image by image, with plans that are kept between images.
#include <mutex>
#include <utility>

#include "fmt/format.h"
#include "kiln/execute/reference.h"
#include "kiln/execute/reference_plan.h"
#include "kiln/execute/run_batch.h"
#include "kiln/support/excerpt.h"
#include "kiln/support/parallel.h"

namespace kiln {
namespace {

constexpr size_t kMaxPlans = 4;  // plans kept at a time; the oldest is dropped

// Whether a tensor of a batch has an axis of images that the graph's input lacks.
bool HasExtraAxis(const Tensor& batch, const Value& input) {
  return input.has_shape() && batch.shape().rank() == input.shape().rank() + 1;
}

// Returns image i of a batch as a view that shares its bytes: [1, ...], or [...] if the graph's
// input has no axis of images.
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

// The state of an executor: the graph and, guarded by a mutex, plans and packed weights.
struct ReferenceExecutor::State {
  const Graph* graph = nullptr;

  // Returns an error that names the graph's file.
  Status Error(std::string_view place, std::string_view fault, std::string_view remedy) const {
    return ErrorAt(graph->source(), place, fault, remedy);
  }
  Status CheckInputs(std::span<const Tensor> tensors, bool batch) const;
  // Runs one image of a batch of inputs, alone in the batch or beside others on other threads.
  //   errors  name the image
  StatusOr<std::vector<Tensor>> RunImage(std::span<const Tensor> inputs, int64_t image,
                                         const ValueObserver& observer) const;
  // Checks one result of a batch.
  //   first   the same result of the first image; null for the first image itself
  Status CheckResult(size_t output, int64_t images, const Tensor& result,
                     const Tensor* first) const;
  // Runs on a plan for these input shapes, made when first asked for.
  StatusOr<std::vector<Tensor>> Run(std::span<const Tensor> tensors, bool parallel,
                                    const ValueObserver& observer) const;
  StatusOr<std::shared_ptr<const reference::Plan>> PlanFor(std::vector<Shape> shapes,
                                                           bool observable) const;

  // A plan and the input shapes and mode for which it was built.
  struct CachedPlan {
    std::vector<Shape> shapes;
    bool observable = false;
    std::shared_ptr<const reference::Plan> plan;
  };
  mutable std::mutex mutex;  // guards the members below
  mutable std::vector<CachedPlan> plans;
  mutable reference::WeightCache weights;
};

StatusOr<std::shared_ptr<const reference::Plan>> ReferenceExecutor::State::PlanFor(
    std::vector<Shape> shapes, bool observable) const {
  std::lock_guard lock(mutex);
  for (const CachedPlan& cached : plans) {
    if (cached.observable == observable && cached.shapes == shapes) return cached.plan;
  }
  StatusOr<std::unique_ptr<reference::Plan>> built;
  RunIsolated([&] { built = reference::Plan::Build(*graph, shapes, observable, weights); });
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<reference::Plan> plan, std::move(built));
  // Batches of one shape are the common case; a few plans suffice.
  if (plans.size() == kMaxPlans) plans.erase(plans.begin());
  plans.push_back({std::move(shapes), observable, std::move(plan)});
  return plans.back().plan;
}

StatusOr<std::vector<Tensor>> ReferenceExecutor::State::Run(std::span<const Tensor> tensors,
                                                            bool parallel,
                                                            const ValueObserver& observer) const {
  std::vector<Shape> shapes;
  for (const Tensor& t : tensors) shapes.push_back(t.shape());
  // A plan with fusions does not compute every value, so an observer needs a plan of its own.
  const bool observable = static_cast<bool>(observer);
  KILN_ASSIGN_OR_RETURN(const std::shared_ptr<const reference::Plan> plan,
                        PlanFor(std::move(shapes), observable));
  StatusOr<std::vector<Tensor>> results = plan->Run(tensors, parallel, observer);
  if (!results.ok() && !graph->source().empty())
    return WithContext(graph->source(), results.status());
  return results;
}

// Checks element types and shapes against the graph's declaration. The leading dimension is free,
// because it counts images.
Status ReferenceExecutor::State::CheckInputs(std::span<const Tensor> tensors, bool batch) const {
  if (tensors.size() != graph->inputs().size()) {
    return Error("", fmt::format("{} inputs given", tensors.size()),
                 fmt::format("the network takes {}", graph->inputs().size()));
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Value& value = *graph->inputs()[i];
    const std::string place = "input " + QuotedExcerpt(value.name());
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
                   "export the network with batch 1, or set it: --shape NAME=1x...");
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

StatusOr<std::vector<Tensor>> ReferenceExecutor::State::RunImage(
    std::span<const Tensor> inputs, int64_t image, const ValueObserver& observer) const {
  std::vector<Tensor> slices;
  for (size_t i = 0; i < inputs.size(); ++i)
    slices.push_back(ImageOf(inputs[i], *graph->inputs()[i], image));
  return Run(slices, /*parallel=*/inputs[0].shape()[0] == 1, observer);
}

Status ReferenceExecutor::State::CheckResult(size_t output, int64_t images, const Tensor& result,
                                             const Tensor* first) const {
  const std::string place = "output '" + graph->outputs()[output]->name() + "'";
  if (first != nullptr) {
    if (result.type() == first->type() && result.shape() == first->shape()) return OkStatus();
    return Error(place,
                 "is " + result.shape().ToString() + ", another shape than for the first image",
                 "a batch needs results of one shape");
  }
  if (result.type() == ElementType::kString)
    return Error(place, "holds strings", "results of a batch are numbers");
  if (result.num_bytes() <= (int64_t{1} << 36) / images) return OkStatus();
  return Error(place, fmt::format("of {} images would exceed 64 GiB", images),
               "run smaller batches");
}

StatusOr<std::vector<Tensor>> ReferenceExecutor::RunBatch(std::span<const Tensor> inputs,
                                                          const BatchProgress& progress) const {
  KILN_RETURN_IF_ERROR(state_->CheckInputs(inputs, true));
  if (inputs.empty()) return state_->Error("", "the network has no inputs", "a batch needs one");
  const int64_t images = inputs[0].shape()[0];
  BatchTensors outputs(images);
  std::vector<Tensor> first;  // the first image's results
  const auto run = [&](int64_t image) -> Status {
    KILN_ASSIGN_OR_RETURN(std::vector<Tensor> results, state_->RunImage(inputs, image, {}));
    for (size_t i = 0; i < results.size(); ++i) {
      KILN_RETURN_IF_ERROR(
          state_->CheckResult(i, images, results[i], image == 0 ? nullptr : &first[i]));
    }
    outputs.Add(image, results);
    if (image == 0) first = std::move(results);
    return OkStatus();
  };
  KILN_RETURN_IF_ERROR(
      RunGroups({.images = images, .at_once = 1, .first_alone = true, .progress = progress},
                [&](const ImageGroup& group) {
                  return WithContext(fmt::format("image {}", group.first), run(group.first));
                }));
  return outputs.Take();
}

Status ReferenceExecutor::ObserveBatch(std::span<const Tensor> inputs,
                                       const ValueObserver& observer) const {
  KILN_RETURN_IF_ERROR(state_->CheckInputs(inputs, true));
  const int64_t images = inputs.empty() ? 0 : inputs[0].shape()[0];
  for (int64_t image = 0; image < images; ++image) {
    const Status status = state_->RunImage(inputs, image, observer).status();
    if (!status.ok()) return WithContext(fmt::format("image {}", image), status);
  }
  return OkStatus();
}

}  // namespace kiln
