// Splits over passes: a shortest path over the cuts, each pass by the exact search.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "kiln/targets/dataflow/fold/exact_oracle.h"
#include "kiln/targets/dataflow/fold/model.h"
#include "kiln/targets/dataflow/fold/period_search.h"
#include "kiln/targets/dataflow/fold/split.h"

namespace kiln::dataflow {
namespace {

// The pipeline of the layers order[first], .., order[last - 1] by themselves. Fills `edges` with
// the numbers of its edges.
FoldProblem PartOf(const FoldProblem& problem, const std::vector<int>& order, size_t first,
                   size_t last, std::vector<size_t>* edges) {
  FoldProblem part;
  part.limits = problem.limits;
  std::vector<int> number(problem.layers.size(), -1);
  for (size_t i = first; i < last; ++i) {
    number[static_cast<size_t>(order[i])] = static_cast<int>(i - first);
    part.layers.push_back(problem.layers[static_cast<size_t>(order[i])]);
  }
  for (size_t e = 0; e < problem.edges.size(); ++e) {
    Edge edge = problem.edges[e];
    edge.from = number[static_cast<size_t>(edge.from)];
    edge.to = number[static_cast<size_t>(edge.to)];
    if (edge.from < 0 || edge.to < 0) continue;
    edges->push_back(e);
    part.edges.push_back(std::move(edge));
  }
  return part;
}

class PassSearch {
 public:
  PassSearch(const FoldProblem& problem, const PassOptions& options)
      : problem_(problem),
        options_(options),
        order_(TopologicalOrder(problem)),
        has_fifo_(std::any_of(problem.edges.begin(), problem.edges.end(),
                              [](const Edge& edge) { return edge.fifo.has_value(); })),
        position_(order_.size()) {
    for (size_t i = 0; i < order_.size(); ++i) position_[static_cast<size_t>(order_[i])] = i;
  }

  PassSplit Run() {
    const size_t count = order_.size();
    const size_t passes = std::min(count, static_cast<size_t>(options_.most_passes));
    proved_ = true;
    // [passes used][layers done]: least cycles, and where the last pass begins.
    std::vector<std::vector<int64_t>> best(passes + 1, std::vector<int64_t>(count + 1, kUnlimited));
    std::vector<std::vector<size_t>> from(passes + 1, std::vector<size_t>(count + 1, 0));
    best[0][0] = 0;
    for (size_t first = 0; first < count; ++first) {
      for (size_t last = first + 1; last <= count; ++last) {
        const int64_t cycles = CyclesOf(first, last);
        // More layers do not make an infeasible pass feasible; FIFOs could become smaller.
        if (cycles == kUnlimited && !has_fifo_) break;
        if (cycles == kUnlimited) continue;
        for (size_t p = 0; p < passes; ++p) {
          if (best[p][first] == kUnlimited) continue;
          const int64_t sum = best[p][first] + cycles + (first > 0 ? options_.reload_cycles : 0);
          if (sum >= best[p + 1][last]) continue;
          best[p + 1][last] = sum;
          from[p + 1][last] = first;
        }
      }
    }
    size_t used = 0;
    for (size_t p = 1; p <= passes; ++p) {
      if (best[p][count] < best[used][count]) used = p;
    }
    result_.optimal = proved_;
    result_.work = work_;
    if (best[used][count] == kUnlimited) {
      Explain();
      return std::move(result_);
    }
    result_.cycles = best[used][count];
    std::vector<std::pair<size_t, size_t>> cuts;
    for (size_t last = count; used > 0; --used) {
      cuts.emplace_back(from[used][last], last);
      last = cuts.back().first;
    }
    std::reverse(cuts.begin(), cuts.end());
    for (const auto& [first, last] : cuts) AddPart(first, last);
    return std::move(result_);
  }

 private:
  // Bits that the pass reads from memory and writes to it.
  int64_t MemoryBits(size_t first, size_t last) const {
    std::vector<int64_t> reads(order_.size(), 0), writes(order_.size(), 0);
    for (const Edge& edge : problem_.edges) {
      const auto u = static_cast<size_t>(edge.from);
      const size_t from = position_[u], to = position_[static_cast<size_t>(edge.to)];
      const bool from_inside = from >= first && from < last, to_inside = to >= first && to < last;
      if (to_inside && !from_inside) reads[u] = std::max(reads[u], edge.bits);
      if (from_inside && !to_inside) writes[u] = std::max(writes[u], edge.bits);
    }
    int64_t sum = 0;
    for (size_t l = 0; l < reads.size(); ++l) sum += reads[l] + writes[l];
    return sum;
  }

  FoldResult Solve(size_t first, size_t last, std::vector<size_t>* edges) {
    const FoldProblem part = PartOf(problem_, order_, first, last, edges);
    const FoldModel model(part);
    ExactOracle oracle(model, options_.most_work);
    FoldResult result = SearchLeastPeriod(model, oracle);
    work_ += oracle.work();
    return result;
  }

  // Returns the cycles of a pass whose maps have `memory_bits` in memory.
  int64_t CyclesOf(const FoldMetrics& metrics, int64_t memory_bits) const {
    return std::max(metrics.l_max, LinkCycles(memory_bits, options_.memory_bits_per_cycle));
  }

  int64_t CyclesOf(size_t first, size_t last) {
    std::vector<size_t> edges;
    const FoldResult result = Solve(first, last, &edges);
    proved_ = proved_ && result.certificate.optimal;
    if (!result.fold) return kUnlimited;
    return CyclesOf(result.metrics, MemoryBits(first, last));
  }

  void AddPart(size_t first, size_t last) {
    std::vector<size_t> edges;
    const FoldResult solved = Solve(first, last, &edges);
    PassPart& part = result_.parts.emplace_back();
    part.metrics = solved.metrics;
    part.memory_bits = MemoryBits(first, last);
    part.cycles = CyclesOf(solved.metrics, part.memory_bits);
    if (!result_.fold) {
      result_.fold.emplace();
      result_.fold->choice.assign(order_.size(), 0);
      if (has_fifo_) result_.fold->fifo_option.assign(problem_.edges.size(), -1);
    }
    for (size_t i = first; i < last; ++i) {
      part.layers.push_back(order_[i]);
      result_.fold->choice[static_cast<size_t>(order_[i])] = solved.fold->choice[i - first];
    }
    for (size_t e = 0; e < solved.fold->fifo_option.size(); ++e) {
      result_.fold->fifo_option[edges[e]] = solved.fold->fifo_option[e];
    }
  }

  void Explain() {
    if (!proved_) return;
    result_.infeasible =
        fmt::format("no split into at most {} passes meets the limits", options_.most_passes);
    const std::string beyond = LayerBeyond(problem_, problem_.limits, "the device");
    if (!beyond.empty()) result_.infeasible = beyond;
  }

  const FoldProblem& problem_;
  const PassOptions options_;
  const std::vector<int> order_;
  const bool has_fifo_;
  std::vector<size_t> position_;  // by layer, in the order
  bool proved_ = false;
  int64_t work_ = 0;
  PassSplit result_;
};

}  // namespace

StatusOr<PassSplit> SplitOverPasses(const FoldProblem& problem, const PassOptions& options) {
  KILN_RETURN_IF_ERROR(CheckProblem(problem));
  if (options.most_passes < 1) {
    return ErrorAt("", "most_passes", fmt::format("is {}", options.most_passes), "use 1 or more");
  }
  if (options.reload_cycles < 0 || options.reload_cycles > kMaxCycles) {
    return ErrorAt("", "reload_cycles", fmt::format("is {}", options.reload_cycles),
                   fmt::format("use a number from 0 to {}", kMaxCycles));
  }
  if (options.memory_bits_per_cycle < 1) {
    return ErrorAt("", "memory_bits_per_cycle", fmt::format("is {}", options.memory_bits_per_cycle),
                   "use 1 or more");
  }
  return PassSearch(problem, options).Run();
}

}  // namespace kiln::dataflow
