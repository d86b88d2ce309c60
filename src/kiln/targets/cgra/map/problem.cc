// States the mapping problem of a graph: instructions, dependences, rules and bounds.

#include "kiln/targets/cgra/map/problem.h"

#include <absl/strings/str_join.h>

#include <algorithm>
#include <map>
#include <set>

#include "fmt/format.h"
#include "kiln/support/excerpt.h"
#include "kiln/targets/cgra/graph/disjoint_sets.h"
#include "kiln/targets/cgra/graph/timing.h"

namespace kiln::cgra {
namespace {

// Whether two operators compute in the same number system.
bool SameNumbers(Op multiply, Op logic) {
  const bool product_is_float = multiply == Op::kFMul;
  if (logic == Op::kFAdd || logic == Op::kFSub) return product_is_float;
  // Operators that only move a value take any.
  if (logic == Op::kPass || logic == Op::kMerge) return true;
  return !product_is_float;
}

// What an instruction with these nodes reads.
struct Reads {
  std::set<std::pair<int, int>> stored;  // values in tile memories: nodes and distances in threads
  std::set<int32_t> literals;            // constants
  std::set<std::pair<int, int>> predicates;  // nodes and distances in threads
  // Values in tile memories: of several literals, all but one are kept there, too.
  int memory_values() const {
    return static_cast<int>(stored.size() + (literals.empty() ? 0 : literals.size() - 1));
  }
};

Reads ReadsOf(const ComputationGraph& graph, const Config& config,
              const std::vector<std::vector<int>>& into, std::span<const int> nodes) {
  Reads reads;
  for (const int node : nodes) {
    size_t operands = 0;
    for (const int e : into[static_cast<size_t>(node)]) {
      const GraphEdge& edge = graph.edges[static_cast<size_t>(e)];
      if (edge.kind == EdgeKind::kOrder) continue;
      if (edge.kind == EdgeKind::kData) ++operands;
      if (std::ranges::find(nodes, edge.source) != nodes.end() && edge.distance == 0) continue;
      if (edge.kind == EdgeKind::kPredicate) reads.predicates.emplace(edge.source, edge.distance);
      const GraphNode& source = graph.nodes[static_cast<size_t>(edge.source)];
      switch (TimingOf(graph, config, edge)) {
        case EdgeTiming::kStored:
          if (source.op == Op::kConst) {
            reads.literals.insert(source.literal.value_or(0));
          } else {
            reads.stored.emplace(edge.source, edge.distance);
          }
          break;
        case EdgeTiming::kAsynchronous:
          reads.stored.emplace(edge.source, edge.distance);
          break;
        case EdgeTiming::kLink:
        case EdgeTiming::kOrder:
        case EdgeTiming::kResult:
          break;
      }
    }
    const GraphNode& at = graph.nodes[static_cast<size_t>(node)];
    if (at.literal && operands < static_cast<size_t>(RowOf(at.op).operands)) {
      reads.literals.insert(*at.literal);
    }
  }
  return reads;
}

constexpr int kMostMemoryValues = 2;  // a tile has two memories with one read port each

// Whether an operand of a node is a value of a number of threads before.
bool HasOperand(const ComputationGraph& graph, const std::vector<int>& into, int operand,
                std::pair<int, int> value) {
  return std::ranges::any_of(into, [&](int e) {
    const GraphEdge& edge = graph.edges[static_cast<size_t>(e)];
    return edge.kind == EdgeKind::kData && edge.operand == operand &&
           std::pair(edge.source, edge.distance) == value;
  });
}

// Whether an instruction has an operand for its predicates. A predicate takes in3 of a product and
// in2 of a logic operator; where a product or a select uses in2, it must be the value there. The
// factors of a product can change places, the operands of a shift and a select cannot.
bool PredicatesFit(const ComputationGraph& graph, const std::vector<std::vector<int>>& into,
                   std::span<const int> nodes, const Reads& reads) {
  if (reads.predicates.empty()) return true;
  if (reads.predicates.size() > 1) return false;
  const auto first = static_cast<size_t>(nodes.front());
  const Op op = graph.nodes[first].op;
  if (nodes.size() == 1 && op != Op::kSelect) return true;
  const std::pair<int, int> value = *reads.predicates.begin();
  const bool commutes = op == Op::kMul || op == Op::kFMul;
  return HasOperand(graph, into[first], 1, value) ||
         (commutes && HasOperand(graph, into[first], 0, value));
}

std::string NameOfNodes(const ComputationGraph& graph, std::span<const int> nodes) {
  std::vector<std::string> names;
  for (const int node : nodes) {
    names.push_back(Excerpt(graph.nodes[static_cast<size_t>(node)].name));
  }
  return absl::StrJoin(names, "+");
}

// Builds a problem step by step.
class Builder {
 public:
  Builder(const ComputationGraph& graph, const Config& config, const ProblemOptions& options)
      : graph_(graph), options_(options), into_(graph.EdgesInto()) {
    problem_.config = config;
  }

  StatusOr<Problem> Build() {
    KILN_RETURN_IF_ERROR(AddInstructions());
    AddDependences();
    AddPasses();
    SortInstructions();
    AddGroups();
    AddStarts();
    AddSiblings();
    return std::move(problem_);
  }

 private:
  // Makes an instruction of each node that takes a slot, or of a fused pair, at the position of the
  // pair's second node. Checks what an instruction can read.
  Status AddInstructions() {
    std::vector<int> fused(graph_.nodes.size(), -1);
    for (const Fusion& fusion : options_.fusions) {
      fused[static_cast<size_t>(fusion.multiply)] = fusion.logic;
    }
    of_node_.assign(graph_.nodes.size(), -1);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const auto node = static_cast<int>(n);
      if (!graph_.TakesSlot(node) || fused[n] >= 0) continue;
      Instruction instruction;
      for (const Fusion& fusion : options_.fusions) {
        if (fusion.logic == node) instruction.nodes.push_back(fusion.multiply);
      }
      instruction.nodes.push_back(node);
      instruction.name = NameOfNodes(graph_, instruction.nodes);
      const Reads reads = ReadsOf(graph_, problem_.config, into_, instruction.nodes);
      const std::string place = fmt::format("node '{}'", instruction.name);
      if (reads.memory_values() > kMostMemoryValues) {
        return ErrorAt(graph_.source, place,
                       fmt::format("it reads {} values from tile memories", reads.memory_values()),
                       fmt::format("at most {}", kMostMemoryValues));
      }
      if (reads.predicates.size() > 1) {
        return ErrorAt(graph_.source, place,
                       fmt::format("it has {} predicates", reads.predicates.size()),
                       "one: an 'and' node of conditions that are 0 or 1");
      }
      if (!PredicatesFit(graph_, into_, instruction.nodes, reads)) {
        return ErrorAt(graph_.source, place, "no operand is free for its predicate",
                       "a node of its own for the predicate, such as 'pass'");
      }
      for (const int inside : instruction.nodes) {
        of_node_[static_cast<size_t>(inside)] = problem_.size();
      }
      problem_.instructions.push_back(std::move(instruction));
    }
    return OkStatus();
  }

  // Turns edges over links and order edges into dependences between instructions. Values that enter
  // a tile memory or leave the machine bind no issue cycle and have none. The edges of one node
  // that go through pass-throughs share one chain.
  void AddDependences() {
    std::set<std::tuple<int, int, int, bool>> seen;
    std::map<int, std::vector<int>> chains;  // of pass-throughs, by node
    problem_.provider.assign(graph_.edges.size(), -1);
    for (size_t e = 0; e < graph_.edges.size(); ++e) {
      const GraphEdge& edge = graph_.edges[e];
      const EdgeTiming timing = TimingOf(graph_, problem_.config, edge);
      if (timing != EdgeTiming::kLink && timing != EdgeTiming::kOrder) continue;
      const int from = of_node_[static_cast<size_t>(edge.source)];
      const int to = of_node_[static_cast<size_t>(edge.target)];
      if (from == to && edge.distance == 0) continue;  // inside a fused instruction
      const bool moves = timing == EdgeTiming::kLink;
      const int passes = e < options_.passes.size() && moves ? options_.passes[e] : 0;
      int provider = from;
      std::vector<int>& chain = chains[edge.source];
      for (int k = 0; k < passes; ++k) {
        if (k == std::ssize(chain)) chain.push_back(NewPass(edge.source, provider));
        provider = chain[static_cast<size_t>(k)];
      }
      if (moves) problem_.provider[e] = provider;
      const int distance = edge.distance;
      if (seen.emplace(provider, to, distance, moves).second) {
        problem_.dependences.push_back({provider, to, distance, moves});
      }
    }
    DropImplied();
  }

  // Drops dependences without a value that another between the same instructions implies: they ask
  // for the same cycle or an earlier one.
  void DropImplied() {
    const std::vector<Dependence> all = std::move(problem_.dependences);
    problem_.dependences.clear();
    for (size_t d = 0; d < all.size(); ++d) {
      const auto implies = [&](const Dependence& other) {
        if (all[d].moves || other.from != all[d].from || other.to != all[d].to) return false;
        if (other == all[d]) return false;
        return other.distance < all[d].distance ||
               (other.distance == all[d].distance && other.moves);
      };
      if (std::ranges::none_of(all, implies)) problem_.dependences.push_back(all[d]);
    }
  }

  // Adds a pass-through that copies the value of `node` from the instruction `from`.
  int NewPass(int node, int from) {
    Instruction pass{.nodes = {node}, .is_pass = true, .name = ""};
    pass.name = fmt::format("pass-through {} of {}", ++passes_,
                            NameOfNodes(graph_, std::vector<int>{node}));
    problem_.instructions.push_back(std::move(pass));
    const int number = problem_.size() - 1;
    problem_.dependences.push_back({from, number, 0, true});
    return number;
  }

  // A result reaches the tile itself and as many others as links leave it. Rule 3 puts its
  // consumers on different tiles, so that further ones need pass-throughs, which are consumers
  // themselves.
  void AddPasses() {
    const Config& config = problem_.config;
    // No tile reaches more than the one in the middle.
    int reached = 0;
    const int middle = (config.rows - 1) / 2 * config.columns + (config.columns - 1) / 2;
    for (int to = 0; to < config.tiles(); ++to) {
      if (middle != to || config.feedback) reached += HopCycles(config, middle, to) >= 0;
    }
    if (config.one_output) reached = std::min(reached, config.feedback ? 2 : 1);
    if (reached < 2) return;  // no pass-through widens the reach
    for (int from = 0; from < problem_.size(); ++from) {
      std::vector<size_t> uses;
      std::set<int> consumers;
      for (size_t d = 0; d < problem_.dependences.size(); ++d) {
        if (problem_.dependences[d].from != from || !problem_.dependences[d].moves) continue;
        uses.push_back(d);
        consumers.insert(problem_.dependences[d].to);
      }
      if (std::ssize(consumers) <= reached) continue;
      // The last consumers go behind one pass-through, which is visited later in this loop.
      const Instruction& producer = problem_.instructions[static_cast<size_t>(from)];
      const int node = producer.nodes.back();
      const int pass = NewPass(node, from);
      std::set<int> kept;
      for (const size_t d : uses) {
        Dependence& use = problem_.dependences[d];
        if (std::ssize(kept) < reached - 1 || kept.contains(use.to)) {
          kept.insert(use.to);
        } else {
          Reroute(use, pass);
        }
      }
    }
  }

  // Lets a pass-through hand on what a dependence moves.
  void Reroute(Dependence& use, int pass) {
    for (size_t e = 0; e < graph_.edges.size(); ++e) {
      const GraphEdge& edge = graph_.edges[e];
      if (problem_.provider[e] == use.from && edge.distance == use.distance &&
          of_node_[static_cast<size_t>(edge.target)] == use.to) {
        problem_.provider[e] = pass;
      }
    }
    use.from = pass;
  }

  // Orders instructions topologically; a pass-through comes before its consumers.
  void SortInstructions() {
    const auto count = static_cast<size_t>(problem_.size());
    std::vector<int> waits(count, 0), number(count, -1), order;
    for (const Dependence& d : problem_.dependences) {
      if (d.distance == 0) ++waits[static_cast<size_t>(d.to)];
    }
    std::set<int> ready;
    for (size_t i = 0; i < count; ++i) {
      if (waits[i] == 0) ready.insert(static_cast<int>(i));
    }
    while (!ready.empty()) {
      const int i = *ready.begin();
      ready.erase(ready.begin());
      number[static_cast<size_t>(i)] = static_cast<int>(order.size());
      order.push_back(i);
      for (const Dependence& d : problem_.dependences) {
        if (d.from == i && d.distance == 0 && --waits[static_cast<size_t>(d.to)] == 0) {
          ready.insert(d.to);
        }
      }
    }
    std::vector<Instruction> sorted;
    for (const int i : order) {
      sorted.push_back(std::move(problem_.instructions[static_cast<size_t>(i)]));
    }
    problem_.instructions = std::move(sorted);
    for (Dependence& d : problem_.dependences) {
      d.from = number[static_cast<size_t>(d.from)];
      d.to = number[static_cast<size_t>(d.to)];
    }
    for (std::vector<int>* numbers : {&of_node_, &problem_.provider}) {
      for (int& i : *numbers) {
        if (i >= 0) i = number[static_cast<size_t>(i)];
      }
    }
    problem_.source.assign(count, true);
    for (const Dependence& d : problem_.dependences) {
      if (d.distance == 0) problem_.source[static_cast<size_t>(d.to)] = false;
    }
  }

  // Groups of rule 1: instructions that read one variable are on one tile, and so
  // are instructions that read different variables if some instruction reads both of them.
  void AddGroups() {
    const auto count = static_cast<size_t>(problem_.size());
    problem_.group.assign(count, -1);
    if (problem_.config.copies) return;
    DisjointSets sets(count);
    std::map<int, int> first;  // variable to an instruction that reads it
    for (const GraphEdge& edge : graph_.edges) {
      if (graph_.nodes[static_cast<size_t>(edge.source)].op != Op::kVariable) continue;
      const int reader = of_node_[static_cast<size_t>(edge.target)];
      if (reader < 0) continue;
      const auto [at, added] = first.emplace(edge.source, reader);
      if (!added) sets.Join(reader, at->second);
    }
    std::map<int, std::vector<int>> members;
    for (size_t i = 0; i < count; ++i) {
      members[sets.RootOf(static_cast<int>(i))].push_back(static_cast<int>(i));
    }
    for (const auto& [key, group] : members) {
      if (group.size() < 2) continue;
      std::vector<std::string> names;
      for (const auto& [variable, reader] : first) {
        if (sets.RootOf(reader) == key) {
          names.push_back(Excerpt(graph_.nodes[static_cast<size_t>(variable)].name));
        }
      }
      for (const int i : group) {
        problem_.group[static_cast<size_t>(i)] = static_cast<int>(problem_.groups.size());
      }
      problem_.groups.push_back(group);
      problem_.group_names.push_back(absl::StrJoin(names, ", "));
    }
  }

  void AddStarts() {
    std::set<int> starts;
    for (const int node : FlowStarts(graph_, problem_.config)) {
      starts.insert(of_node_[static_cast<size_t>(node)]);
    }
    problem_.starts.assign(starts.begin(), starts.end());
  }

  // Pairs of rule 3: all pairs of consumers of one value. A pair with several common producers is
  // kept once, with the first of them.
  void AddSiblings() {
    std::map<std::pair<int, int>, int> pairs;
    std::vector<std::set<int>> consumers(static_cast<size_t>(problem_.size()));
    for (const Dependence& d : problem_.dependences) {
      if (d.moves) consumers[static_cast<size_t>(d.from)].insert(d.to);
    }
    for (int from = 0; from < problem_.size(); ++from) {
      const std::set<int>& all = consumers[static_cast<size_t>(from)];
      for (auto a = all.begin(); a != all.end(); ++a) {
        for (auto b = std::next(a); b != all.end(); ++b) pairs.emplace(std::pair(*a, *b), from);
      }
    }
    for (const auto& [pair, producer] : pairs) {
      problem_.siblings.push_back(pair);
      problem_.sibling_producer.push_back(producer);
    }
  }

  const ComputationGraph& graph_;
  const ProblemOptions& options_;
  const std::vector<std::vector<int>> into_;
  Problem problem_;
  std::vector<int> of_node_;  // by node: its instruction, or -1
  int passes_ = 0;
};

}  // namespace

std::vector<Fusion> Fusions(const ComputationGraph& graph, const Config& config) {
  std::vector<Fusion> fusions;
  const std::vector<std::vector<int>> into = graph.EdgesInto(), from = graph.EdgesFrom();
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Op op = graph.nodes[n].op;
    if (RowOf(op).unit != Unit::kMultiply || from[n].size() != 1) continue;
    const GraphEdge& use = graph.edges[static_cast<size_t>(from[n][0])];
    const GraphNode& logic = graph.nodes[static_cast<size_t>(use.target)];
    if (use.kind != EdgeKind::kData || use.distance != 0 || RowOf(logic.op).unit != Unit::kLogic ||
        logic.op == Op::kSelect || !SameNumbers(op, logic.op)) {
      continue;
    }
    const auto node = static_cast<int>(n);
    const auto has_other_kind = [&](const std::vector<int>& edges) {
      return std::ranges::any_of(edges, [&](int e) {
        return graph.edges[static_cast<size_t>(e)].kind != EdgeKind::kData;
      });
    };
    if (has_other_kind(into[n])) continue;  // the product itself is predicated or ordered
    const std::vector<int> pair = {node, use.target};
    const Reads reads = ReadsOf(graph, config, into, pair);
    if (reads.memory_values() > kMostMemoryValues) continue;
    if (!PredicatesFit(graph, into, pair, reads)) continue;
    fusions.push_back({node, use.target});
  }
  return fusions;
}

// Each pair in use saves one instruction, and has a multiplication and a logic node of its own.
int64_t LeastInstructions(const ComputationGraph& graph, std::span<const Fusion> fusions) {
  std::set<int> multiplies, logic;
  for (const Fusion& fusion : fusions) {
    multiplies.insert(fusion.multiply);
    logic.insert(fusion.logic);
  }
  int64_t least = -std::min(std::ssize(multiplies), std::ssize(logic));
  for (int n = 0; n < static_cast<int>(graph.nodes.size()); ++n) least += graph.TakesSlot(n);
  return least;
}

StatusOr<Problem> BuildProblem(const ComputationGraph& graph, const Config& config,
                               const ProblemOptions& options) {
  return Builder(graph, config, options).Build();
}

// Pass-throughs are in topological order in the problem, so the one that hands on the value always
// has its index before the one that receives it.
Mapping MappingOf(const ComputationGraph& graph, const Problem& problem, int initiation_interval,
                  std::span<const Place> places) {
  Mapping mapping;
  mapping.initiation_interval = initiation_interval;
  mapping.places.assign(graph.nodes.size(), {});
  mapping.fused_into.assign(graph.nodes.size(), -1);
  mapping.provider.assign(graph.edges.size(), -1);
  std::vector<int> pass_of(problem.instructions.size(), -1);  // its index in Mapping::passes
  for (size_t i = 0; i < problem.instructions.size(); ++i) {
    const Instruction& instruction = problem.instructions[i];
    if (instruction.is_pass) continue;
    for (const int node : instruction.nodes) {
      mapping.places[static_cast<size_t>(node)] = places[i];
      if (node != instruction.nodes.back()) {
        mapping.fused_into[static_cast<size_t>(node)] = instruction.nodes.back();
      }
    }
  }
  for (size_t i = 0; i < problem.instructions.size(); ++i) {
    const Instruction& instruction = problem.instructions[i];
    if (!instruction.is_pass) continue;
    int from = -1;
    for (const Dependence& d : problem.dependences) {
      if (d.to == static_cast<int>(i)) from = pass_of[static_cast<size_t>(d.from)];
    }
    pass_of[i] = static_cast<int>(mapping.passes.size());
    mapping.passes.push_back({instruction.nodes[0], from, places[i]});
  }
  for (size_t e = 0; e < graph.edges.size(); ++e) {
    if (problem.provider[e] >= 0) {
      mapping.provider[e] = pass_of[static_cast<size_t>(problem.provider[e])];
    }
  }
  return mapping;
}

int LatencyOf(const Config& config, const Mapping& mapping) {
  int latency = 0;
  for (const Place& place : mapping.places) {
    if (place.tile >= 0) latency = std::max(latency, place.issue + config.pipeline_latency);
  }
  for (const PassThrough& pass : mapping.passes) {
    latency = std::max(latency, pass.place.issue + config.pipeline_latency);
  }
  return latency;
}

}  // namespace kiln::cgra
