// Trains policies of the cgra family's learned mapper, and compares them with other mappers.
//
//   cgra_learning train POLICY [--curve FILE] ...     trains, or goes on with POLICY.state
//   cgra_learning validate POLICY ... [--episodes N]  which of several policies is best
//   cgra_learning compare POLICY [--seconds S]        a table of mappers at equal time
//   cgra_learning ablate [--iterations N]             trains without parts, and compares
//
// Tables are Markdown. Graphs are half of the ten of tests/data/cgra and random ones; the other
// half and random graphs of other seeds are only for comparisons. `validate` has random graphs of a
// third range of seeds, which no other table contains. Comparisons are at the interval of the exact
// mapper; they name the graphs that it does not map, and leave them out.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <span>

#include "kiln/support/file.h"
#include "kiln/support/parallel.h"
#include "kiln/support/random.h"
#include "kiln/targets/cgra/graph/graph_file.h"
#include "kiln/targets/cgra/learn/ppo_mapper.h"
#include "kiln/targets/cgra/learn/train/train.h"
#include "kiln/targets/cgra/map/exact.h"
#include "kiln/targets/cgra/map/heuristics.h"

namespace kiln::cgra {
namespace {

constexpr std::string_view kTrained[] = {"array_add", "bicg", "fft", "gray", "sum"};
constexpr std::string_view kUnseen[] = {"atax", "dct4", "doitgen", "fir", "vadd"};
constexpr uint64_t kUnseenSeeds = uint64_t{1} << 40;  // of random graphs; training's are hashes
constexpr uint64_t kValidationSeeds = uint64_t{1} << 41;

StatusOr<std::vector<ComputationGraph>> GraphsOf(const std::string& folder,
                                                 std::span<const std::string_view> names) {
  std::vector<ComputationGraph> graphs;
  for (const std::string_view name : names) {
    KILN_ASSIGN_OR_RETURN(ComputationGraph graph,
                          ReadGraph(fmt::format("{}/{}.json", folder, name)));
    graph.name = name;
    graphs.push_back(std::move(graph));
  }
  return graphs;
}

struct Settings {
  std::string policy, curve, graphs = "tests/data/cgra";
  std::string design_point = "accelerators/se-16.yaml";  // of comparisons
  double seconds = 1;                                    // of a mapper and graph
  double exact_seconds = 10;
  double train_seconds = 0;  // 0: no limit
  int last_iteration = 0;    // 0: all
  int random_graphs = 30;
  int most_instructions = 32;
  std::vector<std::string> policies;  // to choose from
  int episodes = 20;                  // of each graph
  int variants = 7;                   // of the networks to train, the first ones
};

// Writes the policy, and beside it the state that training goes on from.
Status Store(const Settings& settings, const TrainingState& state) {
  KILN_RETURN_IF_ERROR(WriteFile(settings.policy + ".state", SerializeTraining(state)));
  const TrainingState policy{
      .weights = state.weights, .first = {}, .second = {}, .numbers = state.numbers};
  return WriteFile(settings.policy, SerializeTraining(policy));
}

// Trains to the end or until the time is over, and stores the state after every 10 iterations.
Status TrainTo(const TrainOptions& options, const Settings& settings, TrainingState* state) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<CurvePoint> curve;
  KILN_RETURN_IF_ERROR(Train(options, state, [&](const CurvePoint& point) {
    curve.push_back(point);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::cerr << fmt::format(
        "{:4} {:8} steps {:6.0f} s: reward {:7.3f}, mapped {:5.1f} %, latency {:.3f}, entropy "
        "{:.2f}, value loss {:.3f}\n",
        point.iteration, point.steps, seconds, point.reward, point.mapped * 100, point.latency,
        point.entropy, point.value_loss);
    if (point.iteration % 10 == 0) {
      const Status stored = Store(settings, *state);
      if (!stored.ok()) std::cerr << MessageOf(stored) << '\n';
    }
    return (settings.train_seconds == 0 || seconds < settings.train_seconds) &&
           point.iteration != settings.last_iteration;
  }));
  KILN_RETURN_IF_ERROR(Store(settings, *state));
  if (settings.curve.empty()) return OkStatus();
  KILN_RETURN_IF_ERROR(WriteFile(settings.curve + ".csv", CurveCsv(curve)));
  return WriteFile(settings.curve + ".svg", CurveSvg(curve));
}

// A graph at an interval, with the best latency that is known for it.
struct Case {
  ComputationGraph graph;
  Config config;
  int interval = 0, best = 0;
  bool proved = false;
  std::string set;  // "trained", "unseen", "random"
};

// What a mapper did with all cases of a set.
struct Score {
  int cases = 0, mapped = 0;
  double logs = 0;  // of latency over the best known one, over mapped cases
  int with_best = 0;
};

std::string ScoreText(const Score& score) {
  if (score.cases == 0) return "-";
  std::string text = fmt::format("{}/{}", score.mapped, score.cases);
  if (score.with_best > 0) text += fmt::format(", {:.3f}", std::exp(score.logs / score.with_best));
  return text;
}

// The graphs of a comparison, and the ones that it leaves out because the exact mapper has no
// mapping, which gives the interval.
struct Cases {
  std::vector<Case> mapped;
  std::vector<std::string> left_out;  // "random-7 (why)"
};

StatusOr<Cases> MakeCases(const Settings& settings) {
  KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(settings.design_point));
  KILN_ASSIGN_OR_RETURN(const Config config, ParseConfig(text, settings.design_point));
  Cases cases;
  const auto add = [&](ComputationGraph graph, std::string_view set) {
    StatusOr<MapResult> exact = MakeExactMapper()->Map(
        graph, config, {.seed = 1, .seconds = settings.exact_seconds, .on_better = {}});
    if (!exact.ok() || !exact->mapping) {
      std::string why = "the exact mapper finds no mapping";
      if (!exact.ok()) why = MessageOf(exact.status());
      if (exact.ok() && exact->impossible) why = exact->interval_why;
      cases.left_out.push_back(fmt::format("{} ({})", graph.name, why));
      return;
    }
    cases.mapped.push_back({.graph = std::move(graph),
                            .config = config,
                            .interval = exact->mapping->initiation_interval,
                            .best = exact->latency,
                            .proved = exact->optimal,
                            .set = std::string(set)});
  };
  KILN_ASSIGN_OR_RETURN(std::vector<ComputationGraph> trained, GraphsOf(settings.graphs, kTrained));
  KILN_ASSIGN_OR_RETURN(std::vector<ComputationGraph> unseen, GraphsOf(settings.graphs, kUnseen));
  for (ComputationGraph& graph : trained) add(std::move(graph), "trained");
  for (ComputationGraph& graph : unseen) add(std::move(graph), "unseen");
  for (int i = 0; i < settings.random_graphs; ++i) {
    add(RandomLearningGraph(kUnseenSeeds + static_cast<uint64_t>(i), settings.most_instructions),
        "random");
  }
  return cases;
}

using Named = std::vector<std::pair<std::string, std::shared_ptr<const Mapper>>>;

// Prints a row of the table for each mapper: share mapped and mean gap, at the interval that the
// exact mapper found.
void PrintTable(const Settings& settings, const Cases& all, const Named& mappers) {
  const std::vector<Case>& cases = all.mapped;
  int proved = 0;
  for (const Case& at : cases) proved += at.proved ? 1 : 0;
  fmt::print("{} of {} graphs are left out, as the exact mapper does not map them{}{}\n\n",
             all.left_out.size(), cases.size() + all.left_out.size(),
             all.left_out.empty() ? "." : ": ", fmt::join(all.left_out, "; "));
  fmt::print(
      "Mapped, and the geometric mean of latency over the least known one, at the interval of the "
      "exact mapper; {} s for each graph; {} of {} latencies are proved to be least.\n\n"
      "| mapper | trained graphs | unseen graphs | unseen random graphs | first attempt, random |\n"
      "|---|---|---|---|---|\n",
      settings.seconds, proved, cases.size());
  for (const auto& [name, mapper] : mappers) {
    std::map<std::string, Score> scores;
    for (const Case& at : cases) {
      for (const bool first : {false, true}) {
        MapOptions options{.initiation_interval = at.interval,
                           .seed = 1,
                           .seconds = settings.seconds,
                           .on_better = {}};
        if (first) {
          if (at.set != "random") continue;
          options.seconds = 0;
          options.steps = 1;
          // One attempt at the problem with fused instructions, none at the other one.
          options.fuse = true;
        }
        const StatusOr<MapResult> result = mapper->Map(at.graph, at.config, options);
        Score& score = scores[first ? "first" : at.set];
        ++score.cases;
        if (!result.ok() || !result->mapping) continue;
        ++score.mapped;
        ++score.with_best;
        score.logs += std::log(static_cast<double>(result->latency) / at.best);
      }
    }
    fmt::print("| {} | {} | {} | {} | {} |\n", name, ScoreText(scores["trained"]),
               ScoreText(scores["unseen"]), ScoreText(scores["random"]),
               ScoreText(scores["first"]));
    std::fflush(stdout);
  }
}

// Prints what policies do in a number of episodes, so that no time counts.
Status Validate(const Settings& settings) {
  fmt::print(
      "{} random graphs, {} episodes each\n\n| policy | mapped | interval over its bound | latency "
      "over its bound |\n|---|---|---|---|\n",
      settings.random_graphs, settings.episodes);
  for (const std::string& path : settings.policies) {
    KILN_ASSIGN_OR_RETURN(const std::shared_ptr<const Policy> policy, ReadPolicy(path));
    const std::unique_ptr<Mapper> mapper = MakePpoMapper(policy);
    int mapped = 0;
    double intervals = 0, latencies = 0;  // logarithms
    for (int i = 0; i < settings.random_graphs; ++i) {
      const ComputationGraph graph = RandomLearningGraph(
          kValidationSeeds + static_cast<uint64_t>(i), settings.most_instructions);
      const StatusOr<MapResult> result =
          mapper->Map(graph, {}, {.seed = 1, .steps = settings.episodes, .on_better = {}});
      if (!result.ok() || !result->mapping) continue;
      ++mapped;
      intervals += std::log(static_cast<double>(result->mapping->initiation_interval) /
                            result->interval_bound);
      latencies += std::log(static_cast<double>(result->latency) / result->latency_bound);
    }
    const int count = std::max(mapped, 1);
    fmt::print("| {} | {} | {:.4f} | {:.4f} |\n", path, mapped, std::exp(intervals / count),
               std::exp(latencies / count));
    std::fflush(stdout);
  }
  return OkStatus();
}

Named OtherMappers() {
  return {{"random", MakeRandomMapper()},
          {"greedy", MakeGreedyMapper()},
          {"annealing", MakeAnnealingMapper()},
          {"evolutionary", MakeEvolutionaryMapper()}};
}

Status Compare(const Settings& settings) {
  KILN_ASSIGN_OR_RETURN(const Cases cases, MakeCases(settings));
  KILN_ASSIGN_OR_RETURN(const std::shared_ptr<const Policy> policy, ReadPolicy(settings.policy));
  Named mappers = OtherMappers();
  mappers.emplace_back("ppo", MakePpoMapper(policy));
  mappers.emplace_back("ppo, not trained",
                       MakePpoMapper(std::make_shared<const Policy>(InitialWeights({}, 1))));
  PrintTable(settings, cases, mappers);
  return OkStatus();
}

Status Ablate(const TrainOptions& base, const Settings& settings) {
  struct Variant {
    std::string_view name;
    std::function<void(TrainOptions*)> change;
  };
  const Variant variants[] = {
      {"all parts", [](TrainOptions*) {}},
      {"without attention", [](TrainOptions* o) { o->shape.attention = false; }},
      {"without graph network",
       [](TrainOptions* o) { o->shape.graph = o->shape.attention = false; }},
      {"without look-ahead in the mask", [](TrainOptions* o) { o->look_ahead = false; }},
      {"without mask", [](TrainOptions* o) { o->mask = false; }},
      {"reward of the paper",
       [](TrainOptions* o) {
         o->delay_weight = 1;
         o->bound_weight = 0;
       }},
      {"3 stacked layers", [](TrainOptions* o) { o->shape.stacked = true; }},
  };
  Named mappers;
  fmt::print("| network | episodes mapped in training | latency over its bound |\n|---|---|---|\n");
  for (const Variant& variant : std::span(variants).first(
           std::min(std::size(variants), static_cast<size_t>(settings.variants)))) {
    TrainOptions options = base;
    variant.change(&options);
    if (options.shape.stacked) options.most_tiles = kStackedTiles;
    TrainingState state = BeginTraining(options);
    double mapped = 0, logs = 0;
    int points = 0;
    const Status status = Train(options, &state, [&](const CurvePoint& point) {
      if (point.iteration > options.iterations - 5) {
        mapped += point.mapped;
        // An iteration that maps no episode has no latency.
        if (point.mapped > 0) logs += point.mapped * std::log(point.latency);
        ++points;
      }
      return true;
    });
    KILN_RETURN_IF_ERROR(status);
    fmt::print("| {} | {:.1f} % | {} |\n", variant.name, 100 * mapped / points,
               mapped > 0 ? fmt::format("{:.3f}", std::exp(logs / mapped)) : "-");
    std::fflush(stdout);
    mappers.emplace_back(variant.name,
                         MakePpoMapper(std::make_shared<const Policy>(state.weights)));
  }
  fmt::print("\n");
  KILN_ASSIGN_OR_RETURN(const Cases cases, MakeCases(settings));
  PrintTable(settings, cases, mappers);
  return OkStatus();
}

int Main(int argc, char** argv) {
  CLI::App app{"Trains and compares policies of the learned mapper."};
  app.require_subcommand(1);
  Settings settings;
  TrainOptions options;
  bool resume = false;
  CLI::App* train = app.add_subcommand("train", "trains a policy");
  CLI::App* compare = app.add_subcommand("compare", "compares mappers");
  CLI::App* ablate = app.add_subcommand("ablate", "trains without parts and compares");
  CLI::App* validate = app.add_subcommand("validate", "compares policies with each other");
  validate->add_option("policies", settings.policies)->required();
  ablate->add_option("--variants", settings.variants, "how many networks to train")
      ->check(CLI::Range(1, 7));
  validate->add_option("--episodes", settings.episodes, "of each graph");
  for (CLI::App* sub : {train, compare}) sub->add_option("policy", settings.policy)->required();
  for (CLI::App* sub : {train, compare, ablate, validate}) {
    sub->add_option("--graphs", settings.graphs, "folder of the ten graphs");
    sub->add_option("--most", settings.most_instructions, "instructions of random graphs");
  }
  for (CLI::App* sub : {train, ablate}) {
    sub->add_option("--seed", options.seed);
    sub->add_option("--iterations", options.iterations);
    sub->add_option("--problems", options.problems, "of an iteration");
    sub->add_option("--minibatch", options.minibatch, "steps");
    sub->add_option("--delay", options.delay_weight, "weight of the cycles since predecessors");
    sub->add_option("--rate", options.ppo.rate);
    sub->add_option("--entropy", options.ppo.entropy);
  }
  for (CLI::App* sub : {compare, ablate}) {
    sub->add_option("--seconds", settings.seconds, "of each mapper and graph");
    sub->add_option("--exact-seconds", settings.exact_seconds, "of the exact mapper and graph");
    sub->add_option("--on", settings.design_point, "the design point")->capture_default_str();
  }
  for (CLI::App* sub : {compare, ablate, validate}) {
    sub->add_option("--random-graphs", settings.random_graphs);
  }
  train->add_option("--curve", settings.curve, "writes FILE.csv and FILE.svg");
  train->add_option("--seconds", settings.train_seconds, "ends earlier; goes on with --resume");
  train->add_option("--last", settings.last_iteration, "ends after this iteration");
  train->add_flag("--resume", resume, "goes on with the state in POLICY.state");
  CLI11_PARSE(app, argc, argv);
  options.most_instructions = settings.most_instructions;
  Status status;
  const auto graphs = GraphsOf(settings.graphs, kTrained);
  if (!graphs.ok()) {
    status = graphs.status();
  } else if (options.graphs = *graphs; *train) {
    TrainingState state = BeginTraining(options);
    if (resume) {
      StatusOr<TrainingState> read = ReadTraining(settings.policy + ".state");
      if (read.ok()) state = *std::move(read);
      status = read.status();
    }
    if (status.ok()) status = TrainTo(options, settings, &state);
  } else if (*compare) {
    status = Compare(settings);
  } else if (*validate) {
    status = Validate(settings);
  } else {
    status = Ablate(options, settings);
  }
  if (status.ok()) return 0;
  std::cerr << MessageOf(status) << '\n';
  return 1;
}

}  // namespace
}  // namespace kiln::cgra

int main(int argc, char** argv) { return kiln::cgra::Main(argc, argv); }
