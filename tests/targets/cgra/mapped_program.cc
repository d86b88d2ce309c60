// Draws graphs, maps them, and counts what they have.
#include "tests/targets/cgra/mapped_program.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "fmt/format.h"
#include "kiln/targets/cgra/check/check.h"
#include "kiln/targets/cgra/graph/evaluate.h"
#include "kiln/targets/cgra/graph/random_graph.h"
#include "kiln/targets/cgra/isa/stream.h"
#include "kiln/targets/cgra/isa/timing.h"
#include "kiln/targets/cgra/map/exact.h"
#include "kiln/targets/cgra/map/heuristics.h"
#include "kiln/targets/cgra/simulate/cycle/cycle.h"
#include "kiln/targets/cgra/simulate/cycle/flows.h"
#include "kiln/targets/cgra/simulate/functional/functional.h"
#include "tests/targets/cgra/simulate/random_program.h"

namespace kiln::cgra {
namespace {

using Inputs = std::vector<std::vector<Vector>>;  // by thread and input

struct MapperChoice {
  std::string_view name;
  std::unique_ptr<Mapper> (*make)();
  int64_t steps;
};
// A fifth of the seeds is mapped by the exact mapper.
constexpr MapperChoice kChoices[] = {{"exact", [] { return MakeExactMapper(); }, 20000},
                                     {"greedy", &MakeGreedyMapper, 40},
                                     {"annealing", &MakeAnnealingMapper, 120},
                                     {"greedy", &MakeGreedyMapper, 40},
                                     {"annealing", &MakeAnnealingMapper, 120}};

Inputs RandomInputs(size_t inputs, int threads, int lanes, Random* random) {
  Inputs all(static_cast<size_t>(threads), std::vector<Vector>(inputs));
  for (auto& thread : all) {
    for (Vector& vector : thread) {
      for (int lane = 0; lane < lanes; ++lane) {
        // Small numbers, any bits, and floats near each other.
        const uint64_t kind = random->Below(3);
        auto value = static_cast<int32_t>((*random)());
        if (kind == 0) value = static_cast<int32_t>(random->Between(-3, 3));
        if (kind == 1) value = (value & ~0x7c000000) | 0x3c000000;
        vector.push_back(value);
      }
    }
  }
  return all;
}

// Gives a random instruction its own result of an earlier thread in place of an operand.
void AddAccumulator(ComputationGraph* graph, Random* random) {
  std::vector<size_t> edges;
  for (size_t e = 0; e < graph->edges.size(); ++e) {
    const GraphEdge& edge = graph->edges[e];
    const Role role = RowOf(graph->nodes[static_cast<size_t>(edge.target)].op).role;
    if (edge.kind == EdgeKind::kData && role == Role::kCompute) edges.push_back(e);
  }
  if (edges.empty()) return;
  GraphEdge& edge = graph->edges[edges[random->Below(edges.size())]];
  edge.source = edge.target;
  edge.distance = static_cast<int>(random->Between(1, 2));
  edge.initial = static_cast<int32_t>(random->Between(-5, 5));
}

// Maps a graph; nothing if the mapper finds none. Errors: the checker refuses the mapping.
StatusOr<std::optional<Mapping>> MapAndCheck(const ComputationGraph& graph, const Config& config,
                                             const MapperChoice& choice, uint64_t seed,
                                             MappedCounts* counts) {
  const auto mapped = choice.make()->Map(graph, config, {.seed = seed, .steps = choice.steps});
  if (!mapped.ok()) {
    ++counts->no_problem;
    return std::nullopt;
  }
  if (!mapped->mapping) {
    ++counts->not_mapped;
    return std::nullopt;
  }
  const Verdict verdict = CheckMapping(graph, config, *mapped->mapping);
  if (verdict.legal()) return mapped->mapping;
  return absl::InternalError(
      fmt::format("the checker refuses what {} maps: {}", choice.name, PrintVerdict(verdict)));
}

void CountFeatures(const MappedProgram& made, MappedCounts* counts) {
  const auto any_node = [&](const auto& has) { return std::ranges::any_of(made.graph.nodes, has); };
  const auto any_edge = [&](const auto& has) { return std::ranges::any_of(made.graph.edges, has); };
  const auto count = [&](std::string_view name, bool has) {
    counts->features[std::string(name)] += has ? 1 : 0;
  };
  const auto fused = [&](bool floats) {
    for (size_t n = 0; n < made.graph.nodes.size(); ++n) {
      if (made.mapping.fused_into[n] < 0) continue;
      if ((made.graph.nodes[n].op == Op::kFMul) == floats) return true;
    }
    return false;
  };
  count("constants", any_node([](const GraphNode& n) { return n.op == Op::kConst; }));
  count("literals", any_node([](const GraphNode& n) {
          return n.literal && RowOf(n.op).role == Role::kCompute;
        }));
  count("inputs in tile memories", !made.program.inputs.empty());
  count("constants or variables in tile memories", !made.program.contents.empty());
  count("multiplications fused with their sums", fused(false));
  count("the same in binary32", fused(true));
  count("values of earlier threads",
        any_edge([](const GraphEdge& edge) { return edge.distance > 0; }));
  count("values of themselves", any_edge([](const GraphEdge& edge) {
          return edge.distance > 0 && edge.source == edge.target;
        }));
  count("pass-throughs", !made.mapping.passes.empty());
  count("predicates", any_edge([](const GraphEdge& e) { return e.kind == EdgeKind::kPredicate; }));
  count("selects", any_node([](const GraphNode& node) { return node.op == Op::kSelect; }));
  count("several outputs", made.program.outputs.size() > 1);
  ++counts->mappers[std::string(made.mapper)];
}

}  // namespace

StatusOr<std::optional<MappedProgram>> MakeMappedProgram(const Config& config, uint64_t seed,
                                                         MappedCounts* counts) {
  Random random(seed);
  MappedProgram made;
  made.graph = GraphMaker(static_cast<int>(random.Between(2, 24)), config.floats, &random).Make();
  if (random.Below(5) == 0) AddAccumulator(&made.graph, &random);
  if (!VerifyAndSort(&made.graph).ok()) {
    ++counts->no_problem;
    return std::nullopt;
  }
  const MapperChoice& choice = kChoices[seed % std::size(kChoices)];
  KILN_ASSIGN_OR_RETURN(const std::optional<Mapping> mapping,
                        MapAndCheck(made.graph, config, choice, seed, counts));
  if (!mapping) return std::nullopt;
  StatusOr<CgraProgram> program = BuildConfiguration(made.graph, *mapping, config);
  if (!program.ok()) {
    ++counts->refused;
    return std::nullopt;
  }
  made.mapping = *mapping;
  made.program = *std::move(program);
  made.mapper = choice.name;
  made.threads = static_cast<int>(random.Between(1, 60));
  made.first_sent = random.Below(5) == 0 ? made.threads / 3 : 0;

  const Inputs inputs =
      RandomInputs(made.program.inputs.size(), made.threads, config.lanes, &random);
  std::vector<int32_t> data;
  for (const auto& thread : inputs) {
    for (const Vector& vector : thread) data.insert(data.end(), vector.begin(), vector.end());
  }
  AppendLoad(made.program, &made.stream);
  AppendRun(made.program, made.threads, made.first_sent, data, &made.stream);
  EvaluateOptions evaluate;
  evaluate.threads = made.threads;
  evaluate.lanes = config.lanes;
  const Evaluation value = Evaluate(made.graph, inputs, evaluate);
  for (auto thread = static_cast<size_t>(made.first_sent); thread < value.outputs.size();
       ++thread) {
    for (const Vector& vector : value.outputs[thread]) AppendLanes(config, vector, &made.results);
  }
  CountFeatures(made, counts);
  return made;
}

StatusOr<int64_t> CompareLevels(const MappedProgram& made) {
  const Config& config = made.program.config;
  KILN_ASSIGN_OR_RETURN(const std::vector<uint8_t> fast,
                        FunctionalMachine(config).Run(made.stream));
  if (fast != made.results) {
    return absl::InternalError("the functional level gives other results than the graph");
  }
  KILN_ASSIGN_OR_RETURN(const CycleResult timed, CycleMachine(config).Run(made.stream));
  if (timed.bytes != made.results) {
    return absl::InternalError("the cycle level gives other results than the graph");
  }
  const int64_t closed = CyclesOf(made.program, made.threads);
  if (timed.trace.cycles == closed) return closed;
  return absl::InternalError(fmt::format("the cycle level takes {} cycles, the closed form says {}",
                                         timed.trace.cycles, closed));
}

namespace {

// Returns the cycles of the cycle level behind the memory of the options.
StatusOr<int64_t> CyclesBehind(const MappedProgram& made, const RtlOptions& options) {
  CycleOptions behind;
  behind.memory = StreamMemoryOf(options);
  behind.beats_out = made.beats();
  KILN_ASSIGN_OR_RETURN(const CycleResult timed,
                        CycleMachine(made.program.config).Run(made.stream, behind));
  if (timed.bytes == made.results) return timed.trace.cycles;
  return absl::InternalError("behind memory, the cycle level gives other results than the graph");
}

}  // namespace

StatusOr<int64_t> CompareHardware(const MappedProgram& made, const RtlMachine& machine,
                                  const RtlOptions& options, int64_t cycles) {
  KILN_ASSIGN_OR_RETURN(const RtlMachine::Result simulated,
                        machine.RunStream(made.stream, made.beats(), options));
  if (4 * simulated.data.size() != made.results.size() ||
      std::memcmp(simulated.data.data(), made.results.data(), made.results.size()) != 0) {
    return absl::InternalError("the hardware gives other results than the graph");
  }
  if (StreamMemoryOf(options).has_value()) {
    KILN_ASSIGN_OR_RETURN(cycles, CyclesBehind(made, options));
  }
  if (options.stall_probability > 0 || simulated.trace.cycles == cycles) {
    return simulated.trace.cycles;
  }
  return absl::InternalError(fmt::format("the hardware takes {} cycles, the cycle level {}",
                                         simulated.trace.cycles, cycles));
}

StatusOr<bool> CompareFlows(const Config& config, uint64_t seed) {
  Random random(seed);
  RandomGraphOptions options;
  options.instructions = static_cast<int>(random.Between(3, 20));
  options.memory = 0.3;
  options.carried = static_cast<int>(random.Below(3));
  options.predicate = 0.1;
  const ComputationGraph graph = RandomGraph(options, seed);
  MappedCounts counts;
  KILN_ASSIGN_OR_RETURN(
      const std::optional<Mapping> mapping,
      MapAndCheck(graph, config, kChoices[seed % std::size(kChoices)], seed, &counts));
  if (!mapping) return false;
  const int threads = static_cast<int>(random.Between(1, 40));
  const Inputs inputs = RandomInputs(InputsOf(graph).size(), threads, config.lanes, &random);
  Config machine = config;
  machine.async_latency = static_cast<int>(random.Below(20));
  KILN_ASSIGN_OR_RETURN(
      const FlowResult run,
      RunFlows(graph, *mapping, machine, inputs,
               {.threads = threads, .lanes = config.lanes, .memory = MixedMemory}));
  EvaluateOptions evaluate;
  evaluate.threads = threads;
  evaluate.lanes = config.lanes;
  const Evaluation value = Evaluate(graph, inputs, evaluate);
  if (run.outputs != value.outputs) {
    return absl::InternalError("the flows give other results than the graph");
  }
  if (run.stores != value.stores) {
    return absl::InternalError("the flows store other values than the graph");
  }
  return true;
}

}  // namespace kiln::cgra
