#include "kiln/targets/interface/host_tail.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "fmt/format.h"
#include "kiln/execute/codes.h"
#include "kiln/ir/batch_shape.h"
#include "kiln/ir/describe.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/ir/work.h"
#include "kiln/passes/rewrite.h"
#include "kiln/support/parallel.h"
#include "kiln/targets/interface/host_graph.h"

namespace kiln {
namespace {

bool AllShapesAreKnown(const Graph& graph) {
  const std::vector<Value*> values = graph.Values();
  return std::all_of(values.begin(), values.end(), HasKnownShape);
}

// Nodes in shapes that depend on the data and those that read their results, in the graph's order; and the first node
// that makes such a shape.
struct TailNodes {
  std::vector<const Node*> nodes;
  const Node* first = nullptr;
};

TailNodes FindTail(const Graph& graph) {
  TailNodes tail;
  std::unordered_set<const Value*> late;
  for (const auto& node : graph.nodes()) {
    bool depends = std::any_of(node->operands().begin(), node->operands().end(),
                               [&](const Value* operand) { return late.contains(operand); });
    for (const Value* result : node->results()) {
      if (result == nullptr || HasKnownShape(result)) continue;
      const Node* cause = DataDependentNode(result);
      if (cause == nullptr) continue;  // an input has no shape, which the compiler says
      depends = true;
      if (tail.first == nullptr) tail.first = cause;
    }
    if (!depends) continue;
    tail.nodes.push_back(node.get());
    for (const Value* result : node->results()) {
      if (result != nullptr) late.insert(result);
    }
  }
  return tail;
}

KernelInfo KernelOf(const TailNodes& tail) {
  KernelInfo kernel;
  kernel.name = KernelName(tail.nodes);
  kernel.unit = "host";
  for (const Node* node : tail.nodes) {
    kernel.source_nodes.push_back(node->name());
    kernel.macs += MacsOf(*node);
    kernel.operations += OperationsOf(*node);
    kernel.operation += (kernel.operation.empty() ? "" : " + ") + std::string(node->info().text);
  }
  kernel.host_reason =
      fmt::format("the shape of what {} gives depends on the data", tail.first->Describe());
  return kernel;
}

// Takes `tail` off `head`, a copy of `network`; the head's outputs are what the network's outputs and the tail need.
HostTail SplitOff(const Graph& network, const TailNodes& nodes, Graph* head) {
  HostGraph host = CopyForHost(network, nodes.nodes);
  std::unordered_map<const Value*, HostTail::Source> sources;
  for (size_t i = 0; i < network.inputs().size(); ++i)
    sources[network.inputs()[i]] = {HostTail::Place::kInput, i};
  for (size_t i = 0; i < host.outputs.size(); ++i)
    sources[host.outputs[i]] = {HostTail::Place::kTail, i};
  head->ClearOutputs();
  const auto source_of = [&](const Value* value) {
    const auto [at, added] = sources.try_emplace(
        value, HostTail::Source{HostTail::Place::kHead, head->outputs().size()});
    if (added) head->MarkOutput(head->FindValue(value->name()));
    return at->second;
  };
  HostTail tail;
  for (const Value* output : network.outputs()) tail.outputs.push_back(source_of(output));
  for (const Value* input : host.inputs) tail.operands.push_back(source_of(input));
  for (auto node = nodes.nodes.rbegin(); node != nodes.nodes.rend(); ++node) {
    // A node is found by a result, all of which have names.
    const auto result = std::find_if((*node)->results().begin(), (*node)->results().end(),
                                     [](const Value* value) { return value != nullptr; });
    head->EraseNode(head->FindValue((*result)->name())->producer());
  }
  head->EraseUnusedConstants();
  for (size_t i = 0; i < host.inputs.size(); ++i) {
    host.graph.inputs()[i]->set_quantisation(host.inputs[i]->quantisation());
  }
  tail.graph = std::move(host.graph);
  tail.kernel = KernelOf(nodes);
  return tail;
}

// What the hardware would have written of a value, had it been on the machine.
struct Stored {
  Tensor value, code;
};

Stored Store(const Value& output, const Tensor& computed) {
  if (!output.quantisation() || output.element() != ElementType::kFloat32)
    return {computed, computed};
  const Quantisation& q = *output.quantisation();
  Tensor codes = q.type.scheme == Scheme::kPerBlock && q.scales.empty()
                     ? QuantiseBlocks(computed, q).codes
                     : QuantiseTensor(computed, q);
  return {RoundTensor(computed, q), std::move(codes)};
}

// Joins the results of one output over all images.
//   error  images whose results differ in shape
StatusOr<Tensor> Join(const std::vector<Stored>& images, Tensor Stored::* part,
                      const std::string& name) {
  const Tensor& first = images[0].*part;
  Tensor all(first.type(), BatchShape(first.shape(), std::ssize(images)));
  for (size_t image = 0; image < images.size(); ++image) {
    const Tensor& one = images[image].*part;
    if (one.shape() != first.shape()) {
      return ErrorAt("", fmt::format("image {}, output '{}'", image, name),
                     fmt::format("is {}, and {} for image 0", one.shape().ToString(),
                                 first.shape().ToString()),
                     "shapes of this network depend on the data: run its images one at a time");
    }
    SetSample(one, static_cast<int64_t>(image), &all);
  }
  return all;
}

}  // namespace

StatusOr<std::unique_ptr<Program>> CompileWithTail(
    const Graph& graph, const CompileOptions& options,
    const std::function<StatusOr<std::unique_ptr<Program>>(const Graph& known)>& compile) {
  if (AllShapesAreKnown(graph)) return compile(graph);
  // Passes may leave types open that constants they folded have since decided.
  Graph inferred = graph.Clone();
  KILN_RETURN_IF_ERROR(InferShapes(inferred));
  const TailNodes nodes = FindTail(inferred);
  if (nodes.nodes.empty()) return compile(inferred);
  if (!options.host_fallback) {
    return UnsupportedAt(graph.source(), nodes.first->Describe(),
                         "gives a result whose shape depends on the data",
                         "allow host fallback or change the network");
  }
  Graph head = inferred.Clone();
  auto tail = std::make_shared<HostTail>(SplitOff(inferred, nodes, &head));
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<Program> program, compile(head));
  program->SetTail(std::move(tail));
  return program;
}

StatusOr<RunResult> RunTail(const Program& program, const Batch& batch, RunResult head) {
  if (program.tail() == nullptr) return head;
  const HostTail& tail = *program.tail();
  const std::vector<Value*>& results = tail.graph.outputs();
  const int64_t images = batch.images();
  std::vector<std::vector<Stored>> stored(results.size(),
                                          std::vector<Stored>(static_cast<size_t>(images)));
  const auto run = [&](int64_t image) -> Status {
    std::vector<Tensor> operands;
    for (size_t i = 0; i < tail.operands.size(); ++i) {
      const Value& operand = *tail.graph.inputs()[i];
      const auto [place, index] = tail.operands[i];
      const bool is_input = place == HostTail::Place::kInput;
      Tensor one =
          SampleOf(is_input ? batch.inputs[index] : head.outputs[index], operand.shape(), image);
      // Inputs of the network come as they are given; what the machine gives is rounded.
      if (is_input) one = Store(operand, one).value;
      operands.push_back(std::move(one));
    }
    KILN_ASSIGN_OR_RETURN(const std::vector<Tensor> computed, RunHostGraph(tail.graph, operands));
    for (size_t i = 0; i < results.size(); ++i) {
      stored[i][static_cast<size_t>(image)] = Store(*results[i], computed[i]);
    }
    return OkStatus();
  };
  std::mutex mutex;
  Status failure;
  int64_t failed = std::numeric_limits<int64_t>::max();
  ParallelFor(images, 1, [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image) {
      const Status status = run(image);
      std::lock_guard lock(mutex);
      if (status.ok() || image > failed) continue;
      failed = image;
      failure = WithContext(fmt::format("image {}", image), status);
    }
  });
  KILN_RETURN_IF_ERROR(failure);

  RunResult whole;
  whole.trace = std::move(head.trace);
  whole.cycles_per_image = std::move(head.cycles_per_image);
  for (const auto [place, index] : tail.outputs) {
    switch (place) {
      case HostTail::Place::kInput:
        whole.outputs.push_back(batch.inputs[index]);
        whole.codes.push_back(batch.inputs[index]);
        break;
      case HostTail::Place::kHead:
        whole.outputs.push_back(head.outputs[index]);
        whole.codes.push_back(head.codes[index]);
        break;
      case HostTail::Place::kTail: {
        if (images == 0) break;
        KILN_ASSIGN_OR_RETURN(Tensor values,
                              Join(stored[index], &Stored::value, results[index]->name()));
        KILN_ASSIGN_OR_RETURN(Tensor codes,
                              Join(stored[index], &Stored::code, results[index]->name()));
        whole.outputs.push_back(std::move(values));
        whole.codes.push_back(std::move(codes));
        break;
      }
    }
  }
  return whole;
}

}  // namespace kiln
