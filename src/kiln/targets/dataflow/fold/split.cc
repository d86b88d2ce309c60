// What both kinds of splits share: the bits that cross a cut, and the rules of a split over
// devices.
#include "kiln/targets/dataflow/fold/split.h"

#include <algorithm>

#include <fmt/format.h>

namespace kiln::dataflow {

int64_t LinkCycles(int64_t bits, int64_t bits_per_cycle) {
  return bits == 0 || bits_per_cycle == kUnlimited ? 0 : (bits - 1) / bits_per_cycle + 1;
}

int64_t BitsAcross(const FoldProblem& problem, const std::vector<int>& order, size_t cut) {
  std::vector<size_t> position(order.size());
  for (size_t i = 0; i < order.size(); ++i) position[static_cast<size_t>(order[i])] = i;
  std::vector<int64_t> bits(order.size(), 0);  // per producer
  for (const Edge& edge : problem.edges) {
    const auto u = static_cast<size_t>(edge.from);
    if (position[u] < cut && position[static_cast<size_t>(edge.to)] >= cut) {
      bits[u] = std::max(bits[u], edge.bits);
    }
  }
  int64_t sum = 0;
  for (const int64_t producer : bits) sum += producer;
  return sum;
}

int64_t LeastAmountOf(const Layer& layer, size_t kind) {
  int64_t least = kUnlimited;
  for (const Candidate& c : layer.candidates) least = std::min(least, c.resources[kind]);
  return least;
}

std::string LayerBeyond(const FoldProblem& problem, const Resources& limits,
                        std::string_view device) {
  for (const Layer& layer : problem.layers) {
    for (int kind = 0; kind < kResourceKinds; ++kind) {
      const auto k = static_cast<size_t>(kind);
      const int64_t least = LeastAmountOf(layer, k);
      if (least <= limits[k]) continue;
      return fmt::format("layer {}: even its smallest fold needs {} {}, {} has {}", layer.name,
                         least, ResourceName(kind), device, limits[k]);
    }
  }
  return "";
}

std::optional<DeviceSplit> EvaluateSplit(const FoldProblem& problem, const DeviceRow& row,
                                         const Fold& fold, const std::vector<int>& device) {
  const std::vector<int> order = TopologicalOrder(problem);
  const size_t devices = row.limits.size();
  DeviceSplit split;
  split.parts.resize(devices);
  split.period = Evaluate(problem, fold).l_max;
  size_t at = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const auto next = static_cast<size_t>(device[static_cast<size_t>(order[i])]);
    if (next < at || next >= devices) return std::nullopt;
    for (; at < next; ++at) {
      split.parts[at].link_bits = BitsAcross(problem, order, i);
      split.parts[at].link_cycles = LinkCycles(split.parts[at].link_bits, row.bits_per_cycle[at]);
      split.period = std::max(split.period, split.parts[at].link_cycles);
    }
    split.parts[at].layers.push_back(order[i]);
  }
  const FoldMetrics metrics = EvaluateAt(problem, fold, split.period);
  const auto candidate_of = [&](int layer) -> const Candidate& {
    const auto l = static_cast<size_t>(layer);
    return problem.layers[l].candidates[static_cast<size_t>(fold.choice[l])];
  };
  for (size_t l = 0; l < problem.layers.size(); ++l) {
    const Candidate& candidate = candidate_of(static_cast<int>(l));
    split.idle += split.period - candidate.cycles;
    AddTo(split.parts[static_cast<size_t>(device[l])].used, candidate.resources);
  }
  for (size_t e = 0; e < problem.edges.size(); ++e) {
    const Edge& edge = problem.edges[e];
    const int from = device[static_cast<size_t>(edge.from)];
    const int to = device[static_cast<size_t>(edge.to)];
    if ((from == to || !row.links_convert) &&
        !Couples(edge.coupling, candidate_of(edge.from).out_lanes,
                 candidate_of(edge.to).in_lanes)) {
      return std::nullopt;
    }
    if (metrics.elements[e] == 0) continue;
    const std::vector<FifoOption> options =
        OptionsOf(*edge.fifo, metrics.elements[e], candidate_of(edge.to).in_lanes);
    const int option = fold.fifo_option.empty() ? -1 : fold.fifo_option[e];
    if (option < 0 || option >= static_cast<int>(options.size())) return std::nullopt;
    AddTo(split.parts[static_cast<size_t>(to)].used,
          options[static_cast<size_t>(option)].resources);
  }
  for (size_t d = 0; d < devices; ++d) {
    if (!Fits(split.parts[d].used, row.limits[d])) return std::nullopt;
  }
  split.fold = fold;
  return split;
}

}  // namespace kiln::dataflow
