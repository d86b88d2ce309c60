// Checks of folding problems, the measures of a fold and the rules that it may violate.
#include "kiln/targets/dataflow/fold/problem.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "kiln/support/check.h"
#include "kiln/targets/dataflow/fold/objective.h"

namespace kiln::dataflow {
namespace {

std::string PlaceOfLayer(const FoldProblem& problem, int layer) {
  return fmt::format("layer '{}'", problem.layers[static_cast<size_t>(layer)].name);
}

std::string PlaceOfEdge(const FoldProblem& problem, const Edge& edge) {
  return fmt::format("edge '{}' -> '{}'", problem.layers[static_cast<size_t>(edge.from)].name,
                     problem.layers[static_cast<size_t>(edge.to)].name);
}

// Checks that `value` is from `low` to `high`.
Status CheckRange(const std::string& place, std::string_view what, int64_t value, int64_t low,
                  int64_t high) {
  if (value >= low && value <= high) return OkStatus();
  return ErrorAt("", place, fmt::format("{} is {}", what, value),
                 fmt::format("use a number from {} to {}", low, high));
}

Status CheckCandidates(const FoldProblem& problem, int index) {
  const Layer& layer = problem.layers[static_cast<size_t>(index)];
  const std::string place = PlaceOfLayer(problem, index);
  if (layer.candidates.empty()) {
    return ErrorAt("", place, "has no candidates", "give it at least one fold");
  }
  for (size_t i = 0; i < layer.candidates.size(); ++i) {
    const Candidate& candidate = layer.candidates[i];
    const auto check = [&](std::string_view what, int64_t value, int64_t low, int64_t high) {
      if (value >= low && value <= high) return OkStatus();
      return CheckRange(place, fmt::format("{} of candidate {}", what, i), value, low, high);
    };
    KILN_RETURN_IF_ERROR(check("in_lanes", candidate.in_lanes, 1, kMaxAmount));
    KILN_RETURN_IF_ERROR(check("out_lanes", candidate.out_lanes, 1, kMaxAmount));
    KILN_RETURN_IF_ERROR(check("cycles", candidate.cycles, 1, kMaxCycles));
    KILN_RETURN_IF_ERROR(check("latency", candidate.latency, 0, kMaxCycles));
    for (int kind = 0; kind < kResourceKinds; ++kind) {
      KILN_RETURN_IF_ERROR(
          check(ResourceName(kind), candidate.resources[static_cast<size_t>(kind)], 0, kMaxAmount));
    }
  }
  return OkStatus();
}

Status CheckEdge(const FoldProblem& problem, size_t index) {
  const Edge& edge = problem.edges[index];
  const auto layers = static_cast<int64_t>(problem.layers.size());
  for (const int end : {edge.from, edge.to}) {
    if (end < 0 || end >= layers) {
      return ErrorAt("", fmt::format("edge {}", index), fmt::format("names layer {}", end),
                     fmt::format("use a layer from 0 to {}", layers - 1));
    }
  }
  const std::string place = PlaceOfEdge(problem, edge);
  if (edge.from == edge.to) {
    return ErrorAt("", place, "joins a layer to itself", "remove the edge");
  }
  KILN_RETURN_IF_ERROR(CheckRange(place, "bits", edge.bits, 0, kMaxElements));
  if (!edge.fifo) return OkStatus();
  if (!edge.fifo->cost) {
    return ErrorAt("", place, "has a FIFO without a cost function", "give the FIFO one");
  }
  KILN_RETURN_IF_ERROR(
      CheckRange(place, "elements_per_frame", edge.fifo->elements_per_frame, 0, kMaxElements));
  return CheckRange(place, "burst", edge.fifo->burst, 0, kMaxElements);
}

// Returns the topological order, which is shorter than the number of layers if there is a cycle.
std::vector<int> OrderOf(const FoldProblem& problem) {
  std::vector<int> inputs(problem.layers.size(), 0);
  std::vector<std::vector<int>> next(problem.layers.size());
  for (const Edge& edge : problem.edges) {
    ++inputs[static_cast<size_t>(edge.to)];
    next[static_cast<size_t>(edge.from)].push_back(edge.to);
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (size_t l = 0; l < inputs.size(); ++l) {
    if (inputs[l] == 0) ready.push(static_cast<int>(l));
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int layer = ready.top();
    ready.pop();
    order.push_back(layer);
    for (const int to : next[static_cast<size_t>(layer)]) {
      if (--inputs[static_cast<size_t>(to)] == 0) ready.push(to);
    }
  }
  return order;
}

Status CheckGraph(const FoldProblem& problem) {
  std::vector<int64_t> fifos(problem.layers.size(), 0);
  for (size_t e = 0; e < problem.edges.size(); ++e) {
    KILN_RETURN_IF_ERROR(CheckEdge(problem, e));
    if (problem.edges[e].fifo) ++fifos[static_cast<size_t>(problem.edges[e].to)];
  }
  for (size_t l = 0; l < fifos.size(); ++l) {
    KILN_RETURN_IF_ERROR(CheckRange(PlaceOfLayer(problem, static_cast<int>(l)),
                                    "the number of its inputs with a FIFO", fifos[l], 0,
                                    kMaxFifosOfLayer));
  }
  const std::vector<int> order = OrderOf(problem);
  if (order.size() == problem.layers.size()) return OkStatus();
  std::vector<bool> ordered(problem.layers.size(), false);
  for (const int layer : order) ordered[static_cast<size_t>(layer)] = true;
  // Each layer that is not ordered has a producer that is not ordered either, so that a walk from
  // producer to producer ends in a cycle.
  int at = static_cast<int>(std::find(ordered.begin(), ordered.end(), false) - ordered.begin());
  for (size_t step = 0; step < problem.layers.size(); ++step) {
    for (const Edge& edge : problem.edges) {
      if (edge.to == at && !ordered[static_cast<size_t>(edge.from)]) {
        at = edge.from;
        break;
      }
    }
  }
  return ErrorAt("", PlaceOfLayer(problem, at), "is on a cycle of edges",
                 "give a graph without cycles");
}

// The start times of layers, in cycles.
std::vector<int64_t> StartTimes(const FoldProblem& problem, const std::vector<int>& choice) {
  std::vector<std::vector<int>> inputs(problem.layers.size());
  for (const Edge& edge : problem.edges) inputs[static_cast<size_t>(edge.to)].push_back(edge.from);
  std::vector<int64_t> start(problem.layers.size(), 0);
  for (const int layer : TopologicalOrder(problem)) {
    for (const int from : inputs[static_cast<size_t>(layer)]) {
      const auto u = static_cast<size_t>(from);
      const int64_t latency = problem.layers[u].candidates[static_cast<size_t>(choice[u])].latency;
      start[static_cast<size_t>(layer)] =
          std::max(start[static_cast<size_t>(layer)], start[u] + latency);
    }
  }
  return start;
}

// Returns the lines for indices of `fold` that are out of range.
std::vector<std::string> BadIndices(const FoldProblem& problem, const Fold& fold) {
  if (fold.choice.size() != problem.layers.size()) {
    return {fmt::format("the fold has {} choices, the problem {} layers", fold.choice.size(),
                        problem.layers.size())};
  }
  std::vector<std::string> lines;
  for (size_t l = 0; l < fold.choice.size(); ++l) {
    const auto count = static_cast<int64_t>(problem.layers[l].candidates.size());
    if (fold.choice[l] < 0 || fold.choice[l] >= count) {
      lines.push_back(fmt::format("layer {}: has no candidate {}, it has {}",
                                  problem.layers[l].name, fold.choice[l], count));
    }
  }
  if (!fold.fifo_option.empty() && fold.fifo_option.size() != problem.edges.size()) {
    lines.push_back(fmt::format("the fold has {} FIFOs, the problem {} edges",
                                fold.fifo_option.size(), problem.edges.size()));
  }
  return lines;
}

const Candidate& Chosen(const FoldProblem& problem, const std::vector<int>& choice, int layer) {
  const auto l = static_cast<size_t>(layer);
  return problem.layers[l].candidates[static_cast<size_t>(choice[l])];
}

int OptionOf(const Fold& fold, size_t edge) {
  return fold.fifo_option.empty() ? -1 : fold.fifo_option[edge];
}

// Partial sums of ChooseFifos: resources so far and the way back to the options.
struct FifoSum {
  Resources resources{};
  int parent = -1, option = -1;
};

constexpr size_t kMaxFifoSums = 64;

// Keeps the undominated sums, of these the kMaxFifoSums of lowest rank.
template <typename Rank>
void KeepBest(std::vector<FifoSum>& sums, Rank rank) {
  std::vector<FifoSum> kept;
  for (const FifoSum& sum : sums) {
    const auto beats = [&](const FifoSum& other) { return Fits(other.resources, sum.resources); };
    if (std::any_of(kept.begin(), kept.end(), beats)) continue;
    std::erase_if(kept, [&](const FifoSum& other) { return Fits(sum.resources, other.resources); });
    kept.push_back(sum);
  }
  std::sort(kept.begin(), kept.end(), [&](const FifoSum& a, const FifoSum& b) {
    return std::tuple(rank(a), a.parent, a.option) < std::tuple(rank(b), b.parent, b.option);
  });
  if (kept.size() > kMaxFifoSums) kept.resize(kMaxFifoSums);
  sums = std::move(kept);
}

}  // namespace

std::string_view ResourceName(int kind) {
  static constexpr std::array<std::string_view, kResourceKinds> kNames = {"DSP", "RAMB18", "URAM",
                                                                          "LUT", "memory ports"};
  return kNames[static_cast<size_t>(kind)];
}

void AddTo(Resources& sum, const Resources& more) {
  for (size_t kind = 0; kind < sum.size(); ++kind) sum[kind] += more[kind];
}

bool Fits(const Resources& amounts, const Resources& limits) {
  for (size_t kind = 0; kind < amounts.size(); ++kind) {
    if (amounts[kind] > limits[kind]) return false;
  }
  return true;
}

bool Couples(Coupling coupling, int out_lanes, int in_lanes) {
  switch (coupling) {
    case Coupling::kNextMultiple:
      return in_lanes % out_lanes == 0;
    case Coupling::kTwoWay:
      return in_lanes % out_lanes == 0 || out_lanes % in_lanes == 0;
    case Coupling::kEqual:
      return in_lanes == out_lanes;
    case Coupling::kNone:
      break;
  }
  return true;
}

Status CheckProblem(const FoldProblem& problem) {
  if (problem.layers.empty()) return ErrorAt("", "", "the problem has no layers", "give it one");
  const auto layers = static_cast<int64_t>(problem.layers.size());
  KILN_RETURN_IF_ERROR(CheckRange("", "the number of layers", layers, 1, kMaxLayers));
  KILN_RETURN_IF_ERROR(CheckRange("", "the number of edges",
                                  static_cast<int64_t>(problem.edges.size()), 0, kMaxEdges));
  int64_t candidates = 0;
  for (int l = 0; l < static_cast<int>(layers); ++l) {
    if (problem.layers[static_cast<size_t>(l)].name.empty()) {
      return ErrorAt("", fmt::format("layer {}", l), "has no name", "give it one");
    }
    candidates += static_cast<int64_t>(problem.layers[static_cast<size_t>(l)].candidates.size());
    KILN_RETURN_IF_ERROR(CheckRange("", "the number of candidates", candidates, 0, kMaxCandidates));
    KILN_RETURN_IF_ERROR(CheckCandidates(problem, l));
  }
  for (int kind = 0; kind < kResourceKinds; ++kind) {
    const int64_t limit = problem.limits[static_cast<size_t>(kind)];
    if (limit < 0) {
      return ErrorAt("", "limits", fmt::format("{} is {}", ResourceName(kind), limit),
                     "use 0 or more");
    }
  }
  return CheckGraph(problem);
}

std::vector<int> TopologicalOrder(const FoldProblem& problem) {
  std::vector<int> order = OrderOf(problem);
  KILN_CHECK(order.size() == problem.layers.size());
  return order;
}

// ceil(slack * elements_per_frame / period) + burst, in 128 bits where the product needs them.
int64_t FifoElements(const Fifo& fifo, int64_t slack, int64_t period) {
  constexpr __int128 kMost = int64_t{1} << 60;
  int64_t small = 0;
  // Divisions of 64 bits are several times faster.
  if (!__builtin_mul_overflow(slack, fifo.elements_per_frame, &small) && small < kMost) {
    return static_cast<int64_t>(
        std::min<__int128>((small + period - 1) / period + fifo.burst, kMost));
  }
  const auto product = static_cast<__int128>(slack) * fifo.elements_per_frame;
  return static_cast<int64_t>(std::min((product + period - 1) / period + fifo.burst, kMost));
}

std::vector<FifoOption> OptionsOf(const Fifo& fifo, int64_t elements, int lanes) {
  constexpr int64_t kMost = int64_t{1} << 40;
  std::vector<FifoOption> options = fifo.cost(elements, lanes);
  KILN_CHECK(options.size() <= static_cast<size_t>(kMaxFifoOptions));
  for (FifoOption& option : options) {
    for (int64_t& amount : option.resources) amount = std::clamp<int64_t>(amount, 0, kMost);
  }
  return options;
}

FoldMetrics Evaluate(const FoldProblem& problem, const Fold& fold) {
  return EvaluateAt(problem, fold, 0);
}

FoldMetrics EvaluateAt(const FoldProblem& problem, const Fold& fold, int64_t period) {
  KILN_CHECK(BadIndices(problem, fold).empty());
  FoldMetrics metrics;
  for (size_t l = 0; l < problem.layers.size(); ++l) {
    const Candidate& candidate = Chosen(problem, fold.choice, static_cast<int>(l));
    metrics.l_max = std::max(metrics.l_max, candidate.cycles);
    metrics.l_sum -= candidate.cycles;
    AddTo(metrics.resources, candidate.resources);
  }
  metrics.l_sum += metrics.l_max * static_cast<int64_t>(problem.layers.size());
  if (period == 0) period = metrics.l_max;
  const std::vector<int64_t> start = StartTimes(problem, fold.choice);
  for (size_t l = 0; l < problem.layers.size(); ++l) {
    metrics.latency = std::max(
        metrics.latency, start[l] + Chosen(problem, fold.choice, static_cast<int>(l)).latency);
  }
  for (size_t e = 0; e < problem.edges.size(); ++e) {
    const Edge& edge = problem.edges[e];
    const Candidate& from = Chosen(problem, fold.choice, edge.from);
    metrics.slack.push_back(start[static_cast<size_t>(edge.to)] -
                            start[static_cast<size_t>(edge.from)] - from.latency);
    metrics.elements.push_back(edge.fifo ? FifoElements(*edge.fifo, metrics.slack.back(), period)
                                         : 0);
    if (metrics.elements.back() == 0 || OptionOf(fold, e) < 0) continue;
    const std::vector<FifoOption> options = OptionsOf(
        *edge.fifo, metrics.elements.back(), Chosen(problem, fold.choice, edge.to).in_lanes);
    const auto option = static_cast<size_t>(OptionOf(fold, e));
    if (option < options.size()) AddTo(metrics.resources, options[option].resources);
  }
  return metrics;
}

std::vector<std::string> Violations(const FoldProblem& problem, const Fold& fold) {
  std::vector<std::string> lines = BadIndices(problem, fold);
  if (!lines.empty()) return lines;
  const FoldMetrics metrics = Evaluate(problem, fold);
  for (size_t e = 0; e < problem.edges.size(); ++e) {
    const Edge& edge = problem.edges[e];
    const Candidate& from = Chosen(problem, fold.choice, edge.from);
    const Candidate& to = Chosen(problem, fold.choice, edge.to);
    const std::string& consumer = problem.layers[static_cast<size_t>(edge.to)].name;
    const std::string& producer = problem.layers[static_cast<size_t>(edge.from)].name;
    if (!Couples(edge.coupling, from.out_lanes, to.in_lanes)) {
      lines.push_back(fmt::format("layer {}: reads words of {} lanes, but {} writes {}", consumer,
                                  to.in_lanes, producer, from.out_lanes));
    }
    if (metrics.elements[e] == 0) continue;
    const auto options =
        static_cast<int64_t>(OptionsOf(*edge.fifo, metrics.elements[e], to.in_lanes).size());
    if (OptionOf(fold, e) < 0 || OptionOf(fold, e) >= options) {
      lines.push_back(fmt::format(
          "layer {}: the FIFO from {} must hold {} elements and has no memory (option {} of {})",
          consumer, producer, metrics.elements[e], OptionOf(fold, e), options));
    }
  }
  for (int kind = 0; kind < kResourceKinds; ++kind) {
    const auto k = static_cast<size_t>(kind);
    if (metrics.resources[k] <= problem.limits[k]) continue;
    size_t largest = 0;
    const auto need = [&](size_t l) {
      return Chosen(problem, fold.choice, static_cast<int>(l)).resources[k];
    };
    for (size_t l = 1; l < problem.layers.size(); ++l) {
      if (need(l) > need(largest)) largest = l;
    }
    lines.push_back(fmt::format("the fold needs {} {}, the device has {}; layer {} needs {} of it",
                                metrics.resources[k], ResourceName(kind), problem.limits[k],
                                problem.layers[largest].name, need(largest)));
  }
  return lines;
}

// A beam search over the FIFOs, one after the other: partial sums of resources, undominated and at
// most kMaxFifoSums of them.
FifoChoice ChooseFifos(const FoldProblem& problem, std::vector<int> choice) {
  FifoChoice result;
  result.fold.choice = std::move(choice);
  const FoldMetrics metrics = Evaluate(problem, result.fold);
  const Resources weights = DeviceShareWeights(problem.limits);
  const auto rank = [&](const FifoSum& sum) {
    return std::pair(!Fits(sum.resources, problem.limits), Weighted(weights, sum.resources));
  };
  std::vector<std::vector<FifoSum>> levels = {{FifoSum{metrics.resources, -1, -1}}};
  std::vector<size_t> edges;
  bool buildable = true;
  for (size_t e = 0; e < problem.edges.size(); ++e) {
    if (metrics.elements[e] == 0) continue;
    const std::vector<FifoOption> options =
        OptionsOf(*problem.edges[e].fifo, metrics.elements[e],
                  Chosen(problem, result.fold.choice, problem.edges[e].to).in_lanes);
    buildable = buildable && !options.empty();
    if (options.empty()) continue;
    std::vector<FifoSum> next;
    for (size_t s = 0; s < levels.back().size(); ++s) {
      for (size_t o = 0; o < options.size(); ++o) {
        next.push_back({levels.back()[s].resources, static_cast<int>(s), static_cast<int>(o)});
        AddTo(next.back().resources, options[o].resources);
      }
    }
    KeepBest(next, rank);
    edges.push_back(e);
    levels.push_back(std::move(next));
  }
  size_t best = 0;
  for (size_t s = 1; s < levels.back().size(); ++s) {
    if (rank(levels.back()[s]) < rank(levels.back()[best])) best = s;
  }
  result.fits = buildable && Fits(levels.back()[best].resources, problem.limits);
  const auto has_fifo = [](const Edge& edge) { return edge.fifo.has_value(); };
  if (std::any_of(problem.edges.begin(), problem.edges.end(), has_fifo)) {
    result.fold.fifo_option.assign(problem.edges.size(), -1);
  }
  for (size_t at = edges.size(); at > 0; --at) {
    const FifoSum& sum = levels[at][best];
    result.fold.fifo_option[edges[at - 1]] = sum.option;
    best = static_cast<size_t>(sum.parent);
  }
  return result;
}

}  // namespace kiln::dataflow
