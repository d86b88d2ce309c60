// Prints programs, and sums up their memory.

#include "kiln/targets/cgra/compile/network_program.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "kiln/targets/cgra/isa/program.h"

namespace kiln::cgra {
namespace {

// Returns the nodes of a graph with their places.
std::string PrintMapped(const MappedGraph& mapped) {
  std::string text;
  const ComputationGraph& graph = mapped.graph;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const GraphNode& node = graph.nodes[n];
    const Place& place = mapped.mapping.places[n];
    text += fmt::format("    {} '{}'", RowOf(node.op).name, node.name);
    if (node.literal) text += fmt::format(" literal {}", *node.literal);
    for (const GraphEdge& edge : graph.edges) {
      if (edge.target != static_cast<int>(n)) continue;
      text += fmt::format(" <- '{}'", graph.nodes[static_cast<size_t>(edge.source)].name);
      if (edge.distance > 0)
        text += fmt::format(" of {} threads before, at first {}", edge.distance, edge.initial);
    }
    if (place.tile >= 0) {
      text += fmt::format("  @ tile {}, cycle {}", place.tile, place.issue);
      if (const int into = mapped.mapping.fused_into[n]; into >= 0)
        text += fmt::format(", with '{}'", graph.nodes[static_cast<size_t>(into)].name);
    }
    text += '\n';
  }
  return text;
}

int64_t BytesOf(const LoweredKernel& kernel) {
  int64_t words = 0;
  if (!kernel.machine.has_value()) return 0;
  for (const Buffer& buffer : kernel.machine->buffers) words += std::ssize(buffer.constants);
  return 4 * words;
}

}  // namespace

NetworkProgram::NetworkProgram(Config config, Graph network, LoweredNetwork lowered)
    : config_(std::move(config)), network_(std::move(network)), lowered_(std::move(lowered)) {
  for (const LoweredKernel& kernel : lowered_.kernels) {
    kernels_.push_back(kernel.info);
    constant_bytes_ += BytesOf(kernel);
    int64_t activations = 0;
    if (kernel.machine.has_value()) {
      for (const Buffer& buffer : kernel.machine->buffers)
        activations += buffer.constants.empty() ? 4 * buffer.size : 0;
    }
    activation_bytes_ = std::max(activation_bytes_, activations);
  }
}

std::string NetworkProgram::Print() const {
  std::string text =
      fmt::format("machine {}: {} tiles, {} lanes\n", config_.name, config_.tiles(), config_.lanes);
  for (const LoweredKernel& kernel : lowered_.kernels) {
    if (!kernel.machine.has_value()) {
      text += fmt::format("host {}: {}\n", kernel.info.name, kernel.info.host_reason);
      continue;
    }
    text += fmt::format("kernel {}: {}\n", kernel.info.name, kernel.info.operation);
    for (const Launch& launch : kernel.machine->launches) {
      const MappedGraph& mapped = *launch.mapped;
      text += fmt::format(
          "  launch: {} runs of {} threads, results from thread {}; interval {} (at least {}), "
          "latency {} (at least {})\n",
          launch.runs, launch.threads, launch.first_sent, mapped.mapping.initiation_interval,
          mapped.interval_bound, mapped.latency, mapped.latency_bound);
      text += PrintMapped(mapped);
      text += cgra::Print(mapped.program);
    }
  }
  return text;
}

StatusOr<std::unique_ptr<Program>> CompileNetwork(const Graph& network, const Config& config,
                                                  const CompileOptions& options) {
  Graph own = network.Clone();
  KILN_ASSIGN_OR_RETURN(LoweredNetwork lowered, Lower(own, config, options));
  // The nodes and values of a graph stay where they are when it moves.
  return std::make_unique<NetworkProgram>(config, std::move(own), std::move(lowered));
}

}  // namespace kiln::cgra
