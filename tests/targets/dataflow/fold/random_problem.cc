// Random problems: graph, channels, candidates, FIFOs, and limits near what a random fold needs.
#include "tests/targets/dataflow/fold/random_problem.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "kiln/support/integer.h"
#include "kiln/targets/dataflow/fold/plain_model.h"

namespace kiln::dataflow {
namespace {

void AddEdge(FoldProblem& problem, int from, int to) {
  Edge& edge = problem.edges.emplace_back();
  edge.from = from;
  edge.to = to;
}

void AddLayer(FoldProblem& problem) {
  const size_t index = problem.layers.size();
  problem.layers.emplace_back().name = fmt::format("layer{}", index);
}

void MakeResidual(Random& random, int layers, FoldProblem& problem) {
  AddLayer(problem);
  int fork = 0;
  while (static_cast<int>(problem.layers.size()) < layers) {
    const auto inside = static_cast<int>(random.Between(1, 2));
    int end = fork;
    for (int i = 0; i < inside; ++i) {
      AddLayer(problem);
      AddEdge(problem, end, static_cast<int>(problem.layers.size()) - 1);
      end = static_cast<int>(problem.layers.size()) - 1;
    }
    int skip = fork;
    if (random.Below(3) == 0) {
      AddLayer(problem);
      skip = static_cast<int>(problem.layers.size()) - 1;
      AddEdge(problem, fork, skip);
    }
    AddLayer(problem);
    const auto join = static_cast<int>(problem.layers.size()) - 1;
    AddEdge(problem, end, join);
    AddEdge(problem, skip, join);
    fork = join;
    if (random.Below(2) == 0) {
      AddLayer(problem);
      AddEdge(problem, join, join + 1);
      fork = join + 1;
    }
  }
}

void MakeGeneral(Random& random, int layers, FoldProblem& problem) {
  for (int l = 0; l < layers; ++l) AddLayer(problem);
  // A random numbering, so that the order of layers is not topological.
  std::vector<int> number(static_cast<size_t>(layers));
  for (int l = 0; l < layers; ++l) number[static_cast<size_t>(l)] = l;
  for (size_t l = number.size(); l > 1; --l) std::swap(number[l - 1], number[random.Below(l)]);
  for (int to = 1; to < layers; ++to) {
    for (int from = 0; from < to; ++from) {
      if (random.Below(from == to - 1 ? 4 : 3) != 0 && from != to - 1) continue;
      if (from == to - 1 && random.Below(5) == 0) continue;
      AddEdge(problem, number[static_cast<size_t>(from)], number[static_cast<size_t>(to)]);
      if (random.Below(20) == 0) problem.edges.push_back(problem.edges.back());
    }
  }
}

Candidate RandomCandidate(Random& random, int in_channels, int out_channels, int64_t pixels) {
  const std::vector<int> ins = DivisorsOf(in_channels), outs = DivisorsOf(out_channels);
  Candidate candidate;
  candidate.in_lanes = ins[random.Below(ins.size())];
  candidate.out_lanes = outs[random.Below(outs.size())];
  candidate.cycles =
      pixels * (in_channels / candidate.in_lanes) * (out_channels / candidate.out_lanes);
  if (random.Below(4) == 0) candidate.cycles = random.Between(1, 40);
  candidate.latency = random.Between(0, 15);
  candidate.tag = static_cast<int>(random.Below(3));
  const int64_t product = int64_t{candidate.in_lanes} * candidate.out_lanes;
  candidate.resources = {product * random.Between(1, 2), random.Between(0, 6),
                         candidate.tag == 2 ? random.Between(1, 2) : 0,
                         product * 3 + random.Between(0, 20)};
  return candidate;
}

Fifo RandomFifo(Random& random) {
  Fifo fifo;
  fifo.elements_per_frame = random.Between(0, 64);
  fifo.burst = random.Below(3) == 0 ? random.Between(1, 8) : 0;
  const int64_t lut_per_word = random.Between(1, 3), deepest = random.Between(4, 200);
  const int64_t words_of_bram = random.Between(2, 16);
  const bool uram = random.Below(2) == 0;
  fifo.cost = [=](int64_t elements, int lanes) {
    const int64_t words = CeilDivide(elements, lanes);
    std::vector<FifoOption> options;
    if (words <= deepest) options.push_back({{0, 0, 0, words * lanes * lut_per_word}, 0});
    options.push_back({{0, CeilDivide(words, words_of_bram) * CeilDivide(lanes, 2), 0, 2}, 1});
    if (uram) options.push_back({{0, 0, CeilDivide(words, 8 * words_of_bram), 1}, 2});
    if (words > 4 * deepest) options.clear();
    return options;
  };
  return fifo;
}

// Makes lanes of 1 frequent, so that most problems have folds that couple.
void SimplifyLanes(Random& random, FoldProblem& problem) {
  for (Layer& layer : problem.layers) {
    for (Candidate& candidate : layer.candidates) {
      if (random.Below(3) == 0) candidate.out_lanes = 1;
    }
    if (random.Below(4) != 0) layer.candidates[0].in_lanes = layer.candidates[0].out_lanes = 1;
  }
}

// Sets limits near the needs of one random fold, preferably one that couples, so that some bind.
void SetLimits(Random& random, FoldProblem& problem) {
  Fold fold;
  for (int attempt = 0; attempt < 60; ++attempt) {
    fold.choice.clear();
    for (const Layer& layer : problem.layers) {
      fold.choice.push_back(static_cast<int>(random.Below(layer.candidates.size())));
    }
    const auto couples = [&](const Edge& edge) {
      const auto from = static_cast<size_t>(edge.from), to = static_cast<size_t>(edge.to);
      return Couples(
          edge.coupling,
          problem.layers[from].candidates[static_cast<size_t>(fold.choice[from])].out_lanes,
          problem.layers[to].candidates[static_cast<size_t>(fold.choice[to])].in_lanes);
    };
    if (std::all_of(problem.edges.begin(), problem.edges.end(), couples)) break;
  }
  const Resources needs = Evaluate(problem, ChooseFifos(problem, fold.choice).fold).resources;
  for (size_t kind = 0; kind < needs.size(); ++kind) {
    if (random.Below(4) == 0) continue;
    problem.limits[kind] =
        static_cast<int64_t>(static_cast<double>(needs[kind]) * random.Uniform(0.7, 1.6));
  }
}

}  // namespace

FoldProblem RandomProblem(uint64_t seed, const RandomOptions& options) {
  Random random(seed);
  FoldProblem problem;
  switch (options.shape) {
    case Shape::kChain:
      for (int l = 0; l < options.layers; ++l) {
        AddLayer(problem);
        if (l > 0) AddEdge(problem, l - 1, l);
      }
      break;
    case Shape::kResidual:
      MakeResidual(random, options.layers, problem);
      break;
    case Shape::kGeneral:
      MakeGeneral(random, options.layers, problem);
      break;
  }
  static constexpr int kChannels[] = {1, 2, 3, 4, 6, 8, 12};
  const auto coupling = static_cast<Coupling>(random.Below(4));
  const bool mixed = random.Below(4) == 0;
  for (Edge& edge : problem.edges) {
    edge.coupling = mixed ? static_cast<Coupling>(random.Below(4)) : coupling;
    edge.bits = random.Between(0, 100);
    const auto joins = std::count_if(problem.edges.begin(), problem.edges.end(),
                                     [&](const Edge& other) { return other.to == edge.to; });
    if (options.fifos && random.Below(joins > 1 ? 4 : 3) > (joins > 1 ? 0u : 1u)) {
      edge.fifo = RandomFifo(random);
    }
  }
  // As many candidates for each layer as the number of folds allows.
  const double each = std::pow(static_cast<double>(options.max_folds),
                               1.0 / static_cast<double>(problem.layers.size()));
  int channels = kChannels[random.Below(std::size(kChannels))];
  for (Layer& layer : problem.layers) {
    const int next = kChannels[random.Below(std::size(kChannels))];
    const int64_t most = std::max<int64_t>(1, static_cast<int64_t>(each));
    const int64_t count = random.Between(std::max<int64_t>(1, most / 2), most);
    const int64_t pixels = random.Between(1, 4);
    for (int64_t c = 0; c < count; ++c) {
      layer.candidates.push_back(RandomCandidate(random, channels, next, pixels));
    }
    channels = random.Below(5) == 0 ? kChannels[random.Below(std::size(kChannels))] : next;
  }
  SimplifyLanes(random, problem);
  SetLimits(random, problem);
  return problem;
}

Objective RandomObjective(Random& random, const FoldProblem& problem) {
  Objective objective;
  objective.goal = static_cast<Goal>(random.Below(3));
  objective.order = static_cast<ResourceOrder>(random.Below(4));
  if (random.Below(3) == 0) {
    const Layer& layer = problem.layers[random.Below(problem.layers.size())];
    objective.target_cycles = layer.candidates[random.Below(layer.candidates.size())].cycles + 2;
  }
  return objective;
}

}  // namespace kiln::dataflow
