// Draws training problems.

#include "kiln/targets/cgra/learn/train/curriculum.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "kiln/support/check.h"
#include "kiln/support/random.h"
#include "kiln/targets/cgra/learn/weights.h"
#include "kiln/targets/cgra/map/environment.h"
#include "kiln/targets/cgra/map/search.h"

namespace kiln::cgra {

std::optional<TrainingProblem> MakeTrainingProblem(const ComputationGraph& graph,
                                                   const Config& config, int interval, bool fuse) {
  ProblemOptions options;
  if (fuse) options.fusions = MostFusions(graph, config);
  StatusOr<Problem> problem = BuildProblem(graph, config, options);
  if (!problem.ok() || problem->size() == 0 || !WhyImpossible(*problem).empty()) {
    return std::nullopt;
  }
  TrainingProblem made;
  made.problem = std::make_unique<const Problem>(*std::move(problem));
  made.interval = interval;
  made.order = DepthFirstOrder(*made.problem);
  made.observer = std::make_unique<const Observer>(*made.problem, interval, made.order);
  made.latency_bound = LeastLatency(*made.problem, interval).value;
  return made;
}

// Three numbers drawn first give the graph its shape: how far back operands reach, how often an
// instruction has no producer, and how often it has two.
ComputationGraph RandomLearningGraph(uint64_t seed, int most) {
  Random random(seed);
  ComputationGraph graph;
  graph.name = graph.source = fmt::format("random-{}", seed);
  const auto add = [&graph](Op op) {
    graph.nodes.push_back(
        {.name = fmt::format("n{}", graph.nodes.size()),
         .op = op,
         .label = "",
         .literal = op == Op::kVariable ? std::optional<int32_t>(1) : std::nullopt});
    return static_cast<int>(graph.nodes.size()) - 1;
  };
  const auto count = static_cast<int>(random.Between(4, most));
  std::vector<int> variables;
  const uint64_t kinds = random.Below(3);  // of variables
  for (uint64_t i = 0; i < kinds; ++i) variables.push_back(add(Op::kVariable));
  const bool split = random.Below(3) == 0;
  // How far back operands come from: chains are narrow, meshes wide.
  const auto window = static_cast<size_t>(random.Between(1, 10));
  const double new_source = random.Uniform(0.05, 0.4), second_operand = random.Uniform(0.2, 0.9);
  std::vector<int> flows[2];
  std::vector<int> uses;
  for (int i = 0; i < count; ++i) {
    std::vector<int>& flow = flows[split ? random.Below(2) : 0];
    const Op ops[] = {Op::kAdd, Op::kSub, Op::kMul, Op::kMax, Op::kXor};
    const int node = add(ops[random.Below(std::size(ops))]);
    uses.resize(graph.nodes.size(), 0);
    const bool source = flow.empty() || random.Uniform() < new_source;
    std::set<int> used;
    for (int operand = 0; operand < 2; ++operand) {
      if (source || (operand == 1 && random.Uniform() >= second_operand)) {
        if (!variables.empty() && random.Below(8) == 0 && operand == 1) {
          graph.edges.push_back({.source = variables[random.Below(variables.size())],
                                 .target = node,
                                 .operand = operand});
        }
        continue;
      }
      // Values without a use come first, so that few are left over.
      int from = -1;
      for (int attempt = 0; attempt < 3; ++attempt) {
        const size_t back = random.Below(std::min(window, flow.size()));
        from = flow[flow.size() - 1 - back];
        if (uses[static_cast<size_t>(from)] == 0) break;
      }
      if (uses[static_cast<size_t>(from)] >= 4 || !used.insert(from).second) continue;
      ++uses[static_cast<size_t>(from)];
      graph.edges.push_back({.source = from, .target = node, .operand = operand});
    }
    flow.push_back(node);
  }
  if (random.Below(4) == 0) {
    // An accumulator: a value that the next thread needs.
    const int node = flows[0].empty() ? flows[1].back() : flows[0].back();
    const bool taken = std::ranges::any_of(graph.edges, [&](const GraphEdge& edge) {
      return edge.target == node && edge.operand == 1;
    });
    if (!taken) {
      graph.edges.push_back({.source = node, .target = node, .operand = 1, .distance = 1});
    }
  }
  KILN_CHECK(VerifyAndSort(&graph).ok());
  return graph;
}

// Draws until a problem may have a mapping. Intervals are at most kStackedSlots, so that the
// baseline network can be trained on the same problems.
TrainingProblem DrawTrainingProblem(uint64_t seed, std::span<const ComputationGraph> graphs,
                                    int most_instructions, int most_tiles) {
  for (uint64_t attempt = 0;; ++attempt) {
    Random random(seed + MixBits(attempt));
    Config config;
    const int tiles[] = {16, 16, 16, 16, 8, 32};
    config.columns = std::min(tiles[random.Below(std::size(tiles))], most_tiles);
    config.relaxed_distance = random.Below(8) == 0;
    const bool named = !graphs.empty() && random.Below(4) == 0;
    const ComputationGraph graph = named ? graphs[random.Below(graphs.size())]
                                         : RandomLearningGraph(random(), most_instructions);
    const bool fuse = random.Below(2) == 0;
    std::optional<TrainingProblem> made = MakeTrainingProblem(graph, config, 1, fuse);
    if (!made) continue;
    const int least = LeastInterval(*made->problem).value;
    const auto interval = static_cast<int>(least + random.Between(0, 2));
    if (interval > kStackedSlots) continue;
    made = MakeTrainingProblem(graph, config, interval, fuse);
    if (made) return *std::move(made);
  }
}

}  // namespace kiln::cgra
