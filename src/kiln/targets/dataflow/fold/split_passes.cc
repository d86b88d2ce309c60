// Splits over passes: a shortest path over the cuts, each pass by the exact search.
#include <algorithm>
#include <memory>
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

// A pass with its fold.
struct SolvedPass {
  size_t first = 0;           // the pass has the layers order[first], ..
  std::vector<size_t> edges;  // of the pass: numbers in the whole problem
  FoldResult result;
  int64_t memory_bits = 0;
  int64_t cycles = 0;
};

// The best passes for the first layers of the order.
struct BestPasses {
  int64_t cycles = kUnlimited;
  std::shared_ptr<const SolvedPass> last;
};

// Passes are independent pipelines, so the cheapest passes for the first k layers of the order
// follow from the cheapest ones for fewer layers: a shortest path over the cuts, by the number of
// passes used. The cost of an arc is one exact search for the least period of the layers between
// two cuts.
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
    // [passes used][layers done]
    std::vector<std::vector<BestPasses>> best(passes + 1, std::vector<BestPasses>(count + 1));
    best[0][0].cycles = 0;
    for (size_t first = 0; first < count; ++first) {
      for (size_t last = first + 1; last <= count; ++last) {
        const std::shared_ptr<const SolvedPass> pass = Solve(first, last);
        // More layers do not make an infeasible pass feasible; FIFOs could become smaller.
        if (!pass && !has_fifo_) break;
        if (!pass) continue;
        for (size_t p = 0; p < passes; ++p) {
          if (best[p][first].cycles == kUnlimited) continue;
          const int64_t sum =
              best[p][first].cycles + pass->cycles + (first > 0 ? options_.reload_cycles : 0);
          if (sum < best[p + 1][last].cycles) best[p + 1][last] = {sum, pass};
        }
      }
    }
    size_t used = 0;
    for (size_t p = 1; p <= passes; ++p) {
      if (best[p][count].cycles < best[used][count].cycles) used = p;
    }
    result_.optimal = proved_;
    result_.work = work_;
    if (best[used][count].cycles == kUnlimited) {
      Explain();
      return std::move(result_);
    }
    result_.cycles = best[used][count].cycles;
    std::vector<const SolvedPass*> chosen;
    for (size_t last = count; used > 0; --used) {
      chosen.push_back(best[used][last].last.get());
      last = chosen.back()->first;
    }
    std::reverse(chosen.begin(), chosen.end());
    for (const SolvedPass* pass : chosen) AddPart(*pass);
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

  // Returns the pass of least cycles with these layers; null if none was found.
  std::shared_ptr<const SolvedPass> Solve(size_t first, size_t last) {
    auto pass = std::make_shared<SolvedPass>();
    const FoldProblem part = PartOf(problem_, order_, first, last, &pass->edges);
    const FoldModel model(part);
    ExactOracle oracle(model, options_.most_work);
    pass->result = SearchLeastPeriod(model, oracle);
    work_ += oracle.work();
    proved_ = proved_ && pass->result.certificate.optimal;
    if (!pass->result.fold) return nullptr;
    pass->first = first;
    pass->memory_bits = MemoryBits(first, last);
    pass->cycles = std::max(pass->result.metrics.l_max,
                            LinkCycles(pass->memory_bits, options_.memory_bits_per_cycle));
    return pass;
  }

  void AddPart(const SolvedPass& pass) {
    PassPart& part = result_.parts.emplace_back();
    part.metrics = pass.result.metrics;
    part.memory_bits = pass.memory_bits;
    part.cycles = pass.cycles;
    if (!result_.fold) {
      result_.fold.emplace();
      result_.fold->choice.assign(order_.size(), 0);
      if (has_fifo_) result_.fold->fifo_option.assign(problem_.edges.size(), -1);
    }
    const Fold& fold = *pass.result.fold;
    for (size_t i = 0; i < fold.choice.size(); ++i) {
      const int layer = order_[pass.first + i];
      part.layers.push_back(layer);
      result_.fold->choice[static_cast<size_t>(layer)] = fold.choice[i];
    }
    for (size_t e = 0; e < fold.fifo_option.size(); ++e) {
      result_.fold->fifo_option[pass.edges[e]] = fold.fifo_option[e];
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
