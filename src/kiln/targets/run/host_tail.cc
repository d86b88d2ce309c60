// Splits the part with data-dependent shapes off a network, and runs it on the host after the
// machine.

#include "kiln/targets/run/host_tail.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "fmt/format.h"
#include "kiln/execute/codes.h"
#include "kiln/execute/run_batch.h"
#include "kiln/ir/batch_shape.h"
#include "kiln/ir/describe.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/passes/rewrite.h"
#include "kiln/targets/interface/kernel_info.h"
#include "kiln/targets/run/host_graph.h"
#include "kiln/targets/run/run_program.h"

namespace kiln {
namespace {

bool AllShapesAreKnown(const Graph& graph) {
  const std::vector<Value*> values = graph.Values();
  return std::all_of(values.begin(), values.end(), HasKnownShape);
}

// The nodes of the tail: those with results whose shapes depend on the data, and those that read
// their results, in the graph's order. `first` is the first node that causes such a shape.
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
      if (cause == nullptr) continue;  // an input has no shape: the compiler reports this
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
  KernelInfo kernel = KernelInfoOf(tail.nodes, "host", OperatorsOf(tail.nodes));
  kernel.host_reason =
      fmt::format("the shape of what {} gives depends on the data", tail.first->Describe());
  return kernel;
}

// Removes the nodes of the tail from `head`, a copy of `network`, and returns them as the tail. The
// outputs of `head` become the values that the network's outputs and the tail need.
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
    // The head's copy of a node is found by one of its results, because all results have names.
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

// Returns the output tensor that the hardware would have written for this value.
OutputTensor Store(const Value& output, const Tensor& computed) {
  if (!output.quantisation() || output.element() != ElementType::kFloat32)
    return {computed, computed};
  return {RoundedAsAnnotated(computed, output.quantisation()),
          EncodeTensor(computed, *output.quantisation())};
}

// Joins the results of one output over all images.
//   error  the results of two images differ in shape
StatusOr<Tensor> Join(const std::vector<OutputTensor>& images, Tensor OutputTensor::* part,
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
  // Passes may leave types unknown that follow from constants which they have folded since.
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
  if (program.tail() == nullptr || batch.images() == 0) return head;
  const HostTail& tail = *program.tail();
  const std::vector<Value*>& results = tail.graph.outputs();
  const int64_t images = batch.images();
  std::vector<std::vector<OutputTensor>> stored(
      results.size(), std::vector<OutputTensor>(static_cast<size_t>(images)));
  const auto run = [&](int64_t image) -> Status {
    const auto load = [&](size_t i) {
      const Value& operand = *tail.graph.inputs()[i];
      const auto [place, index] = tail.operands[i];
      const bool is_input = place == HostTail::Place::kInput;
      const Tensor one =
          SampleOf(is_input ? batch.inputs[index] : head.outputs[index], operand.shape(), image);
      // Inputs of the network are not yet rounded; outputs of the machine are.
      return is_input ? RoundedAsAnnotated(one, operand.quantisation()) : one;
    };
    return RunHostKernel(tail.graph, load, [&](size_t i, const Tensor& computed) {
      stored[i][static_cast<size_t>(image)] = Store(*results[i], computed);
      return OkStatus();
    });
  };
  KILN_RETURN_IF_ERROR(RunGroups({.images = images}, [&](const ImageGroup& group) {
    return WithContext(fmt::format("image {}", group.first), run(group.first));
  }));

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
        KILN_ASSIGN_OR_RETURN(Tensor values,
                              Join(stored[index], &OutputTensor::values, results[index]->name()));
        KILN_ASSIGN_OR_RETURN(Tensor codes,
                              Join(stored[index], &OutputTensor::codes, results[index]->name()));
        whole.outputs.push_back(std::move(values));
        whole.codes.push_back(std::move(codes));
        break;
      }
    }
  }
  return whole;
}

}  // namespace kiln
