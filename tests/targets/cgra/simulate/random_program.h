// Random graphs with a random mapping each, for tests of all levels that execute programs.
#ifndef KILN_TESTS_TARGETS_CGRA_SIMULATE_RANDOM_PROGRAM_H_
#define KILN_TESTS_TARGETS_CGRA_SIMULATE_RANDOM_PROGRAM_H_

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kiln/support/random.h"
#include "kiln/support/stable_sort.h"
#include "kiln/targets/cgra/config/config.h"
#include "kiln/targets/cgra/graph/graph.h"
#include "kiln/targets/cgra/graph/mapping.h"
#include "kiln/targets/cgra/isa/configure.h"
#include "kiln/targets/cgra/isa/program.h"
#include "kiln/targets/cgra/map/problem.h"

namespace kiln::cgra {

// Returns a machine that can be built, of any size that random programs use.
inline Config RandomMachine(Random* random) {
  const auto any = [random](auto... values) {
    const int list[] = {values...};
    return list[random->Below(sizeof...(values))];
  };
  Config config;
  config.name = "random";
  config.columns = any(4, 6, 8, 16);
  config.reach = any(1, 2, 2, 3);
  config.lanes = any(2, 4, 16);
  config.memory_depth = any(64, 128, 512);
  config.instruction_depth = any(4, 8, 16);
  config.spoke_depth = any(8, 16);
  config.ring_entries = any(8, 16, 32);
  config.output_depth = any(4, 8, 16, 32);
  config.outputs = any(2, 4, 8);
  config.wait_limit = any(3, 7, 8, 16, 64);
  config.floats = any(0, 0, 1) == 1;
  config.pipeline_latency = config.floats ? 5 : 3;
  return config;
}

// Makes a random graph of `size` instructions: operators of all kinds that streams allow,
// constants, inputs, variables, literals, predicates, and values for later threads.
class GraphMaker {
 public:
  GraphMaker(int size, bool floats, Random* random)
      : size_(size), floats_(floats), random_(*random) {}

  ComputationGraph Make() {
    graph_.name = "random";
    graph_.source = "random";
    const int inputs = static_cast<int>(random_.Between(0, 3));
    for (int i = 0; i < inputs; ++i) values_.push_back(Add(Op::kInput, "in"));
    const int variables = static_cast<int>(random_.Between(0, 2));
    for (int i = 0; i < variables; ++i) {
      values_.push_back(Add(Op::kVariable, "variable", static_cast<int32_t>(random_())));
    }
    for (int i = 0; i < size_; ++i) AddInstruction();
    AddLoops();
    const int outputs = static_cast<int>(random_.Between(1, 2));
    for (int i = 0; i < outputs; ++i) {
      const int node = Add(Op::kOutput, "out");
      graph_.edges.push_back(
          {instructions_[instructions_.size() - 1 - static_cast<size_t>(i) % instructions_.size()],
           node});
    }
    return std::move(graph_);
  }

 private:
  int Add(Op op, const std::string& name, std::optional<int32_t> literal = std::nullopt) {
    graph_.nodes.push_back({.name = name + std::to_string(graph_.nodes.size()),
                            .op = op,
                            .label = "",
                            .literal = literal});
    return static_cast<int>(graph_.nodes.size()) - 1;
  }

  // Returns a value that an operand can be: more often a recent instruction's.
  int AnyValue() {
    if (!instructions_.empty() && random_.Below(4) != 0) {
      const size_t recent = std::min<size_t>(instructions_.size(), 6);
      return instructions_[instructions_.size() - 1 - random_.Below(recent)];
    }
    if (!values_.empty() && random_.Below(3) != 0) return values_[random_.Below(values_.size())];
    return Add(Op::kConst, "const", static_cast<int32_t>(random_.Between(-20, 20)));
  }

  void AddInstruction() {
    static constexpr Op kIntegers[] = {Op::kMul,   Op::kShl, Op::kShr, Op::kSra,    Op::kAdd,
                                       Op::kSub,   Op::kAnd, Op::kOr,  Op::kXor,    Op::kMin,
                                       Op::kMax,   Op::kLt,  Op::kEq,  Op::kSelect, Op::kPass,
                                       Op::kMerge, Op::kMul, Op::kAdd, Op::kSub};
    static constexpr Op kFloats[] = {Op::kFMul, Op::kFAdd, Op::kFSub};
    const bool is_float = floats_ && random_.Below(2) == 0;
    const Op op = is_float ? kFloats[random_.Below(std::size(kFloats))]
                           : kIntegers[random_.Below(std::size(kIntegers))];
    const int operands = RowOf(op).operands;
    const int literal_at = random_.Below(6) == 0
                               ? static_cast<int>(random_.Below(static_cast<uint64_t>(operands)))
                               : -1;
    std::vector<int> sources;
    for (int i = 0; i < operands; ++i) sources.push_back(i == literal_at ? -1 : AnyValue());
    const bool predicate = op != Op::kSelect && !is_float && random_.Below(8) == 0;
    const int condition = predicate ? AnyValue() : -1;
    const int node =
        Add(op, std::string(RowOf(op).name),
            literal_at >= 0 ? std::optional<int32_t>(static_cast<int32_t>(random_.Between(-9, 9)))
                            : std::nullopt);
    for (int i = 0; i < operands; ++i) {
      if (sources[static_cast<size_t>(i)] < 0) continue;
      graph_.edges.push_back(
          {.source = sources[static_cast<size_t>(i)], .target = node, .operand = i});
    }
    if (predicate) {
      graph_.edges.push_back({.source = condition, .target = node, .kind = EdgeKind::kPredicate});
    }
    instructions_.push_back(node);
  }

  // Turns a few operands into values of earlier threads.
  void AddLoops() {
    for (GraphEdge& edge : graph_.edges) {
      if (random_.Below(12) != 0) continue;
      if (RowOf(graph_.nodes[static_cast<size_t>(edge.source)].op).role != Role::kCompute) continue;
      edge.distance = static_cast<int>(random_.Between(1, 2));
      edge.initial = random_.Below(2) == 0 ? 0 : static_cast<int32_t>(random_.Between(-5, 5));
      // Some come from the node itself or from a later one.
      if (edge.kind == EdgeKind::kData && random_.Below(2) == 0) {
        const size_t place = random_.Below(instructions_.size());
        if (instructions_[place] >= edge.target) edge.source = instructions_[place];
      }
    }
  }

  const int size_;
  const bool floats_;
  Random& random_;
  ComputationGraph graph_;
  std::vector<int> values_, instructions_;
};

// Maps a problem at random: instructions in order, each to any tile and cycle that the rules allow
// near the earliest. Returns nothing if an instruction finds none.
inline std::optional<std::vector<Place>> RandomPlaces(const Problem& problem, int interval,
                                                      Random* random) {
  const Config& config = problem.config;
  const auto count = static_cast<size_t>(problem.size());
  std::vector<Place> places(count);
  std::set<std::pair<int, int>> used;  // tile and slot
  std::vector<int> group_tile(problem.groups.size(), -1);
  for (size_t v = 0; v < count; ++v) {
    struct Choice {
      Place place;
      int order;
    };
    std::vector<Choice> choices;
    const int group = problem.group[v];
    for (int tile = 0; tile < config.tiles(); ++tile) {
      if (group >= 0 && group_tile[static_cast<size_t>(group)] >= 0 &&
          group_tile[static_cast<size_t>(group)] != tile) {
        continue;
      }
      bool allowed = true;
      for (const auto& [a, b] : problem.siblings) {
        const auto other = static_cast<size_t>(a == static_cast<int>(v) ? b : a);
        if (a != static_cast<int>(v) && b != static_cast<int>(v)) continue;
        allowed = allowed && (other >= v || places[other].tile != tile);
      }
      const bool is_start =
          std::ranges::find(problem.starts, static_cast<int>(v)) != problem.starts.end();
      for (const int start : problem.starts) {
        if (is_start && start < static_cast<int>(v)) {
          allowed = allowed && places[static_cast<size_t>(start)].tile != tile;
        }
      }
      if (!allowed) continue;
      // The range of issue cycles that dependences to placed instructions and itself allow.
      int low = 0, high = problem.source[v] ? interval - 1 : 1 << 20;
      for (const Dependence& d : problem.dependences) {
        const bool into = d.to == static_cast<int>(v) && d.from <= static_cast<int>(v);
        const bool from = d.from == static_cast<int>(v) && d.to < static_cast<int>(v);
        if (!into && !from) continue;
        const auto other = static_cast<size_t>(into ? d.from : d.to);
        const int there = other == v ? tile : places[other].tile;
        const int hops = d.moves ? HopCycles(config, tile, there) : 0;
        if (hops < 0) {
          allowed = false;
          break;
        }
        const int least = config.pipeline_latency + hops - d.distance * interval;
        const int most = d.moves && config.wait_limit >= 0 ? least + config.wait_limit : 1 << 20;
        if (other == v) {
          allowed = allowed && least <= 0 && 0 <= most;
        } else if (into) {
          low = std::max(low, places[other].issue + least);
          high = std::min(high, places[other].issue + most);
        } else {
          low = std::max(low, places[other].issue - most);
          high = std::min(high, places[other].issue - least);
        }
      }
      if (!allowed) continue;
      for (int issue = low; issue <= std::min(high, low + interval - 1); ++issue) {
        if (used.contains({tile, issue % interval})) continue;
        choices.push_back({{tile, issue}, issue});
      }
    }
    if (choices.empty()) return std::nullopt;
    StableSort(&choices, [](const Choice& a, const Choice& b) { return a.order < b.order; });
    // Mostly among the earliest, sometimes any.
    const size_t most =
        random->Below(6) == 0 ? choices.size() : std::min<size_t>(choices.size(), 5);
    places[v] = choices[random->Below(most)].place;
    used.insert({places[v].tile, places[v].issue % interval});
    if (group >= 0) group_tile[static_cast<size_t>(group)] = places[v].tile;
  }
  return places;
}

struct RandomProgram {
  ComputationGraph graph;
  Config config;
  Mapping mapping;
  CgraProgram program;
  std::vector<std::vector<std::vector<int32_t>>> inputs;  // by thread, input and lane
  std::vector<int32_t> data;                              // the same in one list
};

// Returns the random program of a seed, or nothing if the seed's graph has none; `why` gets the
// error of BuildConfiguration if that is the reason.
inline std::optional<RandomProgram> MakeRandomProgram(uint64_t seed, int threads,
                                                      std::string* why) {
  Random random(seed);
  RandomProgram made;
  made.config = RandomMachine(&random);
  made.graph =
      GraphMaker(static_cast<int>(random.Between(1, 24)), made.config.floats, &random).Make();
  if (!VerifyAndSort(&made.graph).ok()) return std::nullopt;
  ProblemOptions options;
  std::set<int> fused;
  for (const Fusion& fusion : Fusions(made.graph, made.config)) {
    if (random.Below(4) == 0) continue;
    if (fused.contains(fusion.multiply) || fused.contains(fusion.logic)) continue;
    fused.insert({fusion.multiply, fusion.logic});
    options.fusions.push_back(fusion);
  }
  for (size_t e = 0; e < made.graph.edges.size(); ++e) {
    options.passes.push_back(random.Below(10) == 0 ? static_cast<int>(random.Between(1, 2)) : 0);
  }
  const StatusOr<Problem> problem = BuildProblem(made.graph, made.config, options);
  if (!problem.ok()) return std::nullopt;
  for (int attempt = 0; attempt < 40; ++attempt) {
    const int interval = std::min(made.config.spoke_depth, 1 + attempt / 3);
    const auto places = RandomPlaces(*problem, interval, &random);
    if (!places) continue;
    made.mapping = MappingOf(made.graph, *problem, interval, *places);
    StatusOr<CgraProgram> program = BuildConfiguration(made.graph, made.mapping, made.config);
    if (!program.ok()) {
      *why = MessageOf(program.status());
      continue;
    }
    made.program = std::move(*program);
    for (int thread = 0; thread < threads; ++thread) {
      auto& all = made.inputs.emplace_back(made.program.inputs.size());
      for (auto& lanes : all) {
        for (int lane = 0; lane < made.config.lanes; ++lane) {
          // Small numbers, any bits, and floats near each other.
          const uint64_t kind = random.Below(3);
          auto value = static_cast<int32_t>(random());
          if (kind == 0) value = static_cast<int32_t>(random.Between(-3, 3));
          if (kind == 1) value = (value & ~0x7c000000) | 0x3c000000;
          lanes.push_back(value);
          made.data.push_back(value);
        }
      }
    }
    return made;
  }
  return std::nullopt;
}

}  // namespace kiln::cgra

#endif  // KILN_TESTS_TARGETS_CGRA_SIMULATE_RANDOM_PROGRAM_H_
